"""Pictures: curves and parameters drawn by matplotlib, as SVG text to stand inside a page."""

import io
import re

import matplotlib
from matplotlib.figure import Figure
import numpy as np

from .digits import typeset
from .knowledge import NOT, ROUGH, WELL, ZERO

MEASURED, PREDICTED, RESIDUAL, RAW = '#222222', '#d55e00', '#0072b2', '#c8c8c8'
GRADES = {WELL: '#009e73', ROUGH: '#0072b2', ZERO: '#999999'}
STYLE = {'svg.fonttype': 'none', 'svg.hashsalt': 'ros_inertial_id', 'font.size': 8,
         'font.family': 'sans-serif', 'axes.spines.top': False, 'axes.spines.right': False,
         'axes.grid': True, 'grid.color': '#e6e6e6', 'grid.linewidth': 0.6,
         'axes.axisbelow': True, 'axes.titlesize': 8.5, 'axes.titlelocation': 'left',
         'axes.linewidth': 0.6, 'xtick.major.width': 0.6, 'ytick.major.width': 0.6}
WIDTH = 10.2  # [in]
WIDE = 20.0  # usual errors in half a panel, beyond which a linear axis hides too much
DPI = 170  # of lines with thousands of points, which are pixels inside the drawing


def torque_picture(parts):
    """
    Return the SVG of one row group: measured against predicted above, residual below.

    parts : list of (title, Curve), one column each, all on the same scale
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 2.6))
        axes = figure.subplots(2, len(parts), sharey='row', sharex='col', squeeze=False,
                               height_ratios=(2.4, 1))
        figure.subplots_adjust(0.075, 0.165, 0.985, 0.915, 0.04, 0.12)
        for (title, curve), (top, low) in zip(parts, axes.T):
            _torque(top, curve)
            top.set_title(title)
            low.plot(curve.t, curve.residual, color=RESIDUAL, lw=0.7, rasterized=True)
            low.axhline(0.0, color=MEASURED, lw=0.5)
            low.set_xlabel('time [s]' + (', recordings one after the other'
                                         if curve.starts else ''))
            for axis in (top, low):
                axis.margins(x=0.01)
                for start in curve.starts:
                    axis.axvline(start, color=MEASURED, lw=0.6, ls=':')
        unit = parts[0][1].unit
        axes[0, 0].set_ylabel(f'torque [{unit}]' if unit == 'N m' else f'force [{unit}]')
        axes[1, 0].set_ylabel(f'[{unit}]')
        figure.align_ylabels()
        return _svg(figure)


def _torque(axis, curve):
    axis.plot(curve.t, curve.y_raw, color=RAW, lw=0.5, rasterized=True, label='measured, raw')
    axis.plot(curve.t, curve.y, color=MEASURED, lw=1.4, rasterized=True, label='measured')
    axis.plot(curve.t, curve.predicted, color=PREDICTED, lw=0.8, rasterized=True,
              label='predicted')


def friction_picture(curves):
    """Return the SVG of FrictionCurves, one small drawing each."""
    across = 4
    down = -(-len(curves) // across)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 2.1 * down + 0.2), layout='constrained')
        axes = figure.subplots(down, across, squeeze=False).ravel()
        for axis, curve in zip(axes, curves):
            axis.plot(curve.v, curve.measured, '.', color=RAW, ms=1.5, rasterized=True)
            axis.fill_between(curve.speed, curve.torque - curve.error,
                              curve.torque + curve.error, color=PREDICTED, alpha=0.25, lw=0)
            axis.plot(curve.speed, curve.torque, color=PREDICTED, lw=1.2)
            axis.set_title(curve.name)
            sliding = curve.unit == 'N'
            axis.set_xlabel(f"speed [{'m/s' if sliding else 'rad/s'}]")
            axis.set_ylabel(f'friction [{curve.unit}]')
        for axis in axes[len(curves):]:
            axis.remove()
        return _svg(figure)


def parameter_picture(knowledge):
    """Return the SVG of base parameters with two standard errors, against the nominal values."""
    panels = {}
    for item in knowledge:
        panels.setdefault(item.entry['unit'], []).append(item)
    columns = _two_columns(list(panels.values()))
    with matplotlib.rc_context(STYLE):
        tall = max(sum(len(p) + 4 for p in column) for column in columns)
        figure = Figure(figsize=(WIDTH, 0.155 * tall + 0.2), layout='constrained')
        for sub, column in zip(np.ravel(figure.subfigures(1, len(columns))), columns):
            axes = sub.subplots(len(column), 1, squeeze=False, height_ratios=[
                len(panel) + 3 for panel in column])
            for axis, panel in zip(axes.ravel(), column):
                _panel(axis, panel)
        return _svg(figure)


def cutoff_picture(curve, chosen):
    """
    Return the SVG of a search for the cutoff.

    curve : [(cutoff [Hz], what the torque leaves, relative)]; chosen : the cutoff taken [Hz]
    """
    cutoff, error = np.array(curve).T
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH / 2, 2.2), layout='constrained')
        axis = figure.subplots()
        axis.semilogx(cutoff, 100.0 * error, 'o-', color=MEASURED, ms=2.8, lw=0.9)
        axis.axvline(chosen, color=PREDICTED, lw=1.2)
        axis.annotate(f' {chosen:.3g} Hz', (chosen, 1.0), xycoords=('data', 'axes fraction'),
                      va='top', color=PREDICTED)
        axis.set_ylim(bottom=0.0)
        axis.set_xlabel('cutoff of the motion [Hz]')
        axis.set_ylabel('torque not explained [%]')
        ticks = [t for t in np.outer(10.0 ** np.arange(-2, 5), (1, 2, 5)).ravel()
                 if cutoff[0] <= t <= cutoff[-1]]
        axis.set_xticks(ticks, [f'{t:g}' for t in ticks])
        axis.set_xticks([], minor=True)
        return _svg(figure)


def _two_columns(panels):
    """Return panels in two columns of about equal height, the order kept within a column."""
    columns, heights = ([], []), [0, 0]
    for panel in sorted(panels, key=len, reverse=True):
        shorter = int(heights[1] < heights[0])
        columns[shorter].append(panel)
        heights[shorter] += len(panel) + 4
    return [column for column in columns if column]


def _panel(axis, panel):
    unit = panel[0].entry['unit']
    rows = np.arange(len(panel))[::-1]
    axis.margins(x=0.03)
    for row, item in zip(rows, panel):
        entry = item.entry
        if not item.lead.law:
            axis.plot(entry['nominal'], row, marker='D', ms=4, mfc='none', mec=MEASURED, mew=0.7)
        if item.grade == NOT:
            continue
        axis.errorbar(entry['value'], row, xerr=2.0 * entry['standard_error'], fmt='o', ms=2.8,
                      color=GRADES[item.grade], lw=1.1, capsize=1.8)
    axis.axvline(0.0, color=MEASURED, lw=0.5)
    _scale(axis, panel)
    axis.set_yticks(rows, [i.name + (' (not determined)' if i.grade == NOT else '')
                           for i in panel])
    axis.set_ylim(-0.8, len(panel) - 0.2)
    axis.set_xlabel(f'[{typeset(unit)}]')


def _scale(axis, panel):
    """Make the axis logarithmic beyond the usual error, where one scale cannot show all."""
    errors = [2.0 * i.entry['standard_error'] for i in panel if i.entry['determined']]
    usual = float(np.median(errors)) if errors else 0.0
    largest = max(map(abs, axis.get_xlim()))
    if usual > 0.0 and largest > WIDE * usual:
        axis.set_xscale('symlog', linthresh=usual, linscale=1.0)
        axis.autoscale_view()  # the margins were those of the linear axis
        decades = 10.0 ** np.arange(np.ceil(np.log10(usual)), np.floor(np.log10(largest)) + 1)
        if len(decades) <= 2:
            decades = np.outer(decades, (1.0, 3.0)).ravel()
        inside = np.array([d for d in (*-decades[::-1], 0.0, *decades)
                           if axis.get_xlim()[0] <= d <= axis.get_xlim()[1]])
        axis.set_xticks(inside, [f'{tick:g}' for tick in inside])
        axis.set_xticks([], minor=True)


def _svg(figure):
    buffer = io.StringIO()
    figure.savefig(buffer, format='svg', dpi=DPI,
                   metadata={'Date': None, 'Creator': None, 'Format': None, 'Type': None})
    text = buffer.getvalue()
    text = text[text.index('<svg'):]
    # Names of groups would repeat from picture to picture in one page.
    return re.sub(r'<g id="[^"]*"', '<g', text)
