"""
Validation: the residuals of parameters, what motion beyond the training's range costs, a band.

The band comes from residuals of stretches left out.  Their size per joint grows with speed,
acceleration and near a reversal (non-negative least squares of the absolute residual); relative
to it a quantile makes the band as wide as LEVEL asks for (conformal prediction, Vovk et al.
2005).  Samples of a stretch are alike, so the stretches count, and not the samples (Dunn,
Wasserman and Ramdas 2023).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..prepare.dataset import Dataset
from ..reduce.stretches import Numbers, STRETCHES
from ..reduce.wide_factor import extend
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.regressor import part_of, RegressorBlock
from ...estimation.least_squares import nonnegative_solution
from ...estimation.r_factors import RFactors
from ...estimation.residuals import Fit, Residuals, student_factor
from ...measurement.recording import nothing_left

MARGIN = 0.02  # of a range beyond its ends: an end is one sample, with noise
ENOUGH = 20000  # samples whose residuals tell how they are correlated
CURVE = 2000  # points per curve kept for the report
LEVEL = 0.95  # share of the samples of motion like the training that a band holds
SLOW = 0.05  # of the largest speed, within which a reversal is near
LEAST = 0.25  # of the mean size of a residual: no state is known better than so
TERMS = ('constant', 'per_speed', 'per_acceleration', 'near_reversal')


class Outside:
    """Sums of squares inside and outside of the validity ``ranges`` of a model."""

    def __init__(self, ranges: Mapping[str, Mapping[str, Any]]) -> None:
        self._ranges = ranges
        self._left: dict[tuple[str, str], list[float]] = {}
        # {group, '' for all: rows inside and outside: samples, squared error, squared target}
        self._sums: dict[str, np.ndarray] = {}

    def mask(self, seen: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Return {joint or body, '' for any: which of ``seen`` is outside}, and count them."""
        out: dict[str, np.ndarray] = {}
        for where, quantities in seen.items():
            for name, x in quantities.items():
                trained = self._ranges.get(where, {}).get(name)
                if trained is None:
                    continue
                margin = MARGIN * (trained[1] - trained[0])
                beyond = (x < trained[0] - margin) | (x > trained[1] + margin)
                if beyond.any():
                    low, high, count = self._left.get((where, name), (np.inf, -np.inf, 0.0))
                    self._left[where, name] = [
                        min(low, float(x.min())),
                        max(high, float(x.max())),
                        count + float(beyond.sum()),
                    ]
                for key in (where, ''):
                    out[key] = out[key] | beyond if key in out else beyond
        return out

    def add(
        self,
        block: RegressorBlock,
        predicted: Mapping[str, np.ndarray],
        beyond: Mapping[str, np.ndarray],
    ) -> None:
        """Add a ``block`` with its prediction {group: (B,)}; ``beyond`` : of ``mask``, (B,)."""
        for group in block.groups:
            error, target = (group.y - predicted[group.name]) ** 2, group.y**2
            for name in {group.name, ''} & beyond.keys():
                sums = self._sums.setdefault(name, np.zeros((2, 3)))
                for side in (0, 1):
                    own = beyond[name] == bool(side)
                    sums[side] += [own.sum(), error[own].sum(), target[own].sum()]

    def summary(self) -> dict[str, Any]:
        """
        Return what left its range, the share of samples, relative residuals [%]; {} for nothing.

        Of every joint and quantity: trained and seen [smallest, largest], samples_percent; of
        every joint the rms of its residual while it was itself inside, and outside.
        """
        if not self._left:
            return {}
        joints: dict[str, dict[str, Any]] = {}
        count = {name: float(sums[:, 0].sum()) for name, sums in self._sums.items()}
        for (where, name), (low, high, samples) in self._left.items():
            whole = count.get(where) or count[''] / max(1, len(self._sums) - 1)
            joints.setdefault(where, {})[name] = {
                'trained': [float(x) for x in self._ranges[where][name]],
                'seen': [low, high],
                'samples_percent': float(100.0 * samples / whole),
            }
        inside, beyond = self._sums['']
        return {
            'joints': joints,
            'samples_percent': float(100.0 * beyond[0] / count['']),
            'relative_percent_inside': _percent(inside),
            'relative_percent_outside': _percent(beyond),
            'rms': {
                name: {'inside': _rms(sums[0]), 'outside': _rms(sums[1])}
                for name, sums in self._sums.items()
                if name and sums[1, 0]
            },
        }


def _percent(sums):
    return float(100.0 * np.sqrt(sums[1] / sums[2])) if sums[2] > 0.0 else None


