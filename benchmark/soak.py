"""
Soak: recorder, online identification and torque prediction on a stream that misbehaves.

    python benchmark/soak.py [--seconds 600] [--rate 1000]

A Franka-like arm in random motion publishes joint states at 1 kHz in a process of its own: with
random gaps, bad messages (no joints, no numbers, short arrays), restarts of the publisher, and
two silent minutes of ten (a fifth of the time).  At the end: who died, what the recorder lost,
memory twenty times, and CPU (process time of each node over the time in which
messages came).  Ten minutes take ten minutes and one to prepare.
"""

import argparse
from array import array
import json
from pathlib import Path
import sys
import tempfile
import time

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'nodes')]
URDF = (ROOT / 'urdf' / 'franka.urdf').read_text()
PERIOD = 10.0  # [s] of motion, played again and again
BURST = 50     # messages at once when late
TIMES = 20     # that memory is looked at
MOVING = 0.8   # of the time, without the silent fifth
CHECKED = ('recorder', 'identification', 'torque_prediction')


def simulated(rate, seconds, seed):
    """Return the ArmState and joint names of a Franka-like arm in periodic random motion."""
    from ros_inertial_id.excitation.fourier import random_motion
    from ros_inertial_id.simulation.arm import ArmOptions, SimulatedArm
    arm = SimulatedArm(URDF, options=ArmOptions(rate=rate, seed=seed))
    limits, names = arm.limits, arm.joint_names
    bounds = limits.lower, limits.upper, limits.velocity, (8.0,) * len(names)
    motion = random_motion(names, bounds, np.random.default_rng(5), period=10.0, share=0.8)
    return arm.simulate(motion.at, seconds), names


def write_model(folder, rate, state, names):
    """Identify from the simulated motion; return the path of model.yaml."""
    from ros_inertial_id.identification.identify import identify
    from ros_inertial_id.identification.settings import options_class
    from ros_inertial_id.measurement.bags.messages import JOINT_STATE
    from ros_inertial_id.measurement.recording import Channel, Recording
    stamp = 10 ** 18 + np.round(state.time * 1e9).astype(np.int64)
    channel = Channel('/joint_states', JOINT_STATE, stamp, stamp, {
        'position': state.measured_q, 'velocity': state.measured_v,
        'effort': state.measured_tau}, names)
    recording = Recording({'/joint_states': channel}, URDF, 'upright')
    path = folder / f'model_{rate:.0f}.yaml'
    path.write_text(identify([recording], options_class('serial_arm')()).model.to_yaml())
    return path


def drive(folder, rate, seconds, namespace, faults):
    """Publish the arm's motion for so long; write how many messages went out to a file."""
    import rclpy
    from rclpy.duration import Duration
    from rclpy.qos import QoSProfile
    from sensor_msgs.msg import JointState
    motion = dict(np.load(folder / 'motion.npz'))
    names = motion['names'].tolist()
    rng = np.random.default_rng(1)
    rclpy.init()
    node = rclpy.create_node('driver', namespace=namespace)

    def make():
        return node.create_publisher(JointState, 'joint_states', QoSProfile(depth=5000))

    publisher, sent, bad, restarts, gap_until = make(), 0, 0, 0, 0.0
    await_readers(publisher)
    sys.stdin.readline()
    began, k = time.monotonic(), 0
    zero_ns = time.time_ns()
    while (now := time.monotonic() - began) < seconds:
        if faults and 0.5 < now / seconds < 0.7 or now < gap_until:
            k = int(now * rate)
            time.sleep(0.01)
            continue
        due = min(int(now * rate) - k, BURST)
        for _ in range(max(due, 0)):
            message = JointState(name=names)
            stamp = zero_ns + round(k * 1e9 / rate)
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10 ** 9)
            for field in ('position', 'velocity', 'effort'):
                rows = motion[field]
                setattr(message, field, array('d', rows[k % len(rows)].tobytes()))
            if faults and rng.random() < 3e-4:
                bad += 1
                spoil(message, int(rng.integers(3)))
            publisher.publish(message)
            sent, k = sent + 1, k + 1
        if faults and rng.random() < 1e-4:
            gap_until = now + rng.uniform(0.05, 1.5)
        if faults and rng.random() < 3e-5:
            publisher.wait_for_all_acked(Duration(seconds=5.0))
            node.destroy_publisher(publisher)
            publisher, restarts = make(), restarts + 1
            await_readers(publisher)
            k = int((time.monotonic() - began) * rate)
        time.sleep(0.5 / rate)
    time.sleep(2.0)
    (folder / 'sent.json').write_text(json.dumps(
        {'sent': sent, 'bad': bad, 'restarts': restarts}))
    sys.stdin.read()
    node.destroy_node()
    rclpy.shutdown()


