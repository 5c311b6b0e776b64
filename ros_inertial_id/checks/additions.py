"""
What a rig may have besides its model, or otherwise than described, by what the residual shows.

A method yields what could act besides as more columns; beside those of its model all of them are
one LeftOut.  An addition is what its columns take of the residual, and how its numbers change
without one stretch of the motion says how sure they are (jackknife).  The one that explains most
is named, with what is as likely.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .delays import delay_found, delay_words
from .finding import Finding, WRONG
from .finding_kinds import found
from .thresholds import ROUNDED
from ..dynamics.inertial_parameters import Parameter
from ..dynamics.regressor import RegressorBlock, RowGroup
from ..estimation.least_squares import pseudo_inverse, ROUNDING, standard_errors
from ..estimation.r_factors import merge, triangle
from ..identification.prepare.dataset import Dataset
from ..identification.reduce.left_out import LeftOut, Weights
from ..identification.reduce.model_columns import ModelColumns
from ..identification.reduce.structure import alike_constants, usual_constants
from ..identification.reduce.wide_factor import wide_factor, WideFactor
from ..methods.capabilities import Addition, Limit, WithAdditions

ADDITION_ROUNDS = 2  # of weights by residuals
ADDITION_SAMPLES = 4096  # that are looked at
SIZE_SAMPLES = 8  # of which one counts in the size of a column
ADDITION_SURE = 5.0  # standard errors of a number of an addition
LEAST_ADDITION = 0.02  # of the measured of a row, that an addition makes at least
EXPLAINED_SHARE = 0.01  # of the squared residual that an addition takes at least: by noise .002
RESIDUAL_WITH_CAUSE = 1e-3  # of what was measured: of a smaller residual nobody looks for a cause
SIMPLER = 1.03  # times the residual left for every number that an addition has
AS_LIKELY = 1.3  # times the residual that the best leaves: as likely
ONE_BY_KINEMATICS = 1e-6  # by which two differ that are one by the kinematics: rounding
USUAL_SIZE = 10.0  # times what was measured, prior deviation of an addition
OF_ITS_OWN_NOISE = 0.5  # of a measured column, that is noise: its number is no number
OTHER_UNIT = 1.25  # between torques and those of the described bodies: more is no error of CAD
DESCRIBED_RESIDUAL = 0.5  # of the torque: more, and the described bodies say nothing of it
EXCESS = 1.5  # times the residual that the noise of the channels makes: there is more than that
RESIDUAL_MATTERS = 0.05  # of the largest measured of its unit: a smaller residual is no matter
CHANNEL_DIGITS = 1e-6  # of the measured: no channel has more of them


@dataclass(frozen=True)
class Tested:
    """
    An Addition beside the model: its numbers (a,), their errors (a,), and which are sure (a,).

    share : of the squared residual that it takes
    """

    addition: Addition
    numbers: np.ndarray
    errors: np.ndarray
    sure: np.ndarray
    share: float

    @property
    def name(self) -> str:
        """Return the name of its finding."""
        return self.addition.name

    @property
    def explains(self) -> bool:
        """Return whether it is sure of a number, and takes enough of the residual."""
        return bool(self.sure.any()) and self.share > EXPLAINED_SHARE

    @property
    def remaining(self) -> float:
        """Return the share of the squared residual that it leaves; larger by each number."""
        left = max(1.0 - self.share, 0.0)  # below it by rounding
        return left * SIMPLER ** len(self.numbers)

    @property
    def says(self) -> str:
        """Return what acts besides, in words."""
        return self.addition.words(self.numbers, self.errors)


def rig_findings(data: Dataset, columns: ModelColumns) -> tuple[list[Finding], bool]:
    """
    Return the Findings of a rig's rows, and whether its units and masses were checked.

    data : aligned; columns : of its rows
    """
    method = data.method
    if not isinstance(method, WithAdditions):
        return [], True
    beside = _Beside(data, columns)
    findings = beside.beyond_limits() or beside.likeliest() or beside.beyond_noise()
    checked = bool(findings) or method.has_scale(data.robot) or _as_described(columns)
    return [*findings, *_late(data)], checked


def _late(data: Dataset) -> list[Finding]:
    """Return a Finding where forces are read at other times than stamped, which mends it."""
    summary = data.first.summary
    delay = delay_found(summary)
    if not delay:
        return []
    return [found('forces late', (), 1e3 * abs(delay), delay=delay_words(summary))]


@dataclass(frozen=True)
class _BesidePlain:
    """
    Weighted rows: the solution ``params`` (P,) by the plain columns, and what is left beside them.

    remaining : (m, P + 1) of all other columns and of what was measured, last; columns in units
    """

    params: np.ndarray
    remaining: np.ndarray

    def squares(self) -> float:
        """Return the squared residual of the plain columns."""
        return float(self.remaining[:, -1] @ self.remaining[:, -1])

    def added(self, places: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the numbers (a,) of columns ``places`` and the squared residual with them."""
        columns, measured = self.remaining[:, places], self.remaining[:, -1]
        numbers = pseudo_inverse(columns) @ measured
        left = measured - columns @ numbers
        return numbers, float(left @ left)


