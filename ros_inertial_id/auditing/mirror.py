"""Mirror: which links of a robot are mirror images of others, by their names and as drawn."""

from collections.abc import Iterator
import re

import numpy as np

from .described import Described, DescribedInertia
from .hulls import placed

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
# How sides are written, and what they are as words: a capital begins one among small letters.
WRITTEN = (
    (str.lower, r'(?<![A-Za-z]){}(?![a-z])'),
    (str.upper, r'(?<![A-Z]){}(?![a-z])'),
    (str.title, r'(?<![A-Z]){}(?![a-z])'),
)
SHORT = 2  # letters of a side that counts only as a word: 'l' between others is no left
MIRRORED_WITHIN = 0.01  # of the robot's length: places are mirror images
LEAST_LENGTH = 0.1  # [m] of a robot, for that tolerance


def _sides() -> Iterator[tuple[re.Pattern[str], str]]:
    """Yield (what is a left side in the name of a link, its right side)."""
    for left, right in SIDES:
        for write, as_word in WRITTEN:
            pattern = as_word.format(write(left))
            if len(left) > SHORT:
                pattern = write(left)
            yield re.compile(pattern), write(right)


LEFT_TO_RIGHT = tuple(_sides())


def mirror_names(robot: Described) -> dict[str, str]:
    """Return {left link: right link} of a ``robot`` by their names."""
    pairs = {}
    for name in robot.links:
        mirrored = [pattern.sub(right, name) for pattern, right in LEFT_TO_RIGHT]
        links = [link for link in mirrored if link in robot.links and link != name]
        if links:
            pairs[name] = links[0]
    return pairs


class Mirror:
    """
    The plane of a ``robot``, through its root, at which most pairs of links are images.

    pairs : {left link: right link}, by their names; {} where no pair is placed so
    """

    def __init__(self, robot: Described) -> None:
        self._robot = robot
        self.tolerance = MIRRORED_WITHIN * max(robot.length, LEAST_LENGTH)
        self.pairs = mirror_names(robot)
        counts = [self._count(axis) for axis in range(3)]
        self._axis = int(np.argmax(counts))
        if not any(counts):
            self.pairs = {}

    def _count(self, axis: int) -> int:
        """Return how many pairs are placed as images along an ``axis``."""
        return sum(self._are_placed(*pair, axis) for pair in self.pairs.items())

    def _are_placed(self, left: str, right: str, axis: int) -> bool:
        """Return whether origins of links are images along an ``axis``."""
        p, q = (self._robot.placements[link][:3, 3] for link in (left, right))
        return bool(np.abs(_flipped(p, axis) - q).max() <= self.tolerance)

    def are_drawn(self, left: str, right: str) -> bool:
        """Return whether links are images as drawn: origins, joints on them and shapes."""
        children = [joint.child for joint in self._robot.joints_on[left]]
        carried = [(child, self.pairs[child]) for child in children if child in self.pairs]
        pairs = [(left, right), *carried]
        if not all(self._are_placed(*pair, self._axis) for pair in pairs):
            return False
        hulls = self._robot.hulls
        if left in hulls and right in hulls:
            return self._have_boxes(left, right)
        return bool(carried)

    def _have_boxes(self, left: str, right: str) -> bool:
        """Return whether the boxes about the hulls of links are images."""
        a, b = (
            placed(self._robot.hulls[link].points, self._robot.placements[link])
            for link in (left, right)
        )
        a = _flipped(a, self._axis)
        lower = np.abs(a.min(axis=0) - b.min(axis=0)).max()
        upper = np.abs(a.max(axis=0) - b.max(axis=0)).max()
        return bool(max(lower, upper) <= 2.0 * self.tolerance)

    def image(self, left: str, right: str) -> DescribedInertia:
        """Return the mirror image of the inertia of ``left`` in the frame of ``right``."""
        inertia = self._robot.links[left].inertia
        A, B = self._robot.placements[left], self._robot.placements[right]
        centre = _flipped(placed(inertia.centre, A), self._axis)
        turn = B[:3, :3].T @ _flipped(A[:3, :3].T, self._axis).T
        return DescribedInertia(
            inertia.mass, B[:3, :3].T @ (centre - B[:3, 3]), turn @ inertia.tensor @ turn.T
        )


def _flipped(points: np.ndarray, axis: int) -> np.ndarray:
    """Return ``points`` (..., 3) with one coordinate negated."""
    points = points.copy()
    points[..., axis] *= -1.0
    return points
