"""What the verbs of the command line do: read, call the core, write, print."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TYPE_CHECKING

from .console import changed, identified, page, Progress, show, status
from ..api import identify as api
from ..api.model import load_model
from ..api.recordings import recording_of
from ..api.recordings import several as recordings_in
from ..checks.check import check
from ..checks.checked import residual_verdict
from ..checks.finding import Checkup, DO_NOT_USE, VALIDATION
from ..dynamics.robot_model import gravity_from_mounting, robot_from_options
from ..errors import ConfigError, printable, RecordingError
from ..identification.files import make_folder, read_description
from ..identification.identified_model import IdentifiedModel
from ..identification.identify import Identification, validation
from ..identification.judge.prediction import predict, with_prediction
from ..identification.prepare.dataset import seen_before
from ..identification.settings import load_options, options_class, prediction_options
from ..measurement.recording import Recording
from ..procedures.bag_paths import several
from ..report import write_report

if TYPE_CHECKING:
    from ..procedures.many_recordings import Many

CONTRADICTING = 2.0  # times the residual of each alone; short bags of one robot leave 1.5 times


def import_(options: Any) -> None:
    """Turn a log into a bag; say what was understood.  RecordingError where no efforts were."""
    from ..measurement.bags.log import read_log
    from ..measurement.bags.writing import write_recording

    joints = options.joints.split(',') if options.joints else None
    recording = read_log(
        options.log,
        read_description(options.urdf),
        joint_names=joints,
        rate=options.rate,
        columns=options.columns,
    )
    write_recording(options.out, recording)
    channels = {t: len(c) for t, c in recording.channels.items()}
    understood = recording.provenance['columns']
    lines = [
        f'{options.out}: ' + ', '.join(f'{n} {t}' for t, n in channels.items()),
        *(f'  {what}: {", ".join(names)}' for what, names in understood.items()),
    ]
    show(
        options,
        {'bag': str(options.out), 'messages': channels, 'columns': understood},
        printable('\n'.join(lines)),
    )
    if '/joint_states' in channels and not any(
        'effort' in channel.fields for channel in recording.channels.values()
    ):
        raise RecordingError(
            'no efforts were understood in the log',
            expected='torques or currents, which identification needs',
            do='name their columns: --columns "tau_*=*_moment"',
        )


def identify_(options: Any) -> int:
    """Identify a model; write it, its report and the description; return the exit status."""
    changes = changed(options, 'mounting', 'estimator', 'consistent')
    if options.urdf_out:
        changes['consistent'] = True
    urdf = read_description(options.urdf) if options.urdf else ''
    load_options(options.config, options.method, changes, urdf)  # refused before bags are read
    if options.jobs is not None or options.scheduler or several(options.bags):
        return _identify_many(options, changes, urdf)
    recordings, others = (recordings_in(bags, urdf) for bags in (options.bags, options.validate))
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
    return identified(
        options, result, {'gravity': gravity} if gravity else {}, _gravity_words(gravity)
    )


def _identify_many(options: Any, changes: dict[str, Any], urdf: str) -> int:
    """Identify from many bags, with ``changes`` of options; return the exit status."""
    from ..api.many import identify_many

    if options.identify_gravity:
        raise ConfigError(
            '--identify-gravity',
            found='many recordings',
            do='find gravity from one bag, and give the --mounting',
        )
    others = recordings_in(options.validate, urdf)
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
    urdf = read_description(options.urdf) if options.urdf else ''
    recordings = recordings_in(options.bags, urdf)
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

    files = page(options, options.report, lambda: checkup_sheet(found, options.bags, recordings))
    show(options, found.to_dict(), found.text(), files)
    return status(options, found.verdict.word)


def validate(options: Any) -> int:
    """Validate a model on a bag; return the exit status."""
    model = load_model(options.model).identified
    recording = recording_of(options.bag, model.robot['urdf'])
    with Progress() as progress:
        fit, blocks = validation(model, [recording], progress=progress)
    verdict, checkup = validation_verdict(model, [recording], fit)
    lines, files = _verdict_lines(verdict, checkup), {}
    seen = seen_before(model.provenance.get('recordings', ()), [recording])
    lines += [f'{name} was in the training data: this is no validation.' for name in seen]
    own = model.statistics.get('verdict') or {}
    if own.get('word') == DO_NOT_USE:
        lines.append(
            f'The verdict on this model when it was identified: {DO_NOT_USE} '
            f'({"; ".join(own["reasons"])}).'
        )
    for kind in ('filtered', 'raw'):
        numbers = fit[kind]
        joints = '  '.join(f'{n} {r:.4g}' for n, r in numbers['rms'].items())
        lines.append(
            f'{kind}: relative residual {numbers["relative_percent"]:.3f} %, RMS '
            f'{numbers["rms_all"]:.4g} over {numbers["samples"]} samples ({joints})'
        )
    if options.out_bag:
        files['bag'] = _written_bag(
            options.out_bag, with_prediction(recording, predict(model, recording))
        )
    if options.out:
        make_folder(options.out)
        # The page is about these data, checks and verdict included.
        model.statistics.update({'validation': fit, **checkup.to_dict(), 'verdict': verdict})
        model.statistics.pop('validation_seen', None)
        if seen:
            model.statistics['validation_seen'] = seen
        model.provenance['validation'] = [dict(recording.provenance)]
        files['report'] = str(
            write_report(
                Identification(model, (), blocks), Path(options.out) / 'report.html', options.model
            )
        )
    show(
        options,
        {
            'model': options.model,
            'validation': fit,
            **checkup.to_dict(),
            'verdict': verdict,
            'validation_seen': seen,
        },
        '\n'.join(lines),
        files,
    )
    return status(options, verdict['word'])


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


def validation_verdict(
    model: IdentifiedModel, recordings: Sequence[Recording], fit: Mapping[str, Any]
) -> tuple[dict[str, Any], Checkup]:
    """Return (verdict, Checkup) of a ``model`` on recordings; ``fit`` : of ``validation``."""
    checkup = check(
        recordings,
        prediction_options(model),
        method=model.method,
        urdf=model.robot['urdf'],
        model=model,
    )
    outside = {joint: rms['outside'] for joint, rms in fit['outside'].get('rms', {}).items()}
    return residual_verdict(fit['filtered'], VALIDATION, checkup, outside), checkup


def _verdict_lines(verdict: Mapping[str, Any], checkup: Checkup) -> list[str]:
    """Return a ``verdict`` and the findings of a ``checkup`` as lines, the verdict first."""
    reasons = '; '.join(verdict['reasons'])
    lines = [f'Verdict: {verdict["word"]}' + (f' ({reasons}).' if reasons else '.')]
    lines += [
        f'{joint}: {own["word"]} ({"; ".join(own["reasons"])})'
        for joint, own in verdict['joints'].items()
        if own['reasons'] and own['reasons'] != verdict['reasons']
    ]
    lines += [f'{f.severity}: {f.sentence()}' for f in checkup.checks]
    if any(checkup.masked):
        shares = ', '.join(f'{100 * share:.2g} %' for share in checkup.masked)
        lines.append(f'Masked as bad: {shares} of the samples of each recording.')
    return lines


def compare(options: Any) -> None:
    """Compare models: parameters with the significance of differences, predictions on one bag."""
    from ..api.tasks import compare as compared
    from ..report.sheets import comparison_sheet

    found = compared(options.models, options.bag or None)
    files = page(
        options,
        options.out and Path(options.out) / 'comparison.html',
        lambda: comparison_sheet(found),
    )
    show(options, found.to_dict(), found.to_text(), files)


def drift_(options: Any) -> None:
    """Say what changed in the robots of a model over their bags."""
    from ..api.many import drift
    from ..report.sheets import drift_sheet

    with Progress('bags') as progress:
        found = drift(
            options.model,
            options.bags,
            jobs=options.jobs,
            cache=options.cache,
            scheduler=options.scheduler,
            progress=progress,
        )
    files = page(
        options, options.out and Path(options.out) / 'drift.html', lambda: drift_sheet(found)
    )
    if options.out:
        files.update(found.write_tables(options.out))
    show(options, found.to_dict(), found.to_text(), files)


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
    if not loaded or not (options.model or options.empty):
        raise ConfigError(
            'payload',
            found=f'{options.model or "no model"}, {len(loaded)} '
            f'recordings with the load, {len(options.empty)} without it',
            do='give MODEL BAG, or --empty BAG BAG --loaded BAG BAG',
        )
    urdf = read_description(options.urdf) if options.urdf else ''
    empty = recordings_in(options.empty, urdf)
    bare = model_in(options.model or api.identify(empty, urdf=urdf))
    result = bare.payload(loaded, empty=empty, link=options.link, frame=options.frame)
    files = page(
        options,
        options.report,
        lambda: payload_sheet(result, bare.identified, options.model or ', '.join(options.empty)),
    )
    show(
        options,
        {**result.to_dict(), 'load_data': load_data(result)},
        '\n'.join([result.to_text(), *load_lines(result)]),
        files,
    )


def design_(options: Any) -> None:
    """Design an exciting motion."""
    from ..excitation.design import design, load_design
    from ..report.design_files import write_design

    settings = load_design(
        options.config, changed(options, 'mounting', 'model', 'period', 'seconds', 'seed')
    )
    urdf = read_description(options.urdf)
    beside = str(Path(options.urdf).resolve().parent)  # where its meshes may be
    settings = replace(settings, meshes=(*settings.meshes, beside))
    gravity = gravity_from_mounting(
        settings.mounting or 'upright', magnitude=settings.gravity_magnitude
    )
    robot = robot_from_options(urdf, settings, gravity)
    with Progress('s') as bars:

        def progress(now: Any) -> None:
            bars(
                f'design, best {now.best:.4g},' if now.best else 'design',
                min(now.seconds, now.budget),
                now.budget,
            )

        result = design(robot, settings, progress)
    paths = [str(p) for p in write_design(result, options.out)]
    use = result.summary()['use_of_limits_percent']
    show(
        options,
        dict(result.summary(), files=paths),
        '\n'.join(
            (
                *result.words(),
                'largest use of limits: ' + ', '.join(f'{k} {v:.1f} %' for k, v in use.items()),
                *result.notices,
                *paths,
            )
        ),
    )


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
        try:
            x, y, z = (float(word) for word in prior.replace(',', ' ').split())
        except ValueError:
            raise ConfigError(
                '--identify-gravity',
                found=repr(prior),
                expected='nominal, none, or a direction "X Y Z"',
            ) from None
        prior = x, y, z
    result = identify_gravity(recordings, settings, method=method, urdf=urdf, prior=prior)
    return {**result.to_dict(), 'gravity_base': result.gravity_base}


def _gravity_words(gravity: dict[str, Any]) -> list[str]:
    if not gravity:
        return []
    direction = ' '.join(f'{x:.4f}' for x in gravity['direction'])
    sign = gravity['sign_evidence']
    return [
        f'gravity points along {direction} within {gravity["standard_error_deg"]:.2f} deg; '
        f'sign decided by {sign["decided_by"]}' + (', AMBIGUOUS' if sign['ambiguous'] else '')
    ]
