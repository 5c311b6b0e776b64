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
from .live_mounting import check_live_mounting, LiveMounting, LiveMountingOptions
from .parameters import ConfiguredOptions, declare_options, driver_of
from .prediction_health import NO_MODEL, PredictionHealth
from .running import GuardedNode, main_of
from .streams import Streams
from ..checks.finding import DO_NOT_USE
from ..errors import InertialIdError, RobotModelError
from ..identification.files import read_model_text
from ..identification.identified_model import IdentifiedModel
from ..identification.judge.prediction import Band, band_for, live_prediction, TWO_SIGMA
from ..identification.prepare.mounting import check_robot
from ..identification.settings import prediction_options
from ..measurement.joints.commands import command_topics
from ..measurement.recording import Channel
from ..measurement.summary import Summary
from ..methods import METHODS, methods_of
from ..methods.capabilities import Live
from ..methods.contract import LiveSource, LiveTorques
from ..options import option
from ..procedures.stream_watch import StreamWatch

MODEL = 'identification/identified_model'  # latched topic
PARTS = 4  # of the lag, of which a batch may take one: the others are the filter's
OUTPUTS = ('predicted', 'residual', 'measured')  # topics, and attributes of LiveTorques
BAND = tuple(f'predicted_band/{name}' for name in ('lower', 'upper', 'standard_deviation'))


@dataclass(frozen=True)
class PredictionOptions(ConfiguredOptions, LiveMountingOptions, ExternalTorqueOptions):
    """Which model, and how late a prediction may be."""

    model_file: str = option('', 'model.yaml; empty: wait for the model on the topic')
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


@dataclass(frozen=True)
class LiveModel:
    """
    A model at work on its robot, made anew for another model, description or mounting.

    source : of its state (Live.source); validity_range : state -> range of it that was identified
    torques : state -> LiveTorques of what is predicted; band : joint names -> Band
    """

    source: LiveSource[Any]
    validity_range: Callable[[Any], Any]
    torques: Callable[[Any], LiveTorques]
    band: Callable[[tuple[str, ...]], Band]
    health: PredictionHealth
    watch: StreamWatch


