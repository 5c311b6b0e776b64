"""identify_drive_gains: torque per effort of every joint, from recordings with a known load."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..dynamics.inertial_parameters import about_origin, bodies
from ..dynamics.regressor import RegressorBlock, RowGroup
from ..errors import ConfigError, RobotModelError
from ..estimation.drive_gains import DriveGains, solve_drive_gains
from ..estimation.nonlinear_parameters import one_alternative
from ..estimation.r_factors import one_thread, RFactors
from ..estimation.residuals import Residuals
from ..identification.prepare.dataset import read_dataset
from ..identification.prepare.mounting import structural_base
from ..measurement.recording import Recording
from ..methods import DEFAULT_METHOD


def load_parameters(mass: float, center_of_mass: Sequence[float],
                    inertia: np.ndarray | None = None) -> np.ndarray:
    """
    Return the ten parameters (10,) of a load in its link's joint frame.

    mass : [kg], above 0, else ConfigError; center_of_mass : (3,) [m] in the joint frame
    inertia : (3, 3) about the centre of mass [kg m^2], none by default (a compact load)
    """
    c = np.asarray(center_of_mass, dtype=float)
    tensor = np.zeros((3, 3)) if inertia is None else np.asarray(inertia, dtype=float)
    if not mass > 0.0:
        raise ConfigError('mass of the load', expected='above 0 kg', found=mass)
    return about_origin(mass, c, tensor)


def identify_drive_gains(loaded: Sequence[tuple[Recording, np.ndarray]], options: Any, *,
                         method: str = DEFAULT_METHOD, urdf: str = '', link: str = '',
                         known: Mapping[str, float] | None = None) -> DriveGains:
    """
    Return the DriveGains of a robot whose efforts are no torques.

    loaded : [(Recording, load (10,)), ...], parameters of what ``link`` (the last by default)
        carries, in its joint frame; zeros: nothing, NaN: to be found
    options : of the method, by its name; effort is taken as recorded, whatever they say of it
    urdf : text of the description, '' for the recordings' own
    known : {joint: torque per effort} of gains that are known, e.g. from the datasheet
    RobotModelError where ``link`` does not move.
    """
    options = replace(options, effort_kind='link', drive_gain=())
    if options.position_kind == 'link':
        options = replace(options, gear_ratio=(), coupling=())
    recordings = [recording for recording, _ in loaded]
    data = read_dataset(recordings, options, method, urdf)
    parameters = one_alternative(data.method.parameters(data.robot, options))
    links = bodies(parameters)
    link = link or list(links)[-1]
    if link not in links:
        raise RobotModelError(f'{link!r} carries nothing', exists=tuple(links),
                              expected='a moving link')
    loads = np.zeros((len(loaded), len(parameters)))
    loads[:, links[link]:links[link] + 10] = [load for _, load in loaded]
    with one_thread():
        base = structural_base(data.method, data.robots, parameters)
        unknown = np.argwhere(np.isnan(loads))  # (recording, parameter): columns of their own
        nominal = np.append(base.nominal(), np.zeros(len(unknown)))
        scale = np.append(base.prior_sd, [parameters[k].scale for _, k in unknown])
        factors = RFactors(len(scale) + 1)
        identity = np.arange(len(scale) + 1)
        for block in _blocks(data, loads, base):
            factors.accumulate(block, identity)
        draft = solve_drive_gains(factors, nominal, scale, known)
        residuals = Residuals()
        x = np.append(draft.params, 1.0)
        for block in _blocks(data, loads, base):
            residuals.add(block, {g.name: g.W @ x[g.columns] / draft.gains[g.name]
                                  for g in block.groups})
        return solve_drive_gains(factors, nominal, scale, known, residuals.correlation())


def _blocks(data, loads, base):
    """Yield blocks of the base columns, those of unknown loads, and the torque of known ones."""
    place, unknown = base.places(), np.argwhere(np.isnan(loads))
    beside = len(base) + np.arange(len(unknown) + 1)
    for i, (robot, observation) in enumerate(zip(data.robots, data.observations)):
        load = np.nan_to_num(loads[i])
        for state in observation.states(training=True):
            for block in data.method.regress(state, robot, base.parameters):
                groups = []
                for g in block.groups:
                    seen = place[g.columns] >= 0
                    of = dict(zip(g.columns, g.W.T))
                    none = np.zeros(len(g.y))
                    own = [of.get(k, none) if j == i else none for j, k in unknown]
                    W = np.vstack([g.W.T[seen], *own, g.W @ load[g.columns]])
                    groups.append(RowGroup(g.name, g.unit, np.append(place[g.columns][seen],
                                                                     beside), W.T, g.y, g.y_raw))
                yield RegressorBlock(block.t, block.segment, tuple(groups))
