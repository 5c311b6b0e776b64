"""
design: a robot in, a motion out that reveals its parameters and keeps every limit.

Base columns of the mounting(s) -> search -> check on a grid ten times finer -> Design.
Sources: Swevers et al. 1997; Troebinger et al., section II-B; METHODS in the README.
"""

from dataclasses import dataclass, replace
import os
import time

import numpy as np

from ..dynamics.robot_model import gravity_from_mounting, RobotOptions
from ..errors import MotionError
from ..estimation.base_parameters import find_base_parameters
from ..methods import serial_arm
from ..options import check_ranges, option
from .assessment import assess, describe, Use
from .collision import collision_shapes, CollisionShapes, enclosing_capsules
from .criteria import CRITERIA
from .fourier import FourierMotion, rest_space
from .limits import find_limits, Limits
from .objective import MotionProblem
from .regressor_adjoint import Chain
from .search import postures_allowed, random_postures, search

POSTURES = 5000  # tried before a box is called infeasible


@dataclass(frozen=True)
class DesignOptions(RobotOptions):
    """All options of the design of a motion."""

    criterion: str = option('condition_number', 'what is made small, of the weighted base '
                            'regressor', choices=tuple(CRITERIA))
    period: float = option(10.0, 'duration of one period', unit='s', at_least=0.5, at_most=600.0)
    harmonics: int = option(5, 'harmonics of the Fourier series', at_least=2, at_most=30)
    samples: int = option(50, 'samples per period that the search looks at; the result is checked '
                          'on more', at_least=20, at_most=2000)
    rate: float = option(100.0, 'samples per second of the files written', unit='Hz',
                         at_least=1.0, at_most=10000.0)
    periods: int = option(1, 'how often the motion is repeated', at_least=1, at_most=1000)
    seconds: float = option(40.0, 'time the search may take; it ends earlier when all restarts '
                            'have ended', unit='s', at_least=0.1, at_most=86400.0)
    restarts: int = option(12, 'random motions the search starts from', at_least=1, at_most=10000)
    processes: int = option(0, 'processes that search; 0: one per core, at most 4; 1: none '
                            'besides this', at_least=0, at_most=64)
    seed: int = option(0, 'of the random motions', at_least=0)
    mountings: tuple = option((), 'mountings the motion is to serve at once, each in the words of '
                              'mounting:; empty: that one alone')
    friction: tuple = option((), 'friction laws whose columns take part; empty: inertial columns '
                             'alone, as published')
    coulomb_width: float = option(0.05, 'speed over which Coulomb friction changes sign',
                                  unit='rad/s', at_least=1e-4, at_most=10.0)
    sigma: tuple = option((), 'standard deviation of the torque measurement, one for all joints '
                          'or one each; empty: 1', unit='N m')
    start: tuple = option((), 'positions the motion starts at and returns to; empty: anywhere',
                          unit='rad or m')
    start_at_offset: bool = option(False, 'start at the mean position, as published')
    lower: tuple = option((), 'lowest positions, before the URDF', unit='rad or m')
    upper: tuple = option((), 'highest positions, before the URDF', unit='rad or m')
    velocity: tuple = option((), 'velocity limits, before the URDF', unit='rad/s')
    acceleration: tuple = option((), 'acceleration limits; empty: none', unit='rad/s^2')
    effort: tuple = option((), 'torque limits for the nominal model, before the URDF',
                           unit='N m')
    end_effector: str = option('', 'link that box and sphere bound; empty: the last of the URDF')
    box: tuple = option((), 'xmin ymin zmin xmax ymax zmax of the end effector in the base frame',
                        unit='m')
    sphere: float = option(0.0, 'least distance of the end effector from the base', unit='m',
                           at_least=0.0)
    collisions: bool = option(True, 'keep the collision primitives of the URDF apart')


@dataclass(frozen=True)
class Progress:
    """seconds so far, of budget; best value so far or None; motions found, rejected."""

    seconds: float
    budget: float
    best: float
    found: int
    rejected: int


