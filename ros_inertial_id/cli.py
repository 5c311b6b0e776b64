"""
inertial-id: identification on bags, with no ROS graph.

Standard output is for results (one JSON object with --json), standard error for progress and
errors.  Exit status 0 on success, 2 on bad input with one line that says what to do.
"""

import argparse
import json
import logging
import pathlib
import re
import subprocess
import sys

from tqdm import tqdm

from .config import load_design, load_options
from .dynamics.robot_model import gravity_from_mounting, robot_from_options
from .errors import ConfigError, InertialIdError
from .estimation.identified_model import IdentifiedModel, plain
from .excitation.design import design
from .excitation.design_files import write_design
from .identify import identify, validation
from .measurement.bag import read_bag
from .measurement.log import import_log
from .methods import METHODS

WINDOW = re.compile(r'^(?P<path>.+?)(?:@(?P<start>[0-9.]*):(?P<end>[0-9.]*))?$')


def main(arguments=None):
    """Run the command line; return the exit status."""
    logging.basicConfig(level=logging.WARNING, format='%(levelname)s: %(message)s')
    options = _parser().parse_args(arguments)
    try:
        return options.run(options) or 0
    except InertialIdError as error:
        print(f'inertial-id: {error}', file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print('inertial-id: interrupted', file=sys.stderr)
        return 130


def _parser():
    parser = argparse.ArgumentParser(
        prog='inertial-id', description='Identify the inertial parameters of a robot from bags. '
        'A bag may be cut: BAG@START:END, seconds after the first stamp, either may be empty.')
    verbs = parser.add_subparsers(required=True, metavar='VERB')

    verb = _verb(verbs, 'import', _import, 'turn a log (.npz, .csv) into a bag')
    verb.add_argument('log', help='.npz or .csv with time, positions, velocities, torques')
    verb.add_argument('--urdf', required=True, help='robot description, stored in the bag')
    verb.add_argument('--out', required=True, help='bag to write')
    verb.add_argument('--rate', type=float, help='samples per second, for a log without time')
    verb.add_argument('--joints', help='joint names in the order of the columns, with commas')

    verb = _verb(verbs, 'identify', _identify, 'identify a model from bags')
    verb.add_argument('bags', nargs='+', metavar='BAG', help='bag to learn from')
    verb.add_argument('--validate', action='append', default=[], metavar='BAG',
                      help='bag to judge by; may be given several times')
    verb.add_argument('--urdf', help='robot description; default: the one in the bag')
    verb.add_argument('--config', default='', help='YAML with a block of the method\'s name')
    verb.add_argument('--method', default='', choices=['', *METHODS], metavar='METHOD',
                      help=f'one of {", ".join(METHODS)}')
    verb.add_argument('--mounting', help='upright; "rpy R P Y"; "gravity X Y Z"; '
                      '"rho_phi RHO PHI"; imu')
    verb.add_argument('--estimator', help='ridge (default), weighted, ordinary, ...')
    verb.add_argument('--out', required=True, help='folder for model.yaml and report.html')

    verb = _verb(verbs, 'validate', _validate, 'judge a model on a bag')
    verb.add_argument('model', help='model.yaml')
    verb.add_argument('bag', help='bag to judge by')

    verb = _verb(verbs, 'design', _design, 'design a motion that reveals the parameters')
    verb.add_argument('urdf', help='robot description')
    verb.add_argument('--config', default='', help='YAML with a design block')
    verb.add_argument('--mounting', help='as for identify')
    verb.add_argument('--seconds', type=float, help='how long the search may take')
    verb.add_argument('--seed', type=int, help='of the random motions it starts from')
    verb.add_argument('--out', required=True, help='folder for motion.yaml, .csv, .html')

    verb = _verb(verbs, 'demo', _demo, 'run the whole chain on a simulated arm (needs ROS 2)')
    verb.add_argument('--out', default='demo', help='folder for bags, model and report')
    verb.add_argument('--robot', default='franka', help='franka, arm2, arm3')
    return parser


def _verb(verbs, name, run, text):
    verb = verbs.add_parser(name, help=text, description=text)
    verb.set_defaults(run=run)
    verb.add_argument('--json', action='store_true', help='print one JSON object, nothing else')
    return verb


def _import(options):
    joints = options.joints.split(',') if options.joints else None
    import_log(options.log, _text(options.urdf), options.out, joint_names=joints,
               rate=options.rate)
    recording = read_bag(options.out)
    channels = {t: len(c) for t, c in recording.channels.items()}
    _print(options, {'bag': str(options.out), 'messages': channels},
           f'{options.out}: ' + ', '.join(f'{n} {t}' for t, n in channels.items()))


def _identify(options):
    changes = {name: getattr(options, name) for name in ('mounting', 'estimator')
               if getattr(options, name) is not None}
    method, settings = load_options(options.config, options.method, changes)
    urdf = _text(options.urdf) if options.urdf else ''
    out = pathlib.Path(options.out)
    bags = [_read(bag) for bag in options.bags]
    judges = [_read(bag) for bag in options.validate]
    _make_folder(out)
    with Progress() as progress:
        result = identify(bags, settings, method=method, urdf=urdf, validate=judges,
                          progress=progress)
    model = result.model
    (out / 'model.yaml').write_text(model.to_yaml())
    from .report import summary, write_report
    write_report(result, out / 'report.html')
    _print(options, dict(_outline(model), model=str(out / 'model.yaml'),
                         report=str(out / 'report.html')),
           f"{summary(model)}\n{out / 'model.yaml'}\n{out / 'report.html'}")


def _validate(options):
    model = IdentifiedModel.from_yaml(_text(options.model), options.model)
    with Progress() as progress:
        fit, _ = validation(model, [_read(options.bag)], progress=progress)
    lines = []
    for kind, numbers in fit.items():
        joints = '  '.join(f'{n} {r:.4g}' for n, r in numbers['rms'].items())
        lines.append(f"{kind}: {numbers['relative_percent']:.3f} % of the torque, rms "
                     f"{numbers['rms_all']:.4g} over {numbers['samples']} samples ({joints})")
    _print(options, {'model': options.model, 'validation': fit}, '\n'.join(lines))


def _design(options):
    changes = {name: getattr(options, name) for name in ('mounting', 'seconds', 'seed')
               if getattr(options, name) is not None}
    settings = load_design(options.config, changes)
    gravity = gravity_from_mounting(settings.mounting or 'upright')
    robot = robot_from_options(_text(options.urdf), settings, gravity)
    with tqdm(total=round(settings.seconds, 1), disable=None, leave=False, unit='s',
              file=sys.stderr, bar_format='{l_bar}{bar}| {n:.0f}/{total:.0f} s{postfix}') as bar:
        def progress(now):
            bar.update(min(now.seconds, now.budget) - bar.n)
            bar.set_postfix_str(f' best {now.best:.4g}' if now.best else ' searching')

        result = design(robot, settings, progress)
    paths = write_design(result, options.out)
    use = result.summary()['use_of_limits_percent']
    _print(options, dict(result.summary(), files=[str(p) for p in paths]), '\n'.join((
        f'{result.criterion} {result.value:.4g}, condition number {result.condition_number:.4g} '
        f'of {len(result.base_names)} base parameters, in {result.seconds:.0f} s',
        'largest use of limits: ' + ', '.join(f'{k} {v:.1f} %' for k, v in use.items()),
        *result.notices, *map(str, paths))))


def _demo(options):
    command = [sys.executable, '-m', 'ros_inertial_id.nodes.demo', '--out', options.out,
               '--robot', options.robot] + (['--json'] if options.json else [])
    process = subprocess.Popen(command)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue  # the demo got the same signal and is ending its processes


def _outline(model):
    """Return what --json promises: the numbers of a model without its description."""
    statistics = model.statistics
    names = ('name', 'expression', 'value', 'standard_error', 'unit', 'determined',
             'relative_percent', 'nominal')
    return {'method': model.method, **statistics,
            'base_parameters': [{k: entry[k] for k in names} for entry in model.base],
            'preprocessing': model.preprocessing, 'mounting': model.mounting}


def _read(argument):
    """Return the Recording of BAG or BAG@START:END."""
    parts = WINDOW.match(argument)
    path, start, end = parts['path'], parts['start'], parts['end']
    if start is None and not pathlib.Path(path).exists() and '@' in path:
        raise ConfigError(f'the window of {argument}', expected='BAG@START:END in seconds')
    recording = read_bag(path)
    if start or end:
        recording = recording.window(float(start) if start else None, float(end) if end else None)
    return recording


def _text(path):
    try:
        return pathlib.Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f'{path} cannot be read',
                          found=getattr(error, 'strerror', None) or 'no text') from None


def _make_folder(path):
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f'folder {path} cannot be made', found=error.strerror) from None


def _print(options, data, text):
    print(json.dumps(plain(data)) if options.json else text)


class Progress:
    """A bar on standard error, one per stage, only where somebody watches."""

    def __init__(self):
        self._bar, self._stage = None, ''

    def __enter__(self):
        return self

    def __call__(self, stage, done, total):
        if stage != self._stage:
            self.__exit__()
            self._bar = tqdm(total=total, desc=stage, disable=None, leave=False, unit='sample',
                             file=sys.stderr)
            self._stage = stage
        self._bar.update(done - self._bar.n)

    def __exit__(self, *_):
        if self._bar is not None:
            self._bar.close()
