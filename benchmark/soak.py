"""
Soak: recorder, online identification and torque prediction over DDS, minute by minute.

    python benchmark/soak.py [looped | new | malformed] [--seconds 600] [--share CORE]

A Franka-like arm publishes joint states of seven joints at 1 kHz in real time: one motion again
and again, one that never comes again, or with one message of a hundred malformed
(test/nodes/test_malformed.py).  An observer takes every online estimate, one a second; a listener
takes every prediction.  With ``--share`` each of the three nodes has so much of a core (cgroups,
root alone).  Printed for every minute: the least resident memory [MB] and the CPU of each node,
how many predictions came, p50, p99 and largest latency beyond the lag and the driver's own delay;
at the end what was sent, recorded, lost, predicted and received, and the growth of each node's
memory in 100 s, by a line through the minutes after the second, with its standard error.
"""

import argparse
import contextlib
import gc
import json
from pathlib import Path
import struct
import sys
import tempfile
import time

from moving_arm import messages, PERIOD, ROOT, simulated, usage, wandering, write_model
import numpy as np

RATE = 1000  # [Hz]
LAG_MS = 100.0  # of predictions
MINUTE = 60  # [s]
SETTLED = 2  # minutes after which memory is to stand still
ENOUGH_MINUTES = 4  # of which a line through them has an error
MALFORMED = 100  # messages of which one is malformed
GROUPS = Path('/sys/fs/cgroup/cpu')
NODES = 'recorder', 'identification', 'torque_prediction'