@dataclass(frozen=True)
class Design:
    """
    A motion that keeps its limits, and how good it is.

    motion : FourierMotion; criterion, value : what was made small
    condition_number, singular_values (b,), base_names : of the weighted base regressor at the
        motion's own samples (rate, periods), with what was known before
    use : Use of the limits; limits : Limits; gravities : (m, 3) [m/s^2]
    tool : (body, offset (3,) [m]) of the end effector
    seconds, cpu_seconds : it took; found, rejected : feasible motions met, and how many of them
        were refused by the last check; notices : what was not checked
    """

    robot: object
    options: DesignOptions
    motion: FourierMotion
    criterion: str
    value: float
    condition_number: float
    singular_values: np.ndarray
    base_names: tuple
    use: Use
    limits: Limits
    gravities: np.ndarray
    tool: tuple
    seconds: float
    cpu_seconds: float
    found: int
    rejected: int
    notices: tuple

    def summary(self):
        """Return the design in numbers, as plain Python values."""
        return describe(self)


def design(robot, options, progress=None, stop=None, known=None):
    """
    Return the best Design found for a RobotModel.

    progress : called with Progress a few times per second; stop : called as often, true ends
    the search.  Ctrl-C does so too.  The best feasible motion so far is kept.
    known : (p, p) information W'W / sigma^2 of earlier recordings about all p columns of
    ``design_parameters``: the motion is made for what they leave open
    Raises MotionError when a limit is missing or no motion keeps all of them.
    """
    check_ranges(options)
    began, cpu_began = time.monotonic(), sum(os.times()[:4])
    problem, base, shapes = motion_problem(robot, options, known)
    _check_postures(problem, options)
    processes = options.processes or min(os.cpu_count() or 1, 4)
    best, found, rejected = None, 0, 0
    candidates = search(problem, options.samples, options.restarts, options.seed,
                        options.seconds, min(processes, options.restarts))
    try:
        for candidate in candidates:
            if candidate is not None and (best is None or candidate.value < best.value):
                refused = _refused(robot, problem, shapes, candidate)
                found, rejected = found + 1, rejected + bool(refused)
                best = best if refused else candidate
            if progress is not None:
                progress(Progress(time.monotonic() - began, options.seconds,
                                  best.value if best else None, found, rejected))
            if stop is not None and stop():
                break
    except KeyboardInterrupt:
        pass
    finally:
        candidates.close()
    if best is None:
        raise MotionError('no motion that keeps all limits was found',
                          found=f'{found} candidates, {rejected} refused by the last check',
                          do='widen box:, lower sphere: or the limits, or give more seconds:')
    cpu = sum(os.times()[:4]) - cpu_began
    return _finished(robot, options, problem, base, shapes, best.x,
                     (time.monotonic() - began, cpu, found, rejected))


def _finished(robot, options, problem, base, shapes, x, effort):
    motion = motion_at(robot, problem, x)
    result = assess(problem, x)
    singular = np.sqrt(np.maximum(np.linalg.eigvalsh(result.information)[::-1], 0.0))
    return Design(robot, options, motion, options.criterion,
                  float(CRITERIA[options.criterion].report(singular)),
                  float(singular[0] / singular[-1]), singular, tuple(base.names()), result.use,
                  problem.limits, problem.gravities, problem.tool, *effort, shapes.notices)


def motion_at(robot, problem, x):
    """Return the FourierMotion at coordinates x of a MotionProblem."""
    c, K = problem.coefficients(x), problem.harmonics
    return FourierMotion(robot.joint_names, problem.period, c[:, 0], c[:, 1:K + 1], c[:, K + 1:])


def _refused(robot, problem, shapes, candidate):
    """Return whether shapes collide or a limit is exceeded on the finest grid."""
    result = assess(problem, candidate.x)
    if result.use.largest() > 1.0:
        return True
    return shapes.colliding(robot, result.postures) is not None


def design_parameters(robot, options):
    """Return the Parameters of all columns that take part in the design."""
    laws = serial_arm.Options(friction=tuple(options.friction),
                              coulomb_width=options.coulomb_width)
    return serial_arm.parameters(robot, laws)


