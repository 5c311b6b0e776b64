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
from .r_factors import triangle
from ..dynamics.description import HEAVIEST
from ..dynamics.friction import never_negative
from ..dynamics.inertial_parameters import Parameter
from ..errors import ConfigError, EstimationError

CHOICES = ('nominal', 'zero', 'minimum_norm')  # of dependent parameters
EXACT_SD = 1e-6  # of the physical scale: the prior standard deviation of what is taken as exact
KNOWN_FORMS = 'NAME, NAME VALUE or NAME VALUE STANDARD_DEVIATION'
KNOWN_ABOVE = (-HEAVIEST, 0.0)  # of VALUE and STANDARD_DEVIATION, which are below HEAVIEST


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
        """Return (p,): column -> index of its base parameter, -1 of dependent columns."""
        base_indices = np.full(len(self.parameters), -1)
        base_indices[self.independent] = np.arange(len(self))
        return base_indices

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
        if choice == 'nominal':
            pi = np.array([p.nominal for p in self.parameters])
        elif choice == 'minimum_norm':
            scales = np.array([p.scale for p in self.parameters])
            pi = pseudo_inverse(self.matrix(), scales) @ beta
        else:
            pi = np.zeros(len(self.parameters))
        return self.expand(beta, pi)  # exact in beta to the last digit

    def without(self, indices: Sequence[int]) -> 'BaseParameters':
        """Return the BaseParameters without those at ``indices``, that group no others."""
        removed = list(indices)
        all_columns = np.arange(len(self.parameters))
        remaining = np.delete(all_columns, self.independent[removed])
        return replace(
            self,
            parameters=tuple(self.parameters[k] for k in remaining),
            independent=np.searchsorted(remaining, np.delete(self.independent, removed)),
            dependent=np.searchsorted(remaining, self.dependent),
            X=np.delete(self.X, removed, axis=0),
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

    @cached_property
    def known(self) -> np.ndarray:
        """Return (b,) bool, whether all that a base parameter sums up is taken as exact."""
        exact = np.array([is_known(p) for p in self.parameters])
        others = (self.X != 0.0) & ~exact[self.dependent]
        return np.asarray(exact[self.independent] & ~others.any(axis=1))

    def prior_covariance(self) -> np.ndarray:
        """Return the covariance (b, b) of the base parameters before any data."""
        variances = np.array([p.prior_sd for p in self.parameters]) ** 2
        X = self.X
        return np.diag(variances[self.independent]) + (X * variances[self.dependent]) @ X.T

    def prior_factor(self) -> np.ndarray:
        """
        Return L (b, b), lower triangular, with L L' the covariance before any data.

        By QR of the standard deviations: a small mechanism groups inertias into masses by 1 /
        length^2, and of such sums the covariance itself is singular to working precision.
        """
        sd = np.array([p.prior_sd for p in self.parameters])
        own = np.diag(sd[self.independent])
        grouped = (self.X * sd[self.dependent]).T
        return triangle(np.asfortranarray(np.vstack([own, grouped]))).T

    def scales(self) -> np.ndarray:
        """Return the physical scale (b,) of the independent columns."""
        return np.array([self.parameters[k].scale for k in self.independent])

    def units(self) -> list[str]:
        """Return the units, one per base parameter."""
        return [self.parameters[k].unit for k in self.independent]

    def names(self) -> list[str]:
        """Return the names: the independent parameter's, with R where others are grouped in."""
        names = []
        for coefficients, column in zip(self.X, self.independent):
            name = self.parameters[column].name
            if np.any(coefficients):
                name = re.sub(r'(\d+)$', r'R\1', name)
            names.append(name)
        return names

    def groupings(self) -> list[dict[str, float]]:
        """Return each base parameter as {standard parameter: coefficient}."""
        groupings = []
        for coefficients, column in zip(self.X, self.independent):
            terms = {self.parameters[column].name: 1.0}
            for k in np.flatnonzero(coefficients):
                dependent = self.parameters[self.dependent[k]]
                terms[dependent.name] = float(coefficients[k])
            groupings.append(terms)
        return groupings

    def expressions(self) -> list[str]:
        """Return each base parameter as a readable sum of standard parameters."""
        return [_expression(terms) for terms in self.groupings()]


def _expression(terms):
    """Return {name: coefficient} as text, such as ``Izz2 + 0.25 m3 - mcx3``."""
    words = []
    for name, coefficient in terms.items():
        sign = '+'
        if coefficient < 0:
            sign = '-'
        term = name
        if abs(abs(coefficient) - 1.0) >= 1e-9:
            term = f'{abs(coefficient):.6g} {name}'
        words.append(f'{sign} {term}')
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
    noise = 1e-14 * singular[0]
    if rank < len(singular):
        noise = max(singular[rank], noise)
    tolerance = np.sqrt(noise * singular[rank - 1])
    axes = np.zeros(A.shape, order='F')  # as many columns are set as are chosen
    chosen: list[int] = []
    for k in range(A.shape[1]):
        column, basis = A[:, k], axes[:, : len(chosen)]
        for _ in range(2):  # twice is enough (Kahan): orthogonal to working precision
            column = column - basis @ (basis.T @ column)
        length = np.linalg.norm(column)
        if length > tolerance:
            axes[:, len(chosen)] = column / length
            chosen.append(k)
    if len(chosen) != rank:
        around_rank = singular[max(0, rank - 2) : rank + 2]
        raise EstimationError(
            f'the singular values show rank {rank}, the columns {len(chosen)}',
            found=f'singular values around the rank: {around_rank}',
            do='the kinematics hold nearly dependent directions: round the placements of the '
            'robot description',
        )
    return np.array(chosen)


@dataclass(frozen=True)
class _KnownLine:
    """
    One line of what is known, in one of the forms of KNOWN_FORMS.

    text : the line; name : of a parameter, a link or a joint
    value : None as described; prior_sd : standard deviation, None exact
    """

    text: str
    name: str
    value: float | None = None
    prior_sd: float | None = None

    @classmethod
    def read(cls, line):
        """Return the _KnownLine of a ``line``, ConfigError where it has none of the forms."""
        refusal = ConfigError('option given', found=repr(line), expected=KNOWN_FORMS)
        words = str(line).replace(',', ' ').split()
        if not 1 <= len(words) <= 3:
            raise refusal
        try:
            numbers = [float(word) for word in words[1:]]
        except ValueError:
            raise refusal from None
        for number, lowest in zip(numbers, KNOWN_ABOVE):
            if not lowest < number < HEAVIEST:  # so is nan
                raise refusal
        return cls(repr(line), words[0], *numbers)

    def columns(self, parameters):
        """Return the indices of the Parameters that the name means."""
        of_this_name = [k for k, p in enumerate(parameters) if p.name == self.name]
        if of_this_name:
            return of_this_name
        of_this_owner = [k for k, p in enumerate(parameters) if p.owner == self.name]
        if not of_this_owner:
            names = {p.name for p in parameters}
            owners = {p.owner for p in parameters}
            raise ConfigError('option given', found=self.name, exists=sorted(names | owners))
        if self.value is not None:
            raise ConfigError(
                'option given',
                expected=f'{self.name} without a value, or one of its parameters',
                found=self.text,
            )
        return of_this_owner

    def applied_to(self, parameter):
        """Return the Parameter with what is known as its prior."""
        nominal, prior_sd = parameter.nominal, EXACT_SD * parameter.scale
        if self.value is not None:
            nominal = self.value
        if self.prior_sd is not None:
            prior_sd = self.prior_sd
        if nominal < 0.0 and never_negative(parameter):
            raise ConfigError(
                'option given', expected=f'{self.name} that is not negative', found=self.text
            )
        return replace(parameter, nominal=nominal, prior_sd=prior_sd)


def with_known(parameters: Sequence[Parameter], lines: Sequence[str]) -> tuple[Parameter, ...]:
    """
    Return the Parameters (tuple) with what the ``lines`` say.

    Each line is one of KNOWN_FORMS; NAME is a parameter (Izz3, fv2), a link (all ten as
    described) or a joint (its friction, none); without VALUE the description holds.
    parameters : (p,) before
    ConfigError where a line cannot be read or names nothing.
    """
    out = list(parameters)
    for line in lines:
        known = _KnownLine.read(line)
        for k in known.columns(out):
            out[k] = known.applied_to(out[k])
    return tuple(out)


def is_known(parameter: Parameter) -> bool:
    """Return whether a Parameter is taken as exact."""
    return parameter.prior_sd <= 2.0 * EXACT_SD * parameter.scale
