"""
Several nodes in one process, served by one executor: ``composed NODE [ROS arguments] ...``.

Each node has the name, parameters, services and ROS arguments of its own that it has in a process
of its own.
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


def kinds_of(words: Sequence[str]) -> list[tuple[type, dict[str, Any]]]:
    """Return (class, what it is made with) of each node that the ``words`` name."""
    if not words or words[0] not in NODES:
        raise ConfigError('nodes of one process', found=' '.join(words) or 'none',
                          exists=tuple(NODES), do='composed NODE [ROS arguments] NODE ...')
    arguments: dict[str, list[str]] = {}
    for word in words:
        if word in NODES:
            arguments[word] = given = []
        else:
            given.append(word)
    return [(NODES[name], {'cli_args': given, 'use_global_arguments': False})
            for name, given in arguments.items()]


def main() -> int:
    """Run the nodes that the command line names; return the exit status of their process."""
    try:
        kinds = kinds_of(sys.argv[1:])
    except ConfigError as error:
        print(f'composed: {error}', file=sys.stderr)
        return 2
    return run_together(kinds, [])
