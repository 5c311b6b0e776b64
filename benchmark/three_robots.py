"""
Three robots in three namespaces: each bag complete, each model its own.

    python benchmark/three_robots.py [--seconds 60] [--rate 250]

Three Franka-like arms of different bodies and friction publish at 250 Hz on one machine, each
with recorder, online identification and prediction in its namespace.  After a minute each
identifies from its own bag.  Printed are what was sent and recorded, and how far each model's
torque is from each arm's true one (RMS over that of the torque): small on the diagonal alone.
Takes three minutes.
"""

import argparse
import json
from pathlib import Path
import sys
import tempfile

import numpy as np
from soak import begin, begin_driver, PERIOD, save_motion, simulated, write_model

SPACES = '/arm1', '/arm2', '/arm3'
OWN = 1.0     # [%] of the torque, at most, that a model misses of its own arm
OTHER = 5.0   # [%] at least, of another one


def prepare(folder, rate):
    """Write motion and a model to begin with for every robot; return their true states."""
    states = []
    for seed, space in enumerate(SPACES, 1):
        own = folder / space[1:]
        own.mkdir()
        state, names = simulated(rate, 2 * PERIOD, seed)
        write_model(own, rate, state, names)
        save_motion(own, state, names)
        states.append(state)
    return states


def drive_all(graph, folder, seconds, rate):
    """Let all robots move and be recorded; return (what each sent, what its recorder says)."""
    drivers = []
    for space in SPACES:
        own = folder / space[1:]
        begin(graph, own, own / f'model_{rate:.0f}.yaml', space)
        drivers.append(begin_driver(graph, own, rate, seconds, space))
    for space in SPACES:
        graph.call(f'{space}/recorder/start')
    for driver in drivers:
        driver.say('go')
    graph.spin(seconds + 3.0)
    sent = [folder / space[1:] / 'sent.json' for space in SPACES]
    graph.until(lambda: all(map(Path.exists, sent)), 'the drivers')
    return ([json.loads(path.read_text())['sent'] for path in sent],
            [graph.call(f'{space}/recorder/stop').message for space in SPACES])


def main():
    """Print the figures; end with status 1 where a bag lacks messages or a model is another's."""
    from live_graph import Graph, LATCHED
    from std_msgs.msg import String

    import ros_inertial_id as rid
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=60.0)
    parser.add_argument('--rate', type=float, default=250.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, failed = Path(name), False
        states = prepare(folder, options.rate)
        with Graph(folder) as graph:
            models = [graph.listen(String, f'{space}/identification/identified_model', LATCHED)
                      for space in SPACES]
            for sent, words in zip(*drive_all(graph, folder, options.seconds, options.rate)):
                print(f'sent {sent}; {words}', flush=True)
                failed |= f': {sent} ' not in words or ' lost ' in words
            for space, received in zip(SPACES, models):
                graph.call(f'{space}/identification/identify')
                graph.until(lambda: received, 'the model')  # noqa: B023 (waits at once)
                path = folder / f'{space[1:]}.yaml'
                path.write_text(received[-1].data)
                torques = [rid.load_model(path).torque(s.q, s.v, s.a) for s in states]
                missed = [100.0 * np.sqrt(np.mean((x - s.tau) ** 2) / np.mean(s.tau ** 2))
                          for x, s in zip(torques, states)]
                print(f'model of {space}: misses {np.round(missed, 2).tolist()} % of the torques '
                      f"of {', '.join(SPACES)}", flush=True)
                others = np.delete(missed, SPACES.index(space))
                failed |= missed[SPACES.index(space)] > OWN or others.min() < OTHER
    return int(failed)


if __name__ == '__main__':
    sys.exit(main())
