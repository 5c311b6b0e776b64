"""
Base parameters: which combinations of the standard parameters rows can show at all.

The rank is decided first, by the widest gap in the singular values of physically scaled columns;
then the first independent columns from the left are kept (so a parameter is grouped into those of
the bodies before it, as Khalil's rules do) and every other column is written in terms of them:
beta = pi_independent + X pi_dependent (Gautier and Khalil 1990; Gautier 1991).

What is known replaces the description's prior, nominal value and prior standard deviation.  The
estimators that use priors then keep it, and whatever is grouped with it gets the remainder: for an
exact value that is the same as subtracting its columns from the measured torque.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
import re

import numpy as np

from .least_squares import decide_rank, pseudo_inverse
from ..dynamics.description import HEAVIEST
from ..dynamics.friction import never_negative
from ..dynamics.inertial_parameters import Parameter
from ..errors import ConfigError, EstimationError

CHOICES = ('nominal', 'zero', 'minimum_norm')  # of dependent parameters
EXACT = 1e-6  # of the physical scale: the prior standard deviation of what is taken as exact


@dataclass(frozen=True)
class BaseParameters:
    """
    b groupings of p standard parameters.

    parameters : the p Parameters; independent (b,), dependent (p - b,) column indices
    X : (b, p - b) grouping, beta = pi[independent] + X @ pi[dependent]
    gap : ratio of the singular values of scaled columns across the rank
    """

    parameters: tuple[Parameter, ...]
    independent: np.ndarray
    dependent: np.ndarray
    X: np.ndarray
    gap: float

    def __len__(self):
        return len(self.independent)

    def places(self) -> np.ndarray:
        """Return (p,): column -> its place among the base parameters, -1 where it has none."""
        out = np.full(len(self.parameters), -1)
        out[self.independent] = np.arange(len(self))
        return out

    def reduce(self, pi: np.ndarray | Sequence[float]) -> np.ndarray:
        """Return beta (b,) of standard parameters pi (p,)."""
        pi = np.asarray(pi)
        return pi[self.independent] + self.X @ pi[self.dependent]

    def expand(self, beta: np.ndarray, pi: np.ndarray | Sequence[float]) -> np.ndarray:
        """Return standard parameters (p,) with base parameters beta, the dependent ones as pi."""
        out = np.array(pi, dtype=float)
        out[self.independent] = beta - self.X @ out[self.dependent]
        return out

    def standard(self, beta: np.ndarray, choice: str = 'nominal') -> np.ndarray:
        """
        Return standard parameters (p,) with base parameters beta (b,); any choice predicts alike.

        choice : one of CHOICES of the dependent ones (closed-loop paper, Eq. 10); ``nominal`` as
            the description (CAD) says, ``zero``, ``minimum_norm`` the shortest in units of scales
        """
        if choice == 'minimum_norm':
            scales = np.array([p.scale for p in self.parameters])
            # Exact in beta to the last digit.
            return self.expand(beta, pseudo_inverse(self.matrix(), scales) @ beta)
        known = choice == 'nominal'
        return self.expand(beta, [p.nominal if known else 0.0 for p in self.parameters])

    def without(self, places: Sequence[int]) -> 'BaseParameters':
        """Return the BaseParameters without those at ``places``, of lone parameters."""
        gone = list(places)
        left = np.delete(np.arange(len(self.parameters)), self.independent[gone])
        return replace(
            self,
            parameters=tuple(self.parameters[k] for k in left),
            independent=np.searchsorted(left, np.delete(self.independent, gone)),
            dependent=np.searchsorted(left, self.dependent),
            X=np.delete(self.X, gone, axis=0),
        )

    def matrix(self) -> np.ndarray:
        """Return K (b, p) with beta = K @ pi."""
        K = np.zeros((len(self), len(self.parameters)))
        K[np.arange(len(self)), self.independent] = 1.0
        K[:, self.dependent] = self.X
        return K

    def nominal(self) -> np.ndarray:
        """Return the base parameters (b,) of the nominal standard parameters."""
        return self.reduce([p.nominal for p in self.parameters])

    @cached_property
    def prior_sd(self) -> np.ndarray:
        """Return the standard deviations (b,) of the base parameters before any data."""
        return np.sqrt(np.diag(self.prior_covariance()))

    def prior_covariance(self) -> np.ndarray:
        """Return the covariance (b, b) of the base parameters before any data."""
        square = np.array([p.prior_sd for p in self.parameters]) ** 2
        X = self.X
        return np.diag(square[self.independent]) + (X * square[self.dependent]) @ X.T

    def scales(self) -> np.ndarray:
        """Return the physical scale (b,) of the independent columns."""
        return np.array([self.parameters[k].scale for k in self.independent])

    def units(self) -> list[str]:
        """Return the units, one per base parameter."""
        return [self.parameters[k].unit for k in self.independent]

    def names(self) -> list[str]:
        """Return the names: the independent parameter's, with R where others are grouped in."""
        out = []
        for row, k in zip(self.X, self.independent):
            name = self.parameters[k].name
            out.append(re.sub(r'(\d+)$', r'R\1', name) if np.any(row) else name)
        return out

    def groupings(self) -> list[dict[str, float]]:
        """Return each base parameter as {standard parameter: coefficient}."""
        return [
            {
                self.parameters[lead].name: 1.0,
                **{self.parameters[k].name: float(c) for c, k in zip(row, self.dependent) if c},
            }
            for row, lead in zip(self.X, self.independent)
        ]

    def expressions(self) -> list[str]:
        """Return each base parameter as a readable sum of standard parameters."""
        return [_expression(terms) for terms in self.groupings()]


