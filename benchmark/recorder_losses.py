"""
The recorder under forced losses: python benchmark/recorder_losses.py [RUNS] [SECONDS] [BYTES].

Joint states come at 1 kHz while the recorder is stopped for 0.3 s every two seconds, with a queue
of 50 messages, beside a process that keeps a core busy.  Prints one line a run: what was sent
between the first and the last message of the bag, what is in it, what the recorder says it lost.
With BYTES the joint states are best effort over UDP alone, and the kernel's buffer of a receiving
socket has this size (doubled): it overflows in every stop, and in bursts.  Ends with status 1 when
a run hangs, a bag is damaged or a loss is not counted.
"""

import os
from pathlib import Path
import re
import subprocess
import sys
import tempfile

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'nodes')]
from live_graph import Graph  # noqa: E402

from ros_inertial_id.measurement.bags.bag import read_bag  # noqa: E402

RATE, DEPTH, STOP, EVERY = 1000, 50, 0.3, 2.0  # [Hz], messages, [s], [s]
OVERRIDE = 'qos_overrides./joint_states.subscription.depth'
PROFILE = """<profiles xmlns="http://www.eprosima.com">
<transport_descriptors><transport_descriptor><transport_id>udp</transport_id><type>UDPv4</type>
<receiveBufferSize>{0}</receiveBufferSize><maxMessageSize>{0}</maxMessageSize>
</transport_descriptor></transport_descriptors>
<participant profile_name="small" is_default_profile="true"><rtps>
<userTransports><transport_id>udp</transport_id></userTransports>
<useBuiltinTransports>false</useBuiltinTransports></rtps></participant></profiles>"""


def campaign(runs, seconds, size):
    """Return how many of ``runs`` of some ``seconds``, with buffers of ``size``, went wrong."""
    failed = 0
    for run in range(runs):
        busy = subprocess.Popen([sys.executable, '-c', 'while True: pass'])
        try:
            with tempfile.TemporaryDirectory() as folder:
                if size:
                    profile = Path(folder, 'profile.xml')
                    profile.write_text(PROFILE.format(size))
                    os.environ['FASTRTPS_DEFAULT_PROFILES_FILE'] = str(profile)
                with Graph(Path(folder)) as graph:
                    inside, received, lost, damage = once(graph, Path(folder), seconds, size)
        finally:
            busy.kill()
            busy.wait()
        good = inside - received == lost and not damage
        failed += not good
        print(f'run {run + 1}: {inside} sent, {received} in the bag, {inside - received} missing, '
              f'{lost} counted by the recorder, {"complete" if good else "WRONG"}', flush=True)
    return failed


def once(graph, folder, seconds, size):
    """Return (sent, in the bag, lost by the recorder's count, damage) of one recording."""
    driver = graph.run('joint_state_publisher.py', int(RATE * seconds), RATE,
                       'best_effort' if size else 'reliable')
    recorder = graph.start('recorder', out=folder / 'bags', **{OVERRIDE: DEPTH})
    graph.until(lambda: graph.node.count_subscribers('joint_states'), 'the recorder')
    path = graph.call('recorder/start').message
    if size:
        print('buffers of the recorder\'s sockets [bytes]:', *buffers(recorder.pid))
    driver.say('go')
    for _ in range(int(seconds / EVERY) - 1):
        graph.spin(EVERY - STOP)
        recorder.pause(STOP)
    graph.until(lambda: 'sent' in driver.output, 'the last message')
    graph.spin(1.0)
    words = graph.call('recorder/stop').message  # fails when it hangs
    bag = read_bag(path)
    numbers = bag.channels['/joint_states'].fields['position'][:, 0]
    lost = int((re.search(r'; (\d+) lost by', words) or [0, 0])[1])
    return int(numbers[-1] - numbers[0]) + 1, len(numbers), lost, bag.provenance['damage']


def buffers(pid):
    """Return the sizes of the receive buffers of a process's UDP sockets, as the kernel says."""
    listed = subprocess.run(['ss', '-uanmp'], capture_output=True, text=True, check=True).stdout
    return re.findall(rf'pid={pid},.*\n?.*skmem:\(r\d+,rb(\d+)', listed)


if __name__ == '__main__':
    runs, length, small = map(int, sys.argv[1:] + ['20', '60', '0'][len(sys.argv) - 1:])
    sys.exit(campaign(runs, length, small) > 0)
