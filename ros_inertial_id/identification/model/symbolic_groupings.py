"""
Symbolic groupings: base parameters in the lengths of the description, m2 l1^2 and not 0.09 m2.

A number alone says little: 0.0064 may be the square of 0.08 or the product of 0.16 and 0.04.  So
the grouping is built anew from descriptions whose joint origins are a little longer or shorter,
every length by its own random factor; only a formula that gives the coefficient each time stands
in its place (Gautier and Khalil 1990 derive such formulas by hand).  Origins of equal size keep
the same size and share a symbol: a parallelogram stays one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
import re
from xml.etree import ElementTree as xml

import numpy as np

from .identified_model import IdentifiedModel
from ..judge.mounting import structural_base
from ..settings import prediction_options
from ...errors import InertialIdError
from ...estimation.r_factors import one_thread
from ...methods import METHODS

FACTORS = (1.0, 2.0, 0.5, 4.0, 0.25)
EXACT = 1e-6  # relative; coefficients of a least-squares solution are at least ten times as good
POWERS = {2: ((2, 0),), 1: ((1, 0), (2, 1)), 0: ((1, 1),), -1: ((0, 1), (1, 2)), -2: ((0, 2),)}
CHANGE = 0.03  # largest relative change of a length: the same branch of every loop
TIMES = 2      # other descriptions: one tells formulas apart, one more confirms
SMALL = 1000   # lengths times columns: so many descriptions are built in less than a second
ZERO = 1e-9    # [m] and relative: no length, and the same length
DEGREES = {'kg': 0, 'kg m': 1, 'kg m^2': 2}  # power of metres in a unit
Grouping = Mapping[str, float]


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


@dataclass(frozen=True)
class SymbolicGroupings:
    """
    Groupings of base parameters with symbols of the geometry.

    lengths : {symbol: (length [m], joints and axes whose origins have it)}, those that occur
    expressions : {base parameter: grouping}, those in which a symbol occurs
    """

    lengths: dict[str, tuple[float, str]]
    expressions: dict[str, str]

    def __str__(self) -> str:
        rows = [f'{name} = {text}' for name, text in self.expressions.items()]
        return '\n'.join([*rows, '', *(f'{symbol} = {value:g} m: {where}' for symbol,
                                       (value, where) in self.lengths.items())])


def symbolic_groupings(model: IdentifiedModel) -> SymbolicGroupings:
    """
    Return the SymbolicGroupings of a ``model``; coefficients that are not simple stay numbers.

    Lengths that cannot change alone (other base parameters, as where a parallelogram is none any
    more) get no symbol.  Empty where the description is no URDF.
    """
    urdf = model.robot['urdf']
    lengths = _lengths(urdf)
    if not lengths:
        return SymbolicGroupings({}, {})
    same = {e['name']: e['grouping'] for e in model.base}
    rng, samples = np.random.default_rng(2), [(np.ones(len(lengths)), same)]
    free = np.ones(len(lengths), dtype=bool)
    while len(samples) <= TIMES and free.any():
        factors = 1.0 + free * rng.uniform(-CHANGE, CHANGE, len(lengths))
        other = _groupings(model, _changed(urdf, lengths, factors))
        if other.keys() == same.keys():
            samples.append((factors, other))
        elif free.all() and len(lengths) * len(model.parameters) < SMALL:
            free = np.array([_groupings(model, _changed(urdf, lengths, row)).keys()
                             == same.keys() for row in 1.0 + CHANGE * np.eye(len(lengths))])
        else:
            return SymbolicGroupings({}, {})
    symbols = {f'l{k}': values for k, values in enumerate(
        (np.array(list(lengths)) * [factors for factors, _ in samples]).T, 1) if free[k - 1]}
    found = _expressions(model, [other for _, other in samples], LengthFormulas(symbols))
    used = set(re.findall(r'\bl\d+\b', ' '.join(found.values())))
    return SymbolicGroupings({s: (length, ', '.join(where)) for s, (length, where) in zip(
        (f'l{k}' for k in range(1, len(lengths) + 1)), lengths.items()) if s in used}, found)


def _lengths(urdf: str) -> dict[float, list[str]]:
    """Return {length [m]: [words on where]} of the joint origins of a URDF."""
    out: dict[float, list[str]] = {}
    if '<robot' not in urdf:
        return out
    for joint in xml.fromstring(urdf).iter('joint'):
        for origin in joint.findall('origin'):
            for axis, x in zip('xyz', map(float, origin.get('xyz', '0 0 0').split())):
                if abs(x) > ZERO:
                    key = _known(out, x)
                    out.setdefault(key, []).append(f"{'-' if x < 0 else ''}{axis} of "
                                                   f"{joint.get('name')}")
    return out


def _known(lengths: Mapping[float, object], x: float) -> float:
    """Return the length among ``lengths`` that x is, plus or minus, or its own."""
    return next((key for key in lengths if abs(key - abs(x)) <= ZERO * key), abs(x))


def _changed(urdf: str, lengths: Iterable[float], factors: np.ndarray) -> str:
    """Return the URDF with ``lengths`` (n,) of joint origins multiplied by ``factors`` (n,)."""
    times = dict(zip(lengths, factors.tolist()))
    tree = xml.fromstring(urdf)
    for joint in tree.iter('joint'):
        for origin in joint.findall('origin'):
            numbers = map(float, origin.get('xyz', '0 0 0').split())
            origin.set('xyz', ' '.join(repr(x * times.get(_known(times, x), 1.0))
                                       for x in numbers))
    return xml.tostring(tree, encoding='unicode')


def _groupings(model: IdentifiedModel, urdf: str) -> dict[str, Grouping]:
    """Return {base parameter: grouping} of another URDF; none where it cannot be assembled."""
    method, options = METHODS[model.method], prediction_options(model)
    try:
        with one_thread():
            robots = [method.build(urdf, options, np.array(g))
                      for g in model.mounting['gravity_base']]
            base = structural_base(method, robots, model.parameters)
    except InertialIdError:
        return {}
    return dict(zip(base.names(), base.groupings()))


def _expressions(model: IdentifiedModel, groupings: Sequence[Mapping[str, Grouping]],
                 formulas: LengthFormulas) -> dict[str, str]:
    """Return {base parameter: its expression} of those with a formula in them."""
    degrees = {p.name: DEGREES.get(p.unit) for p in model.parameters}

    def formula(lead, name, values):
        one, other = degrees[lead], degrees[name]
        if one is None or other is None or np.min(np.abs(values)) == 0.0:
            return None
        return formulas.find(values, one - other)

    out = {}
    for name, own in groupings[0].items():
        same = [g[name] for g in groupings]
        if any(set(g) != set(own) for g in same):  # a term that this geometry alone lacks
            continue
        text, symbols = _expression(own, {term: [g[term] for g in same] for term in own}, formula)
        if symbols:
            out[name] = text
    return out


def _expression(own: Grouping, values: Mapping[str, Sequence[float]],
                formula: Callable[[str, str, Sequence[float]], str | None]) -> tuple[str, bool]:
    """Return (the sum of an ``own`` grouping, terms of one coefficient together, any formula)."""
    lead, *others = own
    terms: dict[tuple[str, str], list[str]] = {}
    symbols = False
    for name in others:
        found = formula(lead, name, values[name])
        symbols = symbols or found is not None
        size = abs(own[name])
        text = found or ('' if abs(size - 1.0) < 1e-9 else f'{size:.6g}')
        key = ('-' if own[name] < 0 else '+', text or name)
        terms.setdefault(key, []).append(name)
    words = [f'{sign} {_product(text, names)}' for (sign, text), names in terms.items()]
    return ' '.join([lead, *words]), symbols


def _product(text: str, names: Sequence[str]) -> str:
    if [text] == list(names):
        return text
    return f'{text} {names[0]}' if len(names) == 1 else f"{text} ({' + '.join(names)})"
