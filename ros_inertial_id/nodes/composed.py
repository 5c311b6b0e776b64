"""
Several nodes in one process, served by one executor: ``composed NODE [ROS arguments] ...``.

Each node has the name, parameters, services and ROS arguments of its own that it has in a process
of its own.  What precedes the first node holds for all.
"""

from collections.abc import Sequence
import sys
from typing import Any

from .identification import Identification
from .recorder import Recorder
from .running import run_together
from .torque_prediction import TorquePrediction
from ..errors import ConfigError

NODES: dict[str, type] = {'identification': Identification,
                          'torque_prediction': TorquePrediction, 'recorder': Recorder}


def kinds_of(words: Sequence[str]) -> tuple[list[str], list[tuple[type, dict[str, Any]]]]:
    """Return the arguments of all nodes, and (class, what it is made with) of each named one."""
    common: list[str] = []
    own: dict[str, list[str]] = {}
    into = common
    for word in words:
        if word in NODES:
            into = own[word] = []
        else:
            into.append(word)
    if not own:
        raise ConfigError('nodes of one process', found=' '.join(words) or 'none',
                          exists=tuple(NODES), do='composed NODE [ROS arguments] NODE ...')
    return common, [(kind, {'cli_args': own[name], 'use_global_arguments': bool(common)})
                    for name, kind in NODES.items() if name in own]


def main() -> int:
    """Run the nodes that the command line names; return the exit status of their process."""
    try:
        common, kinds = kinds_of(sys.argv[1:])
    except ConfigError as error:
        print(f'composed: {error}', file=sys.stderr)
        return 2
    return run_together(kinds, common)
