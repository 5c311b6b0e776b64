"""
Soak: recorder, online identification and torque prediction on a stream that misbehaves.

    python benchmark/soak.py [--seconds 600] [--rate 1000] [--robots 1]

A Franka-like arm in random motion publishes joint states at 1 kHz in a process of its own: with
random gaps, bad messages (no joints, no numbers, short arrays), restarts of the publisher, and
two silent minutes of ten (a fifth of the time).  At the end: who died, what the recorder lost,
memory at a third and at the end, and CPU (process time of each node over the time in which
messages came).  ``--robots 3`` runs three arms at 250 Hz in three namespaces, each with the three
nodes: each bag must be complete.  Ten minutes take ten minutes and one to prepare.
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
    (folder / f'sent{namespace.replace("/", "_")}.json').write_text(json.dumps(
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


def begin(graph, folder, model, namespace):
    """Start the three nodes of one robot; return {name: Process}."""
    remap = ['--ros-args', '-r', f'__ns:={namespace}'] if namespace else []
    out = {
        'recorder': graph.start('recorder', *remap, out=folder / f'bags{namespace}'),
        'identification': graph.start('identification', *remap, online=True,
                                      urdf_file=ROOT / 'urdf' / 'franka.urdf'),
        'torque_prediction': graph.start('torque_prediction', *remap, model_file=model)}
    return out


def soak(seconds, rate, robots):
    """Run it and return the figures, one dict per robot."""
    from live_graph import Graph

    from ros_inertial_id.measurement.bags.bag import read_bag
    out = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        state, names = simulated(rate, 2 * PERIOD, 1)
        model = write_model(folder, rate, state, names)
        once = state.time >= PERIOD
        np.savez(folder / 'motion.npz', names=np.array(names), position=state.measured_q[once],
                 velocity=state.measured_v[once], effort=state.measured_tau[once])
        spaces = [''] if robots == 1 else [f'/arm{k + 1}' for k in range(robots)]
        with Graph(folder) as graph:
            nodes = {space: begin(graph, folder, model, space) for space in spaces}
            drivers = [graph._begin(
                [sys.executable, __file__, 'drive', name, str(rate), str(seconds), space or '/',
                 str(int(robots == 1))], f'driver{space.strip("/")}') for space in spaces]
            graph.until(lambda: all(graph.node.count_subscribers(f'{space}/joint_states') >= 3
                                    for space in spaces), 'the readers')
            paths = {space: graph.call(f'{space}/recorder/start').message for space in spaces}
            for driver in drivers:
                driver.say('go')
            start = {p: usage(p.pid) for own in nodes.values() for p in own.values()}
            early, began = {}, time.monotonic()
            while time.monotonic() - began < seconds + 8.0:
                graph.spin(1.0)
                if not early and time.monotonic() - began > seconds / 3:
                    early = {p: usage(p.pid) for p in start if p.alive()}
            dead = [f'{space}/{kind}' for space, own in nodes.items()
                    for kind, p in own.items() if not p.alive()]
            end = {p: usage(p.pid) for p in start if p.alive()}
            graph.until(lambda: all((folder / f'sent{s.replace("/", "_") or "_"}.json').exists()
                                    for s in spaces), 'the drivers')
            for space in spaces:
                words = graph.call(f'{space}/recorder/stop').message
                sent = json.loads((folder / f'sent{space.replace("/", "_") or "_"}.json'
                                   ).read_text())
                health = {kind: graph.health(f'{space.strip("/")}/{kind}'.lstrip('/'))
                          for kind in CHECKED}
                bag = read_bag(paths[space]).channels[f'{space}/joint_states']
                out.append({
                    'robot': space or '/', **sent, 'dead': dead, 'in the bag': len(bag),
                    'recorder says': words,
                    'cpu': {kind: round((end[p][0] - start[p][0]) / (seconds * (
                        0.8 if robots == 1 else 1.0)), 3)
                        for kind, p in nodes[space].items() if p in end},
                    'MB at a third, at the end': {
                        kind: (round(early[p][1], 1), round(end[p][1], 1))
                        for kind, p in nodes[space].items() if p in end},
                    'online': {k: v for k, v in health['identification'][2].items()
                               if k.startswith('online')},
                    'prediction': health['torque_prediction'][:2],
                    'predicted': health['torque_prediction'][2].get('predicted')})
    return out


def main():
    """Print the figures; end with status 1 when a node died or the recorder lost a message."""
    if sys.argv[1:2] == ['drive']:
        folder, rate, seconds, space, faults = sys.argv[2:]
        drive(Path(folder), float(rate), float(seconds), space, faults == '1')
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=600.0)
    parser.add_argument('--rate', type=float, default=1000.0)
    parser.add_argument('--robots', type=int, default=1)
    options = parser.parse_args()
    failed = False
    for figures in soak(options.seconds, options.rate, options.robots):
        for key, value in figures.items():
            print(f'{key:26s} {value}', flush=True)
        # Messages that are no whole ones are in the bag, and left out when it is read.
        failed |= bool(figures['dead']) or ' lost ' in figures['recorder says']
        failed |= f"{figures['sent']} " not in figures['recorder says']
    return int(failed)


if __name__ == '__main__':
    sys.exit(main())
