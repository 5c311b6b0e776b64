"""
Changes in time: an offset or a gain of efforts that drifts or jumps, a load that comes or goes.

Each is unknown columns times a course over pieces of the recording in order of time.  A score test
finds the strongest of each row of the table; it is named where it predicts pieces that are left
out surely better than no change.  A piece is longer than residuals last, and every law that a
joint may have is free: what a posture explains is no change in time.  It competes with the cause
that the other checks found: see causes.py.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .causes import Explanation, OR, others_predict_as_well, removed_percent
from .finding import DOUBTFUL, NOTE, severity_of, WRONG
from .finding_kinds import found
from .recording_under_test import Change, DESCRIBED, FREE, RecordingUnderTest
from .thresholds import (
    ALIKE_RESIDUALS,
    GOOD_RESIDUAL,
    LEAST_LOAD,
    RESIDUAL_FLOOR,
    SURE_OF_CAUSE,
    SYSTEMATIC_RESIDUAL,
    UNUSABLE_RESIDUAL,
)
from ..dynamics.friction import LAWS
from ..identification.choose.choice import log_ratio
from ..identification.reduce.described import columns_of_link, USUAL_LOAD
from ..identification.reduce.left_out import LeftOut, Weights
from ..identification.reduce.stretches import Numbers, SHORTEST_PIECE, STRETCHES
from ..identification.reduce.wide_factor import wide_factor
from ..lapack import solve_triangular

MOST_SAMPLES = 1000  # that show a change: it lasts for seconds
FEWEST_PIECES = 2  # on either side of a jump: one alone is an event
USUAL_GAIN = 0.1  # change of a gain within a recording, prior deviation
EXPLAINED_RESIDUAL = 0.5 * SYSTEMATIC_RESIDUAL  # of the torque, beside a cause that was found
WORTH_TRYING = 9.0  # of the score test of one unknown, three standard errors
EACH_UNKNOWN = 2.0  # more of each further one, as likely by chance


@dataclass(frozen=True)
class Course:
    """
    Unknown columns of a model times a course in time.

    kind : of its finding; joints : numbers of those concerned
    columns : (n, P, q) of the unknowns of a LeftOut, in the rows of each joint
    deviations : (q,) of the q more beforehand
    of_piece : (pieces,) what the course is in each piece of time; start : piece it begins with
    """

    kind: str
    joints: tuple[int, ...]
    columns: np.ndarray
    deviations: np.ndarray
    of_piece: np.ndarray
    start: int = 0


@dataclass(frozen=True)
class Courses:
    """
    Alternative courses of the same unknown columns, m of them: see Course.

    of_piece : (m, pieces); starts : (m,) pieces they begin with, 0 where they are no steps
    """

    kind: str
    joints: tuple[int, ...]
    columns: np.ndarray
    deviations: np.ndarray
    of_piece: np.ndarray
    starts: Sequence[int] = (0,)

    @property
    def evidence_by_chance(self) -> float:
        """Return the evidence of the score test that as many unknowns have where none is true."""
        return WORTH_TRYING + EACH_UNKNOWN * (len(self.deviations) - 1)

    def course(self, number: int) -> Course:
        """Return one of them."""
        return Course(
            self.kind,
            self.joints,
            self.columns,
            self.deviations,
            self.of_piece[number],
            self.starts[number],
        )


@dataclass(frozen=True)
class Trial:
    """
    A ``course`` that was tried.

    size : (q,) of its columns, times the change from the first to the last piece
    share : rms of what changes relative to the torque of the joint where it is largest
    errors : squared (pieces, n) of pieces left out
    """

    course: Course
    size: np.ndarray
    share: float
    errors: np.ndarray


class PiecesOfTime:
    """
    A recording whose stretches are pieces of time in their order.

    test : of them; judge : LeftOut of free bodies with every law
    """

    def __init__(self, test: RecordingUnderTest) -> None:
        self.test = _by_time(test)
        self.judge = self._reweighed(self.test.bodies_with_every_law, self.test.plain)

    @cached_property
    def recorded(self) -> np.ndarray:
        """Return squared errors (pieces, n) of every piece as recorded."""
        return self.errors(self.judge, self.test.plain)

    def errors(self, judge: LeftOut, change: Change) -> np.ndarray:
        """Return squares (pieces, n) of what the others leave of every piece."""
        targets = self.test.targets([change], FREE)
        each = [np.array([piece]) for piece in range(judge.count)]
        errors = judge.targets_left_out(targets, each)[0]
        return np.nanmean(errors, axis=0) / change.scale**2

    def errors_beside(self, change: Change) -> np.ndarray:
        """Return squared errors (pieces, n) of data with another ``change``."""
        bodies = self.test.bodies_with_every_law
        if not np.array_equal(change.gravity, self.test.gravity):
            bodies = self.test.free_bodies(change.gravity)
        return self.errors(self._reweighed(bodies, change), change)

    def gap(self, errors: np.ndarray, others: np.ndarray) -> tuple[float, float]:
        """Return the mean log ratio of ``errors`` (pieces, n) to ``others``, and its error."""
        moved = self.test.moved
        return log_ratio(errors[:, moved].T, others[:, moved].T)

    def residual(self, errors: np.ndarray) -> np.ndarray:
        """Return the rms (n,) of squared ``errors`` (pieces, n) [N m, N]."""
        return np.sqrt(errors.sum(0) / self.test.row_counts)

    def solution(self, judge: LeftOut, change: Change) -> np.ndarray:
        """Return the (P,) solution of a ``judge`` by the whole recording with a ``change``."""
        targets = self.test.targets([change], FREE)
        return judge.solved_targets(judge.stacked(range(judge.count), targets))[:, 0]

    def _reweighed(self, judge, change):
        """Return a ``judge`` whose rows count by the residuals that it leaves of a ``change``."""
        targets = self.test.targets([change], FREE)
        solution = self.solution(judge, change)[:, None]
        squares = judge.errors(solution, np.arange(judge.count), targets)[:, :, 0].sum(0)
        correlation = np.array([judge.correlation_rows[name] for name in judge.names])
        sd = np.sqrt(squares / np.maximum(judge.rows.sum(0), 1.0) * correlation)
        return judge.with_weights(Weights(sd, judge.correlation_rows))

    def tried(self, course: Course) -> Trial:
        """Return the Trial of a ``course``."""
        recorded = self.test.plain
        judge = self.judge.with_course(course.columns, course.deviations, course.of_piece)
        judge = self._reweighed(judge, recorded)
        solution = self.solution(judge, recorded)
        size = solution[-len(course.deviations) :]
        unknowns = np.zeros(len(solution))
        unknowns[-len(size) :] = size
        change = judge.torque_squares(unknowns)
        share = np.sqrt(change / self.test.effort_squares)
        errors = self.errors(judge, recorded)
        span = course.of_piece[-1] - course.of_piece[0]
        return Trial(course, size * span, float(share[self.test.moved].max()), errors)


def _by_time(test: RecordingUnderTest) -> RecordingUnderTest:
    """Return a ``test`` whose stretches are pieces of time."""
    samples = test.data.samples(training=True)
    every = -(-samples // MOST_SAMPLES)
    number = np.arange(samples) * STRETCHES // samples
    pieces = Numbers(number.astype(np.int8), 1)
    alike = replace(test.wide, numbers=(pieces,))
    wide = wide_factor(test.data, test.wide.structure, every, alike)
    return RecordingUnderTest(test.data, wide, test.nominal)


# Courses: of each row of the table the one that the residual shows most


def drifts(pieces: PiecesOfTime) -> Iterator[Courses]:
    """Yield an offset of the efforts of each joint that drifts."""
    for joint, columns, deviations in _offsets(pieces):
        yield Courses('effort offset drifts', (joint,), columns, deviations, _drift(pieces))


def gains(pieces: PiecesOfTime) -> Iterator[Courses]:
    """Yield a gain of all efforts that drifts, as that of drives that grow warm."""
    torque = _in_all_rows(pieces, _torque(pieces))
    joints = tuple(np.flatnonzero(pieces.test.moved).tolist())
    yield Courses('effort gain drifts', joints, torque, np.array([USUAL_GAIN]), _drift(pieces))


def jumps(pieces: PiecesOfTime) -> Iterator[Courses]:
    """Yield an offset of the efforts of each joint that jumps, with each piece of time."""
    starts = _starts(pieces)
    for joint, columns, deviations in _offsets(pieces):
        steps = _steps(pieces, starts)
        yield Courses('effort offset jumps', (joint,), columns, deviations, steps, starts)


def gain_jumps(pieces: PiecesOfTime) -> Iterator[Courses]:
    """Yield a gain of the efforts of each joint alone that jumps, with each piece of time."""
    torque, starts = _torque(pieces), _starts(pieces)
    deviations, steps = np.array([USUAL_GAIN]), _steps(pieces, starts)
    for joint in np.flatnonzero(pieces.test.moved).tolist():
        columns = np.zeros((pieces.test.count, *torque.shape))
        columns[joint] = torque
        yield Courses('effort gain jumps', (joint,), columns, deviations, steps, starts)


def loads(pieces: PiecesOfTime) -> Iterator[Courses]:
    """Yield a load at the last link that comes or goes with each piece of time."""
    test = pieces.test
    columns = _in_all_rows(pieces, columns_of_link(test.model_columns, -1)[test.every_law])
    joints = tuple(np.flatnonzero(test.moved).tolist())
    starts = _starts(pieces)
    yield Courses('load changes', joints, columns, USUAL_LOAD, _steps(pieces, starts), starts)


def _torque(pieces):
    """Return the unknowns (P, 1) that the recording as a whole gives: what a gain is of."""
    return pieces.solution(pieces.judge, pieces.test.plain)[:, None]


def _in_all_rows(pieces, columns):
    """Return ``columns`` (P, q) in the rows of each joint, (n, P, q)."""
    return np.broadcast_to(columns, (pieces.test.count, *columns.shape))


def _offsets(pieces):
    """Yield joint, columns (n, P, 1) and deviation (1,) of the offset of each that moved."""
    test = pieces.test
    for place, k in enumerate(test.every_law):
        if k >= test.model_columns.size:  # a tilt
            continue
        parameter = test.model_columns.parameters[k]
        if parameter.owner in test.names and parameter.law and LAWS[parameter.law].constant:
            columns = np.zeros((len(test.every_law), 1))
            columns[place] = 1.0
            joint = test.names.index(parameter.owner)
            yield joint, _in_all_rows(pieces, columns), np.array([parameter.prior_sd])


def _drift(pieces):
    """Return the course (1, pieces) of what grows by one from the beginning to the end."""
    return np.linspace(-0.5, 0.5, pieces.judge.count)[None]


def _starts(pieces):
    """Return the pieces with which a step may begin."""
    return range(FEWEST_PIECES, pieces.judge.count - FEWEST_PIECES + 1)


def _steps(pieces, starts):
    """Return the courses (m, pieces) of steps that begin with the pieces ``starts`` (m,)."""
    before = np.arange(pieces.judge.count) < np.array(starts)[:, None]
    return np.where(before, -0.5, 0.5)


CHANGES = (drifts, gains, jumps, gain_jumps, loads)


def _strongest(pieces: PiecesOfTime, change: Callable, score: '_Scores') -> Course | None:
    """Return the course of a ``change`` that the residual shows most, None where it shows none."""
    best, most = None, 0.0
    for courses in change(pieces):
        beyond_chance = score(courses) - courses.evidence_by_chance
        strongest = int(np.argmax(beyond_chance))
        if beyond_chance[strongest] > most:
            best, most = courses.course(strongest), beyond_chance[strongest]
    return best


class _Scores:
    """The score test of courses: by how much a misfit falls, to first order."""

    def __init__(self, pieces: PiecesOfTime) -> None:
        judge = pieces.judge
        unknowns = len(judge.prior.unit)
        self._judge = judge
        self._R = judge.whole.triangle[:unknowns, :unknowns]
        self._solution = pieces.solution(judge, pieces.test.plain)

    def __call__(self, courses: Courses) -> np.ndarray:
        """Return the evidence (m,) of ``courses``, chi squared as if residuals were noise."""
        of_piece = courses.of_piece
        count = len(courses.deviations)
        with_fit, score, information = self._of_each_piece(courses)
        with_fit = np.einsum('ms,skq->kmq', of_piece, with_fit)
        score = np.einsum('ms,sq->mq', of_piece, score)
        information = np.eye(count) + np.einsum('ms,spq->mpq', of_piece**2, information)
        together = with_fit.reshape(len(with_fit), -1)
        explained = solve_triangular(self._R, together, trans=True, check_finite=False)
        explained = explained.reshape(with_fit.shape)
        information -= np.einsum('kmp,kmq->mpq', explained, explained)
        found = np.linalg.solve(information, score[:, :, None])[:, :, 0]
        return np.einsum('mq,mq->m', score, found)

    def _of_each_piece(self, courses):
        """Return products of columns with those fitted (s, P, q), residual and themselves."""
        judge = self._judge
        unit, pieces, count = judge.prior.unit, judge.count, len(courses.deviations)
        with_fit = np.zeros((pieces, len(unit), count))
        score, information = np.zeros((pieces, count)), np.zeros((pieces, count, count))
        for group, sd, of_rows in zip(judge.groups, judge.sd, courses.columns):
            index, k = group.index, group.count
            of_group = of_rows[index] * (courses.deviations / sd)
            if not of_group.any():
                continue
            fitted, measured = group.products[:, :k, :k], group.products[:, :k, k]
            columns = fitted @ of_group
            score += (measured - fitted @ self._solution[index]) @ of_group / sd
            information += of_group.T @ columns
            with_fit[:, index] += columns * (unit[index, None] / sd)
        return with_fit, score, information


def with_changes(test: RecordingUnderTest, explanation: Explanation) -> Explanation:
    """
    Return the Explanation by a change in time, where there is one beside an ``explanation``.

    What explains the data better is named, and what explains them alike with it.
    """
    if not _may_change(test, explanation):
        return explanation
    pieces = PiecesOfTime(test)
    score = _Scores(pieces)
    trials = [_sure_trial(pieces, _strongest(pieces, change, score)) for change in CHANGES]
    sure = [trial for trial in trials if trial is not None]
    if not sure:
        return explanation
    return _named(test, pieces, sure, explanation)


def _may_change(test, explanation):
    """Return whether a change in time would show, and an ``explanation`` leaves it something."""
    if not test.moved.any() or test.data.seconds() < STRETCHES * SHORTEST_PIECE:
        return False
    causes_found = _causes(explanation)
    if causes_found and _leaves_little(explanation):
        return False
    # Free bodies, which judge courses, absorb what described ones show.
    return all(finding.tests != DESCRIBED for finding in causes_found)


def _sure_trial(pieces, course):
    """Return the Trial of a ``course``, None where it is not surely one."""
    if course is None:
        return None
    trial = pieces.tried(course)
    gap, error = pieces.gap(trial.errors, pieces.recorded)
    is_better = gap < -SURE_OF_CAUSE * error
    if is_better and _is_of_size(trial) and _explains(pieces, trial):
        return trial
    return None


def _leaves_little(explanation):
    """Return whether the residual of an ``explanation`` asks for no further one."""
    left = np.linalg.norm(explanation.residual)
    return left < EXPLAINED_RESIDUAL * np.linalg.norm(explanation.torque)


def _is_of_size(trial):
    """Return whether what changes is more than what no model explains."""
    if trial.course.kind == 'load changes' and abs(trial.size[0]) < LEAST_LOAD:
        return False
    return trial.share > 2.0 * RESIDUAL_FLOOR


def _explains(pieces, trial):
    """Return whether little is left beside a ``trial``: of another robot it explains a part."""
    test = pieces.test
    torque = np.linalg.norm(test.torque[test.moved])
    residual = np.linalg.norm(pieces.residual(trial.errors)[test.moved])
    described = np.linalg.norm(test.described_residual[test.moved])
    if described > UNUSABLE_RESIDUAL * torque:
        residual = np.sqrt(residual * described)
    return residual < GOOD_RESIDUAL * torque


def _named(test, pieces, sure, explanation):
    """Return the Explanation by the best of ``sure`` Trials, or by another as good."""
    ranked = sorted(sure, key=lambda trial: pieces.gap(trial.errors, pieces.recorded)[0])
    best = ranked[0]
    alike = [trial for trial in ranked if _is_alike(pieces, trial.errors, best.errors)]
    alike.sort(key=lambda trial: len(trial.course.deviations))
    in_time = [_finding(test, pieces, trial) for trial in alike]
    residual = pieces.residual(best.errors)
    notes = [f for f in explanation.findings if f.severity == NOTE]
    causes_found = _causes(explanation)
    if not causes_found:
        return Explanation((_together(in_time), *notes), test.plain, residual, test.torque)
    gap, error = pieces.gap(best.errors, pieces.errors_beside(explanation.change))
    if gap > SURE_OF_CAUSE * error:
        return explanation
    if gap < -SURE_OF_CAUSE * error:
        return Explanation((_together(in_time), *notes), test.plain, residual, test.torque)
    together = _together([*causes_found, *in_time])
    return replace(explanation, findings=(together, *notes))


def _causes(explanation):
    """Return the findings of an ``explanation`` that are no notes."""
    return [finding for finding in explanation.findings if finding.severity != NOTE]


def _together(findings):
    """Return the first of ``findings``, which says those of the others, too."""
    says = dict.fromkeys(finding.says for finding in findings)
    return replace(findings[0], says=OR.join(says))


def _is_alike(pieces, errors, others):
    gap, error = pieces.gap(errors, others)
    return gap <= np.hypot(error, 2.0 * np.log(ALIKE_RESIDUALS))


def _finding(test, pieces, trial):
    """Return the Finding of a ``trial``."""
    course = trial.course
    gap, _ = pieces.gap(trial.errors, pieces.recorded)
    joints = [test.names[joint] for joint in course.joints]
    unit = 'N m'
    if test.data.robot.prismatic[course.joints[0]]:
        unit = 'N'
    severity = severity_of(trial.share, SYSTEMATIC_RESIDUAL, within=DOUBTFUL, beyond=WRONG)
    amount = removed_percent(gap)
    size = f'{trial.size[0]:+.2g}'
    start = course.start * test.data.seconds() / pieces.judge.count
    finding = found(
        course.kind,
        joints,
        amount,
        severity=severity,
        size=size,
        percent=f'{100.0 * trial.size[0]:+.2g}',
        unit=unit,
        share=100.0 * trial.share,
        start=f'{start:.3g}',
    )
    beside, without = (pieces.residual(e) for e in (pieces.recorded, trial.errors))
    return replace(finding, alone=others_predict_as_well(test, course.joints, beside, without))
