"""
From a robot and options to arrays: the MotionProblem that the search works on.

Base columns of the mounting(s), limits, end effector, collision shapes; what cannot be designed
for is refused here, with words.
"""

from dataclasses import dataclass, replace

import numpy as np

from .assessment import with_workspace
from .collision import wanted_shapes
from .criteria import CRITERIA
from .feasible import postures_allowed, random_postures
from .fourier import rest_space
from .friction_sweep import KIND
from .limits import find_limits
from .objective import MotionProblem
from .regressor_adjoint import Chain
from ..dynamics.friction import check_laws
from ..dynamics.inertial_parameters import Parameter
from ..dynamics.robot_model import gravity_from_mounting, RobotModel, RobotOptions
from ..errors import MotionError
from ..estimation.base_parameters import BaseParameters
from ..identification.prepare.mounting import structural_base
from ..methods.serial_arm import SerialArm
from ..options import option

ARM = SerialArm()

SIGMA = 0.005  # share of the torque limits, where no standard deviation is given
POSTURES = 2000  # tried before a box is called infeasible


@dataclass(frozen=True)
class DesignOptions(RobotOptions):
    """All options of the design of a motion."""

    kind: str = option(
        'excitation', 'excitation: a Fourier series that shows all parameters; friction_sweep: '
        'constant low speeds, every joint both ways', choices=('excitation', KIND))
    model: str = option('', 'model.yaml of a first identification: the motion is made for what is '
                        'still open, and the error of its feedforward on it is said')
    sweep_speeds: tuple[float, ...] = option(
        (0.02, 0.05, 0.1, 0.2, 0.4), 'speeds of a friction sweep', unit='rad/s', at_least=1e-4)
    sweep_leg: float = option(2.0, 'how long a friction sweep goes at one speed one way',
                              unit='s', at_least=0.1, at_most=60.0)
    criterion: str = option(
        'v_optimality', 'what is made small: v_optimality the error of predicted torques over the '
        "workspace, d_optimality the volume of the parameters' covariance, condition_number or "
        'frobenius that of the weighted base regressor', choices=tuple(CRITERIA))
    period: float = option(10.0, 'duration of one period', unit='s', at_least=0.5, at_most=600.0)
    harmonics: int = option(5, 'harmonics of the Fourier series', at_least=2, at_most=30)
    samples: int = option(50, 'samples per period that the search looks at; the result is checked '
                          'on more', at_least=20, at_most=2000)
    rate: float = option(100.0, 'samples per second of the files written', unit='Hz',
                         at_least=1.0, at_most=10000.0)
    periods: int = option(1, 'how often the motion is repeated', at_least=1, at_most=1000)
    seconds: float = option(600.0, 'time the search may take at most, up to five times as long '
                            'while no motion is found; it ends when all restarts have ended',
                            unit='s', at_least=0.1, at_most=86400.0)
    restarts: int = option(8, 'random motions the search starts from', at_least=1, at_most=10000)
    processes: int = option(0, 'processes that search; 0: one per core, at most 4; 1: none '
                            'besides this', at_least=0, at_most=64)
    seed: int = option(0, 'of the random motions', at_least=0)
    mountings: tuple[str, ...] = option(
        (), 'mountings the motion is to serve at once, each in the words of mounting:; empty: '
        'that one alone')
    friction: tuple[str, ...] = option(
        ('viscous', 'coulomb'), 'friction laws whose columns take part; empty: none')
    coulomb_width: float = option(0.05, 'speed over which Coulomb friction changes sign',
                                  unit='rad/s', at_least=1e-4, at_most=10.0)
    sigma: tuple[float, ...] = option(
        (), 'standard deviation of the torque measurement, one for all joints or one each; '
        'empty: 0.5 % of the torque limits', unit='N m')
    start: tuple[float, ...] = option(
        (), 'positions the motion starts at and returns to; empty: anywhere', unit='rad or m')
    start_at_offset: bool = option(False, 'start at the mean position, as published')
    lower: tuple[float, ...] = option((), 'lowest positions, before the URDF', unit='rad or m')
    upper: tuple[float, ...] = option((), 'highest positions, before the URDF', unit='rad or m')
    velocity: tuple[float, ...] = option((), 'velocity limits, before the URDF', unit='rad/s')
    acceleration: tuple[float, ...] = option(
        (), 'acceleration limits; empty: as the maker publishes them, else such that full speed '
        'is reached in half a second', unit='rad/s^2')
    limits: str = option(
        '', 'robot whose published limits hold as well: fr3, fer, ur3e, ur5e, ur7e, ur10e, ur12e, '
        'ur15, ur16e, ur18, ur20, ur30, iiwa7, iiwa14, gen3, gen3_6dof; none; empty: as the names '
        'of robot and joints say')
    jerk: tuple[float, ...] = option(
        (), 'jerk limits; empty: as the maker publishes them', unit='rad/s^3')
    effort_rate: tuple[float, ...] = option(
        (), 'limits of the change of torque; empty: as the maker publishes them', unit='N m/s')
    position_margin: float = option(0.05, 'share of the position range that is not used',
                                    at_least=0.0, at_most=0.9)
    velocity_margin: float = option(0.1, 'share of the velocity limits that is not used',
                                    at_least=0.0, at_most=0.9)
    acceleration_margin: float = option(0.1, 'share of the acceleration limits that is not used',
                                        at_least=0.0, at_most=0.9)
    effort_margin: float = option(0.2, 'share of the torque limits that the nominal model does '
                                  'not use: the real arm may be heavier', at_least=0.0,
                                  at_most=0.9)
    effort: tuple[float, ...] = option(
        (), 'torque limits for the nominal model, before the URDF', unit='N m')
    end_effector: str = option('', 'link that box and sphere bound; empty: the last that moves')
    box: tuple[float, ...] = option(
        (), 'xmin ymin zmin xmax ymax zmax of the end effector in the base frame', unit='m')
    sphere: float = option(0.0, 'least distance of the end effector from the base', unit='m',
                           at_least=0.0)
    collisions: bool = option(True, 'keep the links apart, from each other and from what stands '
                              'around')
    meshes: tuple[str, ...] = option(
        (), 'folders in which the meshes of the URDF are sought, besides installed packages')
    floor: bool = option(True, 'a floor under a base that stands upright')
    floor_height: float = option(0.0, 'of the floor in the base frame', unit='m')
    distance: float = option(0.02, 'that links keep from each other and from what stands around',
                             unit='m', at_least=0.0, at_most=1.0)
    obstacles: tuple[str, ...] = option(
        (), 'what stands around in the base frame [m]: box X Y Z LX LY LZ, sphere X Y Z R, '
        'cylinder X Y Z R LENGTH (upright)')


