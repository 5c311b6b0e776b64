"""
identify: the spine. Recording -> state -> blocks -> information -> base parameters -> estimate.

The same page serves the command line, the node and the tests; nothing here knows ROS.
"""

from dataclasses import asdict, dataclass, replace
import datetime
import platform

import numpy as np

from . import __version__
from .dynamics.robot_model import gravity_from_mounting
from .errors import ConfigError, RecordingError, RobotModelError
from .estimation.consistency import consistent
from .estimation.estimators import ESTIMATORS, Problem, weighted
from .estimation.friction_choice import choose_laws
from .estimation.identified_model import IdentifiedModel, plain
from .estimation.information import Information, one_thread
from .estimation.known_parameters import is_known, with_known
from .estimation.residuals import Fit, Residuals
from .estimation.shapes import alternatives, choose_shapes, refine_shapes
from .estimation.statistics import condition_causes, essential_parameters, whiteness
from .methods import METHODS
from .mounting import check_mounting, mounting_parameters, structural_base
from .options import check_ranges, option
from .reading import readers

FOLDS = 5
CURVE = 2000  # points per curve kept for the report
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
        ('coulomb', 'stribeck', 'stribeck_atan'), 'friction laws whose constant, where it is found '
        'from the data, is refined beyond the values tried, with its uncertainty')
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
    observations = [rows.observe(r, robot, options) for r, robot in zip(recordings, robots)]
    estimator = ESTIMATORS[options.estimator]
    with one_thread():
        base, keep, choices = _structure(rows, robots, columns)
        folds = _fold(rows, robots, observations, columns, keep, len(base), progress)
        base, folds = _settle_shapes(base, columns, keep, choices, folds)
        read, instruments = readers(rows, robots, observations)
        told = {}
        if options.choose_friction:
            base, folds, told['friction_choice'] = _choose_friction(
                rows, robots, observations, base, folds, estimator)
        searched = {p.law for p in columns if p.name in choices} & set(options.refine_shapes)
        refined = _refine(Problem(_merge(folds), base, {}, read), searched)
        if refined:
            base = refined.base
            folds = _fold(rows, robots, observations, base.parameters, _places(base), len(base),
                          None)
        total = _merge(folds)
        draft = estimator(Problem(total, base, {}))
        residuals, curves, region = _judge(
            rows, robots, observations, base.parameters, _standard(base, draft), True, progress)
        estimate = estimator(Problem(total, base, residuals.correlation(), read, instruments))
        if refined:
            refined = _refine(Problem(total, base, estimate.correlation, read), searched)
            estimate, told['shapes'] = refined.widen(estimate), refined.shapes
        left_out = _left_out(folds, base, estimator, estimate.correlation)
    statistics = {
        'samples': residuals.filtered.samples, 'rank': len(base), 'rank_in_data': estimate.rank,
        'rank_gap': base.gap, 'condition_number': estimate.condition_number,
        'deviation': estimate.deviation, 'correlation_samples': estimate.correlation,
        'training': _fits(total, estimate.params), 'left_out_relative_percent': left_out}
    statistics.update(told, **_diagnostics(total, base, estimate, residuals))
    values = _standard(base, estimate)
    if options.consistent:
        values, statistics['consistent'] = _consistent(total, base, estimate, options)
    model = IdentifiedModel(
        method, asdict(options), _robot_entry(robots[0]),
        _mounting_entry(rows, robots, recordings, options, base),
        base.parameters, values, _base_entries(base, estimate),
        estimate.cov_params, statistics, region, [o.summary for o in observations],
        _provenance(recordings))
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
    observations = [rows.observe(r, robot, options) for r, robot in zip(recordings, robots)]
    with one_thread():
        residuals, curves, _ = _judge(rows, robots, observations, model.parameters, model.values,
                                      False, progress)
    return residuals.summary(), curves


def prediction_options(model):
    """Return the model's options with all that was chosen from the data fixed."""
    kind = options_class(model.method)
    known = {name: model.options[name] for name in kind.__dataclass_fields__}
    known = {k: tuple(v) if isinstance(v, list) else v for k, v in known.items()}
    if 'average_periods' in known:
        known['average_periods'] = False  # what is predicted are samples as they come
    first = model.preprocessing[0]
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
    imu = _imu_gravity(recording, upright) if mounting.strip() == 'imu' else None
    return build(text, options, gravity_from_mounting(mounting, imu))


def _imu_gravity(recording, robot):
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


