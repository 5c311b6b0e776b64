"""
identify: the spine. Recording -> state -> blocks -> information -> base parameters -> estimate.

The same page serves the command line, the node and the tests; nothing here knows ROS.
"""

from dataclasses import asdict, dataclass, replace

import numpy as np

from .consistent_links import consistent_links
from .dynamics.robot_model import gravity_from_mounting
from .entries import base_entries, mounting_entry, provenance, robot_entry
from .errors import ConfigError, RecordingError, RobotModelError
from .estimation.estimators import ESTIMATORS, Problem
from .estimation.friction_choice import choose_laws
from .estimation.identified_model import IdentifiedModel
from .estimation.information import one_thread
from .estimation.known_parameters import with_known
from .estimation.motion_noise import motion_noise
from .estimation.statistics import condition_causes, essential_parameters, whiteness
from .folding import fold, merge, places, refine, settle_shapes, standard, structure
from .inherited_errors import inherited_errors, widened
from .judging import fits, judge, left_out_percent
from .methods import METHODS
from .mounting import check_mounting
from .options import check_ranges, option
from .reading import readers

IMU = 'sensor_msgs/msg/Imu'


@dataclass(frozen=True)
class EstimationOptions:
    """How numbers are estimated."""

    estimator: str = option('ridge', 'estimator, see estimation/estimators.py',
                            choices=tuple(ESTIMATORS))
    consistent: bool = option(False, 'bodies that can exist and friction that brakes: full '
                              'parameters, from which a URDF can be written')
    choose_friction: bool = option(False, 'leave out friction laws of a joint that explain too '
                                   'little, by an information criterion')
    refine_shapes: tuple = option(
        ('coulomb', 'stribeck', 'stribeck_atan'), 'friction laws whose constant, where it is '
        'found from the data, is refined beyond the values tried, with its uncertainty')
    total_mass: float = option(0.0, 'known mass of all moving links, used with consistent; 0: '
                               'unknown', unit='kg', at_least=0.0)
    given: tuple = option((), 'what is known: NAME, NAME VALUE or NAME VALUE STANDARD_DEVIATION '
                          'of a parameter; a link or joint as the URDF says')


@dataclass(frozen=True)
class Identification:
    """A model, and thinned out RegressorBlocks of its data for the report's curves."""

    model: IdentifiedModel
    training: tuple
    validation: tuple = ()


