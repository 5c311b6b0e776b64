"""
The bilinear problem of gains and parameters, on the R factors of the joints.

    effort_j = (W_j beta + load_j) / gain_j

Unknown are beta and the gains that are not given, solved as inverse gains by Gauss-Newton.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import EstimationError
from ..estimation.least_squares import pseudo_inverse
from ..estimation.r_factors import GroupFactor, RFactors

GAUSS_NEWTON_STEPS = 60
SETTLED_GAIN = 1e-10  # relative change of the gains in the last step
LARGEST_GAIN_STEP = 0.5  # relative, so that gains stay positive


@dataclass(frozen=True)
class JointRows:
    """
    The rows of a joint: effort (m,) = (W beta + load) / gain.

    W : (m, b); load : (m,) torque of the known load; samples : that the m rows stand for
    """

    W: np.ndarray
    load: np.ndarray
    effort: np.ndarray
    samples: float

    @classmethod
    def of(cls, group: GroupFactor, size: int) -> 'JointRows':
        """Return the rows of a ``group`` of R factors of ``size`` columns, the load's the last."""
        columns = group.equations(size)
        return cls(columns[:, :-1], columns[:, -1], group.R[:, -2], group.rows)

    def torque(self, beta: np.ndarray) -> np.ndarray:
        """Return what parameters ``beta`` (b,) and the load make: torques (m,)."""
        return self.W @ beta + self.load

    def residual(self, beta: np.ndarray, inverse: float) -> np.ndarray:
        """Return what is left (m,) of the effort under ``beta`` (b,) and an inverse gain."""
        return self.effort - inverse * self.torque(beta)


@dataclass(frozen=True)
class GainSolution:
    """beta : (b,) parameters; inverse : joint -> 1 / gain."""

    beta: np.ndarray
    inverse: dict[str, float]


@dataclass(frozen=True)
class GainProblem:
    """
    Rows of all joints, and what is unknown of them.

    joints : joint -> JointRows; scale : (b,) sizes of the parameters
    to_find : joints whose gains are unknown, in the order of their columns behind the b parameters
    """

    joints: dict[str, JointRows]
    scale: np.ndarray
    to_find: tuple[str, ...]

    @classmethod
    def of(cls, factors: RFactors, scale: np.ndarray, to_find: Sequence[str]) -> 'GainProblem':
        """Return the GainProblem of RFactors about b columns of ``scale`` (b,) and the load's."""
        joints = {n: JointRows.of(group, factors.size) for n, group in factors.groups.items()}
        return cls(joints, scale, tuple(to_find))

    @property
    def has_load(self) -> bool:
        """Return whether a known load turns any joint."""
        return any(np.any(rows.load) for rows in self.joints.values())

    def without_load(self) -> 'GainProblem':
        """Return the problem as if nothing were carried, all gains to be found."""
        bare = {n: replace(rows, load=0.0 * rows.load) for n, rows in self.joints.items()}
        return replace(self, joints=bare, to_find=tuple(self.joints))

    def solution(
        self, inverse: Mapping[str, float], deviation: Mapping[str, float]
    ) -> GainSolution:
        """
        Return the GainSolution of least weighted residual.

        inverse : joint -> 1 / gain to start from; deviation : joint -> of its effort's residual
        """
        now, count = dict(inverse), len(self.scale)
        beta = np.zeros(count)
        for _ in range(GAUSS_NEWTON_STEPS):
            # Given the gains the parameters are linear; then both move together.
            at_zero = GainSolution(np.zeros(count), now)
            J = self.jacobian(at_zero, deviation)[:, :count]
            beta = self.scale * (pseudo_inverse(J) @ self._residual(at_zero, deviation))
            both = GainSolution(beta, now)
            step = pseudo_inverse(self.jacobian(both, deviation)) @ self._residual(both, deviation)
            change = np.clip(step[count:], -LARGEST_GAIN_STEP, LARGEST_GAIN_STEP)
            for name, relative in zip(self.to_find, change):
                now[name] *= np.exp(relative)
            if np.abs(change).max(initial=0.0) < SETTLED_GAIN:
                break
        return GainSolution(beta, now)

    def jacobian(self, at: GainSolution, deviation: Mapping[str, float]) -> np.ndarray:
        """
        Return the Jacobian (m, b + f) in parameters over scale and ln(1 / gain).

        deviation : joint -> of its effort, by which rows are divided
        """
        count, parts = len(self.scale), []
        for name, rows in self.joints.items():
            part = np.zeros((len(rows.effort), count + len(self.to_find)))
            part[:, :count] = at.inverse[name] * rows.W * self.scale
            if name in self.to_find:
                column = count + self.to_find.index(name)
                part[:, column] = at.inverse[name] * rows.torque(at.beta)
            parts.append(part / deviation[name])
        return np.vstack(parts)

    def _residual(self, at: GainSolution, deviation: Mapping[str, float]) -> np.ndarray:
        return np.concatenate(
            [
                rows.residual(at.beta, at.inverse[name]) / deviation[name]
                for name, rows in self.joints.items()
            ]
        )

    def squares(self, at: GainSolution) -> dict[str, float]:
        """Return joint -> sum of squared residuals of its effort."""
        return {
            name: float(np.sum(rows.residual(at.beta, at.inverse[name]) ** 2))
            for name, rows in self.joints.items()
        }

    def relative_percent(self, at: GainSolution) -> float:
        """Return the residual of all efforts relative to them (RMS) [%]."""
        squares = sum(self.squares(at).values())
        efforts = sum(rows.effort @ rows.effort for rows in self.joints.values())
        return float(100.0 * np.sqrt(squares / efforts))

    def deviation(self, at: GainSolution) -> dict[str, float]:
        """Return joint -> standard deviation of the residual of its effort, above zero."""
        fitted = (len(at.beta) + len(self.to_find)) / len(self.joints)  # unknowns of each joint
        out = {}
        for name, rows in self.joints.items():
            residual = np.linalg.norm(rows.residual(at.beta, at.inverse[name]))
            rounding = 1e-12 * np.linalg.norm(rows.effort) / np.sqrt(rows.samples)
            estimate = residual / np.sqrt(max(rows.samples - fitted, 1.0))
            out[name] = max(estimate, rounding, 1e-300)
        return out

    def covariance(self, at: GainSolution, deviation: Mapping[str, float]) -> np.ndarray:
        """
        Return the square matrix (b + f) of covariances of parameters and inverse gains.

        deviation : joint -> of its effort, where rows are independent
        EstimationError names gains that the recordings do not show.
        """
        _, s, Vt = np.linalg.svd(self.jacobian(at, deviation), full_matrices=False)
        weak = s < 1e-9 * s[0]
        share = np.abs(Vt[weak][:, len(self.scale) :]).max(axis=0, initial=0.0)
        unknown = [name for name, x in zip(self.to_find, share) if x > 1e-3]
        if unknown:
            raise EstimationError(
                'the recordings do not show the gains of joints',
                found=unknown,
                do='move them together with joints whose gain is known, fix the '
                'load off their axes, or give their gains',
            )
        half = Vt.T * np.where(weak, 1.0, 1.0 / np.maximum(s, 1e-300))
        half *= np.append(self.scale, [at.inverse[name] for name in self.to_find])[:, None]
        return half @ half.T
