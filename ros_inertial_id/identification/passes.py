"""
Passes over the data: all that the spine asks of recordings, each time of one after the other.

One writes rows as a wide factor, one explains them by the model that predicts.  Here recordings
are read in this process; procedures/many_recordings.py does the same in others, by the same
functions.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .judge.validation import Explained, explained, Folds
from .prepare.dataset import Dataset
from .reduce.structure import Structure
from .reduce.wide_factor import wide_factor, WideFactor
from ..dynamics.inertial_parameters import Parameter
from ..estimation.residuals import Residuals

SOME = 32  # recordings, evenly spread, that show correlation and model error of any number


class Passes:
    """The passes over a Dataset, in this process."""

    def reduced(self, data: Dataset, structure: Structure) -> WideFactor:
        """Return the WideFactor of all recordings; see there."""
        return wide_factor(data, structure)

    def explained(self, data: Dataset, parameters: Sequence[Parameter], values: np.ndarray,
                  folds: Folds | None = None) -> Explained:
        """Return the training rows as standard parameters ``values`` (p,) explain them."""
        return explained(data, parameters, values, data.samples(training=True),
                         folds=folds)

    def residuals(self, data: Dataset, parameters: Sequence[Parameter],
                  values: np.ndarray) -> Residuals:
        """Return the Residuals of standard parameters ``values`` (p,), for their correlation."""
        return self.explained(data, parameters, values).residuals


def some(items: Sequence[Any]) -> list[Any]:
    """Return SOME of the ``items``, evenly spread, or all of fewer."""
    count = min(SOME, len(items))
    return [items[k] for k in np.unique(np.linspace(0, len(items) - 1, count).astype(int))]
