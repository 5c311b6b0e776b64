"""
Drawings: what the page's script draws, as plain values; see ``Chart`` in report.js.

A chart is ``panes`` of ``series`` over one axis; charts of one ``link`` share their range.
Arrays are sixteen bits a number between their ends, in base64: 8e4 numbers take 0.2 MB.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from itertools import chain, cycle
from typing import Any

import numpy as np

from .curves import Curve, FrictionCurve
from .knowledge import significant, typeset

TALL, LOW, SMALL, TINY = 150, 76, 150, 64  # [px] of panes
NEAR_SPANS = 1.6  # spans of the values within which their limits are drawn
ARRAY_STEPS = 65534  # between the ends of an array; the number after them is "not a number"
Encoded = tuple[float, float, str]  # lowest value, step, sixteen bits a number in base64


class Drawings:
    """The charts of a page, and the arrays that they share."""

    def __init__(self) -> None:
        self.names: dict[Encoded, str] = {}
        self.charts: dict[str, dict[str, Any]] = {}

    def array(self, values: np.ndarray) -> str:
        """Return the name under which ``values`` (N,) are kept; equal ones are kept once."""
        return self.names.setdefault(encoded(values), f'a{len(self.names)}')

    def to_dict(self) -> dict[str, Any]:
        """Return arrays by name and charts by number, as the script reads them."""
        return {
            'arrays': {name: array for array, name in self.names.items()},
            'charts': self.charts,
        }

    def add(
        self,
        title: str,
        label: str,
        axis: tuple[str, str],
        x: np.ndarray,
        panes: Sequence[Mapping[str, Any]],
        **more: Any,
    ) -> str:
        """
        Return the number of a new chart.

        title, label : above it, and for those who do not see it; axis : words and unit below it
        x : (N,) of all series that have none of their own; panes : one above the other
        more : link, marks; see report.js
        """
        number = f'c{len(self.charts)}'
        below, unit = axis
        if unit:
            below += f' [{unit}]'
        self.charts[number] = {
            'title': title,
            'label': label,
            'xlabel': below,
            'unit': unit,
            'x': self.array(x),
            'panes': list(panes),
            **more,
        }
        return number

    def line(self, name: str, style: str, y: np.ndarray) -> dict[str, Any]:
        """Return a line through ``y`` (N,), NaN where it breaks; style : its class in the page."""
        return {'kind': 'line', 'name': name, 'cls': style, 'y': self.array(y)}

    def band(self, half: np.ndarray, middle: np.ndarray | None = None) -> dict[str, Any]:
        """Return a band of ``half`` the width (N,) about zero or a ``middle`` (N,)."""
        about = {}
        if middle is not None:
            about = {'y': self.array(middle)}
        return {'kind': 'band', 'half': self.array(half), **about}

    def dots(self, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
        """Return a cloud of the points ``x``, ``y`` (N,)."""
        return {'kind': 'dots', 'x': self.array(x), 'y': self.array(y)}

    def bars(self, x: np.ndarray, y: np.ndarray, half: np.ndarray) -> dict[str, Any]:
        """Return points ``x``, ``y`` (K,), each with a bar of ``half`` (K,) up and down."""
        return {'kind': 'bars', 'x': self.array(x), 'y': self.array(y), 'half': self.array(half)}

    def torque(self, part: str, curve: Curve, fit: Mapping[str, Any], head: str = '') -> str:
        """
        Return the number of a chart of measured against predicted, with the residual below.

        part : training or validation; curve : of one row group; fit : residuals of the part
        head : that the title begins with
        """
        kind, _ = of_rows(curve.unit)
        axis = 'time'
        if curve.starts:
            axis = 'time, recordings one after the other'
        measured = self.line('measured', 'measured', curve.y)
        residual = self.line('residual', 'residual', curve.residual)
        predicted = {**measured, 'name': 'predicted', 'cls': 'predicted', 'minus': residual['y']}
        below = [residual]
        if np.isfinite(curve.half).any():
            below.insert(0, self.band(curve.half))
        return self.add(
            f'{head}{part}: {_residual_words(curve, fit)}',
            f'{curve.name}, {part}: measured and predicted {kind}',
            (axis, 's'),
            shared_time(curve.t),
            [
                pane(
                    f'{kind} [{curve.unit}]',
                    TALL,
                    [self.line('measured, raw', 'raw', curve.y_raw), measured, predicted],
                ),
                pane(f'residual [{curve.unit}]', LOW, below),
            ],
            link=part,
            marks=[{'x': x} for x in curve.starts],
        )

    def small_torque(self, part: str, curve: Curve, fit: Mapping[str, Any], mark: str = '') -> str:
        """Return the number of a small chart of what ``torque`` shows; ``mark`` : of the worst."""
        number = self.torque(part, curve, fit)
        above, below = self.charts[number]['panes']
        self.charts[number]['title'] = f'{mark}{curve.name}, {_share_words(curve, fit)}'
        self.charts[number]['panes'] = [
            {**above, 'height': TINY, 'series': above['series'][1:]},
            {**below, 'height': TINY // 2},
        ]
        return number

    def residuals(self, curve: Curve) -> list[str]:
        """Return the numbers of charts of a residual over speed and position, where known."""
        _, length = of_rows(curve.unit)
        numbers = []
        for key, words, unit in (('v', 'speed', f'{length}/s'), ('q', 'position', length)):
            if key not in curve.seen:
                continue
            dots = self.dots(curve.seen[key], curve.residual)
            numbers.append(
                self.add(
                    f'residual over {words}',
                    f'{curve.name}: residual over {words}',
                    (words, unit),
                    curve.seen[key],
                    [pane(f'residual [{curve.unit}]', SMALL, [dots])],
                )
            )
        return numbers

    def friction(self, curve: FrictionCurve) -> str:
        """Return the number of a chart of a friction ``curve`` over speed."""
        _, length = of_rows(curve.unit)
        series = [
            self.dots(curve.v, curve.measured),
            self.band(curve.error, curve.torque),
            self.line('friction', 'predicted', curve.torque),
        ]
        if curve.bins.size:
            series.append(self.bars(*curve.bins))
        return self.add(
            curve.name,
            f'friction of {curve.name} over its speed',
            ('speed', f'{length}/s'),
            curve.speed,
            [pane(f'friction [{curve.unit}]', SMALL, series)],
        )

    def lines(
        self,
        name: str,
        quantity: tuple[str, str],
        axis: tuple[str, str],
        x: np.ndarray,
        lines: Mapping[str, np.ndarray],
    ) -> str:
        """
        Return the number of a chart of several lines, the first of which is heavy.

        name : of the joint; quantity, axis : words and unit of ``lines`` {name: (N,)} and x (N,)
        """
        what, unit = quantity
        styles = chain(['measured'], cycle(['predicted', 'residual', 'raw']))
        series = [self.line(line, style, y) for (line, y), style in zip(lines.items(), styles)]
        return self.add(
            name,
            f'{what} of {name}: {", ".join(lines)}',
            axis,
            x,
            [pane(f'{what} [{unit}]', SMALL, series)],
        )

    def recorded(
        self,
        name: str,
        t: np.ndarray,
        signals: Mapping[str, np.ndarray],
        link: str,
        windows: Sequence[tuple[str, float, float]],
    ) -> str:
        """
        Return the number of a chart of what was recorded, with what was found shaded.

        name : of the joint; t : (N,) [s]; signals : {label: (N,)}, NaN where samples are missing
        link : with whom the time is shared; windows : (name of a finding, start, end [s])
        """
        findings = ', '.join(dict.fromkeys(finding for finding, *_ in windows))
        title = name
        if findings:
            title += f': {findings}'
        return self.add(
            title,
            f'{name} as recorded; shaded: {findings or "nothing was found"}',
            ('time', 's'),
            t,
            [
                pane(label, LOW, [self.line(label.split(' [')[0], 'measured', y)])
                for label, y in signals.items()
            ],
            link=link,
            marks=[{'x': start, 'to': end, 'name': finding} for finding, start, end in windows],
        )

    def over_time(
        self, name: str, unit: str, days: np.ndarray, values: np.ndarray, errors: np.ndarray
    ) -> str:
        """Return the number of a chart of ``values`` (N,) with two ``errors`` over ``days``."""
        return self.add(
            name,
            f'{name} over time',
            ('time since the first', 'days'),
            days,
            [
                pane(
                    f'[{typeset(unit)}]',
                    SMALL,
                    [self.band(2.0 * errors, values), self.line(name, 'predicted', values)],
                )
            ],
        )

    def limited(
        self,
        quantity: tuple[str, str],
        t: np.ndarray,
        joints: Sequence[tuple[str, str]],
        values: np.ndarray,
        limits: np.ndarray,
    ) -> str:
        """
        Return the number of a chart of all joints over time, against their limits.

        quantity : (name, unit) of what is drawn; t : (N,) [s]; joints : (n,) name and class
        values : (N, n); limits : (2, n) lowest and highest; those far from all values are left out
        """
        low, high = values.min(), values.max()
        near, ends = NEAR_SPANS * max(high - low, 1e-6), self.array(t[[0, -1]])
        series: list[dict[str, Any]] = []
        for (_, cls), both in zip(joints, limits.T):
            for limit in both:
                if low - near < limit < high + near:
                    y = self.array(np.full(2, limit))
                    series.append({'kind': 'limit', 'cls': cls, 'x': ends, 'y': y})
        series += [self.line(name, cls, y) for (name, cls), y in zip(joints, values.T)]
        return self.add(
            quantity[0],
            f'{quantity[0]} over time, limits dashed',
            ('time', 's'),
            t,
            [pane(' '.join(quantity), TALL, series)],
            link='motion',
        )


def of_rows(unit: str) -> tuple[str, str]:
    """Return the quantity of rows of a ``unit``, and the unit of the position of their joint."""
    if unit == 'N m':
        return 'torque', 'rad'
    return 'force', 'm'


def pane(label: str, height: int, series: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a pane: label, ``height`` [px], ``series``."""
    return {'label': label, 'height': height, 'series': list(series)}