def _expression(terms):
    words = []
    for name, coefficient in terms.items():
        size = '' if abs(abs(coefficient) - 1.0) < 1e-9 else f'{abs(coefficient):.6g} '
        words.append(f'{"-" if coefficient < 0 else "+"} {size}{name}')
    return ' '.join(words).removeprefix('+ ')


def find_base_parameters(rows: np.ndarray, parameters: Sequence[Parameter]) -> BaseParameters:
    """
    Return the BaseParameters of rows (m, p), exact rows of random states (or their R factor).

    rows must show every direction that the structure allows: a few times p random samples.
    parameters : (p,) of the columns
    EstimationError where no column has any effect or the rank is not clear.
    """
    scales = np.array([p.scale for p in parameters])
    A = np.asarray(rows) * scales
    singular = np.linalg.svd(A, compute_uv=False)
    rank, gap = decide_rank(singular)
    if rank == 0:
        raise EstimationError(
            'no parameter has any effect on the measured rows',
            do='check mounting: and the joints of the robot description',
        )
    independent = _first_independent(A, rank, singular)
    dependent = np.setdiff1d(np.arange(A.shape[1]), independent)
    X, *_ = np.linalg.lstsq(A[:, independent], A[:, dependent], rcond=None)
    X[np.abs(X) < 1e-9] = 0.0  # still in comparable (scaled) columns
    X = X * scales[independent][:, None] / scales[dependent]
    X = np.where(np.abs(X - np.round(X)) < 1e-9, np.round(X), X)  # rounding noise of the solve
    return BaseParameters(tuple(parameters), independent, dependent, X, gap)


def _first_independent(A, rank, singular):
    """Return the first ``rank`` independent columns of A from the left."""
    noise = singular[rank] if rank < len(singular) else 0.0
    tolerance = np.sqrt(max(noise, 1e-14 * singular[0]) * singular[rank - 1])
    basis, chosen = np.zeros((A.shape[0], 0)), []
    for k in range(A.shape[1]):
        column = A[:, k]
        for _ in range(2):  # twice is enough (Kahan): orthogonal to working precision
            column = column - basis @ (basis.T @ column)
        length = np.linalg.norm(column)
        if length > tolerance:
            chosen.append(k)
            basis = np.column_stack([basis, column / length])
    if len(chosen) != rank:
        raise EstimationError(
            f'the singular values show rank {rank}, the columns {len(chosen)}',
            found=f'singular values around the rank: {singular[max(0, rank - 2) : rank + 2]}',
            do='the kinematics hold nearly dependent directions: round the placements of the '
            'robot description',
        )
    return np.array(chosen)


def with_known(parameters: Sequence[Parameter], lines: Sequence[str]) -> tuple[Parameter, ...]:
    """
    Return the Parameters (tuple) with what the ``lines`` say.

    Each line is ``NAME``, ``NAME VALUE`` or ``NAME VALUE STANDARD_DEVIATION``; NAME is a parameter
    (Izz3, fv2), a link (all ten as described) or a joint (its friction, none); without VALUE the
    description holds.
    parameters : (p,) before
    ConfigError where a line cannot be read or names nothing.
    """
    out = list(parameters)
    for line in lines:
        words = str(line).replace(',', ' ').split()
        try:
            numbers = [float(word) for word in words[1:]]
        except ValueError:
            numbers = None
        if (
            not words
            or numbers is None
            or len(numbers) > 2
            or not all(abs(x) < HEAVIEST for x in numbers)
            or not all(numbers[1:])
            or min(numbers[1:], default=1.0) < 0.0
        ):
            raise ConfigError(
                'option given',
                found=repr(line),
                expected='NAME, NAME VALUE or NAME VALUE STANDARD_DEVIATION',
            )
        single = [k for k, p in enumerate(out) if p.name == words[0]]
        owned = [k for k, p in enumerate(out) if p.owner == words[0]]
        if not single and not owned:
            raise ConfigError(
                'option given',
                found=words[0],
                exists=sorted({p.name for p in out} | {p.owner for p in out}),
            )
        if owned and not single and numbers:
            raise ConfigError(
                'option given',
                expected=f'{words[0]} without a value, or one of its parameters',
                found=repr(line),
            )
        for k in single or owned:
            value = numbers[0] if numbers else out[k].nominal
            if value < 0.0 and never_negative(out[k]):
                raise ConfigError(
                    'option given', expected=f'{words[0]} that is not negative', found=repr(line)
                )
            prior_sd = numbers[1] if len(numbers) == 2 else EXACT * out[k].scale
            out[k] = replace(out[k], nominal=value, prior_sd=prior_sd)
    return tuple(out)


def is_known(parameter: Parameter) -> bool:
    """Return whether a Parameter is taken as exact."""
    return parameter.prior_sd <= 2.0 * EXACT * parameter.scale