def motion_problem(robot, options, known=None):
    """Return the MotionProblem, BaseParameters and CollisionShapes of a design."""
    limits = find_limits(robot, options)
    parameters = design_parameters(robot, options)
    gravities = np.array([gravity_from_mounting(m) for m in options.mountings]
                         or [robot.gravity_base])
    base = _base(robot, parameters, gravities)
    rng = np.random.default_rng(options.seed)
    shapes = (collision_shapes(robot, rng) if options.collisions
              else CollisionShapes(None, (), ('collisions are not checked: collisions: false',)))
    direction, space = rest_space(options.harmonics, options.start_at_offset,
                                  len(options.start) > 0)
    problem = MotionProblem(
        chain=Chain.of(robot), gravities=gravities, weights=_weights(robot, options),
        columns=base.independent, friction=_friction(robot, base), nominal=base.nominal(),
        known=_known(known, base, len(parameters)),
        share=options.rate * options.period * options.periods * len(gravities),
        limits=limits, tool=_tool(robot, options), capsules=enclosing_capsules(shapes),
        criterion=options.criterion, period=options.period, harmonics=options.harmonics,
        direction=direction, space=space,
        start=np.array(options.start if len(options.start) else np.zeros(len(robot)), float))
    return problem, base, shapes


def _base(robot, parameters, gravities):
    """Return the BaseParameters that the mountings together can show."""
    rng = np.random.default_rng(0)
    samples = 3 * len(parameters) // len(robot) + 20
    rows = []
    for gravity in gravities:
        mounted = replace(robot, gravity_base=gravity)
        state = serial_arm.random_state(robot, samples, rng)
        for block in serial_arm.regress(state, mounted, parameters):
            for group in block.groups:
                W = np.zeros((len(group.W), len(parameters)))
                W[:, group.columns] = group.W
                rows.append(W)
    return find_base_parameters(np.vstack(rows), parameters)


def _weights(robot, options):
    sigma = np.asarray(options.sigma if len(options.sigma) else (1.0,), dtype=float)
    if sigma.shape not in ((1,), (len(robot),)) or not (sigma > 0).all():
        raise MotionError('option sigma', expected=f'1 or {len(robot)} values above 0',
                          found=list(options.sigma))
    return np.broadcast_to(1.0 / sigma, len(robot)).copy()


def _friction(robot, base):
    """Return, per joint, (place among the base columns, law, shape)."""
    out = [[] for _ in robot.joint_names]
    for place, k in enumerate(base.independent):
        parameter = base.parameters[k]
        if k >= 10 * len(robot):
            out[robot.joint_names.index(parameter.owner)].append(
                (place, parameter.law, parameter.shape))
    return tuple(map(tuple, out))


def _known(known, base, size):
    if known is None:
        return None
    known = np.asarray(known, dtype=float)
    if known.shape != (size, size) or not np.isfinite(known).all():
        raise MotionError('the known information does not fit',
                          expected=f'finite, {size} x {size}', found=f'shape {known.shape}')
    return known[np.ix_(base.independent, base.independent)]


def _tool(robot, options):
    """Return (body, offset in its frame (3,) [m]) of the end effector."""
    frames = {f.name: f for f in robot.pin_model.frames if f.type.name == 'BODY'}
    name = options.end_effector or list(frames)[-1]
    if name not in frames:
        raise MotionError(f'end_effector {name!r} is not a link', exists=tuple(frames))
    if frames[name].parentJoint == 0:
        raise MotionError(f'end_effector {name!r} does not move', exists=tuple(frames))
    return frames[name].parentJoint - 1, frames[name].placement.translation.copy()


def _check_postures(problem, options):
    """Raise MotionError when no posture, or not the start, keeps box, sphere and clearance."""
    if len(options.start) and not postures_allowed(problem, problem.start[None]).all():
        raise MotionError('the start is outside the box or sphere, or in collision',
                          found=list(options.start), do='give another start:')
    rng = np.random.default_rng(options.seed)
    if not postures_allowed(problem, random_postures(problem, rng, POSTURES)).any():
        raise MotionError(f'none of {POSTURES} postures within the position limits is allowed',
                          do='widen box: or lower sphere: (base frame, metres), or switch '
                          'collisions: off if the shapes of the URDF are too coarse')
