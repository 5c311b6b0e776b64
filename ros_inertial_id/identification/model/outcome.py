"""Outcome: the identified model of a solution, as a model file has it."""

from collections.abc import Sequence
from dataclasses import asdict
import datetime
import platform
from typing import Any

import numpy as np

from ..fit.fitting import Solution
from ..identified_model import IdentifiedModel
from ..prepare.dataset import Dataset
from ..prepare.mounting import mounting_parameters
from ... import __version__
from ...estimation.base_parameters import BaseParameters, is_known
from ...estimation.estimators import Estimate
from ...estimation.r_factors import one_thread
from ...measurement.recording import Recording
from ...methods.contract import Robot


def model_of(solution: Solution, statistics: dict[str, Any]) -> IdentifiedModel:
    """Return the IdentifiedModel of a ``solution`` with the ``statistics`` of its judgement."""
    data, base, recordings = solution.data, solution.problem.base, solution.data.recordings
    free = solution.free if solution.consistent else None
    return IdentifiedModel(
        data.method.name, asdict(data.options), robot_entry(data.robot),
        mounting_entry(data, [r.mounting for r in recordings], base),
        base.parameters, solution.values,
        base_entries(base, solution.estimate, free),
        solution.estimate.cov_params, statistics,
        solution.ranges, [o.summary for o in data.observations], provenance(recordings))


def robot_entry(robot: Robot) -> dict[str, Any]:
    """Return what a model file says of a ``robot``: enough to build it again."""
    return {'name': robot.name, 'joints': list(robot.joint_names),
            'links': list(robot.link_names), 'base_link': robot.base_link,
            'kinematics_sha256': robot.kinematics_sha256(), 'urdf': robot.urdf}


def mounting_entry(data: Dataset, texts: list[str], base: BaseParameters) -> dict[str, Any]:
    """
    Return what a model file says of the mountings of a Dataset.

    texts : one per recording, as recorded
    base : BaseParameters that these mountings show
    """
    gravity: list[list[float]] = []
    for robot in data.robots:
        if not any(np.allclose(robot.gravity_base, g) for g in gravity):
            gravity.append([float(x) for x in robot.gravity_base])
    with one_thread():
        generalized = mounting_parameters(data.method, data.robot.urdf, data.options, base)
    return {'text': texts, 'gravity_base': gravity, **generalized}


def base_entries(base: BaseParameters, estimate: Estimate, unconstrained: Estimate | None = None
                 ) -> list[dict[str, Any]]:
    """
    Return one entry per base parameter: name, expression, unit, value, standard error, nominal.

    estimate : of them, that predicts; what is not determined has no value
    unconstrained : the Estimate by the data alone, a pair (value, standard error) beside it
    """
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
    if unconstrained:
        for entry, pair in zip(out, zip(unconstrained.params, unconstrained.bse)):
            entry['unconstrained'] = [float(x) for x in pair] if entry['determined'] else None
    return out


def provenance(recordings: Sequence[Recording]) -> dict[str, Any]:
    """Return what a model file says of its ``recordings`` and of the versions at work."""
    import pinocchio
    import scipy
    return {'recordings': [dict(r.provenance) for r in recordings],
            'created': datetime.datetime.now(datetime.timezone.utc).isoformat('T', 'seconds'),
            'versions': {'ros_inertial_id': __version__, 'python': platform.python_version(),
                         'numpy': np.__version__, 'scipy': scipy.__version__,
                         'pinocchio': pinocchio.__version__}}
