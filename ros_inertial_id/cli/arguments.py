"""
Arguments: which verbs there are, what each understands, and what to say of a mistyped one.

A verb is one entry of ``VERBS``, or of a mapping that a package registers in VERBS_GROUP (see
plugins.py): its function is named as text and imported when the verb runs, so this module needs
the standard library alone.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
import re
import textwrap
from typing import Any, NoReturn

from .. import __version__
from ..errors import ConfigError
from ..plugins import METHODS_GROUP, missing, Plugins, registered, RIGS_GROUP, VERBS_GROUP
from ..share import config_file

ABOUT = (
    'Identify the inertial parameters of a robot from bags or logs, which may be cut: '
    'BAG@START:END, seconds after the first stamp, either may be empty.'
)
LOAD = (
    '"MASS X Y Z" of a point, "MASS X Y Z A B C" of a block with edges A B C [m] along the '
    'axes, or ten standard parameters'
)
Argument = tuple[str, Mapping[str, Any]]


def argument(name: str, words: str, **keywords: Any) -> Argument:
    """Return an argument: its ``name``, ``words`` for its help, ``keywords`` of argparse."""
    return name, {'help': words, **keywords}


def several(name: str, words: str, **keywords: Any) -> Argument:
    """Return an option that may be given several times, see ``argument``."""
    return argument(
        name, f'{words}; may be given several times', action='append', default=[], **keywords
    )


def config(block: str) -> Argument:
    """Return the option of a configuration, of which a verb reads a ``block``."""
    return argument(
        '--config',
        f'YAML with a block {block}, or a name in config/ of the package',
        default='',
        type=config_file,
    )


def bags(words: str) -> Argument:
    """Return the bags of a verb, ``words`` : what they are."""
    return argument('bags', words, nargs='+', metavar='BAG')


URDF = argument(
    '--urdf',
    'robot description: URDF, xacro, MJCF or the YAML of a mechanism; default: the one in the bag',
)
MODEL = argument('model', 'model.yaml, or the folder of a result')
MOUNTING = argument(
    '--mounting',
    'how the base is mounted: upright; "rpy R P Y" [rad]; "gravity '
    'X Y Z"; "rho_phi RHO PHI"; imu; default: as the bag says',
)
LOCK = argument(
    '--lock',
    'joints that are locked or held still, with commas; patterns as "*finger*"',
    metavar='JOINTS',
)
LINKS = argument(
    '--links',
    'links taken as described: the drives alone are identified; described for all of them, or '
    'names with commas, patterns as "*calf"',
    metavar='LINKS',
)
DRIVE = argument(
    '--drive',
    'measured drives of the library as priors of friction and rotors, with commas: NAME, or '
    'NAME:JOINTS, patterns as "go2_calf:*calf*"',
    metavar='DRIVES',
)
STRICT = argument(
    '--strict', 'exit with status 3 when the verdict is "do not use"', action='store_true'
)
FORCE = argument(
    '--force',
    'compute also from what the checks refuse; the reason is printed beside it',
    action='store_true',
)
WHOLE_FILES = ('mujoco', 'isaaclab', 'newton', 'gazebo', 'urdf', 'drake', 'pinocchio')
TARGETS = (*WHOLE_FILES, 'usd')  # which is a layer over a file that is given
FOR = several(
    '--for',
    'write the robot for a simulator into the folder, too, as the verb export does',
    choices=WHOLE_FILES,
    dest='targets',
    metavar='TARGET',
)
REPORT = argument('--report', 'HTML page to write; default: none', default='', metavar='FILE')
EMPTY = argument(
    '--empty',
    'recordings without a load',
    action='extend',
    nargs='+',
    default=[],
    metavar='BAG',
)
LINK = argument('--link', 'that carries the load; default: the last', default='')
LOG = (
    argument(
        '--columns',
        'of a log, what columns of other names are, * for the joint: '
        '"q_*=*_angle tau_*=*_moment"; or all columns without a header line: '
        '"time q1..q6 v1..v6 - tau1..tau6"; of several files with ; between',
        default='',
    ),
    argument('--rate', 'samples per second, for a log without time', type=float),
    argument('--joints', 'of a log, joint names in the order of the columns, with commas'),
)
MANY = (
    argument(
        '--scheduler',
        'Dask scheduler that accumulates many bags, instead of --jobs',
        default='',
        metavar='ADDRESS',
    ),
    argument(
        '--cache',
        'folder of the R factors of many bags; default: in the cache of the user',
        default='',
    ),
)


def out(words: str, default: str = '') -> Argument:
    """Return the option --out, ``words`` : what is written there, or by ``default``."""
    return argument('--out', f'{words}; default: {default or "none"}', default=default)


def jobs(default: int | None) -> Argument:
    """Return how many processes accumulate many bags, ``default`` if none are given."""
    return argument(
        '--jobs',
        'processes that accumulate many bags, each kept as R factors',
        type=int,
        default=default,
    )


def method(listed: bool) -> Argument:
    """Return the option --method, with all that are registered ``listed`` in its help or not."""
    names = ['serial_arm (default)']
    if listed:
        names += sorted(registered(METHODS_GROUP).keys() - {'serial_arm'})
    return argument('--method', ', '.join(names), default='', metavar='METHOD')


def rig(_: bool) -> Argument:
    """Return the option --rig."""
    rigs = tuple(registered(RIGS_GROUP))
    return argument(
        '--rig', f'instead of an arm: {", ".join(rigs)}', default='', choices=['', *rigs]
    )


def loaded(frame: str) -> Argument:
    """Return the recordings with a known load, given in a ``frame`` in words."""
    return several(
        '--loaded',
        f'recording with a known load, {LOAD}, {frame}',
        nargs=2,
        metavar=('BAG', 'LOAD'),
    )


@dataclass(frozen=True)
class Verb:
    """
    One verb of the command line.

    group : heading it stands under; text : what it does; example : words after its name
    run : ``module:function``, ``.module`` of this room
    arguments : in their order; those that packages add to are made with the parser
    prints_json : whether what it prints is its result with --json
    """

    group: str
    text: str
    example: str
    run: str
    arguments: Sequence[Argument | Callable[[bool], Argument]] = ()
    prints_json: bool = True


RECORD, IDENTIFY, DRIVES, MORE = ('motions and logs', 'identification', 'rigs and drives', 'more')
VERBS = {
    'design': Verb(
        RECORD,
        'design a motion that excites the parameters',
        'robot.urdf --config franka --out motion',
        '.verbs:design_',
        (
            argument('urdf', 'robot description'),
            config('design'),
            MOUNTING,
            LOCK,
            argument(
                '--model',
                'model.yaml of a first identification: a motion for what is not '
                'significant yet; --period makes it short',
            ),
            argument('--period', 'duration of the motion [s]', type=float),
            argument('--seconds', 'how long the search may take', type=float),
            argument('--seed', 'of the random motions it starts from', type=int),
            out('folder for motion.yaml, .csv, .html', 'motion'),
        ),
    ),
    'import': Verb(
        RECORD,
        'turn a log (.csv, .parquet, .hdf5, .jsonl, .mat, .npz) into a bag',
        'log.csv --urdf robot.urdf --out bag',
        '.verbs:import_',
        (
            argument(
                'log',
                '.csv, .txt, .parquet, .hdf5, .jsonl, .mat or .npz: time, positions, '
                'velocities, torques; several files that hold them together',
                nargs='+',
            ),
            argument('--urdf', 'robot description, stored in the bag', required=True),
            out('bag to write', 'bag'),
            *LOG,
        ),
    ),
    'audit': Verb(
        RECORD,
        'say what is wrong with a robot description, without a recording',
        'robot.urdf --page audit.html',
        '.verbs_audit:audit_',
        (
            argument('urdf', 'robot description: URDF, xacro, MJCF or SDF'),
            argument('--mass', 'of the robot on scales or in its data sheet [kg]', type=float),
            argument('--page', 'HTML page to write; default: none', default='', metavar='FILE'),
            argument(
                '--fix',
                'URDF or MJCF to write, with plausible inertias for wrong ones; default: none',
                default='',
                metavar='FILE',
            ),
            argument('--no-meshes', 'read no meshes: the joints say sizes', action='store_true'),
        ),
    ),
    'check': Verb(
        RECORD,
        'say what is wrong with recordings, and what they are worth',
        'bag --urdf robot.urdf',
        '.verbs:check_',
        (
            bags('recording to examine'),
            URDF,
            *LOG,
            config('named as the method'),
            method,
            MOUNTING,
            LOCK,
            STRICT,
            REPORT,
        ),
    ),
    'identify': Verb(
        IDENTIFY,
        'identify a model from bags',
        'bag --validate other_bag --out result',
        '.verbs:identify_',
        (
            bags('bag to identify from; a folder or pattern (in quotes) of many'),
            several('--validate', 'bag to validate on', metavar='BAG'),
            URDF,
            *LOG,
            MOUNTING,
            argument(
                '--identify-gravity',
                'estimate the direction of gravity from the motion and '
                "use it; its sign is decided by the URDF's inertias (nominal, default), by a "
                'direction "X Y Z", or by nothing (none)',
                nargs='?',
                const='nominal',
                metavar='PRIOR',
            ),
            config('named as the method'),
            method,
            argument('--estimator', 'ridge (default), weighted, ordinary'),
            argument(
                '--consistent',
                'physically consistent links (positive definite pseudo-inertia): full parameters',
                action='store_const',
                const=True,
            ),
            LOCK,
            LINKS,
            DRIVE,
            argument(
                '--urdf-out',
                'write the description with the identified inertias there: a '
                'URDF, or the YAML of a rig (with --consistent)',
            ),
            FOR,
            out('folder for model.yaml and report.html', 'result'),
            argument(
                '--keep-all',
                'use also the samples that the checks would mask',
                action='store_true',
            ),
            STRICT,
            argument('--no-report', 'write no report.html', action='store_true'),
            jobs(None),
            *MANY,
        ),
    ),
    'validate': Verb(
        IDENTIFY,
        'validate a model on a bag',
        'result bag',
        '.verbs:validate',
        (
            MODEL,
            argument('bag', 'bag to validate on'),
            *LOG,
            argument(
                '--replay',
                'replay its commands (or torques) in MuJoCo, restarted every 2 s: drift after '
                '0.1, 0.5 and 2 s, beside that of the description',
                action='store_true',
            ),
            STRICT,
            FORCE,
            out('folder for report.html'),
            argument(
                '--out-bag',
                'bag, or .mcap, to write: the recording, predicted torques, their '
                'band, the residual, on topics as of the node torque_prediction; default: none',
                default='',
            ),
        ),
    ),
    'export': Verb(
        IDENTIFY,
        'write a model for a simulator or library, by the laws that it holds',
        'result --for mujoco --out robot.xml',
        '.verbs:export',
        (
            MODEL,
            argument('--for', 'what reads it', required=True, choices=TARGETS, dest='target'),
            argument('--out', 'file to write; default: named as the target', default=''),
            argument(
                '--usd',
                'of the robot, which --for usd writes a layer over',
                default='',
                metavar='FILE',
            ),
        ),
    ),
    'compare': Verb(
        IDENTIFY,
        'compare models: parameters, predictions, friction over time',
        'monday/model.yaml friday/model.yaml --bag bag',
        '.verbs:compare',
        (
            argument('models', 'model.yaml, two or more', nargs='+', metavar='MODEL'),
            argument('--bag', 'bag on which all of them predict', default=''),
            *LOG,
            FORCE,
            out('folder for comparison.html'),
        ),
    ),
    'drift': Verb(
        IDENTIFY,
        'say what changed from day to day: friction, load, gravity',
        'result/model.yaml bags_of_a_year --jobs 4',
        '.verbs:drift_',
        (
            argument('model', 'model.yaml of this kind of robot'),
            bags(
                'bags of several days, or a folder of them; those in one folder are of one robot'
            ),
            jobs(1),
            *MANY,
            *LOG,
            out('folder for drift.html and tables (CSV)'),
        ),
    ),
    'payload': Verb(
        IDENTIFY,
        'weigh what an identified arm carries',
        'result/model.yaml loaded_bag',
        '.verbs:payload',
        (
            argument(
                'model',
                'model.yaml of the bare arm; default: identified from --empty',
                nargs='?',
                default='',
            ),
            argument('bags', 'recording with the load', nargs='*', metavar='BAG'),
            argument(
                '--empty',
                'recordings of the same motion without the load: friction cancels;'
                ' best recorded in the order loaded, empty, empty, loaded',
                nargs='+',
                metavar='BAG',
                default=[],
            ),
            argument(
                '--loaded',
                'recordings with the load, as BAG',
                nargs='+',
                metavar='BAG',
                default=[],
            ),
            URDF,
            *LOG,
            LINK,
            argument('--frame', 'link in whose frame the numbers are given', default=''),
            FORCE,
            REPORT,
        ),
    ),
    'drive-gains': Verb(
        DRIVES,
        'find what effort is worth in torque, by a known load or gain',
        '--empty bag5 --loaded bag6 "2 0 0 0.1"',
        '.verbs_drives:drive_gains',
        (
            EMPTY,
            loaded(
                'in the joint frame of the link that carries it, or "MASS" alone: the '
                'rest is estimated'
            ),
            several('--gain', 'torque per effort that is known', metavar='JOINT=GAIN'),
            LINK,
            URDF,
            *LOG,
            config('named as the method'),
            argument(
                '--method',
                'serial_arm or closed_loop',
                default='',
                metavar='METHOD',
                choices=['', 'serial_arm', 'closed_loop'],
            ),
            MOUNTING,
            LOCK,
            FORCE,
        ),
    ),
    'demo': Verb(
        MORE,
        'run the whole chain on a simulated robot (needs ROS 2)',
        '--robot arm2',
        '.verbs_nodes:demo',
        (
            argument('--out', 'folder for bags, model and report', default='demo'),
            argument('--robot', 'franka, arm2, arm3', default='franka'),
            rig,
            argument('--seconds', 'of the recordings of a rig', type=float),
        ),
    ),
    'watch': Verb(
        MORE,
        'show a page in the browser while the robot moves (needs ROS 2)',
        '--port 8321',
        '.verbs_nodes:watch',
        (
            argument(
                '--port',
                'of the page, on this machine alone; default: 8321',
                type=int,
                default=8321,
            ),
            argument('--namespace', 'of the nodes, for example /lbr', default=''),
        ),
        False,
    ),
    'open': Verb(
        MORE,
        'show the page of a result in the browser',
        'result',
        '.verbs_nodes:open_',
        (argument('result', 'folder of a result, or a page'),),
        False,
    ),
    'schema': Verb(
        MORE,
        'print the JSON schema of configuration files',
        '> schema.json',
        '.verbs:schema_',
        prints_json=False,
    ),
    'completion': Verb(
        MORE,
        'print completions for a shell: eval "$(inertial-id completion bash)"',
        'bash',
        '.verbs:completion',
        (argument('shell', 'to complete in', choices=('bash', 'zsh', 'tcsh', 'fish')),),
        False,
    ),
}


OPTION = re.compile('--?[A-Za-z]')  # no negative number
OF_RECORDINGS = {'--empty', '--held'}  # one in verbs that take no recording without an option
# What others name the part of a recording by; here its path does.
OF_COMMAS = ('--lock', '--links', '--drive')  # one word that is a list
OF_A_PART = ('--duration', '--length', '--time', '--start', '--end', '--window')


class Parser(argparse.ArgumentParser):
    """A parser of exact option names that raises ConfigError, with the nearest option named."""

    def __init__(self, **keywords: Any) -> None:
        self._typed: list[str] = []
        super().__init__(**{**keywords, 'allow_abbrev': False})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return (namespace, []) of the words ``args``; what is not an option is an error."""
        self._typed = list(args)
        options, more = super().parse_known_args(args, namespace)
        only_words = not any(word.startswith('-') for word in more)
        if only_words and getattr(options, 'bags', None) == []:
            options.bags, more = more, []  # behind an option, where argparse looks for none now
        by_option = OF_RECORDINGS & self._option_string_actions.keys()
        if only_words and more and by_option:
            raise ConfigError(
                f'{self._verb}: {" ".join(more)} is behind no option',
                do=f'give a recording by {min(by_option)}',
            )
        if more:
            self._refuse(more)
        return options, more

    def _refuse(self, more: Sequence[str]) -> NoReturn:
        """Raise ConfigError for words that nothing takes; those behind a list belong to it."""
        *_, option, first = ['', '', *self._typed[: self._typed.index(more[0])]]
        if option not in OF_COMMAS:
            self.error(f'unrecognized: {" ".join(more)}')
        raise ConfigError(
            f'{self._verb}: {" ".join(more)} is behind no option',
            do=f'{option} takes one list, with commas: {option} {",".join([first, *more])}',
        )

    @property
    def _verb(self) -> str:
        return self.prog.removeprefix('inertial-id ')

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise ConfigError with the nearest choice where a ``value`` is none of an option's."""
        if not action.choices or value in action.choices:
            return
        from ..options import nearest

        name = '/'.join(action.option_strings) or action.dest
        raise ConfigError(
            f'{self._verb}: {name}: invalid choice {value!r}',
            exists=tuple(action.choices),
            do=nearest(value, action.choices),
        )

    def error(self, message: str) -> NoReturn:
        """Raise ConfigError with a ``message``, or with the option that was mistyped."""
        verb, exists = self._verb, self._option_string_actions
        typed = [word.split('=')[0] for word in self._typed if OPTION.match(word)]
        strange = [name for name in typed if name not in exists]
        if strange:
            raise ConfigError(
                f'{verb}: there is no option {strange[0]}',
                do=self._advice(strange[0]) or f'see {self.prog} --help',
            )
        raise ConfigError(f'{verb}: {message}', do=f'see {self.prog} --help')

    def _advice(self, strange: str) -> str | None:
        """Return what to do instead of an option that is ``strange``, None where that is open."""
        from ..options import nearest

        exists = self._option_string_actions
        reads_recordings = '--rate' in exists or '--columns' in exists
        if strange in OF_A_PART and reads_recordings:
            return 'cut the recording: BAG@START:END [s]'
        return nearest(strange, exists)


