"""What the verb for drives does, and what verbs with known loads and tables of numbers share."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .console import changed, known_load, show
from ..api.recordings import recording_of
from ..errors import ConfigError
from ..identification.files import read_description
from ..identification.settings import load_options
from ..measurement.joints.drives import is_commanded
from ..measurement.recording import Recording
from ..procedures.drive_gains import identify_drive_gains
from ..report.knowledge import with_error
from ..report.sheet import Table


def drive_gains(options: Any) -> None:
    """Find what effort is worth in torque: by a known load or gain, or the described masses."""
    urdf = read_description(options.urdf) if options.urdf else ''
    method, settings = load_options(
        options.config, options.method, changed(options, 'mounting'), urdf
    )
    result = identify_drive_gains(
        loaded_recordings(options, True, urdf),
        settings,
        method=method,
        link=options.link,
        urdf=urdf,
        known=dict(_gain(words) for words in options.gain),
    )
    commanded = is_commanded(settings.effort_kind)
    rows = [
        number_row(
            joint,
            result.gains.get(joint),
            result.gain_errors.get(joint),
            'N m/rad' if commanded else 'torque per effort',
        )
        for joint in result.standard_deviation
    ]
    leans = (
        [
            'The described masses fix the scale, taken to be right within 15 %; least sure are '
            'joints that gravity does not load. Weigh a load (--loaded) for a better one.'
        ]
        if result.described
        else []
    )
    listed = ', '.join(
        f'{result.gains[joint]:.6g}' if joint in result.gains else '?'
        for joint in result.standard_deviation
    )
    options_to_give = f'effort_kind: current, drive_gain: [{listed}]'
    if commanded:
        options_to_give = f'effort_kind: {settings.effort_kind}, stiffness: [{listed}]'
    show(
        options,
        {
            'gains': result.gains,
            'standard_errors': result.gain_errors,
            'relative_percent': result.relative_percent,
        },
        '\n'.join(
            [
                *aligned(rows),
                f'{result.relative_percent:.2f} % relative residual of the effort',
                *leans,
                options_to_give,
            ]
        ),
    )


def loaded_recordings(
    options: Any, mass_alone: bool = False, urdf: str = ''
) -> list[tuple[Recording, np.ndarray]]:
    """
    Return [(Recording, its known load (10,)), ...] of --empty and --loaded.

    mass_alone : see ``known_load``; urdf : description of the robot of logs, text
    """
    loads = [np.zeros(10)] * len(options.empty)
    loads += [known_load(load, mass_alone) for _, load in options.loaded]
    bags = [*options.empty, *(bag for bag, _ in options.loaded)]
    if not bags:
        raise ConfigError('no recordings', do='give --empty BAG and --loaded BAG LOAD')
    return [(recording_of(bag, urdf), load) for bag, load in zip(bags, loads)]


def number_row(
    name: str, value: float | None, error: float | None, unit: str
) -> tuple[str, str, str, str]:
    """Return the row of a number with its standard error; without a value it is not determined."""
    if value is None:
        return name, 'not determined', '', ''
    rounded, its_error = with_error(value, error)
    return name, rounded, f'+- {its_error}', unit


def aligned(rows: Sequence[tuple[str, str, str, str]]) -> list[str]:
    """Return the lines of ``rows`` of ``number_row``."""
    return Table([''] * 4, rows, (3,)).lines()


def _gain(words):
    try:
        joint, value = words.replace('=', ' ').split()
        return joint, float(value)
    except ValueError:
        raise ConfigError(
            '--gain', found=repr(words), expected='JOINT=TORQUE_PER_EFFORT'
        ) from None
