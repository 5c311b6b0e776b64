"""Validation: the residuals of parameters, over blocks read again or over what was accumulated."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .outside import Outside
from ..prepare.dataset import Dataset
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.regressor import part_of, RegressorBlock
from ...errors import RecordingError
from ...estimation.r_factors import RFactors
from ...estimation.residuals import Fit, Residuals

ENOUGH = 20000  # samples whose residuals tell how they are correlated
CURVE = 2000  # points per curve kept for the report


def evaluate(data: Dataset, parameters: Sequence[Parameter], values: np.ndarray,
             training: bool, outside: Outside | None = None, whole: int = 0
             ) -> tuple[Residuals, tuple[RegressorBlock, ...], dict[str, Any]]:
    """
    Return Residuals, blocks thinned out to their envelope for curves, and the validity range.

    parameters, values : (p,) standard parameters that predict
    training : see Observation, and of long recordings only as many samples as show the
        correlation of residuals
    outside : that counts what lies outside of a model's range, None: nothing
    whole : samples of all recordings, of which these are some; 0: these are all
    RecordingError when no sample is left after filtering.
    """
    residuals, curves = Residuals(), list[RegressorBlock]()
    ranges: dict[str, Any] = {}
    whole = whole or data.samples(training)
    stride, done = max(1, whole // CURVE), 0
    # In training this is for the correlation of residuals alone (their size is known already).
    every = max(1, whole // ENOUGH) if training else 1
    for number, (robot, state) in enumerate(data.states(training)):
        seen = data.method.validity_range(state, robot)
        extend(ranges, seen)
        beyond, low = outside.mask(seen) if outside else None, 0
        if number % every:
            thin = slice((-done) % stride, None, stride)
            for block in data.method.regress(state.rows(thin), robot, parameters):
                part, low = slice(low, low + len(block.t)), low + len(block.t)
                curves.append(replace(block, seen=part_of(part_of(seen, thin), part)))
            done += len(state.t)
            continue
        for block in data.method.regress(state, robot, parameters):
            predicted = block.predicted(values)
            residuals.add(block, predicted)
            part, low = slice(low, low + len(block.t)), low + len(block.t)
            if outside and beyond is not None:
                outside.add(block, predicted, {k: x[part] for k, x in beyond.items()})
            curves.append(replace(block, seen=part_of(seen, part)).rows(
                _shown(block, predicted, stride)))
            done += len(block.t)
            data.report('validate', done, whole)
    if not done:
        raise RecordingError('the recording is too short', found='no samples left after filtering')
    return residuals, tuple(curves), ranges


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
    raw = raw / np.maximum(np.sqrt(np.mean(raw ** 2, axis=0)), np.finfo(float).tiny)
    pieces = size // span
    high = raw.max(axis=1)[:pieces * span].reshape(pieces, span).argmax(axis=1)
    low = raw.min(axis=1)[:pieces * span].reshape(pieces, span).argmin(axis=1)
    first = span * np.arange(pieces)
    return np.unique(np.concatenate([first + high, first + low,
                                     np.arange(pieces * span, size, stride)]))


def extend(ranges: dict[str, Any], seen: Mapping[str, Mapping[str, Any]]) -> None:
    """Extend ``ranges`` joint -> {q, v, a: [smallest, largest]} by the values ``seen``."""
    for where, quantities in seen.items():
        entry = ranges.setdefault(where, {})
        for name, column in quantities.items():
            low, high = entry.get(name, (np.inf, -np.inf))
            entry[name] = [min(low, float(np.min(column))), max(high, float(np.max(column)))]


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