class Overview(Parser):
    """The parser of ``verbs``: its help lists them in their groups, with an example each."""

    def __init__(self, verbs: Mapping[str, Verb], **keywords: Any) -> None:
        self._verbs = verbs
        super().__init__(**keywords)

    def format_help(self) -> str:
        """Return the help."""
        lines = [
            'usage: inertial-id VERB ...   (inertial-id help VERB says all about one)',
            '',
            *textwrap.wrap(ABOUT, 79),
            '',
        ]
        groups: dict[str, list[str]] = {}
        for name, verb in self._verbs.items():
            groups.setdefault(verb.group, []).extend(
                [
                    f'  {name:<12} {verb.text}',
                    f'{"":15}inertial-id {name} {verb.example}',
                ]
            )
        for group, described in groups.items():
            lines += [f'{group}:', *described, '']
        return '\n'.join([*lines, 'options: --help, --version', ''])


def all_verbs() -> dict[str, Verb]:
    """Return {name: Verb} of this package and of all that register theirs, in their groups."""
    every = dict(VERBS)
    for verbs in Plugins[Mapping[str, Verb]](VERBS_GROUP, 'verbs').values():
        every = {**verbs, **every}  # nobody replaces a verb of this package
    groups = list(dict.fromkeys(verb.group for verb in [*VERBS.values(), *every.values()]))
    return dict(sorted(every.items(), key=lambda item: groups.index(item[1].group)))


