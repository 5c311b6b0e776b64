"""What stands between ROS and the core: parameters, quality of service, messages."""

from dataclasses import fields
import importlib
import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, ParameterType
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import ParameterUninitializedException
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float64MultiArray, MultiArrayDimension
from std_srvs.srv import Trigger

from ..options import element_type

LEVELS = {'ok': DiagnosticStatus.OK, 'warn': DiagnosticStatus.WARN,
          'error': DiagnosticStatus.ERROR}
DEPTH = 5000  # rate x longest stall: loss is an overflow of the reader's queue


def latched():
    """Return the QoS of a topic that late joiners get too."""
    return QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL,
                      reliability=ReliabilityPolicy.RELIABLE)


def stream(node, topic, wish='auto'):
    """
    Return the QoS to subscribe a sensor topic with, so that nothing is lost.

    ``auto``: reliable when every publisher there is reliable, else best effort, which matches
    both (a reliable reader would not be served by a best-effort publisher at all).
    """
    if wish == 'auto':
        offered = [info.qos_profile.reliability
                   for info in node.get_publishers_info_by_topic(topic)]
        reliable = bool(offered) and all(r == ReliabilityPolicy.RELIABLE for r in offered)
    else:
        reliable = wish == 'reliable'
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST, depth=DEPTH,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT)


def message_class(type_name):
    """Return the class of a message type, None where it is not installed."""
    package, _, name = type_name.split('/')
    try:
        return getattr(importlib.import_module(f'{package}.msg'), name)
    except ImportError:
        return None


def every(node, period, callback):
    """Call back every ``period`` [s] of real time: a simulated clock may stand still."""
    node.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))


def declare_options(node, kind, defaults=None, fixed=(), prefix=''):
    """
    Declare the fields of an options dataclass as parameters; return the instance they give.

    defaults : an instance of ``kind`` whose values are the parameters' defaults
    fixed : names of those that are read once, at the start: setting them later is refused
    prefix : before the names of the fields, for example ``design.``
    """
    defaults = defaults or kind()
    return kind(**{spec.name: _declare(node, prefix, (kind, spec), getattr(defaults, spec.name),
                                       spec.name in fixed) for spec in fields(kind)})


def read_options(node, kind, prefix=''):
    """Return the options dataclass of the present values of parameters declared before."""
    return kind(**{spec.name: _value(node, prefix, spec) for spec in fields(kind)})


def _declare(node, prefix, kind_spec, default, fixed):
    kind, spec = kind_spec
    meta, name = spec.metadata, prefix + spec.name
    unit = f" [{meta['unit']}]" if meta.get('unit') else ''
    choices = f" (one of {', '.join(map(str, meta['choices']))})" if meta.get('choices') else ''
    descriptor = ParameterDescriptor(description=meta['description'] + unit + choices,
                                     read_only=fixed)
    low, high = meta.get('at_least'), meta.get('at_most')
    if low is not None or high is not None:
        if isinstance(default, int):
            descriptor.integer_range = [IntegerRange(
                from_value=int(low if low is not None else -2 ** 62),
                to_value=int(high if high is not None else 2 ** 62))]
        else:
            descriptor.floating_point_range = [FloatingPointRange(
                from_value=float(low if low is not None else -1e300),
                to_value=float(high if high is not None else 1e300))]
    if isinstance(default, tuple):
        if default:
            node.declare_parameter(name, list(default), descriptor)
        else:  # an empty list has no type of its own in ROS
            texts = element_type(kind, spec.name)[0] is str
            descriptor.type = (ParameterType.PARAMETER_STRING_ARRAY if texts
                               else ParameterType.PARAMETER_DOUBLE_ARRAY)
            node.declare_parameter(name, Parameter.Type.STRING_ARRAY if texts
                                   else Parameter.Type.DOUBLE_ARRAY, descriptor)
    else:
        node.declare_parameter(name, default, descriptor)
    return _value(node, prefix, spec)


def _value(node, prefix, spec):
    try:
        value = node.get_parameter(prefix + spec.name).value
    except ParameterUninitializedException:
        value = None
    if isinstance(spec.default, tuple):
        return tuple(value) if value is not None else ()
    return value


def diagnostics(node, level, message, values):
    """Return a DiagnosticArray with one status of the node."""
    status = DiagnosticStatus(
        level=LEVELS[level], name=node.get_fully_qualified_name().lstrip('/'), message=message,
        hardware_id='', values=[KeyValue(key=str(k), value=str(v)) for k, v in values.items()])
    array = DiagnosticArray(status=[status])
    array.header.stamp = node.get_clock().now().to_msg()
    return array


def table(names, columns):
    """
    Return numbers by name as a Float64MultiArray that needs no parser.

    dim[0].label lists the names with commas, dim[1].label the columns (their keys); data is row
    by row.  columns : key -> list of numbers, None as NaN.
    """
    message = Float64MultiArray()
    rows = list(zip(*columns.values()))
    message.layout.dim = [
        MultiArrayDimension(label=','.join(names), size=len(rows),
                            stride=len(rows) * len(columns)),
        MultiArrayDimension(label=','.join(columns), size=len(columns), stride=len(columns))]
    message.data = [float('nan') if x is None else float(x) for row in rows for x in row]
    return message


class Question:
    """A Trigger call that is made as soon as the service is there, within ``patience`` [s]."""

    def __init__(self, client, patience):
        self._client, self._future = client, None
        self._deadline = time.monotonic() + patience

    @property
    def asked(self):
        """Return whether the service may have heard it."""
        return self._future is not None

    def over(self):
        """Return whether there is an answer, or time is up."""
        if not self.asked and self._client.service_is_ready():
            self._future = self._client.call_async(Trigger.Request())
        return (self.asked and self._future.done()) or time.monotonic() > self._deadline

    def answer(self):
        """Return the response, None when there was none."""
        return self._future.result() if self.asked else None
