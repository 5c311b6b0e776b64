"""
Drawings: what the page's script draws, as plain values; see ``Chart`` in report.js.

A chart is ``panes`` of ``series`` over one axis; charts of one ``link`` share their range.
Numbers are single precision in base64: 8e4 of them take 0.4 MB, and no time to write or read.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .curves import Curve, FrictionCurve
from .digits import significant, typeset

TALL, LOW, SMALL = 150, 64, 150  # [px] of panes
REACH = 1.6  # spans of the values within which their limits are drawn


class Drawings:
    """The charts of a page, and the arrays that they share."""

    def __init__(self) -> None:
        self.arrays: dict[str, str] = {}
        self.charts: dict[str, dict[str, Any]] = {}

    def array(self, values: np.ndarray) -> str:
        """Return the name under which ``values`` (N,) are kept; equal ones are kept once."""
        text = b64encode(np.asarray(values, dtype='<f4').tobytes()).decode()
        name = self.arrays.setdefault(text, f'a{len(self.arrays)}')
        return name

    def to_dict(self) -> dict[str, Any]:
        """Return arrays by name and charts by number, as the script reads them."""
        return {'arrays': {name: text for text, name in self.arrays.items()},
                'charts': self.charts}

    def _add(self, chart: dict[str, Any]) -> str:
        name = f'c{len(self.charts)}'
        self.charts[name] = chart
        return name

    def torque(self, part: str, curve: Curve, error: float) -> str:
        """
        Return the number of a chart of measured against predicted, with the residual below.

        part : training or validation; curve : of one row group; error : its residual RMS
        """
        size = float(np.sqrt(np.nanmean(curve.y ** 2))) if np.isfinite(curve.y).any() else 0.0
        share = f' ({significant(100 * error / size)} %)' if size else ''
        title = (f'{part}: residual {significant(error)} of {significant(size)} {curve.unit} '
                 f'RMS{share}')
        kind = 'torque' if curve.unit == 'N m' else 'force'

        def line(name: str, cls: str, y: np.ndarray) -> dict[str, Any]:
            return {'kind': 'line', 'name': name, 'cls': cls, 'y': self.array(y)}

        return self._add({
            'title': title, 'label': f'{curve.name}, {title}', 'unit': 's', 'link': part,
            'xlabel': 'time [s]' + (', recordings one after the other' if curve.starts else ''),
            'x': self.array(_carried(curve.t)), 'marks': [{'x': x} for x in curve.starts],
            'panes': [{'label': f'{kind} [{curve.unit}]', 'height': TALL, 'series': [
                line('measured, raw', 'raw', curve.y_raw),
                line('measured', 'measured', curve.y),
                line('predicted', 'predicted', curve.predicted)]},
                {'label': f'residual [{curve.unit}]', 'height': LOW, 'series': [
                    *({'kind': 'band', 'low': self.array(-half), 'high': self.array(half)}
                      for half in [curve.half] if np.isfinite(half).any()),
                    line('residual', 'residual', curve.residual)]}]})

    def friction(self, curve: FrictionCurve) -> str:
        """Return the number of a chart of a friction ``curve`` over speed."""
        unit = 'm/s' if curve.unit == 'N' else 'rad/s'
        x, seen = self.array(curve.speed), self.array(curve.v)
        return self._add({
            'title': curve.name, 'label': f'friction of {curve.name} over its speed',
            'xlabel': f'speed [{unit}]', 'unit': unit, 'x': x,
            'panes': [{'label': f'friction [{curve.unit}]', 'height': SMALL, 'series': [
                {'kind': 'dots', 'x': seen, 'y': self.array(curve.measured)},
                {'kind': 'band', 'low': self.array(curve.torque - curve.error),
                 'high': self.array(curve.torque + curve.error)},
                {'kind': 'line', 'name': 'friction', 'cls': 'predicted',
                 'y': self.array(curve.torque)}]}]})

    def cutoff(self, number: int, curve: Sequence[Sequence[float]], chosen: float) -> str:
        """
        Return the number of a chart of a search for the cutoff.

        number : of the recording; curve : [(cutoff [Hz], relative residual)]
        chosen : the cutoff taken [Hz]
        """
        cutoff, error = np.array(curve).T
        return self._add({
            'title': f'recording {number}: {chosen:.3g} Hz', 'xlabel': 'cutoff of the motion [Hz]',
            'label': f'relative residual over the cutoff, recording {number}', 'unit': 'Hz',
            'xlog': True, 'x': self.array(cutoff), 'marks': [{'x': chosen,
                                                              'text': f'{chosen:.3g} Hz'}],
            'panes': [{'label': 'relative residual [%]', 'height': SMALL, 'from': 0, 'series': [
                {'kind': 'line', 'name': 'relative residual [%]', 'cls': 'measured',
                 'y': self.array(100.0 * error)}]}]})

    def compared(self, joint: str, speed: np.ndarray, torques: np.ndarray,
                 names: Sequence[str], unit: str) -> str:
        """
        Return the number of a chart of the friction of several models.

        joint : its name; speed : (N,); torques : (models, N) [unit]; names : of the models
        """
        styles = ['measured', *['predicted', 'residual', 'raw'] * len(names)]
        return self._add({
            'title': joint, 'label': f'friction of {joint} by {", ".join(names)}',
            'xlabel': 'speed [rad/s or m/s]', 'unit': '', 'x': self.array(speed),
            'panes': [{'label': f'friction [{unit}]', 'height': SMALL, 'series': [
                {'kind': 'line', 'name': name, 'cls': cls, 'y': self.array(torque)}
                for name, torque, cls in zip(names, torques, styles)]}]})

    def over_time(self, row: Mapping[str, Any], days: np.ndarray) -> str:
        """
        Return the number of a chart of one base parameter of several models over time.

        row : of a Comparison; days : (models,) since the first of them
        """
        order = np.argsort(days)
        value, error = (np.array(row[key])[order] for key in ('values', 'errors'))
        return self._add({
            'title': row['name'], 'label': f"{row['name']} over time", 'unit': 'days',
            'xlabel': 'days since the first', 'x': self.array(days[order]),
            'panes': [{'label': f"[{typeset(row['unit'])}]", 'height': SMALL, 'series': [
                {'kind': 'band', 'low': self.array(value - 2.0 * error),
                 'high': self.array(value + 2.0 * error)},
                {'kind': 'line', 'name': row['name'], 'cls': 'predicted',
                 'y': self.array(value)}]}]})

    def limited(self, quantity: tuple[str, str], t: np.ndarray,
                joints: Sequence[tuple[str, str]], values: np.ndarray,
                limits: np.ndarray) -> str:
        """
        Return the number of a chart of all joints over time, against their limits.

        quantity : (name, unit) of what is drawn; t : (N,) [s]; joints : (n,) name and class
        values : (N, n); limits : (2, n) lowest and highest; those far from all values are left out
        """
        low, high = values.min(), values.max()
        reach, ends = REACH * max(high - low, 1e-6), self.array(t[[0, -1]])
        series = [{'kind': 'limit', 'cls': cls, 'x': ends, 'y': self.array(np.full(2, limit))}
                  for (_, cls), both in zip(joints, limits.T) for limit in both
                  if low - reach < limit < high + reach]
        series += [{'kind': 'line', 'name': name, 'cls': cls, 'y': self.array(y)}
                   for (name, cls), y in zip(joints, values.T)]
        return self._add({
            'title': quantity[0], 'label': f'{quantity[0]} over time, limits dashed',
            'unit': 's', 'link': 'motion', 'xlabel': 'time [s]', 'x': self.array(t),
            'panes': [{'label': quantity[1], 'height': TALL, 'series': series}]})

    def singular(self, values: np.ndarray) -> str:
        """Return the number of a chart of singular values (b,), the largest first."""
        return self._add({
            'title': 'largest first; the first over the last is the condition number',
            'label': 'singular values, largest first', 'xlabel': 'number', 'unit': '',
            'x': self.array(np.arange(1, len(values) + 1)),
            'panes': [{'label': 'singular value', 'height': SMALL, 'log': True, 'series': [
                {'kind': 'line', 'name': 'singular value', 'cls': 'residual',
                 'y': self.array(values)}]}]})


def _carried(t: np.ndarray) -> np.ndarray:
    """Return times (N,) with breaks (not a number) at the time before them: a sorted axis."""
    return np.maximum.accumulate(np.where(np.isfinite(t), t, -np.inf))


class Panel:
    """Geometry of one panel of ``forest``: rows of parameters with one unit."""

    WIDE, ROW, LEFT, RIGHT, TOP, BOTTOM = 540.0, 15.0, 96.0, 12.0, 6.0, 36.0  # [px]

    def __init__(self, values: Sequence[float], errors: Sequence[float]) -> None:
        usual = float(np.median(errors)) if errors else 0.0
        self.linear = usual or 1.0
        self.log = bool(errors) and max(map(abs, values)) > 20.0 * usual > 0.0
        ends = [0.0, *values]
        self.low, self.high = self._scaled(min(ends)), self._scaled(max(ends))
        pad = 0.04 * (self.high - self.low or 1.0)
        self.low, self.high = self.low - pad, self.high + pad

    def _scaled(self, x: float) -> float:
        """Return x, beyond the usual error as decades where one scale cannot show all."""
        if not self.log:
            return x
        size = abs(x) / self.linear
        return float(np.sign(x)) * (size if size <= 1.0 else 1.0 + np.log10(size))

    def x(self, value: float) -> float:
        """Return the place [px] of a ``value``."""
        share = (self._scaled(value) - self.low) / (self.high - self.low)
        return self.LEFT + share * (self.WIDE - self.LEFT - self.RIGHT)

    def ticks(self) -> list[float]:
        """Return values to label, wide enough apart."""
        if self.log:
            top = np.log10(max(abs(self.low), abs(self.high), 1.0) * self.linear) + 9
            powers = 10.0 ** np.arange(np.ceil(np.log10(self.linear)), np.floor(top) + 1)
            every = [0.0, *powers, *-powers]
        else:
            step = 10.0 ** np.floor(np.log10(self.high - self.low))
            every = list(np.arange(-10, 11) * step)
        inside: list[float] = []
        for tick in sorted(every, key=abs):
            if (self.low <= self._scaled(tick) <= self.high
                    and all(abs(self.x(tick) - self.x(other)) > 42.0 for other in inside)):
                inside.append(float(tick))
        return inside


def forest(knowledge: Sequence[Any]) -> list[str]:
    """
    Return one SVG per unit: base parameters with two standard errors, and the description's.

    knowledge : Knowledge of the base parameters; they are coloured and marked by their grade
    """
    units: dict[str, list[Any]] = {}
    for item in knowledge:
        units.setdefault(item.entry['unit'], []).append(item)
    return [_forest(unit, items) for unit, items in units.items()]


def _forest(unit: str, items: Sequence[Any]) -> str:
    known = [i for i in items if i.entry['determined']]
    values = [i.entry['value'] + side * 2.0 * i.entry['standard_error']
              for i in known for side in (-1.0, 1.0)]
    values += [i.entry['nominal'] for i in items if i.described]
    panel = Panel(values or [1.0], [2.0 * i.entry['standard_error'] for i in known])
    tall = panel.TOP + panel.ROW * len(items) + panel.BOTTOM
    foot = tall - panel.BOTTOM + 4
    parts = [f'<svg viewBox="0 0 {panel.WIDE:g} {tall:g}" role="img" aria-label="base parameters '
             f'in {typeset(unit)}, values in the table">']
    for tick in panel.ticks():
        x = f'{panel.x(tick):.1f}'
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="4" y2="{foot:.1f}"/>'
                     f'<text x="{x}" y="{foot + 12:.1f}" '
                     f'text-anchor="middle">{tick:g}</text>')
    parts.append(f'<text x="{panel.WIDE - panel.RIGHT:g}" y="{foot + 26:.1f}" text-anchor="end">['
                 f'{typeset(unit)}]</text>')
    for k, item in enumerate(items):
        parts.append(_row(panel, item, panel.TOP + panel.ROW * (k + 0.5)))
    return ''.join([*parts, '</svg>'])


def _row(panel: Panel, item: Any, y: float) -> str:
    """Return one parameter as SVG: a bar, a mark by its grade, a diamond for the description."""
    entry, out = item.entry, [f'<text x="{panel.LEFT - 8:g}" y="{y + 4:.1f}" text-anchor="end">'
                              f'{item.name}</text>']
    if item.described:
        x = panel.x(entry['nominal'])
        out.append(f'<path class="nominal" d="M{x - 4:.1f} {y:.1f}l4 -4l4 4l-4 4z"/>')
    if entry['determined']:
        value, error = entry['value'], 2.0 * entry['standard_error']
        low, mid, high = (panel.x(v) for v in (value - error, value, value + error))
        mark = (f'<rect x="{mid - 2.2:.1f}" y="{y - 2.2:.1f}" width="4.4" height="4.4"/>'
                if item.mark == 'zero' else f'<circle cx="{mid:.1f}" cy="{y:.1f}" r="2.6"/>')
        out.append(f'<g class="{item.mark}"><line class="bar" x1="{low:.1f}" x2="{high:.1f}" '
                   f'y1="{y:.1f}" y2="{y:.1f}"/>{mark}<title>{item.name} {value:.4g} ± '
                   f'{entry["standard_error"]:.2g} {typeset(entry["unit"])}</title></g>')
    return ''.join(out)
