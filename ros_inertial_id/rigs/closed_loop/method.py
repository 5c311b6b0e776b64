"""
closed_loop: mechanisms with loops, identified through their independent coordinates.

Rows ``R' Y(q, v, a) [standard parameters, springs, friction] = R' tau``, one group per
independent coordinate: the equations of motion projected onto what the closures allow.  Source:
the closed-loop slider-crank paper (coordinate partitioning), Garcia de Jalon and Bayo 1994.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Iterator, Sequence

import numpy as np

from .additions import elasticities, frictions, gains, inertia_limits, leads, springs
from .cutoff import chosen_cutoff, late_rates, rough_delay
from .known import links_as_described, read_known
from .live import LiveMechanism
from .motion import MotionOptions, motor_joints, reconstruct
from .noise import RowsUnderErrors
from .state import (
    all_parameters,
    close,
    equations,
    MechanismState,
    Observation,
    projected_energy_rows,
)
from ..dynamics.assembly import mechanism_from_options
from ..dynamics.continuation import Continuation, random_walk
from ..dynamics.force_elements import elastic_elements, force_elements, ForceOptions
from ..dynamics.joint_names import joint_index
from ..dynamics.mechanism import coupled, Mechanism, MechanismOptions, virtual_links
from ..dynamics.motors import elastic_pairs, motors_of
from ..estimation.inherited_errors import ErringRows
from ..estimation.motion_noise import NoisyRows
from ..estimation.noisy_rows import InheritsErrors
from ..measurement.sources import guessed
from ...dynamics.friction import LAWS
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.regressor import BLOCK, RegressorBlock, RowGroup
from ...errors import ConfigError, RecordingError, RobotModelError
from ...measurement.joints.channels import NO_EFFORT
from ...measurement.joints.kinematic_state import JointSpaceState, SignalOptions
from ...measurement.joints.observation import with_cutoff, with_time_offset
from ...measurement.recording import Recording
from ...measurement.summary import Summary
from ...methods.capabilities import (
    Addition,
    ClosedLoops,
    JointMotion,
    KnownOptions,
    LateEfforts,
    LearnsOnline,
    Limit,
    TimeOffsetOptions,
    WithAdditions,
)
from ...methods.contract import Method
from ...options import described_blocks, option

LARGEST_DELAY = 0.05  # [s] of torques whose clock is another one
NO_MOTOR = ('none',)  # option actuated
TORQUE_UNITS = {False: 'N m', True: 'N'}  # of a torque, of the force of a slide


@dataclass(frozen=True)
class ClosedLoopOptions(
    MechanismOptions,
    SignalOptions,
    TimeOffsetOptions,
    ForceOptions,
    KnownOptions,
    MotionOptions,
):
    """All options of the method; the recorder and nodes declare them as parameters."""

    actuated: tuple[str, ...] = option(
        (),
        'joints with a measured torque or force; empty: the independent; none: no motor, '
        'gravity alone moves it',
    )


class ClosedLoop(
    Method[Mechanism, MechanismState, Observation, ClosedLoopOptions],
    JointMotion,
    ClosedLoops,
    LateEfforts,
    InheritsErrors,
    WithAdditions,
    LearnsOnline,
):
    """Torques of a mechanism with loops, projected onto its independent coordinates."""

    name = 'closed_loop'
    Options = ClosedLoopOptions

    def build(self, urdf: str, options: ClosedLoopOptions, gravity_base: np.ndarray) -> Mechanism:
        """Return the Mechanism of a URDF text under gravity (3,) in the base frame [m/s^2]."""
        mechanism = mechanism_from_options(urdf, options, gravity_base)
        robot, names = mechanism.robot, mechanism.joint_names
        motors = motors_of(robot)
        elastic = elastic_pairs(options.elastic_joints, names[: len(names) - len(motors)])
        forces = (
            *force_elements(robot, options, mechanism.size),
            *elastic_elements(robot, elastic),
        )
        actuated = _driven(options.actuated, mechanism, elastic)
        mechanism = replace(mechanism, forces=forces, actuated=actuated)
        described = described_blocks(urdf).get(self.name, {}).get('actuated', ())
        _check_motors(mechanism, set(motors) - set(described))  # whose motor may be of no use
        said = dict.fromkeys([*options.known, *motors, *virtual_links(robot)])
        lines = links_as_described((*said,), robot.link_names, robot.inertias)
        known, tied = read_known(lines, all_parameters(mechanism))
        return replace(mechanism, known=known, tied=tied)

    def parameters(self, robot: Mechanism, options: ClosedLoopOptions) -> tuple[Parameter, ...]:
        """Return the Parameters of all columns that are not known: bodies, then force elements."""
        return tuple(p for p in all_parameters(robot) if p.name not in robot.known)

    def observe(
        self, recording: Recording, robot: Mechanism, options: ClosedLoopOptions
    ) -> Observation:
        """Return the Observation of independent coordinates and motor torques of a Recording."""
        if not robot.actuated and not robot.has_scale:
            raise ConfigError(
                'actuated: none',
                found='no motor and nothing known',
                expected='known: with a value that is not zero',
                do='give one base parameter: without a measured force only ratios '
                'of parameters show',
            )
        recording, notes, fused = reconstruct(recording, robot, options)
        if not options.actuated and not options.torques:
            _check_no_other_motor(recording, robot, notes['torque'])
        joints = motor_joints(recording, robot, options, notes)
        joints = with_time_offset(joints, options.time_offset)
        parameters, is_late = self.parameters(robot, options), self.finds_time_offset(options)
        cutoff = options.cutoff or chosen_cutoff(robot, joints, parameters, is_late)
        if is_late:
            filtered = with_cutoff(joints, cutoff, 1)
            delay = rough_delay(robot, filtered, parameters, LARGEST_DELAY)
            joints = with_time_offset(joints, delay)
            cutoff = options.cutoff or chosen_cutoff(robot, joints, parameters, is_late)
        joints = with_cutoff(joints, cutoff, options.decimate or 1)
        trim = guessed(joints.clock, joints.kernel, joints.trim)
        joints = replace(joints, trim=trim)
        summary = replace(joints.summary, cutoff_chosen=not options.cutoff).with_details(
            independent=list(robot.coordinates),
            closures=[c.text for c in robot.closures],
            **notes,
        )
        return Observation(robot, joints, Continuation(robot), summary, fused)

    def finds_time_offset(self, options: ClosedLoopOptions) -> bool:
        """Return whether the ``options`` ask for how late torques are: those of another topic."""
        if options.actuated == NO_MOTOR or not options.find_time_offset:
            return False
        own_topic = options.effort_topic not in ('', options.joint_states_topic)
        return bool(options.torques or options.markers or own_topic)

    def effort_rates(self, state: MechanismState, robot: Mechanism) -> np.ndarray:
        """Return the derivatives (N, k) of R' tau with respect to its delay [N m/s, N/s]."""
        return late_rates(robot, state)

    def with_time_offset(self, observation: Observation, offset: float) -> Observation:
        """Return an ``observation`` whose efforts are ``offset`` [s] earlier than stamped."""
        joints = with_time_offset(observation.joints, offset)
        summary = replace(observation.summary, time_offset=joints.summary.time_offset)
        return replace(observation, joints=joints, summary=summary, closed={})

    def additions(self, robot: Mechanism, options: ClosedLoopOptions) -> Sequence[Addition]:
        """Return what a ``robot`` may have besides: gains, leads, springs, friction and such."""
        of_motors = *gains(robot), *elasticities(robot), *leads(robot)
        return *of_motors, *frictions(robot), *springs(robot)

    def limits(
        self,
        state: MechanismState,
        robot: Mechanism,
        parameters: Sequence[Parameter],
        options: ClosedLoopOptions,
    ) -> Iterator[Limit]:
        """Yield that no inertia is below zero, of a MechanismState."""
        yield from inertia_limits(state, robot, parameters)

    def has_scale(self, robot: Mechanism) -> bool:
        """Return whether a parameter is known that is not zero."""
        return robot.has_scale

    def regress(
        self,
        state: MechanismState,
        robot: Mechanism,
        parameters: Sequence[Parameter],
        wanted: np.ndarray | None = None,
    ) -> Iterator[RegressorBlock]:
        """Yield the RegressorBlocks of a MechanismState; columns as ``parameters``."""
        units = [TORQUE_UNITS[robot.prismatic[j]] for j in robot.independent]
        columns = np.arange(len(parameters))
        for low in range(0, len(state.t), BLOCK):
            part = state.rows(slice(low, low + BLOCK))
            W, force, known = equations(robot, part, parameters)
            y = force - known
            groups = [
                RowGroup(name, units[i], columns, W[i].T, y[:, i], y[:, i], known[:, i])
                for i, name in enumerate(robot.coordinates)
            ]
            yield RegressorBlock(part.t, state.segment, tuple(groups))

    def noisy_rows(
        self,
        observation: Observation,
        robot: Mechanism,
        parameters: Sequence[Parameter],
        rng: np.random.Generator,
    ) -> Iterator[NoisyRows]:
        """Yield NoisyRows of an Observation; see NoisyMotion."""
        yield from self._under_errors(observation, robot, parameters).noisy(rng)

    def erring_rows(
        self, observation: Observation, robot: Mechanism, parameters: Sequence[Parameter]
    ) -> ErringRows:
        """Return the ErringRows of an Observation; see InheritsErrors."""
        return self._under_errors(observation, robot, parameters).erring()

    def _under_errors(self, observation, robot, parameters):
        # A step is as large with noise as without: none of its square is the noise's.
        steps = [k for k, p in enumerate(parameters) if p.law in LAWS and LAWS[p.law].switches]
        regress = partial(self.regress, robot=robot, parameters=parameters)
        return RowsUnderErrors(observation, robot, regress, steps)

    def scale_error(self, robot: Mechanism) -> float:
        """Return that of the efforts, none where no motor but a known number sets the scale."""
        if not robot.actuated:
            return 0.0
        return super().scale_error(robot)

    def random_state(
        self, robot: Mechanism, samples: int, rng: np.random.Generator
    ) -> MechanismState:
        """Return a MechanismState of random closed configurations and rates."""
        q = random_walk(robot, samples, rng)
        size = (samples, len(robot))
        R, _ = robot.transformation(q)
        rate = 3.0 * robot.gearing * rng.uniform(-1.0, 1.0, size)
        acceleration = 10.0 * robot.gearing * rng.uniform(-1.0, 1.0, size)
        v, a = robot.motion(q, R, rate, acceleration)
        none = np.zeros((samples, len(robot.actuated)))
        return MechanismState(np.arange(samples, dtype=float), 0, q, v, a, R, none, none)

    def state_of(
        self,
        robot: Mechanism,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        t: np.ndarray | None = None,
    ) -> MechanismState:
        """Return the MechanismState of independent coordinates that are given, not measured."""
        none = np.zeros((len(q), len(robot.actuated)))
        alone = t is None
        if t is None:
            t = np.arange(len(q), dtype=float)
        state = JointSpaceState(t, 0, q, v, a, none, none)
        return replace(close(robot, state), alone=alone)

    def angles(self, robot: Mechanism) -> tuple[str, ...]:
        """Return none: ``validity_range`` takes whole turns off."""
        return ()

    def energy_rows(
        self,
        robot: Mechanism,
        parameters: Sequence[Parameter],
        samples: int,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Return dH/d(parameters) (samples, p) of the tree at random closed states."""
        return projected_energy_rows(robot, self.random_state(robot, samples, rng), parameters)

    def virtual_links(self, robot: Mechanism) -> tuple[str, ...]:
        """Return the links between the axes of one joint, which loops need and nothing weighs."""
        return virtual_links(robot.robot)

    def validity_range(
        self, state: MechanismState, robot: Mechanism
    ) -> dict[str, dict[str, np.ndarray]]:
        """
        Return joint -> {q, v, a: (N,)} of the independent joints: where a model holds.

        After a turn a crank is where it was, unless a coupling counts the turns.
        """
        out = {}
        for j in robot.independent:
            q, start = state.q[:, j], robot.start[j]
            if not robot.prismatic[j] and not coupled(robot):
                q = q - 2 * np.pi * np.round((q - start) / (2 * np.pi))
            out[robot.joint_names[j]] = {'q': q, 'v': state.v[:, j], 'a': state.a[:, j]}
        return out

    def source(
        self, robot: Mechanism, options: ClosedLoopOptions, lag: float, summary: Summary
    ) -> LiveMechanism:
        """Return the LiveMechanism: what comes in while it runs; see Live."""
        return LiveMechanism(robot, options, lag, summary)


def _driven(names, mechanism, elastic):
    """Return the indices of joints with a measured torque by the option ``actuated``."""
    if names == NO_MOTOR:
        return ()
    if not names:
        names = [name for name in mechanism.coordinates if name not in elastic]
    return tuple(joint_index(mechanism.joint_names, name, 'option actuated') for name in names)


def _check_no_other_motor(recording, robot, topic):
    """Raise RecordingError where a joint that is not actuated has an effort on a ``topic``."""
    others = []
    for channel in recording.channels.values():
        if 'effort' not in channel.fields or topic not in ('', channel.topic):
            continue
        exerts = (np.abs(np.nan_to_num(channel.fields['effort'])) > NO_EFFORT).any(axis=0)
        for name in np.array(channel.names)[exerts].tolist():
            if name in robot.joint_names and name not in robot.motor_names:
                others.append(name)
    if others:
        motors = ', '.join([*robot.motor_names, *dict.fromkeys(others)])
        raise RecordingError(
            f'{", ".join(dict.fromkeys(others))} has an effort, and is no actuated joint',
            expected='all joints with a motor in actuated:',
            found=f'efforts of {", ".join(robot.motor_names)} alone would be used',
            do=f'write actuated: [{motors}]; without those whose effort is none of a motor',
        )


def _check_motors(mechanism, motors):
    """Raise RobotModelError for one of ``motors`` that nothing uses: a joint misspelt."""
    braked = {element.parameter.owner for element in mechanism.forces}
    unused = motors - set(mechanism.motor_names) - braked - set(mechanism.coordinates)
    if unused:
        tree = mechanism.joint_names[
            : len(mechanism.joint_names) - len(motors_of(mechanism.robot))
        ]
        raise RobotModelError(
            'closure coupling',
            found=f'joint {min(unused)!r}',
            exists=list(tree),
            do='correct it; name a motor in actuated:, independent: or friction:',
        )