def await_readers(publisher):
    """Wait until all nodes listen: what is sent before is nobody's loss."""
    while publisher.get_subscription_count() < len(CHECKED):
        time.sleep(0.05)
    time.sleep(1.0)


def spoil(message, how):
    """Make a message bad: of no joint, with a value that is no number, with short positions."""
    if how == 0:
        message.name, message.position = [], array('d')
        message.velocity = message.effort = array('d')
    elif how == 1:
        message.effort[2] = float('nan')
    else:
        message.position = message.position[:3]


def usage(pid):
    """Return (CPU seconds, resident MB) of a process."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    ticks = int(fields[11]) + int(fields[12])
    return ticks / 100.0, int(fields[21]) * 4096 / 1e6


def save_motion(folder, state, names):
    """Write the second period of a motion for the driver, with the true torque."""
    once = state.time >= PERIOD
    np.savez(folder / 'motion.npz', names=np.array(names), position=state.measured_q[once],
             velocity=state.measured_v[once], effort=state.measured_tau[once],
             true=state.tau[once])


def begin(graph, folder, model, namespace=''):
    """Start the three nodes of one robot; return {name: Process}."""
    remap = ['--ros-args', '-r', f'__ns:={namespace}'] if namespace else []
    return {
        'recorder': graph.start('recorder', *remap, out=folder / 'bags'),
        'identification': graph.start('identification', *remap, online=True,
                                      urdf_file=ROOT / 'urdf' / 'franka.urdf'),
        'torque_prediction': graph.start('torque_prediction', *remap, model_file=model)}


def begin_driver(graph, folder, rate, seconds, namespace='', faults=False):
    """Start the driver of one robot and wait until all nodes listen; it waits for a line."""
    driver = graph._begin(
        [sys.executable, str(Path(__file__).resolve()), 'drive', str(folder), str(rate),
         str(seconds), namespace or '/', str(int(faults))], f'driver{namespace.strip("/")}')
    graph.until(lambda: graph.node.count_subscribers(f'{namespace}/joint_states') >= len(CHECKED),
                'the readers')
    return driver


def soak(seconds, rate):
    """Run it and return the figures."""
    from live_graph import Graph
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        state, names = simulated(rate, 2 * PERIOD, 1)
        model = write_model(folder, rate, state, names)
        save_motion(folder, state, names)
        with Graph(folder) as graph:
            nodes = begin(graph, folder, model)
            driver = begin_driver(graph, folder, rate, seconds, faults=True)
            path = graph.call('recorder/start').message
            driver.say('go')
            start, sizes = {k: usage(p.pid)[0] for k, p in nodes.items()}, {k: [] for k in nodes}
            began = time.monotonic()
            while (now := time.monotonic() - began) < seconds + 8.0:
                graph.spin(1.0)
                if now / seconds > len(sizes['recorder']) / TIMES:
                    for kind, process in nodes.items():
                        sizes[kind].append(round(usage(process.pid)[1]) if process.alive() else 0)
            end = {k: usage(p.pid)[0] for k, p in nodes.items() if p.alive()}
            return figures(graph, folder, path) | {
                'dead': [kind for kind, p in nodes.items() if not p.alive()],
                'cpu': {k: round((end[k] - start[k]) / (seconds * MOVING), 3) for k in end},
                **{f'MB of {kind}': x for kind, x in sizes.items()}}


def figures(graph, folder, path):
    """Stop the recorder and return what was sent, recorded and said."""
    from ros_inertial_id.measurement.bags.bag import read_bag
    graph.until(lambda: (folder / 'sent.json').exists(), 'the driver')
    words = graph.call('recorder/stop').message
    health = {kind: graph.health(kind) for kind in CHECKED}
    return {**json.loads((folder / 'sent.json').read_text()),
            'in the bag': len(read_bag(path).channels['/joint_states']),
            'recorder says': words, 'online': health['identification'],
            'prediction': health['torque_prediction'][:2],
            'predicted': health['torque_prediction'][2].get('predicted')}


def main():
    """Print the figures; end with status 1 when a node died or the recorder lost a message."""
    if sys.argv[1:2] == ['drive']:
        folder, rate, seconds, space, faults = sys.argv[2:]
        drive(Path(folder), float(rate), float(seconds), space, faults == '1')
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=600.0)
    parser.add_argument('--rate', type=float, default=1000.0)
    options = parser.parse_args()
    found = soak(options.seconds, options.rate)
    for key, value in found.items():
        print(f'{key:26s} {value}', flush=True)
    # Messages that are no whole ones are in the bag, and left out when it is read.
    words = found['recorder says']
    return int(bool(found['dead']) or ' lost ' in words or f"{found['sent']} " not in words)


if __name__ == '__main__':
    sys.exit(main())