class _Beside:
    """The columns of a model with those of additions behind them, as a LeftOut."""

    def __init__(self, data: Dataset, columns: ModelColumns) -> None:
        self.data, self.structure = data, columns.wide.structure
        self.plain = _with_usual_constants(columns.wide)
        self.method: Any = data.method
        self.every = np.arange(columns.count)
        self.additions: list[tuple[Addition, np.ndarray, int]] = []
        self._read(columns)
        self.values = self._standard(self.whole.params)
        # Slopes of the torque need bodies that are right beside the motion, too.
        leaning = columns.solution(columns.stacked(self.every), self.plain)
        self.near_described = self._standard(leaning)
        every = 1 + data.samples(training=True) // ADDITION_SAMPLES
        self.state = _longest(data).rows(slice(None, None, every))
        self.additions = self._acting(columns)
        left_out = self._with_additions(columns, every)
        for _ in range(ADDITION_ROUNDS):
            self._read(left_out)
            left_out = self._weighed()
        self._read(left_out)
        others = [left_out.others([k]) for k in range(len(self.every))]
        self.without_each = [self._beside_plain(stretches) for stretches in others]

    def _read(self, left_out: LeftOut) -> None:
        """Take all stretches of a ``left_out``, whatever is described."""
        self.left_out = left_out
        self.whole = self._beside_plain(self.every)

    def _beside_plain(self, stretches):
        """Return what the weighted rows of ``stretches`` are BesidePlain."""
        unit = self.left_out.prior.unit
        rows = _triangle_of(self.left_out, stretches)
        U, singular, V = np.linalg.svd(rows[:, self.plain], full_matrices=False)
        shown = singular > ROUNDING * singular.max(initial=0.0)
        Q, others = U[:, shown], np.delete(rows, self.plain, axis=1)
        in_plain = Q.T @ others
        params = np.zeros(len(unit))
        params[self.plain] = V[shown].T @ (in_plain[:, -1] / singular[shown]) * unit[self.plain]
        remaining = np.zeros(rows.shape)
        remaining[:, np.setdiff1d(np.arange(rows.shape[1]), self.plain)] = others - Q @ in_plain
        return _BesidePlain(params, remaining)

    def _standard(self, params):
        """Return the standard parameters (p,) of ``params`` (P,) of the columns."""
        base = self.structure.base
        return base.standard(params[: len(base)])

    def _acting(self, columns):
        """Return (Addition, units (a,), first place) of those whose columns are not zero."""
        first, acting = columns.wide.places, []
        measured = self._measured_rms()
        state = self.state.rows(slice(None, None, SIZE_SAMPLES))
        for addition in self.method.additions(self.data.robot, self.data.options):
            rows = addition.columns(state, self.data.robot, self.near_described)
            size = np.sqrt((rows**2).mean(axis=(0, 1)))
            if not size.all():
                continue
            acting.append((addition, USUAL_SIZE * measured / size, first))
            first += len(size)
        return acting

    def _measured_rms(self):
        """Return the rms of what was measured, of the longest state."""
        parameters = self.structure.base.parameters
        blocks = list(self.method.regress(self.state, self.data.robot, parameters))
        measured = [group.y for block in blocks for group in block.groups]
        return float(np.sqrt(np.mean(np.concatenate(measured) ** 2))) + 1e-300

    def _with_additions(self, columns, every):
        """Return the ModelColumns with those of the additions."""
        wide = columns.wide
        if not self.additions:
            return columns
        further = []
        for number, (addition, units, _) in enumerate(self.additions):
            for k, unit in enumerate(units):
                further.append(
                    Parameter(f'{number} {k}', '', 1.0, 0.0, float(unit), addition.name)
                )
        places = wide.places + np.arange(len(further))
        structure = replace(
            self.structure,
            columns=(*self.structure.columns, *further),
            keep=np.append(self.structure.keep, places),
        )
        additions = [addition for addition, *_ in self.additions]
        rows: Any = _RowsWithAdditions(self.method, additions, self.near_described)
        data = replace(self.data, method=rows)
        more = wide_factor(data, structure, every, alike=wide, elements=False)
        return ModelColumns(more, columns.given, self.plain)

    def _weighed(self):
        """Return the LeftOut with rows weighed by what the model leaves of each group."""
        left_out = self.left_out
        squares = self._group_squares(self.whole.params)
        sd = np.sqrt(squares / np.maximum(left_out.rows.sum(0), 1.0))
        sd = np.maximum(sd, max(ROUNDED * sd.max(), 1e-300))  # of rows that measure nothing
        return left_out.with_weights(Weights(sd, {}))

    def likeliest(self) -> list[Finding]:
        """Return the Finding of the addition that explains most, with what is as likely."""
        left = self.whole.squares()
        if left < RESIDUAL_WITH_CAUSE**2 * self.left_out.target:
            return []
        tested = []
        for addition, units, first in self.additions:
            places = np.arange(first, first + len(units))
            tested.append(self._tested(addition, places, left))
        likely = sorted((t for t in tested if t and t.explains), key=lambda t: t.remaining)
        if not likely:
            return []
        return [_named(likely)]

    def _tested(self, addition, places, left):
        """
        Return an Addition Tested beside the model, None where noise alone may make it.

        places : (a,) of its columns; left : weighted squared residual without it
        """
        unit = self.left_out.prior.unit[places]
        numbers, squares = self.whole.added(places)
        without = np.array([rows.added(places)[0] for rows in self.without_each])
        numbers, errors = numbers * unit, standard_errors(without * unit)
        share = 1.0 - squares / left
        if addition.measured and self._noise_alone(places[0], numbers, share, left):
            return None
        sure = np.abs(numbers) > ADDITION_SURE * np.hypot(errors, np.array(addition.unnoticed))
        sure &= np.abs(numbers) * self._shares(places) > LEAST_ADDITION
        if addition.brakes and (numbers < 0.0)[sure].any():
            return None
        return Tested(addition, numbers, errors, sure, share)

    def _group_squares(self, x):
        """Return the squared residuals (groups,) of a solution x (P,)."""
        return self.left_out.errors(x[:, None], self.every)[:, :, 0].sum(0)

    def _noise_alone(self, place, numbers, share, left):
        """Return whether a measured column may take its ``share`` by the noise in it alone."""
        column = self.whole.remaining[:, place] / self.left_out.prior.unit[place]
        noise = left / max(float(column @ column), 1e-300)
        if noise > OF_ITS_OWN_NOISE:
            return True
        return share < OF_ITS_OWN_NOISE and abs(float(numbers[0])) < 2.0 * noise

    def _shares(self, places):
        """Return (a,): of what was measured of a row, the most that a unit of a number makes."""
        shares = np.zeros(len(places))
        for group in self.left_out.groups:
            k = group.count
            at = np.searchsorted(group.index, places)
            at = np.minimum(at, k - 1)
            sizes = np.sqrt(np.diagonal(group.products.sum(axis=0)))
            if sizes[k]:
                share = sizes[at] / sizes[k] * (group.index[at] == places)
                shares = np.maximum(shares, share)
        return shares

    def beyond_limits(self) -> list[Finding]:
        """Return a Finding for what no body can be: a quantity surely beyond its Limit."""
        without = [self._standard(rows.params) for rows in self.without_each]
        values = self._standard(self.whole.params)
        parameters = self.structure.base.parameters
        for limit in self.method.limits(
            self.state, self.data.robot, parameters, self.data.options
        ):
            value = float(limit.row @ values) + limit.known
            error = float(standard_errors(np.array(without) @ limit.row[:, None])[0])
            if limit.is_passed(value, ADDITION_SURE * error):
                return [_beyond(limit, value, error)]
        return []

    def beyond_noise(self) -> list[Finding]:
        """Return a Finding where more residual is left than the noise of the channels makes."""
        parameters = self.structure.base.parameters
        measured, changes, units = [], [], {}
        for observation, robot in zip(self.data.observations, self.data.robots):
            for block, noisy, _ in self.method.rows_with_noise(observation, robot, parameters):
                measured.append(np.stack([group.y for group in block.groups], axis=1))
                changes.append(self._residuals(noisy) - self._residuals(block))
                units = {group.name: group.unit for group in block.groups}
        if not changes:
            return []
        y, noise = np.concatenate(measured), np.sqrt(np.mean(np.concatenate(changes) ** 2, axis=0))
        if not noise.any():
            return []
        sd = self.left_out.sd
        varies: dict[str, float] = {}  # unit -> largest standard deviation
        for unit, deviation in zip(units.values(), y.std(0)):
            varies[unit] = max(varies.get(unit, 0.0), deviation)
        matters = sd > RESIDUAL_MATTERS * np.array([varies[unit] for unit in units.values()])
        # What the filter cuts of products of motions is no noise, and little.
        digits = CHANNEL_DIGITS * np.sqrt((y**2).mean(0)) + 1e-12
        ratio = np.where(matters, sd / np.hypot(noise, digits), 0.0)
        worst = int(ratio.argmax())
        if ratio[worst] < EXCESS:
            return []
        return [
            found(
                'residual beyond noise',
                (),
                ratio[worst],
                row=list(units)[worst],
                times=ratio[worst],
            )
        ]

    def _residuals(self, block):
        """Return what the model leaves of the rows of a ``block``, (N, groups)."""
        left = [group.y - group.W @ self.values[group.columns] for group in block.groups]
        return np.stack(left, axis=1)


