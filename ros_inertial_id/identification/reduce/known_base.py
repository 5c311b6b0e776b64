"""
Known base parameters: named as reports name them, turned into the sums that they stand for.

Names such as mcxR2 mean something once the structure is known; a method knows parameters alone.
"""

from collections.abc import Sequence
from dataclasses import replace
import re
from typing import Any

import numpy as np

from ..judge.mounting import structural_base
from ..prepare.robot import robot_of
from ...errors import ConfigError
from ...measurement.recording import Recording
from ...methods import METHODS

NAME = re.compile(r'^\s*([A-Za-z]+R\d+)(?=\s|=|$)')


def with_sums(recordings: Sequence[Recording], options: Any, method: str, urdf: str) -> Any:
    """
    Return the options with base parameters among the ``known`` ones written as sums.

    recordings : whose mountings decide the base parameters
    urdf : text, '' for that of the recordings
    ConfigError where there is no such base parameter.
    """
    if not METHODS[method].takes_known or not any(map(NAME.match, options.known)):
        return options
    bare = replace(options, known=())
    robots = [robot_of(recording, bare, urdf, method) for recording in recordings]
    columns = [p for p in METHODS[method].parameters(robots[0], bare) if not p.law]
    base = structural_base(METHODS[method], robots, columns)
    sums = dict(zip(base.names(), base.groupings()))

    def written(line):
        match = NAME.match(line)
        if not match:
            return line
        if match[1] not in sums:
            raise ConfigError('option known', found=match[1], exists=list(sums))
        terms = ' + '.join(f'{np.format_float_positional(c)} {name}'
                           for name, c in sums[match[1]].items()).replace('+ -', '- ')
        return f'{terms} = {line[match.end():].strip(" =") or "0"}'

    return replace(options, known=tuple(map(written, options.known)))
