"""Console: what the verbs share, bags and texts in, files, numbers and progress out."""

from collections.abc import Callable, Mapping
import json
import sys
from typing import Any

import numpy as np

from .shared_arguments import LOAD
from ..errors import ConfigError, printable
from ..identification.model.identified_model import plain
from ..measurement.bags.bag import read_bag
from ..measurement.recording import Recording

KEYS = 1  # version of the keys of --json


def read_recording(argument: str) -> Recording:
    """
    Return the Recording of a bag, or of a part of it.

    argument : BAG or BAG@START:END, seconds after the first stamp
    """
    return read_bag(argument)


def show(options: Any, data: Mapping[str, Any], text: str) -> None:
    """
    Print the result of a verb.

    options : of the command line; with ``--json`` one JSON object, else the text
    data : the result, plain or NumPy's; text : the same for a person, by lines
    The object also has ``schema``, the verb and the version of its keys, and ``verdict``: the
    result's own or the lines of the text.
    """
    if not options.json:
        print(printable(text))
        return
    head = {'schema': f'ros_inertial_id/{options.verb}/{KEYS}', 'verdict': text.split('\n')}
    print(json.dumps(plain({**head, **data})))


def written(options: Any, sheet: Callable[[], Any]) -> dict[str, str]:
    """
    Write the page of a result where ``--report`` asks for it; return {report: its path}.

    options : of the command line; sheet : makes the Sheet
    """
    if not options.report:
        return {}
    from ..report.sheet import write_sheet
    return {'report': write_sheet(sheet(), options.report, ['inertial-id', *options.words])}


def known_load(argument: str, mass_alone: bool = False) -> np.ndarray:
    """
    Return the ten standard parameters (10,) of a known load, in the frame of X Y Z.

    argument : see LOAD; ConfigError when it is something else
    mass_alone : whether MASS will do; the others are NaN then
    """
    from ..procedures.drive_gains import load_parameters
    try:
        numbers = [float(word) for word in argument.replace(',', ' ').split()]
    except ValueError:
        numbers = []
    if len(numbers) == 10:
        return np.array(numbers)
    if len(numbers) == 1 and mass_alone:
        return load_parameters(numbers[0], [0.0] * 3) + np.append(0.0, np.full(9, np.nan))
    if len(numbers) not in (4, 7):
        raise ConfigError('the known load', found=repr(argument),
                          expected=LOAD + (', or "MASS" alone' if mass_alone else ''))
    mass, square = numbers[0], np.square(numbers[4:] or [0.0] * 3)
    return load_parameters(mass, numbers[1:4], mass / 12.0 * np.diag(square.sum() - square))


def bar(**options: Any) -> Any:
    """Return a tqdm bar on standard error for its ``options``; it shows on a terminal only."""
    from tqdm import tqdm
    return tqdm(disable=None, leave=False, file=sys.stderr, **options)


class Progress:
    """A bar on standard error, one per stage, only on a terminal."""

    def __init__(self, unit: str = 'sample') -> None:
        self._bar: Any = None
        self._stage, self._unit = '', unit

    def __enter__(self) -> 'Progress':
        return self

    def __call__(self, stage: str, done: int, total: int) -> None:
        if not sys.stderr.isatty():
            return
        if stage != self._stage:
            self.__exit__()
            self._bar = bar(total=total, desc=stage, unit=self._unit)
            self._stage = stage
        self._bar.update(done - self._bar.n)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
