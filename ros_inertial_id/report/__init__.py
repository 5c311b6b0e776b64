"""
report: numbers, words and pictures of an identification.

``verdict`` and ``summary`` need NumPy alone; matplotlib and jinja2 are imported when a report is
written, so that nodes and the command line start without them.
"""

from .summary import summary
from .words import verdict
from ..errors import ConfigError

__all__ = ['summary', 'verdict', 'write_report']


def write_report(identification, path):
    """
    Write an Identification as one self-contained HTML file to ``path``; return the path.

    Raises ConfigError where matplotlib or jinja2 are not installed, OSError as ``open`` does.
    """
    try:
        from .page import render
    except ModuleNotFoundError as error:
        raise ConfigError('a report needs matplotlib and jinja2', found=f'no {error.name}',
                          do=f'install {error.name}') from None
    text = render(identification)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    return path
