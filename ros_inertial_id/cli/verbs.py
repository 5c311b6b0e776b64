"""What the verbs of the command line do: read, call the core, write, print."""

from importlib.util import find_spec
import pathlib
import subprocess
import sys

from tqdm import tqdm

from .console import make_folder, Progress, read_recording, read_text, show, write_text
from ..dynamics.robot_model import gravity_from_mounting, robot_from_options
from ..errors import ConfigError
from ..excitation.design import design, load_design
from ..excitation.design_files import write_design
from ..identification.identified_description import identified_description
from ..identification.identify import identify, validation
from ..identification.model import IdentifiedModel
from ..identification.settings import load_options
from ..measurement.bags.bag import read_bag
from ..measurement.bags.log import import_log
from ..procedures.gravity import identify_gravity
from ..procedures.payload import identify_payload
from ..report import summary, write_report


def import_(options):
    """Turn a log into a bag."""
    joints = options.joints.split(',') if options.joints else None
    import_log(options.log, read_text(options.urdf), options.out, joint_names=joints,
               rate=options.rate, columns=options.columns)
    recording = read_bag(options.out)
    channels = {t: len(c) for t, c in recording.channels.items()}
    show(options, {'bag': str(options.out), 'messages': channels},
         f'{options.out}: ' + ', '.join(f'{n} {t}' for t, n in channels.items()))


def identify_(options):
    """Identify a model; write it, its report and, when asked for, the corrected URDF."""
    names = ('mounting', 'estimator', 'consistent')
    changes = {n: getattr(options, n) for n in names if getattr(options, n) is not None}
    if options.urdf_out:
        changes['consistent'] = True
    method, settings = load_options(options.config, options.method, changes)
    urdf = read_text(options.urdf) if options.urdf else ''
    out = pathlib.Path(options.out)
    bags = [read_recording(bag) for bag in options.bags]
    judges = [read_recording(bag) for bag in options.validate]
    make_folder(out)
    told, files = {}, {'model': out / 'model.yaml', 'report': out / 'report.html'}
    if options.identify_gravity:
        found = identify_gravity(bags, settings, method=method, urdf=urdf,
                                 prior=_prior(options.identify_gravity))
        told['gravity'] = found.to_dict()
        changes['mounting'] = 'gravity {:.17g} {:.17g} {:.17g}'.format(*found.gravity_base)
        method, settings = load_options(options.config, options.method, changes)
    with Progress() as progress:
        result = identify(bags, settings, method=method, urdf=urdf, validate=judges,
                          progress=progress)
    model = result.model
    write_text(files['model'], model.to_yaml())
    write_report(result, files['report'])
    if options.urdf_out:
        files['urdf'] = pathlib.Path(options.urdf_out)
        write_text(files['urdf'], identified_description(model, bags[0], settings, urdf))
    paths = {name: str(path) for name, path in files.items()}
    show(options, dict(_outline(model), **told, **paths),
         '\n'.join([summary(model), *_gravity_words(told), *paths.values()]))


def validate(options):
    """Judge a model on a bag."""
    model = IdentifiedModel.from_yaml(read_text(options.model), options.model)
    with Progress() as progress:
        fit, _ = validation(model, [read_recording(options.bag)], progress=progress)
    lines = []
    for kind, numbers in fit.items():
        joints = '  '.join(f'{n} {r:.4g}' for n, r in numbers['rms'].items())
        lines.append(f"{kind}: {numbers['relative_percent']:.3f} % of the torque, rms "
                     f"{numbers['rms_all']:.4g} over {numbers['samples']} samples ({joints})")
    show(options, {'model': options.model, 'validation': fit}, '\n'.join(lines))


