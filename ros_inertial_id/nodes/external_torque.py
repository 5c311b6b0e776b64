"""What the prediction node says of torques from outside, sample by sample and without a lag."""

from dataclasses import dataclass
from typing import Any

from geometry_msgs.msg import WrenchStamped
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from .conversions import advertise, DEPTH, latched, publish_joint_states, table
from ..dynamics.robot_model import RobotModel
from ..errors import ConfigError
from ..identification.identified_model import IdentifiedModel
from ..measurement.joints.drives import effort_map, joint_side
from ..measurement.live import carried
from ..measurement.recording import Channel
from ..options import option
from ..procedures.external_wrench import COMPONENTS, WrenchObserver
from ..procedures.momentum_observer import External, MomentumObserver, observer_of


@dataclass(frozen=True)
class ExternalTorqueOptions:
    """Whether and how torques from outside are observed."""

    external_torque: bool = option(False, 'publish ~/external_torque, its standard deviation, and '
                                   '~/contact')
    external_wrench_link: str = option('', 'link of the URDF at whose origin, in whose axes '
                                       '~/external_wrench is; empty: the last that moves')
    external_bandwidth: float = option(50.0, 'of ~/external_torque: faster is noisier',
                                       unit='rad/s', at_least=1.0, at_most=500.0)
    external_false_alarms: float = option(1.0, 'how often errors of the model and noise alone may '
                                          'look like contact', unit='1/h', at_least=1e-3,
                                          at_most=1000.0)


class ExternalTorque:
    """Publishers of a ``node``, and the observer behind them; ``options``: how it observes."""

    def __init__(self, node: Node, options: ExternalTorqueOptions):
        self._options = options
        self._observer: MomentumObserver | None = None
        self._robot: RobotModel | None = None
        self._torque = advertise(node, JointState, '~/external_torque', DEPTH)
        self._deviation = advertise(
            node, JointState, '~/external_torque_standard_deviation', DEPTH)
        self._wrench = advertise(node, WrenchStamped, '~/external_wrench', DEPTH)
        self._covariance = advertise(node, Float64MultiArray, '~/external_wrench_covariance',
                                     DEPTH)
        self._wrenches: WrenchObserver | None = None
        self._contact = node.create_publisher(String, '~/contact', latched())
        self._touched: tuple[str, ...] | None = None

    def start(self, model: IdentifiedModel, robot: RobotModel, options: Any) -> None:
        """
        Observe with a ``model`` from now on.

        robot : RobotModel, mounted as it is; options : SerialArmOptions of the prediction
        Raises ConfigError for efforts on a topic of their own, RobotModelError for a link of the
        wrench that does not exist.
        """
        self._observer = None
        if options.effort_topic:
            raise ConfigError('external torques need efforts in the joint states',
                              found=f'effort_topic: {options.effort_topic}')
        self._observer = observer_of(model, robot, self._options.external_bandwidth,
                                     self._options.external_false_alarms)
        self._wrenches = WrenchObserver(robot, self._options.external_wrench_link)
        self._robot, self._drives, self._topic = robot, options, options.joint_states_topic
        self._to_joints = effort_map(options, len(robot))

    def add(self, channel: Channel) -> None:
        """Publish what the joint states of a ``channel`` show."""
        if self._observer is None or self._robot is None or channel.topic != self._topic:
            return
        names = self._robot.joint_names
        rows, values = carried(joint_side(channel, names, self._drives), names,
                               ('position', 'velocity', 'effort'))
        q, v, tau = values.values()
        good = np.isfinite(q).all(1) & np.isfinite(v).all(1) & np.isfinite(tau).all(1)
        stamps = channel.stamp_ns[rows][good]
        if not len(stamps):
            return
        found = self._observer.add(stamps * 1e-9, q[good], v[good],
                                   tau[good] @ self._to_joints.T)
        for publisher, torques in ((self._torque, found.torque),
                                   (self._deviation, found.standard_deviation)):
            publish_joint_states(publisher, stamps, names, effort=torques)
        self._publish_wrenches(stamps, q[good], found)
        self._say(tuple(name if hit else f'{name} unknown' for name, hit, unsure in zip(
            names, found.contact[-1], found.unknown[-1]) if hit or unsure))

    def _publish_wrenches(self, stamps: np.ndarray, q: np.ndarray, found: External) -> None:
        """Publish the wrench of every sample and its covariance, while somebody listens."""
        publishers = self._wrench, self._covariance
        if self._wrenches is None or not any(p.get_subscription_count() for p in publishers):
            return
        for stamp, wrench, covariance in zip(stamps.tolist(),
                                             *self._wrenches.wrenches(q, found)):
            message = WrenchStamped()
            message.header.frame_id = self._wrenches.link
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10 ** 9)
            for part, values in ((message.wrench.force, wrench[:3]),
                                 (message.wrench.torque, wrench[3:])):
                part.x, part.y, part.z = values.tolist()
            self._wrench.publish(message)
            self._covariance.publish(table(COMPONENTS, dict(zip(COMPONENTS, covariance.T))))

    def _say(self, touched):
        """Publish the joints in contact, and those where it is unknown, when they change."""
        if touched != self._touched:
            self._touched = touched
            self._contact.publish(String(data=', '.join(touched)))
