"""identify_payload: the inertial parameters of a load, from an identified arm and a recording."""

from collections.abc import Sequence

import numpy as np

from ..dynamics.inertial_parameters import bodies
from ..dynamics.regressor import RegressorBlock, RowGroup
from ..dynamics.robot_model import link_placements
from ..errors import EstimationError, RobotModelError
from ..estimation.payload import describe_payload, Payload, solve_payload
from ..estimation.r_factors import one_thread, RFactors
from ..estimation.residuals import residuals_of
from ..identification.identified_model import IdentifiedModel
from ..identification.prepare.dataset import read_dataset
from ..identification.prepare.mounting import structural_base
from ..identification.prepare.robot import check_robot
from ..identification.settings import prediction_options
from ..measurement.recording import Recording


def identify_payload(model: IdentifiedModel, recordings: Sequence[Recording], *,
                     link: str = '', frame: str = '') -> Payload:
    """
    Return the Payload that a link of an identified arm carries in ``recordings``.

    model : of the bare arm; best with a recording of the same motion
    link : that carries it, the last one by default; frame : link of the URDF in whose frame the
        centre and inertia are given, the carrying link by default
    RobotModelError for another robot, link or frame; EstimationError for a model file whose base
    parameters are of another version.
    """
    options = prediction_options(model)
    data = read_dataset(recordings, options, model.method, model.robot['urdf'])
    for robot in data.robots:
        check_robot(model, robot)
    links = bodies(model.parameters)
    link = link or list(links)[-1]
    if link not in links:
        raise RobotModelError(f'{link!r} carries nothing', exists=tuple(links),
                              expected='a moving link of the model')
    frame, placement = frame or link, _placement(data.robot, link, frame or link)
    load = np.arange(links[link], links[link] + 10)
    with one_thread():
        base = structural_base(data.method, [
            data.method.build(model.robot['urdf'], options, np.array(g))
            for g in model.mounting['gravity_base']], model.parameters)
        if base.names() != [entry['name'] for entry in model.base]:
            raise EstimationError('the base parameters of the model file are of another version',
                                  do='identify the bare arm again')
        factors = _accumulate(data, model, load, base)
        pi = solve_payload(factors, model.covariance, {})[0]
        values = model.values.copy()
        values[load] += pi
        correlation = residuals_of(data.blocks(model.parameters), values).correlation()
        solution = solve_payload(factors, model.covariance, correlation)
    return describe_payload((link, frame), placement, *solution)


def _placement(robot, link, frame):
    """Return the (4, 4) placement of a frame in the joint frame of the body of ``link``."""
    places = link_placements(robot)
    if frame not in places or places[frame][0] != places[link][0]:
        fixed = [name for name, (body, _) in places.items() if body == places[link][0]]
        raise RobotModelError(f'frame {frame!r} is not fixed to {link}', exists=fixed)
    return np.eye(4) if frame == link else places[frame][1]


def _accumulate(data, model, load, base):
    """Return the RFactors of [load, arm base columns] of the residual of the bare arm."""
    size = 10 + len(base)
    factors, identity = RFactors(size), np.arange(size)
    arm = base.places() + np.where(base.places() < 0, 0, 10)
    own = np.full(len(model.parameters), -1)
    own[load] = np.arange(10)
    for block in data.blocks(model.parameters):
        groups, predicted = [], model.predict(block)
        for g in block.groups:
            first, second = own[g.columns] >= 0, arm[g.columns] >= 0
            W = np.hstack([g.W[:, first], g.W[:, second]])
            columns = np.concatenate([own[g.columns][first], arm[g.columns][second]])
            groups.append(RowGroup(g.name, g.unit, columns, np.ascontiguousarray(W.T).T,
                                   g.y - predicted[g.name], g.y_raw - predicted[g.name]))
        factors.accumulate(RegressorBlock(block.t, block.segment, tuple(groups)), identity)
    if not factors.groups:
        raise EstimationError('the recording is too short', do='record longer',
                              found='no samples after filtering')
    return factors
