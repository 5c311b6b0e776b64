"""
identify_payload: an identified arm, a recording with a load, and what the load weighs.
"""

import numpy as np

from .dynamics.inertial_parameters import bodies
from .dynamics.regressor import RegressorBlock, RowGroup
from .dynamics.robot_model import link_placements
from .errors import EstimationError, RobotModelError
from .estimation.information import Information, one_thread
from .estimation.payload import describe_payload, solve_payload
from .estimation.residuals import Residuals
from .identify import check_robot, prediction_options, robot_of
from .methods import METHODS
from .mounting import structural_base


def identify_payload(model, recordings, *, link='', frame=''):
    """
    Return the Payload that a link of an identified arm carries in Recordings.

    model : IdentifiedModel of the bare arm; best with a recording of the same motion
    link : that carries it, the last one by default; frame : link of the URDF in whose frame the
        centre and inertia are given, the carrying link by default
    """
    rows, options = METHODS[model.method], prediction_options(model)
    robots = [robot_of(r, options, model.robot['urdf'], model.method) for r in recordings]
    for robot in robots:
        check_robot(model, robot)
    links = bodies(model.parameters)
    link = link or list(links)[-1]
    if link not in links:
        raise RobotModelError(f'{link!r} carries nothing', exists=tuple(links),
                              expected='a moving link of the model')
    frame, placement = frame or link, _placement(robots[0], link, frame or link)
    observations = [rows.observe(r, robot, options) for r, robot in zip(recordings, robots)]
    load = np.arange(links[link], links[link] + 10)
    with one_thread():
        base = structural_base(rows, [rows.build(model.robot['urdf'], options, np.array(g))
                                      for g in model.mounting['gravity_base']], model.parameters)
        if base.names() != [entry['name'] for entry in model.base]:
            raise EstimationError('the base parameters of the model file are of another version',
                                  do='identify the bare arm again')
        information = _fold(model, rows, robots, observations, load, base)
        pi = solve_payload(information, model.covariance, {})[0]
        correlation = _correlation(model, rows, robots, observations, load, pi)
        found = solve_payload(information, model.covariance, correlation)
    return describe_payload(link, frame, placement, *found)


def _placement(robot, link, frame):
    """Return the (4, 4) placement of a frame in the joint frame of the body of ``link``."""
    places = link_placements(robot)
    if frame not in places or places[frame][0] != places[link][0]:
        fixed = [name for name, (body, _) in places.items() if body == places[link][0]]
        raise RobotModelError(f'frame {frame!r} is not fixed to {link}', exists=fixed)
    return np.eye(4) if frame == link else places[frame][1]


def _blocks(model, rows, robots, observations):
    for robot, observation in zip(robots, observations):
        for state in observation.states(training=True):
            yield from rows.regress(state, robot, model.parameters)


def _fold(model, rows, robots, observations, load, base):
    """Return the Information about [load, arm base columns] of what the bare arm leaves."""
    size = 10 + len(base)
    information, identity = Information(size), np.arange(size)
    arm = np.full(len(model.parameters), -1)
    arm[base.independent] = 10 + np.arange(len(base))
    own = np.full(len(model.parameters), -1)
    own[load] = np.arange(10)
    for block in _blocks(model, rows, robots, observations):
        groups, predicted = [], model.predict(block)
        for g in block.groups:
            first, second = own[g.columns] >= 0, arm[g.columns] >= 0
            W = np.hstack([g.W[:, first], g.W[:, second]])
            columns = np.concatenate([own[g.columns][first], arm[g.columns][second]])
            groups.append(RowGroup(g.name, g.unit, columns, np.ascontiguousarray(W.T).T,
                                   g.y - predicted[g.name], g.y_raw - predicted[g.name]))
        information.fold(RegressorBlock(block.t, block.segment, tuple(groups)), identity)
    if not information.groups:
        raise EstimationError('the recording is too short', found='no samples after filtering')
    return information


def _correlation(model, rows, robots, observations, load, pi):
    """Return group -> autocorrelation time of what neither arm nor load explain [samples]."""
    values = model.values.copy()
    values[load] += pi
    residuals = Residuals()
    for block in _blocks(model, rows, robots, observations):
        residuals.add(block, {g.name: g.W @ values[g.columns] for g in block.groups})
    return residuals.correlation()
