"""Prediction of a recording or a running machine: torques of a model beside those measured."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .dataset import read_dataset
from .model import IdentifiedModel
from .robot import check_robot
from .settings import prediction_options
from ..errors import RecordingError
from ..estimation.r_factors import one_thread
from ..measurement.recording import Recording
from ..methods import METHODS
from ..methods.contract import LiveTorques


@dataclass(frozen=True)
class Prediction:
    """
    Torques over a recording of N samples and g row groups (joints).

    t : (N,) seconds since its start; names, units : of the groups
    measured, predicted : (N, g), filtered alike; raw : (N, g) as recorded
    """

    t: np.ndarray
    names: tuple[str, ...]
    units: tuple[str, ...]
    measured: np.ndarray
    predicted: np.ndarray
    raw: np.ndarray

    @property
    def residual(self) -> np.ndarray:
        """Return measured minus predicted (N, g)."""
        return self.measured - self.predicted


def predict(model: IdentifiedModel, recording: Recording) -> Prediction:
    """
    Return the Prediction of a model over a Recording of its robot.

    model : IdentifiedModel; recording : mounted as the model knows it
    RobotModelError where it is of another robot, RecordingError where nothing is left.
    """
    with one_thread():
        data = read_dataset([recording], prediction_options(model), model.method,
                            model.robot['urdf'])
        check_robot(model, data.robot)
        blocks = list(data.blocks(model.parameters, training=False))
    if not blocks:
        raise RecordingError('the recording is too short', found='no samples left after filtering')
    groups = blocks[0].groups
    columns = [[(g.y + g.known, model.predict(block)[g.name] + g.known, g.y_raw + g.known)
                for g in block.groups] for block in blocks]
    measured, predicted, raw = (
        np.concatenate([np.stack([group[k] for group in block], axis=1) for block in columns])
        for k in range(3))
    return Prediction(np.concatenate([b.t for b in blocks]), tuple(g.name for g in groups),
                      tuple(g.unit for g in groups), measured, predicted, raw)


def live_prediction(model: IdentifiedModel, robot: Any) -> Callable[[Any], LiveTorques]:
    """
    Return what turns one state of a running machine after the other into LiveTorques.

    model : IdentifiedModel; robot : of its method's ``build``, as it is mounted now
    """
    method = METHODS[model.method]
    own = method.predictor(robot, model.parameters, model.values)
    return own or (lambda state: _by_rows(model, robot, state))


def _by_rows(model, robot, state):
    """Return the LiveTorques of a state by the rows of its method."""
    blocks = list(METHODS[model.method].regress(state, robot, model.parameters))
    both = [[(model.predict(block)[g.name] + g.known, g.y + g.known) for g in block.groups]
            for block in blocks]
    predicted, measured = np.concatenate(both, axis=2).transpose(1, 2, 0)
    return LiveTorques(tuple(g.name for g in blocks[0].groups), predicted, measured - predicted,
                       measured)