class TorquePrediction(GuardedNode):
    """Predicts in small batches; one thread, no queue of its own."""

    def __init__(self, **node_options):
        super().__init__('torque_prediction', **node_options)
        settings = self._options = declare_options(
            self, PredictionOptions, settable=('mounting',), check=check_live_mounting
        )
        self._joint_states = driver_of(self, settings.config).joint_states
        self._mounting = LiveMounting(self, settings, self._reload_model)
        self._model: IdentifiedModel | None = None
        self._description = ''
        self._live: LiveModel | None = None
        self._refusal = ('warn', NO_MODEL)  # level, words while there is no model
        self._streams = Streams(self, self.complain)
        self._outputs = {
            name: advertise(self, JointState, f'~/{name}', DEPTH) for name in OUTPUTS + BAND
        }
        self._external: ExternalTorque | None = None
        if settings.external_torque:
            self._external = ExternalTorque(self, settings)
        subscribe(self, String, 'robot_description', self._take_description, latched())
        self._begin(settings.model_file)
        self.add_post_set_parameters_callback(self._have_set)
        every(self, _period(settings), self._predict)
        every(self, 0.2, self._look_for_publishers)
        self.report(self._report)

    def _begin(self, model_file):
        """Begin with the model of a file, which has to fit, or wait for one on its topic."""
        if not model_file:
            self.create_subscription(String, MODEL, self._take_model, latched())
            self.get_logger().info(f'waiting for a model on {MODEL}')
            return
        self._model = IdentifiedModel.from_yaml(read_model_text(model_file), model_file)
        if self._mounting.awaited:
            self._reload_model()
        else:
            self._accept(self._model)

    def _have_set(self, parameters):
        """Predict for the new mounting, or say which parameters are not known for it."""
        for parameter in parameters:
            if parameter.name == 'mounting':
                self._mounting.change(parameter.value)
                self._reload_model()

    def _take_description(self, message):
        self._description = message.data
        self._reload_model()

    def _take_model(self, message):
        self._accept(IdentifiedModel.from_yaml(message.data, MODEL))

    def _reload_model(self):
        """Accept the model again, for what has changed around it."""
        if self._model is not None:
            self.guarded(self._accept, 'model')(self._model)

    def fault(self, words: str) -> None:
        """Say what went wrong and predict no more until another model or description comes."""
        self._refusal, self._live = ('error', words), None
        super().fault(f'no prediction: {words}')

    def _accept(self, model):
        """Start predicting with a model; raise InertialIdError when it does not fit."""
        self._model, self._live = model, None  # another description may fit it
        self._live = self._live_model(model)
        self._look_for_publishers()
        self.get_logger().info(
            f'predicting {", ".join(self._live.health.expected)} with the model of '
            f'{model.provenance["created"]}, lag {self._options.lag} s'
        )
        verdict = model.statistics.get('verdict')
        if verdict and verdict['word'] == DO_NOT_USE:
            self.get_logger().warning(
                f'the verdict on this model is {DO_NOT_USE}: {"; ".join(verdict["reasons"])}'
            )

    def _live_model(self, model):
        """Return the LiveModel of a model and its robot, mounted as it is."""
        method = METHODS[model.method]
        if not isinstance(method, Live):
            raise RobotModelError(
                'nothing to predict live',
                found=f'a model of {model.method!r}',
                exists=methods_of(Live),
            )
        options = prediction_options(model)
        commands = command_topics(options)
        if not options.joint_states_topic:
            options = replace(options, joint_states_topic=self._joint_states)
        robot = self._mounting.robot(
            partial(method.build, self._description or model.robot['urdf'], options),
            model.mounting['gravity_base'][0],
            options.gravity_magnitude,
        )
        check_robot(model, robot)
        torques = live_prediction(model, robot)
        if self._external is not None:
            self._external.start(model, robot, options)
        summary = Summary.of(model.preprocessing[0])
        return LiveModel(
            source=method.source(robot, options, _ahead(self._options), summary),
            validity_range=partial(method.validity_range, robot=robot),
            torques=torques,
            band=cache(partial(band_for, model)),
            health=PredictionHealth(model, robot),
            watch=StreamWatch(robot.urdf, commands, aside=True),
        )

    def _look_for_publishers(self):
        """Subscribe to what is needed; before there is a model, to the likeliest."""
        if self._live is None:
            self._streams.look((self._joint_states,))
        else:
            self._streams.look(self._live.source.topics)

    def _take(self, channel: Channel) -> None:
        """Give the method what has come; what came before the model is dropped."""
        if self._live is None:
            return
        self._live.watch.add(channel)
        if channel.topic in self._live.source.topics:
            if self._external is not None:
                self._external.add(channel)
            self._live.source.add(channel)

    def _predict(self):
        """Predict all samples that the filter can output now."""
        self._streams.hand_to(self._take)
        live = self._live
        if live is None:
            return
        try:
            taken = live.source.take()
        except InertialIdError as error:  # of these samples: a mechanism that cannot be closed
            self.complain(str(error))
            return
        if taken is None or live.source.origin_ns is None:
            return
        stamps, state = taken
        ranges = live.validity_range(state)
        torques = live.torques(state).at(stamps, state.t)
        live.health.account(torques, stamps, ranges)
        stamp_ns = live.source.origin_ns + np.round(stamps * 1e9).astype(np.int64)
        listened = [
            name for name, publisher in self._outputs.items() if publisher.get_subscription_count()
        ]
        efforts = {name: getattr(torques, name) for name in OUTPUTS}
        if not set(BAND).isdisjoint(listened):
            half, _ = live.band(torques.names).at(ranges)
            half = np.column_stack([np.interp(stamps, state.t, column) for column in half.T])
            efforts |= zip(
                BAND, (torques.predicted - half, torques.predicted + half, half / TWO_SIGMA)
            )
        for name in listened:
            publish_joint_states(
                self._outputs[name], stamp_ns, torques.names, effort=efforts[name]
            )

    def _report(self):
        """Return (level, words, {key: value}) for diagnostics."""
        live = self._live
        if live is None:
            return *self._refusal, {}
        level, words, values = live.health.report()
        level, words = first_said(
            ('warn', self._streams.silent()),
            ('warn', self._streams.slow()),
            ('warn', '; '.join(finding.says for finding in live.watch.findings())),
            (level, words),
        )
        if self._options.lag == 0.0:
            values['noise of the acceleration, times that of 0.1 s lag'] = (
                f'{live.source.acceleration_noise_factor:.3g}'
            )
        return level, words, {**values, **self._streams.values(), 'gaps': live.source.gaps}


def _period(options: PredictionOptions) -> float:
    """Return the time between predictions [s]: a batch takes a part of the lag only."""
    if options.lag == 0.0:
        return options.period
    return min(options.period, options.lag / PARTS)


def _ahead(options: PredictionOptions) -> float:
    """Return the lag of the filter [s]: what a batch's oldest sample waits for is not its own."""
    if options.lag == 0.0:
        return 0.0
    return options.lag - _period(options)


main = main_of(TorquePrediction, __name__)
