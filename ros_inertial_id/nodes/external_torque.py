"""What the prediction node says of torques from outside, sample by sample and without a lag."""

from dataclasses import dataclass
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
import numpy as np
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from .conversions import advertise, DEPTH, latched, publish_joint_states, row, table
from ..dynamics.robot_model import RobotModel
from ..errors import ConfigError
from ..identification.identified_model import IdentifiedModel
from ..measurement.joints.drives import joint_side
from ..measurement.joints.effort_source import EffortSource
from ..measurement.live import carried
from ..measurement.live_commands import live_commands, LiveCommands
from ..measurement.recording import Channel
from ..measurement.summary import Summary
from ..options import option
from ..procedures.external_wrench import WrenchObserver
from ..procedures.momentum_observer import External, MomentumObserver, observer_of

CONTACT = {
    (False, False): ('ok', 'free'),
    (True, False): ('warn', 'contact'),
    (False, True): ('stale', 'unknown'),
}  # by contact and unknown of a joint


@dataclass(frozen=True)
class ExternalTorqueOptions:
    """Whether and how torques from outside are observed."""

    external_torque: bool = option(
        False, 'publish ~/external_torque, its standard deviation, and ~/contact'
    )
    external_wrench_link: str = option(
        '',
        'link of the URDF at whose origin, in whose axes '
        '~/external_wrench is; empty: the last that moves',
    )
    external_bandwidth: float = option(
        50.0, 'of ~/external_torque: faster is noisier', unit='rad/s', at_least=1.0, at_most=500.0
    )
    external_false_alarms: float = option(
        1.0,
        'how often errors of the model and noise alone may look like contact',
        unit='1/h',
        at_least=1e-3,
        at_most=1000.0,
    )


def _seconds(stamp_ns: np.ndarray) -> np.ndarray:
    return stamp_ns * 1e-9


def _publishers(node: Node, kind: type, name: str) -> list[Publisher]:
    """Return the publishers of what is observed, and of its standard deviation."""
    return [
        advertise(node, kind, f'~/{name}', DEPTH),
        advertise(node, kind, f'~/{name}_standard_deviation', DEPTH),
    ]


class ExternalTorque:
    """Publishers of a ``node``, and the observer behind them; ``options``: how it observes."""

    def __init__(self, node: Node, options: ExternalTorqueOptions):
        self._node, self._options = node, options
        self._observer: MomentumObserver | None = None
        self._commands: LiveCommands | None = None
        self._torque = _publishers(node, JointState, 'external_torque')
        self._wrench = _publishers(node, WrenchStamped, 'external_wrench')
        self._contact = node.create_publisher(DiagnosticArray, '~/contact', latched())
        self._said: list[tuple[str, str]] = []  # of contact

    def start(self, model: IdentifiedModel, robot: RobotModel, options: Any) -> None:
        """
        Observe with a ``model`` from now on.

        robot : mounted as it is; options : SerialArmOptions of the prediction
        Raises ConfigError for efforts measured on a topic of their own, RobotModelError for a link
        of the wrench that does not exist.
        """
        self._observer, self._said = None, []
        summary = Summary.of(model.preprocessing[0])
        self._commands = live_commands(robot, options, summary)
        self._shift = summary.time_offset
        if options.effort_topic and self._commands is None:
            raise ConfigError(
                'external torques need efforts in the joint states',
                found=f'effort_topic: {options.effort_topic}',
            )
        self._observer = observer_of(
            model, robot, self._options.external_bandwidth, self._options.external_false_alarms
        )
        self._wrenches = WrenchObserver(robot, self._options.external_wrench_link)
        self._robot, self._drives, self._topic = robot, options, options.joint_states_topic
        self._effort_source = EffortSource.of(options, len(robot), robot.effort)

    def add(self, channel: Channel) -> None:
        """Publish what the joint states of a ``channel`` show, or take the commands in it."""
        if self._commands is not None and channel.topic in self._commands.topics:
            self._commands.add(channel, _seconds)
        if self._observer is None or channel.topic != self._topic:
            return
        names = self._robot.joint_names
        rows, values = carried(
            joint_side(channel, names, self._drives), names, ('position', 'velocity', 'effort')
        )
        q, v, tau = values.values()
        tau = self._torques(_seconds(channel.stamp_ns[rows]), q, v, tau)
        good = np.isfinite(q).all(1) & np.isfinite(v).all(1) & np.isfinite(tau).all(1)
        stamps = channel.stamp_ns[rows][good]
        if not len(stamps):
            return
        external = self._observer.add(_seconds(stamps), q[good], v[good], tau[good])
        for publisher, torques in zip(
            self._torque, (external.torque, external.standard_deviation)
        ):
            publish_joint_states(publisher, stamps, names, effort=torques)
        self._publish_wrenches(stamps, q[good], external)
        self._publish_contacts(external)

    def _publish_contacts(self, external: External) -> None:
        """Publish which joints are in contact, when that is another than before."""
        newest = zip(external.contact[-1].tolist(), external.unknown[-1].tolist())
        states = [CONTACT[contact, unknown] for contact, unknown in newest]
        if states == self._said:
            return
        self._said = states
        names = self._robot.joint_names
        rows = [row(name, {}, *state) for name, state in zip(names, states)]
        self._contact.publish(table(self._node, rows))

    def _torques(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, effort: np.ndarray) -> Any:
        """Return the torque of the motors (N, n) at the times t (N,) [s] of samples (N, n)."""
        if self._commands is None:
            return self._effort_source.torque(effort)
        commanded = self._commands.at(t + self._shift)
        return self._commands.torques(commanded, self._commands.feedback(q, v))

    def _publish_wrenches(self, stamps: np.ndarray, q: np.ndarray, external: External) -> None:
        """Publish the wrench of every sample and its standard deviation to who listens."""
        if not any(publisher.get_subscription_count() for publisher in self._wrench):
            return
        wrenches, covariances = self._wrenches.wrenches(q, external)
        deviations = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
        message = WrenchStamped()
        message.header.frame_id = self._wrenches.link
        force, torque = message.wrench.force, message.wrench.torque
        for k, stamp in enumerate(stamps.tolist()):
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
            for publisher, values in zip(self._wrench, (wrenches[k], deviations[k])):
                force.x, force.y, force.z, torque.x, torque.y, torque.z = values.tolist()
                publisher.publish(message)
