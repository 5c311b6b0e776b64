"""
serial_arm: joint torques of a tree robot under any mounting.

Rows ``W(q, v, a; gravity_base) [standard parameters, friction] = tau``, one group per joint.
Sources: Troebinger et al. (generalized base inertial parameter set), Khalil and Dombre 2002.
"""

from dataclasses import dataclass, replace
from typing import Iterator, Sequence

import numpy as np

from .arm_prediction import ArmPrediction
from .capabilities import DirectTorques, JointTorques, Live, Tiltable
from ..dynamics.friction import (
    check_laws,
    friction_column,
    friction_columns,
    friction_parameters,
    given_widths,
    LAWS,
    laws_by_default,
)
from ..dynamics.inertial_parameters import body_parameters, Parameter
from ..dynamics.regressor import (
    bodies_rows,
    gravity_slopes,
    in_blocks,
    nominal_torques,
    RegressorBlock,
    RowGroup,
)
from ..dynamics.robot_model import robot_from_options, RobotModel, RobotOptions
from ..errors import ConfigError
from ..measurement.joints.drives import motor_speeds
from ..measurement.joints.effort_source import EffortSource
from ..measurement.joints.kinematic_state import (
    FilterContext,
    History,
    JointSpaceObservation,
    JointSpaceState,
    SignalOptions,
)
from ..measurement.joints.observation import observe_joints, with_time_offset
from ..measurement.live import listen_to_efforts, listen_to_joints, LiveMotion
from ..measurement.live_commands import CommandedMotion, live_commands
from ..measurement.recording import Recording
from ..measurement.summary import Summary
from ..options import option

UNIT = 'N m'
MOTOR = ' motor'  # ends the owner's name of what a motor brakes that several joints turn


@dataclass(frozen=True)
class FrictionOptions:
    """Which friction the joints have."""

    friction: tuple[str, ...] = option(
        ('auto',),
        'friction laws of every joint, see dynamics/friction.py; auto: viscous, '
        'presliding or coulomb (the data choose), offset, armature, and where they predict '
        'better spring, power and coulomb_load',
    )
    coulomb_width: float = option(
        -1.0,
        'speed over which Coulomb friction changes sign; 0: a step, below 0: chosen from '
        'the data, or a presliding distance instead',
        unit='rad/s',
    )


@dataclass(frozen=True)
class SerialArmOptions(RobotOptions, SignalOptions, FrictionOptions):
    """All options of the method; the recorder and nodes declare them as parameters."""

    time_offset: float = option(
        0.0,
        'by how much efforts are stamped later than the motion; what is found adds to it',
        unit='s',
        at_least=-1.0,
        at_most=1.0,
    )
    find_time_offset: bool = option(
        True, 'search how late efforts are, within 0.05 s, and correct it where it is significant'
    )


