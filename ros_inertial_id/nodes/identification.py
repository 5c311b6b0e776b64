"""
Node ``identification``: from the last recording to a model that every controller can read.

``~/identify`` works on the parameter ``recording`` or, when that is empty, on the bag that the
recorder finished last; the answer comes when the model is published.  ``~/payload`` weighs what
the identified arm carries in such a recording.  The model goes to ``~/identified_model`` (YAML),
``~/base_parameters`` (a table for controllers) and, where it is physically consistent,
``~/robot_description`` (URDF), all latched.  With ``online`` the estimate is also made while
the robot moves.
"""

from dataclasses import asdict, dataclass
import pathlib
import threading
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
import yaml

from .conversions import latched
from .guarded import GuardedNode
from .model_topics import base_table, identified_urdf
from .online import Online
from .parameters import check_mounting, declare_options, read_options
from .running import run
from ..api.identify import identify
from ..checks.finding import DO_NOT_USE
from ..errors import ConfigError, InertialIdError, RecordingError
from ..identification.model.files import make_folder, read_description, read_text
from ..identification.model.identified_model import IdentifiedModel, plain
from ..identification.settings import load_options, options_class
from ..measurement.bags.bag import read_bag
from ..methods import DEFAULT_METHOD, METHODS
from ..options import option
from ..procedures.payload import identify_payload
from ..report import summary
from ..report.knowledge import fits


@dataclass(frozen=True)
class NodeOptions:
    """Where the data are and where the results go."""

    method: str = option(DEFAULT_METHOD, 'method of identification', choices=tuple(METHODS))
    config: str = option('', 'YAML with a block named as the method; its values are defaults')
    recording: str = option('', 'bag to learn from; empty: the one the recorder finished last')
    validation: str = option('', 'bag to validate with; empty: none')
    urdf_file: str = option('', 'robot description; empty: the one in the bag')
    bare_model: str = option('', 'model.yaml of the arm without load, for ~/payload; empty: the '
                             'one identified last')
    out: str = option('', 'folder for model.yaml and report.html; empty: not written')
    online: bool = option(False, 'estimate while the robot moves, on ~/online_parameters')
    topics: tuple[str, ...] = option((), 'topics to learn from online; empty: those the '
                                     'options name, else joint_states')
    forget: float = option(0.0, 'time constant with which the online estimate forgets; 0: never',
                           unit='s', at_least=0.0)
    drift_model: str = option('', 'model.yaml from which changes of friction and load, seen '
                              'online, go to /diagnostics; empty: none')


