"""
Publishes the messages of a bag again, with their stamps: bag_player.py BAG RATE [clock [PART]].

Publishes what is latched, then waits for a line on standard input: how many readers /joint_states
has.  Keeps all messages for them, however late they are.  With ``clock`` every message is preceded
by its time on /clock, which stands at the begin of the bag until the line comes.  With ``PART`` it
waits for a line before each further so many messages.  Stays until its standard input is closed.
"""

import importlib
from pathlib import Path
import select
import sys
import time

import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosbags.highlevel import AnyReader
from rosgraph_msgs.msg import Clock


def main(path, rate, clock='', part='0'):
    """Publish ``rate`` messages a second, in the order of the bag."""
    rclpy.init()
    node = rclpy.create_node('player')
    clocks = node.create_publisher(Clock, '/clock', 10) if clock else None
    with AnyReader([Path(path)]) as reader:
        publishers = {c.topic: _publisher(node, c) for c in reader.connections}
        latched = [c for c in reader.connections if _is_latched(c)]
        for connection, _, data in reader.messages(latched) if latched else ():
            publishers[connection.topic].publish(bytes(data))
        others = [c for c in reader.connections if c not in latched]
        while clocks and not select.select([sys.stdin], [], [], 0.1)[0]:
            say_time(clocks, reader.start_time)
        readers = int(sys.stdin.readline())
        while publishers['/joint_states'].get_subscription_count() < readers:
            time.sleep(0.01)
        began = time.monotonic()
        for k, (connection, received_ns, data) in enumerate(reader.messages(others)):
            if k and int(part) and k % int(part) == 0:
                sys.stdin.readline()
                began = time.monotonic() - k / rate
            while k > (time.monotonic() - began) * rate:
                time.sleep(0.5 / rate)
            if clocks:
                say_time(clocks, received_ns)
            publishers[connection.topic].publish(bytes(data))
    print('played', flush=True)
    sys.stdin.read()
    node.destroy_node()
    rclpy.shutdown()


def say_time(clocks, now_ns):
    """Publish the time of the bag [ns]."""
    message = Clock()
    message.clock.sec, message.clock.nanosec = divmod(now_ns, 10**9)
    clocks.publish(message)


def _publisher(node, connection):
    package, _, name = connection.msgtype.split('/')
    kind = getattr(importlib.import_module(f'{package}.msg'), name)
    return node.create_publisher(
        kind,
        connection.topic,
        QoSProfile(
            depth=connection.msgcount,
            durability=DurabilityPolicy.TRANSIENT_LOCAL
            if _is_latched(connection)
            else DurabilityPolicy.VOLATILE,
        ),
    )


def _is_latched(connection):
    return connection.ext.offered_qos_profiles[0].durability.value == 1


if __name__ == '__main__':
    main(sys.argv[1], float(sys.argv[2]), *sys.argv[3:])
