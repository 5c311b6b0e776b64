"""
ROS parameters from options dataclasses: declared with description, unit and range, checked live.

Every value that a node takes, at its start or from ``ros2 param set``, goes through the same check
as a configuration file; what is not allowed is refused with the reason.
"""

from array import array
from collections.abc import Callable, Collection
from dataclasses import Field, fields
from pathlib import PurePath
from typing import Any

from rcl_interfaces.msg import (FloatingPointRange, IntegerRange, ParameterDescriptor,
                                ParameterType, SetParametersResult)
from rclpy.node import Node
from rclpy.parameter import Parameter

from ..dynamics.robot_model import gravity_from_mounting
from ..errors import ConfigError, InertialIdError
from ..options import element_type, options_from

ARRAYS = {str: (Parameter.Type.STRING_ARRAY, ParameterType.PARAMETER_STRING_ARRAY),
          float: (Parameter.Type.DOUBLE_ARRAY, ParameterType.PARAMETER_DOUBLE_ARRAY),
          int: (Parameter.Type.INTEGER_ARRAY, ParameterType.PARAMETER_INTEGER_ARRAY)}
FARTHEST = 1e300  # the end of a range that is open there


def declare_options(node: Node, kind: type, defaults: Any = None, fixed: Collection[str] = (),
                    prefix: str = '') -> Any:
    """
    Declare the fields of an options dataclass as parameters; return the instance they give.

    node : whose parameters they become; kind : the dataclass
    defaults : an instance of ``kind`` whose values are the parameters' defaults
    fixed : names of those that are read once, at the start: setting them later is refused
    prefix : before the names of the fields, for example ``design.``
    ConfigError for a value that is not allowed; one that is set later is refused.
    """
    defaults = defaults or kind()
    for spec in fields(kind):
        _declare(node, prefix, (kind, spec), getattr(defaults, spec.name), spec.name in fixed)
    options = read_options(node, kind, prefix)
    names = {prefix + spec.name: spec.name for spec in fields(kind)}

    def check(parameters: list[Parameter]) -> SetParametersResult:
        values = {names[p.name]: _plain(p) for p in parameters if p.name in names}
        try:
            checked = options_from(kind, values, node.get_name())
        except InertialIdError as error:
            return SetParametersResult(successful=False, reason=str(error))
        changed = [name for name in values if name in fixed
                   and getattr(checked, name) != getattr(options, name)]
        if changed:
            return SetParametersResult(
                successful=False, reason=f"{', '.join(changed)}: read when the node starts")
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(check)
    return options


def read_options(node: Node, kind: type, prefix: str = '') -> Any:
    """
    Return the options dataclass of the present values of parameters declared before.

    node : that declared them; kind : the dataclass; prefix : before the names of its fields
    """
    values = {spec.name: _plain(node.get_parameter(prefix + spec.name)) for spec in fields(kind)}
    return options_from(kind, values, node.get_name())


def refuse_unless(node: Node, checks: dict[str, Callable[[Any], object]]) -> None:
    """
    Check parameters of a node beyond type and range: at once, and whenever they are set.

    node : whose they are, declared before
    checks : name of the parameter -> function of its value that raises InertialIdError
    """
    for name, check in checks.items():
        check(node.get_parameter(name).value)

    def refuse(parameters: list[Parameter]) -> SetParametersResult:
        try:
            for parameter in parameters:
                if parameter.name in checks:
                    checks[parameter.name](parameter.value)
        except InertialIdError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(refuse)


def check_mounting(words: str) -> None:
    """Raise ConfigError for ``words`` that are no mounting; '' and imu are."""
    if words not in ('', 'imu'):
        gravity_from_mounting(words)


def check_file_name(name: str) -> None:
    """Raise ConfigError for a ``name`` that is not that of a file in its folder."""
    if name and (PurePath(name).name != name or name == '..' or '\0' in name):
        raise ConfigError('parameter name', expected='a name without a folder',
                          found=repr(name), do='the folder is the parameter out')


def _plain(parameter: Parameter) -> Any:
    """Return the value of a parameter, numbers as a list."""
    value = parameter.value
    return value.tolist() if isinstance(value, array) else value


def _declare(node: Node, prefix: str, kind_spec: 'tuple[type, Field[Any]]', default: Any,
             fixed: bool) -> None:
    kind, spec = kind_spec
    meta, name = spec.metadata, prefix + spec.name
    element, many = element_type(kind, spec.name)
    unit = f" [{meta['unit']}]" if meta.get('unit') else ''
    choices = f" (one of {', '.join(map(str, meta['choices']))})" if meta.get('choices') else ''
    descriptor = ParameterDescriptor(description=meta['description'] + unit + choices,
                                     read_only=fixed)
    if not many:
        _describe_range(descriptor, element, meta.get('at_least'), meta.get('at_most'))
        node.declare_parameter(name, default, descriptor)
        return
    # Any list may be set: an empty one has no type of its own in ROS, and [1, 2] is one of whole
    # numbers.  The check of the options knows which elements are allowed.
    kind_of_array, descriptor.type = ARRAYS[element]
    descriptor.dynamic_typing = True
    # Read-only would refuse the typed empty list, too: the check below keeps it as it is.
    descriptor.read_only = False
    value = node.declare_parameter(name, list(default), descriptor).value
    if not value:  # declared without a type, which would hide all parameters from GetParameters
        node.set_parameters([Parameter(name, kind_of_array, [])])


def _describe_range(descriptor: ParameterDescriptor, element: type, low: float | None,
                    high: float | None) -> None:
    """Write the range of a number into its descriptor."""
    if low is None and high is None:
        return
    low, high = -FARTHEST if low is None else low, FARTHEST if high is None else high
    if element is int:
        descriptor.integer_range = [IntegerRange(
            from_value=int(max(low, -2 ** 62)), to_value=int(min(high, 2 ** 62)))]
    else:
        descriptor.floating_point_range = [FloatingPointRange(
            from_value=float(low), to_value=float(high))]
