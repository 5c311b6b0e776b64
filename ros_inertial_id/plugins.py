"""
Plugins: what packages register under a name by entry points, this one's own rigs among them.

    entry_points={'ros_inertial_id.methods': ['pendulum = my_package:Pendulum'],
                  'ros_inertial_id.verbs': ['weigh = my_package.verbs:VERBS']}

METHODS_GROUP : subclasses of ``Method``, see methods/contract.py
VERBS_GROUP : mappings {verb: Verb} of the command line, see cli/arguments.py
RIGS_GROUP : simulated rigs of the node simulated_rig, see rigs/simulation/live_rigs.py

What is listed is not imported.  The metadata are read here: importlib.metadata takes 45 ms to
import and to look through two hundred packages, a third of ``inertial-id --help``; this takes 3.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
import importlib
import os
import sys
from typing import Any, Generic, TypeVar

from .errors import ConfigError

METHODS_GROUP = 'ros_inertial_id.methods'
VERBS_GROUP = 'ros_inertial_id.verbs'
RIGS_GROUP = 'ros_inertial_id.simulated_rigs'
METADATA = '.dist-info', '.egg-info'  # folders of pip, of colcon
NOT_INSTALLED = ('ros_inertial_id is not installed, or from before it registered its rigs: pip '
                 'install it again')

Plugin = TypeVar('Plugin')


def registered(group: str) -> dict[str, str]:
    """Return {name: module:attribute} of a ``group``; of equal names the first on the path."""
    found: dict[str, str] = {}
    for own, name, place in _entries():
        if own == group:
            found.setdefault(name, place)
    return found


def missing(group: str) -> str | None:
    """Return what to do where not even this package registers anything in a ``group``."""
    return None if registered(group) else NOT_INSTALLED


@cache
def _entries() -> tuple[tuple[str, str, str], ...]:
    """Return (group, name, module:attribute) of what all packages on the path register here."""
    found, groups = [], (METHODS_GROUP, VERBS_GROUP, RIGS_GROUP)
    for text in _texts():
        group = ''
        for line in map(str.strip, text.splitlines() if '[ros_inertial_id.' in text else ()):
            if line.startswith('['):
                group = line.strip('[]')
            elif group in groups and '=' in line and line[0] not in '#;':
                name, place = line.split('=', 1)
                found.append((group, name.strip(), place.split('[')[0].strip()))
    return tuple(found)


def _texts() -> Iterator[str]:
    """Yield the texts of all entry_points.txt on the path."""
    for folder in sys.path:
        try:
            packages = [n for n in sorted(os.listdir(folder or '.')) if n.endswith(METADATA)]
        except OSError:  # a zip file, or a folder that is gone
            continue
        for package in packages:
            try:
                with open(os.path.join(folder, package, 'entry_points.txt'),
                          encoding='utf-8') as file:
                    yield file.read()
            except (OSError, UnicodeDecodeError):  # most have none
                continue


class Plugins(Mapping[str, Plugin], Generic[Plugin]):
    """
    What is registered in a ``group``, by name, imported when it is asked for.

    what : it is called in messages; own : {name: module:attribute} that need no metadata
    make : turns what the entry names into what is returned, once
    """

    def __init__(self, group: str, what: str, own: Mapping[str, str] | None = None,
                 make: Callable[[Any], Plugin] = lambda found: found) -> None:
        self._group, self._what, self._own, self._make = group, what, dict(own or {}), make
        self._made: dict[str, Plugin] = {}

    def __getitem__(self, name: str) -> Plugin:
        """Return what is called ``name``; ConfigError where nothing is or it does not import."""
        if name not in self:
            raise ConfigError(self._what, found=repr(name), exists=tuple(self),
                              do=missing(self._group))
        if name not in self._made:
            place = self._own.get(name) or registered(self._group)[name]
            module, _, attribute = place.partition(':')
            try:
                found = getattr(importlib.import_module(module), attribute)
            except (ImportError, AttributeError) as error:
                raise ConfigError(f'{self._what} {name} cannot be loaded', found=str(error),
                                  do='install what it needs, or remove the package that '
                                  f'registers it as {place}') from error
            self._made[name] = self._make(found)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in registered(self._group)

    def __iter__(self) -> Iterator[str]:
        return iter({**self._own, **registered(self._group)})

    def __len__(self) -> int:
        return len({**self._own, **registered(self._group)})


SIMULATED_RIGS: Plugins[Any] = Plugins(RIGS_GROUP, 'rig')