class SerialArm(JointTorques[RobotModel, SerialArmOptions], Live, DirectTorques, Tiltable):
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
        widths = given_widths(options.coulomb_width)
        out = []
        for i, link in enumerate(robot.link_names):
            out += body_parameters(i + 1, link, robot.inertias[i], robot.reach())
        limits = [limit if limit > 0 else 100.0 for limit in robot.effort]
        for j, joint in enumerate(robot.joint_names):
            out += friction_parameters(j + 1, joint, laws, limits[j], widths, robot.prismatic[j])
        for j in robot.motors:  # what several joints turn brakes by its own speed, not by theirs
            own = friction_parameters(
                j + 1,
                robot.joint_names[j] + MOTOR,
                [law for law in laws if not (LAWS[law].signed or LAWS[law].position)],
                limits[j],
                widths,
                robot.prismatic[j],
            )
            out += [replace(p, name=p.name.rstrip('0123456789') + f'm{j + 1}') for p in own]
        return tuple(out)

    def chooses_laws(self, options: SerialArmOptions) -> bool:
        """Return whether the ``options`` leave it to the data which friction laws there are."""
        return tuple(options.friction) == ('auto',)

    def observe(
        self, recording: Recording, robot: RobotModel, options: SerialArmOptions
    ) -> JointSpaceObservation:
        """Return the JointSpaceObservation of the robot's joints in a Recording."""
        found = observe_joints(recording, robot.joint_names, options, limit=robot.effort)
        if not found.measured_velocity:  # accelerations at the ends would be guessed
            found = replace(found, cut=(True, True))
        return with_time_offset(found, options.time_offset)

    def regress(
        self,
        state: JointSpaceState,
        robot: RobotModel,
        parameters: Sequence[Parameter],
        wanted: np.ndarray | None = None,
    ) -> Iterator[RegressorBlock]:
        """Yield the RegressorBlocks of a JointSpaceState; columns as ``parameters``."""
        wanted = np.ones(len(parameters), dtype=bool) if wanted is None else wanted
        turns = _transmissions(robot, parameters)
        friction = [
            [k for k, row in turns.items() if row[j] and wanted[k]] for j in range(len(robot))
        ]
        bodies = [np.flatnonzero(wanted[10 * b : 10 * b + 10]).tolist() for b in range(len(robot))]
        columns = [
            np.array(
                [10 * b + k for b, _ in robot.moved[j] for k in bodies[b]] + friction[j], dtype=int
            )
            for j in range(len(robot))
        ]
        load = _load(state, robot, [parameters[k] for own in friction for k in own])
        dissipation = _friction(
            state, [[(parameters[k], turns[k]) for k in own] for own in friction], load
        )
        for part in in_blocks(len(state.t)):
            rows = bodies_rows(robot, state.q[part], state.v[part], state.a[part], columns=bodies)
            groups = []
            for j, joint in enumerate(robot.joint_names):
                W = np.concatenate(
                    [*(rows[b][k] for b, k in robot.moved[j]), dissipation[j][:, part]]
                )
                groups.append(
                    RowGroup(
                        joint,
                        'N' if robot.prismatic[j] else UNIT,
                        columns[j],
                        W.T,
                        state.tau[part, j],
                        state.tau_raw[part, j],
                    )
                )
            yield RegressorBlock(state.t[part], state.segment, tuple(groups))

    def gravity_slopes(
        self, state: JointSpaceState, robot: RobotModel, wanted: np.ndarray
    ) -> Iterator[list[tuple[np.ndarray, np.ndarray]]]:
        """Yield per joint (columns (h,), slopes (3, h, B)) by gravity; see Tiltable."""
        bodies = [np.flatnonzero(wanted[10 * b : 10 * b + 4]) for b in range(len(robot))]
        for part in in_blocks(len(state.t)):
            slopes = gravity_slopes(robot, state.q[part])
            yield [
                (
                    np.concatenate([10 * b + bodies[b] for b, _ in moved]),
                    np.concatenate([slopes[b][:, k, bodies[b]] for b, k in moved], axis=1),
                )
                for moved in robot.moved
            ]

    def random_state(
        self, robot: RobotModel, samples: int, rng: np.random.Generator
    ) -> JointSpaceState:
        """Return a JointSpaceState of random motion: what the structure alone can show."""
        size = (samples, len(robot))
        prismatic = np.asarray(robot.prismatic)
        q = np.where(prismatic, rng.uniform(-1.0, 1.0, size), rng.uniform(-np.pi, np.pi, size))
        v, a = rng.uniform(-3.0, 3.0, size), rng.uniform(-10.0, 10.0, size)
        none = np.zeros(size)
        return JointSpaceState(np.arange(samples, dtype=float), 0, q, v, a, none, none)

    def state_of(
        self,
        robot: RobotModel,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        t: np.ndarray | None = None,
    ) -> JointSpaceState:
        """Return the JointSpaceState of a motion that is given; see JointMotion."""
        none = np.zeros(q.shape)
        if t is None:
            return JointSpaceState(np.arange(len(q), dtype=float), 0, q, v, a, none, none)
        around = FilterContext(
            t, q, v, a, np.ones(1), slice(0, len(q), 1), History.none(len(robot))
        )
        return JointSpaceState(t, 0, q, v, a, none, none, around)

    def validity_range(
        self, state: JointSpaceState, robot: RobotModel
    ) -> dict[str, dict[str, np.ndarray]]:
        """Return joint -> {q, v, a: (N,)}: quantities whose range bounds where a model holds."""
        return {
            joint: {name: getattr(state, name)[:, j] for name in ('q', 'v', 'a')}
            for j, joint in enumerate(robot.joint_names)
        }

    def angles(self, robot: RobotModel) -> tuple[str, ...]:
        """Return the names of the joints that turn: of bodies, a turn further is the same."""
        return tuple(
            joint for joint, slides in zip(robot.joint_names, robot.prismatic) if not slides
        )

    def source(
        self, robot: RobotModel, options: SerialArmOptions, lag: float, summary: Summary
    ) -> LiveMotion:
        """Return the LiveMotion of the robot's joints while it runs; see Live."""
        commands = live_commands(robot, options, summary)
        signals = options.cutoff, options.velocity == 'measured', lag
        shift = summary.time_offset
        motion = options.joint_states_topic or 'joint_states'
        if ' ' in motion:
            raise ConfigError(
                'option joint_states_topic',
                found=motion,
                expected='one topic with all joints while the robot runs',
                do='merge them: joint_state_publisher with source_list',
            )
        if commands is None:
            effort_source = EffortSource.of(options, len(robot), robot.effort)
            out: LiveMotion = LiveMotion(*signals, effort_source.to_joint, shift)
            listen_to_efforts(out, options.effort_topic or motion, robot.joint_names)
        else:
            out = CommandedMotion(*signals, shift, commands)
        listen_to_joints(out, motion, robot.joint_names, options)
        return out

    def predictor(
        self, robot: RobotModel, parameters: Sequence[Parameter], values: np.ndarray
    ) -> ArmPrediction:
        """Return the ArmPrediction of ``values`` (p,) of the ``parameters`` of a ``robot``."""
        return ArmPrediction(robot, _transmissions(robot, parameters), parameters, values)