def payload(options):
    """Weigh the load of an identified arm."""
    model = IdentifiedModel.from_yaml(read_text(options.model), options.model)
    bags = [read_recording(bag) for bag in options.bags]
    found = identify_payload(model, bags, link=options.link, frame=options.frame)
    center = ', '.join(f'{x:.4f} +- {e:.4f}' for x, e in
                       zip(found.center_of_mass, found.center_of_mass_error))
    show(options, found.to_dict(), f'{found.link} carries {found.mass:.4f} +- '
         f'{found.mass_error:.4f} kg, centre of mass {center} m in {found.frame}; '
         f'{found.relative_percent:.1f} % of what the bare arm does not explain is left')


def design_(options):
    """Design an exciting motion."""
    changes = {name: getattr(options, name) for name in ('mounting', 'seconds', 'seed')
               if getattr(options, name) is not None}
    settings = load_design(options.config, changes)
    gravity = gravity_from_mounting(settings.mounting or 'upright')
    robot = robot_from_options(read_text(options.urdf), settings, gravity)
    with tqdm(total=round(settings.seconds, 1), disable=None, leave=False, unit='s',
              file=sys.stderr, bar_format='{l_bar}{bar}| {n:.0f}/{total:.0f} s{postfix}') as bar:
        def progress(now):
            bar.update(min(now.seconds, now.budget) - bar.n)
            bar.set_postfix_str(f' best {now.best:.4g}' if now.best else ' searching')

        result = design(robot, settings, progress)
    paths = [str(p) for p in write_design(result, options.out)]
    use = result.summary()['use_of_limits_percent']
    show(options, dict(result.summary(), files=paths), '\n'.join((
        f'{result.criterion} {result.value:.4g}, condition number {result.condition_number:.4g} '
        f'of {len(result.base_names)} base parameters, in {result.seconds:.0f} s',
        'largest use of limits: ' + ', '.join(f'{k} {v:.1f} %' for k, v in use.items()),
        *result.notices, *paths)))


def demo(options):
    """Run the demonstration in a process of its own: it needs ROS, this one does not."""
    command = [sys.executable, '-m', 'ros_inertial_id.demonstration.demo', '--out', options.out,
               '--robot', options.robot, '--rig', options.rig]
    command += ['--json'] if options.json else []
    missing = [name for name in ('mujoco', 'rclpy') if find_spec(name) is None]
    if missing:
        raise ConfigError('the demonstration needs ROS 2 and MuJoCo',
                          found=f'no {", ".join(missing)}', do="pip install '.[ros,sim]'")
    process = subprocess.Popen(command)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue  # the demonstration got the same signal and is ending its processes


def _outline(model):
    """Return what --json promises: the numbers of a model without its description."""
    told = dict(model.statistics)
    if 'consistent' in told:
        found = told['consistent']
        told['consistent'] = {
            'relative_percent': found['training']['filtered']['relative_percent'],
            'unconstrained_relative_percent':
                told['training']['filtered']['relative_percent'],
            **{k: v for k, v in found.items() if k != 'unconstrained_values'}}
    names = ('name', 'expression', 'value', 'standard_error', 'unit', 'determined',
             'relative_percent', 'nominal')
    known = {k: v for k, v in model.mounting.items() if k in ('known', 'missing')}
    return {'method': model.method, **told,
            'base_parameters': [{k: entry[k] for k in names} for entry in model.base],
            'mounting_parameters': known, 'preprocessing': model.preprocessing,
            'mounting': {k: v for k, v in model.mounting.items() if k not in known}}


def _gravity_words(told):
    if 'gravity' not in told:
        return []
    found = told['gravity']
    direction = ' '.join(f'{x:.4f}' for x in found['direction'])
    sign = found['sign_evidence']
    return [f"gravity points along {direction} within {found['standard_error_deg']:.2f} deg; sign "
            f"decided by {sign['decided_by']}" + (', AMBIGUOUS' if sign['ambiguous'] else '')]


def _prior(words):
    if words in ('nominal', 'none'):
        return words
    try:
        x, y, z = (float(word) for word in words.replace(',', ' ').split())
    except ValueError:
        raise ConfigError('--identify-gravity', found=repr(words),
                          expected='nominal, none, or a direction "X Y Z"') from None
    return x, y, z
