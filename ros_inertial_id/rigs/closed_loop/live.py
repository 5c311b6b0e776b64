"""A closed loop while it runs: encoders of the independent joints and torques, as of an arm."""

from typing import Any

import numpy as np

from .motion import torque_of, torque_sensors
from .state import close, MechanismState
from ..dynamics.continuation import Continuation
from ..dynamics.mechanism import Mechanism
from ...errors import ConfigError, InertialIdError
from ...measurement.joints.effort_source import EffortSource
from ...measurement.joints.kinematic_state import JointSpaceState
from ...measurement.live import listen_to_efforts, listen_to_joints, LiveMotion
from ...measurement.summary import Summary


class LiveMechanism(LiveMotion):
    """The motion and torques of a Mechanism, see LiveSource; ConfigError where markers show it."""

    def __init__(self, robot: Mechanism, options: Any, lag: float, summary: Summary):
        if options.markers:
            raise ConfigError(
                'live prediction',
                expected='encoders of ' + ', '.join(robot.coordinates),
                found='a motion by markers',
                do='identify from encoders (no markers:), or '
                'predict afterwards: inertial-id identify BAG --validate OTHER_BAG',
            )
        super().__init__(
            options.cutoff,
            options.velocity == 'measured',
            lag,
            EffortSource.of(options, len(robot.actuated)).to_joint,
            summary.time_offset,
        )
        self._robot, self._continuation = robot, Continuation(robot)
        motion = options.joint_states_topic or 'joint_states'
        listen_to_joints(self, motion, robot.coordinates, options)
        for joint, topic, axis in torque_sensors(options.torques, robot.joint_names):
            if joint in robot.motor_names:  # others are of no use, as in a recording
                column = robot.motor_names.index(joint)
                self.listen(topic, self._torque_taker(column, joint, axis))
        if not options.torques:
            listen_to_efforts(self, options.effort_topic or motion, robot.motor_names)

    def _torque_taker(self, column, joint, axis):
        def take(channel):
            self.load(
                column, self.seconds(channel.stamp_ns), torque_of(channel, joint, axis)[:, None]
            )

        return take

    def _state(self, stamps: np.ndarray, state: JointSpaceState) -> MechanismState:
        """Return the MechanismState; raise where the mechanism cannot be closed."""
        try:
            return close(self._robot, state, self._continuation)
        except InertialIdError:
            self._continuation.restart()
            raise