def _triangle_of(left_out, stretches):
    """
    Return the triangle of the weighted rows of ``stretches``, and of what was measured, last.

    Unknowns are in units of their prior, whose rows are not in it: without them sums of products
    would lose what rows of one kind hardly tell apart.
    """
    wide = left_out.wide
    merged = merge([wide.stretches[k] for k in stretches])
    rows, measured = merged.system(dict(zip(wide.groups, left_out.sd)))[:2]
    unit = left_out.prior.unit[: rows.shape[1]]  # beside elements, which have no rows
    return triangle(np.asfortranarray(np.column_stack([rows * unit, measured])))


@dataclass(frozen=True)
class _RowsWithAdditions:
    """A ``method`` whose rows have the columns of ``additions`` behind those of its model."""

    method: Any
    additions: Sequence[Addition]
    values: np.ndarray

    def validity_range(self, state: Any, robot: Any) -> dict[str, dict[str, np.ndarray]]:
        """Return the range of the method's own; see Method."""
        out: dict[str, dict[str, np.ndarray]] = self.method.validity_range(state, robot)
        return out

    def regress(
        self, state: Any, robot: Any, parameters: Sequence[Parameter], wanted: np.ndarray
    ) -> Iterator[RegressorBlock]:
        """Yield the rows of a ``state``, see Method; those of additions are the last columns."""
        more = [a.columns(state, robot, self.values) for a in self.additions]
        beside = np.concatenate(more, axis=2)  # (N, groups, a)
        count = len(parameters) - beside.shape[2]
        further = np.arange(count, len(parameters))
        low = 0
        for block in self.method.regress(state, robot, parameters[:count], wanted[:count]):
            samples, groups = slice(low, low + len(block.t)), []
            low = samples.stop
            for j, group in enumerate(block.groups):
                W = np.column_stack([group.W, beside[samples, j]])
                columns = np.append(group.columns, further)
                groups.append(RowGroup(group.name, group.unit, columns, W, group.y, group.y_raw))
            yield RegressorBlock(block.t, block.segment, tuple(groups))


