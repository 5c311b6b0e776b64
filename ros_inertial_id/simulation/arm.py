"""
A simulated arm that never heard of pinocchio: MuJoCo moves it, an identification recovers it.

Feed-forward of the nominal description and of typical friction, plus stiff position control,
track a reference.  Bodies and friction are the true ones, so the arm strays by milliradians.

The whole loop is one smooth ordinary differential equation: controller and friction are
evaluated at every stage of the Runge-Kutta steps.  A sample holds q, v, tau and a of the same
instant, related exactly by the equation of motion; nothing is held over a sample, so there is
no half-step lag to be identified as physics.
"""

from dataclasses import dataclass, fields

import numpy as np

from ..errors import MotionError
from ..options import check_ranges, option
from . import true_robot
from .joint_path import path_through, rest_at
from .rigid_bodies import RigidBodies

STEP_LIMIT = 1.2  # step times fastest decay; RK4 is stable to 2.8, and accurate up to here
REVERSAL = 10.0   # [rad/s^2] acceleration with which a joint may come to its reversal
HOLD_TIME = 0.2   # [s] from full speed to rest: 10 rad/s^2 at 2 rad/s


@dataclass(frozen=True)
class ArmOptions:
    """How the simulated arm is sampled and controlled, and how it differs from its URDF."""

    rate: float = option(500.0, 'samples per second', unit='Hz', at_least=10.0, at_most=5000.0)
    seed: int = option(0, 'seed of everything random', at_least=0)
    mass_change: float = option(
        0.25, 'largest relative change of a link mass', at_least=0.0, at_most=0.9)
    center_shift: float = option(
        0.02, 'largest shift of a centre of mass along an axis', unit='m', at_least=0.0)
    shape_change: float = option(
        0.1, 'largest relative stretch of a mass distribution', at_least=0.0, at_most=0.3)
    friction: float = option(1.0, 'scale of the random joint friction, 0: none', at_least=0.0)
    armature: float = option(0.0, 'rotor inertia of every joint', unit='kg m^2', at_least=0.0)
    bandwidth: float = option(
        80.0, 'bandwidth of the position control', unit='rad/s', at_least=1.0, at_most=500.0)
    position_noise: float = option(
        1e-5, 'standard deviation of measured positions', unit='rad', at_least=0.0)
    velocity_noise: float = option(
        1e-3, 'standard deviation of measured velocities', unit='rad/s', at_least=0.0)
    torque_noise: float = option(
        0.1, 'standard deviation of measured torques', unit='N m', at_least=0.0)


