"""
Errors that a person at the robot can act on.

One base class.  A message says what was expected, what was found, what exists and what to do,
in one line: the command line prints it as it is and exits with status 2, a service returns it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
import re
import unicodedata

LONGEST_MESSAGE = 2000  # letters of a message: what it quotes comes from files


def printable(text: object) -> str:
    r"""Return ``text`` with what commands a terminal shown as ``\x1b``: names come from files."""
    return ''.join(c if c.isprintable() or c in '\n\t' else ascii(c)[1:-1] for c in str(text))


def path_text(path: object) -> str:
    """Return a ``path`` as text that UTF-8 can write, whatever the locale or its bytes are."""
    text = str(path)
    if text.isascii():
        return text
    return text.encode('utf-8', 'surrogateescape').decode('utf-8', 'backslashreplace')


class InertialIdError(Exception):
    """
    Base of all errors this package raises for bad input.

    what : the thing that is wrong, in a few words
    expected, found, exists : what was needed, what was there, what could be chosen instead
    do : what the user can do about it
    """

    def __init__(self, what, *, expected=None, found=None, exists=None, do=None):
        parts = [('', what), ('expected ', expected), ('found ', found)]
        parts += [('there is: ', exists), ('', do)]
        said = [(word + _words(part)).rstrip('.;') for word, part in parts if part is not None]
        text = '; '.join(said)
        if _coded_in_two_ways(text):
            text += '; names of the same letters are coded in two ways (Unicode NFC and NFD)'
        if len(text) > LONGEST_MESSAGE:
            text = f'{text[: LONGEST_MESSAGE // 2]} [...] {text[-LONGEST_MESSAGE // 2 :]}'
        super().__init__(printable(text))


class ConfigError(InertialIdError):
    """A configuration file, option or command line argument is wrong."""


@contextmanager
def file_errors(path: object, done: str = 'read') -> Iterator[None]:
    """Raise ConfigError where within it a ``path`` cannot be ``done``, as the system says why."""
    try:
        yield
    except UnicodeDecodeError:
        raise ConfigError(
            f'{path} cannot be {done}', expected='text in UTF-8', found='other bytes'
        ) from None
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a null byte in it
        raise ConfigError(
            f'{path} cannot be {done}', found=getattr(error, 'strerror', None) or error
        ) from None


class RecordingError(InertialIdError):
    """A bag, log or channel cannot be used as it is."""


class RobotModelError(InertialIdError):
    """The robot description and what is asked of it do not fit."""


class EstimationError(InertialIdError):
    """The data do not allow the estimate that is asked for."""


class MotionError(InertialIdError):
    """A motion breaks a limit, cannot be designed or cannot be played."""


def _coded_in_two_ways(text):
    """Return whether a ``text`` holds two names that look alike and are not."""
    if text.isascii():
        return False
    names = set(re.findall(r"[^\s,;:'\"]+", text))
    return len({unicodedata.normalize('NFC', name) for name in names}) < len(names)


def _words(value):
    if isinstance(value, (list, tuple, set, frozenset)):
        return ', '.join(str(item) for item in value) or 'nothing'
    return str(value)
