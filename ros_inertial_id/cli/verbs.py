"""What the verbs of the command line do: read, call the core, write, print."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TYPE_CHECKING

from .console import (
    changed,
    check_lock,
    description_in,
    identified,
    log_format,
    numbers_in,
    page,
    Progress,
    show,
    status,
    typed,
)
from ..api import identify as api
from ..api.model import load_model
from ..api.recordings import recording_of
from ..api.recordings import several as recordings_in
from ..checks.admission import admission, BY_MASSES
from ..checks.checked import cleaned, residual_verdict
from ..checks.finding import Checkup, DO_NOT_USE, VALIDATION, Verdict, verdict_entry
from ..dynamics.branches import alike_branches
from ..dynamics.regressor import RegressorBlock
from ..dynamics.robot_model import gravity_from_mounting, load_robot_model, robot_from_options
from ..errors import ConfigError, printable, RecordingError, RobotModelError
from ..identification.files import make_folder, read_description
from ..identification.identified_model import IdentifiedModel
from ..identification.identify import Identification, validation
from ..identification.judge.prediction import predict, with_prediction
from ..identification.model.targets import file_name
from ..identification.prepare.dataset import seen_before
from ..identification.settings import load_options, options_class, prediction_options
from ..measurement.bags.log_joint_names import ORDERED
from ..measurement.recording import Recording
from ..procedures.bag_paths import several
from ..report import write_report
from ..report.replay_facts import without_curves
from ..report.words import chapters
from ..simulation.driven_robot import check_mujoco

if TYPE_CHECKING:
    from ..procedures.many_recordings import Many

NOTHING_COMPUTED = 'Nothing is computed from this recording, but by --force.'
CONTRADICTING = 2.0  # times the residual of each alone; short bags of one robot leave 1.5 times


def import_(options: Any) -> None:
    """
    Turn a log into a bag; say what was understood.

    RecordingError where neither efforts nor commands were.
    """
    from ..measurement.bags.log import read_log
    from ..measurement.bags.writing import write_recording

    given = log_format(options)
    recording = read_log(
        options.log,
        read_description(options.urdf),
        joint_names=given.joint_names or None,
        rate=given.rate,
        columns=given.columns,
    )
    write_recording(options.out, recording)
    messages = {topic: len(channel) for topic, channel in recording.channels.items()}
    understood = recording.provenance['columns']
    counts = ', '.join(f'{count} {topic}' for topic, count in messages.items())
    lines = [f'{options.out}: {counts}', *_without_efforts(recording)]
    lines += [f'  {what}: {", ".join(names)}' for what, names in understood.items()]
    lines += _alike_branches(recording)
    show(
        options,
        {'bag': str(options.out), 'messages': messages, 'columns': understood},
        printable('\n'.join(lines)),
    )
    if not _has_efforts(recording) and not _has_commands(recording):
        raise RecordingError(
            'no efforts were understood in the log',
            expected='torques or currents, which identification needs',
            do='name their columns: --columns "tau_*=*_moment"',
        )


def _alike_branches(recording: Recording) -> list[str]:
    """Return in words which joints a log without names may as well have exchanged."""
    if not any(source.startswith(ORDERED) for source in recording.provenance['columns']):
        return []
    try:
        robot = load_robot_model(recording.robot_description)
    except RobotModelError:  # the identification says why
        return []
    lines = []
    for pair in alike_branches(robot):
        first, second = (', '.join(robot.joint_names[j] for j in branch) for branch in pair)
        lines.append(
            f'  {first} and {second} are alike: look which of them the first columns move; '
            '--joints gives the names in another order'
        )
    return lines


def _has_efforts(recording: Recording) -> bool:
    """Return whether there are efforts, or no joints that could have some."""
    if '/joint_states' not in recording.channels:
        return True
    return any('effort' in channel.fields for channel in recording.channels.values())


def _has_commands(recording: Recording) -> bool:
    return '/joint_commands' in recording.channels


def _without_efforts(recording: Recording) -> list[str]:
    """Return in words how joint states with commands, and without efforts, are identified."""
    if _has_efforts(recording) or not _has_commands(recording):
        return []
    return [
        '  no efforts, but commands: write "serial_arm: {effort_kind: command}" to servo.yaml, '
        'then inertial-id drive-gains --empty BAG --config servo.yaml, of a log with --urdf'
    ]


def identify_(options: Any) -> int:
    """Identify a model; write it, its report and the description; return the exit status."""
    changes = changed(options, 'mounting', 'estimator', 'consistent')
    if options.urdf_out or options.targets:
        changes['consistent'] = True
    urdf = description_in(options.urdf)
    load_options(options.config, options.method, changes, urdf)  # refused before bags are read
    if _are_many(options):
        return _identify_many(options, changes, urdf)
    recordings = recordings_in(options.bags, urdf, log_format(options))
    others = recordings_in(options.validate, urdf, log_format(options))
    check_lock(options, urdf, recordings)
    make_folder(options.out)
    gravity: dict[str, Any] = {}
    if options.identify_gravity:
        gravity = _gravity(options, recordings, changes, urdf)
        changes['mounting'] = 'gravity {:.17g} {:.17g} {:.17g}'.format(*gravity['gravity_base'])
    with Progress() as progress:
        result = api.identify(
            recordings,
            validate=others,
            urdf=urdf,
            config=options.config,
            method=options.method,
            keep_all=options.keep_all,
            progress=progress,
            **changes,
        )
    if not gravity:
        return identified(options, result, {}, [])
    return identified(options, result, {'gravity': gravity}, [_gravity_sentence(gravity)])


def _are_many(options: Any) -> bool:
    """Return whether bags are accumulated one by one: where that is asked for, or a folder."""
    return options.jobs is not None or bool(options.scheduler) or several(options.bags)


def _identify_many(options: Any, changes: dict[str, Any], urdf: str) -> int:
    """Identify from many bags, with ``changes`` of options; return the exit status."""
    from ..api.many import identify_many

    if options.identify_gravity:
        raise ConfigError(
            '--identify-gravity',
            found='many recordings',
            do='find gravity from one bag, and give the --mounting',
        )
    others = recordings_in(options.validate, urdf, log_format(options))
    make_folder(options.out)
    with Progress('bags') as progress:
        result = identify_many(
            options.bags,
            validate=others,
            urdf=urdf,
            config=options.config,
            progress=progress,
            method=options.method,
            jobs=options.jobs or 1,
            scheduler=options.scheduler,
            cache=options.cache,
            keep_all=options.keep_all,
            log_format=log_format(options),
            **changes,
        )
    many, unused = result.many, result.left_out
    lines = [
        f'{len(many.bags)} bags, {sum(b.cached for b in many.bags)} of them from the cache; '
        f'{len(unused)} not used',
        *contradiction(many),
    ]
    return identified(
        options,
        result,
        {
            'bags': [b.path for b in many.bags],
            'left_out': unused,
            'alone_percent': many.alone_percent,
        },
        lines,
    )


def check_(options: Any) -> int:
    """Say what is wrong with recordings; return the exit status."""
    urdf = description_in(options.urdf)
    recordings = recordings_in(options.bags, urdf, log_format(options))
    check_lock(options, urdf, recordings)
    with Progress('bags') as progress:
        found = api.check(
            recordings,
            urdf=urdf,
            config=options.config,
            method=options.method,
            progress=progress,
            **changed(options, 'mounting'),
        )
    from ..report.sheets import checkup_sheet

    again = typed(
        options, 'urdf', 'columns', 'rate', 'joints', 'config', 'method', 'mounting', 'lock'
    )
    files = page(
        options,
        options.report,
        lambda: checkup_sheet(found, options.bags, recordings, urdf, again),
    )
    show(options, found.to_dict(), found.text(), files)
    return status(options, found.verdict.word)


def validate(options: Any) -> int:
    """Validate a model on a bag; return the exit status."""
    loaded = load_model(options.model)
    model = loaded.identified
    if options.replay:
        check_mujoco()
    recording = recording_of(options.bag, model.robot['urdf'], log_format(options))
    with Progress() as progress:
        result = validated(model, [recording], options.force, progress)
    if result.refused:
        return _show_refused(options, result)
    seen = seen_before(model.provenance.get('recordings', ()), [recording])
    lines = [
        *_verdict_lines(result.verdict, result.checkup),
        *(f'{name} was in the training data: this is no validation.' for name in seen),
        *_model_lines(model),
        *_residual_lines(result.fit),
    ]
    numbers = {'model': options.model, **result.statistics, 'validation_seen': seen}
    if options.replay:
        model.statistics['replay'] = loaded.replay(recording, force=True).entry()
        numbers['replay'] = without_curves(model.statistics['replay'])
        lines += chapters(model)['Replay']
    files = {}
    if options.out_bag:
        predicted = with_prediction(recording, predict(model, recording))
        files['bag'] = _written_bag(options.out_bag, predicted)
    if options.out:
        files['report'] = _validation_page(options, model, recording, result)
    show(options, numbers, '\n'.join(lines), files)
    return status(options, result.verdict['word'])


def _show_refused(options: Any, result: 'Validated') -> int:
    """Say why nothing was computed; return the exit status."""
    lines = [*_verdict_lines(result.verdict, result.checkup), NOTHING_COMPUTED]
    numbers = {'model': options.model, **result.checkup.to_dict(), 'verdict': result.verdict}
    show(options, numbers, '\n'.join(lines))
    return status(options, DO_NOT_USE)


def _validation_page(
    options: Any, model: IdentifiedModel, recording: Recording, result: 'Validated'
) -> str:
    """Write the report of a ``model`` on these data, with checks and verdict; return its path."""
    seen = seen_before(model.provenance.get('recordings', ()), [recording])
    model.statistics.update(result.statistics)
    model.statistics.pop('validation_seen', None)
    if seen:
        model.statistics['validation_seen'] = seen
    model.provenance['validation'] = [dict(recording.provenance)]
    make_folder(options.out)
    path = Path(options.out) / 'report.html'
    return str(write_report(Identification(model, (), result.blocks), path, options.model))


def _model_lines(model: IdentifiedModel) -> list[str]:
    """Return what to say of a ``model`` that is not to be used, whatever it predicts."""
    verdict = model.statistics.get('verdict') or {}
    if verdict.get('word') != DO_NOT_USE:
        return []
    reasons = '; '.join(verdict['reasons'])
    return [f'The verdict on this model when it was identified: {DO_NOT_USE} ({reasons}).']


def _residual_lines(fit: Mapping[str, Any]) -> list[str]:
    """Return the residuals of a validation, filtered and raw, as lines."""
    lines = []
    for kind in ('filtered', 'raw'):
        numbers = fit[kind]
        joints = '  '.join(f'{n} {r:.4g}' for n, r in numbers['rms'].items())
        lines.append(
            f'{kind}: relative residual {numbers["relative_percent"]:.3f} %, RMS '
            f'{numbers["rms_all"]:.4g} over {numbers["samples"]} samples ({joints})'
        )
    return lines


def _written_bag(path: str, recording: Recording) -> str:
    """Write a bag, or where the ``path`` ends so its .mcap alone; return the path."""
    from ..measurement.bags.writing import write_recording

    if Path(path).suffix != '.mcap':
        write_recording(path, recording)
        return path
    if Path(path).exists():
        raise ConfigError(f'{path} exists already', do='give another name')
    make_folder(Path(path).parent)
    with TemporaryDirectory(dir=Path(path).parent) as folder:
        write_recording(Path(folder) / 'bag', recording)
        (Path(folder) / 'bag' / 'bag.mcap').rename(path)
    return path


@dataclass(frozen=True)
class Validated:
    """
    What a model predicts of recordings.

    fit, blocks : see ``validation``; checkup : of the recordings; verdict : on both
    refused : whether nothing was computed, as checks refuse a recording; the verdict is theirs
    """

    fit: Mapping[str, Any]
    blocks: tuple[RegressorBlock, ...]
    checkup: Checkup
    verdict: dict[str, Any]
    refused: bool = False

    @property
    def statistics(self) -> dict[str, Any]:
        """Return the entries of a model's statistics that they are."""
        return {'validation': self.fit, **self.checkup.to_dict(), 'verdict': self.verdict}