class Identification(GuardedNode):
    """Identifies in a thread of its own, so that other calls are answered meanwhile."""

    _worker = None  # also of a node that was refused before it was complete

    def __init__(self, **node_options):
        super().__init__('identification', **node_options)
        own = declare_options(self, NodeOptions, settable=(
            'recording', 'validation', 'urdf_file', 'bare_model', 'out'))
        _, defaults = load_options(own.config, own.method)
        self._kind = options_class(own.method)
        options = declare_options(self, self._kind, defaults,
                                  check=lambda new: check_mounting(new.mounting))
        self._last, self._identified = '', None
        self._worker, self._ended = None, False
        self._state: tuple[str, str, dict[str, Any]] = ('ok', 'no model yet', {})
        self._model = self.create_publisher(String, '~/identified_model', latched())
        self._table = self.create_publisher(Float64MultiArray, '~/base_parameters', latched())
        self._urdf = self.create_publisher(String, '~/robot_description', latched())
        self._payload = self.create_publisher(String, '~/payload', latched())
        self.create_subscription(String, 'recorder/recording', self._remember, latched())
        # A group of its own: an unfinished answer blocks all other callbacks of its group.
        group = ReentrantCallbackGroup()
        for name, work in (('identify', self._identify), ('payload', self._weigh)):
            self.create_service(Trigger, f'~/{name}', self._answering(work),
                                callback_group=group)
        urdf = read_description(own.urdf_file) if own.online and own.urdf_file else ''
        reference = (IdentifiedModel.from_yaml(read_text(own.drift_model), own.drift_model)
                     if own.drift_model else None)
        self._online = (Online(self, own.method, own.topics, urdf, options,
                               {'forget': own.forget, 'reference': reference})
                        if own.online else None)
        self.report(self._health)
        self.get_logger().info(f"method {own.method}, configuration {own.config or 'none'}; "
                               'call ~/identify')

    def _health(self):
        """Return (level, words, {key: value}) for diagnostics."""
        level, words, values = self._state
        if self._online:
            worse, about, more = self._online.health()
            values = {**values, **more}
            if worse == 'error' or worse == 'warn' and level == 'ok':
                level, words = worse, about
        return level, words, values

    def _remember(self, message):
        self._last = message.data

    def _answering(self, work):
        """Return a service callback that answers with the words of ``work`` in a thread."""
        async def answer(_, response):
            if self._worker is not None and self._worker.is_alive():
                response.success = False
                response.message = 'an identification is under way; wait for its answer'
                return response
            done = Future(executor=self.executor)
            self._worker = threading.Thread(target=self._work, args=(work, done))
            self._worker.start()
            response.success, response.message = await done
            return response

        return answer

    def _work(self, work, done):
        """Work, publish and answer; every failure becomes an answer, never an end of spin."""
        self._state = ('ok', 'identifying', {})
        try:
            answer = True, work()
        except InertialIdError as error:
            answer = False, str(error)
        except Exception as error:  # a fault of ours: say so and stay alive
            self.get_logger().error(f'{type(error).__name__}: {error}')
            answer = False, f'internal error, please report: {type(error).__name__}: {error}'
        if not answer[0]:
            self._state = ('error', answer[1], {})
            self.get_logger().error(answer[1])
        done.set_result(answer)

    def _bag(self, own):
        path = own.recording or self._last
        if not path:
            raise RecordingError('no recording to identify from',
                                 do='record one, or set the parameter recording')
        return path

    def _weigh(self):
        """Weigh what the arm of the model carries in the recording; publish it."""
        own = read_options(self, NodeOptions)
        model = (IdentifiedModel.from_yaml(read_text(own.bare_model), own.bare_model)
                 if own.bare_model else self._identified)
        if model is None:
            raise ConfigError('no model of the bare arm', do='identify it first, or set '
                              'bare_model: to its model.yaml')
        path = self._bag(own)
        self.get_logger().info(f'weighing the load in {path}')
        load = identify_payload(model, [read_bag(path, progress=self._go_on)])
        self._payload.publish(String(data=yaml.safe_dump(plain(load.to_dict()))))
        self._state = ('ok', 'payload published', {'mass [kg]': f'{load.mass:.4g}'})
        return (f'{load.link} carries {load.mass:.4f} +- {load.mass_error:.4f} kg at '
                f'{load.center_of_mass.round(4).tolist()} m in {load.frame}')

    def _identify(self):
        own = read_options(self, NodeOptions)
        options = read_options(self, self._kind)
        path = self._bag(own)
        urdf = read_description(own.urdf_file) if own.urdf_file else ''
        if own.out:
            make_folder(own.out)
        self.get_logger().info(f'identifying from {path}')
        bags = [read_bag(bag, progress=self._go_on) for bag in (path, own.validation) if bag]
        result = identify(bags[:1], validate=bags[1:], urdf=urdf, progress=self._go_on,
                          method=own.method, **asdict(options))
        self._publish(result.model.identified)
        if own.out:
            result.model.save(pathlib.Path(own.out, 'model.yaml'))
            result.report(pathlib.Path(own.out, 'report.html'))
        return result.summary()

    def _go_on(self, *_):
        """Leave a long computation when the node is asked to end."""
        if self._ended:
            raise RecordingError('the node was shut down while it identified')

    def _publish(self, model):
        self._identified = model
        self._model.publish(String(data=model.to_yaml()))
        self._table.publish(base_table(model))
        urdf = identified_urdf(model)
        if urdf:
            self._urdf.publish(String(data=urdf))
        statistics = model.statistics
        fit, verdict = fits(model)['training']['filtered'], statistics['verdict']
        useless = verdict['word'] == DO_NOT_USE
        words = '; '.join([f"model published, verdict: {verdict['word']}", *verdict['reasons']])
        self._state = ('warn' if useless else 'ok', words, {
            'base parameters': statistics['rank'],
            'determined': sum(b['determined'] for b in model.base),
            'condition number': f"{statistics['condition_number']:.4g}",
            'training residual [%]': f"{fit['relative_percent']:.3f}"})
        for line in summary(model).split('\n'):
            self.get_logger().info(line)

    def destroy_node(self) -> None:
        """Wait for the worker: a thread must not outlive the middleware."""
        self._ended = True
        if self._worker is not None:
            self._worker.join()
        super().destroy_node()


def main() -> int:
    """Run the node; return the exit status of its process."""
    return run(Identification, coroutines=True)
