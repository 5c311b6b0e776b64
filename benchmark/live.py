"""
Live nodes at 1 kHz of seven joints: latency, CPU of each node, price of no lag.

    python benchmark/live.py [--seconds 20] [--rate 1000] [--alone]
                             [bare | LAG:PERIOD ...]

A Franka-like arm in random motion publishes joint states, stamped with the time at which they are
sent.  Beside recorder and online identification (not with --alone) runs one prediction after the
other, by default of lag and period [s] 0.1:0.02, 0.1:0.005, 0.1:0.001 and 0:0.001, and before
them a bare node of rclpy that publishes every message as it came: what nobody can fall below who
publishes sample by sample.  Latency is from the stamp of a sample to
the moment at which its publication reaches another process, less the lag that the node declares:
its parameter ``lag``, for 0 the four samples that doc/live.md tells of, and by how much the driver
itself was late by then (Fast DDS holds it up while others come and go).  CPU is that of the
process over the time of the streams.
The error is that of the predicted against the true torque
(RMS of both over all joints).  Needs an idle machine; 30 s per case and 40 s to prepare.
"""

import argparse
import gc
import json
from pathlib import Path
import struct
import sys
import tempfile
import time

from moving_arm import messages, PERIOD, ROOT, simulated, usage, write_model
import numpy as np

CASES = ('bare', '0.1:0.02', '0.1:0.005', '0.1:0.001', '0:0.001')
SETTLED = 6.0  # [s] after which a prediction is measured
BEGINNING = 1.0  # [s] in which the listener catches up with what came before it was ready
LONGEST = 3600.0  # [s] that the driver is to last
FORWARD = 4  # samples that a causal prediction is behind


def hear(seconds):
    """Print latencies [s] and predictions of the newest seconds of a robot as JSON."""
    import rclpy
    from rclpy.task import Future
    from sensor_msgs.msg import JointState

    from ros_inertial_id.measurement.bags.messages import decode, JOINT_STATE
    from ros_inertial_id.nodes.rclpy_internals import Executor

    rclpy.init()
    node, heard = rclpy.create_node('listener'), []
    node.create_subscription(
        JointState,
        'torque_prediction/predicted',
        lambda data: heard.append((time.time_ns(), bytes(data))),
        5000,
        raw=True,
    )
    executor = Executor(context=node.context)
    executor.add_node(node)
    gc.disable()  # what is late shall be the node's
    print('ready', flush=True)
    executor.spin_until_future_complete(Future(), seconds)
    channel = decode(
        JOINT_STATE, [data for _, data in heard], 'predicted', [0] * len(heard), print
    )
    print(
        json.dumps(
            {
                'stamp': channel.stamp_ns.tolist(),
                'came': [t for t, _ in heard],
                'effort': channel.fields['effort'].tolist(),
            }
        ),
        flush=True,
    )
    sys.stdin.read()


def drive(folder, rate):
    """Publish the arm's motion, stamped when it is sent, until the process is ended."""
    import rclpy
    from rclpy.qos import QoSProfile
    from sensor_msgs.msg import JointState

    played = messages(simulated(rate, PERIOD, 1)[0], rate)
    rclpy.init()
    node = rclpy.create_node('driver')
    publisher = node.create_publisher(JointState, 'joint_states', QoSProfile(depth=5000))
    gc.disable()
    began, zero, k = time.monotonic(), time.time_ns(), 0
    sent = np.memmap(folder / 'sent', np.int64, 'w+', shape=(round(LONGEST * rate),))
    (folder / 'zero.json').write_text(str(zero))
    while True:
        if (wait := k / rate - (time.monotonic() - began)) > 0.0:
            time.sleep(wait)
        sent[k] = time.time_ns()
        data = played[k % len(played)]
        stamp = struct.pack('<iI', *divmod(zero + round(k * 1e9 / rate), 10**9))
        publisher.publish(data[:4] + stamp + data[12:])  # behind the header of CDR
        k += 1


def relay():
    """Publish every joint state as it came until the process is ended."""
    from rclpy.node import Node
    from sensor_msgs.msg import JointState

    from ros_inertial_id.nodes.running import run

    class Relay(Node):
        def __init__(self):
            super().__init__('torque_prediction')
            publisher = self.create_publisher(JointState, '~/predicted', 5000)
            self.create_subscription(
                JointState,
                'joint_states',
                lambda data: publisher.publish(bytes(data)),
                5000,
                raw=True,
            )

    return run(Relay)


