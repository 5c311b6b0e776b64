"""
Judges: how well changed data predict stretches of the motion that are left out.

A change is another combination of the columns of a wide factor: targets (sign, order, gain, delay
of efforts, zeros of encoders, gravity that was taken off) and gravity.  Two judges hear of it.
To one the bodies are free and lean on the description, with the plainest laws and a tilt; where it
matters they are physically consistent.  To the other the bodies are those described and friction
is free: it sees what free bodies absorb, such as a gain of all joints, a load, or no gravity.
Both compare logarithms of left-out errors joint by joint, so that no joint outweighs another.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .thresholds import BEST
from ..dynamics.inertial_parameters import Parameter
from ..estimation.base_parameters import BaseParameters
from ..estimation.consistency import consistent_values, Known
from ..estimation.estimators import Problem, ridge_and_weights
from ..estimation.r_factors import GroupFactor, RFactors, triangle
from ..identification.fit.gravity import with_angles
from ..identification.prepare.mounting import across_gravity
from ..identification.reduce.systems import Systems
from ..lapack import solve_triangular

SOME = slice(4, None)  # of the sets: fastest, farthest, and every fourth stretch
ONCE = slice(-4, None)  # of the sets that are left out: these hold every stretch once


@dataclass(frozen=True)
class Change:
    """
    What could be wrong, as another combination of columns.

    target : (n, e) of [measured | efforts | rate | angles | described: inertial, gravity x, y, z]
    gravity : (3,) [m/s^2]; scale : (n,) unit of the errors
    load : whether the last link is other than described
    """

    target: np.ndarray
    gravity: np.ndarray
    scale: np.ndarray
    load: bool = False


class Judge:
    """
    Solutions of a wide factor without each set of stretches, for any targets.

    columns : (size, P) of the wide factor that are fitted, in units of their priors
    extras : (size, e - 1) that targets consist of, beside what was measured
    prior : (r, P + 1) rows, their target last; sd : (n,) of the rows of each group
    described : whether targets are less the torques of the described bodies
    """

    def __init__(
        self,
        systems: Systems,
        columns: np.ndarray,
        extras: np.ndarray,
        prior: np.ndarray,
        sd: np.ndarray,
        described: bool,
    ) -> None:
        self.wide, self.prior, self.sd, self.described = systems.wide, prior, sd, described
        self.names, self.size, self.extras = systems.names, columns.shape[1], 1 + extras.shape[1]
        self.sets = self.wide.left_out()[SOME]
        both, P = np.hstack([columns, extras]), columns.shape[1]
        self.parts = []
        for stretch in self.wide.stretches:
            own = []
            for name in self.names:
                group = stretch.groups.get(name)
                T = np.zeros((0, both.shape[1])) if group is None else both[group.columns]
                used, index = T.any(axis=1), np.flatnonzero(T[:, :P].any(axis=0))
                at = np.append(index, np.arange(P, both.shape[1]))
                if group is None:
                    own.append((index, np.zeros((1, len(index) + self.extras))))
                    continue
                R = group.R[:, :-2][:, used] @ T[used][:, at]
                rows = np.column_stack([R[:, : len(index)], group.R[:, -2], R[:, len(index) :]])
                own.append((index, triangle(np.asfortranarray(rows))))
            self.parts.append(own)

    def stacked(self, stretches: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the triangle of [columns | extras by group | prior's target] of ``stretches``."""
        P, e, width = self.size, self.extras, self.size + len(self.names) * self.extras + 1
        blocks = [np.insert(self.prior, [P] * (width - P - 1), 0.0, axis=1)]
        for j, sd in enumerate(self.sd):
            by_index: dict[bytes, list] = {}
            for s in stretches:
                index, R = self.parts[s][j]
                by_index.setdefault(index.tobytes(), [index]).append(R)
            for index, *parts in by_index.values():
                R = triangle(np.asfortranarray(np.vstack(parts))) / sd
                block = np.zeros((len(R), width))
                block[:, index] = R[:, : len(index)]
                block[:, P + j * e : P + (j + 1) * e] = R[:, len(index) :]
                blocks.append(block)
        return triangle(np.asfortranarray(np.vstack(blocks)))

    @cached_property
    def without(self) -> list[np.ndarray]:
        """Return the triangle without each of the sets that are left out."""
        every = np.arange(len(self.parts))
        return [self.stacked(np.setdiff1d(every, one)) for one in self.sets]

    @cached_property
    def whole(self) -> np.ndarray:
        """Return the triangle of all stretches."""
        return self.stacked(range(len(self.parts)))

    def targets(self, changes: Sequence[Change]) -> np.ndarray:
        """Return targets of ``changes``, shape (n, e, W), less what described bodies say."""
        out = np.stack([c.target for c in changes], axis=2)
        if self.described:
            out[:, -4] -= 1.0
            out[:, -3:] -= np.array([c.gravity for c in changes]).T
        return out

    def solve(self, stacked: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return the solutions (P, W) of ``targets`` (n, e, W) in a ``stacked`` triangle."""
        P = self.size
        right = stacked[:P, P:-1] @ targets.reshape(-1, targets.shape[2]) + stacked[:P, -1:]
        return solve_triangular(stacked[:P, :P], right, check_finite=False)

    def sizes(self, change: Change, free: Sequence[np.ndarray], usual: float) -> np.ndarray:
        """Return (k,) how much is there of targets ``free`` (n, e) each, of ``usual`` size."""
        P, t = self.size, self.targets([change]).ravel()
        rest = self.whole[P:, P:]
        F = usual * rest[:, :-1] @ np.reshape(free, (len(free), -1)).T
        rows = np.vstack([F, np.eye(len(free))])
        left = np.append(rest[:, :-1] @ t + rest[:, -1], np.zeros(len(free)))
        return -usual * np.linalg.lstsq(rows, left, rcond=None)[0]

    def errors(
        self, x: np.ndarray, changes: Sequence[Change], stretches: Sequence[int] | np.ndarray
    ) -> np.ndarray:
        """Return squared errors of x, shape (W, stretches, n), at least BEST of the efforts."""
        out = np.empty((len(changes), len(stretches), len(self.names)))
        targets, last = self.targets(changes), 1 + self.wide.joints
        for row, s in enumerate(stretches):
            for j, (index, R) in enumerate(self.parts[s]):
                k = len(index)
                left = R[:, k:] @ targets[j] - R[:, :k] @ x[index]
                efforts = R[:, k : k + last] @ targets[j, :last]
                out[:, row, j] = (left**2).sum(0) + BEST**2 * (efforts**2).sum(0)
        return np.maximum(out, 1e-300) / np.square([c.scale for c in changes])[:, None]

    @cached_property
    def efforts(self) -> np.ndarray:
        """Return the sums of squares (n,) of what was measured."""
        return np.sum(
            [[np.square(R[:, len(index)]).sum() for index, R in own] for own in self.parts], axis=0
        )

    def left_out(self, changes: Sequence[Change]) -> np.ndarray:
        """Return errors (W, sets, stretches, n) of ``changes``, nan where not left out."""
        out = np.full((len(changes), len(self.sets), len(self.parts), len(self.names)), np.nan)
        targets = self.targets(changes)
        for k, (one, stacked) in enumerate(zip(self.sets, self.without)):
            out[:, k, one] = self.errors(self.solve(stacked, targets), changes, one)
        return out


class FreeBodies(Judge):
    """
    The judge to whom bodies are free, under a ``gravity`` (3,), with a tilt of it.

    systems : of the data as given; places : (k,) of the plainest model
    extras : see Judge
    """

    def __init__(
        self, systems: Systems, places: np.ndarray, extras: np.ndarray, gravity: np.ndarray
    ) -> None:
        wide, self.systems, self.places = systems.wide, systems, places
        g = gravity if gravity.any() else systems.given
        columns = [wide.columns_under_gravity(gravity - systems.given)[:, places]]
        self.tilts = 2 if wide.gravity_columns.size and g.any() else 0
        if self.tilts:
            columns.append(wide.tilts(systems.nominal[:-2], across_gravity(g) * np.linalg.norm(g)))
        at = np.append(places, systems.size + np.arange(self.tilts)).astype(int)
        self.prior_sd, self.gravity = systems.prior_sd[at], gravity
        super().__init__(
            systems,
            np.hstack(columns) * self.prior_sd,
            extras,
            systems.prior[:, np.append(at, -1)],
            systems.sd,
            False,
        )

    def consistent(self, change: Change) -> np.ndarray:
        """Return errors (4, stretches, n) of physically consistent bodies, see ``left_out``."""
        base, order = self._base
        every, values = np.arange(len(self.parts)), None
        out = np.full((len(self.sets[ONCE]), len(every), len(self.names)), np.nan)
        for row, one in zip(out, self.sets[ONCE]):
            factors = self._factors(np.setdiff1d(every, one), change.target, order)
            if values is None:
                problem = Problem(factors, base, self.systems.correlation_rows)
                values = consistent_values(
                    problem, ridge_and_weights(problem)[1], Known(), enough=1e-4
                )
            x = np.zeros(self.size)
            x[order] = base.reduce(values(factors)) / self.prior_sd[order]
            row[one] = self.errors(x[:, None], [change], one)[0]
        return out

    @cached_property
    def _base(self):
        """Return BaseParameters of the columns, and which column (b,) each of them is."""
        base, params = self.wide.structure.base, self.systems.parameters
        at = {int(place): k for k, place in enumerate(self.places)}
        base = base.without([k for k in range(len(base)) if k not in at])
        more = [k for k in at if k >= len(self.wide.structure.base)]
        order = [at[k] for k in (*range(len(self.wide.structure.base)), *more) if k in at]
        base = with_lone(base, [params[k] for k in more])
        if self.tilts:
            base, order = with_angles(base), [*order, self.size - 2, self.size - 1]
        return base, np.array(order)

    def _factors(self, stretches, target, order):
        """Return the RFactors of ``stretches`` about the columns in ``order``."""
        out = RFactors(len(order))
        for j, name in enumerate(self.names):
            own = [(self.parts[s][j], self.wide.stretches[s].groups.get(name)) for s in stretches]
            own = [(part, group) for part, group in own if group is not None]
            if not own:
                continue
            (index, _), group = own[0]
            k, rows = len(index), np.vstack([R for (_, R), _ in own])
            y = rows[:, k:] @ target[j]
            R = triangle(
                np.asfortranarray(np.column_stack([rows[:, :k] / self.prior_sd[index], y, y]))
            )
            columns = np.argsort(order)[np.searchsorted(np.sort(order), index)]
            out.groups[name] = GroupFactor(group.unit, columns, R, sum(g.rows for _, g in own))
        return out


def with_lone(base: BaseParameters, more: Sequence[Parameter]) -> BaseParameters:
    """Return the BaseParameters with ``more`` behind them, each by itself."""
    count = len(base.parameters)
    return replace(
        base,
        parameters=(*base.parameters, *more),
        independent=np.append(base.independent, count + np.arange(len(more))),
        X=np.vstack([base.X, np.zeros((len(more), base.X.shape[1]))]),
    )


def described_judge(
    systems: Systems,
    places: np.ndarray,
    extras: np.ndarray,
    plain: Change,
    load: np.ndarray | None = None,
) -> Judge:
    """
    Return the Judge to whom bodies are those described.

    places, extras : as of FreeBodies, the last four extras are torques of the described bodies
    plain : no Change, whose residuals give the weights
    load : (size, 10) columns of the last link's parameters, where these are free, in their units
    """
    wide, parameters = systems.wide, systems.parameters
    friction = np.array([k for k in places if parameters[k].law], dtype=int)
    columns = np.eye(wide.total.size)[:, friction] * systems.prior_sd[friction]
    if load is not None:
        columns = np.hstack([columns, load])
    prior = np.column_stack([np.eye(columns.shape[1]), np.zeros(columns.shape[1])])
    judge = Judge(systems, columns, extras, prior, systems.sd, True)
    x = judge.solve(judge.whole, judge.targets([plain]))
    squares = judge.errors(x, [plain], range(len(judge.parts)))[0].sum(0)
    lasting = np.array([systems.correlation_rows[name] for name in judge.names])
    judge.sd = np.sqrt(squares / np.maximum(systems.rows.sum(0), 1.0) * lasting)
    judge.__dict__.pop('whole')
    return judge
