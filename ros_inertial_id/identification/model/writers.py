"""Writers: the text of a model for every target."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .identified_description import description_of, mjcf_of
from ..identified_model import IdentifiedModel

# (model, robot, covariance (p, p) of its parameters, lines of what is not held) -> text
Writer = Callable[..., str]


def _urdf(model: IdentifiedModel, robot: Any, covariance: np.ndarray, lines: Sequence[str]) -> str:
    return description_of(model, robot)[0]


WRITERS: dict[str, Writer] = {'mujoco': mjcf_of, 'urdf': _urdf}
