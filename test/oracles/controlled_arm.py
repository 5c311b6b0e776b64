"""The simulated arm under a controller as ros2_controllers has it, with late drives and faults."""

from dataclasses import dataclass, fields

from joint_trajectory_controller import ControllerOptions, JointTrajectoryController
import numpy as np

from ros_inertial_id.simulation.arm import ArmOptions, ArmState, SimulatedArm
from ros_inertial_id.simulation.joint_path import path_of_points

COMPUTED, EFFORT_PID = 'computed_torque', 'effort_pid'
STIFFNESS, DAMPING = 7.0, 0.35  # [1/rad, s/rad] of the effort limit: 600 and 30 of 87 N m
HOLD_TIME = 0.2  # [s] from full speed to rest: 10 rad/s^2 at 2 rad/s
LOCKED = 1e9  # [kg m^2 or kg] inertia that no motor moves


@dataclass(frozen=True)
class ControlledArmOptions(ArmOptions, ControllerOptions):
    """
    Those of the arm and of its controller, and how its drives work.

    control : COMPUTED torque, or EFFORT_PID: a spring and a damper about the reference beside the
        nominal gravity, as effort controllers of Franka arms
    servo_lag : time by which the drives follow their commands late [s]
    """

    control: str = COMPUTED
    servo_lag: float = 0.0


def simulate(arm, reference, duration):
    """
    Return the ArmState, arrays with leading axis k, of an arm that follows ``reference``.

    reference : times (k,) [s] -> (q, v, a), each (k, n); the arm starts on it; duration : [s]
    """
    arm._path, arm._resting = reference, None
    arm._state = np.array([x[0] for x in reference(np.array([arm.time]))[:2]])
    samples = [arm.step() for _ in range(round(duration * arm.options.rate))]
    return ArmState(
        *(
            np.array([getattr(sample, field.name) for sample in samples])
            for field in fields(ArmState)
        )
    )


class ControlledArm(SimulatedArm):
    """A SimulatedArm whose ``controller`` is a JointTrajectoryController."""

    def __init__(self, urdf, options=None, **more):
        self._effort = 0.0  # commanded last, by a controller of efforts
        super().__init__(urdf, options=options or ControlledArmOptions(), **more)
        self.controller = JointTrajectoryController(
            self._state[0], self.options, 1 / self.options.rate, memory=self.options.servo_lag
        )

    def _receive(self, times, points):
        self.controller.receive(self.time, times, points)

    def _control(self, home):
        """Return the gains (2, n), of efforts [N m/rad, N m s/rad], and how fast it decays."""
        if self.options.control == COMPUTED:
            return super()._control(home)
        gains = np.outer([STIFFNESS, DAMPING], self.limits.effort)
        return gains, self._decay(home, np.diag(gains[1]))

    def _update_controller(self, measured):
        self.controller.update(self.time, *measured, self._effort)

    def step(self):
        """Return the ArmState of this instant and move on to the next."""
        sample = super().step()
        if self.options.control == EFFORT_PID:
            command = self._command(np.array([self.time]))[0]
            self._effort = command - (self._gains * self._state).sum(0)
        return sample

    def _reference(self, times):
        """Return the commands (q, v, a), each (k, n), as late as the drives follow them."""
        return self.controller.command(times - self.options.servo_lag)

    def _command(self, times):
        if self.options.control == COMPUTED:
            return super()._command(times)
        q, v, _ = self._reference(times)
        return self.controller.feed_forward(times) + self._gains[0] * q + self._gains[1] * v

    def _motor(self, q, v, wanted):
        if self.options.control == COMPUTED:
            return super()._motor(q, v, wanted)
        return wanted + self._expected.inverse(q, 0.0 * q, 0.0 * q)

    def hold(self):
        """Come to rest within HOLD_TIME and stay there."""
        q, v, a = (x[0] for x in self.controller.command([self.time]))
        end = q + v * HOLD_TIME / 2
        self.controller.follow(
            self.time,
            path_of_points(
                self.time + np.array([0.0, HOLD_TIME]), ([q, end], [v, 0 * v], [a, 0 * a]), len(q)
            ),
        )

    def jam(self, joint=None):
        """Block the joint of this index where it is; None frees it."""
        self.bodies.model.dof_armature[:] = self.options.armature
        self._resting = None
        if joint is not None:
            self.bodies.model.dof_armature[self.bodies.dof[joint]] = LOCKED
            self._state[1, joint] = 0
