"""Checks of all links together: units, placeholders, mirror images, the mass of the whole."""

from collections.abc import Iterator
from itertools import chain
import re

import numpy as np

from .checks_of_joints import named
from .described import Described, DescribedInertia
from .finding import AuditFinding, DOUBTFUL, found, WRONG
from .hulls import Hull
from .rooms import is_round, LinkRoom

GRAMS_DENSITY = 50000.0  # [kg/m^3] median of all bodies, above which masses are in grams
STEEL_DENSITY = 4000.0  # [kg/m^3] of all hulls: robots have less than 2000
ALIKE_LINKS = 3  # links with the same numbers are placeholders
ALMOST_ALL = 0.8  # of all links with mass: the whole is a placeholder
ALIKE_SIZES = 0.1  # of the size of a hull: links are alike
HEAVY_SHARE = 0.02  # of the mass of the robot: placeholders of lighter links matter to nobody
PAIR_SHARE = 0.005  # of it: lighter mirror images
SIDES: tuple[tuple[str, str], ...] = (
    ('left', 'right'),
    ('l', 'r'),
    ('lf', 'rf'),
    ('lh', 'rh'),
    ('lb', 'rb'),
    ('fl', 'fr'),
    ('rl', 'rr'),
    ('hl', 'hr'),
    ('bl', 'br'),
)
PRODUCTS = {'ixy': (0, 1), 'ixz': (0, 2), 'iyz': (1, 2)}
MIRRORED = 0.01  # of the robot's length: places are mirror images
OTHER_MASS, OTHER_CENTRE, OTHER_INERTIA = 0.1, 0.15, 0.25  # relative differences
SAME = 0.02  # relative: numbers were copied


def units(robot: Described) -> Iterator[AuditFinding]:
    """Yield masses of all links in another unit, or of solid steel."""
    masses, volumes = [], []
    for body, links in robot.fixed_together.items():
        hull = robot.body_hulls.get(body)
        mass = sum(robot.links[name].mass for name in links)
        if hull is not None and mass > 0.0:
            masses.append(mass)
            volumes.append(hull.volume)
    if len(masses) < ALIKE_LINKS:
        return
    median = np.median(np.divide(masses, volumes))
    if median > GRAMS_DENSITY:
        yield found(
            'masses in another unit',
            '',
            f'{robot.mass:.4g} kg, median density {median:.3g} kg/m^3',
            f'{1e-3 * robot.mass:.4g} kg',
            what='all links are denser than any matter: masses are in grams',
        )
    elif sum(masses) > STEEL_DENSITY * sum(volumes):
        yield found(
            'density',
            '',
            f'{robot.mass:.4g} kg, {sum(masses) / sum(volumes):.3g} kg/m^3',
            'robots have 200 to 2000 kg/m^3',
            what='the robot is of solid steel, which CAD takes where no material is set',
            severity=WRONG,
        )


def no_masses(robot: Described) -> Iterator[AuditFinding]:
    """Yield that there are no masses."""
    if robot.mass <= 0.0 and any(joint.moves for joint in robot.joints):
        yield found('no masses', '', f'{len(robot.links)} links')


def placeholders(robot: Described) -> Iterator[AuditFinding]:
    """Yield links whose numbers nobody measured: equal ones of unlike links, round ones."""
    groups: dict[tuple[float, ...], list[str]] = {}
    weighed = {}
    for name, link in robot.links.items():
        if link.inertia is not None and link.mass > HEAVY_SHARE * robot.mass:
            weighed[name] = link.inertia
            groups.setdefault(_numbers(link.inertia), []).append(name)
    equal = set()
    for numbers, names in groups.items():
        # Several of one module, from its CAD, have numbers of many digits.
        if len(names) < ALIKE_LINKS or _alike(robot, names) or not all(map(_is_short, numbers)):
            continue
        equal.update(names)
        yield _equal_numbers(robot, names, len(names) >= ALMOST_ALL * len(weighed))
    for name, inertia in weighed.items():
        if name not in equal and is_round(inertia):
            yield found(
                'placeholder',
                name,
                f'{inertia.mass:.3g} kg, three moments of {inertia.tensor[0, 0]:.3g} kg m^2',
                what='round numbers that nobody measured',
                better=_solid(robot, name),
            )