def friction_laws(options: FrictionOptions) -> tuple[str, ...]:
    """Return the names of the friction laws that the options ask for."""
    if tuple(options.friction) != ('auto',):
        return tuple(options.friction)
    # Free inertias swallow what bends the friction curve and what pulls like a spring (cables,
    # gravity compensation); physically consistent ones cannot, so it has columns of its own.
    return tuple(
        law for law in laws_by_default() if not LAWS[law].memory or options.coulomb_width < 0
    )


def _transmissions(robot, parameters):
    """Return {column: (n,)} of the friction Parameters: how fast each joint turns what brakes."""
    return {k: _transmission(robot, p) for k, p in enumerate(parameters) if k >= 10 * len(robot)}


def _transmission(robot, parameter):
    """Return (n,) how fast each joint turns what a friction Parameter brakes: 1 for its own."""
    if parameter.owner.endswith(MOTOR):
        return robot.motors[robot.joint_names.index(parameter.owner.removesuffix(MOTOR))]
    return np.array([float(joint == parameter.owner) for joint in robot.joint_names])


def _load(state, robot, parameters):
    """
    Return the torques (M, n) that the gears pass on, by the nominal model, where a law needs them.

    M : of the surroundings of a ``state``, of which they are interpolated
    """
    around = state.around
    out = np.zeros((len(state.t) if around is None else len(around.t), len(robot)))
    if not any(p.law and LAWS[p.law].loaded for p in parameters):
        return out
    tau = nominal_torques(robot, state.q, state.v, state.a)
    if around is None:
        return tau
    return np.stack([np.interp(around.t, state.t, x) for x in tau.T], axis=1)


def _friction(state, pairs, load):
    """
    Return the friction columns (k, N) of every joint, corners filtered as tau was.

    pairs : of each joint (Parameter, how fast each joint turns what it brakes); load : see _load
    """
    out = [np.empty((len(own), len(state.t))) for own in pairs]
    sharp = [
        [k for k, (p, _) in enumerate(own) if p.nonlinear is not None or LAWS[p.law].dry]
        for own in pairs
    ]
    for j, (columns, own) in enumerate(zip(out, pairs)):
        for k in set(range(len(own))) - {*sharp[j]}:
            parameter, row = own[k]
            columns[k] = friction_column(
                parameter, *(_turned(x, j, row) for x in (state.q, state.v, state.a))
            )
            columns[k] *= row[j]

    def cornered(*motion):
        early = np.zeros(len(motion[0]) - len(load))  # unknown before
        for j, (own, ks) in enumerate(zip(pairs, sharp)):
            passed_on = np.concatenate([early, load[:, j]])
            yield _columns(j, [own[k] for k in ks], motion, passed_on).T

    if state.around is None:  # samples that need not follow one another: developed
        state = replace(state, q=np.zeros_like(state.q))
    for columns, ks, found in zip(out, sharp, state.filtered(cornered)):
        columns[ks] = found.T
    return out


def _columns(joint, pairs, motion, load):
    """Return the columns (k, M) of ``pairs`` of one joint by the ``motion`` q, v, a (M, n)."""
    turns = {row.tobytes(): row for _, row in pairs}  # of what is braked: mostly the joint itself
    parts, order = [np.empty((0, len(load)))], list[int]()
    for one, row in turns.items():
        own = [k for k, (_, other) in enumerate(pairs) if other.tobytes() == one]
        q, v, a = (np.ascontiguousarray(_turned(x, joint, row)) for x in motion)
        parts.append(row[joint] * friction_columns([pairs[k][0] for k in own], q, v, a, load))
        order += own
    return parts[-1] if len(turns) < 2 else np.concatenate(parts)[np.argsort(order)]


def _turned(x, joint, row):
    return x[:, joint] if np.count_nonzero(row) == 1 else x @ row
