"""
Time offset: by how much efforts are stamped later than the motion they belong to.

Another bus, or a filter in the drive, lets torques arrive late; a model fitted to both explains
less, and wrongly.  The offset is a nonlinear parameter of the identification, which acts on the
measured torque alone: with the torques read at several offsets beside the columns of the model,
one pass gives the residual left at any offset in between (variable projection, Golub and Pereyra
1973).  Its error comes from leaving out stretches of time (jackknife, Efron 1982), so that
residuals that are not white, or a model that is not whole, do not make it look sure.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import BarycentricInterpolator

from .accumulation import structure_of
from .dataset import Dataset
from ..dynamics.inertial_parameters import Parameter
from ..measurement.joints.kinematic_state import JointSpaceObservation
from ..measurement.joints.observation import with_time_offset

LIMIT = 0.05   # [s] searched on both sides
NODES = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])  # where torques are read, shares of the span
ROUNDS = (1.0, 0.2)  # spans, shares of the limit
STRETCHES = 10
MOST = 8000    # samples looked at: the offset of a motion is sure with far fewer
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


def aligned(data: Dataset, columns: tuple[Parameter, ...]) -> Dataset:
    """
    Return the Dataset with efforts read where the motion is, if they are significantly late.

    data : the Dataset; only observations of joints alone have efforts to align, others and
    averaged periods are returned as they are
    columns : (p,) Parameters of the rows
    The summary of every observation says what was found, also when it was not applied.
    """
    if (not getattr(data.options, 'find_time_offset', False) or not all(
            isinstance(o, JointSpaceObservation) and not o.period for o in data.observations)):
        return data
    found = find_time_offset(data, columns)
    if found is None:
        return data
    notes = {'time_offset_found': found.value, 'time_offset_error': found.standard_error,
             'time_offset_residual_ratio': found.ratio}
    observations = [with_time_offset(o, found.value) if found.significant else o
                    for o in data.observations]
    return replace(data, observations=tuple(
        replace(o, summary={**o.summary, **notes}) for o in observations))


def find_time_offset(data: Dataset, columns: tuple[Parameter, ...]) -> TimeOffset | None:
    """
    Return the TimeOffset of a Dataset's efforts, None where none within LIMIT fits.

    data : the Dataset, of observations of joints; columns : (p,) Parameters of the rows
    """
    structure = structure_of(data.method, data.robots, columns)
    centre = 0.0
    for span in ROUNDS:
        nodes = centre + span * LIMIT * NODES
        grams = _grams(data, structure, nodes)
        if not np.any(grams):
            return None
        grid = np.linspace(nodes[0], nodes[-1], 401)
        shares = BarycentricInterpolator(nodes, np.eye(len(nodes)))(grid)
        # A joint counts by what its own columns leave of it.
        weight = 1.0 / np.maximum([_curve(g, shares).min() for g in grams.sum(0)], 1e-300)
        stretches = np.tensordot(grams, weight, ([1], [0]))
        whole = stretches.sum(0)
        curve = _curve(whole, shares)
        if np.argmin(curve) in (0, len(grid) - 1):
            return None
        centre = _minimum(grid, curve)
    stretches = stretches[stretches[:, -1, -1] > 0.0]
    others = np.array([_minimum(grid, _curve(whole - one, shares)) for one in stretches])
    count = len(others)
    error = np.sqrt((count - 1) / count * ((others - others.mean()) ** 2).sum())
    at = BarycentricInterpolator(nodes, np.eye(len(nodes)))
    ratio = np.sqrt(_left_out(stretches, at(centre)) / _left_out(stretches, at(0.0)))
    return TimeOffset(centre, float(error), float(ratio))


def _grams(data, structure, nodes):
    """Return (STRETCHES, joints, p + m, p + m) sums of [W Y]'[W Y], torques at m ``nodes``."""
    size = int(structure.keep.max()) + 1
    out = np.zeros((STRETCHES, len(data.robot.joint_names), *2 * [size + len(nodes)]))
    whole, done = data.samples(training=True), 0
    stride = max(1, whole // MOST)
    for robot, observation in data.pairs():
        for state in observation.states(training=True):
            inside = _inside(observation, state, stride)
            kept, low = state.rows(inside), 0
            torques = np.stack([observation.effort_at(kept, x) for x in nodes], axis=1)
            counted = done + np.arange(len(state.t))[inside]
            stretch = np.minimum(STRETCHES * counted // whole, STRETCHES - 1)
            done += len(state.t)
            for block in data.method.regress(kept, robot, structure.columns):
                part = slice(low, low + len(block.t))
                low = part.stop
                for j, group in enumerate(block.groups):
                    _add(out[:, j], stretch[part], group.W,
                         structure.keep[group.columns], torques[part, :, j])
    return out


def _add(grams, stretch, W, place, torques):
    """Add rows W (N, c), whose columns go to ``place``, and torques (N, m) to their stretches."""
    rows = np.zeros((len(W), grams.shape[-1]))
    rows[:, place[place >= 0]] = W[:, place >= 0]
    rows[:, -torques.shape[1]:] = torques
    for number in np.unique(stretch):
        own = rows[stretch == number]
        grams[number] += own.T @ own


def _inside(observation, state, stride):
    """Return the slice of a state's samples around which torques are known at every offset."""
    start, count = observation.clock.segments[state.segment]
    end = start + (count - 1) * observation.clock.period
    first, last = np.searchsorted(state.t, [start + LIMIT, end - LIMIT])
    return slice(int(first), int(max(first, last)), stride)


def _curve(gram, shares):
    """Return the residual (n,) left by the columns of torques mixed by ``shares`` (n, m)."""
    count = shares.shape[1]
    A, B, C = gram[:-count, :-count], gram[:-count, -count:], gram[-count:, -count:]
    left = C - B.T @ _solved(A, B)
    return np.einsum('nm,mk,nk->n', shares, left, shares)


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


def _left_out(stretches, share):
    """Return the residual of stretches (m,) shares of torques, predicted by all the others."""
    whole, count, total = stretches.sum(0), share.shape[-1], 0.0
    for one in stretches:
        rest = whole - one
        x = np.append(-_solved(rest[:-count, :-count], rest[:-count, -count:]) @ share, share)
        total += x @ one @ x
    return total