def measured(graph, folder, case, seconds, rate):
    """Return the figures of one prediction beside the running nodes."""
    bare = case == 'bare'
    lag, period = (0.0, 0.0) if bare else map(float, case.split(':'))
    node = (
        graph._begin([__file__, 'relay'], 'relay')
        if bare
        else graph.start(
            'torque_prediction', model_file=folder / 'model.yaml', lag=lag, period=period
        )
    )
    graph.until(lambda: graph.node.count_publishers('/torque_prediction/predicted'), case)
    graph.spin(SETTLED)
    listener = graph._begin([__file__, 'hear', str(seconds)], 'hear')
    graph.until(lambda: 'ready' in listener.output, 'the listener')
    before, began = usage(node.pid)[0], time.monotonic()
    time.sleep(seconds)  # an observer that spins would disturb
    cpu = (usage(node.pid)[0] - before) / (time.monotonic() - began)
    graph.until(lambda: '"effort"' in listener.output, 'what it heard')
    price = (
        '-'
        if bare
        else graph.health('torque_prediction')[2].get(
            'noise of the acceleration, times that of 0.1 s lag', '1'
        )
    )
    node.end()
    listener.ends = True
    listener.kill()
    heard = json.loads(next(line for line in listener.output.split('\n') if '"effort"' in line))
    stamp, came, effort = (np.array(heard[key]) for key in ('stamp', 'came', 'effort'))
    began_well = came > came[0] + BEGINNING * 1e9
    stamp, came, effort = stamp[began_well], came[began_well], effort[began_well]
    declared = lag or (0.0 if bare else FORWARD / rate)
    place = np.round((stamp - int((folder / 'zero.json').read_text())) * 1e-9 * rate).astype(int)
    sent = np.memmap(folder / 'sent', np.int64, 'r')
    behind = sent[place + round(declared * rate)] - stamp - declared * 1e9
    late = np.sort((came - stamp - np.maximum(behind, 0.0)) * 1e-6 - 1e3 * declared)
    true = np.load(folder / 'true.npy')
    true = true[place % len(true)]
    error = np.sqrt(np.mean((effort - true) ** 2) / np.mean(true**2))
    p50, p99 = np.percentile(late, (50, 99))
    each_second = 1e9 * (len(came) - 1) / (came[-1] - came[0])
    return (
        f'{case}: {each_second:.0f} per second; '
        f'{p50:.2f} {p99:.2f} {late[-1]:.2f} ms (p50 p99 max beyond the lag); '
        f'{cpu:.3f} core; error {100.0 * error:.2f} %, noise of the acceleration x {price}'
    )


def run(cases, seconds, rate, alone):
    """Print the figures of every case, of recorder and online identification at the end."""
    from live_graph import Graph

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        recording, true = simulated(rate, 2 * PERIOD, 1)
        write_model(folder, recording)
        np.save(folder / 'true.npy', true[: round(PERIOD * rate)])
        with Graph(folder) as graph:
            graph._begin([__file__, 'drive', name, str(rate)], 'driver')
            graph.until(lambda: graph.node.count_publishers('/joint_states'), 'the driver')
            nodes = (
                {}
                if alone
                else {
                    'recorder': graph.start('recorder', out=folder / 'bags'),
                    'identification': graph.start(
                        'identification', online=True, urdf_file=ROOT / 'urdf' / 'franka.urdf'
                    ),
                }
            )
            if nodes:
                graph.call('recorder/start')
                graph.spin(15.0)
            before, began = {k: usage(p.pid)[0] for k, p in nodes.items()}, time.monotonic()
            for case in cases:
                print(measured(graph, folder, case, seconds, rate), flush=True)
            span = time.monotonic() - began
            for kind, process in nodes.items():
                print(f'{kind}: {(usage(process.pid)[0] - before[kind]) / span:.3f} core')


def main():
    """Run the benchmark, or a part of it in a process of its own."""
    if sys.argv[1:2] == ['hear']:
        return hear(float(sys.argv[2]))
    if sys.argv[1:2] == ['drive']:
        return drive(Path(sys.argv[2]), float(sys.argv[3]))
    if sys.argv[1:2] == ['relay']:
        del sys.argv[1]  # a node takes ROS arguments alone
        return relay()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=20.0)
    parser.add_argument('--rate', type=float, default=1000.0)
    parser.add_argument('--alone', action='store_true')
    parser.add_argument('cases', nargs='*', default=list(CASES))
    options = parser.parse_args()
    return run(options.cases, options.seconds, options.rate, options.alone)


if __name__ == '__main__':
    sys.exit(main())
