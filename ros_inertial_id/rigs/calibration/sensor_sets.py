"""Which sensors a chain of bodies can do without: ranks for every set of its wrenches."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from ..rigid_body.method import RigidBody
from ..rigid_body.rig import body_groups
from ...errors import ConfigError
from ...estimation.base_parameters import BaseParameters
from ...identification.prepare.mounting import structural_base

rigid_body = RigidBody()


def sensor_sets(text: str, options: Any = None, gravity: Sequence[float] = (0.0, 0.0, -9.81)
                ) -> dict[tuple[str, ...], BaseParameters | None]:
    """
    Return {topics: BaseParameters or None} of a description's bodies for every set of wrenches.

    options : of rigid_body, its defaults if None
    gravity : (3,) in the base frame [m/s^2]
    ConfigError for a description without wrenches by topic.

    What the joints allow to be identified: without the sensor between two bodies their wrenches
    cancel in the sum and some parameters group.  None: no wrench from outside is left, or bodies
    would have to be joined though the description has no joint between them.
    """
    options = replace(options or rigid_body.Options(), sensor_bias=False)
    whole = rigid_body.build(text, options, np.asarray(gravity))
    if not all(wrench.topic for wrench in whole.wrenches):
        raise ConfigError('no choice of sensors', expected='a description with wrenches: by topic',
                          found='one wrist sensor of whatever topic')
    out = {}
    for size in range(len(whole.wrenches), 0, -1):
        for chosen in combinations(whole.wrenches, size):
            out[tuple(w.topic for w in chosen)] = _base(whole, chosen, options)
    return out


def _base(whole, wrenches, options):
    groups = body_groups(whole.joints, wrenches, whole.link_names)
    sides = [{whole.link_names[k] for k in group} for group in groups]
    # A body that lost a sensor it has no joint for would move under an unknown wrench.
    kept = [w.topic for w in wrenches]
    for wrench in (w for w in whole.wrenches if w.topic not in kept):
        if not any({wrench.on, wrench.reaction} <= side for side in sides):
            groups = tuple(g for g, side in zip(groups, sides)
                           if not {wrench.on, wrench.reaction} & side)
            sides = [{whole.link_names[k] for k in group} for group in groups]
    if not groups:
        return None
    rig = replace(whole, wrenches=tuple(wrenches), groups=groups)
    columns = rigid_body.parameters(rig, options)
    return structural_base(rigid_body, [rig], columns)
