"""
report: numbers, words and curves of an identification.

``verdict`` and ``summary`` need NumPy alone; jinja2 is imported when a report is written, so that
nodes and the command line start without it.
"""

from pathlib import Path

from .summary import summary
from .words import verdict
from ..errors import ConfigError
from ..identification.files import write_text
from ..identification.identify import Identification

__all__ = ['summary', 'verdict', 'write_report']


def write_report(identification: Identification, path: str | Path) -> Path:
    """
    Write an Identification as one self-contained HTML file; return its path.

    identification : model and blocks for curves; path : of the file
    ConfigError where jinja2 is not installed or the file cannot be written.
    """
    try:
        from .page import render
    except ModuleNotFoundError as error:
        raise ConfigError(f'a report needs {error.name}', do=f'install {error.name}') from None
    write_text(path, render(identification))
    return Path(path)
