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

FREEDOMS = ('x', 'y', 'z', 'rx', 'ry', 'rz')


def calibrate(options: Any) -> None:
    """Find springs and platform from free vibrations with known loads; write the description."""
    settings, gravity = _settings(options)
    text = read_description(options.rig)
    loaded = loaded_recordings(options)
    with Progress('recordings') as progress:
        result = calibrate_platform(text, loaded, settings, gravity, progress)
    write_text(options.out, result.text)
    numbers = {k: v for k, v in asdict(result).items() if k != 'text'}
    rows = [
        number_row(f'stiffness {axis}', K, dK, 'N m/rad' if axis[0] == 'r' else 'N/m')
        for axis, K, dK in zip(
            FREEDOMS, np.diag(result.stiffness), np.diag(result.stiffness_error)
        )
    ]
    rows.append(number_row('platform mass', result.platform[0], result.platform_error[0], 'kg'))
    for name, unit in (('position', 'm'), ('rpy', 'rad')):
        rows += [
            number_row(f'{name} of the IMU {axis}', x, dx, unit)
            for axis, x, dx in zip(
                'xyz', result.imu.get(name, ()), result.imu.get(f'{name}_error', ())
            )
        ]
    left = ', '.join(f'{name.split()[-1]} {x:.3g}' for name, x in result.residual.items())
    show(
        options,
        dict(numbers, description=str(options.out)),
        '\n'.join(
            [
                *aligned(rows),
                f'residual RMS (N and N m): {left}',
                result.verdict,
                *signal_sentences(result.summaries),
                str(options.out),
            ]
        ),
    )


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
    found = [
        (v, s) if known else (None, None)
        for v, s, known in zip(
            estimate.params.tolist(), estimate.bse.tolist(), estimate.determined
        )
    ]
    columns = list(zip(base.names(), base.expressions(), base.units(), found))
    few = estimate.rank < len(base)
    show(
        options,
        {
            'postures': len(held.positions),
            'rank': len(base),
            'rank_in_data': estimate.rank,
            'base_parameters': [
                {'name': n, 'expression': e, 'unit': u, 'value': v, 'standard_error': s}
                for n, e, u, (v, s) in columns
            ],
            'intervals': intervals,
        },
        '\n'.join(
            [
                f'{len(held.positions)} postures of {result.links} links: rank {estimate.rank} of '
                f'{len(base)}' + (', for which more postures are needed' if few else ''),
                *aligned([number_row(e, v, s, u) for _, e, u, (v, s) in columns]),
                *(
                    f'{name} lies in {low:.4f} to {high:.4f} by positive moments of inertia; '
                    'links let '
                    'loose show it'
                    for name, (low, high) in intervals.items()
                ),
            ]
        ),
    )


def _settings(options):
    """Return the options of the method by --config and --mounting, and gravity (3,)."""
    _, settings = load_options(options.config, 'suspended_platform', changed(options, 'mounting'))
    return settings, gravity_from_mounting(
        settings.mounting or 'upright', magnitude=settings.gravity_magnitude
    )
