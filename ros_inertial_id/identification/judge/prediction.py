"""Prediction of a recording or a running machine: torques of a model beside those measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .prediction_band import half_widths
from ..model.identified_model import IdentifiedModel
from ..prepare.dataset import read_dataset
from ..prepare.robot import check_robot
from ..settings import prediction_options
from ...errors import ConfigError, RecordingError
from ...estimation.r_factors import one_thread
from ...measurement.recording import Recording
from ...methods import METHODS
from ...methods.contract import LiveTorques

Motion = tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]  # t, q, v, a


@dataclass(frozen=True)
class Prediction:
    """
    Predicted torques over a motion of N samples and g row groups (joints).

    t : (N,) [s], of a recording since its start; names, units : of the groups
    torque, measured : (N, g) predicted and measured, filtered alike; raw : (N, g) as recorded
    Of a motion that is given nothing is filtered, and nothing measured: not a number.
    lower, upper : (N, g) of the band that holds 95 % of the samples of motion as in the training;
        not a number for models without one
    outside : (N, g) how far the motion is beyond the validity range, in half ranges; there the
        band is wider, by rule and not by data
    """

    t: np.ndarray
    names: tuple[str, ...]
    units: tuple[str, ...]
    torque: np.ndarray
    measured: np.ndarray
    raw: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    outside: np.ndarray

    @property
    def residual(self) -> np.ndarray:
        """Return measured minus predicted (N, g), which is what a validation reports."""
        return self.measured - self.torque


def predict(model: IdentifiedModel, recording: Recording) -> Prediction:
    """
    Return the Prediction of a model over a Recording of its robot.

    recording : mounted as the model knows it
    RobotModelError where it is of another robot, RecordingError where nothing is left.
    """
    with one_thread():
        data = read_dataset([recording], prediction_options(model), model.method,
                            model.robot['urdf'])
        check_robot(model, data.robot)
        states = list(data.states(training=False))
        if not states:
            raise RecordingError('the recording is too short',
                                 found='no samples left after filtering')
        return _by_rows(model, states)


def predict_motion(model: IdentifiedModel, robot: Any, motion: Motion) -> Prediction:
    """
    Return the Prediction of a ``motion`` that is given: (t (N,), q, v, a (N, n)).

    robot : of its method's ``build``, as it is mounted
    ConfigError where the shapes do not fit, or t does not increase.
    """
    t, q, v, a = (np.asarray(x, dtype=float) for x in motion)
    shape = t.size, len(robot.coordinates)
    if t.ndim != 1 or not t.size or {q.shape, v.shape, a.shape} != {shape}:
        raise ConfigError('t, q, v, a', expected=f'(N,) and three times (N, {shape[1]})',
                          found=f'shapes {t.shape}, {q.shape}, {v.shape}, {a.shape}')
    if not (np.diff(t) > 0.0).all():
        raise ConfigError('t', expected='increasing times [s]', found='others')
    method = METHODS[model.method]
    found = _by_rows(model, [(robot, method.state_of(robot, q, v, a, t))])
    none = np.full_like(found.torque, np.nan)
    return replace(found, measured=none, raw=none)


def live_prediction(model: IdentifiedModel, robot: Any) -> Callable[[Any], LiveTorques]:
    """
    Return what turns one state of a running machine after the other into LiveTorques.

    robot : of its method's ``build``, as it is mounted now
    """
    method = METHODS[model.method]
    own = method.predictor(robot, model.parameters, model.values)
    return own or (lambda state: _live(model, robot, state))


def _live(model, robot, state):
    """Return the LiveTorques of a state by the rows of its method."""
    rows = _by_rows(model, [(robot, state)])
    return LiveTorques(rows.names, rows.torque, rows.residual, rows.measured)


def _by_rows(model: IdentifiedModel, states: Sequence[tuple[Any, Any]]) -> Prediction:
    """Return the Prediction of successive (robot, state), what is known beforehand included."""
    method = METHODS[model.method]
    blocks = [block for robot, state in states
              for block in method.regress(state, robot, model.parameters)]
    groups = blocks[0].groups
    columns = [[(predicted + g.known, g.y + g.known, g.y_raw + g.known) for g, predicted in
                zip(block.groups, model.predict(block).values())] for block in blocks]
    torque, measured, raw = np.concatenate(columns, axis=2).transpose(1, 2, 0)
    names = tuple(g.name for g in groups)
    half, outside = map(np.concatenate, zip(*(half_widths(
        model.statistics.get('prediction_band') or {}, names, method.validity_range(state, robot),
        model.validity_range) for robot, state in states)))
    return Prediction(np.concatenate([b.t for b in blocks]), names, tuple(g.unit for g in groups),
                      torque, measured, raw, torque - half, torque + half, outside)
