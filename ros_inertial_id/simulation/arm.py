"""
A simulated arm that shares no code with pinocchio: MuJoCo moves it, an identification recovers it.

Its controller computes the torques of the reference motion from the nominal description and
feeds back position and velocity (computed torque); its drives overcome their own friction.  It
takes trajectories as a joint_trajectory_controller that goes on from its command
(interpolate_from_desired_state: true): a new one replaces the old one.  Where its first point lies
ahead, the way there begins at the last command; where points lie in the past, it is entered where
its own clock says.  The
bodies are the true ones, so the arm strays from the reference by milliradians.

The loop is one smooth ordinary differential equation: the controller is evaluated at every
stage of the Runge-Kutta steps.  A sample holds q, v, a and tau of the same instant, related
exactly by the equation of motion; nothing is held from one sample to the next, so there is no
half-step lag that an identification would take for physics.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import true_robot
from .joint_path import path_of_points, rest_at, trajectory
from .rigid_bodies import RigidBodies
from ..errors import ConfigError, MotionError

STEP_LIMIT = 0.3  # step times fastest decay; accelerations are right to 1e-6 of full scale
MOTOR_SHARE = 0.95  # of the effort limit; the rest is left for friction
REST = 1e-13  # [rad, rad/s] change in a step below which an arm at rest stays as it is


@dataclass(frozen=True)
class ArmOptions:
    """
    How the simulated arm is sampled and controlled, and how it differs from its description.

    rate : samples per second [Hz]; seed : of everything random
    mass_change, center_shift, shape_change, friction : as in true_robot
    armature : rotor inertia of every joint, link side [kg m^2]
    bandwidth : of the position control [rad/s]
    position_noise, velocity_noise, torque_noise : standard deviations of what is measured
        [rad, rad/s, N m]
    """

    rate: float = 500.0
    seed: int = 0
    mass_change: float = 0.25
    center_shift: float = 0.25
    shape_change: float = 0.1
    friction: float = 1.0
    armature: float = 0.0
    bandwidth: float = 120.0
    position_noise: float = 1e-5
    velocity_noise: float = 1e-3
    torque_noise: float = 0.1


@dataclass(frozen=True)
class ArmState:
    """
    One instant of the arm, each (n,), in the order of its joint names.

    time : [s] since the arm was made; q, v, a, tau : the truth [rad, rad/s, rad/s^2, N m]
    tau is the motor torque on the link side: rigid bodies, armature and friction
    measured_q, measured_v, measured_tau : with the noise of the sensors
    """

    time: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    measured_q: np.ndarray
    measured_v: np.ndarray
    measured_tau: np.ndarray


class SimulatedArm:
    """
    An arm at rest in the middle of its joint limits, until it gets a path to follow.

    urdf : text of the nominal description
    gravity_base : gravitational acceleration in the base frame [m/s^2]
    true_urdf, true_friction (a JointFriction), limits (a JointLimits) : what it really is
    bodies : the true RigidBodies, an oracle for tests
    Raises RobotModelError, ConfigError, and InertialIdError when MuJoCo is not installed.
    """

    def __init__(self, urdf, options=None, gravity_base=(0.0, 0.0, -9.81)):
        self.options = options = options or ArmOptions()
        gravity_base = _vector(gravity_base)
        robot, rng = true_robot.parse(urdf), np.random.default_rng(options.seed)
        self.joint_names = true_robot.movable_joints(robot)
        self.limits = true_robot.joint_limits(robot, self.joint_names)
        self.true_urdf = true_robot.perturbed_urdf(
            robot, rng, options.mass_change, options.center_shift, options.shape_change
        )
        self.true_friction = true_robot.random_friction(self.limits, rng, options.friction)
        self.bodies, self._expected = (
            RigidBodies(text, self.joint_names, gravity_base, options.armature)
            for text in (self.true_urdf, urdf)
        )
        self._rng = rng
        self._noise = np.array(
            [[options.position_noise], [options.velocity_noise], [options.torque_noise]]
        )
        self._strongest = MOTOR_SHARE * self.limits.effort
        low, high = self.limits.reach()
        home = (low + high) / 2
        self._gains, decay = self._control(home)
        self._steps = int(np.ceil(decay / options.rate / STEP_LIMIT))
        self._state = np.array([home, np.zeros(len(home))])  # q, v
        self._path = rest_at(home)
        self._count = 0
        self._resting = None  # command and sample of an arm that does not move any more

    def _control(self, home):
        """Return the gains (2, n) [1/s^2, 1/s], and the fastest decay of the control [1/s]."""
        bandwidth = self.options.bandwidth
        gains = np.outer([bandwidth**2, 2 * bandwidth], np.ones(len(home)))
        return gains, self._decay(home, 2 * bandwidth * self._expected.mass_matrix(home))

    def _decay(self, home, damping):
        """Return the fastest decay of a speed [1/s]; damping : (n, n) [N m s/rad]."""
        decays = np.linalg.eigvals(np.linalg.solve(self.bodies.mass_matrix(home), damping))
        return 2.0 * np.abs(decays).max()  # twice: the inertia depends on the posture

    @property
    def time(self) -> float:
        """Time of the next sample [s]."""
        return self._count / self.options.rate

    def follow(
        self, times: Any, positions: Any, velocities: Any = None, accelerations: Any = None
    ) -> None:
        """
        Give the controller points at ``times`` (m,) [s] from now on, some may be past.

        positions, velocities, accelerations : (m, n) [rad or m and derivatives]
        Raises MotionError, and goes on as before, when the points cannot be followed.
        """
        points = [x for x in (positions, velocities, accelerations) if x is not None]
        self._refuse_outside(np.asarray(positions, dtype=float))
        self._receive(self.time + np.asarray(times, dtype=float), points)

    def _receive(self, times, points):
        """Begin now with points at ``times`` (m,) [s] of this arm."""
        now, joints = self.time, len(self.joint_names)
        path = trajectory(now, times, points, joints)
        if times[0] > now:
            # The command for now was sent one period ago, and is anchored there.
            points = [np.vstack([here, x]) for here, x in zip(self._path([now]), points)]
            path = path_of_points(np.append(now - 1 / self.options.rate, times), points, joints)
        self._path = path

    def _refuse_outside(self, positions):
        if positions.shape[1:] != (len(self.joint_names),):
            return  # the controller says so
        low, high = self.limits.lower, self.limits.upper
        outside = np.argwhere((positions < low) | (positions > high))
        if len(outside):
            point, joint = outside[0]
            raise MotionError(
                f'point {point} of the trajectory leaves the position limits of '
                f'{self.joint_names[joint]}',
                expected=f'{low[joint]:g} to {high[joint]:g}',
                found=f'{positions[point, joint]:g}',
            )

    def step(self) -> ArmState:
        """Return the ArmState of this instant and move on to the next."""
        h = 1 / (self._steps * self.options.rate)  # [s]
        noise = self._noise * self._rng.standard_normal((3, len(self.joint_names)))
        self._update_controller(self._state + noise[:2])
        command = self._command(self.time + h / 2 * np.arange(2 * self._steps + 1))
        state, resting = self._state, self._resting
        self._count += 1
        if resting is not None and (command == resting[0]).all():
            return self._sample(resting[1], noise)
        tau, rates = self._dynamics(state, command[0])
        begun = state, rates[1], tau + self.true_friction.torque(state[1])
        for i in range(0, 2 * self._steps, 2):
            if i:
                rates = self._dynamics(state, command[i])[1]
            second = self._dynamics(state + h / 2 * rates, command[i + 1])[1]
            third = self._dynamics(state + h / 2 * second, command[i + 1])[1]
            fourth = self._dynamics(state + h * third, command[i + 2])[1]
            state = state + h / 6 * (rates + 2 * (second + third) + fourth)
        self._resting = None
        if np.abs(state - self._state).max() < REST:
            self._resting = command[:1], begun
        self._state = state
        return self._sample(begun, noise)

    def _update_controller(self, measured):
        """Do nothing: the path does not depend on what is measured, (2, n) q, v."""

    def _sample(self, begun, noise):
        """Return the ArmState of the step that was just made; ``begun`` : its state, a, tau."""
        state, a, tau = begun
        truth = np.array([*state, tau])
        measured = truth + noise
        return ArmState(
            np.array((self._count - 1) / self.options.rate),
            truth[0],
            truth[1],
            np.array(a),
            truth[2],
            measured[0],
            measured[1],
            measured[2],
        )

    def _reference(self, times):
        """Return the reference motion (q, v, a), each (k, n), at ``times`` (k,) [s]."""
        return self._path(times)

    def _command(self, times):
        """Return a + kp q + kd v of the reference (k, n) [rad/s^2]."""
        q, v, a = self._reference(times)
        return a + self._gains[0] * q + self._gains[1] * v

    def _motor(self, q, v, wanted):
        """Return the torque (n,) for the acceleration ``wanted`` (n,), by the description."""
        return self._expected.inverse(q, v, wanted)

    def _dynamics(self, state, command):
        """Return the motor torque less friction (n,) and d state / dt (2, n)."""
        q, v = state
        tau = self._motor(q, v, command - self._gains[0] * q - self._gains[1] * v)
        tau = np.minimum(np.maximum(tau, -self._strongest), self._strongest)
        return tau, np.array([v, self.bodies.accelerate(q, v, tau)])


def _vector(gravity_base):
    gravity_base = np.asarray(gravity_base, dtype=float)
    if gravity_base.shape != (3,) or not np.isfinite(gravity_base).all():
        raise ConfigError(
            'gravity_base', expected='three finite numbers [m/s^2]', found=gravity_base.tolist()
        )
    return gravity_base
