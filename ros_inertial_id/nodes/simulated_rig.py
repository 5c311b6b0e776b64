"""
Node ``simulated_rig``: a rig to try everything on, moved by MuJoCo, seen by its sensors.

``rig`` is slider_crank (markers, IMU, crank torque, encoder), suspended_platform (markers through
held postures, then loose links) or wrist_sensor (joint states, wrench and IMU of a payload).
Owns the time, which it publishes on ``/clock``: run all other nodes with use_sim_time.  Publishes
every sample and the latched ``robot_description``; what is to be predicted, without noise, goes to
``~/true_...``.  While ``running`` is false its time stands still.
"""

from dataclasses import asdict, replace
import json
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.impl.implementation_singleton import rclpy_implementation
from std_msgs.msg import String
from std_srvs.srv import Trigger
import yaml

from .conversions import DEPTH, diagnostics, every, latched, message_class
from .guarded import GuardedNode
from .parameters import declare_options
from .running import run
from .simulator_clock import BURST, SimulatorClock
from ..errors import ConfigError
from ..identification.model.identified_model import plain
from ..measurement.bags.messages import encode
from ..rigs.simulation.live_rigs import RIGS, STEP
from ..share import shared_file

TICK = 0.008  # [s] of wall time between steps, each of all samples that are due


class SimulatedRig(GuardedNode):
    """Publishes what the rig's sensors say, on time."""

    def __init__(self, **node_options):
        super().__init__('simulated_rig', **node_options)
        name = self._declare('rig', 'slider_crank', f'one of {", ".join(RIGS)}')
        if name not in RIGS:
            raise ConfigError('parameter rig', found=repr(name), exists=tuple(RIGS))
        path = self._declare('urdf_file', '', 'path of the description; empty: its own')
        truth_file = self._declare('truth_file', '', 'YAML file to write the true parameters '
                                   'to; empty: none')
        self._running = self._declare('running', True, 'false: time stands still; may be set at '
                                      'any time', fixed=False)
        real_time = self._declare('real_time', False, 'true: follow the wall clock and publish no '
                                  '/clock; what is late on a busy computer is made up for')
        kind = RIGS[name]
        options = declare_options(self, kind.Options, fixed=kind.Options.__dataclass_fields__)
        self._rig = kind(options, _text(path) if path else _own_urdf(kind.urdf))
        if truth_file:
            _write(truth_file, {'rig': name, 'parameters': self._rig.truth,
                                'options': asdict(options)})
        self._description = self.create_publisher(String, 'robot_description', latched())
        self._description.publish(String(data=self._rig.description))
        self._senders = {topic: self.create_publisher(
            message_class(kind), _public(topic), DEPTH) for topic, kind in kind.topics.items()}
        self._published = dict.fromkeys(self._senders, 0)
        self._status = self.create_publisher(String, '~/status', latched())
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self.create_service(Trigger, '~/published', self._answer_published)
        self.add_on_set_parameters_callback(self._on_parameters)
        self._sim_clock = SimulatorClock(self, real_time)
        self._say('running' if self._running else 'paused')
        every(self, TICK, self._tick)
        every(self, 1.0, self._diagnose)
        self.get_logger().info(f'simulating {name}')

    def _declare(self, name, default, description, fixed=True):
        return self.declare_parameter(name, default, ParameterDescriptor(
            description=description, read_only=fixed)).value

    def _tick(self):
        """Publish what is due by now, unless time has to wait."""
        if not self._running:
            return
        rig, clock = self._rig, self._sim_clock
        goal = clock.due(rig.time) - STEP
        try:
            while (self._running and rig.time <= goal
                   and not clock.waits(rig.time)):
                clock.say(rig.time + STEP)
                self._publish(rig.advance())
                if rig.time >= rig.ends:
                    self._running = False
                    self._say('finished')
        except rclpy_implementation.RCLError:
            if self.context.ok():
                raise  # else shut down between two samples

    def _publish(self, channels):
        """Publish all samples of a step in order of time, whatever their topic."""
        due: list[tuple] = []
        for topic, channel in channels.items():
            send, count = self._senders[topic].publish, len(channel)
            stamped = _later(channel, self._sim_clock.stamp_ns(0.0))
            due += zip(channel.stamp_ns.tolist(), [send] * count, encode(stamped))
            self._published[topic] += count
        for _, send, message in sorted(due, key=lambda item: item[0]):
            send(message)

    def _say(self, words):
        self._status.publish(String(data=words))
        self._words = words

    def _answer_published(self, _, response):
        response.success = True
        response.message = json.dumps({self.resolve_topic_name(_public(topic)): count
                                       for topic, count in self._published.items()})
        return response

    def _on_parameters(self, parameters):
        for parameter in parameters:
            if parameter.name == 'running' and self._words != 'finished':
                self._running = parameter.value
                self._sim_clock.pause()
                self._say('running' if self._running else 'paused')
        return SetParametersResult(successful=True)

    def _diagnose(self):
        lag = self._sim_clock.lag() if self._running and self._sim_clock.real_time else 0.0
        level, words = (('warn', 'the computer is too slow for this rig') if lag > 10 * BURST
                        else ('ok', self._words))
        self._diagnostics.publish(diagnostics(self, level, words, {
            'time_s': round(self._rig.time, 3), 'lag_s': round(max(lag, 0.0), 4),
            'real_time_factor': round(self._sim_clock.factor(), 3),
            **{f'{topic} published': count for topic, count in self._published.items()}}))


def _later(channel, origin_ns):
    return replace(channel, stamp_ns=channel.stamp_ns + origin_ns)


def _public(topic):
    """Return the ROS name of a rig's topic: relative, what nobody measures below the node's."""
    return f'~{topic}' if topic.startswith('/true_') else topic.lstrip('/')


def _own_urdf(name):
    return _text(shared_file('urdf', f'{name}.urdf')) if name else ''


def _text(path):
    try:
        return Path(path).read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f'urdf_file {path}', found=error) from error


def _write(path, truth):
    try:
        Path(path).write_text(yaml.safe_dump(plain(truth), sort_keys=False), encoding='utf-8')
    except OSError as error:
        raise ConfigError(f'truth_file {path}', found=error) from error


def main(args: list[str] | None = None) -> int:
    """Run the node with ROS arguments ``args``, of the command line if None; return its status."""
    return run(SimulatedRig, args)
