"""What the verbs for rigs do: calibrate and postures."""

from dataclasses import asdict
from typing import Any

import numpy as np

from .sheet import calibration_sheet, FREEDOMS, STIFFNESS_UNITS
from ..calibration.calibrate import calibrate_platform
from ..calibration.postures import identify_held, identify_postures
from ..suspended_platform.method import SuspendedPlatform
from ...cli.console import changed, page, Progress, show
from ...cli.verbs_drives import aligned, loaded_recordings, number_row
from ...dynamics.robot_model import gravity_from_mounting
from ...errors import ConfigError, EstimationError
from ...estimation.estimators import Problem
from ...identification.files import read_description, write_text
from ...identification.fit.fitting import consistent_links
from ...identification.prepare.dataset import Dataset
from ...identification.settings import load_options
from ...measurement.bags.bag import read_bag
from ...methods.capabilities import EstimateOfRows
from ...report.recording_words import signal_sentences

suspended_platform = SuspendedPlatform()


def calibrate(options: Any) -> None:
    """Find springs and platform from free vibrations with known loads; write the description."""
    settings, gravity = _settings(options, 'suspended_platform')
    text = read_description(options.rig)
    loaded = loaded_recordings(options)
    with Progress('recording') as progress:
        result = calibrate_platform(text, loaded, settings, gravity, progress)
    write_text(options.out, result.text)
    numbers = {k: v for k, v in asdict(result).items() if k != 'text'}
    rows = [number_row(f'stiffness {axis}', K, dK, unit) for axis, K, dK, unit in
            zip(FREEDOMS, np.diag(result.stiffness), np.diag(result.stiffness_error),
                STIFFNESS_UNITS)]
    rows.append(number_row('platform mass', result.platform[0], result.platform_error[0], 'kg'))
    if result.imu:
        rows += [number_row(f'place of the IMU {axis}', x, dx, 'm') for axis, x, dx in
                 zip('xyz', result.imu['position'], result.imu['position_error'])]
        rows += [number_row(f'rpy of the IMU {axis}', x, dx, 'rad') for axis, x, dx in
                 zip('xyz', result.imu['rpy'], result.imu['rpy_error'])]
    left = ', '.join(f'{name.split()[-1]} {x:.3g}' for name, x in result.residual.items())
    files = page(options, options.report, lambda: calibration_sheet(result, options.rig))
    show(options, dict(numbers, description=str(options.out), **files), '\n'.join([
        *aligned(rows), f'residual RMS (N and N m): {left}', result.verdict,
        *signal_sentences(result.preprocessing), str(options.out), *files.values()]))


def postures(options: Any) -> None:
    """Find link parameters from free vibrations in held postures; say what they leave open."""
    settings, gravity = _settings(options, 'suspended_platform')
    text = read_description(options.rig)
    if not options.held:
        raise ConfigError('no postures', do='give --held BAG for each')
    with Progress() as progress:
        recordings = [read_bag(bag) for bag in options.held]
        held = identify_held(text, recordings, settings, progress)
    result = identify_postures(text, held, settings, gravity)
    base, estimate = result.base, result.estimate
    problem = Problem(result.factors, base, {})
    links = consistent_links(Dataset(suspended_platform, (result.robot,), (), settings), problem,
                             EstimateOfRows(estimate)).entry
    bounds, note = _intervals(result, links['links'])
    entries, rows = _entries(base, [
        (v, s) if known else (None, None) for v, s, known in
        zip(estimate.params.tolist(), estimate.bse.tolist(), estimate.determined)])
    show(options, {
        'postures': len(held.positions), 'rank': len(base), 'rank_in_data': estimate.rank,
        'base_parameters': entries, 'open': list(result.missing), 'intervals': bounds,
        'consistent': {k: links[k] for k in ('links', 'loss_percent')}}, '\n'.join([
            f'{len(held.positions)} postures of {len(links["links"])} links: rank '
            f'{estimate.rank} of {len(base)}', *aligned(rows),
            *(f'held postures leave open: {words}' for words in result.missing), *note,
            *(_interval_words(name, entry) for name, entry in bounds.items())]))


def _settings(options, method):
    """Return the options of a method by --config and --mounting, and gravity (3,)."""
    _, settings = load_options(options.config, method, changed(options, 'mounting'))
    return settings, gravity_from_mounting(settings.mounting or 'upright',
                                           magnitude=settings.gravity_magnitude)


def _intervals(result, links):
    """Return {name: {paper, consistent}} of what postures leave open, and a note."""
    if result.estimate.rank < len(result.base):
        return {}, ['the intervals of what stays open need more postures first']
    words = {word for expression in result.missing for word in expression.split()}
    out = {}
    try:
        for k, ten in enumerate(links.values()):
            for place, axis in ((4, 'xx'), (6, 'yy'), (9, 'zz')):
                if f'I{axis}{k}' in words:
                    out[f'I{axis}{k}'] = {'paper': result.interval(f'I{axis}{k}'),
                                          'consistent': ten[place]}
    except EstimationError as error:
        return {}, [str(error)]
    return out, []


def _interval_words(name, entry):
    span, found = entry['paper'], f"{entry['consistent']:.4f} is consistent"
    if span is None:
        return f'{name}: {found}'
    return f'{name} lies in {span[0]:.4f} to {span[1]:.4f} by positive moments of inertia; {found}'


def _entries(base, values):
    """Return the entries of JSON and the rows of text of base parameters, by (value, error)."""
    columns = list(zip(base.names(), base.expressions(), base.units(), values))
    return ([{'name': n, 'expression': e, 'unit': u, 'value': v, 'standard_error': s}
             for n, e, u, (v, s) in columns],
            [number_row(e, v, s, u) for _, e, u, (v, s) in columns])
