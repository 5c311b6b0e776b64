"""Console: what the verbs share, bags and texts in, files, numbers and progress out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
import json
from pathlib import Path
import shlex
import sys
from types import MappingProxyType
from typing import Any, TYPE_CHECKING

import numpy as np

from .arguments import LOAD
from ..checks.finding import DO_NOT_USE
from ..dynamics.robot_model import check_locked
from ..errors import ConfigError, printable
from ..identification.files import make_folder, read_description
from ..identification.identified_model import plain
from ..identification.model.targets import file_name
from ..measurement.bags.log import LogFormat
from ..measurement.recording import Recording
from ..report import outline

if TYPE_CHECKING:
    from ..api.identify import Result
    from ..api.many import ManyResult

KEYS = 1  # version of the keys of --json
STRICT_STATUS = 3  # exit status of a verdict
NO_FILES: Mapping[str, str] = MappingProxyType({})
STYLES = {
    'bold green': r'(?i)(?<=^verdict: )good',  # of a terminal; NO_COLOR is respected
    'bold yellow': r'(?im)(?<=^verdict: )(usable|not checked|doubtful)|^doubtful(?=[: ])',
    'bold red': r'(?im)(?<=^verdict: )(do not use|wrong)|^wrong(?=[: ])',
}


def changed(options: Any, *names: str) -> dict[str, Any]:
    """Return {name: value} of the options of a configuration that the command line gives."""
    changes = {}
    for name in names:
        value = getattr(options, name)
        if value is not None:
            changes[name] = value
    if getattr(options, 'lock', None) is not None:
        changes['locked_joints'] = tuple(options.lock.split(','))
    if getattr(options, 'links', None) is not None:
        changes['links'] = tuple(options.links.split(','))
    if getattr(options, 'drive', None) is not None:
        changes['drive'] = tuple(options.drive.split(','))
    return changes


def typed(options: Any, *names: str) -> list[str]:
    """Return the options that were given, of those with ``names``, as words to type again."""
    words = []
    for name in names:
        value = getattr(options, name)
        if value not in (None, ''):
            words += [f'--{name}', str(value)]
    return words


def check_lock(options: Any, urdf: str, recordings: Sequence[Recording] = ()) -> None:
    """Raise ConfigError where --lock names no joint of ``urdf``, or of the recordings' own."""
    texts = [text for text in (urdf, *(r.robot_description for r in recordings)) if text]
    if options.lock is not None and texts and texts[0].lstrip().startswith('<'):
        check_locked(texts[0], options.lock.split(','))


def description_in(path: str) -> str:
    """Return the text of the description that --urdf gives, '' for none."""
    if not path:
        return ''
    return read_description(path)


def log_format(options: Any) -> LogFormat:
    """Return what --columns, --rate and --joints say of logs."""
    names = ()
    if options.joints:
        names = tuple(options.joints.split(','))
    return LogFormat(names, options.rate, options.columns)


def show(
    options: Any, data: Mapping[str, Any], text: str, files: Mapping[str, str] = NO_FILES
) -> None:
    """
    Print the result of a verb: its lines of ``text``, or with --json ``data`` as one JSON object.

    files : {key: path} of what was written, behind both
    data : plain or NumPy's.  The object also has ``schema``, the verb and the version of its keys,
    and ``verdict``: the result's own or the lines of the text.
    """
    text = '\n'.join([text, *files.values()])
    if not options.json:
        _print_text(printable(text))
        return
    head = {'schema': f'ros_inertial_id/{options.verb}/{KEYS}', 'verdict': text.split('\n')}
    print(json.dumps(plain({**head, **data, **files})))


def _print_text(text: str) -> None:
    """Print a ``text``, verdicts in colour on a terminal."""
    if not sys.stdout.isatty():
        print(text)
        return
    from rich.console import Console
    from rich.text import Text

    coloured = Text(text)
    for style, words in STYLES.items():
        coloured.highlight_regex(words, style)
    Console(highlight=False).print(coloured, soft_wrap=True)


