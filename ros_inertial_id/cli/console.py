"""
Console: what the verbs share, bags and texts in, files, numbers and progress out.
"""

import json
import pathlib
import re
import sys

import numpy as np
from tqdm import tqdm

from ..errors import ConfigError
from ..identification.model import plain
from ..measurement.bags.bag import read_bag
from ..procedures.drive_gains import load_parameters

WINDOW = re.compile(r'^(?P<path>.+?)(?:@(?P<start>[0-9.]*):(?P<end>[0-9.]*))?$')
LOAD = ('"MASS X Y Z" of a point, "MASS X Y Z A B C" of a block with edges A B C [m] along the '
        'axes, or ten standard parameters')


def read_recording(argument):
    """Return the Recording of BAG or BAG@START:END."""
    parts = WINDOW.match(argument)
    path, start, end = parts['path'], parts['start'], parts['end']
    if start is None and not pathlib.Path(path).exists() and '@' in path:
        raise ConfigError(f'the window of {argument}', expected='BAG@START:END in seconds')
    recording = read_bag(path)
    try:
        window = [float(x) if x else None for x in (start, end)]
    except ValueError:
        raise ConfigError(f'the window of {argument}',
                          expected='BAG@START:END in seconds') from None
    return recording.window(*window) if start or end else recording


def read_text(path):
    """Return the text of a file."""
    try:
        return pathlib.Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f'{path} cannot be read',
                          found=getattr(error, 'strerror', None) or 'no text') from None


def write_text(path, text):
    """Write a text to a file."""
    try:
        pathlib.Path(path).write_text(text)
    except OSError as error:
        raise ConfigError(f'{path} cannot be written', found=error.strerror) from None


def make_folder(path):
    """Make a folder and those above it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f'folder {path} cannot be made', found=error.strerror) from None


def show(options, data, text):
    """Print a text, or with --json the data as one JSON object."""
    print(json.dumps(plain(data)) if options.json else text)


def known_load(argument):
    """Return the ten parameters (10,) of a known load, see LOAD, in the frame of X Y Z."""
    try:
        numbers = [float(word) for word in argument.replace(',', ' ').split()]
    except ValueError:
        numbers = []
    if len(numbers) == 10:
        return np.array(numbers)
    if len(numbers) not in (4, 7):
        raise ConfigError('the known load', found=repr(argument), expected=LOAD)
    mass, square = numbers[0], np.square(numbers[4:] or [0.0] * 3)
    return load_parameters(mass, numbers[1:4], mass / 12.0 * np.diag(square.sum() - square))


class Progress:
    """A bar on standard error, one per stage, only where somebody watches."""

    def __init__(self, unit='sample'):
        self._bar, self._stage, self._unit = None, '', unit

    def __enter__(self):
        return self

    def __call__(self, stage, done, total):
        if stage != self._stage:
            self.__exit__()
            self._bar = tqdm(total=total, desc=stage, disable=None, leave=False, unit=self._unit,
                             file=sys.stderr)
            self._stage = stage
        self._bar.update(done - self._bar.n)

    def __exit__(self, *_):
        if self._bar is not None:
            self._bar.close()