def _with_usual_constants(wide: WideFactor) -> np.ndarray:
    """Return the columns (k,) of all laws, each with one constant."""
    tried = alike_constants(wide.structure)
    usual = tried[usual_constants(tried)]
    parameters = wide.structure.parameters_of_places()
    return np.flatnonzero([usual.get(p.name, p) == p for p in parameters])


def _longest(data: Dataset) -> Any:
    """Return the state of a Dataset with most samples."""
    return max((state for _, state in data.states(training=True)), key=lambda state: len(state.t))


def _named(likely: Sequence[Tested]) -> Finding:
    """
    Return the Finding of the first of ``likely`` ones, the best, and of what is as likely.

    Of its own kind what no data tell from it, as springs on joints that always turn alike.
    """
    best = likely[0]
    same: list[str] = []
    others: dict[str, str] = {}  # name of another addition -> its likeliest words
    for entry in likely:
        if entry.name == best.name:
            if entry.remaining <= (1.0 + ONE_BY_KINEMATICS) * best.remaining:
                same.append(entry.says)
        elif entry.remaining < AS_LIKELY * best.remaining:
            others.setdefault(entry.name, entry.says)
    says = '; or '.join([*same, *others.values()])
    tests, unit = 'the residual with and without it', '% of the squared residual'
    return Finding(best.name, says, tests, 100.0 * best.share, unit, (), WRONG, best.addition.do)