def _equal_numbers(robot: Described, names: list[str], everywhere: bool) -> AuditFinding:
    """Return the finding of links that have equal numbers, almost all of the robot or not."""
    severity = DOUBTFUL
    if everywhere:
        severity = WRONG
    link = robot.links[names[0]]
    moments: tuple[float, ...] = ()
    if link.inertia is not None:
        moments = tuple(link.inertia.moments)
    return found(
        'placeholder',
        names[0],
        f'{link.mass:.3g} kg, moments {_words(moments)} kg m^2',
        what=f'{len(names)} unlike links have equal numbers: {named(names)}',
        better=_solid(robot, names[0]),
        severity=severity,
    )


def _numbers(inertia: DescribedInertia) -> tuple[float, ...]:
    """Return mass and moments as they are compared."""
    values = [inertia.mass, *inertia.moments]
    return tuple(float(f'{value:.5g}') for value in values)


def _is_short(value: float) -> bool:
    """Return whether a ``value`` has two digits at most, as numbers that nobody measured."""
    return float(f'{value:.2g}') == value


def _words(moments: tuple[float, ...]) -> str:
    return ', '.join(f'{moment:.3g}' for moment in moments)


def _solid(robot: Described, link: str) -> DescribedInertia | None:
    return LinkRoom(robot, link).solid(robot.links[link].mass)


def _alike(robot: Described, names: list[str]) -> bool:
    """Return whether links have shapes of one size, as wheels, legs and fingers have."""
    sides = {_base_name(name) for name in names}
    if len(sides) == 1:
        return True
    sizes = []
    for name in names:
        hull = robot.hulls.get(name)
        if hull is not None:
            sizes.append(hull.size)
    if len(sizes) < len(names):
        return False
    return bool(np.ptp(sizes) <= ALIKE_SIZES * max(sizes))


def _base_name(name: str) -> str:
    """Return a ``name`` without sides and numbers: of fingers and legs that are alike."""
    words = re.split(r'[_\-\s.]+|\d+', name.lower())
    sides = set(chain.from_iterable(SIDES)) | {'front', 'rear', 'back', 'hind', 'middle'}
    return '_'.join(word for word in words if word and word not in sides)


def mirror_names(robot: Described) -> list[tuple[str, str]]:
    """Return pairs of links (left, right) by their names."""
    pairs = []
    for name in robot.links:
        for left, right in SIDES:
            other = _other_side(name, left, right)
            if other in robot.links and other != name:
                pairs.append((name, other))
                break
    return pairs


def _other_side(name: str, left: str, right: str) -> str:
    """Return a ``name`` with the word ``left`` in it, in any case, made ``right``, else ''."""
    for a, b in ((left, right), (left.upper(), right.upper()), (left.title(), right.title())):
        # A word: between underscores, or before a capital letter, or long enough by itself.
        pattern = rf'(?<![A-Za-z]){a}(?![a-z])|(?<=[a-z]){a.title()}(?![a-z])'
        if len(left) > 2:
            pattern = a
        changed = re.sub(pattern, b, name)
        if changed != name:
            return changed
    return ''


def mirrored(robot: Described) -> Iterator[AuditFinding]:
    """Yield links that differ from their mirror image."""
    pairs = mirror_names(robot)
    axis = _mirror_axis(robot, pairs)
    if axis is None:
        return
    for left, right in pairs:
        a, b = robot.links[left], robot.links[right]
        heavier = max(a.mass, b.mass)
        if heavier <= PAIR_SHARE * robot.mass:
            continue
        if abs(a.mass - b.mass) > OTHER_MASS * heavier:
            yield found(
                'mirrored links differ',
                right,
                f'{b.mass:.4g} kg',
                f'{a.mass:.4g} kg',
                what='the mass',
                other=left,
                better=_image(robot, left, right, axis),
            )
        elif _are_images(robot, left, right, axis):
            yield from _compared(robot, left, right, axis)


def _mirror_axis(robot: Described, pairs: list[tuple[str, str]]) -> int | None:
    """Return the axis of the root (0, 1, 2) along which most ``pairs`` are mirror images."""
    counts = [sum(_at_images(robot, *pair, axis) for pair in pairs) for axis in range(3)]
    if not max(counts, default=0):
        return None
    return int(np.argmax(counts))


def _at_images(robot: Described, left: str, right: str, axis: int) -> bool:
    """Return whether origins of links are mirror images along an ``axis`` of the root."""
    p, q = robot.placements[left][:3, 3].copy(), robot.placements[right][:3, 3]
    p[axis] *= -1.0
    return bool(np.abs(p - q).max() <= MIRRORED * max(robot.length, 0.1))


