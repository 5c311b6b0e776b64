"""
Validation: the residuals of parameters, what motion beyond the training's range costs, a band.

The band comes from residuals of stretches left out.  Their size per joint grows with speed,
acceleration and near a reversal (non-negative least squares of the absolute residual); relative
to it a quantile makes the band as wide as BAND_LEVEL asks for (conformal prediction, Vovk et al.
2005).  Samples of a stretch are alike, so the stretches count, and not the samples (Dunn,
Wasserman and Ramdas 2023).
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
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

RANGE_MARGIN = 0.02  # of a range beyond its ends: an end is one sample, with noise
CORRELATION_SAMPLES = 20000  # samples whose residuals tell how they are correlated
CURVE_POINTS = 2000  # points per curve that the report shows
BAND_LEVEL = 0.95  # share of the samples of motion like the training that a band holds
REVERSAL_SPEED = 0.05  # of the largest speed, within which a reversal is near
LEAST_BAND = 0.25  # of the mean absolute residual: no state is predicted better than so
TERMS = ('constant', 'per_speed', 'per_acceleration', 'near_reversal')
SMALLEST_DIVISOR = float(np.finfo(float).tiny)  # in place of zero


def by_quantity(table: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, str], Any]:
    """Return {(joint or body, quantity): entry} of a table {joint or body: {quantity: entry}}."""
    entries = {}
    for owner, quantities in table.items():
        for quantity, entry in quantities.items():
            entries[owner, quantity] = entry
    return entries


@dataclass
class _SquareSums:
    """Sums over samples of a row group: their count, squared errors, squared targets."""

    samples: float = 0.0
    error: float = 0.0
    target: float = 0.0

    def add(self, squared_error: np.ndarray, squared_target: np.ndarray) -> None:
        """Add samples with a squared error and a squared target (N,)."""
        self.samples += len(squared_error)
        self.error += float(squared_error.sum())
        self.target += float(squared_target.sum())

    @property
    def rms(self) -> float | None:
        """Return the RMS of the errors, None without samples."""
        if not self.samples:
            return None
        return float(np.sqrt(self.error / self.samples))

    @property
    def relative_percent(self) -> float | None:
        """Return the errors relative to the targets [%], None where these are zero."""
        if not self.target > 0.0:
            return None
        return float(100.0 * np.sqrt(self.error / self.target))


@dataclass
class _InsideAndOutside:
    """The sums of a row group inside and outside of a range."""

    inside: _SquareSums = field(default_factory=_SquareSums)
    outside: _SquareSums = field(default_factory=_SquareSums)

    @property
    def samples(self) -> float:
        """Return the number of samples on both sides."""
        return self.inside.samples + self.outside.samples


@dataclass
class _Departure:
    """Smallest and largest value of a quantity that left its range, in how many samples."""

    smallest: float = np.inf
    largest: float = -np.inf
    samples: float = 0.0

    def add(self, values: np.ndarray, samples_outside: float) -> None:
        """Add ``values`` (N,), of which ``samples_outside`` are outside."""
        self.smallest = min(self.smallest, float(values.min()))
        self.largest = max(self.largest, float(values.max()))
        self.samples += samples_outside


class Outside:
    """Sums of squares inside and outside of the validity ``ranges`` of a model."""

    def __init__(self, ranges: Mapping[str, Mapping[str, Any]]) -> None:
        self._ranges = by_quantity(ranges)
        self._departures: defaultdict[tuple[str, str], _Departure] = defaultdict(_Departure)
        # {row group, '' for all of them: its sums}
        self._sums: defaultdict[str, _InsideAndOutside] = defaultdict(_InsideAndOutside)

    def mask(self, motion: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Return {joint or body, '' for any: samples (N,) outside} of a ``motion``; count them."""
        masks: dict[str, np.ndarray] = {}
        for (owner, quantity), values in by_quantity(motion).items():
            trained = self._ranges.get((owner, quantity))
            if trained is None:
                continue
            smallest, largest = trained
            margin = RANGE_MARGIN * (largest - smallest)
            beyond = (values < smallest - margin) | (values > largest + margin)
            if beyond.any():
                self._departures[owner, quantity].add(values, float(beyond.sum()))
            for name in (owner, ''):
                masks[name] = masks.get(name, False) | beyond
        return masks

    def add(
        self,
        block: RegressorBlock,
        predicted: Mapping[str, np.ndarray],
        beyond: Mapping[str, np.ndarray],
    ) -> None:
        """Add a ``block`` with its prediction {group: (B,)}; ``beyond`` : of ``mask``, (B,)."""
        for group in block.groups:
            squared_error = (group.y - predicted[group.name]) ** 2
            squared_target = group.y**2
            for name in beyond.keys() & {group.name, ''}:
                outside = beyond[name]
                sums = self._sums[name]
                sums.inside.add(squared_error[~outside], squared_target[~outside])
                sums.outside.add(squared_error[outside], squared_target[outside])

    def summary(self) -> dict[str, Any]:
        """
        Return departures from the range, their share of samples, residuals; {} without any.

        joints : of every joint and quantity trained and seen [smallest, largest], samples_percent
        rms : of every joint's residual while it was itself inside, and outside
        """
        if not self._departures:
            return {}
        everything = self._sums['']
        joints: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        for (owner, quantity), departure in self._departures.items():
            joints[owner][quantity] = {
                'trained': [float(end) for end in self._ranges[owner, quantity]],
                'seen': [departure.smallest, departure.largest],
                'samples_percent': 100.0 * departure.samples / self._samples_of(owner),
            }
        return {
            'joints': dict(joints),
            'samples_percent': 100.0 * everything.outside.samples / everything.samples,
            'relative_percent_inside': everything.inside.relative_percent,
            'relative_percent_outside': everything.outside.relative_percent,
            'rms': self._rms_of_joints(),
        }

    def _samples_of(self, owner):
        """Return the number of samples of a joint or body; a body has as many as a row group."""
        if owner in self._sums:
            return self._sums[owner].samples
        return self._sums[''].samples / max(1, len(self._sums) - 1)

    def _rms_of_joints(self):
        """Return {joint: RMS of its residual inside and outside} of those that were outside."""
        rms = {}
        for name, sums in self._sums.items():
            if name and sums.outside.samples:
                rms[name] = {'inside': sums.inside.rms, 'outside': sums.outside.rms}
        return rms