def _beyond(limit: Limit, value: float, error: float) -> Finding:
    """Return the Finding of a ``value`` that is beyond a ``limit``."""
    says, tests = limit.words(value, error), 'what bodies can be'
    return Finding(limit.name, says, tests, value, limit.unit, (), WRONG, limit.do)


def _as_described(columns: ModelColumns) -> bool:
    """Return whether what was measured is about the torque of the described bodies."""
    laws = np.array([bool(p.law) for p in columns.parameters])
    laws = np.flatnonzero(np.append(laws, [True, True]))  # a tilt is no body either
    described = np.where(
        np.append([not p.law for p in columns.parameters], [0, 0]), columns.nominal, 0.0
    )
    blocks = []
    for group in columns.groups:
        k, R = group.count, group.triangle(1)
        rows = np.zeros((len(R), len(laws) + 2), order='F')
        mine = np.flatnonzero(np.isin(laws, group.index))
        rows[:, mine] = R[:, np.searchsorted(group.index, laws[mine])]
        rows[:, -2], rows[:, -1] = R[:, :k] @ described[group.index], R[:, k]
        blocks.append(rows)
    rest = triangle(np.asfortranarray(np.vstack(blocks)))[-2:, -2:]
    factor = rest[0, 1] / np.copysign(max(abs(rest[0, 0]), 1e-300), rest[0, 0])
    torque = np.linalg.norm(rest[:, 1])
    in_unit = 1.0 / OTHER_UNIT < factor < OTHER_UNIT
    return bool(in_unit and abs(rest[1, 1]) < DESCRIBED_RESIDUAL * torque)