@dataclass(frozen=True)
class ArmState:
    """
    One instant of the arm, each (n,), or many, each (k, n), in the order of its joint names.

    time : [s] since the arm was made, () or (k,)
    q, v, a, tau : the truth [rad, rad/s, rad/s^2, N m]; tau is the motor torque on the link
        side: rigid bodies, armature and friction
    measured_q, measured_v, measured_tau : the same with the noise of the sensors
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
    An arm at rest in the middle of its joint limits, until told what to follow.

    urdf : text of the nominal description
    joint_names : the motors and their order; default all movable joints of the description
    gravity_base : gravitational acceleration in the base frame [m/s^2]
    true_urdf, true_friction (a JointFriction), limits (a JointLimits) : what it really is
    Raises RobotModelError, ConfigError, and InertialIdError when MuJoCo is not installed.
    """

    def __init__(self, urdf, joint_names=None, options=None, gravity_base=(0.0, 0.0, -9.81)):
        self.options = options = options or ArmOptions()
        check_ranges(options)
        robot, rng = true_robot.parse(urdf), np.random.default_rng(options.seed)
        self.joint_names = tuple(joint_names or true_robot.movable_joints(robot))
        self.limits = limits = true_robot.joint_limits(robot, self.joint_names)
        self.true_urdf = true_robot.perturbed_urdf(
            robot, rng, options.mass_change, options.center_shift, options.shape_change)
        self.true_friction = true_robot.random_friction(limits, rng).scaled(options.friction)
        self.bodies = RigidBodies(
            self.true_urdf, self.joint_names, gravity_base, options.armature)
        self._expected_bodies = RigidBodies(
            urdf, self.joint_names, gravity_base, options.armature)
        self._expected_friction = true_robot.typical_friction(limits).scaled(options.friction)
        self._rng = rng
        self._noise = np.array([[options.position_noise], [options.velocity_noise],
                                [options.torque_noise]])
        self._tune()
        lower, upper = limits.reach()
        self._state = np.array([(lower + upper) / 2, np.zeros(len(lower))])  # q, v
        self._reference = rest_at(self._state[0])
        self._count = 0

    @property
    def time(self):
        """Time of the next sample [s]."""
        return self._count / self.options.rate

    def follow(self, times, positions, velocities=None, accelerations=None):
        """
        Follow points at ``times`` [s] from now on, in place of what was followed so far.

        The path starts at the present reference state; see joint_path.path_through.
        Raises MotionError, and goes on as before, when the points cannot be followed.
        """
        start = [x[0] for x in self._reference([self.time])]
        path = path_through(self.time, start, self.time + np.asarray(times, dtype=float),
                            positions, velocities, accelerations)
        low, high, positions = self.limits.lower, self.limits.upper, np.asarray(positions)
        outside = np.argwhere((positions < low) | (positions > high))
        if len(outside):
            point, joint = outside[0]
            raise MotionError(f'point {point} of the trajectory leaves the position limits of '
                              f'{self.joint_names[joint]}',
                              expected=f'{low[joint]:g} to {high[joint]:g}',
                              found=f'{positions[point, joint]:g}')
        self._reference = path

    def hold(self):
        """Come to rest within HOLD_TIME and stay there."""
        q, v, a = (x[0] for x in self._reference([self.time]))
        rest = np.zeros((1, len(q)))
        self._reference = path_through(self.time, (q, v, a), [self.time + HOLD_TIME],
                                       [q + v * HOLD_TIME / 2], rest, rest)

    def jam(self, joint=None):
        """Block the joint of this index where it is; None frees it."""
        self.bodies.lock(joint)
        if joint is not None:
            self._state[1, joint] = 0

    def step(self):
        """Return the ArmState of this instant and move on to the next."""
        steps = self._steps()
        h = 1 / (steps * self.options.rate)  # [s]
        drive = self._drive(self.time + h / 2 * np.arange(2 * steps + 1))
        state = self._state
        rates = self._rates(state, drive[0])
        truth = np.array([*state, self._motor_torque(state, drive[0])])
        measured = truth + self._noise * self._rng.standard_normal(truth.shape)
        sample = ArmState(self.time, *state, rates[1], truth[2], *measured)
        for i in range(0, 2 * steps, 2):
            if i:
                rates = self._rates(state, drive[i])
            second = self._rates(state + h / 2 * rates, drive[i + 1])
            third = self._rates(state + h / 2 * second, drive[i + 1])
            fourth = self._rates(state + h * third, drive[i + 2])
            state = state + h / 6 * (rates + 2 * (second + third) + fourth)
        self._state = state
        self._count += 1
        return sample

    def simulate(self, reference, duration):
        """
        Return the ArmState, arrays with leading axis k, of following ``reference``.

        reference : times (k,) [s] -> (q, v, a), each (k, n); the arm starts on it
        duration : [s]
        """
        self._reference = reference
        self._state = np.array([x[0] for x in reference(np.array([self.time]))[:2]])
        samples = [self.step() for _ in range(round(duration * self.options.rate))]
        return ArmState(*(np.array([getattr(sample, field.name) for sample in samples])
                          for field in fields(ArmState)))

    def _drive(self, times):
        """Return what the controller adds to -kp q - kd v, (k, n) [N m]."""
        q, v, a = self._reference(times)
        feed = np.array([self._expected_bodies.inverse(*x) for x in zip(q, v, a)])
        return feed + self._expected_friction.torque(v) + self._kp * q + self._kd * v

    def _motor_torque(self, state, drive):
        tau = drive - self._kp * state[0] - self._kd * state[1]
        return np.minimum(np.maximum(tau, -self.limits.effort), self.limits.effort)

    def _rates(self, state, drive):
        """Return d state / dt (2, n)."""
        q, v = state
        tau = self._motor_torque(state, drive) - self.true_friction.torque(v)
        return np.array([v, self.bodies.accelerate(q, v, tau)])

    def _steps(self):
        """Return how many Runge-Kutta steps this sample needs for what decays fastest."""
        dt = 1 / self.options.rate
        slowest = np.maximum(np.abs(self._state[1]) - REVERSAL * dt, 0)
        decay = self._control_decay + self._mobility @ self.true_friction.slope(slowest)  # [1/s]
        return int(np.ceil(decay * dt / STEP_LIMIT))

    def _tune(self):
        """Set the gains from the nominal inertia, and the bounds of the decay from the true."""
        lower, upper = self.limits.reach()
        somewhere = np.random.default_rng(0).uniform(lower, upper, (30, len(lower)))
        expected = np.mean([np.diag(self._expected_bodies.inertia(q)) for q in somewhere], axis=0)
        self._kp = expected * self.options.bandwidth**2   # [N m / rad]
        self._kd = expected * self.options.bandwidth * 2  # [N m s / rad], critical damping
        inverse = np.linalg.inv([self.bodies.inertia(q) for q in somewhere])
        self._mobility = np.max(np.diagonal(inverse, axis1=1, axis2=2), axis=0)
        self._control_decay = np.abs(np.linalg.eigvals(inverse * self._kd)).max()  # [1/s]
