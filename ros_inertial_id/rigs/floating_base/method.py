"""
floating_base: robots whose base nobody holds: on their feet, in the air, or carried about.

An IMU on the base, or odometry, says how it moves; see base_motion.py.  Forces of the feet are
projected out, see rows.py.  Where what carries the base is not known (a vehicle, a ship, a rope)
the rows of the joints are left.

Sources: Ayusawa, Venture and Nakamura 2014 (base-link dynamics); Mistry, Schaal and Yamane 2009
(projection of contacts).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .base_motion import base_motion
from .contacts import recorded_contacts
from .first_look import common_errors, first_look
from .live import LiveFloating
from .observation import FloatingObservation, FloatingState
from .prediction import FloatingPrediction
from .robot import CARRIED, floating_robot, FloatingRobot, FLYING, STANDING
from .rows import efforts, FloatingRows, groups_of, ROWS_BLOCK
from ..estimation.common_errors import CommonErrors, MovedRows
from ..estimation.motion_noise import DRAWS, NoisySlopes
from ...dynamics.friction import check_laws, given_widths, JOINT_TERMS, law_of, WidthOptions
from ...dynamics.inertial_parameters import body_parameters, Parameter
from ...dynamics.regressor import RegressorBlock
from ...dynamics.robot_model import RobotOptions
from ...measurement import signals
from ...measurement.joints.kinematic_state import (
    FilterContext,
    History,
    JointSpaceState,
    SignalOptions,
)
from ...measurement.joints.observation import observe_joints, with_cutoff
from ...measurement.recording import Recording
from ...measurement.summary import Summary
from ...methods.arm_friction import friction_of
from ...methods.capabilities import DirectTorques, JointMotion, Live
from ...methods.contract import Method
from ...options import option, topic_option

WIDTHS = 0.01, 0.03, 0.1  # [rad/s] of Coulomb friction
PER_PERIOD = 4.0  # samples of the cutoff: twice what holds all that it lets pass
LEAST_CUTOFF = 20.0  # [Hz] that keeps steps of the feet's forces, which velocities do not show
ROLL = ('x', 'y', 'z')  # axes of the base, about which it turns


@dataclass(frozen=True)
class FloatingBaseOptions(RobotOptions, SignalOptions, WidthOptions):
    """All options of the method; the recorder and nodes declare them as parameters."""

    base: str = option(
        STANDING,
        'what holds the base: feet on the ground, something unknown (a vehicle, a ship, a rope), '
        'or nothing',
        choices=(STANDING, CARRIED, FLYING),
    )
    feet: tuple[str, ...] = option(
        (),
        'links that may touch the ground: "LINK RADIUS" of a ball [m], "LINK sole" of a face; '
        'X Y Z [m] behind it: where in the link',
    )
    contact_topic: str = topic_option(
        '',
        'which feet touch: one topic with a force or flag of each, or one topic each; empty: '
        'all may at any time, which costs rows and nothing else',
    )
    contact_threshold: float = option(
        0.0, 'force of a foot that stands; 0: 3 % of the weight', unit='N', at_least=0.0
    )
    imu_topic: str = topic_option('', 'Imu on the base; empty: the only one')
    odometry_topic: str = topic_option('', 'Odometry of the base, where there is no Imu')
    base_frame: str = option(
        '', 'link that the Imu or the twist of the odometry is of; empty: as the header says'
    )
    friction: tuple[str, ...] = option(
        tuple(map(law_of, JOINT_TERMS)),
        'friction laws of every joint, see dynamics/friction.py',
    )
    find_time_offset: bool = option(
        True, 'find how late the base and the efforts are stamped, within 0.05 s'
    )


def widths_of(options: FloatingBaseOptions) -> dict[str, tuple[float, ...]]:
    """Return {law: widths [rad/s]} of dry friction that are tried."""
    if options.coulomb_width >= 0.0:
        return given_widths(options.coulomb_width)
    return dict.fromkeys(given_widths(1.0), WIDTHS)


class FloatingBase(
    Method[FloatingRobot, FloatingState, FloatingObservation, FloatingBaseOptions],
    JointMotion,
    Live,
    DirectTorques,
    CommonErrors,
):
    """Torques of joints, and force and moment on the base, without the forces of the feet."""

    name = 'floating_base'
    Options = FloatingBaseOptions

    def build(
        self, urdf: str, options: FloatingBaseOptions, gravity_base: np.ndarray
    ) -> FloatingRobot:
        """Return the FloatingRobot of a URDF text; gravity (3,) of an upright base [m/s^2]."""
        return floating_robot(urdf, options, gravity_base)

    def parameters(
        self, robot: FloatingRobot, options: FloatingBaseOptions
    ) -> tuple[Parameter, ...]:
        """Return the Parameters of all columns: ten per body, the base first, then friction."""
        check_laws(options.friction)
        numbers = range(len(robot.link_names))
        first = 0
        if robot.carried:
            first = 1
        out = []
        for k, link, inertia in zip(numbers, robot.link_names, robot.inertias):
            out += body_parameters(first + k, link, inertia, robot.tree.reach())
        out += friction_of(robot.tree, options.friction, widths_of(options))
        return tuple(out)

    def observe(
        self, recording: Recording, robot: FloatingRobot, options: FloatingBaseOptions
    ) -> FloatingObservation:
        """
        Return the FloatingObservation of a Recording, its clocks set right.

        How late base and efforts are, and what contradicts the contacts, is in the summary.
        """
        joints = observe_joints(recording, robot.joint_names, options, limit=robot.tree.effort)
        base = base_motion(recording, robot, options)
        highest = signals.HIGHEST / float(np.median(np.diff(base.t)))
        cutoff = joints.summary.cutoff
        if joints.summary.cutoff_chosen and robot.feet:
            cutoff = max(cutoff, LEAST_CUTOFF)
        cutoff = min(cutoff, highest)
        every = options.decimate or max(1, int(1.0 / (PER_PERIOD * cutoff * joints.clock.period)))
        joints = with_cutoff(joints, cutoff, every)
        contacts = recorded_contacts(recording, robot, options)
        seen = FloatingObservation.over(joints, base, contacts, len(robot.feet))
        return first_look(self, seen, robot, options)

    def regress(
        self,
        state: FloatingState,
        robot: FloatingRobot,
        parameters: Sequence[Parameter],
        wanted: np.ndarray | None = None,
    ) -> Iterator[RegressorBlock]:
        """Yield the RegressorBlocks of a FloatingState; columns as ``parameters``."""
        if wanted is None:
            wanted = np.ones(len(parameters), dtype=bool)
        rows = FloatingRows(robot, parameters, wanted)
        friction = rows.friction(state)
        for low in range(0, len(state.t), ROWS_BLOCK):
            part = slice(low, low + ROWS_BLOCK)
            piece = state.rows(part)
            left = rows.projection(piece)
            W = left(rows.full(piece, [columns[:, part] for columns in friction]))
            y, y_raw = (left(efforts(tau))[:, 0] for tau in (piece.tau, piece.tau_raw))
            groups = groups_of(robot, rows.columns, W, y, y_raw)
            yield RegressorBlock(piece.t, state.segment, groups)

    def noisy_rows(
        self,
        observation: FloatingObservation,
        robot: FloatingRobot,
        parameters: Sequence[Parameter],
        rng: np.random.Generator,
    ) -> Iterator[NoisySlopes]:
        """Yield NoisySlopes by the nine numbers of the base's motion; see NoisyMotion."""
        rows = FloatingRows(robot, parameters, np.ones(len(parameters), dtype=bool))
        for state, noise, times in observation.noisy_states(DRAWS, rng):
            low = 0
            for block in self.regress(state, robot, parameters):
                part = slice(low, low + len(block.t))
                slopes = rows.by_base(state.rows(part))
                yield NoisySlopes(block, slopes, noise[:, part], times)
                low += len(block.t)

    def source(
        self, robot: FloatingRobot, options: FloatingBaseOptions, lag: float, summary: Summary
    ) -> LiveFloating:
        """Return the LiveFloating of a robot while it runs; see Live."""
        return LiveFloating(robot, options, lag, summary)

    def predictor(
        self, robot: FloatingRobot, parameters: Sequence[Parameter], values: np.ndarray
    ) -> FloatingPrediction:
        """Return the FloatingPrediction of ``values`` (p,) of the ``parameters`` of a robot."""
        return FloatingPrediction(robot, parameters, values)

    def moved_rows(
        self,
        observation: FloatingObservation,
        robot: FloatingRobot,
        parameters: Sequence[Parameter],
    ) -> MovedRows | None:
        """Return the MovedRows of an ``observation``, by its clocks and by feet."""
        return common_errors(observation, robot, parameters)

    def random_state(
        self, robot: FloatingRobot, samples: int, rng: np.random.Generator
    ) -> FloatingState:
        """Return a FloatingState of random motion, feet in turn on the ground or all of them."""
        shape = (samples, len(robot))
        slides = np.asarray(robot.tree.prismatic)
        q = np.where(slides, rng.uniform(-1.0, 1.0, shape), rng.uniform(-np.pi, np.pi, shape))
        v, a = rng.uniform(-3.0, 3.0, shape), rng.uniform(-10.0, 10.0, shape)
        base = rng.uniform(-1.0, 1.0, (samples, 9)) * np.repeat([10.0, 10.0, 3.0], 3)
        return self._state(robot, q, v, a, base)

    def state_of(
        self,
        robot: FloatingRobot,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        t: np.ndarray | None = None,
    ) -> FloatingState:
        """Return the FloatingState of joints that are given, on a base that is held upright."""
        base = np.zeros((len(q), 9))
        base[:, :3] = -robot.gravity_base
        return self._state(robot, q, v, a, base, t)

    def _state(self, robot, q, v, a, base, t=None):
        """Return the FloatingState of a given motion in the air; see ``state_of``."""
        tau = np.zeros(q.shape)
        around = None
        if t is None:
            t = np.arange(len(q), dtype=float)
        else:
            before = History.none(len(robot))
            around = FilterContext(t, q, v, a, np.ones(1), slice(0, len(q), 1), before)
        standing = np.zeros((len(q), len(robot.feet)), dtype=bool)
        joints = JointSpaceState(t, 0, q, v, a, tau, tau, around)
        still, up = np.zeros_like(base), base[:, :3] / np.linalg.norm(base[:, :3], axis=1)[:, None]
        return FloatingState.of(joints, base=base, base_rate=still, up=up, standing=standing)

    def validity_range(
        self, state: FloatingState, robot: FloatingRobot
    ) -> dict[str, dict[str, np.ndarray]]:
        """
        Return joint, and axis of the base -> {q, v, a: (N,)}: where a model holds.

        Of an axis of the base q is the share of gravity and acceleration along it, in units of
        gravity; v and a turn about it.
        """
        ranges = {}
        for j, joint in enumerate(robot.joint_names):
            ranges[joint] = {'q': state.q[:, j], 'v': state.v[:, j], 'a': state.a[:, j]}
        force = state.base[:, :3] / np.linalg.norm(robot.gravity_base)
        for k, axis in enumerate(ROLL):
            ranges[f'{robot.base_link} {axis}'] = {
                'q': force[:, k],
                'v': state.base[:, 6 + k],
                'a': state.base[:, 3 + k],
            }
        return ranges

    def angles(self, robot: FloatingRobot) -> tuple[str, ...]:
        """Return the names of the joints that turn: of bodies, a turn further is the same."""
        slides = robot.tree.prismatic
        return tuple(name for name, slider in zip(robot.joint_names, slides) if not slider)
