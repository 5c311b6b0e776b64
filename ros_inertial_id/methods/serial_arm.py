"""
serial_arm: joint torques of a tree robot under any mounting.

Rows ``W(q, v, a; gravity_base) [standard parameters, friction] = tau``, one group per joint.
Sources: Troebinger et al. (generalized base inertial parameter set), Khalil and Dombre 2002.
"""

from dataclasses import dataclass, replace
from typing import Iterator, Sequence

import numpy as np

from .arm_friction import ArmFriction, friction_of, speed_ratios
from .arm_prediction import ArmPrediction
from .capabilities import DirectTorques, JointTorques, LearnsOnline, Tiltable, TimeOffsetOptions
from ..dynamics.friction import check_laws, given_widths, LAWS, laws_by_default, WidthOptions
from ..dynamics.inertial_parameters import body_parameters, Parameter
from ..dynamics.regressor import bodies_rows, gravity_slopes, in_blocks, RegressorBlock, RowGroup
from ..dynamics.robot_model import robot_from_options, RobotModel, RobotOptions
from ..errors import ConfigError
from ..measurement.joints.drives import motor_speeds
from ..measurement.joints.kinematic_state import (
    FilterContext,
    History,
    JointSpaceObservation,
    JointSpaceState,
    SignalOptions,
)
from ..measurement.joints.observation import observe_joints, with_time_offset
from ..measurement.live import LiveMotion
from ..measurement.live_commands import live_joints
from ..measurement.recording import Recording
from ..measurement.summary import Summary
from ..options import option

UNIT = 'N m'


@dataclass(frozen=True)
class FrictionOptions(WidthOptions):
    """Which friction the joints have."""

    friction: tuple[str, ...] = option(
        ('auto',),
        'friction laws of every joint, see dynamics/friction.py; auto: viscous, '
        'presliding or coulomb (the data choose), offset, armature, and where they predict '
        'better spring, power and coulomb_load, in single joints harmonics of a turn',
    )


@dataclass(frozen=True)
class SerialArmOptions(RobotOptions, SignalOptions, FrictionOptions, TimeOffsetOptions):
    """All options of the method; the recorder and nodes declare them as parameters."""