def _structure(rows, robots, columns):
    """
    Return the BaseParameters of the structure, and where every column goes in the information.

    Random states under every mounting show all that is possible; of alternative columns (friction
    widths) the first stands for all.  keep : column -> place in the information or -1: the base
    columns first, then the other alternatives of base columns; choices : name -> places.
    """
    twins = alternatives(columns)
    later = {k for ks in twins.values() for k in ks[1:]}
    primary = [k for k in range(len(columns)) if k not in later]
    parameters = [columns[k] for k in primary]
    base = structural_base(rows, robots, parameters)
    keep = np.full(len(columns), -1)
    keep[np.array(primary)[base.independent]] = np.arange(len(base))
    choices, size = {}, len(base)
    for name, ks in twins.items():
        if keep[ks[0]] >= 0:
            keep[ks[1:]] = np.arange(size, size + len(ks) - 1)
            size += len(ks) - 1
            choices[name] = [int(keep[k]) for k in ks]
    return base, keep, choices


def _fold(rows, robots, observations, columns, keep, count, progress):
    """Return FOLDS Informations, each of one stretch of time of every recording."""
    size = int(keep.max()) + 1
    folds = [Information(size) for _ in range(FOLDS)]
    done, whole = 0, sum(o.samples(training=True) for o in observations)
    for robot, observation in zip(robots, observations):
        own, seen = observation.samples(training=True), 0
        for state in observation.states(training=True):
            for block in rows.regress(state, robot, columns):
                for fold, part in _cut(block, seen, own):
                    folds[fold].fold(part, keep)
                seen, done = seen + len(block.t), done + len(block.t)
                if progress:
                    progress('identify', done, whole)
    return [f for f in folds if f.groups]