def encoded(values: np.ndarray) -> Encoded:
    """Return ``values`` (N,) as the page has them: code k is the lowest value and k steps."""
    values = np.asarray(values, dtype=float)
    numbers = np.full(values.shape, ARRAY_STEPS + 1, dtype='<u2')
    is_finite = np.isfinite(values)
    finite = values[is_finite]
    low = step = 0.0
    if finite.size:
        low = float(finite.min())
        step = (float(finite.max()) - low) / ARRAY_STEPS
        numbers[is_finite] = 0
    if step:
        numbers[is_finite] = np.rint((finite - low) / step)
    return low, step, b64encode(numbers.tobytes()).decode()


def _residual_words(curve: Curve, fit: Mapping[str, Any]) -> str:
    """Return the residual of a row group, of its measured torque where that is known."""
    error = fit['rms'][curve.name]
    measured = fit.get('measured_rms', {}).get(curve.name)
    if not measured:
        return _share_words(curve, fit)
    percent = significant(100 * error / measured)
    return (
        f'residual {significant(error)} of {significant(measured)} {curve.unit} RMS ({percent} %)'
    )


def _share_words(curve: Curve, fit: Mapping[str, Any]) -> str:
    """Return the residual of a row group, shortly: in percent where the torque is known."""
    error = fit['rms'][curve.name]
    measured = fit.get('measured_rms', {}).get(curve.name)
    if not measured:
        return f'residual {significant(error)} {curve.unit} RMS'
    return f'residual {significant(100 * error / measured, 2)} %'


def shared_time(t: np.ndarray) -> np.ndarray:
    """Return times ``t`` (N,) with breaks (not a number) at the time before: a sorted axis."""
    return np.maximum.accumulate(np.where(np.isfinite(t), t, -np.inf))