class SerialArm(JointTorques[RobotModel, SerialArmOptions], LearnsOnline, DirectTorques, Tiltable):
    """Joint torques of a tree robot: rows of one joint each, in N m (N)."""

    name = 'serial_arm'
    Options = SerialArmOptions

    def build(self, urdf: str, options: SerialArmOptions, gravity_base: np.ndarray) -> RobotModel:
        """Return the RobotModel of a URDF text under gravity (3,) in the base frame [m/s^2]."""
        robot = robot_from_options(urdf, options, gravity_base)
        return replace(robot, motors=motor_speeds(options, len(robot)))

    def parameters(self, robot: RobotModel, options: SerialArmOptions) -> tuple[Parameter, ...]:
        """Return the Parameters of all columns: ten per body, then friction joint by joint."""
        laws = friction_laws(options)
        check_laws(laws, loads=True)
        if options.coulomb_width > 10.0:
            raise ConfigError(
                'option coulomb_width', expected='at most 10 rad/s', found=options.coulomb_width
            )
        out = []
        for i, link in enumerate(robot.link_names):
            out += body_parameters(i + 1, link, robot.inertias[i], robot.reach())
        out += friction_of(robot, laws, given_widths(options.coulomb_width))
        return tuple(out)

    def chooses_laws(self, options: SerialArmOptions) -> bool:
        """Return whether the ``options`` leave it to the data which friction laws there are."""
        return tuple(options.friction) == ('auto',)

    def observe(
        self, recording: Recording, robot: RobotModel, options: SerialArmOptions
    ) -> JointSpaceObservation:
        """Return the JointSpaceObservation of the robot's joints in a Recording."""
        observation = observe_joints(recording, robot.joint_names, options, limit=robot.effort)
        if not observation.measured_velocity:  # accelerations at the ends would be guessed
            observation = replace(observation, cut=(True, True))
        return with_time_offset(observation, options.time_offset)

    def regress(
        self,
        state: JointSpaceState,
        robot: RobotModel,
        parameters: Sequence[Parameter],
        wanted: np.ndarray | None = None,
    ) -> Iterator[RegressorBlock]:
        """Yield the RegressorBlocks of a JointSpaceState; columns as ``parameters``."""
        if wanted is None:
            wanted = np.ones(len(parameters), dtype=bool)
        friction = ArmFriction(robot, parameters, wanted)
        friction_rows = friction(state)
        of_bodies = [np.flatnonzero(body).tolist() for body in _by_body(wanted, robot)]
        columns = []
        for moved, friction_columns in zip(robot.moved, friction.columns):
            inertial = [10 * b + k for b, _ in moved for k in of_bodies[b]]
            columns.append(np.array([*inertial, *friction_columns], dtype=int))
        for part in in_blocks(len(state.t)):
            q, v, a = state.q[part], state.v[part], state.a[part]
            body_rows = bodies_rows(robot, q, v, a, columns=of_bodies)
            groups = []
            for j, joint in enumerate(robot.joint_names):
                joint_rows = [body_rows[b][place] for b, place in robot.moved[j]]
                joint_rows.append(friction_rows[j][:, part])
                groups.append(
                    RowGroup(
                        name=joint,
                        unit=_effort_unit(robot, j),
                        columns=columns[j],
                        W=np.concatenate(joint_rows).T,
                        y=state.tau[part, j],
                        y_raw=state.tau_raw[part, j],
                    )
                )
            yield RegressorBlock(state.t[part], state.segment, tuple(groups))

    def gravity_slopes(
        self, state: JointSpaceState, robot: RobotModel, wanted: np.ndarray
    ) -> Iterator[list[tuple[np.ndarray, np.ndarray]]]:
        """Yield per joint (columns (h,), slopes (3, h, B)) by gravity; see Tiltable."""
        pulled = [np.flatnonzero(body[:4]) for body in _by_body(wanted, robot)]
        for part in in_blocks(len(state.t)):
            body_slopes = gravity_slopes(robot, state.q[part])
            groups = []
            for moved in robot.moved:
                columns = [10 * b + pulled[b] for b, _ in moved]
                slopes = [body_slopes[b][:, place, pulled[b]] for b, place in moved]
                groups.append((np.concatenate(columns), np.concatenate(slopes, axis=1)))
            yield groups

    def random_state(
        self, robot: RobotModel, samples: int, rng: np.random.Generator
    ) -> JointSpaceState:
        """Return a JointSpaceState of random motion: what the structure alone can show."""
        shape = (samples, len(robot))
        slides = np.asarray(robot.prismatic)
        q = np.where(slides, rng.uniform(-1.0, 1.0, shape), rng.uniform(-np.pi, np.pi, shape))
        v, a = rng.uniform(-3.0, 3.0, shape), rng.uniform(-10.0, 10.0, shape)
        return self.state_of(robot, q, v, a)

    def state_of(
        self,
        robot: RobotModel,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        t: np.ndarray | None = None,
    ) -> JointSpaceState:
        """Return the JointSpaceState of a motion that is given; see JointMotion."""
        tau = np.zeros(q.shape)
        if t is None:
            return JointSpaceState(np.arange(len(q), dtype=float), 0, q, v, a, tau, tau)
        before = History.none(len(robot))
        around = FilterContext(t, q, v, a, np.ones(1), slice(0, len(q), 1), before)
        return JointSpaceState(t, 0, q, v, a, tau, tau, around)

    def validity_range(
        self, state: JointSpaceState, robot: RobotModel
    ) -> dict[str, dict[str, np.ndarray]]:
        """Return joint -> {q, v, a: (N,)}: quantities whose range bounds where a model holds."""
        ranges = {}
        for j, joint in enumerate(robot.joint_names):
            ranges[joint] = {'q': state.q[:, j], 'v': state.v[:, j], 'a': state.a[:, j]}
        return ranges

    def angles(self, robot: RobotModel) -> tuple[str, ...]:
        """Return the names of the joints that turn: of bodies, a turn further is the same."""
        return tuple(
            joint for joint, slides in zip(robot.joint_names, robot.prismatic) if not slides
        )

    def source(
        self, robot: RobotModel, options: SerialArmOptions, lag: float, summary: Summary
    ) -> LiveMotion:
        """Return the LiveMotion of the robot's joints while it runs; see Live."""
        return live_joints(robot, options, lag, summary)

    def predictor(
        self, robot: RobotModel, parameters: Sequence[Parameter], values: np.ndarray
    ) -> ArmPrediction:
        """Return the ArmPrediction of ``values`` (p,) of the ``parameters`` of a ``robot``."""
        return ArmPrediction(robot, speed_ratios(robot, parameters), parameters, values)


def friction_laws(options: FrictionOptions) -> tuple[str, ...]:
    """Return the names of the friction laws that the options ask for."""
    if tuple(options.friction) != ('auto',):
        return tuple(options.friction)
    # Free inertias swallow what bends the friction curve and what pulls like a spring (cables,
    # gravity compensation); physically consistent ones cannot, so it has columns of its own.
    laws = laws_by_default()
    if options.coulomb_width < 0:
        return laws
    return tuple(law for law in laws if not LAWS[law].memory)


def _by_body(wanted, robot):
    """Return (bodies, 10) bool, whether the parameters of each body are ``wanted`` (p,)."""
    return wanted[: 10 * len(robot)].reshape(-1, 10)


def _effort_unit(robot, joint):
    """Return the unit of the effort of the ``joint``-th joint."""
    if robot.prismatic[joint]:
        return 'N'
    return UNIT
