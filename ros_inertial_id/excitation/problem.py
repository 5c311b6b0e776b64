"""
From a robot and options to arrays: the MotionProblem that the search works on.

Base columns of the mounting, limits, end effector, collision shapes; what cannot be designed
for is refused here, with words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .assessment import with_workspace
from .collision import wanted_shapes
from .criteria import CRITERIA
from .feasible import postures_allowed, random_postures
from .fourier import rest_space
from .limits import find_limits
from .objective import MotionProblem
from .regressor_adjoint import Chain
from ..dynamics.friction import check_laws, law_of, LAWS
from ..dynamics.inertial_parameters import Parameter
from ..dynamics.robot_model import RobotModel, RobotOptions
from ..errors import MotionError
from ..estimation.base_parameters import BaseParameters
from ..identification.identified_model import IdentifiedModel
from ..identification.prepare.mounting import structural_base
from ..methods import methods_of
from ..methods.capabilities import ClosedLoops
from ..methods.serial_arm import SerialArm
from ..options import option

ARM = SerialArm()

COULOMB_WIDTH = 0.05  # [rad/s] over which Coulomb friction changes sign
RECORDED_RATE = 100.0  # [Hz] at which a motion is thought to be recorded, and of the files written
SIGMA = 0.005  # share of the torque limits, where no standard deviation is given
TRIED_POSTURES = 2000  # tried before a box is called infeasible


@dataclass(frozen=True)
class DesignOptions(RobotOptions):
    """All options of the design of a motion."""

    model: str = option(
        '',
        'model.yaml of a first identification: the motion is made for what is '
        'still open, and the error of its feedforward on it is said',
    )
    criterion: str = option(
        'v_optimality',
        'what is made small: v_optimality the error of predicted torques over the '
        "workspace, d_optimality the volume of the parameters' covariance, condition_number that "
        'of the weighted base regressor',
        choices=tuple(CRITERIA),
    )
    period: float = option(10.0, 'duration of one period', unit='s', at_least=0.5, at_most=600.0)
    harmonics: int = option(5, 'harmonics of the Fourier series', at_least=2, at_most=30)
    seconds: float = option(
        600.0,
        'time the search may take at most, up to five times as long '
        'while no motion is found; it ends when all restarts have ended',
        unit='s',
        at_least=0.1,
        at_most=86400.0,
    )
    restarts: int = option(8, 'random motions the search starts from', at_least=1, at_most=10000)
    seed: int = option(0, 'of the random motions', at_least=0)
    friction: tuple[str, ...] = option(
        (law_of('damping'), law_of('friction')),
        'friction laws whose columns take part; empty: none',
    )
    sigma: tuple[float, ...] = option(
        (),
        'standard deviation of the torque measurement, one for all joints or one each; '
        'empty: 0.5 % of the torque limits',
        unit='N m',
    )
    start: tuple[float, ...] = option(
        (), 'positions the motion starts at and returns to; empty: anywhere', unit='rad or m'
    )
    lower: tuple[float, ...] = option((), 'lowest positions, before the URDF', unit='rad or m')
    upper: tuple[float, ...] = option((), 'highest positions, before the URDF', unit='rad or m')
    velocity: tuple[float, ...] = option((), 'velocity limits, before the URDF', unit='rad/s')
    acceleration: tuple[float, ...] = option(
        (),
        'acceleration limits; empty: as the maker publishes them, else such that full speed '
        'is reached in half a second',
        unit='rad/s^2',
    )
    limits: str = option(
        '',
        'robot whose published limits hold as well: fr3, fer, ur3e, ur5e, ur7e, ur10e, ur12e, '
        'ur15, ur16e, ur18, ur20, ur30, iiwa7, iiwa14, gen3, gen3_6dof; none; empty: as the names '
        'of robot and joints say',
    )
    jerk: tuple[float, ...] = option(
        (), 'jerk limits; empty: as the maker publishes them', unit='rad/s^3'
    )
    position_margin: float = option(
        0.05, 'share of the position range that is not used', at_least=0.0, at_most=0.9
    )
    velocity_margin: float = option(
        0.1, 'share of the velocity limits that is not used', at_least=0.0, at_most=0.9
    )
    acceleration_margin: float = option(
        0.1, 'share of the acceleration limits that is not used', at_least=0.0, at_most=0.9
    )
    effort_margin: float = option(
        0.2,
        'share of the torque limits that the nominal model does '
        'not use: the real arm may be heavier',
        at_least=0.0,
        at_most=0.9,
    )
    effort: tuple[float, ...] = option(
        (), 'torque limits for the nominal model, before the URDF', unit='N m'
    )
    box: tuple[float, ...] = option(
        (), 'xmin ymin zmin xmax ymax zmax of the last link in the base frame', unit='m'
    )
    sphere: float = option(
        0.0, 'least distance of the last link from the base', unit='m', at_least=0.0
    )
    meshes: tuple[str, ...] = option(
        (), 'folders in which the meshes of the URDF are sought, besides installed packages'
    )
    floor: bool = option(True, 'a floor at z = 0 under a base that stands upright')
    distance: float = option(
        0.02,
        'that links keep from each other and from what stands around',
        unit='m',
        at_least=0.0,
        at_most=1.0,
    )
    obstacles: tuple[str, ...] = option(
        (),
        'what stands around in the base frame [m]: box X Y Z LX LY LZ, sphere X Y Z R, '
        'cylinder X Y Z R LENGTH (upright)',
    )


def refuse_loops(blocks: Mapping[str, Any]) -> None:
    """
    Raise MotionError where configuration ``blocks`` {method: options} close the loops of a tree.

    Its passive joints follow from the others: a motion made for all of them breaks the mechanism.
    """
    for name in methods_of(ClosedLoops):
        closures = (blocks.get(name) or {}).get('closures')
        if closures:
            raise MotionError(
                'motions of mechanisms with loops are neither designed nor played',
                expected='an arm, whose joints move each by itself',
                found=closures,
                do='move the driven joints with your own program, by a sum of three to five sines '
                'each: see "What to record" in doc/closed_loop.md',
            )


def design_parameters(robot: RobotModel, options: DesignOptions) -> tuple[Parameter, ...]:
    """Return the Parameters of all columns of ``robot`` that ``options`` let take part."""
    check_laws(options.friction)
    laws = ARM.Options(friction=tuple(options.friction), coulomb_width=COULOMB_WIDTH)
    return ARM.parameters(robot, laws)


def motion_problem(
    robot: RobotModel, options: DesignOptions, information: np.ndarray | None = None
) -> tuple[MotionProblem, BaseParameters]:
    """
    Return the MotionProblem and BaseParameters of a design.

    information : (p, p) W'W of earlier recordings about all p columns or None
    Raises MotionError for what cannot be designed for.
    """
    limits = find_limits(robot, options)
    parameters = design_parameters(robot, options)
    base = structural_base(ARM, [robot], parameters)
    shapes = wanted_shapes(robot, options, np.random.default_rng(options.seed))
    direction, space = rest_space(options.harmonics, len(options.start) > 0)
    if information is not None:
        information = information[np.ix_(base.independent, base.independent)]
    start = np.zeros(len(robot))
    if len(options.start):
        start = np.array(options.start, dtype=float)
    has_widths = any(LAWS[law].has_width for law in options.friction)
    problem = MotionProblem(
        robot=robot,
        chain=Chain.of(robot),
        weights=_weights(robot, options, limits),
        columns=base.independent,
        friction=_friction(robot, base),
        nominal=base.nominal(),
        information=information,
        share=RECORDED_RATE * options.period,
        limits=limits,
        tool=_tool(robot),
        shapes=shapes,
        criterion=options.criterion,
        period=options.period,
        harmonics=options.harmonics,
        direction=direction,
        space=space,
        start=start,
        moments=np.zeros(0),
        root=np.zeros(0),
        width_moments=np.full(len(robot), float(has_widths)),
    )
    return with_workspace(problem, options.seed), base


def information_of(model: IdentifiedModel, parameters: Sequence[Parameter]) -> np.ndarray:
    """
    Return W'W / sigma^2 (p, p), about the columns of the design, of a first identification.

    What the model knows of other columns, as of friction laws that the design has not, is
    averaged over; what it knows of friction widths is not used: every motion shows them anew.
    Raises MotionError when they have nothing in common.

    Base parameters beta = K pi of covariance C are worth K' C^-1 K about pi; those of the next
    motion add to it (Gautier and Khalil 1992 design each alone; the sum is Fisher's information).
    """
    column_of = {p.name: k for k, p in enumerate(parameters)}
    shared = [k for k, entry in enumerate(model.base) if set(entry['grouping']) <= set(column_of)]
    if not shared:
        raise MotionError(
            'the model is of another robot',
            expected=f'parameters as {parameters[0].name}, {parameters[-1].name}',
            found=[entry['name'] for entry in model.base[:3]],
        )
    K = np.zeros((len(shared), len(parameters)))
    for row, k in zip(K, shared):
        for name, coefficient in model.base[k]['grouping'].items():
            row[column_of[name]] = coefficient
    covariance = model.covariance[np.ix_(shared, shared)]
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    inverse = np.linalg.pinv(covariance / np.outer(scale, scale), hermitian=True)
    return K.T @ (inverse / np.outer(scale, scale)) @ K


def _weights(robot, options, limits):
    effort = np.where(np.isfinite(limits.effort), limits.effort, 1.0 / SIGMA)
    sigma = SIGMA * effort
    if len(options.sigma):
        sigma = np.asarray(options.sigma, dtype=float)
    if sigma.shape not in ((1,), (len(robot),)) or not (sigma > 0).all():
        raise MotionError(
            'option sigma', expected=f'1 or {len(robot)} values above 0', found=list(options.sigma)
        )
    return np.broadcast_to(1.0 / sigma, len(robot)).copy()


def _friction(robot, base):
    """Return, per joint, (place among the base columns, law, nonlinear)."""
    out: list[list[tuple]] = [[] for _ in robot.joint_names]
    for base_column, k in enumerate(base.independent):
        parameter = base.parameters[k]
        if k >= 10 * len(robot):
            out[robot.joint_names.index(parameter.owner)].append(
                (base_column, parameter.law, parameter.nonlinear)
            )
    return tuple(map(tuple, out))


def _tool(robot):
    """Return (body, offset in its frame (3,) [m]) of the end effector, the last link."""
    last = [f for f in robot.pin_model.frames if f.type.name == 'BODY' and f.parentJoint > 0][-1]
    return last.parentJoint - 1, last.placement.translation.copy()


def check_postures(problem: MotionProblem, options: DesignOptions) -> None:
    """
    Refuse what leaves no posture: box, sphere and clearance of ``problem``, start of ``options``.

    Raises MotionError when no posture, or not the start, keeps them.
    """
    if len(options.start) and not postures_allowed(problem, problem.start[None]).all():
        raise MotionError(
            'the start is outside the box or sphere, or in collision',
            found=list(options.start),
            do='give another start:, a smaller distance:, or finer <collision> shapes in the URDF',
        )
    rng = np.random.default_rng(options.seed)
    if not postures_allowed(problem, random_postures(problem, rng, TRIED_POSTURES)).any():
        raise MotionError(
            f'none of {TRIED_POSTURES} postures within the position limits is allowed',
            do='widen box: or lower sphere: (base frame, metres), give a smaller '
            'distance:, or finer <collision> shapes in the URDF',
        )
