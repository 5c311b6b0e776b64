"""
Stretches of time: R factors of each about base parameters and a tilt of gravity.

What differs between stretches more than white noise lets one expect is model error, which belongs
into the standard errors: they are clusters of residuals (Bell and McCaffrey 2002).  They are
stretches of distinct motion: what a model lacks is a function of the motion, so that two periods
of a trajectory, or two recordings of it, say no more of it than one does.  What it lacks for
seconds (friction of a slow motion) outlasts a stretch, and its neighbours share it: stretches are
joined until they are several times longer (Kuensch 1989).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import ndtri, polygamma, psi, stdtrit

from .tilted_rows import rows_and_tilts, with_tilts
from ..prepare.dataset import Dataset
from ...estimation.base_parameters import BaseParameters
from ...estimation.estimators import Estimate
from ...estimation.problem import effective_standard_deviation, Problem
from ...estimation.r_factors import merge, RFactors

STRETCHES = 16  # enough that a standard error of them is known to a fifth
FEWEST = 8
ALONE = 0.99  # of the information on a direction: no other stretch tells how wrong one is
LASTING = 5.0  # times what correlates a residual: a stretch so long knows its error to 5 %
LEVEL = 0.975  # of the one-sided interval at which Student's t and the normal agree
THIN = 4  # every that many sample at most: two per period of the cutoff are left
FEW = 500  # samples that are always used
PRIORS = np.geomspace(1e3, 0.1, 2000)  # degrees of freedom: the answer is right to 1e-5
NEAR = 0.15    # rms of the differences of all positions and velocities, in standard deviations
APART = 0.5    # [s] between samples that repeat each other
RETURN = 0.5   # of the way between them that their distance is at most
LOOKED_AT = 3000  # samples


@dataclass(frozen=True)
class Motion:
    """q, v (N, n), t (N,) [s] of thinned training samples; counts : how many of each state."""

    q: np.ndarray
    v: np.ndarray
    t: np.ndarray
    counts: tuple[int, ...]

    def thinned(self, stride: int) -> 'Motion':
        """Return one sample in ``stride`` of every state."""
        edges = np.cumsum((0, *self.counts))
        rows = [np.arange(a, b, stride) for a, b in zip(edges[:-1], edges[1:])]
        chosen = np.concatenate(rows)
        return Motion(self.q[chosen], self.v[chosen], self.t[chosen], tuple(map(len, rows)))


def thinning(samples: int) -> int:
    """Return the stride at which so many ``samples`` of all recordings are looked at."""
    return max(1, min(THIN, samples // FEW))


def motion_of(data: Dataset, thin: int) -> Motion:
    """Return the Motion of a Dataset of one recording, one sample in ``thin`` of every state."""
    motion = []
    for robot, state in data.states(training=True):
        ranges = data.method.validity_range(state, robot).values()
        motion.append([np.stack([own[x][::thin] for own in ranges], axis=1) for x in 'qv']
                      + [state.t[::thin].copy()])
    q, v, t = map(np.concatenate, zip(*motion))
    return Motion(q, v, t, tuple(len(m[2]) for m in motion))


@dataclass(frozen=True)
class Share:
    """
    How samples of one recording take part, one in ``thin`` of every state.

    stretch : (N,) number of the stretch of each, below zero for those that do not
    weight : (N,) for how many rows each stands
    """

    thin: int
    stretch: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True)
class Stretches:
    """
    Stretches of distinct motion, in order of time.

    factors : RFactors of each, about [b base columns, torque by a tilt of gravity (2, or none)]
    speed, distance : (count,) mean squares of velocities, and of positions about their mean, of
        all joints in units of their own
    """

    factors: list[RFactors]
    speed: np.ndarray
    distance: np.ndarray

    def left_out(self) -> list[np.ndarray]:
        """
        Return the numbers of stretches that are left out together, (k,) each.

        Quarters of the time, the fastest quarter, the quarter that is farthest from where the
        arm is in the mean, and every fourth: what only helps inside of the data is no gain.
        """
        count = len(self.factors)
        order, quarter = np.arange(count), max(1, count // 4)
        return [*np.array_split(order, 4), np.argsort(-self.speed)[:quarter],
                np.argsort(-self.distance)[:quarter], *(order[k::4] for k in range(4))]


def stretches_of(parts: Iterable[Sequence[RFactors]], motions: Sequence[Motion],
                 shares: Sequence['Share']) -> Stretches:
    """Return the Stretches of several recordings, ``parts`` of each merged number by number."""
    total: list[RFactors] = []
    for part in parts:
        total = [merge(pair) for pair in zip(total, part)] if total else list(part)
    stretch = np.concatenate([share.stretch for share in shares])
    q, v = (np.concatenate([getattr(m, x) for m in motions])[stretch >= 0] for x in 'qv')
    kept = [k for k, factors in enumerate(total) if factors.groups]
    stretch = stretch[stretch >= 0]
    speed, distance = (np.array([x[stretch == k].mean() for k in kept]) for x in (
        (v / np.maximum(v.std(0), 1e-12)) ** 2,
        ((q - q.mean(0)) / np.maximum(q.std(0), 1e-12)) ** 2))
    return Stretches([total[k] for k in kept], speed, distance)


def shares_of(motions: Sequence[Motion], thin: int, times: float) -> list[Share]:
    """
    Return the Share of every recording in STRETCHES stretches of distinct motion.

    motions : theirs, thinned by ``thin``; times : for how many of them each recording stands
    """
    q, v, t = (np.concatenate([getattr(m, x) for m in motions]) for x in 'qvt')
    stretch = distinct_stretches(q, v, t, STRETCHES)
    bounds = np.cumsum([len(m.t) for m in motions])[:-1]
    return [Share(thin, own, np.full(len(own), thin * times))
            for own in np.split(stretch, bounds)]


def distinct_stretches(q: np.ndarray, v: np.ndarray, t: np.ndarray, count: int) -> np.ndarray:
    """
    Return the number (N,), from 0 to count - 1, of the stretch of distinct motion of each sample.

    q, v : (N, n) positions and velocities of joints, in order of time, recording by recording
    t : (N,) [s], which may begin anew with a recording; count : of stretches, of equal time
    A sample that comes near an earlier one belongs to the stretch of that one.
    """
    stride = -(-len(t) // LOOKED_AT)
    x = np.hstack([q, v])[::stride]
    x = (x - x.mean(0)) / np.maximum(x.std(0), 1e-9 * np.abs(x).max() + 1e-300)
    pairs = cKDTree(x).query_pairs(NEAR * np.sqrt(x.shape[1]), output_type='ndarray')
    one, other = pairs.min(1), pairs.max(1)
    clock = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(t[::stride])))])
    steps = np.linalg.norm(np.diff(x, axis=0), axis=1)
    way = np.concatenate([[0.0], np.cumsum(steps)])
    # A slow motion is near itself for long, without having come back.
    back = np.linalg.norm(x[other] - x[one], axis=1) <= RETURN * (way[other] - way[one])
    far = (clock[other] - clock[one] > APART) & back
    first = np.arange(len(x))
    np.minimum.at(first, other[far], one[far])
    new = first == np.arange(len(x))
    age = np.cumsum(new)  # of the distinct motion, in samples
    for k in np.flatnonzero(~new):
        age[k] = age[first[k]]
    stretch = np.minimum((age - 1) * count // max(int(new.sum()), 1), count - 1)
    return np.repeat(stretch, stride)[:len(t)]


def rows_of_stretches(data: Dataset, base: BaseParameters, values: np.ndarray, across: np.ndarray,
                      share: Share) -> list[RFactors]:
    """
    Return STRETCHES RFactors about [b base columns, torque by a tilt of gravity (k)].

    data : a Dataset of one recording; values : (p,) standard parameters
    that gravity pulls
    across : (3, k) unit vectors across gravity in the base frame, directions of the tilt [rad];
        none where gravity's direction is not searched
    share : of its samples
    """
    size = len(base) + across.shape[1]
    folds = [RFactors(size) for _ in range(STRETCHES)]
    identity, place, seen = np.arange(size), base.places(), 0
    for robot, whole in data.states(training=True):
        state = whole.rows(slice(None, None, share.thin))
        for block, tilts in rows_and_tilts(data.method, state, robot, base.parameters, values,
                                           across):
            own = slice(seen, seen + len(block.t))
            wide = with_tilts(block, tilts, place, np.sqrt(share.weight[own]))
            fold = share.stretch[own]
            for number in np.unique(fold[fold >= 0]):
                folds[number].accumulate(wide.rows(np.flatnonzero(fold == number)), identity)
            seen = own.stop
    return folds


def robust_errors(problem: Problem, estimate: Estimate, folds: Sequence[RFactors],
                  prior: np.ndarray) -> Estimate:
    """
    Return the Estimate with errors no smaller than what differs between stretches of the motion.

    folds : of ``Passes.stretches``
    prior : (b, b) covariance of what is known without data
    Each stretch pulls the estimate by its residual; those pulls are the errors, each larger by
    the share of the information that is its own, which the fit took out of the residual (Bell and
    McCaffrey 2002; leaving it out, as a jackknife does, overdoes that where stretches show
    different things).  Nothing changes with fewer than FEWEST stretches.  The few know each error
    to a quarter: see ``moderated_covariance``.
    """
    count, size = len(folds), len(problem.base)
    if count < FEWEST:
        return estimate
    systems = joined(problem, normal_equations(problem, estimate, folds))
    scale = problem.base.prior_sd
    systems *= np.outer(np.append(scale, 1.0), np.append(scale, 1.0))
    prior, information = prior / np.outer(scale, scale), systems[:, :-1, :-1]
    pulls = systems[:, :-1, -1] - information @ (estimate.params / scale)
    root = _root(np.linalg.solve(np.eye(size) + prior @ information.sum(0), prior))
    shares, turns = np.linalg.eigh(root.T @ information @ root)
    lone = 1.0 / np.sqrt(1.0 - np.clip(shares, 0.0, ALONE))
    away = scale * np.einsum('ab,gbk,gk,gck,dc,gd->ga', root, turns, lone, turns, root, pulls,
                             optimize=True)
    covariance = moderated_covariance(estimate.cov_params, away - away.mean(0))
    bse = np.sqrt(estimate.bse ** 2 + np.diag(covariance - estimate.cov_params))
    return replace(estimate, bse=bse, cov_params=covariance, by_rows=estimate.cov_params,
                   data_bse=bse / np.maximum(estimate.bse, 1e-300) * estimate.data_bse)


def _root(covariance):
    """Return F (b, b), F F' = ``covariance``, which may be singular."""
    variances, turn = np.linalg.eigh((covariance + covariance.T) / 2)
    return turn * np.sqrt(np.maximum(variances, 0.0))


