"""
identify_held: overall mass moments from free vibrations with the links held (step one).

All links held are one rigid body on the platform: the description with its first link alone,
which then is the whole (Homma and Yamaura, Eqs. 1 to 4).
"""

from dataclasses import replace

import numpy as np
import yaml

from ..dynamics.inertial_parameters import SYMBOLS
from ..errors import EstimationError
from ..identification.identify import identify
from ..identification.robot import robot_of
from ..methods.suspended_platform.held_postures import postures_of
from ..methods.suspended_platform.method import SuspendedPlatform
from ..methods.suspended_platform.posture_file import joined

suspended_platform = SuspendedPlatform()

METHOD = suspended_platform.name


def identify_held(text, recordings, options, progress=None):
    """
    Return the Postures of Recordings, one each, of the calibrated rig in a YAML text.

    options : of suspended_platform with EstimationOptions; their ``posture`` is taken as held
    RecordingError when a link was not still; EstimationError when the whole is not determined.
    """
    options = replace(options, posture='held')
    data = yaml.safe_load(text)
    first = next(iter(data['links'] or {}), None)
    whole = yaml.safe_dump({**data, 'links': {first: data['links'][first]}}, sort_keys=False)
    found = []
    for recording in recordings:
        robot = robot_of(recording, options, text, METHOD)
        observed = suspended_platform.observe(recording, robot, options)
        bodies = next(observed.states(training=True)).rows(slice(0, 1)).bodies
        model = identify([recording], options, method=METHOD, urdf=whole, progress=progress).model
        moments = {e['name']: e['value'] for e in model.base}
        lost = [n for n in moments if n[-1] == '0' and moments[n] is None]
        if lost:
            raise EstimationError('a held posture does not show the whole', found=lost,
                                  do='push and turn the platform in all directions')
        ten = [moments.get(f'{symbol}0', robot.mass) for symbol in SYMBOLS]
        found.append(postures_of(bodies, np.array([ten])))
    return joined(found)
