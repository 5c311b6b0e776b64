"""Figures: what the report draws, by matplotlib as files for print and papers."""

from collections.abc import Sequence
from pathlib import Path
import re
from typing import Any

import numpy as np

from .curves import Curve, curves, friction_curves, FrictionCurve
from .digits import typeset
from .knowledge import evaluate, Knowledge, NOT, ROUGH, WELL, ZERO
from ..errors import ConfigError
from ..identification.identify import Identification
from ..identification.model.files import make_folder

try:
    import matplotlib
    from matplotlib.figure import Figure
except ModuleNotFoundError:
    raise ConfigError('figures need matplotlib', do='pip install matplotlib') from None

MEASURED, PREDICTED, RESIDUAL, RAW = '#222222', '#d55e00', '#0072b2', '#c8c8c8'
GRADES = {WELL: ('#009e73', 'o'), ROUGH: ('#0072b2', 'D'), ZERO: ('#777777', 's')}
STYLE: Any = {'svg.fonttype': 'none', 'svg.hashsalt': 'ros_inertial_id', 'pdf.fonttype': 42,
              'font.size': 8, 'font.family': 'sans-serif', 'axes.spines.top': False,
              'axes.spines.right': False, 'axes.grid': True, 'grid.color': '#e6e6e6',
              'grid.linewidth': 0.6, 'axes.axisbelow': True, 'axes.titlesize': 8.5,
              'axes.titlelocation': 'left', 'axes.linewidth': 0.6}
WIDTH = 7.2  # [in], the text width of a two-column paper
DPI = 300  # of clouds of points, which are pixels inside the drawing


def write_figures(identification: Identification, folder: str | Path, kind: str) -> list[str]:
    """
    Write the figures of an Identification; return their paths.

    identification : what to draw; folder : made where it is not there; kind : svg or pdf
    One per row group and part (torque), one of all friction curves, one of the parameters.
    ConfigError where they cannot be written.
    """
    make_folder(folder)
    model, drawn = identification.model, {}
    for part, blocks in (('training', identification.training),
                         ('validation', identification.validation)):
        for name, curve in curves(model, blocks).items():
            drawn[f'torque_{name}_{part}'] = torque_figure(curve)
    friction = friction_curves(model, identification.training)
    if friction:
        drawn['friction'] = friction_figure(friction)
    drawn['parameters'] = parameter_figure(evaluate(model))
    paths = []
    for name, figure in drawn.items():
        path = Path(folder) / f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', name)}.{kind}"
        try:
            with matplotlib.rc_context(STYLE):
                figure.savefig(path, dpi=DPI, metadata={
                    'Date' if kind == 'svg' else 'CreationDate': None})
        except OSError as error:
            raise ConfigError(f'{path} cannot be written', found=error.strerror) from None
        paths.append(str(path))
    return paths


def torque_figure(curve: Curve) -> Figure:
    """Return a figure of a ``curve``: measured against predicted above, residual below."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 2.6), layout='constrained')
        top, low = figure.subplots(2, 1, sharex=True, height_ratios=(2.4, 1))
        for y, color, wide, label in ((curve.y_raw, RAW, 0.5, 'measured, raw'),
                                      (curve.y, MEASURED, 1.4, 'measured, filtered'),
                                      (curve.predicted, PREDICTED, 0.8, 'predicted')):
            top.plot(curve.t, y, color=color, lw=wide, label=label)
        low.fill_between(curve.t, -curve.half, curve.half, color=PREDICTED, alpha=0.25, lw=0)
        low.plot(curve.t, curve.residual, color=RESIDUAL, lw=0.7)
        low.axhline(0.0, color=MEASURED, lw=0.5)
        for axis in (top, low):
            axis.margins(x=0.01)
            for start in curve.starts:
                axis.axvline(start, color=MEASURED, lw=0.6, ls=':')
        top.legend(frameon=False, ncols=3, loc='lower right', bbox_to_anchor=(1.0, 0.97))
        top.set_title(curve.name, parse_math=False)
        top.set_ylabel(f"{'torque' if curve.unit == 'N m' else 'force'} [{curve.unit}]")
        low.set_ylabel(f'residual [{curve.unit}]')
        low.set_xlabel('time [s]')
        return figure


def friction_figure(drawn: Sequence[FrictionCurve]) -> Figure:
    """Return a figure of FrictionCurves ``drawn``, one small panel each."""
    across = min(4, len(drawn))
    down = -(-len(drawn) // across)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 1.7 * down + 0.2), layout='constrained')
        axes = figure.subplots(down, across, squeeze=False).ravel()
        for axis, curve in zip(axes, drawn):
            axis.plot(curve.v, curve.measured, '.', color=RAW, ms=1.5, rasterized=True)
            axis.fill_between(curve.speed, curve.torque - curve.error,
                              curve.torque + curve.error, color=PREDICTED, alpha=0.25, lw=0)
            axis.plot(curve.speed, curve.torque, color=PREDICTED, lw=1.2)
            axis.set_title(curve.name, parse_math=False)
            axis.set_xlabel(f"speed [{'m/s' if curve.unit == 'N' else 'rad/s'}]")
            axis.set_ylabel(f'friction [{curve.unit}]')
        for axis in axes[len(drawn):]:
            axis.remove()
        return figure


def parameter_figure(knowledge: Sequence[Knowledge]) -> Figure:
    """Return a figure of base parameters (their ``knowledge``) with two standard errors."""
    panels: dict[str, list[Knowledge]] = {}
    for item in knowledge:
        panels.setdefault(item.entry['unit'], []).append(item)
    tall = sum(len(p) + 4 for p in panels.values())
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH / 2, 0.155 * tall + 0.2), layout='constrained')
        axes = figure.subplots(len(panels), 1, squeeze=False,
                               height_ratios=[len(p) + 3 for p in panels.values()])
        for axis, panel in zip(axes.ravel(), panels.values()):
            _panel(axis, panel)
        return figure


def _panel(axis: Any, panel: Sequence[Knowledge]) -> None:
    rows = np.arange(len(panel))[::-1]
    axis.margins(x=0.03)
    for row, item in zip(rows, panel):
        entry = item.entry
        if item.described:
            axis.plot(entry['nominal'], row, marker='D', ms=4, mfc='none', mec=MEASURED, mew=0.7)
        if item.grade == NOT:
            continue
        color, mark = GRADES[item.grade]
        axis.errorbar(entry['value'], row, xerr=2.0 * entry['standard_error'], fmt=mark, ms=2.8,
                      color=color, lw=1.1, capsize=1.8)
    axis.axvline(0.0, color=MEASURED, lw=0.5)
    errors = [2.0 * i.entry['standard_error'] for i in panel if i.entry['determined']]
    usual = float(np.median(errors)) if errors else 0.0
    if usual > 0.0 and max(map(abs, axis.get_xlim())) > 20.0 * usual:
        axis.set_xscale('symlog', linthresh=usual, linscale=1.0)
    axis.set_yticks(rows, [i.name for i in panel])
    axis.set_ylim(-0.8, len(panel) - 0.2)
    axis.set_xlabel(f"[{typeset(panel[0].entry['unit'])}]")
