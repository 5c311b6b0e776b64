"""Representation: what a prompt shows of a result: a screen of its text, a plot of its torques."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .errors import ConfigError

MOST_LINES = 15


def brief(text: str) -> str:
    """Return ``text`` in at most MOST_LINES lines, the last of which says how many more."""
    lines = text.split('\n')
    if len(lines) <= MOST_LINES:
        return text
    shown = lines[: MOST_LINES - 1]
    return '\n'.join([*shown, f'... {len(lines) - len(shown)} more lines: print() shows all'])


class Line(NamedTuple):
    """Torque of a joint, for a plot: name, unit; t [s], measured and predicted, all (N,)."""

    name: str
    unit: str
    t: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray


def plot_torques(lines: Sequence[Line]) -> Any:
    """
    Return the matplotlib axes (n,) with one measured and one predicted torque each.

    ConfigError without matplotlib.
    """
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ConfigError(
            'plot needs matplotlib',
            do="pip install matplotlib, or write a page: result.report('report.html')",
        ) from None
    figure, grid = pyplot.subplots(
        len(lines), sharex=True, squeeze=False, figsize=(8.0, 1.5 * len(lines) + 1.0)
    )
    axes = grid[:, 0]
    for axis, line in zip(axes, lines):
        if np.isfinite(line.measured).any():
            axis.plot(line.t, line.measured, label='measured')
        axis.plot(line.t, line.predicted, label='predicted')
        axis.set_ylabel(f'{line.name} [{line.unit}]')
    axes[0].legend(loc='upper right')
    axes[-1].set_xlabel('t [s]')
    figure.tight_layout()
    return axes
