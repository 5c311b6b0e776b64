"""
Node ``identification``: from the last recording to a model that every controller can read.

``~/identify`` works on the parameter ``recording`` or, when that is empty, on the bag that the
recorder finished last; the answer comes when the model is published.  ``~/payload`` weighs what
the identified arm carries in such a recording.  The model goes to ``~/identified_model`` (YAML),
``~/base_parameters`` (a table for controllers) and, where it is physically consistent,
``~/robot_description`` (URDF), the load to ``~/payload``, all latched.  With ``online`` the
estimate is also made while the robot moves.
"""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped
from std_msgs.msg import String

from .conversions import latched, subscribe, table
from .long_work import CANCELLED, LongWork
from .model_topics import band_rows, base_rows, identified_urdf, inertia_message
from .online import Online, topics_of
from .parameters import check_mounting, ConfiguredOptions, declare_options, driver_of, read_options
from .running import GuardedNode, main_of
from ..api.identify import identify
from ..checks.finding import DO_NOT_USE
from ..dynamics.friction import check_laws
from ..errors import ConfigError, RecordingError
from ..identification.files import make_folder, read_description
from ..identification.settings import load_options, options_class
from ..measurement.bags.bag import read_bag
from ..methods import DEFAULT_METHOD, METHODS
from ..methods.serial_arm import friction_laws, FrictionOptions
from ..options import option, topic_option
from ..procedures.bag_paths import find_bags
from ..procedures.online import OnlineIdentification
from ..procedures.payload import identify_payload
from ..report import summary
from ..report.knowledge import fits


@dataclass(frozen=True)
class NodeOptions(ConfiguredOptions):
    """Where the data are and where the results go."""

    method: str = option(DEFAULT_METHOD, 'method of identification', choices=tuple(METHODS))
    recording: str = option(
        '',
        'bag to learn from, or a folder or pattern of several; empty: the '
        'one the recorder finished last',
    )
    validation: str = option('', 'bag, folder or pattern to validate with; empty: none')
    urdf_file: str = option('', 'robot description; empty: the one in the bag')
    out: str = option('', 'folder for model.yaml and report.html; empty: not written')
    online: bool = option(False, 'estimate while the robot moves, on ~/online_parameters')
    topics: tuple[str, ...] = topic_option(
        (), 'topics to learn from online; empty: those the options name, else the joint states'
    )
    forget: float = option(
        0.0,
        'time constant with which the online estimate forgets; 0: never',
        unit='s',
        at_least=0.0,
    )


