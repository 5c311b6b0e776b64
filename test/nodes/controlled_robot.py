"""
The simulated robot under a controller of ros2_controllers: controlled_robot.py URDF OPTIONS.

OPTIONS : JSON of fields of ControlledArmOptions.  Has faults, which may be set at any time, and
follows trajectories at the share of its speed that ``speed_scaling`` says, which it publishes as
UR's driver does.  Every sample goes to ``~/true_joint_states``.
"""

from dataclasses import dataclass
import json
from pathlib import Path
import sys

import numpy as np
from rclpy.parameter import Parameter
from std_msgs.msg import Float64
from trajectory_msgs.msg import JointTrajectory

from ros_inertial_id.nodes.parameters import declare_options
from ros_inertial_id.nodes.running import run
from ros_inertial_id.nodes.simulated_robot import COMMANDS, SimulatedRobot
from ros_inertial_id.options import option

sys.path.append(str(Path(__file__).parents[1] / 'oracles'))
from controlled_arm import ControlledArm, ControlledArmOptions  # noqa: E402
from joint_trajectory_controller import DESIRED  # noqa: E402

FAULTS = (
    '',
    'joint_states_stop',
    'joint_stuck',
    'effort_offset',
    'drop_trajectory',
    'controller_gone',
)  # which holds the arm when it comes back
FAULTY = 0  # index of the joint that joint_stuck and effort_offset strike


@dataclass(frozen=True)
class FaultOptions:
    """What goes wrong with the robot."""

    fault: str = option('', 'fault to play', choices=FAULTS)
    speed_scaling: float = option(
        1.0,
        "share of its speed at which a trajectory runs, as by UR's speed slider",
        at_least=0.0,
        at_most=1.0,
    )


class ControlledRobot(SimulatedRobot):
    """The simulated robot of a file ``urdf`` with ControlledArmOptions ``options``."""

    truth_every = 1

    def __init__(self, urdf, options=None, **node_options):
        self._options = options or ControlledArmOptions()
        self.goes_on = self._options.anchor == DESIRED
        self._fault, self._offset = '', 0.0
        super().__init__(
            parameter_overrides=[
                Parameter('urdf_file', value=str(urdf)),
                Parameter('rate', value=self._options.rate),
            ],
            **node_options,
        )
        declare_options(self, FaultOptions)
        self._scaling = self.create_publisher(
            Float64, 'speed_scaling_state_broadcaster/speed_scaling', 10
        )
        self.add_post_set_parameters_callback(self._have_set)

    def _make_arm(self, urdf, own):
        return ControlledArm(urdf, options=self._options)

    def _publish(self, samples, stamps):
        if self._fault != 'joint_states_stop':
            super()._publish(samples, stamps)

    def _send(self, publisher, stamp_ns, q, v, tau):
        if publisher is self._joint_states:
            tau = tau + self._offset
        super()._send(publisher, stamp_ns, q, v, tau)

    def _follow(self, trajectory):
        if self._fault != 'drop_trajectory':
            super()._follow(trajectory)

    def _have_set(self, parameters):
        for parameter in parameters:
            if parameter.name == 'speed_scaling':
                self._arm.controller.speed_scaling = parameter.value
                self._say_scaling()
            if parameter.name == 'fault':
                self._set_fault(parameter.value)

    def _set_fault(self, fault):
        self._arm.jam(FAULTY if fault == 'joint_stuck' else None)
        self._offset = np.zeros(len(self._arm.joint_names))
        if fault == 'effort_offset':  # whatever the torque was: at the limit or beyond
            self._offset[FAULTY] = 2 * self._arm.limits.effort[FAULTY]
        if fault in ('drop_trajectory', 'controller_gone'):
            self._arm.hold()
        if fault == 'controller_gone' != self._fault:
            self.destroy_subscription(self._commands)
        if self._fault == 'controller_gone' != fault:
            self._commands = self.create_subscription(JointTrajectory, COMMANDS, self._follow, 10)
        self._fault = fault

    def _say_scaling(self):
        self._scaling.publish(Float64(data=100.0 * self._arm.controller.speed_scaling))

    def _health(self):
        self._say_scaling()
        return super()._health()


def main(urdf, options='{}'):
    """Run the robot until a signal comes."""
    return run(lambda: ControlledRobot(urdf, ControlledArmOptions(**json.loads(options))), [])


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