def identify(recordings, options, *, method='serial_arm', urdf='', validate=(), progress=None):
    """
    Return the Identification of a robot from Recordings.

    recordings, validate : to learn from, and to judge by
    options : of the method with EstimationOptions; urdf : text, '' for the recordings' own
    progress : called with (stage, samples done, samples in all) on long work
    """
    check_ranges(options)
    rows = _method(method)
    robots = [robot_of(recording, options, urdf, method) for recording in recordings]
    _check_nominal(robots[0], options)
    columns = _with_known(rows.parameters(robots[0], options), options)
    estimator = ESTIMATORS[options.estimator]
    with one_thread():
        observations = [rows.observe(r, robot, options) for r, robot in zip(recordings, robots)]
        base, keep, choices = structure(rows, robots, columns)
        folds = fold(rows, robots, observations, columns, keep, progress)
        wide = folds
        base, folds, grid = settle_shapes(base, columns, keep, choices, folds)
        read, instruments = readers(rows, robots, observations)
        told = {}
        if options.choose_friction:
            base, folds, told['friction_choice'] = _choose_friction(
                rows, robots, observations, base, folds, estimator)
            grid = None  # of columns that are no longer all there
        searched = {p.law for p in columns if p.name in choices} & set(options.refine_shapes)
        refined = refine(Problem(merge(folds), base, {}, read, grid=grid), searched)
        if refined:
            base = refined.base
            folds = ([f.combine(grid.columns(base)) for f in wide] if grid else
                     fold(rows, robots, observations, base.parameters, places(base)))
        total = merge(folds)
        draft = estimator(Problem(total, base, {}))
        residuals, curves, region = judge(
            rows, robots, observations, base.parameters, standard(base, draft), True, progress)
        noise = motion_noise(_noise(rows, robots, observations, base, draft), base)
        correlation = noise.correlation(residuals) if noise else residuals.correlation()
        problem = Problem(total, base, correlation, read, instruments)
        estimate = estimator(problem)
        if refined:
            refined = refine(Problem(total, base, estimate.correlation, read, grid=grid), searched)
            estimate, told['shapes'] = refined.widen(estimate), refined.shapes
        inherited = (noise.errors(problem, estimate) if noise else
                     inherited_errors(rows, robots, observations, base, estimate))
        estimate = widened(estimate, inherited)
        left_out = left_out_percent(folds, base, estimator, estimate.correlation)
    statistics = {
        'samples': max(g.rows for g in total.groups.values()), 'rank': len(base),
        'rank_in_data': estimate.rank, 'rank_gap': base.gap,
        'condition_number': estimate.condition_number,
        'deviation': estimate.deviation, 'correlation_samples': estimate.correlation,
        'training': fits(total, estimate.params), 'left_out_relative_percent': left_out}
    statistics.update(told, **_diagnostics(total, base, estimate, residuals))
    values = standard(base, estimate)
    if options.consistent:
        values, statistics['consistent'] = consistent_links(
            rows, robots[0], Problem(total, base, estimate.correlation), estimate, options,
            inherited)
    model = IdentifiedModel(
        method, asdict(options), robot_entry(robots[0]),
        mounting_entry(rows, robots, recordings, options, base),
        base.parameters, values, base_entries(base, estimate),
        estimate.cov_params, statistics, region, [o.summary for o in observations],
        provenance(recordings))
    judged = ()
    if validate:
        statistics['validation'], judged = validation(model, validate, progress=progress)
        model.provenance['validation'] = [dict(r.provenance) for r in validate]
        if options.consistent:
            told = statistics['consistent']
            told['unconstrained_validation'], _ = validation(
                replace(model, values=np.array(told['unconstrained_values'])), validate)
    return Identification(model, curves, judged)


def validation(model, recordings, *, progress=None):
    """
    Return ({filtered, raw} residuals of a model on Recordings, blocks for the report's curves).

    The signals are prepared as they were for the identification (same cutoff, same velocity).
    """
    rows = _method(model.method)
    options = prediction_options(model)
    robots = [robot_of(r, options, model.robot['urdf'], model.method) for r in recordings]
    for robot in robots:
        check_robot(model, robot)
    with one_thread():
        observations = [rows.observe(r, robot, options) for r, robot in zip(recordings, robots)]
        residuals, curves, _ = judge(rows, robots, observations, model.parameters, model.values,
                                     False, progress)
    return residuals.summary(), curves


def prediction_options(model):
    """Return the model's options with all that was chosen from the data fixed."""
    kind = options_class(model.method)
    # An option that came after the model was made stands at its default.
    known = {name: model.options[name] for name in kind.__dataclass_fields__
             if name in model.options}
    known = {k: tuple(v) if isinstance(v, list) else v for k, v in known.items()}
    if 'average_periods' in known:
        known['average_periods'] = False  # what is predicted are samples as they come
    first = model.preprocessing[0]
    if 'camera' in first:  # where it was found to stand
        known.update(camera=tuple(first['camera']), find_camera=False)
    return kind(**dict(known, cutoff=first['cutoff'], velocity=first['velocity']))


def options_class(method):
    """Return the dataclass of all options of a method, its own and the estimation's."""
    rows = _method(method)
    return dataclass(frozen=True)(type('Options', (rows.Options, EstimationOptions),
                                       {'__doc__': rows.Options.__doc__, '__module__': __name__}))


