"""Checks of links that have a mirror image."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .check import Check, Table, when
from .checks_of_links import in_words
from .described import Correction, Described, DescribedInertia, DescribedLink, NO_CORRECTION
from .finding import DOUBTFUL
from .mirror import Mirror, MIRRORED_WITHIN

PAIR_SHARE = 0.005  # of the mass of the robot: lighter pairs
PRODUCTS = {'ixy': (0, 1), 'ixz': (0, 2), 'iyz': (1, 2)}
OTHER_MASS, OTHER_CENTRE, OTHER_INERTIA = 0.1, 0.15, 0.25  # relative differences
SAME = 0.02  # relative: numbers were copied
CORRECT_ONE = 'correct the one that is wrong'


@dataclass(frozen=True)
class Pair:
    """Links ``left``, ``right`` of a ``robot`` that have to be mirror images of each other."""

    robot: Described
    mirror: Mirror
    left: DescribedLink
    right: DescribedLink

    @cached_property
    def image(self) -> DescribedInertia:
        """Return the mirror image of the inertia of the left link in the frame of the right."""
        return self.mirror.image(self.left.name, self.right.name)

    def as_image(self) -> Correction:
        """Return the image as what the right link can have, where the left one has an inertia."""
        if self.image.empty:
            return NO_CORRECTION
        return Correction('', self.image)

    @property
    def heavier(self) -> float:
        """Return the larger mass [kg]."""
        return max(self.left.mass, self.right.mass)

    @cached_property
    def are_comparable(self) -> bool:
        """Whether links are images as drawn and have moments."""
        have_moments = self.right.inertia.has_moments and self.image.has_moments
        return have_moments and self.mirror.are_drawn(self.left.name, self.right.name)

    @property
    def scale(self) -> float:
        """Return the larger trace of a tensor [kg m^2]."""
        return float(max(np.trace(self.right.inertia.tensor), np.trace(self.image.tensor)))

    @property
    def difference(self) -> np.ndarray:
        """Return the tensor of the right link less the image's, (3, 3) [kg m^2]."""
        return self.right.inertia.tensor - self.image.tensor

    def have_other_masses(self) -> bool:
        """Return whether the masses differ."""
        return abs(self.left.mass - self.right.mass) > OTHER_MASS * self.heavier

    def have_other_centres(self) -> bool:
        """Return whether the centres of mass differ."""
        shift = np.linalg.norm(self.right.inertia.centre - self.image.centre)
        radius = np.sqrt(self.scale / 2.0 / max(self.right.mass, 1e-9))
        return bool(shift > OTHER_CENTRE * radius + self.robot.length * MIRRORED_WITHIN)

    def have_other_inertias(self) -> bool:
        """Return whether the inertias differ."""
        return bool(np.abs(self.difference).max() > OTHER_INERTIA * self.scale)

    @property
    def negated(self) -> dict[str, float]:
        """Return {name: product of the right link} of those with the image's sign reversed."""
        if np.abs(np.diag(self.difference)).max() > SAME * self.scale:
            return {}
        return {
            name: float(self.right.inertia.tensor[place])
            for name, place in PRODUCTS.items()
            if self._is_negated(place)
        }

    def _is_negated(self, place: tuple[int, int]) -> bool:
        """Return whether the product at a ``place`` of the tensor is the image's, negated."""
        product, other = self.right.inertia.tensor[place], self.image.tensor[place]
        if abs(product) <= SAME * self.scale:
            return False
        return bool(abs(product + other) < SAME * abs(product))

    @property
    def names_of_negated(self) -> str:
        """Return the names of these products in words."""
        return ', '.join(self.negated)


def heavy_pairs(robot: Described) -> list[Pair]:
    """Return the pairs of links of a ``robot`` whose masses matter."""
    mirror = Mirror(robot)
    pairs = [
        Pair(robot, mirror, robot.links[left], robot.links[right])
        for left, right in mirror.pairs.items()
    ]
    return [pair for pair in pairs if pair.heavier > PAIR_SHARE * robot.mass]


def _right(pair: Pair) -> str:
    return pair.right.name


def _moments(inertia: DescribedInertia) -> str:
    return f'{", ".join(f"{moment:.3g}" for moment in inertia.moments)} kg m^2'


def _products(pair: Pair) -> str:
    products = [f'{name} {value:.3g}' for name, value in pair.negated.items()]
    return f'{", ".join(products)} kg m^2'


PAIR_CHECKS = (
    Table(
        heavy_pairs,
        (
            Check(
                'mirrored links differ',
                when(Pair.have_other_masses, DOUBTFUL),
                why='the mass of {0.left.name}, its mirror image, differs',
                do=CORRECT_ONE,
                found=lambda pair: f'{pair.right.mass:.4g} kg',
                plausible=lambda pair: f'{pair.left.mass:.4g} kg',
                correction=Pair.as_image,
                about=_right,
            ),
            Check(
                'mirrored links differ',
                when(lambda pair: pair.are_comparable and pair.have_other_centres(), DOUBTFUL),
                why='the centre of mass of {0.left.name}, its mirror image, differs',
                do=CORRECT_ONE,
                found=lambda pair: f'centre {in_words(pair.right.inertia.centre)} m',
                plausible=lambda pair: f'{in_words(pair.image.centre)} m',
                correction=Pair.as_image,
                about=_right,
            ),
            Check(
                'products with wrong sign',
                when(lambda pair: pair.are_comparable and bool(pair.negated), DOUBTFUL),
                why='products of inertia have the sign of {0.left.name}, its mirror image',
                do='negate {0.names_of_negated}',
                found=_products,
                correction=Pair.as_image,
                about=_right,
            ),
            Check(
                'mirrored links differ',
                when(lambda pair: pair.are_comparable and pair.have_other_inertias(), DOUBTFUL),
                why='the inertia of {0.left.name}, its mirror image, differs',
                do=CORRECT_ONE,
                found=lambda pair: f'moments {_moments(pair.right.inertia)}',
                plausible=lambda pair: _moments(pair.image),
                correction=Pair.as_image,
                about=_right,
            ),
        ),
    ),
)
