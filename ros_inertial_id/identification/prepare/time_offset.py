"""
Time offset: by how much efforts are stamped later than the motion they belong to.

Another bus, or a filter in the drive, lets torques arrive late; a model fitted to both explains
less, and wrongly.  The offset is a nonlinear parameter of the identification, which acts on the
measured torque alone: with the torques read at several offsets beside the columns of the model,
one pass gives the residual left at any offset in between (variable projection, Golub and Pereyra
1973).  A tilt of the base is among the columns, by the description's bodies: gravity is chosen
later, and without them an offset would explain a share of it.  The error comes from leaving out
stretches of time (jackknife, Efron 1982), so that residuals that are not white, or a model that is
not whole, do not make it look sure.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.polynomial.chebyshev import chebvander

from .dataset import Dataset
from ..reduce.structure import Structure
from ..reduce.tilted_rows import rows_and_tilts, tilts_across, with_tilts
from ...errors import RecordingError
from ...jackknife import standard_errors
from ...measurement.joints.kinematic_state import JointSpaceObservation
from ...measurement.joints.observation import with_cutoff, with_time_offset
from ...methods.capabilities import JointTorques

LIMIT = 0.05   # [s] searched on both sides
# Where torques are read, shares of LIMIT (Chebyshev); in between they are a polynomial.
NODES = np.cos(np.pi * np.arange(12, -1, -1) / 12)
# [Hz] It follows torques behind this filter.  The noise of faster ones it would smooth between the
# nodes, and any offset there would leave less than none.
HIGHEST = 20.0
BEYOND = 2     # periods: of a slow clock torques are read so far outside of LIMIT
FINE = 1001    # offsets among which the least residual is looked for
STRETCHES = 10
MOST = 2000    # samples looked at: the offset of a motion is sure with far fewer
EVERY = 2      # so many constants of a law are one tried; of three, false offsets were found
SIGNIFICANT = 4.0  # standard errors; of ten stretches one in three hundred by chance
RANK = 1e-11   # of the Gram matrix of scaled columns


@dataclass(frozen=True)
class TimeOffset:
    """
    An offset [s] and its standard error [s].

    ratio : residual rms at the offset over that at zero, both on stretches left out
    """

    value: float
    standard_error: float
    ratio: float

    @property
    def significant(self) -> bool:
        """Return whether the offset is beyond chance, and serves data that it was not found by."""
        return bool(abs(self.value) > SIGNIFICANT * self.standard_error and self.ratio < 1.0)


def aligned(data: Dataset, structure: Structure) -> Dataset:
    """
    Return the Dataset with efforts read where the motion is, if they are significantly late.

    data : the Dataset; only observations of joints alone have efforts to align, others are
    returned as they are
    The summary of every observation says what was found, also when it was not applied.
    """
    if not (isinstance(data.method, JointTorques) and data.options.find_time_offset):
        return data
    found = find_time_offset(data, structure)
    if found is None:
        return data
    notes = {'time_offset_found': found.value, 'time_offset_error': found.standard_error,
             'time_offset_residual_ratio': found.ratio}
    if found.significant:
        data = data.observed([with_time_offset(o, found.value) for o in data.observations])
    return replace(data, observations=tuple(
        replace(o, summary={**o.summary, **notes}) for o in data.observations))


def find_time_offset(data: Dataset, structure: Structure) -> TimeOffset | None:
    """
    Return the TimeOffset of a Dataset's efforts, None where none within LIMIT fits.

    data : the Dataset, of observations of joints
    """
    if data.observations[0].summary['cutoff'] > HIGHEST:  # one for all
        try:
            data = data.observed([with_cutoff(o, HIGHEST) for o in data.observations])
        except RecordingError:  # too short for this filter
            return None
    grams = _grams(data.part(), *_fewer(structure))
    if not np.any(grams):
        return None
    grid = np.linspace(-LIMIT, LIMIT, FINE)
    shares = _shares(LIMIT * NODES, grid)
    # A joint counts by what its own columns leave of it.
    weight = 1.0 / np.maximum([_curve(g, shares).min() for g in grams.sum(0)], 1e-300)
    stretches = np.tensordot(grams, weight, ([1], [0]))
    whole = stretches.sum(0)
    curve = _curve(whole, shares)
    if np.argmin(curve) in (0, len(grid) - 1):
        return None
    centre = _minimum(grid, curve)
    stretches = stretches[stretches[:, -1, -1] > 0.0]
    rests = [(one, *_reduced(whole - one, shares.shape[1])) for one in stretches]
    others = np.array([_minimum(grid, _quadratic(left, shares)) for _, left, _ in rests])
    there, here = _shares(LIMIT * NODES, np.array([centre, 0.0]))
    ratio = np.sqrt(_left_out(rests, there) / _left_out(rests, here))
    return TimeOffset(centre, float(standard_errors(others)), float(ratio))


def _fewer(structure):
    """Return Parameters and their places, only one in EVERY of the constants tried for a law."""
    count: dict[tuple[str, str], int] = {}
    columns, keep = [], []
    for parameter, place in zip(structure.columns, structure.keep):
        key = parameter.name, parameter.law
        count[key] = count.get(key, -1) + 1
        if parameter.nonlinear is None or count[key] % EVERY == 0:
            columns.append(parameter)
            keep.append(place)
    used = sorted({place for place in keep if place >= 0})
    return columns, np.array([used.index(k) if k >= 0 else -1 for k in keep])


def _shifts(period):
    """Return offsets (m,) in whole ``period`` [s], of which all within LIMIT follow."""
    half = int(np.ceil(LIMIT / period))
    if 2 * half + 1 <= len(NODES):
        return np.arange(-half - BEYOND, half + BEYOND + 1)
    return np.unique(np.round(half * NODES).astype(int))


def _shares(nodes, x):
    """Return (n, m): values at x (n,) of polynomials through ``nodes`` (m,), as their shares."""
    largest, degree = np.abs(nodes).max(), len(nodes) - 1
    return np.linalg.solve(chebvander(nodes / largest, degree).T,
                           chebvander(x / largest, degree).T).T


def _grams(data, columns, keep):
    """Return (STRETCHES, joints, p + m, p + m) sums of [W Y]'[W Y], torques Y at m NODES."""
    across = np.empty((3, 0)) if data.options.mounting else tilts_across(data)
    nominal = np.array([p.nominal for p in columns])
    size = int(keep.max()) + 1 + across.shape[1]
    out = np.zeros((STRETCHES, len(data.robot.joint_names), *2 * [size + len(NODES)]))
    whole, done = data.samples(training=True), 0
    stride = -(-whole // MOST)
    for one in data.each():
        observation: JointSpaceObservation = one.observations[0]
        period = observation.clock.period
        shifts = _shifts(period)
        on_nodes = _shares(shifts * period, LIMIT * NODES)
        state: Any  # of joints
        for robot, state in one.states(training=True):
            inside = _inside(observation, state, shifts[-1] * period, stride)
            chosen, low = state.rows(inside), 0
            torques = np.einsum('ms,tsj->tmj', on_nodes, observation.efforts_at(chosen, shifts))
            counted = done + np.arange(len(state.t))[inside]
            stretch = np.minimum(STRETCHES * counted // whole, STRETCHES - 1)
            done += len(state.t)
            for rows, tilts in rows_and_tilts(data.method, chosen, robot, columns, nominal,
                                              across):
                block = with_tilts(rows, tilts, keep)
                part = slice(low, low + len(block.t))
                low = part.stop
                for j, group in enumerate(block.groups):
                    _add(out[:, j], stretch[part], group.W, group.columns, torques[part, :, j])
    return out


def _add(grams, stretch, W, place, torques):
    """Add rows W (N, c), whose columns go to ``place``, and torques (N, m) to their stretches."""
    count = torques.shape[1]
    rows = np.concatenate([W.T, torques.T])
    to = np.append(place, grams.shape[-1] - count + np.arange(count))
    for number in np.unique(stretch):
        own = rows[:, stretch == number]
        grams[number][np.ix_(to, to)] += own @ own.T


def _inside(observation, state, reach, stride):
    """Return the slice of a state's samples with torques known within ``reach`` [s] of them."""
    start, count = observation.clock.segments[state.segment]
    end = start + (count - 1) * observation.clock.period
    first, last = np.searchsorted(state.t, [start + reach, end - reach])
    return slice(int(first), int(max(first, last)), stride)


def _curve(gram, shares):
    """Return the residual (n,) left by the columns of torques mixed by ``shares`` (n, m)."""
    return _quadratic(_reduced(gram, shares.shape[1])[0], shares)


def _quadratic(left, shares):
    return np.einsum('nm,nm->n', shares @ left, shares)


def _reduced(gram, count):
    """Return what the columns leave of ``count`` torques (m, m), and the coefficients (p, m)."""
    A, B, C = gram[:-count, :-count], gram[:-count, -count:], gram[-count:, -count:]
    x = _solved(A, B)
    return C - B.T @ x, x


def _solved(A, B):
    """Return the solution of normal equations A x = B by the eigenvalues that tell."""
    size = np.sqrt(np.maximum(np.diag(A), 1e-300))
    w, V = np.linalg.eigh(A / size / size[:, None])
    kept = w > RANK * w[-1]
    V = V[:, kept] / size[:, None]
    return V @ ((V.T @ B) / w[kept][:, None])


def _minimum(grid, curve):
    """Return where the curve is least, by a parabola through its lowest points."""
    k = int(np.clip(np.argmin(curve), 1, len(grid) - 2))
    a, b, _ = np.polyfit(grid[k - 1:k + 2] - grid[k], curve[k - 1:k + 2] / curve[k] - 1.0, 2)
    return float(grid[k] - np.clip(b / (2 * a), grid[0] - grid[1], grid[1] - grid[0])
                 ) if a > 0.0 else float(grid[k])


def _left_out(rests, share):
    """Return the residual of stretches, (m,) shares of torques, predicted by all the others."""
    total = 0.0
    for one, _, coefficients in rests:
        x = np.append(-coefficients @ share, share)
        total += x @ one @ x
    return total