def validated(
    model: IdentifiedModel,
    recordings: Sequence[Recording],
    force: bool = False,
    progress: Any = None,
) -> Validated:
    """
    Return what a ``model`` predicts of recordings that are checked first.

    Samples that the checks mask take no part; where a recording cannot be used the verdict says
    so, and nothing is computed but by ``force``.  progress : see ``validation``
    """
    admitted = admission(
        recordings,
        prediction_options(model),
        but=BY_MASSES,
        method=model.method,
        urdf=model.robot['urdf'],
        model=model,
    )
    checkup = admitted.of_all().checkup
    if admitted.refused and not force:
        whole = Verdict(DO_NOT_USE, tuple(admitted.refused.values()))
        return Validated({}, (), checkup, verdict_entry(whole, checkup.joints), True)
    fit, blocks = validation(model, cleaned(recordings, checkup), progress=progress)
    outside = {joint: rms['outside'] for joint, rms in fit['outside'].get('rms', {}).items()}
    verdict = residual_verdict(fit['filtered'], VALIDATION, checkup, outside)
    return Validated(fit, blocks, checkup, verdict)


def _verdict_lines(verdict: Mapping[str, Any], checkup: Checkup) -> list[str]:
    """Return a ``verdict`` and the findings of a ``checkup`` as lines, the verdict first."""
    lines = [f'Verdict: {_judged(verdict)}.']
    for joint, of_joint in verdict['joints'].items():
        if of_joint['reasons'] and of_joint['reasons'] != verdict['reasons']:
            lines.append(f'{joint}: {_judged(of_joint)}')
    lines += [f'{finding.severity}: {finding.sentence()}' for finding in checkup.checks]
    if any(checkup.masked):
        shares = ', '.join(f'{100 * share:.2g} %' for share in checkup.masked)
        lines.append(f'Masked as bad: {shares} of the samples of each recording.')
    return lines


