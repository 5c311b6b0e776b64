"""
Node ``torque_prediction``: the identified model on the running robot.

Publishes what the model predicts for every sample of the motion (joint states, or whatever its
method reads), at the stamp of that sample and a fixed small lag behind it, and the residual;
says so when the motion leaves what was identified.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from .conversions import (
    advertise,
    DEPTH,
    every,
    first_said,
    latched,
    publish_joint_states,
    subscribe,
)
from .external_torque import ExternalTorque, ExternalTorqueOptions
from .parameters import check_mounting, ConfiguredOptions, declare_options, driver_of
from .prediction_health import PredictionHealth
from .running import GuardedNode, main_of
from .streams import Streams
from ..checks.finding import DO_NOT_USE
from ..dynamics.robot_model import gravity_from_mounting
from ..errors import ConfigError, InertialIdError, RobotModelError
from ..identification.files import read_text
from ..identification.identified_model import IdentifiedModel
from ..identification.judge.prediction import Band, band_for, live_prediction, TWO_SIGMA
from ..identification.prepare.mounting import check_robot, imu_gravity
from ..identification.settings import prediction_options
from ..measurement.joints.commands import command_topics
from ..measurement.recording import Recording
from ..measurement.summary import Summary
from ..methods import AnyMethod, METHODS, methods_of
from ..methods.capabilities import Live
from ..methods.contract import LiveSource, LiveTorques
from ..options import option, topic_option
from ..procedures.stream_watch import StreamWatch

MODEL = 'identification/identified_model'  # latched topic
PARTS = 4  # of the lag, of which a batch may take one: the others are the filter's
AVERAGE = 1.0  # [s] of samples of the base IMU behind a direction of gravity
TURNED = np.deg2rad(1.0)  # a smaller change is no new mounting
OUTPUTS = ('predicted', 'residual', 'measured')  # topics, and attributes of LiveTorques
BAND = tuple(f'predicted_band/{name}' for name in ('lower', 'upper', 'standard_deviation'))


@dataclass(frozen=True)
class PredictionOptions(ConfiguredOptions, ExternalTorqueOptions):
    """Which model, and how late a prediction may be."""

    model_file: str = option('', 'model.yaml; empty: wait for the model on the topic')
    mounting: str = option(
        '',
        'how the robot is mounted now, may be changed while it runs; imu: '
        'as base_imu_topic says; empty: as identified',
    )
    base_imu_topic: str = topic_option('', 'topic of an IMU on the base, for mounting: imu')
    lag: float = option(
        0.1,
        'after how long a sample is predicted, the wait for the others of '
        'its period included; less lag, more noise in the acceleration; 0: none, '
        'by a fit to the past alone, whose noise is said; where IMUs are '
        'fused only for what comes late',
        unit='s',
        at_least=0.0,
        at_most=2.0,
    )
    period: float = option(
        0.02,
        'how often predictions are computed; within a lag at least four times',
        unit='s',
        at_least=0.001,
        at_most=1.0,
    )


class TorquePrediction(GuardedNode):
    """Predicts in small batches; one thread, no queue of its own."""

    # Of the first model on, as ``_live``.
    _method: AnyMethod
    _torques: Callable[[Any], LiveTorques]
    _band: Callable[[tuple[str, ...]], Band]
    _health: PredictionHealth
    _watch: StreamWatch

    def __init__(self, **node_options):
        super().__init__('torque_prediction', **node_options)
        self._options = declare_options(
            self, PredictionOptions, settable=('mounting',), check=_check
        )
        self._joint_states = driver_of(self, self._options.config).joint_states
        self._gravity: np.ndarray | None = None  # by the base IMU
        self._model: IdentifiedModel | None = None
        self._robot: Any = None
        self._description = ''
        self._live: LiveSource[Any] | None = None
        self._refusal = 'no model yet'
        self._streams = Streams(self, self.complain)
        self._outputs = {
            name: advertise(self, JointState, f'~/{name}', DEPTH) for name in OUTPUTS + BAND
        }
        self._external = (
            ExternalTorque(self, self._options) if self._options.external_torque else None
        )
        subscribe(self, String, 'robot_description', self._take_description, latched())
        if self._options.model_file:
            self._model = IdentifiedModel.from_yaml(
                read_text(self._options.model_file), self._options.model_file
            )
            if self._options.mounting == 'imu':  # is waited for
                self._anew()
            else:
                self._accept(self._model)
        else:
            self.create_subscription(String, MODEL, self._take_model, latched())
            self.get_logger().info(f'waiting for a model on {MODEL}')
        if self._options.base_imu_topic:
            self._imu = Streams(self, self.complain)
            every(self, AVERAGE, self._look_at_imu)
        self.add_post_set_parameters_callback(self._have_set)
        every(self, _period(self._options), self._predict)
        every(self, 0.2, self._look_for_publishers)
        self.report(self._report)

    def _have_set(self, parameters):
        """Predict for the new mounting, or say which parameters are not known for it."""
        for parameter in parameters:
            if parameter.name == 'mounting':
                self._options = replace(self._options, mounting=parameter.value)
                self._anew()

    def _look_at_imu(self):
        self._imu.hand_to(self._turn)
        self._imu.look((self._options.base_imu_topic,))

    def _turn(self, channel):
        """Take a new direction of gravity from a second of the base IMU."""
        gravity = self._robot and imu_gravity(Recording({channel.topic: channel}), self._robot)
        if (
            gravity is None
            or self._gravity is not None
            and np.linalg.norm(gravity - self._gravity) < TURNED * np.linalg.norm(gravity)
        ):
            return
        self._gravity = gravity
        if self._options.mounting == 'imu':
            self._anew()

    def _take_description(self, message):
        self._description = message.data
        self._anew()

    def _take_model(self, message):
        self._accept(IdentifiedModel.from_yaml(message.data, MODEL))

    def _anew(self):
        """Accept the model again, for what has changed around it."""
        if self._model is not None:
            self.guarded(self._accept, 'model')(self._model)

    def fault(self, words: str) -> None:
        """Say what went wrong and predict no more until another model or description comes."""
        self._refusal, self._live = words, None
        super().fault(f'no prediction: {words}')

    def _accept(self, model):
        """Start predicting with a model; raise InertialIdError when it does not fit."""
        self._model, self._live = model, None  # another description may fit it
        self._live, self._band = self._source(model), cache(partial(band_for, model))
        self._refusal, self._health = '', PredictionHealth(model)
        self._watch = StreamWatch(
            self._robot.urdf, command_topics(prediction_options(model)), aside=True
        )
        self._look_for_publishers()
        self.get_logger().info(
            f'predicting {", ".join(self._health.promised)} with the model of '
            f'{model.provenance["created"]}, lag {self._options.lag} s'
        )
        verdict = model.statistics.get('verdict')
        if verdict and verdict['word'] == DO_NOT_USE:
            self.get_logger().warning(
                f'the verdict on this model is {DO_NOT_USE}: {"; ".join(verdict["reasons"])}'
            )

    def _source(self, model):
        """Return the LiveSource of the robot of a model, mounted as it is; note both."""
        method = METHODS[model.method]
        if not isinstance(method, Live):
            raise RobotModelError(
                'nothing to predict live',
                found=f'a model of {model.method!r}',
                exists=methods_of(Live),
            )
        own, options = self._options, prediction_options(model)
        options = replace(
            options, joint_states_topic=options.joint_states_topic or self._joint_states
        )
        gravity, urdf = model.mounting['gravity_base'][0], self._description or model.robot['urdf']
        if own.mounting == 'imu' and self._gravity is None:
            self._robot = method.build(urdf, options, gravity)  # for the frame of the IMU
            raise RobotModelError(
                'the mounting is not known yet',
                expected=f'a second at rest on {own.base_imu_topic} (sensor_msgs/msg/Imu)',
            )
        if own.mounting:
            gravity = gravity_from_mounting(own.mounting, self._gravity, options.gravity_magnitude)
        self._method, self._robot = method, method.build(urdf, options, gravity)
        check_robot(model, self._robot)
        self._torques = live_prediction(model, self._robot)
        if self._external is not None:
            self._external.start(model, self._robot, options)
        # What the oldest sample of a batch waits for the newest is not the filter's.
        ahead = own.lag - _period(own) if own.lag else 0.0
        return method.source(self._robot, options, ahead, Summary.of(model.preprocessing[0]))

    def _look_for_publishers(self):
        """Subscribe to what is needed; before there is a model, to the likeliest."""
        self._streams.look(self._live.topics if self._live else (self._joint_states,))

    def _take(self, channel):
        """Give the method what has come; what came before the model is dropped."""
        if self._live is None:
            return
        self._watch.add(channel)
        if channel.topic in self._live.topics:
            if self._external is not None:
                self._external.add(channel)
            self._live.add(channel)

    def _predict(self):
        self._streams.hand_to(self._take)
        live = self._live
        if live is None:
            return
        try:
            taken = live.take()
        except InertialIdError as error:  # of these samples: a mechanism that cannot be closed
            return self.complain(str(error))
        if taken is None or live.origin_ns is None:
            return
        stamps, state = taken
        seen = self._method.validity_range(state, self._robot)
        torques = self._torques(state).at(stamps, state.t)
        self._health.account(torques, stamps, seen)
        stamp_ns = live.origin_ns + np.round(stamps * 1e9).astype(np.int64)
        listened = {
            name for name, publisher in self._outputs.items() if publisher.get_subscription_count()
        }
        efforts = {name: getattr(torques, name) for name in OUTPUTS}
        if listened.intersection(BAND):
            half, _ = self._band(torques.names).at(seen)
            half = np.column_stack([np.interp(stamps, state.t, column) for column in half.T])
            efforts |= zip(
                BAND, (torques.predicted - half, torques.predicted + half, half / TWO_SIGMA)
            )
        for name, effort in efforts.items():
            if name in listened:
                publish_joint_states(self._outputs[name], stamp_ns, torques.names, effort=effort)

    def _report(self):
        """Return (level, words, {key: value}) for diagnostics."""
        live = self._live
        if live is None:
            return 'error', self._refusal, {}
        level, words, values = self._health.report()
        level, words = first_said(
            ('warn', self._streams.silent()),
            ('warn', self._streams.slow()),
            ('warn', '; '.join(found.says for found in self._watch.findings())),
            (level, words),
        )
        if self._options.lag == 0.0:
            values['noise of the acceleration, times that of 0.1 s lag'] = (
                f'{live.acceleration_noise_factor:.3g}'
            )
        return level, words, {**values, **self._streams.values(), 'gaps': live.gaps}


def _period(options):
    """Return how often predictions are computed [s]: a batch takes a part of the lag only."""
    return min(options.period, options.lag / PARTS) if options.lag else options.period


def _check(options):
    """Raise ConfigError for a mounting that is none, or an IMU without its topic."""
    if options.mounting == 'imu' and not options.base_imu_topic:
        raise ConfigError('mounting: imu', expected='base_imu_topic:', found='none')
    check_mounting(options.mounting)


main = main_of(TorquePrediction, __name__)