def design_parameters(robot: RobotModel, options: DesignOptions) -> tuple[Parameter, ...]:
    """Return the Parameters of all columns of ``robot`` that ``options`` let take part."""
    check_laws(options.friction)
    laws = ARM.Options(friction=tuple(options.friction), coulomb_width=options.coulomb_width)
    return ARM.parameters(robot, laws)


def motion_problem(robot: RobotModel, options: DesignOptions, known: np.ndarray | None = None
                   ) -> tuple[MotionProblem, BaseParameters]:
    """
    Return the MotionProblem and BaseParameters of a design.

    known : (p, p) W'W of earlier recordings or None
    Raises MotionError for what cannot be designed for.
    """
    limits = find_limits(robot, options)
    parameters = design_parameters(robot, options)
    gravities = np.array([gravity_from_mounting(m) for m in options.mountings]
                         or [robot.gravity_base])
    base = structural_base(ARM, [replace(robot, gravity_base=g) for g in gravities],
                           parameters)
    shapes = wanted_shapes(robot, options, np.random.default_rng(options.seed))
    direction, space = rest_space(options.harmonics, options.start_at_offset,
                                  len(options.start) > 0)
    problem = MotionProblem(
        robot=robot, chain=Chain.of(robot), gravities=gravities,
        weights=_weights(robot, options, limits), columns=base.independent,
        friction=_friction(robot, base), nominal=base.nominal(),
        known=_known(known, base, len(parameters)),
        share=options.rate * options.period * options.periods * len(gravities),
        limits=limits, tool=_tool(robot, options), shapes=shapes, criterion=options.criterion,
        period=options.period, harmonics=options.harmonics, direction=direction, space=space,
        start=np.array(options.start if len(options.start) else np.zeros(len(robot)), float),
        moments=np.zeros(0), root=np.zeros(0),
        width_moments=np.full(len(robot), float('coulomb' in options.friction)))
    return with_workspace(problem, options.seed), base


def _weights(robot, options, limits):
    sigma = np.asarray(options.sigma if len(options.sigma) else SIGMA * np.where(
        np.isfinite(limits.effort), limits.effort, 1.0 / SIGMA), dtype=float)
    if sigma.shape not in ((1,), (len(robot),)) or not (sigma > 0).all():
        raise MotionError('option sigma', expected=f'1 or {len(robot)} values above 0',
                          found=list(options.sigma))
    return np.broadcast_to(1.0 / sigma, len(robot)).copy()


def _friction(robot, base):
    """Return, per joint, (place among the base columns, law, nonlinear)."""
    out: list[list[tuple]] = [[] for _ in robot.joint_names]
    for place, k in enumerate(base.independent):
        parameter = base.parameters[k]
        if k >= 10 * len(robot):
            out[robot.joint_names.index(parameter.owner)].append(
                (place, parameter.law, parameter.nonlinear))
    return tuple(map(tuple, out))


def _known(known, base, size):
    if known is None:
        return None
    known = np.asarray(known, dtype=float)
    if known.shape != (size, size) or not np.isfinite(known).all():
        raise MotionError("the known W'W does not fit",
                          expected=f'finite, {size} x {size}', found=f'shape {known.shape}')
    return known[np.ix_(base.independent, base.independent)]


def _tool(robot, options):
    """Return (body, offset in its frame (3,) [m]) of the end effector."""
    frames = {f.name: f for f in robot.pin_model.frames if f.type.name == 'BODY'}
    moving = [f.name for f in frames.values() if f.parentJoint > 0]
    name = options.end_effector or moving[-1]
    if name not in frames:
        raise MotionError(f'end_effector {name!r} is not a link', exists=tuple(frames))
    if frames[name].parentJoint == 0:
        raise MotionError(f'end_effector {name!r} does not move', exists=moving)
    return frames[name].parentJoint - 1, frames[name].placement.translation.copy()


def check_postures(problem: MotionProblem, options: DesignOptions) -> None:
    """
    Refuse what leaves no posture: box, sphere and clearance of ``problem``, start of ``options``.

    Raises MotionError when no posture, or not the start, keeps them.
    """
    if len(options.start) and not postures_allowed(problem, problem.start[None]).all():
        raise MotionError('the start is outside the box or sphere, or in collision',
                          found=list(options.start),
                          do='give another start:, or collisions: false if the shapes of the '
                          'URDF are too coarse')
    rng = np.random.default_rng(options.seed)
    if not postures_allowed(problem, random_postures(problem, rng, POSTURES)).any():
        raise MotionError(f'none of {POSTURES} postures within the position limits is allowed',
                          do='widen box: or lower sphere: (base frame, metres), or give '
                          'collisions: false if the shapes of the URDF are too coarse')