def _judged(verdict: Mapping[str, Any]) -> str:
    """Return the word of a ``verdict`` with its reasons, if it has any."""
    if not verdict['reasons']:
        return verdict['word']
    return f'{verdict["word"]} ({"; ".join(verdict["reasons"])})'


def export(options: Any) -> None:
    """Write a model for a simulator or library; say what it does not hold."""
    path, words = options.out or file_name(options.target), {}
    if options.target == 'usd':
        words['usd'] = options.usd
    elif options.usd:
        raise ConfigError('--usd', expected='--for usd', found=f'--for {options.target}')
    written = load_model(options.model).export(options.target, path, **words)
    show(options, written.to_dict(), repr(written))


def compare(options: Any) -> None:
    """Compare models: parameters with the significance of differences, predictions on one bag."""
    from ..api.tasks import compare as compared
    from ..report.sheets import comparison_sheet

    recording = None
    if options.bag:
        urdf = load_model(options.models[0]).identified.robot['urdf']
        recording = recording_of(options.bag, urdf, log_format(options))
    comparison = compared(options.models, recording, force=options.force)
    files = page(
        options, _in_folder(options.out, 'comparison.html'), lambda: comparison_sheet(comparison)
    )
    show(options, comparison.to_dict(), comparison.to_text(), files)


