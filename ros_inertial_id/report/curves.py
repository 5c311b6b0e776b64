"""
Curves: thinned regressor blocks as lines for pictures.

A line is broken (not a number) wherever samples are missing: at the end of a recording, of a
segment, and in a gap.  Recordings stand one after the other in time.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..dynamics.friction import friction_column, LAWS
from ..dynamics.regressor import RegressorBlock
from ..identification.identified_model import IdentifiedModel
from ..identification.judge.prediction import band_for

GAP_STEPS = 3.5  # usual steps of time: a longer one is a gap
USUAL_QUANTILE = 0.75  # of the steps: samples of an envelope are up to four mean steps apart
SPACE = 0.03  # between recordings, as a share of the time so far
SPEEDS = 401  # points of a friction curve
SPEED_BINS = 24  # of measured friction, from one top speed to the other; none holds both signs
FEWEST_IN_BIN = 5  # samples that have a spread


@dataclass(frozen=True)
class Curve:
    """
    One row group over time, NaN where a line breaks.

    t : (N,) [s], recordings one after the other; starts : times at which a further one begins
    y, y_raw, predicted : (N,) [unit]
    half : (N,) half the width of the band of the prediction [unit], not a number: unknown
    seen : {q, v, a: (N,)} of its joint [rad or m, s], where they are known
    """

    name: str
    unit: str
    t: np.ndarray
    starts: tuple[float, ...]
    y: np.ndarray
    y_raw: np.ndarray
    predicted: np.ndarray
    half: np.ndarray
    seen: Mapping[str, np.ndarray]

    @property
    def residual(self) -> np.ndarray:
        """Return measured minus predicted (N,) [unit]."""
        return self.y - self.predicted


def curves(model: IdentifiedModel, blocks: Iterable[RegressorBlock]) -> dict[str, Curve]:
    """Return {group name: Curve} of a ``model`` on ``blocks``: thinned out, in order of time."""
    blocks = [block for block in blocks if len(block.t)]
    if not blocks:
        return {}
    t, starts, breaks = _timeline(blocks)
    predicted = [model.predict(block) for block in blocks]
    half = np.concatenate([_half(model, block) for block in blocks])

    def broken(values: np.ndarray) -> np.ndarray:
        return np.insert(values, breaks, np.nan)

    def line(of_block: Callable[[RegressorBlock], np.ndarray]) -> np.ndarray:
        """Return the values of all blocks (N,), broken where the time is."""
        return broken(np.concatenate([of_block(block) for block in blocks]))

    drawn = {}
    for k, group in enumerate(blocks[0].groups):
        name = group.name
        drawn[name] = Curve(
            name=name,
            unit=group.unit,
            t=broken(t),
            starts=starts,
            y=line(lambda block: block.groups[k].y),
            y_raw=line(lambda block: block.groups[k].y_raw),
            predicted=broken(np.concatenate([rows[name] for rows in predicted])),
            half=broken(half[:, k]),
            seen={
                quantity: line(lambda block: block.seen[name][quantity])
                for quantity in _quantities_seen(blocks, name)
            },
        )
    return drawn


def _quantities_seen(blocks: Sequence[RegressorBlock], name: str) -> list[str]:
    """Return which of q, v, a every block has of the joint of a row group, by its name."""
    in_each = [set(block.seen.get(name, ())) for block in blocks]
    return sorted(set.intersection(*in_each))


def _half(model: IdentifiedModel, block: RegressorBlock) -> np.ndarray:
    """Return half the widths (B, g) of the band, NaN for a motion that is not known."""
    if not block.seen:
        return np.full((len(block.t), len(block.groups)), np.nan)
    return band_for(model, [g.name for g in block.groups]).at(block.seen)[0]


def _timeline(
    blocks: Sequence[RegressorBlock],
) -> tuple[np.ndarray, tuple[float, ...], np.ndarray]:
    """Return t (N,), the starts of further recordings, and where lines break (indices)."""
    times: list[np.ndarray] = []
    starts: list[float] = []
    cuts: list[int] = []
    shift, count = 0.0, 0
    for before, block in zip([None, *blocks], blocks):
        if before is not None:
            if block.t[0] <= before.t[-1]:  # the clock began again: another recording
                end = times[-1][-1]
                begin = end + SPACE * (end - times[0][0])
                shift = begin - block.t[0]
                starts.append(float(begin))
                cuts.append(count)
            elif block.segment != before.segment:
                cuts.append(count)
        times.append(block.t + shift)
        count += len(block.t)
    t = np.concatenate(times)
    return t, tuple(starts), np.union1d(cuts, gaps(t)).astype(int)


def gaps(t: np.ndarray) -> np.ndarray:
    """Return the numbers of the samples before which the times ``t`` (N,) [s] have a gap."""
    steps = np.diff(t)
    if not steps.size:
        return np.zeros(0, int)
    return np.flatnonzero(steps > GAP_STEPS * np.quantile(steps, USUAL_QUANTILE)) + 1


@dataclass(frozen=True)
class FrictionCurve:
    """
    Friction torque of one joint over its speed.

    speed, torque, error : (M,) [rad/s], [unit]; error : two standard errors
    v, measured : (N,) samples, friction as measured: torque minus that of all other parameters
    """

    name: str
    unit: str
    speed: np.ndarray
    torque: np.ndarray
    error: np.ndarray
    v: np.ndarray
    measured: np.ndarray

    @property
    def bins(self) -> np.ndarray:
        """Return (3, K) mean speed, mean and spread of what was measured, bin by bin of speed."""
        known = np.isfinite(self.v + self.measured)
        v, measured = self.v[known], self.measured[known]
        edges = np.linspace(self.speed[0], self.speed[-1], SPEED_BINS + 1)
        number_of = np.digitize(v, edges)
        count = np.bincount(number_of)
        filled = count >= FEWEST_IN_BIN
        speed, mean, square = (
            np.bincount(number_of, values)[filled] / count[filled]
            for values in (v, measured, measured**2)
        )
        return np.stack([speed, mean, np.sqrt(np.maximum(square - mean**2, 0.0))])


def friction_curves(
    model: IdentifiedModel, blocks: Iterable[RegressorBlock]
) -> list[FrictionCurve]:
    """Return the FrictionCurve of every row group with friction; ``blocks`` : of the training."""
    blocks = [block for block in blocks if len(block.t)]
    if not blocks:
        return []
    drawn = []
    for k, group in enumerate(blocks[0].groups):
        columns = friction_columns(model, group.name, top_speed(model, group.name))
        if columns:
            drawn.append(_friction_curve(model, blocks, k, columns))
    return drawn


def _friction_curve(
    model: IdentifiedModel,
    blocks: Sequence[RegressorBlock],
    k: int,
    columns: Mapping[int, tuple[np.ndarray, np.ndarray]],
) -> FrictionCurve:
    """Return the FrictionCurve of row group ``k``; columns : of ``friction_columns``."""
    numbers, group = list(columns), blocks[0].groups[k]
    speed = columns[numbers[0]][0]
    C = np.stack([column for _, column in columns.values()], 1)
    v, measured = _measured(model, blocks, k, numbers)
    return FrictionCurve(
        name=group.name,
        unit=group.unit,
        speed=speed,
        torque=C @ model.values[numbers],
        error=_band(model, C, numbers),
        v=v,
        measured=measured,
    )


def top_speed(model: IdentifiedModel, joint: str) -> float:
    """Return the largest speed of a ``joint`` in the training data [rad/s or m/s], 0: unknown."""
    return max(map(abs, model.validity_range.get(joint, {}).get('v', (0.0,))))


def trained_range(model: IdentifiedModel) -> np.ndarray:
    """Return the smallest and largest positions (2, n) of all joints in the training data."""
    ranges = [
        model.validity_range.get(joint, {}).get('q', (0.0, 0.0)) for joint in model.robot['joints']
    ]
    return np.nan_to_num(np.transpose(ranges), posinf=np.pi, neginf=-np.pi)  # of a description


def friction_columns(
    model: IdentifiedModel, joint: str, top: float
) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """
    Return {parameter's number: (speeds (M,), its column (M,))} of what speed alone excites.

    top : the largest speed [rad/s or m/s]
    """
    if not top:
        return {}
    speed, zero = top * np.linspace(-1.0, 1.0, SPEEDS), np.zeros(SPEEDS)
    columns = {}
    for k, parameter in enumerate(model.parameters):
        law = LAWS.get(parameter.law)
        if parameter.owner != joint or law is None or law.position:
            continue
        column = friction_column(parameter, zero, speed, zero)
        if np.any(column):
            columns[k] = speed, column
    return columns


def _band(model: IdentifiedModel, C: np.ndarray, columns: Sequence[int]) -> np.ndarray:
    """Return two standard errors of C @ friction, by the covariance of the base parameters."""
    number_of = {entry['name']: k for k, entry in enumerate(model.base)}
    names = [model.parameters[c].name for c in columns]
    base = [number_of[name] for name in names if name in number_of]
    if len(base) < len(names):  # grouped with other parameters: it has no error of its own
        return np.full(len(C), np.nan)
    covariance = np.asarray(model.covariance)[np.ix_(base, base)]
    return 2.0 * np.sqrt(np.einsum('ij,jk,ik->i', C, covariance, C))


def _measured(
    model: IdentifiedModel, blocks: Sequence[RegressorBlock], k: int, columns: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return speeds (N,) and friction as measured (N,), where speeds are known."""
    speeds, torques = [np.zeros(0)], [np.zeros(0)]
    for block in blocks:
        group, moved = block.groups[k], block.seen.get(block.groups[k].name, {})
        if 'v' in moved:
            others = np.where(np.isin(group.columns, columns), 0.0, model.values[group.columns])
            speeds.append(moved['v'])
            torques.append(group.y - group.W @ others)
    return np.concatenate(speeds), np.concatenate(torques)
