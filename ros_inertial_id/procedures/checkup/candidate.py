"""Candidate: one thing that could be wrong with the data of an arm, as a fitted Hypothesis."""

from dataclasses import dataclass

import numpy as np

from .finding import WRONG
from .hypothesis import Fitted, Hypothesis


@dataclass(frozen=True)
class Candidate:
    """
    One alternative, fitted.

    name, says, tests, do : as of a Finding; hypothesis, fit : of it; cost : nats of its freedom
    joints : concerned; severity : of the finding; windows : [s]; recording : its number
    axes : (n,) by which angles are to be multiplied, -1 of axes that are turned, None for none
    """

    name: str
    says: str
    do: str
    hypothesis: Hypothesis
    fit: Fitted
    joints: tuple[str, ...]
    severity: str = WRONG
    cost: float = 0.0
    tests: str = 'left-out evidence against the data as recorded'
    windows: tuple[tuple[float, float], ...] = ()
    recording: int = 0
    axes: np.ndarray | None = None
