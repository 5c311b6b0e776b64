"""Rows with the torques of a tilt of gravity beside their own columns, where it is searched."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from ..prepare.dataset import Dataset
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.regressor import RegressorBlock, RowGroup
from ...estimation.gravity_search import across_gravity
from ...methods.capabilities import Tiltable
from ...methods.contract import Method


def tilts_across(data: Dataset) -> np.ndarray:
    """Return the directions (3, 2) across gravity, none (3, 0) where it is not searched."""
    gravity = data.robot.gravity_base
    searched = isinstance(data.method, Tiltable) and np.any(gravity)
    return across_gravity(gravity) if searched else np.empty((3, 0))


def rows_and_tilts(method: Method, state: Any, robot: Any, parameters: Sequence[Parameter],
                   values: np.ndarray, across: np.ndarray
                   ) -> Iterator[tuple[RegressorBlock, list[dict[str, np.ndarray]]]]:
    """
    Yield RegressorBlocks and the torques {group: (B,)} of unit tilts of gravity [1/rad].

    state, robot, parameters : see ``Method.regress``; values : of the bodies first, that gravity
    pulls; across : (3, k) unit vectors across gravity, of the tilts
    """
    pulled: Iterable[Sequence[RegressorBlock]] = repeat(())
    if isinstance(method, Tiltable) and across.size:
        bodies = [p for p in parameters if not p.law]
        pulled = method.gravity_rows(state, robot, bodies,
                                     np.linalg.norm(robot.gravity_base) * across.T)
    for block, pulls in zip(method.regress(state, robot, parameters), pulled):
        yield block, [pull.predicted(values) for pull in pulls]


def with_tilts(block: RegressorBlock, tilts: Sequence[Mapping[str, np.ndarray]],
               place: np.ndarray, weight: np.ndarray | float = 1.0) -> RegressorBlock:
    """
    Return the RegressorBlock of kept columns with the torques of unit tilts as further ones.

    block : of B samples; tilts : {group: (B,)} of each
    place : column -> its place, -1 to leave out; weight : (B,), its square rows that each is for
    """
    size, groups = int(place.max()) + 1, []
    for g in block.groups:
        seen = np.flatnonzero(place[g.columns] >= 0)
        tilt = [torque[g.name] for torque in tilts]
        W = np.ascontiguousarray(weight * np.vstack([g.W.T[seen], *tilt])).T
        groups.append(RowGroup(g.name, g.unit,
                               np.append(place[g.columns][seen], size + np.arange(len(tilt))), W,
                               weight * g.y, weight * g.y_raw))
    return RegressorBlock(block.t, block.segment, tuple(groups))