def _are_images(robot: Described, left: str, right: str, axis: int) -> bool:
    """Return whether links are mirror images as drawn: origins, joints on them and shapes."""
    if not _at_images(robot, left, right, axis):
        return False
    names = dict(mirror_names(robot))
    for joint in robot.joints_on[left]:
        other = names.get(joint.child, '')
        if other and not _at_images(robot, joint.child, other, axis):
            return False
    hull, other_hull = robot.hulls.get(left), robot.hulls.get(right)
    if hull is None or other_hull is None:
        return any(joint.child in names for joint in robot.joints_on[left])
    a, b = _in_root(robot, left, hull), _in_root(robot, right, other_hull)
    a[:, axis] *= -1.0
    ends = a.min(axis=0), a.max(axis=0), b.min(axis=0), b.max(axis=0)
    off = max(np.abs(ends[0] - ends[2]).max(), np.abs(ends[1] - ends[3]).max())
    return bool(off <= 2.0 * MIRRORED * max(robot.length, 0.1))


def _in_root(robot: Described, link: str, hull: Hull) -> np.ndarray:
    """Return the corners of a ``hull`` (P, 3) in the frame of the root."""
    T = robot.placements[link]
    return hull.points @ T[:3, :3].T + T[:3, 3]


def _image(robot: Described, left: str, right: str, axis: int) -> DescribedInertia | None:
    """Return the mirror image of the inertia of ``left`` in the frame of ``right``."""
    inertia = robot.links[left].inertia
    if inertia is None:
        return None
    S = np.eye(3)
    S[axis, axis] = -1.0
    A, B = robot.placements[left], robot.placements[right]
    centre = S @ (A[:3, :3] @ inertia.centre + A[:3, 3])
    turn = B[:3, :3].T @ S @ A[:3, :3]
    return DescribedInertia(
        inertia.mass, B[:3, :3].T @ (centre - B[:3, 3]), turn @ inertia.tensor @ turn.T
    )


def _compared(robot: Described, left: str, right: str, axis: int) -> Iterator[AuditFinding]:
    """Yield how centre or inertia of ``right`` differ from the image of ``left``."""
    b, image = robot.links[right].inertia, _image(robot, left, right, axis)
    if b is None or image is None or not b.has_moments or not image.has_moments:
        return
    scale = max(np.trace(b.tensor), np.trace(image.tensor))
    shift = float(np.linalg.norm(b.centre - image.centre))
    radius = float(np.sqrt(scale / 2.0 / max(b.mass, 1e-9)))
    if shift > OTHER_CENTRE * radius + MIRRORED * robot.length:
        yield found(
            'mirrored links differ',
            right,
            f'centre {_place(b.centre)} m',
            f'{_place(image.centre)} m',
            what='the centre of mass',
            other=left,
            better=image,
        )
        return
    products = _negated_products(b, image, scale)
    if products:
        yield found(
            'products with wrong sign',
            right,
            ', '.join(f'{name} {value:.3g}' for name, value in products.items()) + ' kg m^2',
            other=left,
            products=', '.join(products),
            better=image,
        )
    elif np.abs(b.tensor - image.tensor).max() > OTHER_INERTIA * scale:
        yield found(
            'mirrored links differ',
            right,
            f'moments {_words(tuple(b.moments))} kg m^2',
            f'{_words(tuple(image.moments))} kg m^2',
            what='the inertia',
            other=left,
            better=image,
        )


def _negated_products(
    inertia: DescribedInertia, image: DescribedInertia, scale: float
) -> dict[str, float]:
    """Return {name: value} of products that are those of the image, negated; {} if more is."""
    if np.abs(np.diag(inertia.tensor - image.tensor)).max() > SAME * scale:
        return {}
    products = {}
    for name, (k, m) in PRODUCTS.items():
        if _is_negated(inertia, image, k, m, scale):
            products[name] = float(inertia.tensor[k, m])
    return products


def _is_negated(
    inertia: DescribedInertia, image: DescribedInertia, k: int, m: int, scale: float
) -> bool:
    """Return whether product (k, m) of an ``inertia`` is that of its image, negated."""
    product, other = inertia.tensor[k, m], image.tensor[k, m]
    return bool(abs(product) > SAME * scale and abs(product + other) < SAME * abs(product))


def _place(centre: np.ndarray) -> str:
    return ' '.join(f'{x:.3g}' for x in centre)


CHECKS_OF_ALL = (units, no_masses, placeholders, mirrored)
