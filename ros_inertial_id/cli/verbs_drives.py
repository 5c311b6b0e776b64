"""What the verb for drives does, and what verbs with known loads and tables of numbers share."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from .console import changed, description_in, known_load, log_format, numbers_in, show
from ..api.recordings import recording_of
from ..checks.finding import forced_lines
from ..errors import ConfigError
from ..identification.prepare.dataset import each_once
from ..identification.settings import load_options
from ..measurement.bags.log import AS_NAMED, LogFormat
from ..measurement.joints.drives import gains_to_paste, is_commanded
from ..measurement.joints.effort_source import SCALE_ERRORS
from ..measurement.recording import Recording
from ..procedures.drive_gains import (
    DriveGains,
    forced_drive_gains,
    identify_drive_gains,
    KnownLoad,
    NO_LOAD,
)
from ..report.knowledge import with_error
from ..report.sheet import Table

Load = TypeVar('Load')


def drive_gains(options: Any) -> None:
    """Find what effort is worth in torque: by a known load or gain, or the described masses."""
    urdf = description_in(options.urdf)
    method, settings = load_options(
        options.config, options.method, changed(options, 'mounting'), urdf
    )
    gains_of = identify_drive_gains
    if options.force:
        gains_of = forced_drive_gains
    result = gains_of(
        _recordings(options, _drive_load, urdf, log_format(options)),
        settings,
        method=method,
        link=options.link,
        urdf=urdf,
        known=dict(_gain(words) for words in options.gain),
    )
    line = _line_to_paste(result, method, settings.effort_kind)
    numbers: dict[str, Any] = {
        'configuration': line,
        'gains': result.gains,
        'standard_errors': result.gain_errors,
        'relative_percent': result.relative_percent,
    }
    if result.forced:
        numbers['forced'] = result.forced
    show(options, numbers, '\n'.join([*_gain_lines(result, settings.effort_kind), line]))


def _gain_lines(result: DriveGains, effort_kind: str) -> list[str]:
    """Return the gains as lines, the last of them what to do with the line to paste."""
    unit = 'torque per effort'
    if is_commanded(effort_kind):
        unit = 'N m/rad'
    rows, unknown = [], []
    for joint in result.standard_deviation:
        gain, error = result.gains.get(joint), result.gain_errors.get(joint)
        rows.append(number_row(joint, gain, error, unit))
        if gain is None:
            unknown.append(joint)
    lines = [*forced_lines(result.forced), *aligned(rows)]
    lines.append(f'{result.relative_percent:.2f} % relative residual of the effort')
    if result.described:
        lines.append(
            'The described masses fix the scale, taken to be right within 15 %; least sure are '
            'joints that gravity does not load. Weigh a load (--loaded) for a better one.'
        )
    if unknown:
        lines.append(
            f'{", ".join(unknown)}: the middle of the others stands below with an error of 100 %; '
            'give what you know by --gain JOINT=GAIN'
        )
    lines.append('Write the next line to gains.yaml, then identify with --config gains.yaml:')
    return lines


def _line_to_paste(result: DriveGains, method: str, effort_kind: str) -> str:
    """Return the configuration to identify with."""
    kind = 'current'
    if is_commanded(effort_kind):
        kind = effort_kind
    gains, errors = dict[str, float | None](), dict[str, float]()
    for joint in result.standard_deviation:
        gain, error = result.gains.get(joint), result.gain_errors.get(joint)
        gains[joint] = gain
        errors[joint] = SCALE_ERRORS[kind]  # where the gain was given
        if gain and error:
            errors[joint] = abs(error / gain)
    return gains_to_paste(method, kind, gains, errors)


def loaded_recordings(options: Any) -> list[tuple[Recording, np.ndarray]]:
    """Return [(Recording, its known load (10,)), ...] of --empty and --loaded."""
    return _recordings(options, _point_load)


def _recordings(
    options: Any, load_in: Callable[[str], Load], urdf: str = '', given: LogFormat = AS_NAMED
) -> list[tuple[Recording, Load]]:
    """
    Return [(Recording, its load), ...] of --empty and --loaded.

    load_in : the load that words give, '' for none; they are understood before a bag is read
    urdf : description of the robot of logs, text; given : what logs do not say
    """
    bags = [(bag, load_in(words)) for bag, words in _named(options)]
    if not bags:
        raise ConfigError('no recordings', do='give --empty BAG and --loaded BAG LOAD')
    loads = [(recording_of(bag, urdf, given), load) for bag, load in bags]
    _, repeated = each_once([recording for recording, _ in loads])
    if repeated:
        raise ConfigError(
            f'{repeated[0]} is given twice',
            expected='each recording once, --empty or --loaded',
            do='leave one of them out',
        )
    return loads


def _named(options: Any) -> list[tuple[str, str]]:
    """Return [(bag, words of its load), ...] of --empty, '' for its load, and --loaded."""
    return [*((bag, '') for bag in options.empty), *options.loaded]


def _point_load(words: str) -> np.ndarray:
    """Return the load (10,) that ``words`` of --loaded give, of zeros for ''."""
    if not words:
        return np.zeros(10)
    return known_load(words)


def _drive_load(words: str) -> KnownLoad:
    """Return the KnownLoad that ``words`` of --loaded give, NO_LOAD for ''."""
    if not words:
        return NO_LOAD
    numbers = numbers_in(words)
    if len(numbers) == 1:
        return KnownLoad.of_mass(numbers[0])
    return KnownLoad(known_load(words, ', or "MASS" alone'))


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


def _gain(words: str) -> tuple[str, float]:
    """Return joint and torque per effort that ``words`` of --gain give, or raise ConfigError."""
    try:
        joint, value = words.replace('=', ' ').split()
        return joint, float(value)
    except ValueError:
        raise ConfigError(
            '--gain', found=repr(words), expected='JOINT=TORQUE_PER_EFFORT'
        ) from None
