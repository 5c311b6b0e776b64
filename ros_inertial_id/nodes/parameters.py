"""
ROS parameters from options dataclasses: declared with description, unit and range, checked live.

Every value that a node takes, at its start or from ``ros2 param set``, goes through the same check
as a configuration file; what is not allowed is refused with the reason.
"""

from array import array
from collections.abc import Callable, Collection
from dataclasses import dataclass, Field, fields, replace
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from ..dynamics.robot_model import gravity_from_mounting
from ..errors import InertialIdError
from ..identification.settings import DriverOptions
from ..methods import METHODS
from ..options import DESIGN, DRIVER, element_type, option, options_from, read_blocks
from ..share import config_file

JOINT_STATES = 'joint_states'  # topic
ARRAYS = {
    str: Parameter.Type.STRING_ARRAY,
    float: Parameter.Type.DOUBLE_ARRAY,
    int: Parameter.Type.INTEGER_ARRAY,
}
FARTHEST = 2**62  # the end of a range that is open there


@dataclass(frozen=True)
class ConfiguredOptions:
    """What every node beside a robot is asked for."""

    config: str = option(
        '',
        'configuration of the robot: a name in config/ of this package, or the path of a YAML '
        'file; its blocks hold where no parameter is given',
    )


def declare_options(
    node: Node,
    kind: type,
    defaults: Any = None,
    settable: Collection[str] | None = None,
    prefix: str = '',
    check: Callable[[Any], object] = lambda options: None,
) -> Any:
    """
    Declare the fields of an options dataclass as parameters; return the instance they give.

    kind : the dataclass; defaults : an instance of it whose values are the parameters' defaults
    settable : names of those that may be set later, all if None; others are read at the start
    prefix : before the names of the fields, for example ``design.``
    check : given an instance, raises InertialIdError for values that do not fit together
    InertialIdError for a value that is not allowed; one that is set later is refused.
    """
    defaults = defaults or kind()
    names = {prefix + spec.name: spec.name for spec in fields(kind)}
    fixed = set()
    if settable is not None:
        fixed = set(names.values()) - set(settable)
    for spec in fields(kind):
        _declare(node, prefix, (kind, spec), getattr(defaults, spec.name), spec.name in fixed)
    options = read_options(node, kind, prefix)
    check(options)

    def may_set(parameters: list[Parameter]) -> SetParametersResult:
        values = {names[p.name]: _plain(p) for p in parameters if p.name in names}
        try:
            changed = read_options(node, kind, prefix, values)
            if values:
                check(changed)
        except InertialIdError as error:
            return SetParametersResult(successful=False, reason=str(error))
        wrong = [
            name
            for name in sorted(fixed.intersection(values))
            if getattr(changed, name) != getattr(options, name)
        ]
        if wrong:
            reason = f'{", ".join(wrong)}: read when the node starts'
            return SetParametersResult(successful=False, reason=reason)
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(may_set)
    return options


def read_options(
    node: Node, kind: type, prefix: str = '', changes: dict[str, Any] | None = None
) -> Any:
    """
    Return the options dataclass ``kind`` of the present values of parameters declared before.

    prefix : before the names of its fields; changes : {field: value} instead of the present one
    """
    values = {spec.name: _plain(node.get_parameter(prefix + spec.name)) for spec in fields(kind)}
    return options_from(kind, values | (changes or {}), node.get_name())


def check_mounting(words: str) -> None:
    """Raise ConfigError for ``words`` that are no mounting; '' and imu are."""
    if words not in ('', 'imu'):
        gravity_from_mounting(words)


def configured(path: str, name: str = 'mounting') -> str:
    """Return the option ``name`` of a configuration file, of method or design; '' for none."""
    blocks = read_blocks(config_file(path), METHODS)
    for block in (*METHODS, DESIGN):
        words = (blocks.get(block) or {}).get(name)
        if words:
            return str(words)
    return ''


def load_driver(path: str) -> DriverOptions:
    """Return the block driver of a configuration file, '' for defaults."""
    return options_from(
        DriverOptions,
        read_blocks(config_file(path), METHODS).get(DRIVER) or {},
        f'{path}, block {DRIVER}',
    )


def driver_of(node: Node, path: str) -> DriverOptions:
    """
    Return the names of the driver that a configuration file gives, for a ``node`` beside it.

    Remapped joint states go before; that the node is in another namespace is said.
    """
    driver, space = load_driver(path), node.get_namespace().strip('/')
    wanted = driver.namespace.strip('/')
    if wanted not in ('', space):
        node.get_logger().warning(
            f'{path} is of a driver in the namespace /{wanted}; this node '
            f'is in /{space}: start it with -r __ns:=/{wanted}'
        )
    if node.resolve_topic_name(JOINT_STATES) != f'/{space}/{JOINT_STATES}'.replace('//', '/'):
        return replace(driver, joint_states=JOINT_STATES)
    return driver


def _plain(parameter: Parameter) -> Any:
    """Return the value of a parameter, numbers as a list."""
    value = parameter.value
    if isinstance(value, array):
        return value.tolist()
    return value


def _declare(
    node: Node, prefix: str, kind_spec: 'tuple[type, Field[Any]]', default: Any, fixed: bool
) -> None:
    kind, spec = kind_spec
    meta, name = spec.metadata, prefix + spec.name
    element, many = element_type(kind, spec.name)
    description = meta['description']
    if meta.get('unit'):
        description += f' [{meta["unit"]}]'
    if meta.get('choices'):
        description += f' (one of {", ".join(map(str, meta["choices"]))})'
    descriptor = ParameterDescriptor(description=description, read_only=fixed)
    if not many:
        _describe_range(descriptor, element, meta.get('at_least'), meta.get('at_most'))
        node.declare_parameter(name, default, descriptor)
        return
    # Any list may be set: an empty one has no type of its own in ROS, and [1, 2] is one of whole
    # numbers.  The check of the options knows which elements are allowed.
    descriptor.type, descriptor.dynamic_typing = ARRAYS[element].value, True
    # Read-only would refuse the typed empty list, too: the check keeps it as it is.
    descriptor.read_only = False
    value = node.declare_parameter(name, list(default), descriptor).value
    if not value:  # declared without a type, which would hide all parameters from GetParameters
        node.set_parameters([Parameter(name, ARRAYS[element], [])])


def _describe_range(
    descriptor: ParameterDescriptor, element: type, low: float | None, high: float | None
) -> None:
    """Write the range of a number into its descriptor."""
    if low is None and high is None:
        return
    if low is None:
        low = -FARTHEST
    if high is None:
        high = FARTHEST
    if element is int:
        descriptor.integer_range = [IntegerRange(from_value=int(low), to_value=int(high))]
    else:
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=float(low), to_value=float(high))
        ]