def check_robot(model, robot):
    """Raise RobotModelError when the model knows too little of ``robot``, as it is mounted."""
    if tuple(model.robot['joints']) != robot.joint_names:
        raise RobotModelError('the model is of another robot', do='use its own model file',
                              expected=model.robot['joints'], found=robot.joint_names)
    if model.robot['kinematics_sha256'] != robot.kinematics_sha256():
        raise RobotModelError(
            f"the model is of robot {model.robot['name']!r} with other kinematics",
            found=f'robot {robot.name!r}, same joint names but other axes or placements')
    check_mounting(_method(model.method), model, prediction_options(model), robot)


def robot_of(recording, options, urdf='', method='serial_arm'):
    """Return the RobotModel of a Recording, mounted as the options or the recording say."""
    text = urdf or recording.robot_description
    if not text:
        raise RecordingError('no robot description', found='none in the recording',
                             do='give --urdf, or record robot_description')
    mounting = options.mounting or recording.mounting or 'upright'
    build = _method(method).build
    upright = build(text, options, gravity_from_mounting('upright'))
    imu = imu_gravity(recording, upright) if mounting.strip() == 'imu' else None
    return build(text, options, gravity_from_mounting(mounting, imu))


def imu_gravity(recording, robot):
    """Return gravity by the mean of a base IMU (3,), turned into the base frame, or None."""
    for channel in recording.of_type(IMU).values():
        force = channel.fields['linear_acceleration']
        mean, shake = force.mean(0), force.std(0).max()
        if shake > 1.0:
            raise RecordingError(f'the base IMU {channel.topic} was not at rest',
                                 expected='a standard deviation below 1 m/s^2',
                                 found=f'{shake:.2f} m/s^2')
        frames = {f.name: f for f in robot.pin_model.frames}
        frame = frames.get(channel.frame_id)
        if frame is not None and frame.parentJoint == 0:
            mean = frame.placement.rotation @ mean
        return -mean
    return None


def _method(name):
    if name not in METHODS:
        raise ConfigError('method', found=repr(name), exists=tuple(METHODS))
    return METHODS[name]


def _noise(rows, robots, observations, base, draft):
    """Yield what noise of the motion does to the rows, where a method says so."""
    if hasattr(rows, 'noise'):
        for robot, observation in zip(robots, observations):
            yield from rows.noise(observation, robot, base.parameters, standard(base, draft))


def _check_nominal(robot, options):
    bare = [name for name, pi in zip(robot.link_names, robot.inertias) if pi[0] <= 0.0]
    if bare and options.estimator == 'ridge':
        raise RobotModelError('the URDF has links without inertia', found=bare,
                              expected='nominal inertias, which the ridge estimator leans on',
                              do='add <inertial>, or use estimator: weighted')


def _with_known(columns, options):
    """Return the Parameters with what is given; refuse estimators that hear no beliefs."""
    if options.given and options.estimator != 'ridge':
        raise ConfigError('given parameters', expected='estimator: ridge, which keeps them',
                          found=options.estimator)
    return with_known(columns, options.given)


def _choose_friction(rows, robots, observations, base, folds, estimator):
    """Return base and folds with the laws that the data ask for, and the reasons."""
    draft = estimator(Problem(merge(folds), base, {}))
    residuals, _, _ = judge(rows, robots, observations, base.parameters, standard(base, draft),
                            True, None)
    laws = {p.law for p in base.parameters if p.law}
    choice = choose_laws(folds, base, estimator, residuals.correlation(), laws)
    return (choice.base, [f.select(choice.selection) for f in folds],
            {'joints': choice.reasons, 'left_out_percent': list(choice.left_out_percent)})


def _diagnostics(information, base, estimate, residuals):
    """Return what is essential, what spoils the condition, and whether residuals are white."""
    problem, names = Problem(information, base, estimate.correlation), base.names()
    with one_thread():
        essential = essential_parameters(problem, estimate)['essential']
        return {'essential': [names[k] for k in essential],
                'condition_causes': condition_causes(problem, estimate),
                'whiteness': whiteness(residuals)}