def moderated_covariance(covariance: np.ndarray, away: np.ndarray) -> np.ndarray:
    """
    Return the covariance (b, b) of parameters with what differs between stretches in it.

    covariance : (b, b) by independent rows; away : (count, b) what each stretch adds to them
    That of the stretches is drawn towards a multiple of the former, as a matrix (Ledoit and Wolf
    2004), by the weights of ``moderation``; nothing gets known better, parameters or sums of them.
    """
    errors = np.sqrt(np.diag(covariance))
    ratios = np.linalg.norm(away, axis=0) / np.maximum(errors, 1e-300)
    common, own = moderation(ratios, len(away) - 1)
    root = _root(covariance)
    each = away @ np.linalg.pinv(root).T  # in standard errors of directions that are independent
    sizes, turns = np.linalg.eigh(own * each.T @ each)
    axes = root @ turns
    return (axes * np.maximum(1.0, common + sizes)) @ axes.T


def moderation(ratios: np.ndarray, freedom: int) -> tuple[float, float]:
    """
    Return the common variance, and the share of each one's own, of errors drawn to one size.

    ratios : (b,) of estimated to expected standard errors; freedom : degrees of each
    Empirical Bayes with an inverse chi-square prior, whose degrees of freedom come from the spread
    of the logarithms beyond chance (Smyth 2004).  As wide as Student's t asks for, at 95 %.
    """
    logs = 2.0 * np.log(np.maximum(ratios, 1e-6)) - psi(freedom / 2) + np.log(freedom / 2)
    spread = float(np.var(logs, ddof=1)) if len(logs) > 1 else np.inf
    excess = spread - float(polygamma(1, freedom / 2))
    prior = 1.0 / np.interp(excess, polygamma(1, PRIORS / 2), 1.0 / PRIORS)
    common = np.exp(logs.mean() + psi(prior / 2) - np.log(prior / 2))
    wide = as_wide(prior + freedom) ** 2 / (prior + freedom)
    return wide * prior * common, wide * freedom