def _cut(block, seen, own):
    """Yield (fold, part of the block) so that every recording falls into FOLDS equal stretches."""
    fold = np.minimum((seen + np.arange(len(block.t))) * FOLDS // own, FOLDS - 1)
    for number in np.unique(fold):
        where = np.flatnonzero(fold == number)
        yield int(number), block.rows(slice(where[0], where[-1] + 1))


def _settle_shapes(base, columns, keep, choices, folds):
    """Return base and folds with the chosen shape constants only."""
    if not choices:
        return base, folds
    owner = {int(place): columns[k] for k, place in enumerate(keep) if place >= 0}
    parameters = [owner[k] for k in range(len(owner))]
    picked = choose_shapes(_merge(folds), base, choices, parameters)
    selection, final = np.arange(len(base)), list(base.parameters)
    for name, k in picked.items():
        place = choices[name][0]
        selection[place] = choices[name][k]
        final[base.independent[place]] = parameters[choices[name][k]]
    return replace(base, parameters=tuple(final)), [f.select(selection) for f in folds]


def _choose_friction(rows, robots, observations, base, folds, estimator):
    """Return base and folds with the laws that the data ask for, and the reasons."""
    draft = estimator(Problem(_merge(folds), base, {}))
    residuals, _, _ = _judge(rows, robots, observations, base.parameters,
                             _standard(base, draft), True, None)
    laws = {p.law for p in base.parameters if p.law}
    choice = choose_laws(folds, base, estimator, residuals.correlation(), laws)
    return (choice.base, [f.select(choice.selection) for f in folds],
            {'joints': choice.reasons, 'left_out_percent': list(choice.left_out_percent)})


def _refine(problem, laws):
    """Return RefinedShapes of friction laws, None where none of them is there."""
    own = [problem.base.parameters[k] for k in problem.base.independent]
    if not any(p.law in laws and p.shape for p in own):
        return None
    return refine_shapes(problem, weighted(problem).deviation, laws)


def _places(base):
    """Return the column -> place in the information of base columns alone."""
    keep = np.full(len(base.parameters), -1)
    keep[base.independent] = np.arange(len(base))
    return keep


def _merge(folds):
    total = folds[0]
    for fold in folds[1:]:
        total = total.merge(fold)
    return total


def _standard(base, estimate):
    """Return standard parameters with the estimate's base parameters, the others nominal."""
    return base.expand(estimate.params, [p.nominal for p in base.parameters])


def _diagnostics(information, base, estimate, residuals):
    """Return what is essential, what spoils the condition, and whether residuals are white."""
    problem, names = Problem(information, base, estimate.correlation), base.names()
    with one_thread():
        essential = essential_parameters(problem, estimate)['essential']
        return {'essential': [names[k] for k in essential],
                'condition_causes': condition_causes(problem, estimate),
                'whiteness': whiteness(residuals)}


def _consistent(information, base, estimate, options):
    """Return consistent standard parameters, and what is told of them beside the free ones."""
    given = [p for p in with_known(base.parameters, options.given)
             if any(line.split()[0] in (p.name, p.owner) for line in options.given)]
    masses = {p.owner: p.nominal for p in given if p.unit == 'kg' and is_known(p)}
    with one_thread():
        found = consistent(Problem(information, base, estimate.correlation), estimate,
                           masses=masses, total_mass=options.total_mass or None,
                           known=[p.name for p in given if p.unit != 'kg' or not is_known(p)])
    return found.values, {
        'training': _fits(information, found.params), 'loss_percent': found.loss_percent,
        'smallest_pseudo_inertia_eigenvalue': found.smallest_eigenvalue,
        'base': dict(zip(base.names(), found.params.tolist())),
        'standard_error': dict(zip(base.names(), np.sqrt(np.diag(found.cov_params)).tolist())),
        'unconstrained_values': _standard(base, estimate).tolist()}


def _judge(rows, robots, observations, parameters, values, training, progress):
    """Return Residuals of standard parameters, thinned blocks for curves, and the region seen."""
    residuals, curves, region = Residuals(), [], {}
    whole = sum(o.samples(training) for o in observations)
    stride, done = max(1, whole // CURVE), 0
    for robot, observation in zip(robots, observations):
        for state in observation.states(training):
            _widen(region, rows.region(state, robot))
            for block in rows.regress(state, robot, parameters):
                residuals.add(block, {g.name: g.W @ values[g.columns] for g in block.groups})
                curves.append(block.rows(np.arange((-done) % stride, len(block.t), stride)))
                done += len(block.t)
                if progress:
                    progress('judge', done, whole)
    if not done:
        raise RecordingError('the recording is too short', found='no samples left after filtering')
    return residuals, tuple(curves), region


def _widen(region, seen):
    """Widen joint -> {q, v, a: [smallest, largest]} by what a state holds."""
    for where, quantities in seen.items():
        entry = region.setdefault(where, {})
        for name, column in quantities.items():
            low, high = entry.get(name, (np.inf, -np.inf))
            entry[name] = [min(low, float(column.min())), max(high, float(column.max()))]


def _fits(information, beta):
    """Return {filtered, raw} residuals of base parameters over all that was folded."""
    out = {}
    for kind in ('filtered', 'raw'):
        fit = Fit()
        for name, group in information.groups.items():
            fit.samples = max(fit.samples, group.rows)
            fit.residual[name] = group.residual(beta, kind == 'raw') ** 2
            fit.target[name] = group.target(kind == 'raw') ** 2
        out[kind] = fit.summary()
    return out


def _left_out(folds, base, estimator, correlation):
    """Return the relative residual [%] of every fold under the estimate of the others."""
    if len(folds) < 2:
        return None
    square, target = 0.0, 0.0
    for k, fold in enumerate(folds):
        others = _merge(folds[:k] + folds[k + 1:])
        beta = estimator(Problem(others, base, correlation)).params
        square += sum(g.residual(beta) ** 2 for g in fold.groups.values())
        target += sum(g.target() ** 2 for g in fold.groups.values())
    return float(100.0 * np.sqrt(square / target))


def _robot_entry(robot):
    return {'name': robot.name, 'joints': list(robot.joint_names),
            'links': list(robot.link_names), 'base_link': robot.base_link,
            'kinematics_sha256': robot.kinematics_sha256(), 'urdf': robot.urdf}


def _mounting_entry(rows, robots, recordings, options, base):
    gravity = []
    for robot in robots:
        if not any(np.allclose(robot.gravity_base, g) for g in gravity):
            gravity.append([float(x) for x in robot.gravity_base])
    with one_thread():
        told = mounting_parameters(rows, robots[0].urdf, options, base)
    return {'text': [r.mounting for r in recordings], 'gravity_base': gravity, **told}


def _base_entries(base, estimate):
    out = []
    # A given value is a value, though no data showed it.
    given = np.array([is_known(base.parameters[k]) for k in base.independent])
    rows = zip(base.names(), base.expressions(), base.units(), estimate.params, estimate.bse,
               estimate.determined | given, base.nominal(), base.groupings())
    for name, expression, unit, value, error, determined, nominal, grouping in rows:
        known = bool(determined)
        out.append({'name': name, 'expression': expression, 'unit': unit, 'determined': known,
                    'value': float(value) if known else None,
                    'standard_error': float(error) if known else None,
                    'relative_percent': float(100 * error / abs(value)) if known and value
                    else None, 'nominal': float(nominal), 'grouping': grouping})
    return out


def _provenance(recordings):
    import pinocchio
    import scipy
    return {'recordings': [plain(dict(r.provenance)) for r in recordings],
            'created': datetime.datetime.now(datetime.timezone.utc).isoformat('T', 'seconds'),
            'versions': {'ros_inertial_id': __version__, 'python': platform.python_version(),
                         'numpy': np.__version__, 'scipy': scipy.__version__,
                         'pinocchio': pinocchio.__version__}}
