"""
RecordingUnderTest: what the checks of causes ask of a recording, and what could be wrong with it.

Two kinds of bodies judge a change of the data.  Free ones lean on the description, with the
plainest laws and a tilt; those described have friction free alone, and see what free bodies
absorb: a gain of all joints, a load, no gravity.  Both are a LeftOut, which predicts stretches
left out, and both compare logarithms of errors joint by joint, so that no joint outweighs another.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .consistent_bodies import consistent_errors
from .thresholds import RESIDUAL_FLOOR
from ..dynamics.friction import LAWS
from ..estimation.base_parameters import with_known
from ..identification.choose.choice import log_ratio
from ..identification.identified_model import IdentifiedModel
from ..identification.prepare.dataset import Dataset
from ..identification.reduce.described import (
    described_bodies,
    less_described,
    other_links,
    OtherLink,
)
from ..identification.reduce.left_out import LeftOut
from ..identification.reduce.model_columns import (
    common_columns,
    ModelColumns,
    plain_columns,
    resting_columns,
)
from ..identification.reduce.wide_factor import (
    wide_factor,
    wide_structure,
    WideFactor,
    without_unheld_harmonics,
)
from ..lapack import solve_triangular

FREE, DESCRIBED = 'left-out residual', 'left-out residual of the description'  # kinds of bodies
EACH_ONCE = slice(-4, None)  # of errors of sets: those that leave every stretch out once
BEST_PART = 0.25  # of the stretches: how good this robot can be
TINY = 1e-300


@dataclass(frozen=True)
class Change:
    """
    What could be wrong, as another combination of elements.

    target : (n, e) of each joint's elements, see reduce/left_out.py; gravity : (3,) [m/s^2]
    scale : (n,) unit of the errors; link : number of one that is other than described
    """

    target: np.ndarray
    gravity: np.ndarray
    scale: np.ndarray
    link: int | None = None


@dataclass(frozen=True)
class Alternative:
    """
    One thing that could be wrong.

    name : of its finding; joints : numbers of those concerned; change : of the data
    words : what the sentence of its finding has in braces
    severity : if not that of its finding
    confirmed_by_friction : friction shows it, whatever linear solutions say
    below_report_size : so small that friction, elasticity or a description do the same: it
        competes and is not said
    """

    name: str
    joints: Sequence[int]
    change: Change
    words: dict[str, Any] = field(default_factory=dict)
    severity: str = ''
    confirmed_by_friction: bool = False
    below_report_size: bool = False


class RecordingUnderTest:
    """
    What checks ask of data as recorded.

    data : of one recording; wide : of its rows
    nominal : standard parameters (10 per link) of the bodies, those described or a model's
    An identification goes on with ``identified_columns``.  ``model_columns`` are the same, rows
    weighed by the plainest laws with Coulomb steps of all widths, ``column_indices``.
    """

    def __init__(self, data: Dataset, wide: WideFactor, nominal: np.ndarray) -> None:
        self.data, self.wide, self.nominal = data, wide, nominal
        self.gravity = data.robot.gravity_base
        self.names = data.robot.joint_names
        described = self._described_parameters()
        self.column_indices = common_columns(wide)
        self.model_columns = ModelColumns(
            wide, self.gravity, self.column_indices, described=described
        )
        self.elements = self.model_columns.elements
        resting = resting_columns(wide)
        still = {p.owner for p in wide.structure.columns if p.name in resting}
        self.moved = np.array([name not in still for name in self.names])
        self._free: dict[bytes, LeftOut] = {}
        self._other_link: dict[int, LeftOut] = {}

    def _described_parameters(self):
        """Return the described values (columns,) of the bodies, zero elsewhere."""
        base = self.wide.structure.base
        standard = np.zeros(len(base.parameters))
        standard[: len(self.nominal)] = self.nominal
        values = np.zeros(self.wide.places)
        values[: len(base)] = base.reduce(standard)
        return values

    @cached_property
    def identified_columns(self) -> ModelColumns:
        """Return the columns with weights of rows by the plainest model."""
        return self.model_columns.weighed_by(plain_columns(self.wide))

    @property
    def count(self) -> int:
        """Return the number of joints."""
        return len(self.names)

    @property
    def described(self) -> bool:
        """Return whether the description has inertias."""
        return bool(np.any(self.nominal))

    @cached_property
    def measured(self) -> np.ndarray:
        """Return the target (n, e) as recorded."""
        out = np.zeros((self.count, self.elements.count))
        out[:, self.elements.measured] = 1.0
        return out

    @cached_property
    def plain(self) -> Change:
        """Return no change."""
        return Change(self.measured, self.gravity, np.ones(self.count))

    def with_target(self, target: np.ndarray) -> Change:
        """Return the Change that asks for another ``target`` (n, e)."""
        return replace(self.plain, target=target)

    def scaled(self, factors: np.ndarray) -> Change:
        """Return the Change of efforts that are ``factors`` (n,) times torques."""
        scale = 1.0 / factors
        return replace(self.plain, target=scale[:, None] * self.measured, scale=scale)

    def element(
        self, number: int | slice, joints: Sequence[int] | slice = slice(None)
    ) -> np.ndarray:
        """Return the target (n, e) of one element in groups of ``joints``."""
        out = np.zeros_like(self.measured)
        out[joints, number] = 1.0
        return out

    # Bodies

    def free_bodies(self, gravity: np.ndarray) -> LeftOut:
        """Return the LeftOut to which bodies are free, under a ``gravity`` (3,) [m/s^2]."""
        key = gravity.tobytes()
        if key not in self._free:
            self._free[key] = self._of_model(gravity, self.column_indices)
        return self._free[key]

    def _of_model(self, gravity, column_indices):
        """Return the LeftOut of some columns of the model, and of its tilts, under a gravity."""
        columns = self.model_columns
        if not np.array_equal(gravity, self.gravity):
            columns = ModelColumns(
                self.wide,
                self.gravity,
                gravity=gravity,
                weights=columns.weights,
                described=columns.described,
            )
        chosen = np.append(column_indices, columns.tilts).astype(int)
        T = np.eye(len(columns.prior.unit))[:, chosen]
        return columns.about(T, columns.prior.of(chosen), columns.weights, RESIDUAL_FLOOR)

    @cached_property
    def bodies_as_described(self) -> LeftOut:
        """Return the LeftOut to which bodies are as described."""
        return described_bodies(self.model_columns, self.column_indices, floor=RESIDUAL_FLOOR)

    def bodies_but(self, link: int) -> LeftOut:
        """Return the LeftOut to which all bodies but that of a ``link`` are as described."""
        if link not in self._other_link:
            self._other_link[link] = described_bodies(
                self.model_columns, self.column_indices, link, RESIDUAL_FLOOR
            )
        return self._other_link[link]

    @cached_property
    def other_links(self) -> list[OtherLink]:
        """Return what all rows say of every link where it alone is other than described."""
        return other_links(self.model_columns, self.column_indices, self.nominal, RESIDUAL_FLOOR)

    @cached_property
    def loaded_friction(self) -> LeftOut:
        """Return the LeftOut of free bodies to which friction may grow with the load, too."""
        more = []
        for k, p in enumerate(self.model_columns.parameters):
            if p.law and LAWS[p.law].loaded and self.moved[self.names.index(p.owner)]:
                more.append(k)
        return self._of_model(self.gravity, np.union1d(self.column_indices, np.array(more, int)))

    @cached_property
    def every_law(self) -> np.ndarray:
        """Return the columns (k,) of bodies, of every law of joints that moved, and tilts."""
        resting = resting_columns(self.wide)
        parameters = self.model_columns.parameters
        chosen = [k for k, p in enumerate(parameters) if p.name not in resting]
        return np.append(chosen, self.model_columns.tilts).astype(int)

    @cached_property
    def bodies_with_every_law(self) -> LeftOut:
        """Return the LeftOut of free bodies with ``every_law``."""
        return self._of_model(
            self.gravity, self.every_law[self.every_law < self.model_columns.size]
        )

    @cached_property
    def sizes(self) -> 'Sizes':
        """Return the Sizes of elements, bodies free under gravity as given."""
        return Sizes(self, self.free_bodies(self.gravity))

    # Errors of stretches left out

    def left_out(self, changes: Sequence[Change], bodies: str) -> list[np.ndarray]:
        """
        Return the errors (sets, stretches, n) of each of ``changes``, nan where not left out.

        bodies : FREE or DESCRIBED; errors are squared, in units of each change's scale
        """
        together: dict[Any, list[int]] = {}
        for k, change in enumerate(changes):
            together.setdefault(self._judge_key(change, bodies), []).append(k)
        out: list[Any] = [None] * len(changes)
        for numbers in together.values():
            alike = [changes[k] for k in numbers]
            for k, errors in zip(numbers, self._left_out_alike(alike, bodies)):
                out[k] = errors
        return out

    def _judge_key(self, change: Change, bodies: str) -> Any:
        """Return the key of changes that one LeftOut judges."""
        if bodies == DESCRIBED:
            return change.link
        return change.gravity.tobytes()

    def _left_out_alike(self, changes, bodies):
        """Return the errors (W, sets, stretches, n) of changes that one LeftOut judges."""
        targets, judge = self.targets(changes, bodies), self._judge(changes[0], bodies)
        errors = judge.targets_left_out(targets, judge.sets.spread)
        scales = np.array([change.scale for change in changes])
        return errors / scales[:, None, None, :] ** 2

    def _judge(self, change, bodies):
        if bodies == FREE:
            return self.free_bodies(change.gravity)
        if change.link is not None:
            return self.bodies_but(change.link)
        return self.bodies_as_described

    def targets(self, changes: Sequence[Change], bodies: str) -> np.ndarray:
        """Return (n, e, W) what ``changes`` ask for, less what described bodies say."""
        targets = np.stack([change.target for change in changes], axis=2)
        if bodies == FREE:
            return targets
        gravity = np.array([change.gravity for change in changes]).T
        return less_described(self.elements, targets, gravity)

    def consistent(self, change: Change) -> np.ndarray:
        """Return the errors (4, stretches, n) of consistent bodies, see ``left_out``."""
        judge = self.free_bodies(change.gravity)
        sets = judge.sets.every_fourth
        errors = consistent_errors(
            self.model_columns, self.column_indices, judge, change.target, sets
        )
        return errors / change.scale**2

    @cached_property
    def as_recorded(self) -> dict[str, np.ndarray]:
        """Return the left-out errors of the data as recorded, by both kinds of bodies."""
        return {bodies: self.left_out([self.plain], bodies)[0] for bodies in (FREE, DESCRIBED)}

    def gap(self, *pairs: np.ndarray) -> tuple[float, float]:
        """Return the mean log ratio of pairs of errors of joints that moved, and its error."""
        errors = [self._by_stretch(x) for x in pairs[::2]]
        others = [self._by_stretch(x) for x in pairs[1::2]]
        return log_ratio(np.concatenate(errors), np.concatenate(others))

    def _by_stretch(self, errors):
        """Return errors (sets times moved joints, stretches)."""
        moved = errors[..., self.moved].transpose(0, 2, 1)
        return moved.reshape(-1, errors.shape[1])

    # Residuals [N m, N]

    @cached_property
    def row_counts(self) -> np.ndarray:
        """Return the rows (n,) of each joint, at least one."""
        return np.maximum(self.model_columns.rows.sum(0), 1.0)

    @cached_property
    def independent(self) -> np.ndarray:
        """Return the number of independent residuals (n,) of each joint."""
        correlation = [self.model_columns.correlation_rows[name] for name in self.names]
        return self.row_counts / np.maximum(correlation, 1.0)

    @cached_property
    def effort_squares(self) -> np.ndarray:
        """Return the sums of squares (n,) of what was measured."""
        return np.array([self._effort_squares_of(k).sum() for k in range(self.count)])

    def residual(self, errors: np.ndarray) -> np.ndarray:
        """Return the rms (n,) of left-out ``errors`` (sets, stretches, n)."""
        squares = np.nanmean(errors[EACH_ONCE], axis=0).sum(0)
        beyond_floor = squares - RESIDUAL_FLOOR**2 * self.effort_squares
        return np.sqrt(np.maximum(beyond_floor, 0.0) / self.row_counts)

    @cached_property
    def torque(self) -> np.ndarray:
        """Return the rms (n,) of the efforts as recorded."""
        return np.sqrt(self.effort_squares / self.row_counts)

    def torque_of(self, change: Change) -> np.ndarray:
        """Return the rms (n,) of the efforts after a ``change``, in units of its scale."""
        squares = []
        for group, target in zip(self.model_columns.groups, change.target):
            squares.append(group.target_squares(target[:, None]).sum())
        return np.sqrt(np.array(squares) / self.row_counts) / change.scale

    @cached_property
    def free_residual(self) -> np.ndarray:
        """Return the rms (n,) that free bodies leave of stretches left out."""
        return self.residual(self.as_recorded[FREE])

    @cached_property
    def described_residual(self) -> np.ndarray:
        """Return the rms (n,) that described bodies leave of stretches left out."""
        return self.residual(self.as_recorded[DESCRIBED])

    @cached_property
    def best_residual(self) -> np.ndarray:
        """
        Return the rms (n,) that free bodies would leave if all were as the best quarter.

        That is the lower quartile of residuals relative to the torque of each stretch.
        """
        squares = np.nanmean(self.as_recorded[FREE][EACH_ONCE], axis=0)
        torques = np.stack([self._effort_squares_of(k) for k in range(self.count)], axis=1)
        beyond_floor = np.maximum(squares - RESIDUAL_FLOOR**2 * torques, 0.0)
        shares = np.sqrt(beyond_floor / np.maximum(torques, TINY))
        return np.quantile(shares, BEST_PART, axis=0) * self.torque

    def _effort_squares_of(self, joint):
        """Return the sums of squares (stretches,) of what was measured of a ``joint``."""
        group = self.model_columns.groups[joint]
        measured = group.count + self.elements.measured
        return group.products[:, measured, measured]

    def fitted_residual(self) -> np.ndarray:
        """Return the rms (n,) that free bodies leave of all data, none left out."""
        judge, stretches = self.free_bodies(self.gravity), range(self.model_columns.count)
        targets = self.targets([self.plain], FREE)
        x = judge.solved_targets(judge.stacked(stretches, targets))
        errors = judge.errors(x, stretches, targets)[:, :, 0]
        return self.residual(errors[None])

    def noise(self) -> np.ndarray:
        """
        Return the rms (n,) that noise of the efforts leaves behind the filter.

        It is as strong there, per band of frequencies, as what the filter takes away of the
        residual.
        """
        summary = self.data.first.summary
        above = max(0.5 * summary.rate - summary.cutoff, 1e-9)
        beta = np.zeros(self.wide.size)
        solution = self.model_columns.solution(self.model_columns.whole, self.column_indices)
        beta[: self.model_columns.size] = solution[: self.model_columns.size]
        taken_away = np.zeros(self.count)
        for stretch in self.wide.stretches:
            for joint, name in enumerate(self.names):
                if name in stretch.groups:
                    group = stretch.groups[name]
                    taken_away[joint] += (
                        group.residual(beta, True) ** 2 - group.residual(beta) ** 2
                    )
        taken_away = np.maximum(taken_away, 0.0) / self.row_counts
        return np.sqrt(taken_away * summary.cutoff / above)

    # What the description and friction say of the efforts

    @cached_property
    def described_factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (n, n) effort columns over described torques of joints, and their errors."""
        ratio, error = np.zeros((self.count, self.count)), np.full((self.count,) * 2, np.inf)
        efforts = [self.elements.effort(j) for j in range(self.count)]
        bodies = self.bodies_as_described
        for j, group in enumerate(bodies.groups):
            k = group.count
            beyond_friction = group.triangle(self.elements.count)[k:, k:]
            described = beyond_friction[:, self.elements.still] + (
                beyond_friction[:, self.elements.gravity] @ self.gravity
            )
            recorded = beyond_friction[:, efforts]
            square = described @ described
            if square <= 1e-12 * np.square(recorded).sum(0).max():
                continue
            ratio[j] = described @ recorded / square
            residual_squares = np.square(recorded - np.outer(described, ratio[j])).sum(0)
            independent = self.row_counts[j] / self.model_columns.correlation_rows[self.names[j]]
            error[j] = np.sqrt(residual_squares / square / independent)
        return ratio, error

    def own_factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (n,) efforts over described torques, and where the recording shows it."""
        ratio, error = (np.diagonal(x) for x in self.described_factors)
        shown = error < 0.3 * np.abs(ratio)
        if not shown.any():
            return np.ones(len(ratio)), shown
        return np.where(shown, ratio, np.median(ratio[shown])), shown

    @cached_property
    def driving(self) -> np.ndarray:
        """Return (n,) by how many standard errors friction drives each joint at half its speed."""
        judge = self.free_bodies(self.gravity)
        unknowns = len(judge.prior.unit)
        brakes = np.zeros((self.count, unknowns))
        for k, column in enumerate(self.column_indices):
            parameter = self.model_columns.parameters[column]
            if not self._brakes(parameter):
                continue
            speed = 1.0
            if not LAWS[parameter.law].dry:
                speed = 0.5 * max(map(abs, self.wide.ranges[parameter.owner]['v']))
            brakes[self.names.index(parameter.owner), k] = speed
        stacked = judge.stacked(range(judge.count), self.targets([self.plain], FREE))
        x = judge.solved_targets(stacked)[:, 0]
        R = stacked.triangle[:unknowns, :unknowns]
        scaled = brakes * judge.prior.unit
        spread = solve_triangular(R, scaled.T, trans=True, check_finite=False)
        return -brakes @ x / np.maximum(np.linalg.norm(spread, axis=0), TINY)

    def _brakes(self, parameter):
        """Return whether a ``parameter`` is of friction that only brakes, of a joint."""
        if not parameter.law or parameter.owner not in self.names:
            return False
        return LAWS[parameter.law].brakes and not LAWS[parameter.law].signed


class Sizes:
    """
    How much of elements there is in data that free bodies explain, by all stretches.

    test : the recording; judge : the LeftOut that explains it
    """

    def __init__(self, test: RecordingUnderTest, judge: LeftOut) -> None:
        self.test = test
        elements, count = test.elements, test.count
        targets = [_in_group(test, elements.measured, j) for j in range(count)]
        targets += [_in_group(test, elements.rate, j) for j in range(count)]
        targets += [test.element(elements.slope(j)) for j in range(count)]
        stacked = judge.stacked(range(judge.count), np.stack(targets, axis=2))
        unknowns = len(judge.prior.unit)
        self._rest = stacked.triangle[unknowns:, unknowns:]

    def of(self, combination: np.ndarray, usual: float, base: np.ndarray | None = None) -> float:
        """
        Return the size of a ``combination`` (3 n,), of ``usual`` size beforehand.

        Combinations are of [measured | rate in each group | slopes]
        base : (3 n,) what it is added to, what was measured in all groups by default
        """
        if base is None:
            base = self.measured
        column = usual * self._rest[:, :-1] @ combination
        target = self._rest[:, :-1] @ base + self._rest[:, -1]
        return float(-usual * (column @ target) / (column @ column + 1.0))

    @property
    def measured(self) -> np.ndarray:
        """Return the combination (3 n,) of what was measured in all groups."""
        return self.picked('measured')

    def picked(self, kind: str, joints: Sequence[int] | slice = slice(None)) -> np.ndarray:
        """Return the combination (3 n,) of a ``kind`` of all elements, in groups of ``joints``."""
        count = self.test.count
        first = {'measured': 0, 'rate': count, 'slope': 2 * count}[kind]
        out = np.zeros(3 * count)
        out[first : first + count][joints] = 1.0
        return out


def _in_group(test, element, joint):
    return test.element(element, [joint])


def recording_under_test(
    data: Dataset,
    model: IdentifiedModel | None,
    every: int,
    alike: WideFactor | None = None,
) -> RecordingUnderTest:
    """
    Return one recording under test, every n-th sample, masses of a ``model`` if any.

    alike : of the same recording, read otherwise, whose structure and stretches are taken
    """
    nominal = data.robot.inertias.ravel()
    if model is not None:
        nominal = model.values[: 10 * len(data.robot)]
    if alike is not None:
        structure = alike.structure
    else:
        parameters = data.method.parameters(data.robot, data.options)
        columns = with_known(parameters, data.options.given)
        structure = wide_structure(data, without_unheld_harmonics(data, columns))
    return RecordingUnderTest(data, wide_factor(data, structure, every, alike), nominal)