def _in_folder(folder: str, name: str) -> str:
    """Return the path of a page in a ``folder``, '' without one."""
    if not folder:
        return ''
    return str(Path(folder) / name)


def drift_(options: Any) -> None:
    """Say what changed in the robots of a model over their bags."""
    from ..api.many import drift
    from ..report.sheets import drift_sheet

    with Progress('bags') as progress:
        changes = drift(
            options.model,
            options.bags,
            jobs=options.jobs,
            cache=options.cache,
            scheduler=options.scheduler,
            log_format=log_format(options),
            progress=progress,
        )
    files = page(options, _in_folder(options.out, 'drift.html'), lambda: drift_sheet(changes))
    if options.out:
        files.update(changes.write_tables(options.out))
    show(options, changes.to_dict(), changes.to_text(), files)


def contradiction(many: 'Many') -> list[str]:
    """Return in words that the bags of ``many`` contradict each other, if they do."""
    together = many.model.statistics['training']['filtered']['relative_percent']
    if together < CONTRADICTING * many.alone_percent:
        return []
    return [
        f'The bags contradict each other: relative residual {many.alone_percent:.3g} % with '
        f'an estimate for each, {together:.3g} % with one for all. Was a load, a mounting or '
        'the robot changed? inertial-id drift MODEL BAG... compares them'
    ]