def parser(verbs: Mapping[str, Verb], listed: bool = True) -> Parser:
    """Return the parser of a command line with these ``verbs``; ``listed`` : see ``method``."""
    program = Overview(verbs, prog='inertial-id')
    program.add_argument('--version', action='version', version=f'inertial-id {__version__}')
    parsers = program.add_subparsers(metavar='VERB', parser_class=Parser)
    for name, verb in verbs.items():
        of_verb = parsers.add_parser(
            name,
            help=verb.text,
            description=verb.text,
            epilog=f'example: inertial-id {name} {verb.example}',
        )
        _add_arguments(of_verb, name, verb, listed)
    return program


def _add_arguments(of_verb: argparse.ArgumentParser, name: str, verb: Verb, listed: bool) -> None:
    """Add what a ``verb`` takes to its parser."""
    module, function = verb.run.split(':')
    of_verb.set_defaults(verb=name, module=module, function=function)
    if verb.prints_json:
        of_verb.add_argument(
            '--json', action='store_true', help='print one JSON object, nothing else'
        )
    for each in verb.arguments:
        if callable(each):
            each = each(listed)
        word, keywords = each
        of_verb.add_argument(word, **keywords)


def parse(words: Sequence[str]) -> argparse.Namespace | None:
    """
    Return the options of a command line, None where help was asked for by saying nothing.

    words : after the program's name
    ConfigError names the nearest verb or option; SystemExit after --help and --version.
    """
    if not words:
        parser(all_verbs(), False).print_help()
        return None
    if words[0] == 'help':
        words = [*words[1:], '--help']
    verbs = _verbs_for(words[0])
    program = parser(verbs, not {'-h', '--help'}.isdisjoint(words))
    options = program.parse_args(words)
    if 'verb' not in options:
        program.error('a verb is missing')
    options.words = list(words)
    return options


def _verbs_for(word: str) -> Mapping[str, Verb]:
    """Return {name: Verb} that the first ``word`` of a command line may be of."""
    if word in VERBS:
        return {word: VERBS[word]}
    verbs = all_verbs()  # packages with further ones are imported where it is none of these
    if word not in verbs and not word.startswith('-'):
        from ..options import nearest

        raise ConfigError(
            f'there is no verb {word!r}',
            exists=tuple(verbs),
            do=nearest(word, verbs) or missing(VERBS_GROUP),
        )
    return verbs
