"""
Arm: what the checks of causes ask of a recording, and one thing that could be wrong with it.

Both judges of ``judges.py`` by name, the targets of the data as recorded, and what described
bodies and friction say of the efforts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .judges import Change, described_judge, FreeBodies, Judge, ONCE
from .thresholds import BEST
from ..dynamics.friction import LAWS
from ..dynamics.inertial_parameters import bodies
from ..estimation.base_parameters import with_known
from ..identification.choose.choice import log_ratio
from ..identification.identified_model import IdentifiedModel
from ..identification.prepare.dataset import Dataset
from ..identification.reduce.systems import resting_columns, Systems
from ..identification.reduce.wide_factor import wide_factor, wide_structure, WideFactor
from ..lapack import solve_triangular

USUAL_LOAD = np.array([2.0] + [0.4] * 3 + [0.08] * 6)  # [kg, kg m, kg m^2]
LEFT_OUT, DESCRIPTION = 'left-out residual', 'left-out residual of the description'


@dataclass(frozen=True)
class Alternative:
    """
    One thing that could be wrong.

    says : the sentence; joints : numbers of those concerned; change : of the data
    severity : if not that of the check; seen : by something else than linear solutions
    small : what friction, elasticity and the description do, too: it competes and is not said
    """

    says: str
    joints: Sequence[int]
    change: Change
    severity: str = ''
    seen: bool = False
    small: bool = False


@dataclass
class Arm:
    """
    What checks ask of data as recorded.

    wide : of ``data``; nominal : standard parameters of the bodies, those described or a model's
    """

    data: Dataset
    wide: WideFactor
    nominal: np.ndarray
    judges: dict[bytes, FreeBodies] = field(default_factory=dict)

    def __post_init__(self) -> None:
        structure, resting = self.wide.structure, resting_columns(self.wide)
        parameters = structure.parameters_of_places()
        self.places = np.array(
            [
                k
                for k, p in enumerate(parameters)
                if p.name not in resting and not (p.law and LAWS[p.law].optional)
            ]
        )
        self.gravity = self.data.robot.gravity_base
        self.systems = Systems(self.wide, self.gravity, self.places)
        self.names = self.data.robot.joint_names
        self.moved = np.array(
            [
                not any(p.owner == name and p.name in resting for p in structure.columns)
                for name in self.names
            ]
        )

    @property
    def count(self) -> int:
        """Return the number of joints."""
        return len(self.names)

    @cached_property
    def plainest(self) -> Systems:
        """Return the Systems whose weights are those of an identification."""
        return Systems(self.wide, self.gravity)

    @cached_property
    def described(self) -> bool:
        """Return whether the description has inertias."""
        return bool(np.any(self.nominal))

    @cached_property
    def extras(self) -> np.ndarray:
        """Return the columns (size, e - 1) of targets beside what was measured."""
        wide, base = self.wide, self.wide.structure.base
        values = np.zeros(wide.places)
        standard = np.zeros(len(base.parameters))
        standard[: len(self.nominal)] = self.nominal
        values[: len(base)] = base.reduce(standard)
        still = (
            wide.columns_under_gravity(-self.gravity)
            if wide.gravity_columns.size
            else wide.columns_under_gravity(np.zeros(3))
        )
        pulls = [
            (wide.columns_under_gravity(e) - wide.columns_under_gravity(np.zeros(3))) @ values
            for e in np.eye(3)
        ]
        return np.column_stack(
            [np.eye(wide.total.size)[:, wide.efforts :], still @ values, *pulls]
        )

    @cached_property
    def measured(self) -> np.ndarray:
        """Return the target (n, e) as recorded."""
        return np.eye(1, 1 + self.extras.shape[1]).repeat(self.count, 0)

    @cached_property
    def plain(self) -> Change:
        """Return no change."""
        return Change(self.measured, self.gravity, np.ones(self.count))

    def column(self, extra: int, joints: Sequence[int] | slice = slice(None)) -> np.ndarray:
        """Return the target (n, e) of one of the extras in groups of ``joints``."""
        out = np.zeros_like(self.measured)
        out[joints, extra] = 1.0
        return out

    @property
    def rate(self) -> int:
        """Return where the rate of efforts stands among the extras."""
        return 1 + self.count

    @property
    def pull(self) -> int:
        """Return where described torques of gravity along x stand among the extras."""
        return self.measured.shape[1] - 3

    @cached_property
    def load(self) -> np.ndarray:
        """Return the columns (size, 10) of the last link's parameters, in units of a load's."""
        base = self.wide.structure.base
        last = list(bodies(base.parameters).values())[-1] + np.arange(10)
        return (
            self.wide.columns_under_gravity(np.zeros(3))[:, : len(base)]
            @ base.matrix()[:, last]
            * USUAL_LOAD
        )

    @cached_property
    def described_bodies(self) -> Judge:
        """Return the judge to whom bodies are as described."""
        return described_judge(self.systems, self.places, self.extras, self.plain)

    @cached_property
    def loaded(self) -> Judge:
        """Return the judge to whom all bodies but the last one are as described."""
        return described_judge(self.systems, self.places, self.extras, self.plain, self.load)

    @cached_property
    def loaded_friction(self) -> FreeBodies:
        """Return the judge to whom friction may grow with the load, too."""
        more = [
            k
            for k, p in enumerate(self.systems.parameters)
            if p.law and LAWS[p.law].loaded and self.moved[self.names.index(p.owner)]
        ]
        places = np.union1d(self.places, np.array(more, int))
        return FreeBodies(self.systems, places, self.extras, self.gravity)

    def rms(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (n,) of efforts, and of what free and described bodies leave of them [N m, N]."""
        rows = np.maximum(self.systems.rows.sum(0), 1.0)
        efforts = self.free_bodies(self.gravity).efforts
        return np.sqrt(efforts / rows), *(self.left(x) for x in self.as_recorded.values())

    def fitted(self) -> np.ndarray:
        """Return the rms (n,) [N m, N] that free bodies leave of all data, none left out."""
        judge = self.free_bodies(self.gravity)
        x = judge.solve(judge.whole, judge.targets([self.plain]))
        return self.left(judge.errors(x, [self.plain], range(len(judge.parts))))

    def left(self, errors: np.ndarray) -> np.ndarray:
        """Return the rms (n,) [N m, N] of left-out ``errors`` (sets, stretches, n)."""
        beyond = (
            np.nanmean(errors[ONCE], axis=0).sum(0)
            - BEST**2 * self.free_bodies(self.gravity).efforts
        )
        return np.sqrt(np.maximum(beyond, 0.0) / np.maximum(self.systems.rows.sum(0), 1.0))

    def free_bodies(self, gravity: np.ndarray) -> FreeBodies:
        """Return the judge to whom bodies are free, under a ``gravity`` (3,) [m/s^2]."""
        if gravity.tobytes() not in self.judges:
            self.judges[gravity.tobytes()] = FreeBodies(
                self.systems, self.places, self.extras, gravity
            )
        return self.judges[gravity.tobytes()]

    def left_out(self, changes: Sequence[Change], tests: str) -> list[np.ndarray]:
        """Return the left-out errors of each of ``changes`` by a judge, see ``Judge.left_out``."""
        out: list[Any] = [None] * len(changes)
        keys = [c.load if tests == DESCRIPTION else c.gravity.tobytes() for c in changes]
        for key in dict.fromkeys(keys):
            own = [k for k, other in enumerate(keys) if other == key]
            judge = (
                self.free_bodies(changes[own[0]].gravity)
                if tests == LEFT_OUT
                else self.loaded
                if key
                else self.described_bodies
            )
            for k, errors in zip(own, judge.left_out([changes[k] for k in own])):
                out[k] = errors
        return out

    @cached_property
    def as_recorded(self) -> dict[str, np.ndarray]:
        """Return the left-out errors of the data as recorded, by each judge."""
        return {tests: self.left_out([self.plain], tests)[0] for tests in (LEFT_OUT, DESCRIPTION)}

    def gap(self, *pairs: np.ndarray) -> tuple[float, float]:
        """Return the mean log ratio of pairs of errors of joints that moved, and its error."""
        errors, others = (
            np.concatenate(
                [x[..., self.moved].transpose(0, 2, 1).reshape(-1, x.shape[1]) for x in own]
            )
            for own in (pairs[::2], pairs[1::2])
        )
        return log_ratio(errors, others)

    @cached_property
    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (n, n) effort columns over described torques of joints, and their errors."""
        judge = self.described_bodies
        R, n, e = judge.whole[judge.size :, judge.size :], self.count, judge.extras
        ratio, error = np.zeros((n, n)), np.full((n, n), np.inf)
        for j, name in enumerate(self.names):
            own = R[:, j * e : (j + 1) * e] * judge.sd[j]
            D = own[:, -4:] @ np.append(1.0, self.gravity)
            whole, square = np.square(own[:, 1 : 1 + n]).sum(0).max(), D @ D
            if square <= 1e-12 * whole:
                continue
            ratio[j] = D @ own[:, 1 : 1 + n] / square
            left = np.square(own[:, 1 : 1 + n] - np.outer(D, ratio[j])).sum(0)
            rows = self.systems.rows[:, j].sum() / self.systems.correlation_rows[name]
            error[j] = np.sqrt(left / square / rows)
        return ratio, error

    @cached_property
    def driving(self) -> np.ndarray:
        """Return (n,) by how many standard errors friction drives each joint at half its speed."""
        judge = self.free_bodies(self.gravity)
        P, brakes = judge.size, np.zeros((self.count, judge.size))
        for k, place in enumerate(self.places):
            p = self.systems.parameters[place]
            if p.law and LAWS[p.law].brakes and not LAWS[p.law].signed and p.owner in self.names:
                fastest = max(map(abs, self.wide.ranges[p.owner]['v']))
                brakes[self.names.index(p.owner), k] = judge.prior_sd[k] * (
                    1.0 if LAWS[p.law].dry else 0.5 * fastest
                )
        x = judge.solve(judge.whole, judge.targets([self.plain]))[:, 0]
        spread = solve_triangular(judge.whole[:P, :P], brakes.T, trans=True, check_finite=False)
        return -brakes @ x / np.maximum(np.linalg.norm(spread, axis=0), 1e-300)


def arm_of(data: Dataset, model: IdentifiedModel | None, every: int) -> Arm:
    """Return the Arm of one recording, every so-manieth sample, masses of a ``model`` if any."""
    columns = with_known(data.method.parameters(data.robot, data.options), data.options.given)
    return Arm(
        data,
        wide_factor(data, wide_structure(data, columns), every),
        data.robot.inertias.ravel() if model is None else model.values[: 10 * len(data.robot)],
    )
