"""Settings of an identification: the method's options with those of the estimation; a driver."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np

from .identified_model import IdentifiedModel
from ..errors import ConfigError
from ..estimation.base_parameters import CHOICES
from ..methods import DEFAULT_METHOD, METHODS
from ..options import (
    described_blocks,
    DESIGN,
    DRIVER,
    option,
    options_from,
    read_blocks,
    topic_option,
)
from ..share import config_file

LAW_OPTIONS = {'springs', 'friction'}  # options whose laws the priors of a description are of


@dataclass(frozen=True)
class EstimationOptions:
    """How numbers are estimated."""

    estimator: str = option(
        'ridge',
        'estimator, see estimation/estimators.py',
        choices=('ridge', 'weighted', 'ordinary'),
    )
    consistent: bool = option(
        False,
        'physically consistent bodies and friction that brakes: '
        'full parameters, from which a URDF can be written',
    )
    unconstrained: bool = option(
        False,
        'predict with the base parameters as estimated, where '
        'physically consistent bodies are the default',
    )
    dependent: str = option(
        'nominal',
        'parameters that no motion can tell from others: as the '
        'description says (CAD), zero, or of minimum norm; base parameters '
        'and torques stay the same',
        choices=CHOICES,
    )
    given: tuple[str, ...] = option(
        (),
        'what is known: NAME, NAME VALUE or NAME VALUE STANDARD_DEVIATION of a parameter; a '
        'link or joint as the URDF says',
    )
    links: tuple[str, ...] = option(
        (),
        'links taken as described, so that the drives alone are identified: described for all, '
        'or names with wildcards; what a wrong description does to the drives is in their errors',
    )
    drive: tuple[str, ...] = option(
        (),
        'measured drives (config/drives, or YAML files) as priors of friction and rotors: NAME, '
        'or NAME:JOINTS with wildcards; another unit of a make differs by 30 %',
    )


@cache
def options_class(method: str) -> type[Any]:
    """Return the dataclass of all options of a ``method`` (name), the estimation's included."""
    of_method = METHODS[method].Options

    def reduce(self: Any) -> tuple[Any, ...]:  # for pickle: no module holds the class by a name
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return _options_again, (method, values)

    members = {'__doc__': of_method.__doc__, '__module__': __name__, '__reduce__': reduce}
    return dataclass(frozen=True)(type('Options', (of_method, EstimationOptions), members))


def _options_again(method: str, values: dict[str, Any]) -> Any:
    return options_class(method)(**values)


def load_options(
    path: str = '',
    method: str = '',
    changes: Mapping[str, Any] | None = None,
    description: str = '',
) -> tuple[str, Any]:
    """
    Return (method, options) of a configuration file with single options changed.

    A description that says how its loops close (see dynamics/tree_description.py) gives what
    the file does not; its priors hold for its own springs and friction, under ridge alone.

    path : of the YAML file, '' for defaults; method : '' for the file's own, else DEFAULT_METHOD
    changes : {option: value}, for example from the command line
    description : text of the robot description
    """
    described = described_blocks(description)
    blocks = read_blocks(config_file(path), METHODS)
    if not method:
        method = _only_method(path, blocks, described)
    values = {**_block(blocks, method), **(changes or {})}
    defaults = _block(described, method)
    same_laws = LAW_OPTIONS.isdisjoint(values)
    if not same_laws or values.get('estimator', 'ridge') != 'ridge':
        defaults.pop('given', None)
    kind = options_class(method)
    return method, options_from(kind, {**defaults, **values}, path)


def _block(blocks: Mapping[str, Mapping[str, Any] | None], method: str) -> dict[str, Any]:
    """Return the options in the block of a ``method``, {} where it is empty or there is none."""
    return dict(blocks.get(method) or {})


def _only_method(path: str, blocks: Collection[str], described: Collection[str]) -> str:
    """Return the method of the ``blocks`` of a file, else of a description, else the default."""
    configured = [name for name in blocks if name not in (DESIGN, DRIVER)]
    if len(configured) > 1:
        raise ConfigError(
            f'{path} has blocks for several methods',
            found=configured,
            do='choose one with --method',
        )
    return next(iter([*configured, *described]), DEFAULT_METHOD)


def prediction_options(model: IdentifiedModel) -> Any:
    """Return the options of a ``model`` (IdentifiedModel) with what the data decided fixed."""
    kind = options_class(model.method)
    # An option that came after the model was made stands at its default.
    names = {item.name for item in fields(kind)}
    options = {name: value for name, value in model.options.items() if name in names}
    return options_from(kind, {**options, **decided(model.preprocessing, names)}, 'the model')


def decided(summaries: Sequence[Mapping[str, Any]], names: Collection[str]) -> dict[str, Any]:
    """Return {option: value} that recordings decided, of ``names``, by their ``summaries``."""
    first = summaries[0]
    values: dict[str, Any] = {}
    if 'time_offset' in names:
        values['time_offset'] = first.get('time_offset', 0.0)
        values['find_time_offset'] = False
    values['cutoff'] = max(summary['cutoff'] for summary in summaries)
    values['velocity'] = first['velocity']
    if 'drive' in names:
        values['drive'] = ()  # its numbers stand in ``given``
    return values


def robot_of_model(model: IdentifiedModel, gravity_base: np.ndarray | None = None) -> Any:
    """Return the Robot of a ``model`` as mounted then, or under ``gravity_base`` (3,) [m/s^2]."""
    if gravity_base is None:
        gravity_base = model.mounting['gravity_base'][0]
    return METHODS[model.method].build(
        model.robot['urdf'], prediction_options(model), np.array(gravity_base)
    )


@dataclass(frozen=True)
class DriverOptions:
    """Names that the driver gives to its topics, relative to its namespace."""

    namespace: str = option('', 'of the driver and of the nodes beside it')
    joint_states: str = topic_option(
        'joint_states', 'topic of the joint states with effort, the fastest there is'
    )
    controller: str = topic_option(
        'joint_trajectory_controller/joint_trajectory',
        'JointTrajectory topic of the controller that is active',
    )
