"""
Virtual links: what stands between the axes of a universal joint or the slides of a free body.

A URDF makes joints of several degrees of freedom from joints of one, so loops need links that are
no bodies: without mass, without a shape, from whose own origin the next joint goes on.
"""

from xml.etree import ElementTree as xml

import numpy as np

from .robot_model import link_placements, RobotModel

CLOSE = 1e-6  # [m] between the axes of one joint of several degrees of freedom
SHAPES = ('visual', 'collision')


def virtual_links(robot: RobotModel) -> tuple[str, ...]:
    """
    Return the names of the links of a ``robot`` that are no bodies: they need no inertia.

    Where no link of the URDF has an inertia, all are bodies of which nothing is known.
    """
    if not (robot.inertias[:, 0] > 0.0).any():
        return ()
    shown = {link.get('name') for link in xml.fromstring(robot.urdf).iter('link')
             if any(link.find(kind) is not None for kind in SHAPES)}
    members: dict[int, list[tuple[str, np.ndarray]]] = {}
    for name, (body, placement) in link_placements(robot).items():
        members.setdefault(body, []).append((name, placement[:3, 3]))
    return tuple(name for body, name in enumerate(robot.link_names)
                 if robot.inertias[body, 0] == 0.0
                 and not any(link in shown for link, _ in members.get(body, ()))
                 and _only_joins(robot, body, [place for _, place in members.get(body, ())]))


def _only_joins(robot, body, places):
    """Return whether all that hangs on a body starts at its origin, or somewhere on a slide."""
    children = [k for k, parent in enumerate(robot.parents) if parent == body]
    slide = robot.prismatic[body]
    there = [robot.translations[k] for k in children if not (slide or robot.prismatic[k])]
    return max((np.linalg.norm(x) for x in [*there, *places]), default=0.0) < CLOSE
