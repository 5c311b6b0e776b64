"""
Node ``torque_prediction``: the identified model on the running robot.

Publishes what the model predicts for every joint state, at the stamp of that sample and a fixed
small lag behind it, and what is left over; says so when the motion leaves what was identified.
"""

from array import array
from dataclasses import dataclass, replace
import pathlib
import sys

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from ..dynamics.robot_model import gravity_from_mounting
from ..errors import ConfigError, InertialIdError, RobotModelError
from ..estimation.identified_model import IdentifiedModel
from ..identify import check_robot, prediction_options
from ..measurement.kinematic_state import effort_map
from ..measurement.live import LiveJoints
from ..methods import serial_arm
from ..options import check_ranges, option
from .conversions import (declare_options, DEPTH, diagnostics, every, joint_rows, latched,
                          stream)
from .running import run

OUTSIDE = 0.1  # how far beyond the identified range, as a share of it, is called outside
WINDOW = 10.0  # [s] over which the running RMS forgets


@dataclass(frozen=True)
class PredictionOptions:
    """Which model, and how late a prediction may be."""

    model_file: str = option('', 'model.yaml; empty: wait for the model on the topic')
    model_topic: str = option('identification/identified_model', 'latched topic of the model')
    joint_states_topic: str = option('joint_states', 'topic of the joint states')
    mounting: str = option('', 'how the robot is mounted now; empty: as identified')
    lag: float = option(0.1, 'how far behind the newest sample predictions are; less lag, more '
                        'noise in the acceleration', unit='s', at_least=0.005, at_most=2.0)
    period: float = option(0.02, 'how often predictions are computed', unit='s', at_least=0.001,
                           at_most=1.0)
    reliability: str = option('auto', 'of the joint states subscription',
                              choices=('auto', 'reliable', 'best_effort'))


