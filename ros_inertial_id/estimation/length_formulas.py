"""
Formulas of lengths: which product or sum of lengths a coefficient is.

A number alone says little: 0.0064 may be the square of 0.08 or the product of 0.16 and 0.04.  So
each coefficient and the lengths are known several times, the lengths changed at random and
independently in between: a formula that gives all the values is no coincidence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np

FACTORS = (1.0, 2.0, 0.5, 4.0, 0.25)
EXACT = 1e-6  # relative; coefficients of a least-squares solution are at least ten times as good
POWERS = {2: ((2, 0),), 1: ((1, 0), (2, 1)), 0: ((1, 1),), -1: ((0, 1), (1, 2)), -2: ((0, 2),)}


@dataclass(frozen=True)
class LengthFormulas:
    """
    All that one coefficient may be: a product of lengths, the sum of two, or the square of a sum.

    lengths : {symbol: (S,) its value [m] each time}, S of at least three
    """

    lengths: Mapping[str, np.ndarray]

    def find(self, values: Sequence[float], degree: int) -> str | None:
        """
        Return what ``values`` (S,) of a coefficient are, such as ``2 l1`` or ``(l1^2 + l2^2)``.

        values : positive or negative all of them; degree : power of metres in their unit
        None where it is no simple formula of the lengths.
        """
        wanted = np.abs(values)
        texts, products = self._products.get(degree, ((), np.empty((0, len(wanted)))))
        for factor in FACTORS:
            for k in np.flatnonzero(_same(factor * products, wanted).all(1)):
                return _times(factor, texts[k])
        found = self._sum(wanted, degree) if degree in (1, 2) else None
        if found or degree != 2:
            return found
        root = self._sum(np.sqrt(wanted), 1)
        return f'{root}^2' if root else None

    def _sum(self, wanted: np.ndarray, degree: int) -> str | None:
        """Return the sum or difference of two products that is ``wanted`` (S,), or None."""
        texts, products = self._products[degree]
        polynomial = np.array([k for k, text in enumerate(texts) if '/' not in text], dtype=int)
        signed = [s * f for f in FACTORS[:2] for s in (1.0, -1.0)]
        terms = np.concatenate([f * products[polynomial] for f in signed])
        order = np.argsort(terms[:, -1])
        low, high = (np.searchsorted(terms[order, -1], wanted[-1] * x - terms[:, -1])
                     for x in (1.0 - EXACT, 1.0 + EXACT))
        for one in np.flatnonzero(high > low):
            for other in order[low[one]:high[one]]:
                if _same(terms[one] + terms[other], wanted).all():
                    parts = [(signed[k // len(polynomial)], texts[polynomial[k % len(polynomial)]])
                             for k in (one, other)]
                    return '({} {} {})'.format(*_signed_sum(sorted(parts, key=_positive_first)))
        return None

    @cached_property
    def _products(self) -> dict[int, tuple[list[str], np.ndarray]]:
        """Return {degree: (texts, (k, S) values)} of the products, the shortest first."""
        out = {}
        for degree, powers in POWERS.items():
            pairs = [(above, below) for a, b in powers
                     for above in combinations_with_replacement(self.lengths, a)
                     for below in combinations_with_replacement(self.lengths, b)
                     if not set(above) & set(below)]
            values = [np.prod([self.lengths[s] for s in above], axis=0)
                      / np.prod([self.lengths[s] for s in below], axis=0)
                      for above, below in pairs]
            size = len(next(iter(self.lengths.values()), ()))
            out[degree] = ([_text(above, below) for above, below in pairs],
                           np.array(values).reshape(len(pairs), size))
        return out


def _same(values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    return np.abs(values - wanted) <= EXACT * wanted


def _text(above: Sequence[str], below: Sequence[str]) -> str:
    def product(symbols):
        return ' '.join(f'{s}^{n}' if (n := symbols.count(s)) > 1 else s
                        for s in dict.fromkeys(symbols))

    if not below:
        return product(above)
    under = product(below)
    return f"{product(above) or '1'}/{f'({under})' if ' ' in under else under}"


def _times(factor: float, text: str) -> str:
    if factor == 1.0:
        return f'({text})' if text.startswith('1/') else text
    return f'{factor:g} ({text})' if text.startswith('1/') else f'{factor:g} {text}'


def _positive_first(part: tuple[float, str]) -> tuple[bool, str]:
    return part[0] < 0.0, part[1]


def _signed_sum(parts: Sequence[tuple[float, str]]) -> tuple[str, str, str]:
    """Return (first, sign, second) of two terms (factor, text), the first one positive."""
    (first, one), (second, other) = parts
    return _times(first, one), '+' if second > 0.0 else '-', _times(abs(second), other)