def drive(kind, folder, seconds):
    """Publish what is to be sent in so many ``seconds``, then say how much and wait."""
    import rclpy
    from rclpy.qos import QoSProfile
    from sensor_msgs.msg import JointState
    from test_malformed import serialised

    malformed = serialised(JointState)
    if kind == 'new':
        good = messages(wandering(RATE, seconds, 1)[0], RATE, seconds)
    else:
        good = messages(simulated(RATE, PERIOD, 1)[0], RATE)
    rclpy.init()
    node = rclpy.create_node('driver')
    publisher = node.create_publisher(JointState, 'joint_states', QoSProfile(depth=5000))
    print('ready', flush=True)
    while not (folder / 'go').exists():
        time.sleep(0.1)
    gc.disable()
    began, zero, bad = time.monotonic(), time.time_ns(), 0
    behind = np.memmap(folder / 'behind', np.int64, 'w+', shape=(round(seconds * RATE),))
    behind[:] = 0
    (folder / 'zero').write_text(str(zero))
    for k in range(round(seconds * RATE)):
        if (wait := k / RATE - (time.monotonic() - began)) > 0.0:
            time.sleep(wait)
        behind[k] = max(0, time.time_ns() - zero - k * 10**9 // RATE)
        data = good[k % len(good)]
        stamp = struct.pack('<iI', *divmod(zero + round(k * 1e9 / RATE), 10**9))
        publisher.publish(data[:4] + stamp + data[12:])  # behind the header of CDR
        if kind == 'malformed' and k % MALFORMED == MALFORMED - 1:
            publisher.publish(malformed[bad % len(malformed)])
            bad += 1
    print(f'"sent": {k + 1 + bad}, good {k + 1}, malformed {bad}', flush=True)
    sys.stdin.read()


def listen(folder):
    """Print a line of latencies [ms] of predictions every minute until the process is ended."""
    import rclpy
    from rclpy.task import Future
    from sensor_msgs.msg import JointState

    from ros_inertial_id.nodes.rclpy_internals import Executor

    rclpy.init()
    node, came, count = rclpy.create_node('listener'), [], 0

    def take(data):
        second, nanosecond = struct.unpack_from('<iI', bytes(data[4:12]))
        came.append((second * 10**9 + nanosecond, time.time_ns()))

    def latencies():
        """Return how long [ms] after what completes them predictions came."""
        if not came:
            return [np.nan]
        stamp, at = np.array(came).T
        k = np.round((stamp - int((folder / 'zero').read_text())) * 1e-9 * RATE).astype(int)
        behind = np.memmap(folder / 'behind', np.int64, 'r')
        completes = np.minimum(k + round(LAG_MS * 1e-3 * RATE), len(behind) - 1)
        return (at - stamp - behind[completes]) * 1e-6 - LAG_MS

    node.create_subscription(JointState, 'torque_prediction/predicted', take, 5000, raw=True)
    executor = Executor(context=node.context)
    executor.add_node(node)
    gc.disable()  # what is late shall be the node's
    print('ready', flush=True)
    while True:
        executor.spin_until_future_complete(Future(), MINUTE)
        count += len(came)
        p50, p99, largest = np.percentile(latencies(), (50, 99, 100)).round(2).tolist()
        line = {'came': len(came), 'in all': count, 'p50': p50, 'p99': p99, 'max': largest}
        print(json.dumps(line), flush=True)
        came.clear()


@contextlib.contextmanager
def limited(processes, share):
    """Give each of ``processes`` a ``share`` of a core; all of it where that is 0."""
    if not share:
        yield
        return
    groups = []
    try:
        for process in processes:
            group = GROUPS / f'soak_{process.pid}'
            group.mkdir()
            groups.append(group)
            (group / 'cpu.cfs_period_us').write_text('100000')
            (group / 'cpu.cfs_quota_us').write_text(str(round(share * 1e5)))
            (group / 'cgroup.procs').write_text(str(process.pid))
        yield
    finally:
        for group in groups:
            for pid in (group / 'cgroup.procs').read_text().split():
                (GROUPS / 'cgroup.procs').write_text(pid)
            group.rmdir()


def run(kind, seconds, share):
    """Print the table of one soak."""
    from diagnostic_msgs.msg import DiagnosticArray
    from live_graph import Graph

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        recording, _ = simulated(RATE, 2 * PERIOD, 1)
        write_model(folder, recording)
        with Graph(folder) as graph:
            driver = graph._begin([__file__, 'drive', kind, name, str(seconds)], 'driver')
            graph.until(lambda: 'ready' in driver.output, 'the driver')
            nodes = {
                'recorder': graph.start('recorder', out=folder / 'bags'),
                'identification': graph.start(
                    'identification', online=True, urdf_file=ROOT / 'urdf' / 'franka.urdf'
                ),
                'torque_prediction': graph.start(
                    'torque_prediction', model_file=folder / 'model.yaml'
                ),
            }
            listener = graph._begin([__file__, 'listen', name], 'listen')
            graph.until(lambda: 'ready' in listener.output, 'the listener')
            estimates = graph.listen(DiagnosticArray, '/identification/online_parameters')
            graph.call('recorder/start')
            graph.spin(2.0)  # all know all
            (folder / 'go').touch()
            with limited(nodes.values(), share):
                sizes = watched(graph, nodes, listener, estimates, driver, seconds)
            print(f'sent {driver.output.splitlines()[-1]}')
            for node in NODES:
                level, words, values = graph.health(node)
                kept = {k: v for k, v in values.items() if not k.endswith('expected')}
                print(f'{node}: {level}: {words.replace(name, ".")}; {kept}')
            report_growth(sizes)


def watched(graph, nodes, listener, estimates, driver, seconds):
    """Print a line for every minute; return resident memory (minutes, nodes) [MB]."""
    sizes = []
    before, began = [usage(nodes[node].pid)[0] for node in NODES], time.monotonic()
    while '"sent"' not in driver.output:
        least = np.full(len(NODES), np.inf)  # an estimate needs 20 MB while it is made
        while time.monotonic() < began + MINUTE * (len(sizes) + 1):
            graph.spin(0.5)
            now = [usage(nodes[node].pid) for node in NODES]
            least = np.minimum(least, [each[1] for each in now])
        cpu = [(each[0] - old) / MINUTE for each, old in zip(now, before)]
        before = [each[0] for each in now]
        sizes.append(least)
        heard = listener.output.splitlines()[-1]
        print(
            f'{len(sizes)} min: {" ".join(f"{size:.1f}" for size in sizes[-1])} MB; '
            f'{" ".join(f"{share:.3f}" for share in cpu)} core; '
            f'{len(estimates)} estimates; {heard}',
            flush=True,
        )
    graph.spin(3.0)
    return np.array(sizes)


def report_growth(sizes):
    """Print by how much memory grows in 100 s once it has settled, with the standard error."""
    late = sizes[SETTLED:]
    if len(late) < ENOUGH_MINUTES:
        return
    hundreds = np.arange(len(late)) * MINUTE / 100.0
    hundreds -= hundreds.mean()
    slope, middle = np.polyfit(hundreds, late, 1)
    left = late - middle - np.outer(hundreds, slope)
    error = np.sqrt((left**2).sum(0) / (len(late) - 2) / (hundreds @ hundreds))
    said = zip(NODES, slope, error)
    print('; '.join(f'{node} {x:+.2f} +- {dx:.2f} MB in 100 s' for node, x, dx in said))


def main():
    """Run the soak, or a part of it in a process of its own."""
    if sys.argv[1:2] == ['drive']:
        return drive(sys.argv[2], Path(sys.argv[3]), float(sys.argv[4]))
    if sys.argv[1:2] == ['listen']:
        return listen(Path(sys.argv[2]))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=600.0)
    parser.add_argument('--share', type=float, default=0.0)
    parser.add_argument(
        'kind', nargs='?', default='looped', choices=('looped', 'new', 'malformed')
    )
    options = parser.parse_args()
    return run(options.kind, options.seconds, options.share)


if __name__ == '__main__':
    sys.exit(main())
