"""
Curves: thinned regressor blocks as lines for pictures.

A line is broken (not a number) wherever samples are missing: at the end of a recording, of a
segment, and in a gap.  Recordings stand one after the other in time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..dynamics.friction import friction_column, LAWS
from ..dynamics.regressor import RegressorBlock
from ..identification.judge.prediction import half_widths
from ..identification.model.identified_model import IdentifiedModel

GAP = 3.5  # wide steps of time: a longer one is a gap
WIDE = 0.75  # quantile: samples of an envelope are up to four mean steps apart
APART = 0.03  # space between recordings, as a share of the time so far
SPEEDS = 401  # points of a friction curve


@dataclass(frozen=True)
class Curve:
    """
    One row group over time, NaN where a line breaks.

    t : (N,) [s], recordings one after the other; starts : times at which a further one begins
    y, y_raw, predicted : (N,) [unit]
    half : (N,) half the width of the band of the prediction [unit], not a number: unknown
    """

    name: str
    unit: str
    t: np.ndarray
    starts: tuple[float, ...]
    y: np.ndarray
    y_raw: np.ndarray
    predicted: np.ndarray
    half: np.ndarray

    @property
    def residual(self) -> np.ndarray:
        """Return measured minus predicted (N,) [unit]."""
        return self.y - self.predicted


class Predicts(Protocol):
    """What curves ask of a model; see IdentifiedModel."""

    @property
    def statistics(self) -> dict[str, Any]:
        """Return the statistics, with the band if there is one."""

    @property
    def validity_range(self) -> dict[str, Any]:
        """Return joint -> smallest and largest q, v, a in training."""

    def predict(self, block: RegressorBlock, /) -> dict[str, np.ndarray]:
        """Return {group: predicted (B,)} of the rows of a block."""


def curves(model: Predicts, blocks: Iterable[RegressorBlock]) -> dict[str, Curve]:
    """
    Return {group name: Curve}.

    model : that predicts; blocks : thinned out rows in order of time
    """
    blocks = [block for block in blocks if len(block.t)]
    if not blocks:
        return {}
    t, starts, breaks = _timeline(blocks)
    predicted = [model.predict(block) for block in blocks]
    half = np.concatenate([_half(model, block) for block in blocks])
    out = {}
    for k, group in enumerate(blocks[0].groups):
        columns = [np.concatenate(parts) for parts in (
            [b.groups[k].y for b in blocks], [b.groups[k].y_raw for b in blocks],
            [p[group.name] for p in predicted])] + [half[:, k]]
        lines = [np.insert(x, breaks, np.nan) for x in (t, *columns)]
        out[group.name] = Curve(group.name, group.unit, lines[0], starts, *lines[1:])
    return out


def _half(model: Predicts, block: RegressorBlock) -> np.ndarray:
    """Return half the widths (B, g) of the band; of a motion that was not seen not a number."""
    band = model.statistics.get('prediction_band')
    if not band or not block.seen:
        return np.full((len(block.t), len(block.groups)), np.nan)
    names = [g.name for g in block.groups]
    return half_widths(band, names, block.seen, model.validity_range)[0]


def _timeline(blocks: Sequence[RegressorBlock]) -> tuple[np.ndarray, tuple[float, ...], Any]:
    """Return t (N,), the starts of further recordings, and where lines break (indices)."""
    times: list[np.ndarray] = []
    starts: list[float] = []
    cuts: list[int] = []
    shift, count = 0.0, 0
    for before, block in zip([None, *blocks], blocks):
        if before is not None:
            if block.t[0] <= before.t[-1]:  # the clock began again: another recording
                end = times[-1][-1]
                begin = end + APART * (end - times[0][0])
                shift = begin - block.t[0]
                starts.append(float(begin))
                cuts.append(count)
            elif block.segment != before.segment:
                cuts.append(count)
        times.append(block.t + shift)
        count += len(block.t)
    t = np.concatenate(times)
    steps = np.diff(t)
    gaps = (np.flatnonzero(steps > GAP * np.quantile(steps, WIDE)) + 1 if steps.size
            else np.zeros(0, int))
    return t, tuple(starts), np.union1d(cuts, gaps).astype(int)


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


def friction_curves(model: IdentifiedModel,
                    blocks: Iterable[RegressorBlock]) -> list[FrictionCurve]:
    """
    Return the FrictionCurve of every row group that has friction, in their order.

    model : identified; blocks : thinned out rows of the training
    """
    blocks = [block for block in blocks if len(block.t)]
    out = []
    for k, group in enumerate(blocks[0].groups if blocks else ()):
        own = [c for c in group.columns if model.parameters[c].law in LAWS
               and not LAWS[model.parameters[c].law].position
               and model.parameters[c].owner == group.name]
        top = max(map(abs, model.validity_range.get(group.name, {}).get('v', (0.0,))))
        speed = top * np.linspace(-1.0, 1.0, SPEEDS)
        zero = np.zeros_like(speed)
        columns = {c: friction_column(model.parameters[c], zero, speed, zero) for c in own}
        columns = {c: x for c, x in columns.items() if np.any(x)}  # those that speed excites
        if not columns or not top:
            continue
        values = model.values[list(columns)]
        C = np.stack(list(columns.values()), axis=1)
        v, measured = _measured(model, blocks, k, list(columns))
        out.append(FrictionCurve(group.name, group.unit, speed, C @ values,
                                 _band(model, C, list(columns)), v, measured))
    return out


def _band(model, C, columns):
    """Return two standard errors of C @ friction, by the covariance of the base parameters."""
    place = {entry['name']: k for k, entry in enumerate(model.base)}
    names = [model.parameters[c].name for c in columns]
    base = [place[name] for name in names if name in place]
    if len(base) < len(names):  # grouped into others: it has no error of its own
        return np.full(len(C), np.nan)
    covariance = np.asarray(model.covariance)[np.ix_(base, base)]
    return 2.0 * np.sqrt(np.einsum('ij,jk,ik->i', C, covariance, C))


def _measured(model, blocks, k, columns):
    """Return speeds (N,) and friction as measured (N,); none without a viscous column."""
    speeds, torques = [], []
    for block in blocks:
        group = block.groups[k]
        place = {c: i for i, c in enumerate(group.columns)}
        viscous = [c for c in columns if model.parameters[c].law == 'viscous']
        if not viscous:
            continue
        chosen = [place[c] for c in columns]
        residual = group.y - group.W @ model.values[group.columns]
        speeds.append(group.W[:, place[viscous[0]]])
        torques.append(residual + group.W[:, chosen] @ model.values[columns])
    if not speeds:
        return np.zeros(0), np.zeros(0)
    return np.concatenate(speeds), np.concatenate(torques)
