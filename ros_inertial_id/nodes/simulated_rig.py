"""
Node ``simulated_rig``: a rig to try everything on, moved by MuJoCo, seen by its sensors.

``rig`` is slider_crank (markers, IMU, crank torque, encoder), wrist_sensor (joint states, wrench
and IMU of a payload) or quadruped (joint states, IMU and forces of the feet).
Owns the time, which it publishes on ``/clock``: run all other nodes with use_sim_time.  Publishes
every sample and the latched ``robot_description``; what is to be predicted, without noise, goes to
``~/true_...``.  While ``running`` is false its time stands still.
"""

from dataclasses import dataclass, replace

from .conversions import DEPTH, every, message_class
from .parameters import declare_options
from .running import main_of
from .simulator_clock import Simulator, SimulatorOptions, WALL_TICK
from ..identification.files import read_text
from ..measurement.bags.messages import encode
from ..options import option
from ..plugins import SIMULATED_RIGS
from ..share import shared_file


@dataclass(frozen=True)
class SimulatedRigOptions(SimulatorOptions):
    """Which rig, and whether it moves."""

    rig: str = option('slider_crank', 'which rig', choices=tuple(SIMULATED_RIGS))
    running: bool = option(True, 'false: time stands still; may be set at any time')
    seed: int = option(0, 'seed of everything random', at_least=0)


class SimulatedRig(Simulator):
    """Publishes what the rig's sensors say, on time."""

    def __init__(self, **node_options):
        super().__init__('simulated_rig', **node_options)
        settings = declare_options(self, SimulatedRigOptions, settable=('running',))
        kind = SIMULATED_RIGS[settings.rig]
        urdf = read_text(shared_file('urdf', f'{kind.urdf}.urdf'))
        self._rig = kind(urdf, settings.seed)
        self._running = settings.running
        self.begin(
            settings,
            urdf,
            {'rig': settings.rig, 'parameters': self._rig.truth, 'seed': settings.seed},
        )
        self._senders = {
            topic: self.create_publisher(message_class(kind), _public(topic), DEPTH)
            for topic, kind in kind.topics.items()
        }
        self._published = dict.fromkeys(self._senders, 0)
        self.add_post_set_parameters_callback(self._have_set)
        every(self, WALL_TICK, self._tick)
        self.report(self._health)
        self.get_logger().info(f'simulating {settings.rig}')

    def _tick(self):
        """Publish what is due by now, unless time has to wait."""
        rig = self._rig
        if self._running:
            for _ in self._sim_clock.steps(rig.time + rig.step, rig.step):
                self._publish(rig.advance())

    def _publish(self, channels):
        """Publish all samples of a step in order of time, whatever their topic."""
        due: list[tuple] = []
        for topic, channel in channels.items():
            send, count = self._senders[topic].publish, len(channel)
            stamped = replace(channel, stamp_ns=channel.stamp_ns + self._sim_clock.stamp_ns(0.0))
            due += zip(channel.stamp_ns.tolist(), [send] * count, encode(stamped))
            self._published[topic] += count
        for _, send, message in sorted(due, key=lambda item: item[0]):
            send(message)

    def _have_set(self, parameters):
        for parameter in parameters:
            if parameter.name == 'running':
                self._running = parameter.value
                self._sim_clock.pause()

    def _health(self):
        counts = {
            f'{self.resolve_topic_name(_public(topic))} count': count
            for topic, count in self._published.items()
        }
        words = 'paused'
        if self._running:
            words = 'running'
        return 'ok', words, {'time_s': round(self._rig.time, 3), **counts}


def _public(topic):
    """Return the ROS name of a rig's topic: relative, what nobody measures below the node's."""
    if topic.startswith('/true_'):
        return f'~{topic}'
    return topic.lstrip('/')


main = main_of(SimulatedRig, __name__)
