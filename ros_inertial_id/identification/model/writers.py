"""Writers: the text of a model for every target, and what it does not hold."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .identified_description import description_of, mjcf_of
from ..identified_model import IdentifiedModel

# (model, robot, covariance of its parameters) -> text, what it does not hold
Writer = Callable[..., tuple[str, list[str]]]


def _urdf(model: IdentifiedModel, robot: Any, covariance: np.ndarray) -> tuple[str, list[str]]:
    return description_of(model, robot)


WRITERS: dict[str, Writer] = {'mujoco': mjcf_of, 'urdf': _urdf}