def _rms(sums):
    return float(np.sqrt(sums[1] / sums[0])) if sums[0] else None


@dataclass(frozen=True)
class Folds:
    """
    What predicts stretches that are left out.

    values : (F, p) standard parameters, each from the other stretches
    fold : (STRETCHES,) which of them predicts a stretch
    numbers : of the stretches of each recording's training samples
    """

    values: np.ndarray
    fold: np.ndarray
    numbers: Sequence[Numbers]


@dataclass(frozen=True)
class ResidualPass:
    """
    What a pass over rows says of parameters.

    residuals : Residuals; curves : blocks thinned out to their envelope
    ranges : {joint or body: {quantity: [smallest, largest]}}
    left_out : of each recording {group: (4, N) stretch, residual, speed, acceleration} by Folds
    """

    residuals: Residuals
    curves: tuple[RegressorBlock, ...]
    ranges: dict[str, Any]
    left_out: tuple[dict[str, np.ndarray], ...] = ()


def explained(
    data: Dataset,
    parameters: Sequence[Parameter],
    values: np.ndarray,
    training: int,
    *,
    outside: Outside | None = None,
    folds: Folds | None = None,
) -> ResidualPass:
    """
    Return the ResidualPass rows of a Dataset.

    parameters, values : (p,) standard parameters that predict
    training : samples of all training recordings, of which these may be some; only as many of
        them take part as show the correlation of residuals.  0: of a validation, all samples
    outside : that counts what lies outside of a model's range, None: nothing
    folds : Folds, where residuals of stretches left out are asked
    RecordingError when no sample is left after filtering.
    """
    residuals, curves = Residuals(), list[RegressorBlock]()
    ranges: dict[str, Any] = {}
    whole = training or data.samples(training=False)
    stride, done, left = max(1, whole // CURVE), 0, list[dict[str, Any]]()
    # In training this is for the correlation of residuals alone (their size is known already).
    every = max(1, whole // ENOUGH) if training else 1
    for number, one in enumerate(data.each()):
        left.append({})
        first = done  # sample of this recording
        for piece, (robot, state) in enumerate(one.states(bool(training))):
            seen = data.method.validity_range(state, robot)
            extend(ranges, seen)
            beyond = outside.mask(seen) if outside else None
            thin = slice((-done) % stride, None, stride) if piece % every else slice(None)
            low = 0
            for block in data.method.regress(
                state.rows(thin) if piece % every else state, robot, parameters
            ):
                part = slice(low, low + len(block.t))
                low = part.stop
                block = replace(block, seen=part_of(part_of(seen, thin), part))
                if piece % every:  # copied: what is seen would keep the whole piece alive
                    curves.append(block.rows(np.arange(len(block.t))))
                    continue
                predicted = block.predicted(values)
                residuals.add(block, predicted)
                if outside and beyond is not None:
                    outside.add(block, predicted, {k: x[part] for k, x in beyond.items()})
                if folds:
                    samples = done - first + np.arange(part.start, part.stop)
                    _add_left_out(left[-1], block, folds, folds.numbers[number].at(samples))
                curves.append(block.rows(_shown(block, predicted, stride)))
                data.report('validate', done + low, whole)
            done += len(state.t)
    if not done:
        raise nothing_left()
    return ResidualPass(
        residuals,
        tuple(curves),
        ranges,
        tuple(
            {name: np.concatenate(parts, axis=1) for name, parts in own.items()} for own in left
        ),
    )


def _add_left_out(
    out: dict[str, Any], block: RegressorBlock, folds: Folds, number: np.ndarray
) -> None:
    """Add (4, B) stretch, residual, speed and acceleration of each group of a ``block``."""
    fold, samples = folds.fold[number], np.arange(len(number))
    for g in block.groups:
        error = g.y - (g.W @ folds.values[:, g.columns].T)[samples, fold]
        v, a = (block.seen.get(g.name, {}).get(k, 0.0 * error) for k in 'va')
        out.setdefault(g.name, []).append(np.stack([number, error, v, a]))


def _shown(block: RegressorBlock, predicted: Mapping[str, np.ndarray], stride: int) -> np.ndarray:
    """
    Return the samples that stand for a block in a curve, one in ``stride``: its envelope.

    Of every two strides the samples where the raw residual of any group, in its own RMS, is
    largest and smallest: a spike of one sample is never thinned out.
    """
    size, span = len(block.t), 2 * stride
    if stride == 1 or size < span:
        return np.arange(0, size, stride)
    raw = np.stack([g.y_raw - predicted[g.name] for g in block.groups], axis=1)
    raw = raw / np.maximum(np.sqrt(np.mean(raw**2, axis=0)), np.finfo(float).tiny)
    pieces = size // span
    high = raw.max(axis=1)[: pieces * span].reshape(pieces, span).argmax(axis=1)
    low = raw.min(axis=1)[: pieces * span].reshape(pieces, span).argmin(axis=1)
    first = span * np.arange(pieces)
    return np.unique(
        np.concatenate([first + high, first + low, np.arange(pieces * span, size, stride)])
    )


def fits(factors: RFactors, beta: np.ndarray) -> dict[str, Any]:
    """Return {filtered, raw} residuals of base parameters ``beta`` (b,) over ``factors``."""
    out = {}
    for kind in ('filtered', 'raw'):
        fit = Fit()
        for name, group in factors.groups.items():
            fit.samples = max(fit.samples, group.rows)
            fit.residual[name] = group.residual(beta, kind == 'raw') ** 2
            fit.target[name] = group.target(kind == 'raw') ** 2
        out[kind] = fit.summary()
    return out


def band_of(
    recordings: Sequence[Mapping[str, np.ndarray]],
    ranges: Mapping[str, Mapping[str, Any]],
    angles: Collection[str] = (),
) -> dict[str, Any]:
    """
    Return the entry ``prediction_band`` of the statistics: level, stretches, terms of joints.

    recordings : ``left_out`` of ResidualPass; ranges : of the training, see Outside
    angles : joints for which a turn further is the same position
    Half the width at a state is the sum of the terms: constant, per_speed times the speed,
    per_acceleration times the acceleration, near_reversal times what is left to ``slow``.
    """
    joints, count = {}, 0
    for name in recordings[0]:
        columns = [
            np.vstack([np.full(own[name].shape[1], k), own[name]])
            for k, own in enumerate(recordings)
            if name in own
        ]
        recording, piece, error, v, a = np.concatenate(columns, axis=1)
        slow = SLOW * float(np.abs(ranges.get(name, {}).get('v', 0.0)).max())
        error, speed = np.abs(error), np.abs(v)
        near = np.maximum(0.0, 1.0 - speed / slow) if slow else np.zeros_like(speed)
        features = np.stack([np.ones_like(speed), speed, np.abs(a), near], axis=1)
        size = np.maximum(np.abs(features).max(axis=0), np.finfo(float).tiny)
        terms = nonnegative_solution(features / size, error) / size
        terms[0] = max(terms[0], LEAST * error.mean())
        stretch = np.unique(recording * STRETCHES + piece, return_inverse=True)[1]
        count = int(stretch.max()) + 1
        ratio = error / np.maximum(features @ terms, np.finfo(float).tiny)
        scale = quantile_of_stretches(ratio, stretch)
        peak, peak_scale = peaks_of_stretches(ratio / max(scale, 1e-300), stretch)
        joints[name] = {
            **dict(zip(TERMS, (terms * scale).tolist())),
            'slow': slow,
            'peak': peak,
            'peak_scale': peak_scale,
        }
    return {'level': LEVEL, 'stretches': count, 'angles': list(angles), 'joints': joints}


def peaks_of_stretches(ratio: np.ndarray, stretch: np.ndarray) -> tuple[float, float]:
    """
    Return location and scale of Gumbel's distribution of the largest ratio of a stretch.

    ratio : (N,) of the absolute residual to half the band's width; stretch : (N,) numbers from 0
    By moments (Gumbel 1958), of few stretches as much wider as Student's t is.
    """
    largest = np.zeros(int(stretch.max()) + 1)
    np.maximum.at(largest, stretch, ratio)
    scale = (
        float(np.std(largest)) * np.sqrt(6.0) / np.pi * student_factor(max(1, len(largest) - 1))
    )
    return max(0.0, float(largest.mean()) - np.euler_gamma * scale), scale


def quantile_of_stretches(ratio: np.ndarray, stretch: np.ndarray) -> float:
    """
    Return the quantile LEVEL of ratios (N,) in a further stretch like those seen.

    ratio : (N,) positive; stretch : (N,) numbers from 0 on
    All stretches count alike.  Of few it is as much wider as Student's t is than the normal
    distribution: their spread is known no better.
    """
    count, order = np.bincount(stretch), np.argsort(ratio)
    share = np.cumsum(1.0 / count[stretch[order]]) / len(count)
    place = min(int(np.searchsorted(share, LEVEL)), len(order) - 1)
    return float(ratio[order[place]]) * student_factor(max(1, len(count) - 1))
