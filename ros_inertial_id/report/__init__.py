"""
report: numbers, words and curves of an identification.

``verdict`` and ``summary`` need NumPy alone; jinja2 is imported when a page is written, so that
nodes and the command line start without it.
"""

from collections.abc import Sequence
from pathlib import Path

from .knowledge import ROUGH_PERCENT, WELL_PERCENT
from .summary import outline, summary
from .words import verdict
from ..identification.identify import Identification

__all__ = ['outline', 'summary', 'verdict', 'watch_page', 'write_report']


def write_report(identification: Identification, path: str | Path, model: str = '') -> Path:
    """
    Write an Identification as one self-contained HTML file; return its path.

    identification : model and blocks for curves; path : of the file
    model : path of its model.yaml, '' for the one beside the page
    ConfigError where jinja2 is not installed or the file cannot be written.
    """
    from .sections import IDENTIFICATION, IdentifiedNumbers

    model = model or str(Path(path).with_name('model.yaml'))
    return IDENTIFICATION.write(IdentifiedNumbers(identification, model), path)


def watch_page(buttons: Sequence[str]) -> str:
    """Return the HTML text of the live page; ``buttons`` : names of what may be called."""
    from .sheet import fill

    return fill(
        'watch.html',
        {
            'title': 'Live: measured against predicted torque',
            'buttons': buttons,
            'well': WELL_PERCENT,
            'rough': ROUGH_PERCENT,
        },
        {'arrays': {}, 'charts': {}, 'numbers': {}},
    )
