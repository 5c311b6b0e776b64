"""The Sheet of ``calibrate``."""

import numpy as np

from ..calibration.calibrate import Calibration
from ...report.knowledge import significant, with_error
from ...report.sheet import Card, Section, Sheet, Table

AXES = ('x', 'y', 'z')
FREEDOMS = ('x', 'y', 'z', 'rx', 'ry', 'rz')
STIFFNESS_UNITS = ('N/m',) * 3 + ('N m/rad',) * 3


def calibration_sheet(result: Calibration, rig: str) -> Sheet:
    """Return the page of calibrated springs; ``rig`` : path of its description."""
    stiffness, errors = np.diag(result.stiffness), np.diag(result.stiffness_error)
    rows = [(axis, *with_error(k, e), unit) for axis, k, e, unit in
            zip(FREEDOMS, stiffness, errors, STIFFNESS_UNITS)]
    soft = [k for k in range(6) if stiffness[k] <= 0.0]
    sentences = [f'The spring of {FREEDOMS[k]} is not positive: the rig cannot rest; check the '
                 'recordings and their loads.' for k in soft]
    mass, error = with_error(result.platform[0], result.platform_error[0])
    worst = max(range(6), key=lambda k: errors[k] / abs(stiffness[k]))
    share = 100.0 * errors[worst] / abs(stiffness[worst])
    imu = [(f'{name} {axis}', *with_error(x, e), unit)
           for name, unit in (('position', 'm'), ('rpy', 'rad'))
           for axis, x, e in zip(AXES, result.imu.get(name, ()),
                                 result.imu.get(f'{name}_error', ()))]
    heads = 'component', 'value', 'standard error', 'unit'
    residuals = [(name, significant(x)) for name, x in result.residual.items()]
    return Sheet(
        'Calibrated platform', f'Springs and platform of {rig}', (
            Card(f'{significant(share, 2)} %', f'largest relative standard error of a spring, '
                 f'{FREEDOMS[worst]}', share > 10.0),
            Card(f'{mass} ± {error} kg', 'mass of the platform', result.platform[0] <= 0.0)),
        [*sentences, f'{result.verdict}.', f'The largest relative standard error of a spring is '
         f'{significant(share, 2)} % ({FREEDOMS[worst]}).'], (
            Section('Stiffness', tables=[Table(heads, rows, (3,), soft)]),
            Section('IMU', tables=[Table(heads, imu, (3,))]),
            Section('Residuals', tables=[Table(('row', 'RMS (N or N m)'), residuals)])))
