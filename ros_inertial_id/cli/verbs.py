"""What the verbs of the command line do: read, call the core, write, print."""

from dataclasses import replace
import json
import pathlib
from typing import Any

from .console import bar, Progress, read_recording, show, written
from .model_files import outline, write_result
from .verbs_checkup import status, validation_verdict, verdict_lines
from ..api.identify import identify
from ..dynamics.robot_model import gravity_from_mounting, robot_from_options
from ..errors import ConfigError, printable, RecordingError
from ..identification.identify import validation
from ..identification.model.files import make_folder, read_description, read_text
from ..identification.model.identified_model import IdentifiedModel
from ..identification.prepare.training_data import seen_before
from ..identification.settings import load_options, options_class
from ..procedures.bag_paths import several
from ..report import write_report


def import_(options: Any) -> None:
    """Turn a log into a bag; say what was understood.  RecordingError where no efforts were."""
    from ..measurement.bags.log import import_log
    joints = options.joints.split(',') if options.joints else None
    recording = import_log(options.log, read_description(options.urdf), options.out,
                           joint_names=joints, rate=options.rate, columns=options.columns)
    channels = {t: len(c) for t, c in recording.channels.items()}
    understood = recording.provenance['columns']
    lines = [f'{options.out}: ' + ', '.join(f'{n} {t}' for t, n in channels.items()),
             *(f'  {what}: {", ".join(names)}' for what, names in understood.items())]
    show(options, {'bag': str(options.out), 'messages': channels, 'columns': understood},
         printable('\n'.join(lines)))
    if not any('effort' in channel.fields for channel in recording.channels.values()):
        raise RecordingError('no efforts were understood in the log',
                             expected='torques or currents, which identification needs',
                             do='name their columns: --columns "tau_*=*_moment"')


def identify_(options: Any) -> int:
    """
    Identify a model; write it, its report and, when asked for, the description identified.

    Returns the exit status.

    options : of the command line
    """
    names = ('mounting', 'estimator', 'consistent')
    changes = {n: getattr(options, n) for n in names if getattr(options, n) is not None}
    if options.urdf_out:
        changes['consistent'] = True
    load_options(options.config, options.method, changes)  # refused before anything is read
    if options.jobs is not None or options.scheduler or several(options.bags):
        from .verbs_many import identify_many_
        return identify_many_(options, changes)
    urdf = read_description(options.urdf) if options.urdf else ''
    bags = [read_recording(bag) for bag in options.bags]
    others = [read_recording(bag) for bag in options.validate]
    make_folder(options.out)
    gravity: dict[str, Any] = {}
    if options.identify_gravity:
        gravity = _gravity(options, bags, changes, urdf)
        changes['mounting'] = 'gravity {:.17g} {:.17g} {:.17g}'.format(*gravity['gravity_base'])
    with Progress() as progress:
        result = identify(bags, validate=others, urdf=urdf, config=options.config,
                          method=options.method, keep_all=options.keep_all, progress=progress,
                          **changes)
    files = write_result(result, options)
    if options.urdf_out:
        files['urdf'] = options.urdf_out
        result.model.to_urdf(options.urdf_out)
    word = result.model.statistics['verdict']['word']
    show(options, {**outline(result.model.identified),
                   **({'gravity': gravity} if gravity else {}), **files},
         '\n'.join([f'Verdict: {word}', result.summary(), *_gravity_words(gravity),
                    *_listed(files.values())]))
    return status(options, word)


def validate(options: Any) -> int:
    """
    Validate a model on a bag; return the exit status.

    options : of the command line
    """
    from ..identification.identify import Identification
    model = IdentifiedModel.from_yaml(read_text(options.model), options.model)
    recording = read_recording(options.bag)
    with Progress() as progress:
        fit, blocks = validation(model, [recording], progress=progress)
    found, checkup = validation_verdict(model, [recording], fit)
    lines, files = verdict_lines(found, checkup), {}
    seen = seen_before(model.provenance.get('recordings', ()), [recording])
    lines += [f'{name} was in the training data: this is no validation.' for name in seen]
    for kind in ('filtered', 'raw'):
        numbers = fit[kind]
        joints = '  '.join(f'{n} {r:.4g}' for n, r in numbers['rms'].items())
        lines.append(f"{kind}: relative residual {numbers['relative_percent']:.3f} %, RMS "
                     f"{numbers['rms_all']:.4g} over {numbers['samples']} samples ({joints})")
    if options.out:
        make_folder(options.out)
        # The page is about these data, checks and verdict included.
        model.statistics.update({'validation': fit, **checkup.to_dict(), 'verdict': found})
        model.statistics.pop('validation_seen', None)
        if seen:
            model.statistics['validation_seen'] = seen
        model.provenance['validation'] = [dict(recording.provenance)]
        files['report'] = str(write_report(Identification(model, (), blocks),
                                           pathlib.Path(options.out) / 'report.html'))
    entry = {**checkup.to_dict(), 'verdict': found, 'validation_seen': seen}
    show(options, {'model': options.model, 'validation': fit, **entry, **files},
         '\n'.join([*lines, *files.values()]))
    return status(options, found['word'])


