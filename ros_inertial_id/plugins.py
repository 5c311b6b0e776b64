"""
Plugins: what packages register under a name by entry points, this one's own rigs among them.

    entry_points={'ros_inertial_id.methods': ['pendulum = my_package:Pendulum'],
                  'ros_inertial_id.verbs': ['weigh = my_package.verbs:VERBS']}

METHODS_GROUP : subclasses of ``Method``, see methods/contract.py
VERBS_GROUP : mappings {verb: Verb} of the command line, see cli/arguments.py
RIGS_GROUP : simulated rigs of the node simulated_rig, see demonstration/simulated_rigs

What is listed is not imported.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pkgutil import resolve_name
from typing import Any, Generic, TYPE_CHECKING, TypeVar

from .errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

METHODS_GROUP = 'ros_inertial_id.methods'
VERBS_GROUP = 'ros_inertial_id.verbs'
RIGS_GROUP = 'ros_inertial_id.simulated_rigs'
NOT_INSTALLED = (
    'ros_inertial_id is not installed, or from before it registered its rigs: pip install it again'
)

Plugin = TypeVar('Plugin')


@cache
def registered(group: str) -> 'dict[str, EntryPoint]':
    """Return {name: entry point} of a ``group``; of equal names the first on the path."""
    from importlib.metadata import entry_points  # takes long to import: when needed

    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        found.setdefault(entry.name, entry)
    return found


def missing(group: str) -> str | None:
    """Return what to do where not even this package registers anything in a ``group``."""
    return None if registered(group) else NOT_INSTALLED


class Plugins(Mapping[str, Plugin], Generic[Plugin]):
    """
    What is registered in a ``group``, by name, imported when it is asked for.

    what : it is called in messages; own : {name: module:attribute} that need no metadata
    make : turns what the entry names into what is returned, once
    """

    def __init__(
        self,
        group: str,
        what: str,
        own: Mapping[str, str] | None = None,
        make: Callable[[Any], Plugin] = lambda found: found,
    ) -> None:
        self._group, self._what, self._make, self._own = group, what, make, own or {}
        self._made: dict[str, Plugin] = {}

    def __getitem__(self, name: str) -> Plugin:
        """Return what is called ``name``; ConfigError where nothing is or it does not import."""
        if name not in self:
            raise ConfigError(
                self._what, found=repr(name), exists=tuple(self), do=missing(self._group)
            )
        if name not in self._made:
            own = self._own.get(name)
            try:
                found = resolve_name(own) if own else registered(self._group)[name].load()
            except (ImportError, AttributeError) as error:
                raise ConfigError(
                    f'{self._what} {name} cannot be loaded',
                    found=str(error),
                    do='install what it needs, or remove the package that registers '
                    f'it as {own or registered(self._group)[name].value}',
                ) from error
            self._made[name] = self._make(found)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in registered(self._group)

    def __iter__(self) -> Iterator[str]:
        return iter({**self._own, **registered(self._group)})

    def __len__(self) -> int:
        return len({**self._own, **registered(self._group)})


SIMULATED_RIGS: Plugins[Any] = Plugins(RIGS_GROUP, 'rig')
