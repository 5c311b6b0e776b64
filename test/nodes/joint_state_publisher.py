"""
A plain rclpy publisher: joint_state_publisher.py COUNT RATE RELIABILITY [TOPIC].

Waits for a line on standard input and for a reader, publishes COUNT joint states of seven joints
with ``position[0]`` = 0, 1, 2, ..., then stays until its standard input is closed.
"""

from array import array
import sys
import time

import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

BURST = 20  # published at once when late


def main(count, rate, reliability, topic='joint_states'):
    """Publish at ``rate`` [Hz]; late messages are made up for."""
    rclpy.init()
    node = rclpy.create_node('driver')
    qos = QoSProfile(depth=5000, reliability=ReliabilityPolicy[reliability.upper()])
    publisher = node.create_publisher(JointState, topic, qos)
    sys.stdin.readline()
    while not publisher.get_subscription_count():
        time.sleep(0.01)
    message = JointState(name=[f'joint{i + 1}' for i in range(7)])
    message.velocity = message.effort = array('d', [0.25] * 7)
    sent, began = 0, time.monotonic()
    while sent < count:
        due = int((time.monotonic() - began) * rate) + 1 - sent
        for _ in range(min(due, BURST, count - sent)):
            message.header.stamp = node.get_clock().now().to_msg()
            message.position = array('d', [sent, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5])
            publisher.publish(message)
            sent += 1
        time.sleep(0.5 / rate)
    print(f'sent {sent}', flush=True)
    sys.stdin.read()
    node.destroy_node()
    rclpy.shutdown()


if __name__ == '__main__':
    main(int(sys.argv[1]), float(sys.argv[2]), *sys.argv[3:])
