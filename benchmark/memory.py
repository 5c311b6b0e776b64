"""
Memory: recorder, online identification and torque prediction through an hour at 1 kHz.

    python benchmark/memory.py [--seconds 3600] [NODE ...]

The hour is simulated: the bytes of a Franka-like arm's joint states are what each node's reader
has received, stamped a millisecond apart, as fast as they are read; from the fourth second on,
among them, one a second, the malformed forms of test/nodes/test_malformed.py (more than 20 kinds).
Printed as a table: how many good messages were not recorded, fitted or predicted (but for what a
filter needs to begin), resident memory [MB] ten times, its growth from the third to the last, and
what the node says at the end.  An hour takes a quarter of an hour for each node.  Ends with
status 1 where memory grows by more than 5 %, or more good messages are lacking than were malformed
(online identification fits in steps: the last may be lacking).  Each node in its own process.
"""

import argparse
import os
from pathlib import Path
import struct
import subprocess
import sys
import tempfile
import time

from moving_arm import messages, PERIOD, simulated, URDF, write_model

TOPIC = '/joint_states'
RATE, BATCH = 1000, 20  # [Hz]; messages between two readings
TIMES, GROWTH = 10, 0.05
CLEAN = 3  # [s] without malformed messages
NODES = ('recorder', 'identification', 'torque_prediction')


def resident():
    """Return the resident memory of this process [MB]."""
    return int(Path('/proc/self/statm').read_text().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 1e6


def made(kind, folder, recording):
    """Return (node, what looks for publishers, what to call for every batch, every second)."""
    from rclpy.parameter import Parameter

    from ros_inertial_id.nodes.identification import Identification
    from ros_inertial_id.nodes.recorder import Recorder
    from ros_inertial_id.nodes.torque_prediction import TorquePrediction

    if kind == 'recorder':
        node = Recorder(parameter_overrides=[Parameter('out', value=str(folder))])
        return (
            node,
            node._look_for_publishers,
            node._read,
            lambda: (node._flush(), node._health()),
        )
    if kind == 'identification':
        (folder / 'robot.urdf').write_text(URDF)
        node = Identification(
            parameter_overrides=[
                Parameter('online', value=True),
                Parameter('urdf_file', value=str(folder / 'robot.urdf')),
            ]
        )
        online = node._online
        return (
            node,
            lambda: online._streams.look(online._topics),
            lambda: online._streams.hand_to(online._take),
            lambda: (estimate(online), node._health()),
        )
    node = TorquePrediction(
        parameter_overrides=[Parameter('model_file', value=str(write_model(folder, recording)))]
    )
    return node, node._look_for_publishers, node._predict, node._report


def estimate(online):
    """Let the online identification estimate once, as if it was heard, and wait for its thread."""
    online._due = 0.0
    online._go_on()
    if online._thread is not None:
        online._thread.join()
    online._look()


def deliver(messages):
    """Let the readers of nodes find ``messages``, (bytes, about), which are gone then."""
    from ros_inertial_id.nodes import subscriptions

    def taken(reader):
        if reader.topic_name != TOPIC:
            return []
        waiting = list(messages)
        messages.clear()
        return waiting

    subscriptions.taken = taken


def run(kind, seconds):
    """Print a line about one node; return 1 where it grows, or predicts too little."""
    import rclpy
    from sensor_msgs.msg import JointState
    from test_malformed import serialised

    from ros_inertial_id.nodes.running import allocate_in_one_arena

    allocate_in_one_arena()
    recording, _ = simulated(float(RATE), 2 * PERIOD, 1)
    good, malformed = messages(recording, RATE), serialised(JointState)
    rclpy.init()
    source = rclpy.create_node('source')
    source.create_publisher(JointState, TOPIC, 10)
    with tempfile.TemporaryDirectory() as name:
        node, look, batch, second = made(kind, Path(name), recording)
        while TOPIC not in [each.topic_name for each in node._subscriptions]:
            look()
            time.sleep(0.05)
        if kind == 'recorder':
            node._start()
        received, sizes, k, began = [], [], 0, time.time()
        deliver(received)
        for now in range(seconds):
            for i in range(RATE):
                data = good[k % len(good)]
                stamp = struct.pack('<iI', *divmod(10**18 + k * 10**6, 10**9))
                received.append((data[:4] + stamp + data[12:], about(k)))
                k += 1
                if i == 500 and now >= CLEAN:
                    received.append((malformed[now % len(malformed)], about(k)))
                if i % BATCH == BATCH - 1:  # none waits while the second is looked at
                    batch()
            second()
            if now + 1 == CLEAN:  # what the filter needs before its first prediction
                before = k - taken(kind, node)
            if now % max(1, seconds // TIMES) == 0:
                sizes.append(resident())
                print(
                    kind,
                    now,
                    round(time.time() - began),
                    's',
                    round(sizes[-1]),
                    'MB',
                    file=sys.stderr,
                    flush=True,
                )
        sizes.append(resident())
        growth, bad = sizes[-1] / sizes[2] - 1.0, seconds - CLEAN
        # The recorder writes malformed ones too: they are left out when the bag is read.
        lacking = k + bad * (kind == 'recorder') - before - taken(kind, node)
        level, words, _ = said(node)
        print(
            f'| {kind} | {k} | {bad} of {len(malformed)} forms | {lacking} | '
            f'{" ".join(str(round(x)) for x in sizes)} | {100.0 * growth:.1f} | '
            f'{level}: {words.replace(name, ".")} | {time.time() - began:.0f} |',
            flush=True,
        )
    sys.stderr.flush()
    os._exit(int(growth > GROWTH or lacking > bad and kind != 'identification'))


def said(node):
    """Return what a node says of itself to diagnostics."""
    return (
        node._health if hasattr(node, '_health') and callable(node._health) else node._report
    )()


def taken(kind, node):
    """Return how many messages were recorded, fitted or predicted."""
    values = said(node)[2]
    return (
        values['/joint_states count']
        if kind == 'recorder'
        else round(RATE * float(values.get('online seconds', 0.0)))
        if kind == 'identification'
        else int(values.get('predicted', 0))
    )


def about(number):
    """Return what the middleware says of a message."""
    return {'publication_sequence_number': number, 'received_timestamp': time.time_ns()}


def main():
    """Run every node in a process of its own; return 1 where the memory of one grows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=int, default=3600)
    parser.add_argument('--inside', action='store_true', help=argparse.SUPPRESS)
    parser.add_argument('--verbose', action='store_true', help='show what the nodes log')
    parser.add_argument('nodes', nargs='*', default=list(NODES))
    options = parser.parse_args()
    if options.inside:
        return run(options.nodes[0], options.seconds)
    print(
        '| node | messages | malformed | good ones lacking | memory [MB] | growth [%] | says | '
        'took [s] |\n|---|---|---|---|---|---|---|---|',
        flush=True,
    )
    return max(
        subprocess.run(
            [sys.executable, __file__, '--inside', '--seconds', str(options.seconds), kind],
            stderr=None if options.verbose else subprocess.DEVNULL,
            check=False,
        ).returncode
        for kind in options.nodes
    )


if __name__ == '__main__':
    sys.exit(main())
