"""
Physically consistent parameters: full standard parameters with positive definite pseudo-inertias.

    minimise  1/2 |A K x - b|^2  +  sum over bodies of D(P, P0)  +  1/2 friction prior
    where every pseudo-inertia P is positive definite, no friction drives the robot, and no gear
    loses more than it passes on

A, b are the weighted rows of the data about the base parameters K x; D is the log-det Bregman
divergence from the nominal body, tr(P0^-1 P) - log det(P0^-1 P) - 4: an entropy, the same in all
frames and units (Lee, Wensing and Park, Geometric robot dynamic identification, 2020).  Its weight
is one, or what the recording asks for (identification/fit/description.py).  D decides what the
data leave open and, as it grows beyond all bounds where P ceases to be positive definite, it is
the barrier that keeps P so (P > 0 exactly when a body with these moments exists: Wensing, Kim and
Slotine 2018).  All terms are convex and the barriers self-concordant: see newton.py.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from .estimators import effective_standard_deviation, Estimate, Problem
from .newton import log_det, newton
from .r_factors import RFactors
from ..dynamics.friction import largest_losses, passive_rows
from ..dynamics.inertial_parameters import bodies, parameters_of, pseudo_inertia
from ..errors import EstimationError
from ..lapack import solve_triangular

DISSIPATION = 0.1  # weight of -log(friction): shifts by 0.1 standard errors at one from zero
DIRECT_STEPS = 60  # three times what data take that agree with bodies
BARRIERS = tuple(10.0**k for k in range(6, -1, -1))
NEXT_BARRIER = 0.1  # decrement, of the barrier, at which the next one begins
WIDENINGS = 3  # until the errors that friction's border leaves no longer change
NEWTON_STEPS = 400  # for each of them
DECREMENT = 1e-10  # squared Newton decrement left: twice the distance of the objective from best
THINNEST = 1e-3  # m of a nominal body without extent: its prior must have an inverse

_UNIT = pseudo_inertia(np.eye(10)).reshape(10, 16)


@dataclass(frozen=True)
class ConsistentEstimate:
    """
    Standard parameters with positive definite pseudo-inertias.

    values : (p,) standard parameters; params : (b,) the base parameters they imply
    cov_params : (b, b) covariance of params by the curvature of the objective at its minimum;
        that of friction's barrier one standard deviation inside: at the border it knows too much
    prior : (b, b) covariance of params by that curvature without the data
    described_share : (b,) of the information on each of params that is not the data's, 0 to 1,
        beside a description of the usual weight: a good one takes no number away
    smallest_eigenvalue : link -> of its pseudo-inertia at the joint frame [kg or kg m^2]
    loss_percent : increase of the weighted residual over the unconstrained estimate
    steps : Newton steps taken
    """

    values: np.ndarray
    params: np.ndarray
    cov_params: np.ndarray
    prior: np.ndarray
    described_share: np.ndarray
    smallest_eigenvalue: dict[str, float]
    loss_percent: float
    steps: int


@dataclass(frozen=True)
class Known:
    """
    What is known of parameters beside the description.

    masses : {link: known mass [kg]}; total_mass : known sum of the masses of all moving links [kg]
    names : of parameters to keep at nominal, give or take their prior standard deviation
    inherited : (b, k) errors of unit size that all rows share, see
        rigs/estimation/inherited_errors.py
    weight : of the divergence from the described bodies
    """

    masses: Mapping[str, float] = field(default_factory=dict)
    total_mass: float | None = None
    names: Sequence[str] = ()
    inherited: np.ndarray | None = None
    weight: float = 1.0


@dataclass(frozen=True)
class WeighedBodies:
    """
    Bodies by one weight of the divergence from the description.

    log_evidence : up to a constant that all weights share; params : (b,) base parameters
    """

    weight: float
    log_evidence: float
    params: np.ndarray


def consistent(
    problem: Problem, estimate: Estimate, known: Known | None = None
) -> ConsistentEstimate:
    """
    Return the ConsistentEstimate of a Problem, weighted as its unconstrained Estimate was.

    The base parameters of the ``problem`` have bodies of ten parameters each.
    EstimationError when the known masses contradict one another or the links.
    """
    if known is None:
        known = Known()
    cost, x, free = _prepared(problem, estimate.standard_deviation, known, estimate.system)
    x, steps = _minimise(cost, x, free)
    K = problem.base.matrix()
    curvature, prior_curvature = _curvatures(cost, x, free)
    cov_params = _covariance(curvature, K, free)
    prior = _covariance(prior_curvature, K, free)
    described_share = _share(cov_params, prior)
    if known.weight != 1.0:
        usual = _curvatures(replace(cost, weight_of_bodies=1.0), x, free)
        described_share = _share(*(_covariance(hessian, K, free) for hessian in usual))
    smallest_eigenvalues = np.linalg.eigvalsh(cost.pseudo(x))[:, 0].tolist()
    return ConsistentEstimate(
        values=x,
        params=K @ x,
        cov_params=cov_params,
        prior=prior,
        described_share=described_share,
        smallest_eigenvalue=dict(zip(bodies(problem.base.parameters), smallest_eigenvalues)),
        loss_percent=_loss_percent(cost.misfit(estimate.params), cost.misfit(K @ x)),
        steps=steps,
    )


def _covariance(curvature, K, free):
    """Return the covariance (b, b) of K x, x in the span of ``free``, by a Hessian (p, p)."""
    K_free = K @ free
    covariance = K_free @ np.linalg.solve(_along(curvature, free), K_free.T)
    return (covariance + covariance.T) / 2


def _share(covariance, prior):
    """Return the share (b,) of the information that a ``prior`` covariance (b, b) has."""
    variances = np.diag(covariance)
    return variances / np.maximum(np.diag(prior), np.maximum(variances, 1e-300))


def _loss_percent(unconstrained, consistent_misfit):
    """Return the increase of the weighted residual [%]; 0 where there was none, or none more."""
    if unconstrained <= 0:
        return 0.0
    return float(max(0.0, 100.0 * (consistent_misfit / unconstrained - 1.0)))


def weighed(
    problem: Problem, estimate: Estimate, known: Known, weights: Sequence[float]
) -> list[WeighedBodies]:
    """
    Return what each of ``weights`` of the divergence from the described bodies makes of the rows.

    See ``consistent``.  The evidence is Laplace's approximation (MacKay 1992): of all bodies near
    the description, how many explain the rows as well.
    """
    out = []
    cost, x, free = _prepared(problem, estimate.standard_deviation, known, estimate.system)
    K = problem.base.matrix()
    for weight in weights:
        cost = replace(cost, weight_of_bodies=weight)
        x, _ = _minimise(cost, x, free)
        curvature, prior = _curvatures(cost, x, free)
        gain = np.linalg.slogdet(_along(curvature, free))[1]
        gain -= np.linalg.slogdet(_along(prior, free))[1]
        log_evidence = -cost.value(x) + weight * cost.value_of_described - 0.5 * gain
        out.append(WeighedBodies(weight, float(log_evidence), K @ x))
    return out


def consistent_values(
    problem: Problem,
    standard_deviation: Mapping[str, float],
    known: Known,
    enough: float = DECREMENT,
) -> Callable[[RFactors], np.ndarray]:
    """
    Return the function RFactors -> standard parameters (p,) of ``consistent``, for any data.

    Weights and priors are those of the ``problem``, from whose solution every other one starts.
    standard_deviation : group -> of its rows
    enough : squared Newton decrement at which a solution is good enough; with more than the
    usual one, DIRECT_STEPS steps have to do
    """
    cost, x, free = _prepared(problem, standard_deviation, known)
    start = _minimise(cost, x, free, enough)[0]

    def values(factors: RFactors) -> np.ndarray:
        if factors is problem.factors:
            return start
        with_factors = replace(problem, factors=factors)
        cost_of_factors = _of_rows(cost, with_factors, standard_deviation, known.inherited)
        return _minimise(cost_of_factors, start, free, enough)[0]

    return values


@dataclass(frozen=True)
class _Cost:
    """
    The objective about x (p,).

    A (b, b), b (b,), outside : weighted rows, |outside| what no parameters explain
    M, target : rows of the estimate times K; gram : M'M
    pins, pinned : a row for each known parameter
    body : (n, 10) columns of the bodies; nominal (n, 4, 4) their P0, inverse (n, 4, 4)
    bodiless : columns of no body; center, weight : their prior
    C x + room >= 0 : passive friction, C (m, p), room (m,)
    weight_of_bodies : factor of D; barrier : factor of D and of the friction prior
    """

    A: np.ndarray
    b: np.ndarray
    outside: float
    M: np.ndarray
    gram: np.ndarray
    target: np.ndarray
    pins: np.ndarray
    pinned: np.ndarray
    body: np.ndarray
    nominal: np.ndarray
    inverse: np.ndarray
    bodiless: np.ndarray
    center: np.ndarray
    weight: np.ndarray
    C: np.ndarray
    room: np.ndarray
    weight_of_bodies: float = 1.0
    barrier: float = 1.0

    @cached_property
    def quadratic(self):
        """Return the Hessian (p, p) of the priors that are squares."""
        hessian = self.pins.T @ self.pins
        hessian[self.bodiless, self.bodiless] += self.weight**2
        return hessian

    @cached_property
    def value_of_described(self):
        """Return what the divergence of the described bodies from themselves is counted as."""
        return 4.0 * len(self.nominal) - log_det(self.nominal)

    @cached_property
    def braking(self):
        """Return the slice of x from the first to the last column of friction, and C about it."""
        columns = np.flatnonzero(self.C.any(axis=0))
        span = slice(0)
        if len(columns):
            span = slice(columns[0], columns[-1] + 1)
        return span, self.C[:, span]

    def pseudo(self, x):
        """Return the pseudo-inertias (n, 4, 4) of the bodies."""
        return (x[self.body] @ _UNIT).reshape(-1, 4, 4)

    def misfit(self, beta):
        """Return the norm of the weighted residual of base parameters."""
        return float(np.hypot(np.linalg.norm(self.A @ beta - self.b), self.outside))

    def value(self, x):
        """Return the objective, inf outside its domain."""
        slack = self.C @ x + self.room
        if slack.size and slack.min() <= 0.0:
            return np.inf
        P = self.pseudo(x)
        logdet = log_det(P)
        if logdet == -np.inf:
            return np.inf
        residual, pinned = self.M @ x - self.target, self.pins @ x - self.pinned
        deviation = (x[self.bodiless] - self.center) * self.weight
        return (
            0.5 * (residual @ residual + pinned @ pinned + deviation @ deviation)
            + self.barrier * self.weight_of_bodies * (np.vdot(self.inverse, P) - logdet)
            - self.barrier * DISSIPATION * np.log(slack).sum()
        )

    def derivatives(self, x):
        """Return gradient (p,) and Hessian (p, p)."""
        gradient, hessian = self.without_data(x)
        gradient += self.M.T @ (self.M @ x - self.target)
        hessian += self.gram
        return gradient, hessian

    def without_data(self, x, inside=0.0):
        """Return gradient (p,) and Hessian (p, p) of all but the data; friction so far inside."""
        span, C = self.braking
        slack = C @ x[span] + self.room + inside
        inverse, count = np.linalg.inv(self.pseudo(x)), len(self.body)
        # Of two parameters the trace of P^-1 U P^-1 V: the products of two elements of P^-1.
        products = inverse[:, :, None, :, None] * inverse[:, None, :, None, :]
        bend = _UNIT @ products.reshape(count, 16, 16) @ _UNIT.T
        gradient, hessian = self.pins.T @ (self.pins @ x - self.pinned), self.quadratic.copy()
        weight = self.barrier * self.weight_of_bodies
        gradient[self.body] += weight * (self.inverse - inverse).reshape(count, 16) @ _UNIT.T
        hessian[self.body[:, :, None], self.body[:, None]] += weight * bend
        gradient[self.bodiless] += (x[self.bodiless] - self.center) * self.weight**2
        gradient[span] -= C.T @ (self.barrier * DISSIPATION / slack)
        hessian[span, span] += (C.T * (self.barrier * DISSIPATION / slack**2)) @ C
        return gradient, hessian


def _prepared(problem, standard_deviation, known, system=None):
    """Return the _Cost, parameters (p,) in its domain, and directions (p, f) that are free."""
    parameters = problem.base.parameters
    if not bodies(parameters):
        raise EstimationError(
            'consistent: no body has all ten parameters',
            do='let all ten of every body be identified',
        )
    without_rows = replace(_cost(problem, known.names), weight_of_bodies=known.weight)
    cost = _of_rows(without_rows, problem, standard_deviation, known.inherited, system)
    x = _start(cost, parameters, known)
    return cost, x, _free_directions(parameters, known)


def _cost(problem, known_names):
    """Return a _Cost without rows."""
    parameters = problem.base.parameters
    first = np.array(list(bodies(parameters).values()), dtype=int)
    body = first[:, None] + np.arange(10)
    nominal = np.array([p.nominal for p in parameters])
    prior_sd = np.array([p.prior_sd for p in parameters])
    bodiless = np.setdiff1d(np.arange(len(parameters)), body)
    P0 = np.array([_prior_body(parameters[k : k + 10]) for k in first])
    pinned = np.array([p.name in known_names for p in parameters], dtype=bool)
    passive = passive_rows(parameters)
    lossy, largest = largest_losses(parameters)
    pins = np.eye(len(parameters))[pinned] / prior_sd[pinned][:, None]
    no_rows = np.zeros((0, len(parameters)))
    return _Cost(
        A=no_rows,
        b=no_rows[:, 0],
        outside=0.0,
        M=no_rows,
        gram=no_rows.T @ no_rows,
        target=no_rows[:, 0],
        pins=pins,
        pinned=pins @ nominal,
        body=body,
        nominal=P0,
        inverse=np.linalg.inv(P0),
        bodiless=bodiless,
        center=nominal[bodiless],
        weight=1.0 / prior_sd[bodiless],
        C=np.vstack([passive, -lossy]),
        room=np.concatenate([np.zeros(len(passive)), largest]),
    )


def _of_rows(cost, problem, standard_deviation, inherited, system=None):
    """Return a _Cost with the rows of a problem, or those of a ``system``."""
    A, b, outside = problem.factors.system(
        effective_standard_deviation(problem, standard_deviation)
    )
    rows, target = A, b
    if system is not None:
        rows, target = system
    if inherited is not None:
        rows, target = _with_inherited(rows, target, inherited)
    M = rows @ problem.base.matrix()
    return replace(cost, A=A, b=b, outside=outside, M=M, gram=M.T @ M, target=target)


def _with_inherited(A, b, inherited):
    """Return rows A, b that say no more than rows with errors ``inherited`` in common can."""
    moved = A @ inherited
    factor = np.linalg.cholesky(np.eye(len(A)) + moved @ moved.T)
    return solve_triangular(factor, A, lower=True), solve_triangular(factor, b, lower=True)


def _prior_body(parameters):
    """
    Return P0 (4, 4) of ten Parameters, a ball of the prior's size where nothing says its extent.

    That is where the nominal body has no mass, or is described as a point.
    """
    mass, inertia = parameters[0].prior_sd, parameters[4].prior_sd
    ball = np.diag([inertia / 5.0] * 3 + [0.0])  # second moments: m r^2 / 5
    if parameters[0].nominal <= 0.0:
        return ball + np.diag([0.0, 0.0, 0.0, mass])
    P = pseudo_inertia(np.array([[p.nominal for p in parameters]]))[0]
    centre = P[:3, 3] / P[3, 3]
    about_centre = P[:3, :3] - P[3, 3] * np.outer(centre, centre)
    if np.trace(about_centre) < P[3, 3] * THINNEST**2:
        return P + ball
    return solid(np.array([[p.nominal for p in parameters]]))[0]


def solid(parameters: np.ndarray) -> np.ndarray:
    """
    Return pseudo-inertias (n, 4, 4) of bodies (n, 10) with mass, none thinner than THINNEST.

    parameters : ten of each body, see dynamics/inertial_parameters.py
    """
    P = pseudo_inertia(parameters)
    for body in P:
        mass, centre = body[3, 3], body[:3, 3] / body[3, 3]
        w, V = np.linalg.eigh(body[:3, :3] - mass * np.outer(centre, centre))
        if w[0] < mass * THINNEST**2:
            second_moments = (V * np.maximum(w, mass * THINNEST**2)) @ V.T
            body[:3, :3] = second_moments + mass * np.outer(centre, centre)
    return P


def _start(cost, parameters, known):
    """Return x (p,) inside the domain, of the known masses."""
    links = bodies(parameters)
    unknown = sorted(set(known.masses) - set(links))
    if unknown:
        raise EstimationError(
            'known mass of links that do not move', found=unknown, exists=tuple(links)
        )
    x = np.array([p.nominal for p in parameters])
    scales = _mass_scales(cost.nominal[:, 3, 3], tuple(links), known)
    x[cost.body] = parameters_of(cost.nominal * scales[:, None, None])
    _make_friction_brake(x, passive_rows(parameters), parameters)
    lossy, largest = largest_losses(parameters)
    loaded = lossy.any(axis=0)
    x[loaded] = np.minimum(x[loaded], 0.5 * largest)
    return x


def _make_friction_brake(x, C, parameters):
    """Change friction coefficients of x (p,) so that C x > 0; EstimationError if none can."""
    for row in C[np.count_nonzero(C, axis=1) == 1]:  # of a coefficient that is positive
        k = row.argmax()
        x[k] = max(x[k], parameters[k].scale)
    for row in C[C @ x <= 0.0]:  # no such coefficient: the others do the braking
        x[(row != 0.0) & (x == 0.0)] = 1.0
    driving = C[C @ x <= 0.0]
    if len(driving):
        joint = parameters[np.flatnonzero(driving[0])[0]].owner
        raise EstimationError(
            f'friction of {joint} cannot brake both ways',
            found=sorted({p.law for p in parameters if p.law and p.owner == joint}),
            do='add coulomb or viscous to its friction laws',
        )


def _free_directions(parameters, known):
    """Return the directions (p, f) of parameters that keep the known masses."""
    links = bodies(parameters)
    identity = np.eye(len(parameters))
    rows = [identity[links[link]] for link in known.masses]
    if known.total_mass is not None:
        rows.append(identity[list(links.values())].sum(0))
    if not rows:
        return identity
    from scipy.linalg import null_space  # takes long to import: when needed

    return null_space(np.array(rows))


def _mass_scales(nominal, links, known):
    """Return the factors (n,) of the ``nominal`` masses (n,) of links to the known masses."""
    scales = np.ones(len(links))
    is_known = np.isin(links, list(known.masses))
    for k in np.flatnonzero(is_known):
        scales[k] = known.masses[links[k]] / nominal[k]
    if scales.min() <= 0.0:
        raise EstimationError('known masses', expected='above 0 kg', found=known.masses)
    if known.total_mass is None:
        return scales
    remainder = known.total_mass - sum(known.masses.values())
    if remainder <= 0.0 or is_known.all():
        raise EstimationError(
            'the known total mass',
            found=f'{known.total_mass} kg',
            expected='more than the known masses of links, and a link '
            'left whose mass is not known',
        )
    scales[~is_known] = remainder / nominal[~is_known].sum()
    return scales


def _minimise(cost, x, free, enough=DECREMENT):
    """
    Return (minimum, Newton steps) over x + free z.

    Where the data pull bodies out of their domain, steps along its border are short: there the
    barriers are lowered by and by (central path: Nesterov and Nemirovskii 1994).  With more than
    the usual decrement ``enough``, what DIRECT_STEPS reach has to do.
    """
    best, decrement, steps = newton(cost.value, cost.derivatives, x, free, enough, DIRECT_STEPS)
    if decrement == 0.0 or enough != DECREMENT:
        return best, steps
    best = x
    for barrier in BARRIERS:
        goal = NEXT_BARRIER * barrier
        if barrier == 1.0:
            goal = DECREMENT
        lifted = replace(cost, barrier=barrier)
        best, decrement, more = newton(
            lifted.value, lifted.derivatives, best, free, goal, NEWTON_STEPS
        )
        steps += more
    if decrement > 0.0:
        raise EstimationError(
            'the physically consistent estimate did not settle',
            found=f'a decrement of {decrement:.1e} after {steps} steps',
        )
    return best, steps


def _along(hessian, free):
    """Return a Hessian (f, f) along the directions ``free`` (p, f), of one about all (p, p)."""
    if free.shape[0] == free.shape[1]:  # the axes themselves
        return hessian
    return free.T @ hessian @ free


def _curvatures(cost, x, free):
    """Return the Hessians (p, p) at the minimum x that errors follow from: with data, without."""
    C_free = cost.C @ free
    inside = np.zeros(len(cost.C))
    for _ in range(WIDENINGS):
        prior = cost.without_data(x, inside)[1]
        curvature = _along(cost.gram + prior, free)
        variances = np.einsum('ij,ji->i', C_free, np.linalg.solve(curvature, C_free.T))
        inside = np.sqrt(variances)
    prior = cost.without_data(x, inside)[1]
    return cost.gram + prior, prior