def page(options: Any, path: str | Path, sheet: Callable[[], Any]) -> dict[str, str]:
    """Write what ``sheet`` returns as a page to ``path``, '' for none; return {report: path}."""
    if not path:
        return {}
    from ..report.sheet import write_sheet

    make_folder(Path(path).parent)
    return {'report': write_sheet(sheet(), path, ['inertial-id', *options.words])}


def identified(
    options: Any, result: 'Result | ManyResult', numbers: Mapping[str, Any], lines: Iterable[str]
) -> int:
    """
    Write a ``result``, print it with further ``numbers`` and ``lines``; return the exit status.

    Written are model.yaml, and, where they are asked for, description and report.
    """
    folder, model = Path(options.out), result.model
    model.identified.provenance['command'] = shlex.join(['inertial-id', *options.words])
    files = {'model': str(folder / 'model.yaml')}
    model.save(files['model'])
    if not options.no_report:
        files['report'] = result.report(folder / 'report.html')
    if options.urdf_out:
        files['urdf'] = options.urdf_out
        model.to_urdf(options.urdf_out)
    lines = [*lines]
    for target in options.targets:
        files[target] = str(folder / file_name(target))
        lines.append(repr(model.export(target, files[target])))
    word = model.statistics['verdict']['word']
    text = '\n'.join([f'Verdict: {word}', result.summary(), *lines])
    data: dict[str, Any] = {}
    if options.json:
        data = {**outline(model.identified), **numbers}
    show(options, data, text, files)
    return status(options, word)


def status(options: Any, word: str) -> int:
    """Return the exit status of a verdict's ``word``."""
    if options.strict and word == DO_NOT_USE:
        return STRICT_STATUS
    return 0


def numbers_in(words: str) -> list[float]:
    """Return the finite numbers that ``words`` are, blanks or commas between, [] of others."""
    try:
        numbers = np.array(words.replace(',', ' ').split(), dtype=float)
    except ValueError:
        return []
    if not np.isfinite(numbers).all():
        return []
    return numbers.tolist()


def known_load(words: str, or_else: str = '') -> np.ndarray:
    """
    Return the ten standard parameters (10,) of a known load as LOAD has them, about X Y Z's frame.

    or_else : what else is understood, for the message of the ConfigError where it is none of these
    """
    from ..procedures.drive_gains import load_parameters

    numbers = numbers_in(words)
    if len(numbers) == 10:
        return np.array(numbers)
    if len(numbers) not in (4, 7):
        raise ConfigError('the known load', found=repr(words), expected=LOAD + or_else)
    mass, square = numbers[0], np.square(numbers[4:] or [0.0] * 3)
    return load_parameters(mass, numbers[1:4], mass / 12.0 * np.diag(square.sum() - square))


class Progress:
    """
    Bars on standard error, one per stage, only on a terminal.

    unit : of what is counted
    """

    def __init__(self, unit: str = 'samples') -> None:
        self._bars: Any = None
        self._stage, self._unit = '', unit

    def __enter__(self) -> 'Progress':
        return self

    def __call__(self, stage: str, done: float, total: float) -> None:
        if not sys.stderr.isatty():
            return
        if self._bars is None:
            from rich.console import Console
            from rich.progress import Progress as Bars

            self._bars = Bars(console=Console(stderr=True), transient=True)
            self._bars.start()
        if stage != self._stage:
            self._begin(stage, total)
        self._bars.update(
            self._bars.task_ids[0],
            completed=done,
            total=total,
            description=f'{stage} {done:.0f} of {total:.0f} {self._unit}',
        )

    def _begin(self, stage: str, total: float) -> None:
        """Show the bar of a ``stage`` instead of the one before; total : see __call__."""
        for task in self._bars.task_ids:
            self._bars.remove_task(task)
        self._bars.add_task('', total=total)
        self._stage = stage

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()
