"""Outcome: the identified model of a solution, or of what a description says, as a file has it."""

from collections.abc import Sequence
from dataclasses import asdict
import datetime
import platform
from typing import Any

import numpy as np

from ..fit.budget import Budget
from ..fit.fitting import Solution
from ..identified_model import IdentifiedModel, row_text
from ..prepare.dataset import Dataset
from ..prepare.mounting import mounting_parameters, structural_base
from ..settings import load_options
from ... import __version__
from ...dynamics.friction import law_of, LAWS
from ...dynamics.inertial_parameters import bodies, Parameter
from ...dynamics.robot_model import gravity_from_mounting, RobotModel
from ...errors import RobotModelError
from ...estimation.base_parameters import BaseParameters, is_known
from ...estimation.estimators import Estimate
from ...estimation.r_factors import one_thread
from ...lapack import scipy_version
from ...measurement.recording import Recording
from ...methods import METHODS
from ...methods.contract import Robot

EVERYWHERE = [-np.inf, np.inf]  # a description knows no validity range
SPEED_WITHOUT_LIMIT = (
    10.0  # [rad/s or m/s] of joints without a velocity limit, for curves over the speed
)


def model_of(solution: Solution, statistics: dict[str, Any], budget: Budget) -> IdentifiedModel:
    """Return the IdentifiedModel of a ``solution`` with ``statistics`` and ``budget`` of it."""
    data, base, recordings = solution.data, solution.problem.base, solution.data.recordings
    unconstrained = None
    if solution.consistent:
        unconstrained = solution.free
    entries = base_entries(base, solution.estimate, unconstrained)
    for k, entry in enumerate(entries):
        if entry['determined']:
            entry['combined_error'] = float(budget.combined[k])
            entry['budget'] = {
                source: float(errors[k]) for source, errors in budget.contributions.items()
            }
    statistics['systematic_errors'] = list(map(row_text, budget.systematic))
    return IdentifiedModel(
        method=data.method.name,
        options=asdict(data.options),
        robot=robot_entry(data.robot),
        mounting=mounting_entry(data, [r.mounting for r in recordings], base),
        parameters=base.parameters,
        values=solution.values,
        base=entries,
        covariance=solution.estimate.cov_params,
        statistics=statistics,
        validity_range=solution.ranges,
        preprocessing=[o.summary.entry() for o in data.observations],
        provenance=provenance(recordings),
    )


def robot_entry(robot: Robot) -> dict[str, Any]:
    """Return the entry of a ``robot`` in a model file: enough to build it again."""
    return {
        'name': robot.name,
        'joints': list(robot.joint_names),
        'links': list(robot.link_names),
        'base_link': robot.base_link,
        'kinematics_sha256': robot.kinematics_sha256(),
        'urdf': robot.urdf,
    }


def mounting_entry(data: Dataset, texts: list[str], base: BaseParameters) -> dict[str, Any]:
    """Return the entry of mountings, ``texts`` as recorded, under which ``base`` was estimated."""
    gravity: list[list[float]] = []
    for robot in data.robots:
        if not any(np.allclose(robot.gravity_base, g) for g in gravity):
            gravity.append([float(x) for x in robot.gravity_base])
    with one_thread():
        generalized = mounting_parameters(data.method, data.robot.urdf, data.options, base)
    return {'text': texts, 'gravity_base': gravity, **generalized}


def base_entries(
    base: BaseParameters, estimate: Estimate, unconstrained: Estimate | None = None
) -> list[dict[str, Any]]:
    """
    Return one entry per base parameter: name, expression, unit, value, standard error, nominal.

    estimate : of them, that predicts; what is not determined has no value
    unconstrained : the Estimate by the data alone, a pair (value, standard error) beside it
    """
    # A given value is a value, though no data showed it.
    given = np.array([is_known(base.parameters[k]) for k in base.independent])
    determined = estimate.determined | given
    columns = (base.names(), base.expressions(), base.units(), base.nominal(), base.groupings())
    entries = []
    for k, (name, expression, unit, nominal, grouping) in enumerate(zip(*columns)):
        value = error = relative = None
        if determined[k]:
            value, error = float(estimate.params[k]), float(estimate.bse[k])
        if value:
            relative = float(100 * estimate.bse[k] / abs(estimate.params[k]))
        entry = {
            'name': name,
            'expression': expression,
            'unit': unit,
            'determined': bool(determined[k]),
            'value': value,
            'standard_error': error,
            'relative_percent': relative,
            'nominal': float(nominal),
            'grouping': grouping,
        }
        if unconstrained:
            entry['unconstrained'] = None
            if determined[k]:
                entry['unconstrained'] = [
                    float(unconstrained.params[k]),
                    float(unconstrained.bse[k]),
                ]
        entries.append(entry)
    return entries


