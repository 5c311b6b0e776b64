"""
ModelColumns: all columns that a model may have, two tilts of gravity behind them, as a LeftOut.

A model is a choice of these columns.  The weights of rows come from the residuals of the plainest
one, and from how much stretches that are alike by chance contradict one another.
"""

from functools import cached_property

import numpy as np

from .left_out import Elements, GroupProducts, LeftOut, Prior, Weights
from .structure import alike_constants, usual_constants
from .wide_factor import WideFactor
from ..prepare.mounting import across_gravity
from ...dynamics.friction import LAWS
from ...dynamics.inertial_parameters import Parameter
from ...estimation.r_factors import combined
from ...lapack import solve_triangular
from ...measurement.joints.kinematic_state import AT_REST

# Of the description's prior of bodies.  Free bodies explain what no body can, a spring above all;
# consistent ones cannot, and are as near to the description as ones that lean so much on it.
LEAN = 0.1
TILT_PRIOR = 0.05  # [rad] by how much a base is tilted that is called upright: prior deviation
# Columns of one coefficient: a value that is given is that of their sum, whichever are chosen.
ALTERNATIVES_DIFFER = 10.0  # of its deviation: each of them alone, where several make the curve
WEIGHT_ROUNDS = 3  # of weights by residuals
SCORE_MARGIN = 2.0  # the ends of stretches cut what lasts: scores show about half of it
INFORMATIVE = 1e-6  # of the largest information on scaled columns: less is rounding


class ModelColumns(LeftOut):
    """
    The columns of a WideFactor under one gravity, and two angles of it.

    wide : of rows under ``given`` (3,) gravity; gravity : (3,) asked, ``given`` by default
    plain : (k,) columns of the model whose residuals give the weights, the simplest by default
    weights : of rows, found if not given
    described : (columns,) parameters of the bodies whose torques are elements, by default those
        of the description
    """

    def __init__(
        self,
        wide: WideFactor,
        given: np.ndarray,
        plain: np.ndarray | None = None,
        *,
        gravity: np.ndarray | None = None,
        weights: Weights | None = None,
        described: np.ndarray | None = None,
    ) -> None:
        if gravity is None:
            gravity = given
        if plain is None:
            plain = plain_columns(wide)
        self.given, self.gravity, self.plain = given, gravity, plain
        self.acts_on_tilt = bool(wide.gravity_columns.size and given.any())
        self.parameters: list[Parameter] = wide.structure.parameters_of_places()
        self.size = wide.places
        self.nominal = np.zeros(self.size + 2)
        base = wide.structure.base
        self.nominal[: len(base)] = base.nominal()
        self.beta = self.nominal[:-2]  # parameters at which a tilt acts
        if described is None:
            described = self.beta
        self.described = described
        fitted = np.hstack([wide.columns_under_gravity(self.gravity - given), self._tilts(wide)])
        self.tilts = np.flatnonzero(fitted[:, self.size :].any(axis=0)) + self.size
        more = _elements(wide, given, self.described)
        groups = [_group_products(*of_group, fitted, more) for of_group in wide.products.values()]
        alike = Weights(np.ones(len(groups)), {})
        super().__init__(
            wide, groups, self._prior(wide), alike, Elements(wide.joints, wide.late), 0.0
        )
        if weights is None:
            weights = self._found_weights()
        self.weights = weights

    def of_rows(self, wide: WideFactor, weights: Weights | None = None) -> 'ModelColumns':
        """Return the ModelColumns of other rows; weights : of these, found if not given."""
        return ModelColumns(wide, self.given, weights=weights, described=self.described)

    def weighed_by(self, column_indices: np.ndarray) -> 'ModelColumns':
        """Return the same columns, rows weighed by what ``column_indices`` (k,) of them leave."""
        out = self.with_weights(Weights(np.ones(len(self.names)), {}))
        out.plain = column_indices
        return out.with_weights(out._found_weights())

    def _tilts(self, wide):
        """Return the columns (size, 2) of two angles of gravity, zero where it acts on nothing."""
        if not self.acts_on_tilt:
            return np.zeros((wide.size, 2))
        gravity = self.gravity
        if not gravity.any():
            gravity = self.given
        return wide.tilts(self.beta, across_gravity(gravity) * np.linalg.norm(gravity))

    def _prior(self, wide):
        """Return the Prior of the description, bodies leaning on it."""
        base = wide.structure.base
        count = len(base)
        unit = np.array([p.prior_sd for p in self.parameters] + 2 * [TILT_PRIOR])
        unit[:count] = base.prior_sd
        root = np.diag(1.0 / unit)
        laws = np.array([bool(base.parameters[k].law) for k in base.independent])
        lean = np.where(laws, 1.0, LEAN)
        factor = base.prior_factor() * lean[:, None]
        root[:count, :count] = solve_triangular(factor, np.eye(count), lower=True)
        believed = np.zeros(len(unit))
        believed[:count] = base.nominal()
        sums = []
        for places in self._given_alternatives(wide):
            given = self.parameters[places[0]]
            unit[places] = ALTERNATIVES_DIFFER * given.prior_sd
            root[places, places], believed[places] = 1.0 / unit[places], 0.0
            row = np.zeros(len(unit) + 1)
            row[places], row[-1] = unit[places], given.nominal
            sums.append(row / given.prior_sd)
        rows = np.column_stack([root * unit, root @ believed])
        return Prior(unit, np.vstack([rows, *sums]))

    def _given_alternatives(self, wide):
        """Yield the places (k,) of one coefficient with several constants, its value given."""
        base = wide.structure.base
        for places in wide.structure.choices.values():
            known = self.parameters[places[0]].nominal != 0.0
            if known and not base.X[places[0]].any():
                yield np.array(places)

    @cached_property
    def prior_sd(self) -> np.ndarray:
        """Return the units (columns + 2,) of the unknowns."""
        return self.prior.unit

    @property
    def measures_all(self) -> bool:
        """
        Return whether something is measured in all groups of rows.

        Rows that are zero by their equations fit a robot without mass exactly: beside such the
        weights that are found here mean nothing.
        """
        return all(group.products[:, group.count, group.count].any() for group in self.groups)

    def _found_weights(self):
        """Return the Weights by residuals of the plain model, from rows that count alike."""
        stretches = np.arange(self.count)
        rows = np.maximum(self.rows.sum(0), 1.0)
        weighed = self
        for _ in range(WEIGHT_ROUNDS):
            x = weighed.solution(weighed.stacked(stretches), self.plain)[:, None]
            squares = self.errors(x, stretches)[:, :, 0].sum(0)
            sd = np.sqrt(np.maximum(squares, 1e-300) / rows)
            weighed = self.with_weights(Weights(sd, {}))
        scores = np.array([weighed._score(group, x[:, 0]) for group in range(len(self.names))])
        # One joint's are known to a factor of two or so: half way to those of all.
        correlation = SCORE_MARGIN * np.sqrt(scores * np.median(scores))
        correlation = np.maximum(1.0, correlation)
        return Weights(sd * np.sqrt(correlation), dict(zip(self.names, correlation.tolist())))

    def _score(self, group, x):
        """Return the mean square of the scores of stretches over that of white noise."""
        of_group = self.groups[group]
        count = of_group.count
        plain = np.flatnonzero(np.isin(of_group.index, self.plain))
        products = of_group.products[:, plain]
        about = products[:, :, plain].sum(axis=0)
        length = np.maximum(np.sqrt(np.diagonal(about)), 1e-300)
        information, axes = np.linalg.eigh(about / length / length[:, None])
        informative = information > INFORMATIVE * information[-1]
        if not informative.any():  # nothing moves what these rows are about
            return 0.0
        axes = axes[:, informative] / np.sqrt(information[informative])
        with_rows = self.rows[:, group] > 0.0
        scores = products[:, :, count] - products[:, :, :count] @ x[of_group.index]
        z = (scores / length)[with_rows] @ axes / self.sd[group]
        return float(np.square(z).sum(0).mean())


