"""
Described inertias that no body of the robot has: by the triangle inequality, and by their size.

A missing decimal point breaks the inequality or makes a body larger than the robot; grams or
millimetres make all of them so.  Such numbers are not used: what is identified does not need them.
"""

from functools import lru_cache
import math
from xml.etree import ElementTree

import numpy as np

from .description import INERTIA
from ..errors import RobotModelError

DIGITS = 1.02  # of the two smaller principal moments: what rounding in a description breaks
USEFUL = 1.5  # of them: a description that is worse misleads more than it helps
TIMES = 2.0  # of the robot's length: no link's radius of gyration or centre is beyond
SMALLEST = 0.5  # [m]: the last link of a robot is no longer
LONGEST = 200.0  # [m]: a crane is shorter, an arm in millimetres is not
DENSEST = 2000.0  # [kg/m^3] of a cube as large as the robot


@lru_cache(maxsize=8)
def plausible_inertias(urdf: str) -> tuple[str, tuple[str, ...]]:
    """
    Return a ``urdf`` text without inertias that no body has, and all doubtful ones in words.

    Of a link whose principal moments are wrong they become zero, its mass and centre stay.
    RobotModelError where joints are as far apart as in millimetres.
    """
    robot = ElementTree.fromstring(urdf.encode(), ElementTree.XMLParser(encoding='utf-8'))
    size = max(_length(robot), SMALLEST)
    if size > LONGEST:
        raise RobotModelError(
            'the URDF describes no robot',
            found=f'one {size:.3g} m long',
            expected=f'at most {LONGEST:g} m',
            do='give lengths in m',
        )
    out, masses = [], dict[str, float]()
    carried = {child.get('link') for child in robot.iterfind('joint/child')}
    for link in robot.findall('link'):
        mass, inertia, origin = (
            link.find(f'inertial/{tag}') for tag in ('mass', 'inertia', 'origin')
        )
        name = link.get('name', '')
        if mass is None or inertia is None or name not in carried:
            continue
        masses[name] = float(mass.get('value', 0.0))
        centre = 0.0 if origin is None else _distance(origin)
        moments = _moments(inertia)
        gyration = math.sqrt(moments[2] / masses[name]) if masses[name] else 0.0
        if moments[2] > DIGITS * (moments[0] + moments[1]) + 1e-12:
            out.append(
                f'{name} (principal moments {moments[0]:.3g} + {moments[1]:.3g} < '
                f'{moments[2]:.3g} kg m^2)'
            )
            if moments[2] < USEFUL * (moments[0] + moments[1]):
                continue
        elif max(gyration, centre) > TIMES * size:
            out.append(f'{name} ({max(gyration, centre):.3g} m large in a robot of {size:.3g} m)')
            if centre > TIMES * size:
                masses[name] = math.inf
        else:
            continue
        for key in INERTIA:
            inertia.set(key, '0')
    total = sum(masses.values())
    if total > DENSEST * size**3:
        if math.isfinite(total):
            out.insert(0, f'all links ({total:.3g} kg in a robot of {size:.3g} m)')
        for link in robot.findall('link'):
            for inertial in link.findall('inertial'):
                link.remove(inertial)
    return (ElementTree.tostring(robot, encoding='unicode') if out else urdf), tuple(out)


def _length(robot: ElementTree.Element) -> float:
    """Return the longest way along joints from a root to a link [m]."""
    steps = {}
    for joint in robot.findall('joint'):
        parent, child, origin = (joint.find(tag) for tag in ('parent', 'child', 'origin'))
        if parent is not None and child is not None:
            steps[child.get('link')] = (
                parent.get('link'),
                0.0 if origin is None else _distance(origin),
            )
    longest = 0.0
    for link in steps:
        way, here = 0.0, link
        while here in steps:
            here, step = steps[here]
            way += step
        longest = max(longest, way)
    return longest


def _distance(origin: ElementTree.Element) -> float:
    return math.hypot(*map(float, (origin.get('xyz') or '0 0 0').split()))


def _moments(inertia: ElementTree.Element) -> list[float]:
    """Return the principal moments in rising order [kg m^2]."""
    xx, xy, xz, yy, yz, zz = (float(inertia.get(key) or 0.0) for key in INERTIA)
    moments: list[float] = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).tolist()
    return moments