def provenance(recordings: Sequence[Recording]) -> dict[str, Any]:
    """Return the provenance of ``recordings``, the time, and the versions of the software."""
    import pinocchio

    return {
        'recordings': [dict(r.provenance) for r in recordings],
        'created': datetime.datetime.now(datetime.timezone.utc).isoformat('T', 'seconds'),
        'versions': {
            'ros_inertial_id': __version__,
            'python': platform.python_version(),
            'numpy': np.__version__,
            'scipy': scipy_version(),
            'pinocchio': pinocchio.__version__,
        },
    }


def described_model(urdf: str, mounting: str, changes: dict[str, Any]) -> IdentifiedModel:
    """
    Return the IdentifiedModel of a tree robot with the numbers of its ``urdf`` (text).

    No base parameter is determined: a description has no standard errors.

    mounting : see ``gravity_from_mounting``; changes : {option: value}, locked_joints for example
    RobotModelError for a description without inertias, or of no tree.
    """
    name, options = load_options(
        '',
        '',
        {
            'friction': [law_of('damping'), law_of('friction')],
            'coulomb_width': 0.0,
            'mounting': mounting,
            **changes,
        },
    )
    method = METHODS[name]
    gravity = gravity_from_mounting(mounting, magnitude=options.gravity_magnitude)
    robot = method.build(urdf, options, gravity)
    bare = [link for link, pi in zip(robot.link_names, robot.inertias) if pi[0] <= 0.0]
    if bare:
        raise RobotModelError(
            'the URDF has links without inertia',
            found=bare,
            expected='an <inertial> of every moving link',
        )
    parameters = method.parameters(robot, options)
    values = np.array([_described(robot, p) for p in parameters])
    with one_thread():
        base = structural_base(method, [robot], parameters)
    links = {link: values[k : k + 10].tolist() for link, k in bodies(parameters).items()}
    nothing = _nothing_estimated(len(base.independent))
    return IdentifiedModel(
        method=name,
        options=asdict(options),
        robot=robot_entry(robot),
        mounting={'text': [mounting], 'gravity_base': [gravity.tolist()]},
        parameters=parameters,
        values=values,
        base=base_entries(base, nothing),
        covariance=nothing.cov_params,
        statistics={'consistent': {'links': links}},
        validity_range=_described_range(robot),
        preprocessing=[{'cutoff': options.cutoff, 'velocity': options.velocity}],
        provenance=provenance(()),
    )


def _nothing_estimated(count):
    """Return the Estimate of so many base parameters of which no data say anything."""
    zeros = np.zeros(count)
    return Estimate(
        params=zeros,
        cov_params=np.diag(zeros),
        bse=zeros,
        data_bse=zeros,
        determined=zeros.astype(bool),
        standard_deviation={},
        correlation={},
        condition_number=np.inf,
        rank=0,
    )


def _described_range(robot):
    """Return the validity range of a description: of speeds the limits."""
    speeds = np.where(robot.velocity > 0.0, robot.velocity, SPEED_WITHOUT_LIMIT).tolist()
    ranges = {}
    for joint, speed in zip(robot.joint_names, speeds):
        ranges[joint] = {'q': EVERYWHERE, 'v': [-speed, speed], 'a': EVERYWHERE}
    return ranges


def _described(robot: RobotModel, parameter: Parameter) -> float:
    """Return the value of a ``parameter`` in the description of a ``robot``."""
    if not parameter.law:
        return parameter.nominal
    model = robot.pin_model
    index = model.joints[1 + robot.joint_names.index(parameter.owner)].idx_v
    return float(getattr(model, LAWS[parameter.law].in_urdf)[index])
