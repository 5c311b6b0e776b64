"""
The recorder under forced losses: python benchmark/recorder_losses.py [RUNS] [SECONDS].

Joint states come at 1 kHz while the recorder is stopped for 0.3 s every two seconds, with a queue
of 50 messages, beside a process that keeps a core busy.  Prints one line a run: what was sent
between the first and the last message of the bag, what is in it, what the recorder says it lost.
Ends with status 1 when a run hangs, a bag is damaged or a loss is not counted.
"""

from pathlib import Path
import subprocess
import sys
import tempfile

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'nodes')]
from live_graph import Graph  # noqa: E402

from ros_inertial_id.measurement.bags.bag import read_bag  # noqa: E402

RATE, DEPTH, STOP, EVERY = 1000, 50, 0.3, 2.0  # [Hz], messages, [s], [s]
OVERRIDE = 'qos_overrides./joint_states.subscription.depth'


def campaign(runs, seconds):
    """Return how many of ``runs`` of some ``seconds`` went wrong."""
    failed = 0
    for run in range(runs):
        busy = subprocess.Popen([sys.executable, '-c', 'while True: pass'])
        try:
            with tempfile.TemporaryDirectory() as folder, Graph(Path(folder)) as graph:
                inside, received, lost, damage = once(graph, Path(folder), seconds)
        finally:
            busy.kill()
            busy.wait()
        good = inside - received == lost and not damage
        failed += not good
        print(f'run {run + 1}: {inside} sent, {received} in the bag, {lost} lost by the '
              f'recorder\'s count, {"complete" if good else "WRONG"}', flush=True)
    return failed


def once(graph, folder, seconds):
    """Return (sent, in the bag, lost by the recorder's count, damage) of one recording."""
    driver = graph.run('joint_state_publisher.py', int(RATE * seconds), RATE, 'reliable')
    recorder = graph.start('recorder', out=folder / 'bags', **{OVERRIDE: DEPTH})
    graph.until(lambda: graph.node.count_subscribers('joint_states'), 'the recorder')
    path = graph.call('recorder/start').message
    driver.say('go')
    for _ in range(int(seconds / EVERY) - 1):
        graph.spin(EVERY - STOP)
        recorder.pause(STOP)
    graph.until(lambda: 'sent' in driver.output, 'the last message')
    graph.spin(1.0)
    words = graph.call('recorder/stop').message  # fails when it hangs
    bag = read_bag(path)
    numbers = bag.channels['/joint_states'].fields['position'][:, 0]
    lost = int(words.split('; ')[1].split()[0]) if '; ' in words else 0
    return int(numbers[-1] - numbers[0]) + 1, len(numbers), lost, bag.provenance['damage']


if __name__ == '__main__':
    arguments = [float(a) for a in sys.argv[1:]] + [20, 60][len(sys.argv) - 1:]
    sys.exit(campaign(int(arguments[0]), arguments[1]) > 0)