@dataclass(frozen=True)
class Folds:
    """
    Parameters that predict stretches which their estimate left out.

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
    Residuals of parameters, and what else one pass over the rows gathers.

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
    Return the ResidualPass of parameters over the rows of a Dataset.

    parameters, values : (p,) standard parameters that predict
    training : samples of all training recordings, of which these may be some; only as many of
        them take part as show the correlation of residuals.  0: of a validation, all samples
    outside : that counts what lies outside of a model's range, None: nothing
    folds : Folds, where residuals of stretches left out are asked
    RecordingError when no sample is left after filtering.
    """
    total = training or data.samples(training=False)
    piece_step = 1
    if training:  # for the correlation of residuals alone: their size is known already
        piece_step = max(1, total // CORRELATION_SAMPLES)
    rows = _RowPass(data, parameters, values, total, outside, folds)
    for number, recording in enumerate(data.each()):
        rows.begin_recording(number)
        for piece, (robot, state) in enumerate(recording.states(bool(training))):
            if piece % piece_step:
                rows.skim(robot, state)
            else:
                rows.explain(robot, state)
    if not rows.samples:
        raise nothing_left()
    return ResidualPass(
        rows.residuals,
        tuple(rows.curves),
        rows.ranges,
        tuple(_joined(recording_rows) for recording_rows in rows.left_out),
    )


class _RowPass:
    """
    The sums of ``explained``, piece by piece of successive samples.

    samples : so far; total : of all recordings, for the progress and the stride of curves
    left_out : of each recording {group: list of (4, B)}, see ResidualPass
    """

    def __init__(
        self,
        data: Dataset,
        parameters: Sequence[Parameter],
        values: np.ndarray,
        total: int,
        outside: Outside | None,
        folds: Folds | None,
    ) -> None:
        self._data, self._parameters, self._values = data, parameters, values
        self._total, self._outside, self._folds = total, outside, folds
        self._stride = max(1, total // CURVE_POINTS)
        self.residuals = Residuals()
        self.curves: list[RegressorBlock] = []
        self.ranges: dict[str, Any] = {}
        self.left_out: list[dict[str, list[np.ndarray]]] = []
        self.samples = self._first_sample = self._recording = 0

    def begin_recording(self, number: int) -> None:
        """Begin with the recording of this ``number``."""
        self._recording = number
        self._first_sample = self.samples
        self.left_out.append({})

    def skim(self, robot: Any, state: Any) -> None:
        """Add the range and the thinned out curves of a piece."""
        motion = self._extended_range(robot, state)
        thin = slice((-self.samples) % self._stride, None, self._stride)
        for block, _ in self._blocks(robot, state.rows(thin), part_of(motion, thin)):
            # A copy: a view of the motion would keep the whole piece alive.
            self.curves.append(block.rows(np.arange(len(block.t))))
        self.samples += len(state.t)

    def explain(self, robot: Any, state: Any) -> None:
        """Add the residuals of a piece, its range and its curves."""
        motion = self._extended_range(robot, state)
        beyond = {}
        if self._outside:
            beyond = self._outside.mask(motion)
        for block, part in self._blocks(robot, state, motion):
            predicted = block.predicted(self._values)
            self.residuals.add(block, predicted)
            if self._outside:
                beyond_of_block = {name: mask[part] for name, mask in beyond.items()}
                self._outside.add(block, predicted, beyond_of_block)
            if self._folds:
                self._add_left_out(block, part, self._folds)
            self.curves.append(block.rows(_envelope(block, predicted, self._stride)))
            self._data.report('validate', self.samples + part.stop, self._total)
        self.samples += len(state.t)

    def _extended_range(self, robot, state):
        """Return {joint or body: {quantity: (N,)}} of a piece; extend the ranges by it."""
        motion = self._data.method.validity_range(state, robot)
        extend(self.ranges, motion)
        return motion

    def _blocks(self, robot, state, motion):
        """Yield the RegressorBlocks of a state with their ``motion``, and the samples of each."""
        first = 0
        for block in self._data.method.regress(state, robot, self._parameters):
            part = slice(first, first + len(block.t))
            yield replace(block, seen=part_of(motion, part)), part
            first = part.stop

    def _add_left_out(self, block: RegressorBlock, part: slice, folds: Folds) -> None:
        """Add stretch, residual, speed and acceleration of each group by the other stretches."""
        samples = self.samples - self._first_sample + np.arange(part.start, part.stop)
        stretch = folds.numbers[self._recording].at(samples)
        rows, fold = np.arange(len(stretch)), folds.fold[stretch]
        for group in block.groups:
            by_each_fold = group.W @ folds.values[:, group.columns].T
            error = group.y - by_each_fold[rows, fold]
            still = np.zeros_like(error)
            rates = block.seen.get(group.name, {})
            v, a = rates.get('v', still), rates.get('a', still)
            parts = self.left_out[-1].setdefault(group.name, [])
            parts.append(np.stack([stretch, error, v, a]))


def _joined(recording_rows):
    """Return {group: (4, N)} of the parts {group: list of (4, B)} of a recording."""
    return {name: np.concatenate(parts, axis=1) for name, parts in recording_rows.items()}


def _envelope(
    block: RegressorBlock, predicted: Mapping[str, np.ndarray], stride: int
) -> np.ndarray:
    """
    Return the samples that stand for a block in a curve, one in ``stride``: its envelope.

    Of every two strides the samples where the raw residual of any group, in its own RMS, is
    largest and smallest: a spike of one sample is never thinned out.
    """
    count, span = len(block.t), 2 * stride
    if stride == 1 or count < span:
        return np.arange(0, count, stride)
    raw = np.stack([g.y_raw - predicted[g.name] for g in block.groups], axis=1)
    raw = raw / np.maximum(np.sqrt(np.mean(raw**2, axis=0)), SMALLEST_DIVISOR)
    spans = count // span
    largest = raw.max(axis=1)[: spans * span].reshape(spans, span).argmax(axis=1)
    smallest = raw.min(axis=1)[: spans * span].reshape(spans, span).argmin(axis=1)
    first = span * np.arange(spans)
    remainder = np.arange(spans * span, count, stride)
    return np.unique(np.concatenate([first + largest, first + smallest, remainder]))


def fits(factors: RFactors, beta: np.ndarray) -> dict[str, Any]:
    """Return {filtered, raw} residuals of base parameters ``beta`` (b,) over ``factors``."""
    return {'filtered': _fit(factors, beta, False), 'raw': _fit(factors, beta, True)}


def _fit(factors, beta, raw):
    """Return the summary of the Fit of base parameters, to ``raw`` torques or filtered ones."""
    fit = Fit()
    for name, group in factors.groups.items():
        fit.samples = max(fit.samples, group.rows)
        fit.residual[name] = group.residual(beta, raw) ** 2
        fit.target[name] = group.target(raw) ** 2
    return fit.summary()


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
        stretch, error, speed, acceleration = _rows_of_joint(recordings, name)
        count = int(stretch.max()) + 1
        slow = REVERSAL_SPEED * float(np.abs(ranges.get(name, {}).get('v', 0.0)).max())
        features = _band_features(speed, acceleration, slow)
        terms = _scatter_terms(features, error)
        ratio = error / np.maximum(features @ terms, SMALLEST_DIVISOR)
        quantile = quantile_of_stretches(ratio, stretch)
        peak, peak_scale = peaks_of_stretches(ratio / max(quantile, 1e-300), stretch)
        joints[name] = {
            **dict(zip(TERMS, (terms * quantile).tolist())),
            'slow': slow,
            'peak': peak,
            'peak_scale': peak_scale,
        }
    return {'level': BAND_LEVEL, 'stretches': count, 'angles': list(angles), 'joints': joints}


def _rows_of_joint(recordings, joint):
    """Return stretch (from 0, of all recordings), |residual|, |v| and |a| (N,) of a joint."""
    parts = []
    for number, groups in enumerate(recordings):
        if joint in groups:
            rows = groups[joint]
            parts.append(np.vstack([np.full(rows.shape[1], number), rows]))
    recording, stretch, error, v, a = np.concatenate(parts, axis=1)
    distinct = np.unique(recording * STRETCHES + stretch, return_inverse=True)[1]
    return distinct, np.abs(error), np.abs(v), np.abs(a)


def _band_features(speed, acceleration, slow):
    """Return the factors (N, 4) of the TERMS."""
    near_reversal = np.zeros_like(speed)
    if slow:
        near_reversal = np.maximum(0.0, 1.0 - speed / slow)
    return np.stack([np.ones_like(speed), speed, acceleration, near_reversal], axis=1)


def _scatter_terms(features, error):
    """Return the TERMS (4,) of the expected absolute residual, from ``error`` (N,)."""
    scale = np.maximum(features.max(axis=0), SMALLEST_DIVISOR)
    terms = nonnegative_solution(features / scale, error) / scale
    terms[0] = max(terms[0], LEAST_BAND * error.mean())
    return terms


def peaks_of_stretches(ratio: np.ndarray, stretch: np.ndarray) -> tuple[float, float]:
    """
    Return location and scale of Gumbel's distribution of the largest ratio of a stretch.

    ratio : (N,) of the absolute residual to half the band's width; stretch : (N,) numbers from 0
    By moments (Gumbel 1958), of few stretches as much wider as Student's t is.
    """
    largest = np.zeros(int(stretch.max()) + 1)
    np.maximum.at(largest, stretch, ratio)
    scale = float(np.std(largest)) * np.sqrt(6.0) / np.pi
    scale *= student_factor(max(1, len(largest) - 1))
    return max(0.0, float(largest.mean()) - np.euler_gamma * scale), scale


def quantile_of_stretches(ratio: np.ndarray, stretch: np.ndarray) -> float:
    """
    Return the quantile BAND_LEVEL of ratios (N,) in a further stretch like those seen.

    ratio : (N,) positive; stretch : (N,) numbers from 0 on
    All stretches count alike.  Of few it is as much wider as Student's t is than the normal
    distribution: their spread is known no better.
    """
    count, order = np.bincount(stretch), np.argsort(ratio)
    share = np.cumsum(1.0 / count[stretch[order]]) / len(count)
    rank = min(int(np.searchsorted(share, BAND_LEVEL)), len(order) - 1)
    return float(ratio[order[rank]]) * student_factor(max(1, len(count) - 1))
