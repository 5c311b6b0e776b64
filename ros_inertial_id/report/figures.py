"""Figures for print and papers: the charts of the page, and the parameters, by matplotlib."""

from collections.abc import Mapping, Sequence
from pathlib import Path
import re
from typing import Any

import numpy as np

from .digits import typeset
from .drawings import decoded
from .knowledge import evaluate, Knowledge, NOT, ROUGH, WELL, ZERO
from .page import report_sheet
from ..errors import ConfigError
from ..identification.identify import Identification
from ..identification.model.files import make_folder

try:
    import matplotlib
    from matplotlib.figure import Figure
except ModuleNotFoundError:
    raise ConfigError('figures need matplotlib', do='pip install matplotlib') from None

LINES = {'measured': ('#222222', 1.4), 'predicted': ('#d55e00', 0.8), 'residual': ('#0072b2', 0.7),
         'raw': ('#c8c8c8', 0.5)}  # color, width [pt]
GRADES = {WELL: ('#009e73', 'o'), ROUGH: ('#0072b2', 'D'), ZERO: ('#777777', 's')}
STYLE: Any = {'svg.fonttype': 'none', 'svg.hashsalt': 'ros_inertial_id', 'pdf.fonttype': 42,
              'font.size': 8, 'font.family': 'sans-serif', 'axes.spines.top': False,
              'axes.spines.right': False, 'axes.grid': True, 'grid.color': '#e6e6e6',
              'grid.linewidth': 0.6, 'axes.axisbelow': True, 'axes.titlesize': 8.5,
              'axes.titlelocation': 'left', 'axes.linewidth': 0.6}
WIDTH = 3.5  # [in], a column of a two-column paper
DPI = 300  # of clouds of points, which are pixels inside the drawing


def write_figures(identification: Identification, folder: str | Path, kind: str) -> list[str]:
    """
    Write the charts of the page of an ``identification`` and its parameters; return the paths.

    folder : made where it is not there; kind : svg or pdf
    ConfigError where they cannot be written.
    """
    make_folder(folder)
    with matplotlib.rc_context(STYLE):
        page = report_sheet(identification).drawings.to_dict()
        drawn = {chart['label']: chart_figure(chart, page['arrays'])
                 for chart in page['charts'].values() if 'panes' in chart}
        drawn['base parameters'] = parameter_figure(evaluate(identification.model))
        paths = []
        for name, figure in drawn.items():
            path = Path(folder) / f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', name)}.{kind}"
            try:
                figure.savefig(path, dpi=DPI, metadata={
                    'Date' if kind == 'svg' else 'CreationDate': None})
            except OSError as error:
                raise ConfigError(f'{path} cannot be written', found=error.strerror) from None
            paths.append(str(path))
    return paths


def chart_figure(chart: Mapping[str, Any], arrays: Mapping[str, Any]) -> Figure:
    """Return the Figure of a ``chart`` of the page, see drawings.py, with its ``arrays``."""
    heights = [pane['height'] for pane in chart['panes']]
    figure = Figure(figsize=(WIDTH, 0.6 + 0.011 * sum(heights)), layout='constrained')
    axes = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)
    for axis, pane in zip(axes.ravel(), chart['panes']):
        for series in pane['series']:
            x = decoded(arrays[series.get('x', chart['x'])])
            y = decoded(arrays[series['y']]) if 'y' in series else np.zeros_like(x)
            y = 10.0 ** y if pane.get('log') else y
            if 'minus' in series:
                y = y - decoded(arrays[series['minus']])
            if series['kind'] == 'band':
                half = decoded(arrays[series['half']])
                axis.fill_between(x, y - half, y + half, color='#d55e00', alpha=0.25, lw=0)
            elif series['kind'] == 'dots':
                axis.plot(x, y, '.', color='#c8c8c8', ms=1.5, rasterized=True)
            else:
                color, width = LINES[series['cls']]
                axis.plot(x, y, color=color, lw=width, label=series['name'])
        axis.set_ylabel(pane['label'])
        axis.set_yscale('log' if pane.get('log') else 'linear')
        for mark in chart.get('marks', ()):
            axis.axvline(mark['x'], color='#222222', lw=0.6, ls=':')
    axis.set_xscale('log' if chart.get('xlog') else 'linear')
    axis.set_xlabel(chart['xlabel'])
    axes[0, 0].set_title(chart['label'], parse_math=False)
    return figure


def parameter_figure(knowledge: Sequence[Knowledge]) -> Figure:
    """Return a figure of base parameters (their ``knowledge``) with two standard errors."""
    panels: dict[str, list[Knowledge]] = {}
    for item in knowledge:
        panels.setdefault(item.entry['unit'], []).append(item)
    tall = sum(len(p) + 4 for p in panels.values())
    figure = Figure(figsize=(WIDTH, 0.155 * tall + 0.2), layout='constrained')
    axes = figure.subplots(len(panels), 1, squeeze=False,
                           height_ratios=[len(p) + 3 for p in panels.values()])
    for axis, (unit, panel) in zip(axes.ravel(), panels.items()):
        for row, item in enumerate(reversed(panel)):
            entry = item.entry
            if item.has_nominal:
                axis.plot(entry['nominal'], row, marker='D', ms=4, mfc='none', mec='#222222')
            if item.grade != NOT:
                color, mark = GRADES[item.grade]
                axis.errorbar(entry['value'], row, xerr=2.0 * entry['standard_error'], fmt=mark,
                              ms=2.8, color=color, lw=1.1, capsize=1.8)
        axis.set_yticks(range(len(panel)), [item.name for item in reversed(panel)])
        axis.set_xscale('symlog', linthresh=float(np.median(
            [2.0 * i.entry['standard_error'] for i in panel if i.grade != NOT] or [1.0])) or 1.0)
        axis.set_xlabel(f'[{typeset(unit)}]')
    return figure
