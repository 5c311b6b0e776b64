"""Cross-validation by R factors: every stretch predicted from the others (Stone 1974)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from .r_factors import merge, RFactors
from .residuals import Fit

FOLDS = 5  # of cross-validation
PIECE = 1.0  # [s] of motion that is left out in one piece at least: no residual lasts as long
ROUNDS = 5  # of pieces that each fold has at most, spread over a recording


@dataclass
class LeftOut(Fit):
    """A Fit of folds, and the base parameters (b,) of the others that predicted each."""

    params: list[np.ndarray] = field(default_factory=list)


def piece_of(sample: np.ndarray, samples: int, seconds: float) -> np.ndarray:
    """
    Return in which piece of time a sample of a recording is, (N,); every FOLDS-th is one fold.

    sample : (N,) its number among ``samples``, which take ``seconds``
    A fold is not one fifth of the time: what the arm does there alone would be left out as a
    whole, and the residual be that of motion that the others do not show.
    """
    pieces = FOLDS * int(np.clip(seconds / (FOLDS * PIECE), 1, ROUNDS))
    return np.minimum(sample * pieces // samples, pieces - 1)


def fold_of(sample: np.ndarray, samples: int, seconds: float) -> np.ndarray:
    """
    Return in which fold a sample of a recording is, (N,).

    sample : (N,) its number among ``samples``, which take ``seconds``
    """
    return piece_of(sample, samples, seconds) % FOLDS


def cross_validate(folds: Sequence[RFactors], estimated: Callable[[RFactors], np.ndarray]
                   ) -> LeftOut | None:
    """
    Return the LeftOut Fit of every fold to the parameters of the others, per row group.

    folds : RFactors about b columns, each of some stretches of the data; those of many
        recordings are put together to FOLDS
    estimated : R factors -> base parameters (b,) that predict
    None where there is one fold only.
    """
    if len(folds) < 2:
        return None
    bounds = np.linspace(0, len(folds), min(FOLDS, len(folds)) + 1).astype(int)
    folds = [merge(folds[a:b]) for a, b in zip(bounds[:-1], bounds[1:])]
    fit = LeftOut()
    for k, fold in enumerate(folds):
        beta = estimated(merge([*folds[:k], *folds[k + 1:]]))
        fit.params.append(beta)
        fit.samples += max(g.rows for g in fold.groups.values())
        for name, group in fold.groups.items():
            fit.residual[name] = fit.residual.get(name, 0.0) + group.residual(beta) ** 2
            fit.target[name] = fit.target.get(name, 0.0) + group.target() ** 2
    return fit