def _elements(wide, given, described):
    """Return the columns (size, e - 1) of the elements beside what was measured."""
    identity = np.eye(wide.size)
    columns = [identity[:, wide.rate : wide.rate + int(wide.late)]]
    if not wide.joints:
        return columns[0]
    others = np.delete(wide.efforts + np.arange(2 * wide.joints + 1), wide.joints)
    columns.append(identity[:, others])
    upright = wide.columns_under_gravity(np.zeros(3))
    still = upright
    if wide.gravity_columns.size:
        still = wide.columns_under_gravity(-given)
    columns.append((still @ described)[:, None])
    for axis in np.eye(3):
        by_gravity = wide.columns_under_gravity(axis) - upright
        columns.append((by_gravity @ described)[:, None])
    return np.hstack(columns)


def _group_products(column_indices, products, fitted, more):
    """Return the GroupProducts of a group's ``products``: [fitted | measured | more elements]."""
    T, elements = fitted[column_indices], more[column_indices]
    index = np.flatnonzero(T.any(axis=0))
    count = len(index)
    combination = np.zeros((len(column_indices) + 1, count + 1 + elements.shape[1]))
    combination[:-1, :count] = T[:, index]
    combination[-1, count] = 1.0
    combination[:-1, count + 1 :] = elements
    return GroupProducts(index, combined(products, combination))


def plain_columns(wide: WideFactor) -> np.ndarray:
    """Return the columns (k,) of the simplest model: the laws of every joint, the usual width."""
    tried = alike_constants(wide.structure)
    usual = tried[usual_constants(tried)]
    parameters = wide.structure.parameters_of_places()
    common = common_columns(wide)
    taken = [usual.get(parameters[k].name, parameters[k]) == parameters[k] for k in common]
    return common[np.array(taken, dtype=bool)]


def common_columns(wide: WideFactor) -> np.ndarray:
    """Return the columns (k,) of what moved, of laws that every joint has, all constants."""
    optional = {name for name, law in LAWS.items() if law.by_need}
    resting = resting_columns(wide)
    parameters = wide.structure.parameters_of_places()
    common = [p.law not in optional and p.name not in resting for p in parameters]
    return np.flatnonzero(common)


def resting_columns(wide: WideFactor) -> set[str]:
    """
    Return the names of friction and rotor inertia of joints that stood still.

    The noise of their velocities is all that a fit has for them: what it makes of that would be
    used as soon as they move.
    """
    if not wide.joints:
        return set()
    still = set()
    for owner, quantities in wide.ranges.items():
        if 'q' in quantities and np.ptp(quantities['q']) < AT_REST:
            still.add(owner)
    return {p.name for p in wide.structure.columns if p.law and p.owner in still}