class TorquePrediction(Node):
    """Predicts in small batches; one thread, no queue of its own."""

    def __init__(self, **node_options):
        super().__init__('torque_prediction', **node_options)
        self._options = declare_options(
            self, PredictionOptions, fixed=PredictionOptions.__dataclass_fields__)
        check_ranges(self._options)
        self._model = self._robot = self._live = self._reader = self._description = None
        self._origin = None
        self._refusal = 'no model yet'
        self._complaint, self._heard, self._outside = '', 0, {}
        self._predicted = self.create_publisher(JointState, '~/predicted', DEPTH)
        self._residual = self.create_publisher(JointState, '~/residual', DEPTH)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self.create_subscription(String, 'robot_description', self._take_description, latched())
        if self._options.model_file:
            self._accept(IdentifiedModel.from_yaml(
                _text(self._options.model_file), self._options.model_file))
        else:
            self.create_subscription(
                String, self._options.model_topic, self._take_model, latched())
            self.get_logger().info(f'waiting for a model on {self._options.model_topic}')
        every(self, self._options.period, self._predict)
        every(self, 0.2, self._look_for_publisher)
        every(self, 1.0, self._diagnose)

    def _take_description(self, message):
        self._description = message.data
        if self._model is not None:
            self._try(lambda: self._accept(self._model))

    def _take_model(self, message):
        self._try(lambda: self._accept(
            IdentifiedModel.from_yaml(message.data, self._options.model_topic)))

    def _try(self, action):
        """Do it, or predict nothing and say why."""
        try:
            action()
        except InertialIdError as error:
            self._refusal, self._live = str(error), None
            self.get_logger().error(f'no prediction: {error}')

    def _accept(self, model):
        """Start predicting with a model; raise InertialIdError when it does not fit."""
        self._model, self._live = model, None  # another description may fit it
        self._start(model)
        self._refusal = ''
        fit = model.statistics.get('validation', model.statistics['training'])['filtered']
        self._promised = fit['rms']
        self._square = dict.fromkeys(self._robot.joint_names, 0.0)
        self._weight, self._count, self._gaps = 0.0, 0, 0
        self.get_logger().info(
            f"predicting {', '.join(self._robot.joint_names)} with the model of "
            f"{model.provenance['created']}, lag {self._options.lag} s")

    def _start(self, model):
        if model.method != serial_arm.NAME:
            raise RobotModelError('live prediction is of joint torques', found=model.method,
                                  expected=f'a model of method {serial_arm.NAME}')
        options = prediction_options(model)
        gravity = model.mounting['gravity_base'][0]
        if self._options.mounting:
            gravity = gravity_from_mounting(self._options.mounting)
        self._robot = serial_arm.build(self._description or model.robot['urdf'], options, gravity)
        check_robot(model, self._robot)
        self._needs_velocity = options.velocity == 'measured'
        self._live = LiveJoints(options.cutoff, self._needs_velocity,
                                effort_map(options, len(self._robot)), self._options.lag)

    def _look_for_publisher(self):
        if self._reader is None and self.count_publishers(self._options.joint_states_topic):
            qos = stream(self, self._options.joint_states_topic, self._options.reliability)
            self._reader = self.create_subscription(
                JointState, self._options.joint_states_topic, self._take_joints, qos)

    def _take_joints(self, message):
        if self._live is None:
            return
        try:
            row = joint_rows(message, self._robot.joint_names)
        except InertialIdError as error:
            return self._complain(str(error))
        if row is None:
            return
        stamp, q, v, tau = row
        self._heard += 1
        if not np.isfinite([q, v if self._needs_velocity else q]).all():
            return self._complain(f'no position or velocity at stamp {stamp * 1e-9:.6f} s')
        if not np.isfinite(tau).all():
            self._complain('joint_states carry no effort: no residual')
        if self._origin is None:
            self._origin = stamp
        if not self._live.add((stamp - self._origin) * 1e-9, q, v, tau):
            self._gaps += 1
            self.get_logger().warning('joint_states jumped in time: starting anew',
                                      throttle_duration_sec=1.0)

    def _complain(self, words):
        self._complaint = words
        self.get_logger().error(words, throttle_duration_sec=10.0)

    def _predict(self):
        taken = self._live.take() if self._live is not None else None
        if taken is None:
            return
        stamps, state = taken
        self._watch(serial_arm.region(state, self._robot))
        tau, left = (np.stack([np.interp(stamps, state.t, column) for column in x.T], axis=1)
                     for x in self._torques(state))
        names = self._robot.joint_names
        self._account(names, left, stamps)
        for t, row, rest in zip(stamps, tau, left):
            stamp = self._origin + round(t * 1e9)
            self._publish(self._predicted, stamp, names, row)
            self._publish(self._residual, stamp, names, rest)

    def _torques(self, state):
        """
        Return the predicted torques and the residuals of a state, each (N, n).

        The prediction is what the motors do now: friction jumps where it jumps.  For the
        residual it is filtered as the measured torque is, which has no jumps left.
        """
        def predictions(state):
            for block in serial_arm.regress(state, self._robot, self._model.parameters):
                predicted = self._model.predict(block)
                yield np.array([(predicted[g.name] + g.known, g.y - predicted[g.name])
                                for g in block.groups])

        sharp = np.concatenate([p[:, 0] for p in predictions(replace(state, around=None))], 1)
        return sharp.T, np.concatenate([p[:, 1] for p in predictions(state)], 1).T

    def _publish(self, publisher, stamp, names, effort):
        message = JointState(name=names, effort=array('d', effort.tobytes()))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
        publisher.publish(message)

    def _account(self, names, left, t):
        """Keep the running mean square residual of every joint."""
        share = min(1.0, len(t) * (t[-1] - t[0] + 1e-9) / max(1, len(t) - 1) / WINDOW)
        self._count += len(t)
        self._weight = (1 - share) * self._weight + share
        for name, square in zip(names, np.mean(left ** 2, axis=0)):
            if np.isfinite(square):
                self._square[name] = (1 - share) * self._square[name] + share * float(square)

    def _watch(self, watched):
        """Note where the motion is outside the region of the identification."""
        outside = {}
        for where, quantities in watched.items():
            for name, values in quantities.items():
                low, high = self._model.region[where][name]
                slack = OUTSIDE * (high - low)
                if values.min() < low - slack or values.max() > high + slack:
                    extreme = values.min() if values.min() < low - slack else values.max()
                    outside[f'{where} {name}'] = (
                        f'{extreme:.4g} outside {low:.4g} to {high:.4g}')
        self._outside.update(outside)
        if outside:
            words = '; '.join(f'{k} {v}' for k, v in outside.items())
            self.get_logger().warning(f'the motion leaves the identified region: {words}',
                                      throttle_duration_sec=5.0)

    def _diagnose(self):
        if self._refusal:
            level, words, values = 'error', self._refusal, {}
        else:
            values, worst = {'predicted': self._count, 'gaps': self._gaps}, 0.0
            for name, square in self._square.items():
                rms = np.sqrt(square / self._weight) if self._weight else 0.0
                values[f'{name} rms'] = f'{rms:.4g}'
                values[f'{name} rms promised'] = f'{self._promised[name]:.4g}'
                worst = max(worst, rms / max(self._promised[name], 1e-12))
            values.update(self._outside)
            level, words = 'ok', 'as promised'
            if worst > 2.0:
                level, words = 'warn', f'residual {worst:.1f} times what was promised'
            if self._outside:
                level, words = 'warn', 'outside the identified region'
            if not self._heard:
                level, words = 'warn', f'nothing heard on {self._options.joint_states_topic}'
            if self._complaint:
                level, words = 'error', self._complaint
            self._outside, self._heard = {}, 0
        self._complaint = ''
        self._diagnostics.publish(diagnostics(self, level, words, values))


def _text(path):
    try:
        return pathlib.Path(path).read_text()
    except OSError as error:
        raise ConfigError(f'{path} cannot be read', found=error.strerror) from None


def main(args=None):
    """Run the node."""
    return run(TorquePrediction, args)


if __name__ == '__main__':
    sys.exit(main())
