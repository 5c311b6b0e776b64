"""
identify_held: mass moments of the whole from free vibrations with the links held (step one).

All links held are one rigid body on the platform: the description with its first link alone,
which then is the whole (Homma and Yamaura, Eqs. 1 to 4).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import yaml

from ..suspended_platform.method import SuspendedPlatform
from ..suspended_platform.postures import Postures, postures_of
from ..suspended_platform.postures import joined
from ...dynamics.inertial_parameters import SYMBOLS
from ...errors import EstimationError
from ...identification.identify import identify
from ...identification.prepare.dataset import Progress
from ...identification.prepare.robot import robot_of
from ...measurement.recording import Recording

suspended_platform = SuspendedPlatform()

METHOD = suspended_platform.name


def identify_held(text: str, recordings: Sequence[Recording], options: Any,
                  progress: Progress | None = None) -> Postures:
    """
    Return the Postures of ``recordings``, one each, of the calibrated rig in a YAML ``text``.

    options : of suspended_platform with EstimationOptions; their ``posture`` is taken as held
    progress : called with (stage, samples done, samples in all)
    RecordingError when a link was not still; EstimationError when the whole is not determined.
    """
    options = replace(options, posture='held')
    data = yaml.safe_load(text)
    first = next(iter(data['links'] or {}), None)
    whole = yaml.safe_dump({**data, 'links': {first: data['links'][first]}}, sort_keys=False)
    postures = []
    for recording in recordings:
        robot = robot_of(recording, options, text, METHOD)
        observed = suspended_platform.observe(recording, robot, options)
        bodies = next(observed.states(training=True)).rows(slice(0, 1)).bodies
        model = identify([recording], options, method=METHOD, urdf=whole, progress=progress).model
        moments = {e['name']: e['value'] for e in model.base}
        open_ = [n for n in moments if n[-1] == '0' and moments[n] is None]
        if open_:
            raise EstimationError('a held posture does not show the whole', found=open_,
                                  do='push and turn the platform in all directions')
        ten = [moments.get(f'{symbol}0', robot.mass) for symbol in SYMBOLS]
        postures.append(postures_of(bodies, np.array([ten])))
    return joined(postures)