class Identification(GuardedNode):
    """Identifies in the thread of its services, so that it goes on with the rest meanwhile."""

    def __init__(self, **node_options):
        super().__init__('identification', **node_options)
        self._work = LongWork(self, self._have_failed)
        self._online: Online | None = None
        settings = self._settings = declare_options(
            self, NodeOptions, settable=('recording', 'validation', 'urdf_file', 'out')
        )
        self._description = _description(settings)
        _, defaults = load_options(settings.config, settings.method, description=self._description)
        self._kind = options_class(settings.method)
        options = declare_options(self, self._kind, defaults, check=self._check)
        self._last, self._identified = '', None
        self._state: tuple[str, str, dict[str, Any]] = ('ok', 'no model yet', {})
        self._model = self.create_publisher(String, '~/identified_model', latched())
        self._table = self.create_publisher(DiagnosticArray, '~/base_parameters', latched())
        self._band = self.create_publisher(DiagnosticArray, '~/prediction_band', latched())
        self._urdf = self.create_publisher(String, '~/robot_description', latched())
        self._payload = self.create_publisher(InertiaStamped, '~/payload', latched())
        self.create_subscription(String, 'recorder/recording', self._remember, latched())
        subscribe(self, String, 'robot_description', self._describe, latched())
        self._work.offer('identify', self._identify)
        self._work.offer('payload', self._weigh)
        self.offer('~/cancel', self._work.cancel)
        joint_states = driver_of(self, settings.config).joint_states
        if settings.online:
            self._online = Online(
                self,
                settings.topics or topics_of(options, joint_states),
                self._description,
                lambda urdf: OnlineIdentification(urdf, options, settings.method, settings.forget),
            )
        self.report(self._health)
        self.get_logger().info(
            f'method {settings.method}, configuration {settings.config or "none"}; call ~/identify'
        )

    def _health(self):
        """Return (level, words, {key: value}) for diagnostics."""
        level, words, values = self._state
        if self._work.busy:
            level, words, values = 'ok', self._work.words, self._work.values
        if self._online is None:
            return level, words, values
        online_level, online_words, online_values = self._online.health()
        values = {**values, **online_values}
        if online_level == 'error' or (online_level, level) == ('warn', 'ok'):
            return online_level, online_words, values
        return level, words, values

    def _check(self, options):
        """Raise InertialIdError for options that cannot work with any robot."""
        check_mounting(options.mounting)
        if isinstance(options, FrictionOptions):
            check_laws(friction_laws(options), loads=True)

    def _describe(self, message):
        if not self._settings.urdf_file:
            self._description = message.data
            if self._online:
                self._online.describe(message.data)

    def _remember(self, message):
        self._last = message.data

    def _have_failed(self, words):
        level = 'error'
        if words == CANCELLED:
            level = 'warn'
        self._state = level, words, {}

    def _bag(self, settings):
        path = settings.recording or self._last
        if not path:
            raise RecordingError(
                'no recording to identify from', do='record one, or set the parameter recording'
            )
        return path

    def _weigh(self):
        """Weigh what the arm of the model carries in the recording; publish it."""
        settings = read_options(self, NodeOptions)
        model = self._identified
        if model is None:
            raise ConfigError('no model of the bare arm', do='call ~/identify first')
        path = self._bag(settings)
        self.get_logger().info(f'weighing the load in {path}')
        load = identify_payload(model, [read_bag(path, progress=partial(self._work.step, 'read'))])
        message = inertia_message(load)
        message.header.stamp = self.get_clock().now().to_msg()
        self._payload.publish(message)
        self._state = (
            'ok',
            'payload published',
            {'mass [kg]': f'{load.mass:.4g}', 'standard error [kg]': f'{load.mass_error:.2g}'},
        )
        return load.to_text()

    def _identify(self):
        settings = read_options(self, NodeOptions)
        options = read_options(self, self._kind)
        path = self._bag(settings)
        urdf = _description(settings)
        if settings.out:
            make_folder(settings.out)
        self.get_logger().info(f'identifying from {path}')
        bags = self._read(path)
        validation_bags = []
        if settings.validation:
            validation_bags = self._read(settings.validation)
        result = identify(
            bags,
            validate=validation_bags,
            urdf=urdf,
            progress=self._work.step,
            method=settings.method,
            **asdict(options),
        )
        self._publish(result.model.identified)
        if settings.out:
            result.model.save(Path(settings.out, 'model.yaml'))
            result.report(Path(settings.out, 'report.html'))
        return result.summary()

    def _read(self, path):
        """Return the Recordings of a bag, or of a folder or pattern of several."""
        progress = partial(self._work.step, 'read')
        return [read_bag(bag, progress=progress) for bag in find_bags([path])]

    def _publish(self, model):
        self._identified = model
        self._model.publish(String(data=model.to_yaml()))
        gravity = model.mounting['gravity_base'][0]
        rows = base_rows(model.base, model.parameters, model.values, gravity)
        self._table.publish(table(self, rows))
        self._band.publish(table(self, band_rows(model)))
        urdf = identified_urdf(model)
        if urdf:
            self._urdf.publish(String(data=urdf))
        statistics = model.statistics
        fit, verdict = fits(model)['training']['filtered'], statistics['verdict']
        level = 'ok'
        if verdict['word'] == DO_NOT_USE:
            level = 'warn'
        words = '; '.join([f'model published, verdict: {verdict["word"]}', *verdict['reasons']])
        self._state = (
            level,
            words,
            {
                'base parameters': statistics['rank'],
                'determined': sum(b['determined'] for b in model.base),
                'condition number': f'{statistics["condition_number"]:.4g}',
                'training residual [%]': f'{fit["relative_percent"]:.3f}',
            },
        )
        for line in summary(model).split('\n'):
            self.get_logger().info(line)

    def destroy_node(self) -> None:
        """End what is under way before the node."""
        self._work.close()
        super().destroy_node()


def _description(options: NodeOptions) -> str:
    """Return the text of the robot description that is given, '' for none."""
    if not options.urdf_file:
        return ''
    return read_description(options.urdf_file)


main = main_of(Identification, __name__)
