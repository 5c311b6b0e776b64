"""
report: numbers, words and curves of an identification.

``verdict`` and ``summary`` need NumPy alone; jinja2 is imported when a report is written, so that
nodes and the command line start without it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .knowledge import ROUGH_PERCENT, WELL_PERCENT
from .summary import summary
from .words import verdict
from ..errors import ConfigError
from ..identification.identify import Identification
from ..identification.model.files import write_text

__all__ = ['summary', 'verdict', 'watch_page', 'write_report']


def write_report(identification: Identification, path: str | Path) -> Path:
    """
    Write an Identification as one self-contained HTML file; return its path.

    identification : model and blocks for curves; path : of the file
    ConfigError where jinja2 is not installed or the file cannot be written.
    """
    write_text(path, _page().render(identification))
    return Path(path)


def watch_page(buttons: Sequence[str]) -> str:
    """
    Return the HTML text of the live page, which draws what the node ``watch`` sends.

    buttons : names of what may be called; ConfigError where jinja2 is not installed
    """
    return str(_page().fill('watch.html', {
        'title': 'Live: measured against predicted torque', 'buttons': buttons,
        'well': WELL_PERCENT, 'rough': ROUGH_PERCENT}))


def _page() -> Any:
    """Return the module of pages."""
    try:
        from . import page
    except ModuleNotFoundError as error:
        raise ConfigError(f'a report needs {error.name}', do=f'install {error.name}') from None
    return page