def as_wide(freedom: float) -> float:
    """Return by how much errors of ``freedom`` degrees widen to hold 95 % (Student's t)."""
    return float(stdtrit(freedom, LEVEL) / ndtri(LEVEL))


def joined(problem: Problem, systems: np.ndarray) -> np.ndarray:
    """
    Return sums (count, m, m) of successive ``systems`` that what the model lacks does not outlast.

    problem : whose correlation of rows says how long that is; systems : (k, m, m) of stretches
    They are no fewer than FEWEST, of which the errors are known.
    """
    count = len(systems)
    lasting = max(problem.correlation.get(name, 1.0) / g.rows
                  for name, g in problem.factors.groups.items())  # of all the time
    together = max(1, min(int(np.ceil(LASTING * lasting * count)), count // FEWEST))
    return np.add.reduceat(systems, np.arange(0, count, together))


def normal_equations(problem: Problem, estimate: Estimate, folds: Sequence[RFactors]
                     ) -> np.ndarray:
    """
    Return the normal equations (count, b + 1, b + 1) of [W, y], weighted as in the ``estimate``.

    problem : about b base columns
    """
    size = len(problem.base)
    sigma = effective_standard_deviation(problem, estimate.standard_deviation)
    out = np.zeros((len(folds), size + 1, size + 1))
    for sums, factors in zip(out, folds):
        for name, group in factors.groups.items():
            rows = np.column_stack([group.equations(factors.size)[:, :size], group.R[:, -2]])
            sums += rows.T @ rows / sigma[name] ** 2
    return out
