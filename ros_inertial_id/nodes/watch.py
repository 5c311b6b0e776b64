"""
Node ``watch``: a page in the browser while the robot moves.

It shows measured against predicted torque with its band, the residual beside that of the model,
the online estimate with its standard errors, verdict and diagnostics, and has buttons
for recorder and identification.  Nothing on it moves the robot.
"""

from dataclasses import dataclass
from functools import partial
import math

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.task import Future
from std_msgs.msg import String
from std_srvs.srv import Trigger

from .conversions import every, latched, LEVELS, STATE
from .parameters import declare_options
from .running import GuardedNode, main_of
from .streams import Streams
from .watch_server import WatchServer, WatchState
from ..options import option
from ..report import watch_page

CURVES = {
    f'torque_prediction/{name}': name.rpartition('/')[2]
    for name in (
        'measured',
        'predicted',
        'residual',
        'predicted_band/lower',
        'predicted_band/upper',
    )
}
CURVES_LOOK = 0.05  # [s] between looks at the curves
NODES = {
    'prediction': 'torque_prediction',
    'identification': 'identification',
    'recorder': 'recorder',
    'excitation': 'excitation',
}  # by what they are on the page
SERVICES = {
    'record': 'recorder/start',
    'stop recording': 'recorder/stop',
    'identify': 'identification/identify',
    'estimate anew': 'identification/forget',
}
LEVEL_NAMES = {level: name for name, level in LEVELS.items()}


@dataclass(frozen=True)
class WatchOptions:
    """Where the page is served."""

    port: int = option(
        8321,
        'of the page, on this machine alone; 0 for any that is free',
        at_least=0,
        at_most=65535,
    )


class Watch(GuardedNode):
    """Gathers what the page shows and calls the services that its buttons ask for."""

    server: WatchServer | None = None  # also of a node that was refused before it was complete

    def __init__(self, **node_options):
        super().__init__('watch', **node_options)
        settings = declare_options(self, WatchOptions, settable=())
        self.state = WatchState()
        self._nodes = {
            self.resolve_topic_name(name).lstrip('/'): role for role, name in NODES.items()
        }
        self._triggers = {
            words: self.create_client(Trigger, name) for words, name in SERVICES.items()
        }
        self._streams = Streams(self, self.complain)
        for fact, topic, quality in (
            ('online', 'online_parameters', 10),
            ('identified', 'base_parameters', latched()),
        ):
            self.create_subscription(
                DiagnosticArray, f'identification/{topic}', partial(self._table, fact), quality
            )
        self.create_subscription(String, 'recorder/recording', self._bag, latched())
        self.create_subscription(DiagnosticArray, '/diagnostics', self._diagnose, 100)
        self.server = WatchServer(
            settings.port,
            watch_page(tuple(self._triggers)),
            self.state,
            self._triggers,
            self._call,
        )
        every(self, CURVES_LOOK, lambda: self._streams.hand_to(self._samples))
        every(self, 0.5, self._look_for_others)
        self.get_logger().info(f'look at {self.server.url}')

    def _samples(self, channel):
        for stamp, values in zip(channel.stamp_ns.tolist(), channel.fields['effort'].tolist()):
            self.state.add(CURVES[channel.topic], stamp * 1e-9, channel.names, values)

    def _table(self, fact, message):
        """Note name, value and standard error of every base parameter (doc/contract.md)."""
        rows = []
        for status in message.status:
            values = _values(status)
            if 'value' in values:  # gravity has none
                numbers = _finite(values['value']), _finite(values['standard_error'])
                rows.append([status.name, *numbers])
        self.state.set(fact, rows)

    def _bag(self, message):
        self.state.set('bag', message.data)

    def _diagnose(self, message):
        for status in message.status:
            name = status.name.removesuffix(STATE)
            if name in self._nodes:
                self.state.set(
                    self._nodes[name],
                    {
                        'level': LEVEL_NAMES.get(bytes(status.level), 'error'),
                        'message': status.message,
                        'values': _values(status),
                    },
                )

    def _look_for_others(self):
        self._streams.look(tuple(CURVES))
        self.state.set(
            'services',
            [words for words, client in self._triggers.items() if client.service_is_ready()],
        )

    def _call(self, words: str) -> None:
        """Call the service of a button, from a thread of the server."""
        client = self._triggers[words]
        if client.service_is_ready():
            self.state.set('answer', f'{words}: asked')
            client.call_async(Trigger.Request()).add_done_callback(partial(self._done, words))
        else:
            self.state.set('answer', f'{words}: no node offers {client.srv_name}')

    def _done(self, words: str, future: Future) -> None:
        answer = future.result()
        if answer.success:
            self.state.set('answer', f'{words}: {answer.message}')
        else:
            self.state.set('answer', f'{words}: refused, {answer.message}')

    def destroy_node(self) -> None:
        """End the page before the node."""
        if self.server is not None:
            self.server.close()
        super().destroy_node()


def _finite(text):
    """Return the number in a text, None where it is not finite."""
    number = float(text)
    if math.isfinite(number):
        return number
    return None


def _values(status):
    return {pair.key: pair.value for pair in status.values}


main = main_of(Watch, __name__)
