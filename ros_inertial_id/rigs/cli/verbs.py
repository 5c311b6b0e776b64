"""What the verbs for rigs do: calibrate and postures."""

from dataclasses import asdict
from typing import Any

import numpy as np

from ..calibration.calibrate import calibrate_platform
from ..calibration.postures import identify_held, identify_postures
from ...cli.console import changed, Progress, show
from ...cli.verbs_drives import aligned, loaded_recordings, number_row
from ...dynamics.robot_model import gravity_from_mounting
from ...errors import ConfigError
from ...identification.files import read_description, write_text
from ...identification.settings import load_options
from ...measurement.bags.bag import read_bag
from ...report.recording_words import signal_sentences

# Axis of the springs: unit of its stiffness.
FREEDOMS = {'x': 'N/m', 'y': 'N/m', 'z': 'N/m', 'rx': 'N m/rad', 'ry': 'N m/rad', 'rz': 'N m/rad'}


def calibrate(options: Any) -> None:
    """Find springs and platform from free vibrations with known loads; write the description."""
    settings, gravity = _settings(options)
    text = read_description(options.rig)
    loaded = loaded_recordings(options)
    with Progress('recordings') as progress:
        result = calibrate_platform(text, loaded, settings, gravity, progress)
    write_text(options.out, result.text)
    numbers = {k: v for k, v in asdict(result).items() if k != 'text'}
    residual = ', '.join(f'{name.split()[-1]} {x:.3g}' for name, x in result.residual.items())
    show(
        options,
        dict(numbers, description=str(options.out)),
        '\n'.join(
            [
                *aligned(_calibrated_rows(result)),
                f'residual RMS (N and N m): {residual}',
                result.verdict,
                *signal_sentences(result.summaries),
                str(options.out),
            ]
        ),
    )


def _calibrated_rows(result):
    """Return rows of stiffness, mass of the platform, and where its IMU sits."""
    rows = []
    stiffness = zip(np.diag(result.stiffness), np.diag(result.stiffness_error))
    for (axis, unit), (value, error) in zip(FREEDOMS.items(), stiffness):
        rows.append(number_row(f'stiffness {axis}', value, error, unit))
    rows.append(number_row('platform mass', result.platform[0], result.platform_error[0], 'kg'))
    if not result.imu:
        return rows
    for name, unit in (('position', 'm'), ('rpy', 'rad')):
        for axis, value, error in zip('xyz', result.imu[name], result.imu[f'{name}_error']):
            rows.append(number_row(f'{name} of the IMU {axis}', value, error, unit))
    return rows


def postures(options: Any) -> None:
    """Find link parameters from free vibrations in held postures; say what they leave open."""
    settings, gravity = _settings(options)
    text = read_description(options.rig)
    if not options.held:
        raise ConfigError('no postures', do='give --held BAG for each')
    with Progress() as progress:
        recordings = [read_bag(bag) for bag in options.held]
        held = identify_held(text, recordings, settings, progress)
    result = identify_postures(text, held, settings, gravity)
    base, estimate, intervals = result.base, result.estimate, result.intervals()
    entries = [_entry(base, estimate, k) for k in range(len(base))]
    rows = [
        number_row(e['expression'], e['value'], e['standard_error'], e['unit']) for e in entries
    ]
    lines = [
        f'{len(held.positions)} postures of {result.links} links: rank {estimate.rank} of '
        f'{len(base)}',
        *aligned(rows),
    ]
    if estimate.rank < len(base):
        lines[0] += ', for which more postures are needed'
    for name, (low, high) in intervals.items():
        lines.append(
            f'{name} lies in {low:.4f} to {high:.4f} by positive moments of inertia; '
            'links let loose show it'
        )
    show(
        options,
        {
            'postures': len(held.positions),
            'rank': len(base),
            'rank_in_data': estimate.rank,
            'base_parameters': entries,
            'intervals': intervals,
        },
        '\n'.join(lines),
    )


def _entry(base, estimate, k):
    """Return {name, unit, value, ...} of base parameter k, None for what is not determined."""
    value, error = None, None
    if estimate.determined[k]:
        value, error = float(estimate.params[k]), float(estimate.bse[k])
    return {
        'name': base.names()[k],
        'expression': base.expressions()[k],
        'unit': base.units()[k],
        'value': value,
        'standard_error': error,
    }


def _settings(options):
    """Return the options of the method by --config and --mounting, and gravity (3,)."""
    _, settings = load_options(options.config, 'suspended_platform', changed(options, 'mounting'))
    return settings, gravity_from_mounting(
        settings.mounting or 'upright', magnitude=settings.gravity_magnitude
    )