def compare(options: Any) -> None:
    """
    Compare models: parameters with the significance of differences, predictions on one bag.

    options : of the command line
    """
    from ..report.comparison import compare_models, write_comparison
    if len(options.models) < 2:
        raise ConfigError('compare', found='one model', expected='two models or more')
    models = [IdentifiedModel.from_yaml(read_text(path), path) for path in options.models]
    fits = {}
    if options.bag:
        recording = read_recording(options.bag)
        fits = {path: validation(model, [recording])[0]['filtered']
                for path, model in zip(options.models, models)}
    found = compare_models(options.models, models, fits)
    files = {}
    if options.out:
        make_folder(options.out)
        files['report'] = write_comparison(found, pathlib.Path(options.out) / 'comparison.html',
                                           ['inertial-id', *options.words])
    show(options, {**found.to_dict(), **files}, '\n'.join([found.to_text(), *files.values()]))


def payload(options: Any) -> None:
    """
    Weigh the load of an identified arm.

    options : of the command line
    """
    from ..procedures.payload import identify_payload
    from ..report.sheet import payload_sheet
    model = IdentifiedModel.from_yaml(read_text(options.model), options.model)
    bags = [read_recording(bag) for bag in options.bags]
    result = identify_payload(model, bags, link=options.link, frame=options.frame)
    center = ', '.join(f'{x:.4f} +- {e:.4f}' for x, e in
                       zip(result.center_of_mass, result.center_of_mass_error))
    files = written(options, lambda: payload_sheet(result, options.model))
    show(options, {**result.to_dict(), **files}, '\n'.join([
        f'{result.link} carries {result.mass:.4f} +- {result.mass_error:.4f} kg, centre of mass '
        f'{center} m in {result.frame}; relative residual {result.relative_percent:.1f} % of what '
        'the load adds to the torque', *files.values()]))


def design_(options: Any) -> None:
    """
    Design an exciting motion.

    options : of the command line
    """
    from ..excitation.design import design, load_design
    from ..report.design_files import write_design
    names = ('mounting', 'kind', 'model', 'period', 'seconds', 'seed')
    changes = {name: getattr(options, name) for name in names
               if getattr(options, name) is not None}
    settings = load_design(options.config, changes)
    beside = str(pathlib.Path(options.urdf).resolve().parent)  # where its meshes may be
    settings = replace(settings, meshes=(*settings.meshes, beside))
    gravity = gravity_from_mounting(settings.mounting or 'upright',
                                    magnitude=settings.gravity_magnitude)
    robot = robot_from_options(read_description(options.urdf), settings, gravity)
    with bar(total=round(settings.seconds, 1), unit='s',
             bar_format='{l_bar}{bar}| {n:.0f}/{total:.0f} s{postfix}') as shown:
        def progress(now: Any) -> None:
            shown.update(min(now.seconds, now.budget) - shown.n)
            shown.set_postfix_str(f' best {now.best:.4g}' if now.best else ' searching')

        result = design(robot, settings, progress)
    paths = [str(p) for p in write_design(result, options.out)]
    use = result.summary()['use_of_limits_percent']
    show(options, dict(result.summary(), files=paths), '\n'.join((
        *result.words(),
        'largest use of limits: ' + ', '.join(f'{k} {v:.1f} %' for k, v in use.items()),
        *result.notices, *paths)))


def schema_(options: Any) -> None:
    """
    Print the JSON schema of a configuration file: all methods and the design.

    options : of the command line
    """
    from ..excitation.problem import DesignOptions
    from ..identification.prepare.driver import DriverOptions
    from ..methods import METHODS
    from ..options import DESIGN, DRIVER, schema
    kinds = {**{name: options_class(name) for name in METHODS}, DESIGN: DesignOptions,
             DRIVER: DriverOptions}
    print(json.dumps(schema(kinds), indent=2))


def completion(options: Any) -> None:
    """
    Print what a shell needs to complete verbs, options and paths.

    options : of the command line
    """
    from .arguments import parser
    try:
        import shtab
    except ModuleNotFoundError:
        raise ConfigError('completions need shtab', do='pip install shtab') from None
    print(shtab.complete(parser(), options.shell))


def _gravity(options: Any, bags: Any, changes: dict[str, Any], urdf: str) -> dict[str, Any]:
    """Return the direction of gravity found from the motion, as plain values."""
    from ..procedures.gravity import identify_gravity
    method, settings = load_options(options.config, options.method, changes)
    words = options.identify_gravity
    prior: Any = words
    if words not in ('nominal', 'none'):
        try:
            x, y, z = (float(word) for word in words.replace(',', ' ').split())
        except ValueError:
            raise ConfigError('--identify-gravity', found=repr(words),
                              expected='nominal, none, or a direction "X Y Z"') from None
        prior = x, y, z
    result = identify_gravity(bags, settings, method=method, urdf=urdf, prior=prior)
    return {**result.to_dict(), 'gravity_base': result.gravity_base}


def _gravity_words(gravity: dict[str, Any]) -> list[str]:
    if not gravity:
        return []
    direction = ' '.join(f'{x:.4f}' for x in gravity['direction'])
    sign = gravity['sign_evidence']
    return [f"gravity points along {direction} within {gravity['standard_error_deg']:.2f} deg; "
            f"sign decided by {sign['decided_by']}" + (', AMBIGUOUS' if sign['ambiguous'] else '')]


def _listed(paths: Any) -> list[str]:
    return [p for path in paths for p in ([path] if isinstance(path, str) else path)]
