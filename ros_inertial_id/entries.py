"""
Entries: what a model file says of the robot, its mounting, its base parameters, their source.
"""

import datetime
import platform

import numpy as np

from . import __version__
from .estimation.identified_model import plain
from .estimation.information import one_thread
from .estimation.known_parameters import is_known
from .mounting import mounting_parameters


def robot_entry(robot):
    return {'name': robot.name, 'joints': list(robot.joint_names),
            'links': list(robot.link_names), 'base_link': robot.base_link,
            'kinematics_sha256': robot.kinematics_sha256(), 'urdf': robot.urdf}


def mounting_entry(rows, robots, recordings, options, base):
    gravity = []
    for robot in robots:
        if not any(np.allclose(robot.gravity_base, g) for g in gravity):
            gravity.append([float(x) for x in robot.gravity_base])
    with one_thread():
        told = mounting_parameters(rows, robots[0].urdf, options, base)
    return {'text': [r.mounting for r in recordings], 'gravity_base': gravity, **told}


def base_entries(base, estimate):
    out = []
    # A given value is a value, though no data showed it.
    given = np.array([is_known(base.parameters[k]) for k in base.independent])
    rows = zip(base.names(), base.expressions(), base.units(), estimate.params, estimate.bse,
               estimate.determined | given, base.nominal(), base.groupings())
    for name, expression, unit, value, error, determined, nominal, grouping in rows:
        known = bool(determined)
        out.append({'name': name, 'expression': expression, 'unit': unit, 'determined': known,
                    'value': float(value) if known else None,
                    'standard_error': float(error) if known else None,
                    'relative_percent': float(100 * error / abs(value)) if known and value
                    else None, 'nominal': float(nominal), 'grouping': grouping})
    return out


def provenance(recordings):
    import pinocchio
    import scipy
    return {'recordings': [plain(dict(r.provenance)) for r in recordings],
            'created': datetime.datetime.now(datetime.timezone.utc).isoformat('T', 'seconds'),
            'versions': {'ros_inertial_id': __version__, 'python': platform.python_version(),
                         'numpy': np.__version__, 'scipy': scipy.__version__,
                         'pinocchio': pinocchio.__version__}}