def payload(options: Any) -> None:
    """Weigh the load of an identified arm."""
    from ..api.tasks import model_in
    from ..report.load_data import load_data, load_lines
    from ..report.sheets import payload_sheet

    loaded = [*options.bags, *options.loaded]
    bare_arm_given = options.model or options.empty
    if not loaded or not bare_arm_given:
        raise ConfigError(
            'payload',
            found=f'{options.model or "no model"}, {len(loaded)} '
            f'recordings with the load, {len(options.empty)} without it',
            do='give MODEL BAG, or --empty BAG BAG --loaded BAG BAG',
        )
    urdf = description_in(options.urdf)
    if options.model:
        bare = model_in(options.model)
        urdf = bare.identified.robot['urdf']
    empty = recordings_in(options.empty, urdf, log_format(options))
    if not options.model:
        bare = model_in(api.identify(empty, urdf=urdf))
    load = bare.payload(
        recordings_in(loaded, urdf, log_format(options)),
        empty=empty,
        link=options.link,
        frame=options.frame,
        force=options.force,
    )
    source = options.model or ', '.join(options.empty)
    files = page(options, options.report, lambda: payload_sheet(load, bare.identified, source))
    numbers = {**load.to_dict(), 'load_data': load_data(load)}
    show(options, numbers, '\n'.join([load.to_text(), *load_lines(load)]), files)


def design_(options: Any) -> None:
    """Design an exciting motion."""
    from ..excitation.design import design, load_design
    from ..report.design_files import write_design

    settings = load_design(
        options.config, changed(options, 'mounting', 'model', 'period', 'seconds', 'seed')
    )
    urdf = read_description(options.urdf)
    check_lock(options, urdf)
    beside = str(Path(options.urdf).resolve().parent)  # where its meshes may be
    settings = replace(settings, meshes=(*settings.meshes, beside))
    gravity = gravity_from_mounting(
        settings.mounting or 'upright', magnitude=settings.gravity_magnitude
    )
    robot = robot_from_options(urdf, settings, gravity)
    with Progress('s') as bars:
        result = design(robot, settings, lambda now: _show_search(bars, now))
    paths = [str(p) for p in write_design(result, options.out)]
    summary = result.summary()
    shares = summary['use_of_limits_percent'].items()
    use = ', '.join(f'{limit} {share:.1f} %' for limit, share in shares)
    lines = [*result.words(), f'largest use of limits: {use}', *result.notices, *paths]
    show(options, dict(summary, files=paths), '\n'.join(lines))


def _show_search(bars: Progress, now: Any) -> None:
    """Show on ``bars`` how far the search for a motion is."""
    stage = 'design'
    if now.best:
        stage = f'design, best {now.best:.4g},'
    bars(stage, min(now.seconds, now.budget), now.budget)


def schema_(options: Any) -> None:
    """Print the JSON schema of a configuration file: all methods and the design."""
    from ..excitation.problem import DesignOptions
    from ..identification.settings import DriverOptions
    from ..methods import METHODS
    from ..options import DESIGN, DRIVER, schema

    kinds = {
        **{name: options_class(name) for name in METHODS},
        DESIGN: DesignOptions,
        DRIVER: DriverOptions,
    }
    print(json.dumps(schema(kinds), indent=2))


def completion(options: Any) -> None:
    """Print what a shell needs to complete verbs, options and paths."""
    from .arguments import all_verbs, parser

    try:
        import shtab
    except ModuleNotFoundError:
        raise ConfigError('completions need shtab', do='pip install shtab') from None
    print(shtab.complete(parser(all_verbs()), options.shell))


def _gravity(
    options: Any, recordings: Sequence[Recording], changes: dict[str, Any], urdf: str
) -> dict[str, Any]:
    """Return the direction of gravity estimated from the motion, as plain values."""
    from ..procedures.gravity import identify_gravity

    method, settings = load_options(options.config, options.method, changes, urdf)
    prior: Any = options.identify_gravity
    if prior not in ('nominal', 'none'):
        prior = _direction(prior)
    result = identify_gravity(
        recordings, settings, method=method, urdf=urdf, prior=prior, keep_all=options.keep_all
    )
    return {**result.to_dict(), 'gravity_base': result.gravity_base}


def _direction(words: str) -> list[float]:
    """Return the direction (3,) that ``words`` give, or raise ConfigError."""
    numbers = numbers_in(words)
    if len(numbers) != 3:
        raise ConfigError(
            '--identify-gravity',
            found=repr(words),
            expected='nominal, none, or a direction "X Y Z"',
        )
    return numbers


def _gravity_sentence(gravity: Mapping[str, Any]) -> str:
    direction = ' '.join(f'{x:.4f}' for x in gravity['direction'])
    sign = gravity['sign_evidence']
    sentence = (
        f'gravity points along {direction} within {gravity["standard_error_deg"]:.2f} deg; '
        f'sign decided by {sign["decided_by"]}'
    )
    if sign['ambiguous']:
        sentence += ', AMBIGUOUS'
    return sentence
