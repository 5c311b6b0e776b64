"""
Arguments: which verbs there are, what each understands, and what to say of a mistyped one.

A verb is one line of ``VERBS``: its function is named as text and imported when the verb runs, so
this module needs the standard library alone.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
import textwrap
from typing import Any, NoReturn

from . import arguments_rigs as rigs
from .shared_arguments import add_config, add_estimator, add_report, METHOD, MOUNTING
from .. import __version__
from ..errors import ConfigError

STRICT = 'exit with status 3 when the verdict is "do not use"'
ABOUT = ('Identify the inertial parameters of a robot from bags.  A bag may be cut: '
         'BAG@START:END, seconds after the first stamp, either may be empty.')


def add_import(verb: argparse.ArgumentParser) -> None:
    """Add the arguments of ``import`` to its parser ``verb``."""
    verb.add_argument('log', nargs='+', help='.npz, .mat, .csv, .txt or .parquet with time, '
                      'positions, velocities, torques; several files that hold them together')
    verb.add_argument('--urdf', required=True, help='robot description, stored in the bag')
    verb.add_argument('--out', required=True, help='bag to write')
    verb.add_argument('--rate', type=float, help='samples per second, for a log without time')
    verb.add_argument('--columns', default='', help='what columns of other names are, * for the '
                      'joint: "q_*=*_angle tau_*=*_moment"; or the names of all columns without '
                      'a header line: "time q1..q6 v1..v6 - tau1..tau6"; of several files with '
                      '; between')
    verb.add_argument('--joints', help='joint names in the order of the columns, with commas')


def add_identify(verb: argparse.ArgumentParser) -> None:
    """Add the arguments of ``identify`` to its parser ``verb``."""
    verb.add_argument('bags', nargs='+', metavar='BAG', help='bag to identify from; a folder or '
                      'pattern (in quotes) of many')
    add_engine(verb, None)
    verb.add_argument('--count-once', action='store_true', help='of many bags, count motion in '
                      'the same place once')
    verb.add_argument('--budget', type=float, default=0.0, metavar='SECONDS', help='of many bags, '
                      'use the most informative stretches, no longer than that')
    verb.add_argument('--validate', action='append', default=[], metavar='BAG',
                      help='bag to validate on; may be given several times')
    verb.add_argument('--urdf', help='robot description; default: the one in the bag')
    verb.add_argument('--mounting', help=MOUNTING)
    verb.add_argument('--identify-gravity', nargs='?', const='nominal', metavar='PRIOR',
                      help='find the direction of gravity from the motion and use it; its sign '
                      "is decided by the URDF's inertias (nominal, default), by a direction "
                      '"X Y Z", or by nothing (none)')
    add_estimator(verb)
    verb.add_argument('--urdf-out', help='write the description with the identified inertias '
                      'there: a URDF, or the YAML of a rig (with --consistent)')
    verb.add_argument('--out', required=True, help='folder for model.yaml and report.html')
    verb.add_argument('--keep-all', action='store_true', help='use also the samples that the '
                      'checkup would leave out')
    verb.add_argument('--strict', action='store_true', help=STRICT)
    verb.add_argument('--no-report', action='store_true', help='write no report.html')
    verb.add_argument('--figures', choices=('svg', 'pdf'),
                      help='write figures for print as well (needs matplotlib)')


def add_check(verb: argparse.ArgumentParser) -> None:
    """Add the arguments of ``check`` to its parser ``verb``."""
    verb.add_argument('bags', nargs='+', metavar='BAG', help='recording to examine')
    verb.add_argument('--urdf', help='robot description; default: the one in the bag')
    add_config(verb, 'named as the method')
    verb.add_argument('--method', default='', metavar='METHOD', help=METHOD)
    verb.add_argument('--mounting', help=MOUNTING)
    verb.add_argument('--strict', action='store_true', help=STRICT)
    add_report(verb)


def add_validate(verb: argparse.ArgumentParser) -> None:
    """Add the arguments of ``validate`` to its parser ``verb``."""
    verb.add_argument('model', help='model.yaml')
    verb.add_argument('bag', help='bag to validate on')
    verb.add_argument('--strict', action='store_true', help=STRICT)
    verb.add_argument('--out', default='', help='folder for report.html; default: none')


def add_compare(verb: argparse.ArgumentParser) -> None:
    """Add the arguments of ``compare`` to its parser ``verb``."""
    verb.add_argument('models', nargs='+', metavar='MODEL', help='model.yaml, two or more')
    verb.add_argument('--bag', default='', help='bag on which all of them predict')
    verb.add_argument('--out', default='', help='folder for comparison.html; default: none')


def add_engine(verb: argparse.ArgumentParser, jobs: int | None) -> None:
    """
    Add where many bags are accumulated to the parser ``verb``.

    jobs : processes, if none are given
    """
    verb.add_argument('--jobs', type=int, default=jobs, help='processes that accumulate many '
                      'bags, each kept as R factors beside it')
    verb.add_argument('--scheduler', default='', metavar='ADDRESS', help='Dask scheduler that '
                      'accumulates many bags, instead of --jobs')
    verb.add_argument('--cache', default='', help='folder of the R factors; default: .inertial_id '
                      'beside the bags')


def add_drift(verb: argparse.ArgumentParser) -> None:
    """Add the arguments of ``drift`` to its parser ``verb``."""
    verb.add_argument('model', help='model.yaml of this kind of robot')
    verb.add_argument('bags', nargs='+', metavar='BAG', help='bags of several days, or a folder '
                      'of them; those in one folder are of one robot')
    add_engine(verb, 1)
    verb.add_argument('--out', default='', help='folder for drift.html; default: none')


def add_payload(verb: argparse.ArgumentParser) -> None:
    """Add the arguments of ``payload`` to its parser ``verb``."""
    verb.add_argument('model', help='model.yaml of the bare arm')
    verb.add_argument('bags', nargs='+', metavar='BAG', help='recording with the load')
    verb.add_argument('--link', default='', help='that carries it; default: the last')
    verb.add_argument('--frame', default='', help='link in whose frame the numbers are given')
    add_report(verb)


def add_design(verb: argparse.ArgumentParser) -> None:
    """Add the arguments of ``design`` to its parser ``verb``."""
    verb.add_argument('urdf', help='robot description')
    add_config(verb, 'design')
    verb.add_argument('--mounting', help=MOUNTING)
    verb.add_argument('--kind', help='excitation (default) or friction_sweep: low speeds')
    verb.add_argument('--model', help='model.yaml of a first identification: a motion for what is '
                      'still open; --period makes it short')
    verb.add_argument('--period', type=float, help='duration of the motion [s]')
    verb.add_argument('--seconds', type=float, help='how long the search may take')
    verb.add_argument('--seed', type=int, help='of the random motions it starts from')
    verb.add_argument('--out', required=True, help='folder for motion.yaml, .csv, .html')


def add_demo(verb: argparse.ArgumentParser) -> None:
    """Add the arguments of ``demo`` to its parser ``verb``."""
    verb.add_argument('--out', default='demo', help='folder for bags, model and report')
    verb.add_argument('--robot', default='franka', help='franka, arm2, arm3')
    verb.add_argument('--rig', default='', help='instead of an arm: slider_crank, '
                      'suspended_platform, wrist_sensor',
                      choices=['', 'slider_crank', 'suspended_platform', 'wrist_sensor'])


def add_watch(verb: argparse.ArgumentParser) -> None:
    """Add the arguments of ``watch`` to its parser ``verb``."""
    verb.add_argument('--address', default='127.0.0.1', help='to serve the page at; 127.0.0.1 '
                      '(default) is this machine alone')
    verb.add_argument('--port', type=int, default=8321, help='of the page; default: 8321')
    verb.add_argument('--namespace', default='', help='of the nodes, for example /lbr')


def add_schema(verb: argparse.ArgumentParser) -> None:
    """Add the arguments of ``schema`` to its parser ``verb``: none."""


def add_completion(verb: argparse.ArgumentParser) -> None:
    """Add the arguments of ``completion`` to its parser ``verb``."""
    verb.add_argument('shell', choices=('bash', 'zsh', 'tcsh'))


@dataclass(frozen=True)
class Verb:
    """
    One verb of the command line.

    group : heading it stands under; text : what it does; example : words after its name
    run : module of this room and function, ``module:function``; add : adds its arguments
    prints_json : whether what it prints is its result with --json
    """

    group: str
    text: str
    example: str
    run: str
    add: Callable[[argparse.ArgumentParser], None]
    prints_json: bool = True


RECORD, IDENTIFY, RIGS, MORE = 'motions and logs', 'identification', 'rigs and drives', 'more'
VERBS = {
    'design': Verb(RECORD, 'design a motion that reveals the parameters',
                   'robot.urdf --config franka --out motion', 'verbs:design_',
                   add_design),
    'import': Verb(RECORD, 'turn a log (.npz, .mat, .csv, .parquet) into a bag',
                   'log.csv --urdf robot.urdf --out bag', 'verbs:import_', add_import),
    'check': Verb(RECORD, 'say what is wrong with recordings, and what they are worth',
                  'bag --urdf robot.urdf', 'verbs_checkup:check_', add_check),
    'identify': Verb(IDENTIFY, 'identify a model from bags',
                     'bag --validate other_bag --out result', 'verbs:identify_', add_identify),
    'validate': Verb(IDENTIFY, 'validate a model on a bag', 'result/model.yaml bag',
                     'verbs:validate', add_validate),
    'compare': Verb(IDENTIFY, 'compare models: parameters, predictions, friction over time',
                    'monday/model.yaml friday/model.yaml --bag bag', 'verbs:compare',
                    add_compare),
    'drift': Verb(IDENTIFY, 'say what changed from day to day: friction, load, gravity',
                  'result/model.yaml bags_of_a_year --jobs 4', 'verbs_many:drift_', add_drift),
    'payload': Verb(IDENTIFY, 'weigh what an identified arm carries',
                    'result/model.yaml loaded_bag', 'verbs:payload', add_payload),
    'calibrate': Verb(RIGS, 'find the springs of a suspended platform from free vibrations',
                      'rig.yaml --empty bag1 --loaded bag2 "5 0.3 0 0.1" --out known_rig.yaml',
                      'verbs_rigs:calibrate', rigs.add_calibrate),
    'postures': Verb(RIGS, 'find link parameters from overall moments in held postures',
                     'known_rig.yaml --held bag3 --held bag4', 'verbs_rigs:postures',
                     rigs.add_postures),
    'frequencies': Verb(RIGS, 'find link parameters from natural frequencies alone',
                        'known_rig.yaml frequencies.yaml', 'verbs_rigs:frequencies',
                        rigs.add_frequencies),
    'sensors': Verb(RIGS, 'say by rank which wrench sensors a chain of bodies can do without',
                    'bodies.yaml', 'verbs_rigs:sensors', rigs.add_sensors),
    'drive-gains': Verb(RIGS, 'find what effort is worth in torque, by a known load or gain',
                        '--empty bag5 --loaded bag6 "2 0 0 0.1"', 'verbs_rigs:drive_gains',
                        rigs.add_drive_gains),
    'demo': Verb(MORE, 'run the whole chain on a simulated robot (needs ROS 2)', '--robot arm2',
                 'verbs_nodes:demo', add_demo),
    'watch': Verb(MORE, 'show a page in the browser while the robot moves (needs ROS 2)',
                  '--port 8321', 'verbs_nodes:watch', add_watch, False),
    'schema': Verb(MORE, 'print the JSON schema of configuration files', '> schema.json',
                   'verbs:schema_', add_schema, False),
    'completion': Verb(MORE, 'print completions for a shell: eval "$(inertial-id completion '
                       'bash)"', 'bash', 'verbs:completion', add_completion, False),
}


class Parser(argparse.ArgumentParser):
    """A parser that raises ConfigError, with the nearest option named."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        self.known: list[str] = []
        self._typed: list[str] = []
        super().__init__(*args, **keywords)

    def add_argument(self, *args: Any, **keywords: Any) -> argparse.Action:
        """Add an argument as argparse does, by the same ``args`` and ``keywords``."""
        self.known += [word for word in args if word.startswith('-')]
        return super().add_argument(*args, **keywords)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return (namespace, []) of the words ``args``; what is not known is an error."""
        self._typed = list(args)
        found, more = super().parse_known_args(args, namespace)
        if more:
            self.error(f'unrecognized: {" ".join(more)}')
        return found, more

    def error(self, message: str) -> NoReturn:
        """Raise ConfigError with a ``message``, or with the option that was mistyped."""
        names = [word.split('=')[0] for word in self._typed if word.startswith('--')]
        strange = [n for n in names if not any(known.startswith(n) for known in self.known)]
        if strange:
            from ..options import nearest
            raise ConfigError(f'{self.prog}: there is no option {strange[0]}',
                              do=nearest(strange[0], self.known) or f'see {self.prog} --help')
        raise ConfigError(f'{self.prog}: {message}', do=f'see {self.prog} --help')


class Overview(Parser):
    """The parser of the verbs: its help lists them in their groups, with an example each."""

    def format_help(self) -> str:
        """Return the help."""
        lines = ['usage: inertial-id VERB ...   (inertial-id VERB --help says all about one)', '',
                 *textwrap.wrap(ABOUT, 79), '']
        for group in dict.fromkeys(verb.group for verb in VERBS.values()):
            lines.append(f'{group}:')
            for name, verb in VERBS.items():
                if verb.group == group:
                    lines += [f'  {name:<12} {verb.text}',
                              f'{"":15}inertial-id {name} {verb.example}']
            lines.append('')
        return '\n'.join([*lines, 'options: --help, --version', ''])


def parser() -> Parser:
    """Return the parser of the whole command line."""
    out = Overview(prog='inertial-id')
    out.add_argument('--version', action='version', version=f'inertial-id {__version__}')
    every = out.add_subparsers(metavar='VERB', parser_class=Parser)
    for name, verb in VERBS.items():
        own = every.add_parser(name, help=verb.text, description=verb.text,
                               epilog=f'example: inertial-id {name} {verb.example}')
        module, function = verb.run.split(':')
        own.set_defaults(verb=name, module=module, function=function)
        if verb.prints_json:
            own.add_argument('--json', action='store_true',
                             help='print one JSON object, nothing else')
        verb.add(own)
    return out


def parse(words: Sequence[str]) -> argparse.Namespace | None:
    """
    Return the options of a command line, None where help was asked for by saying nothing.

    words : after the program's name
    ConfigError names the nearest verb or option; SystemExit after --help and --version.
    """
    known = parser()
    if not words:
        known.print_help()
        return None
    if not words[0].startswith('-') and words[0] not in VERBS:
        from ..options import nearest
        raise ConfigError(f'there is no verb {words[0]!r}', exists=tuple(VERBS),
                          do=nearest(words[0], VERBS))
    options = known.parse_args(words)
    if 'verb' not in options:
        known.error('a verb is missing')
    options.words = list(words)
    return options
