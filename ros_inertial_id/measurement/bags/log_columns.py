"""
The columns of one log by what their names say, and the joint states or commands that they make.

Numbered joints are taken in ascending order.  ``names`` or ``name0`` are joints in the order of
the columns, in every row or once.  What is ``desired``, ``target`` or ``cmd`` was commanded, as
``q_d`` beside ``q``; ``action`` alone is positions.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
import re
from typing import Any

import numpy as np

from .log_joint_names import are_numbers, joints_in_cells
from .log_renaming import RENAME, Table
from .log_spellings import column_meanings, ColumnMeaning, JOINT_QUANTITIES, NAMES
from .log_topics import topic_field, TopicField
from ..recording import empty, page_out
from ...errors import RecordingError

MOST_NAMED = 8  # joints, in a message
_NEW_NAMES = {'position': 'q', 'velocity': 'v', 'effort': 'tau'}  # that --columns gives


class ColumnNames:
    """
    What the names of the columns of one log say.

    topic_fields : of the columns of topics other than joint states, what they hold
    names : of the columns of no topic
    meanings : what these hold, of those whose names say it
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.topic_fields: dict[str, TopicField] = {}
        self.names: list[str] = []
        for name in names:
            if field := topic_field(name):
                self.topic_fields[name] = field
            else:
                self.names.append(name)
        self.meanings: dict[str, ColumnMeaning] = column_meanings(self.names)

    def names_of(self, *kinds: str) -> list[str]:
        """Return the names of the columns of some ``kinds`` of quantities."""
        return [name for name, meaning in self.meanings.items() if meaning.quantity in kinds]

    def is_measured(self, name: str) -> bool:
        """Return whether a column is what a joint did."""
        return name in self.meanings and self.meanings[name].is_measured


class LogTable(ColumnNames):
    """The ``columns`` (n,) or (n, k) of one log by name; where : of the log, for messages."""

    def __init__(self, where: str, columns: Table) -> None:
        super().__init__(columns)
        self.where, self.columns = where, columns

    def do_not_belong_together(self) -> RecordingError:
        """Return the error of columns that differ in shape or joints."""
        lacking = self._lacking()
        if lacking:
            return RecordingError(
                f'{self.where}: {lacking}',
                expected='the same joints in position, velocity and effort',
                do=RENAME,
            )
        shapes = Counter((_family(name), np.shape(self.columns[name])) for name in self.names)
        return RecordingError(
            f'{self.where}: the columns do not belong together',
            found=[_counted(*family, count) for family, count in shapes.items()][:50],
            expected='time (n,), position (n, joints), velocity and effort like position',
            do=RENAME,
        )

    def _lacking(self) -> str:
        """Return in words which joint lacks a quantity that others have, '' for none."""
        joints: dict[str, list[str]] = {}
        for name, meaning in self.meanings.items():
            if self.is_measured(name) and meaning.joint:
                joints.setdefault(meaning.quantity, []).append(meaning.joint)
        every = list(dict.fromkeys(joint for named in joints.values() for joint in named))
        for quantity, named in joints.items():
            missing = [joint for joint in every if joint not in named]
            if missing:
                return f'no {quantity} of {", ".join(missing[:MOST_NAMED])}'
        return ''


def _family(name: str) -> str:
    """Return the ``name`` of a column with * for its last number: of joints in one spelling."""
    return re.sub(r'\d+(?=\D*$)', '*', name)


def _counted(family: str, shape: tuple[int, ...], count: int) -> str:
    """Return a ``family`` of columns, their ``shape`` and how many they are, in words."""
    if count == 1:
        return f'{family} {shape}'
    return f'{count} {family} {shape}'


@dataclass(frozen=True)
class JointQuantity:
    """Positions, velocities or efforts (n, k) of k joints, from columns (k,) of a log."""

    values: np.ndarray
    columns: tuple[str, ...]
    is_current: bool

    def in_order(self, order: list[int]) -> 'JointQuantity':
        """Return those of the joints at ``order``."""
        columns = tuple(self.columns[k] for k in order)
        return replace(self, values=self.values[:, order], columns=columns)

    def of_rows(self, rows: np.ndarray) -> 'JointQuantity':
        """Return those of some ``rows`` (N,) bool: new arrays."""
        shape = int(np.count_nonzero(rows)), self.values.shape[1]
        return replace(self, values=np.compress(rows, self.values, 0, empty(shape, float)))


@dataclass(frozen=True)
class JointColumns:
    """
    The joint states, or the commands, in a table.

    quantities : position, velocity, effort, those that there are; {} where no column is of joints
    joints : k names, or numbers where the table has none
    used : names of all columns in it
    rows : (N,) bool, which n rows of the table these are: in others all cells are empty
    """

    quantities: dict[str, JointQuantity]
    joints: tuple[str, ...]
    used: frozenset[str]
    rows: np.ndarray

    def __len__(self) -> int:
        return int(np.count_nonzero(self.rows))

    @property
    def fields(self) -> dict[str, np.ndarray]:
        """Return position, velocity, effort -> (n, k)."""
        return {kind: quantity.values for kind, quantity in self.quantities.items()}

    def in_order_of_quantities(self) -> list[JointQuantity]:
        """Return positions, velocities, efforts, those that there are, in this order."""
        return [self.quantities[kind] for kind in JOINT_QUANTITIES if kind in self.quantities]

    @property
    def are_named(self) -> bool:
        """Return whether the joints have names."""
        return not are_numbers(self.joints)

    @property
    def are_currents(self) -> bool:
        """Return whether the efforts are no torques."""
        return 'effort' in self.quantities and self.quantities['effort'].is_current

    def like(self, reference: 'JointColumns', where: str) -> 'JointColumns':
        """Return these, from ``where``, in the order of the joints of ``reference``."""
        both_named = self.are_named and reference.are_named
        are_alike = len(self.joints) == len(reference.joints)
        if both_named:
            are_alike = sorted(self.joints) == sorted(reference.joints)
        if not are_alike:
            raise RecordingError(
                f'{where} is of other joints', found=self.joints, expected=reference.joints
            )
        if not both_named:
            return self
        order = list(map(self.joints.index, reference.joints))
        quantities = {kind: quantity.in_order(order) for kind, quantity in self.quantities.items()}
        return replace(self, joints=reference.joints, quantities=quantities)

    def with_quantities_of(self, others: 'JointColumns') -> 'JointColumns':
        """Return these with the quantities that ``others`` of the same samples have besides."""
        named = self if self.are_named else others
        return replace(
            self, quantities={**self.quantities, **others.quantities}, joints=named.joints
        )


@dataclass(frozen=True)
class _Column:
    """A column of joints: its name in the log, values (n,) or of all joints (n, k), meaning."""

    name: str
    values: Any
    meaning: ColumnMeaning


class _Spelling:
    """The columns of one quantity in its best spelling, by joint; '' where one is of all."""

    def __init__(self, table: LogTable, candidates: list[_Column]) -> None:
        best = min(column.meaning.rank for column in candidates)
        self.table = table
        self.by_joint: dict[str, _Column] = {}
        for column in candidates:
            if column.meaning.rank == best:
                self._add(column)
        self.first = next(iter(self.by_joint.values()))
        self.is_matrix = len(self.by_joint) == 1 and self.first.values.ndim == 2

    def _add(self, column: _Column) -> None:
        """Add a column; RecordingError where there is one of its joint already, or no number."""
        where, meaning = self.table.where, column.meaning
        first = self.by_joint.setdefault(meaning.joint, column)
        if first is not column:
            raise RecordingError(
                f'{where}: {meaning.quantity} of joint {meaning.joint} is there twice',
                found=f'{first.name} and {column.name}',
                exists=self.table.names,
                do='say which is meant: --columns "q=NAME tau=NAME"',
            )
        if column.values.dtype.kind not in 'fiu':
            raise RecordingError(
                f'{where}: {column.name} is not numeric', found=column.values.dtype
            )

    def joints(self) -> list[str]:
        """Return the joints of the columns, by ascending numbers where they have numbers."""
        if self.is_matrix:
            return list(map(str, range(self.first.values.shape[1])))
        joints = list(self.by_joint)
        if len(joints) > 1 and '' in joints:
            raise self._wrong_joints()
        if len(joints) > 1 and are_numbers(joints):
            joints.sort(key=int)
        return joints

    def of_joints(self, joints: list[str]) -> JointQuantity:
        """Return the quantity in the order of ``joints``, in SI, in new arrays."""
        if self.is_matrix:
            return self._of_matrix()
        shapes = {column.values.shape for column in self.by_joint.values()}
        if set(self.by_joint) != set(joints) or len(shapes) > 1 or self.first.values.ndim != 1:
            raise self._wrong_joints()
        columns = [self.by_joint[joint] for joint in joints]
        values = empty((len(self.first.values), len(joints)), float)
        for column, target in zip(columns, values.T):
            _put_in_si(column, target)
        names = tuple(column.name for column in columns)
        return JointQuantity(values, names, any(column.meaning.is_current for column in columns))

    def _of_matrix(self) -> JointQuantity:
        values = empty(self.first.values.shape, float)
        _put_in_si(self.first, values)
        names = tuple(f'{self.first.name}[{k}]' for k in range(values.shape[1]))
        return JointQuantity(values, names, self.first.meaning.is_current)

    def _wrong_joints(self) -> RecordingError:
        """Return the error of columns of other joints, or of more than one for each joint."""
        shapes: dict[str, list[tuple[int, ...]]] = {}
        for column in self.by_joint.values():
            shapes.setdefault(_family(column.name), []).append(column.values.shape)
        longest, *others = sorted(shapes, key=len, reverse=True)
        compete = [
            longest.startswith(family.rstrip('*')) and shapes[family] == shapes[longest]
            for family in others
        ]
        are_of_all = {family.endswith('*') for family in shapes}
        if not others or not all(compete) or len(are_of_all) > 1:
            return self.table.do_not_belong_together()
        quantity = self.first.meaning.quantity
        new = _NEW_NAMES[quantity]
        if '*' in longest:
            new += '_*'
        return RecordingError(
            f'{self.table.where}: more than one {quantity} for each joint',
            found=' and '.join(sorted(shapes)),
            expected='one',
            do=f'for {longest}: --columns "{new}={longest}"; '
            f'for {" or ".join(sorted(others))}: --columns "-={longest}"',
        )

    def names(self) -> list[str]:
        """Return the names of the columns in the log."""
        return [column.name for column in self.by_joint.values()]


def _put_in_si(column: _Column, target: np.ndarray) -> None:
    """Put the values of a column into a ``target`` of their shape."""
    np.multiply(column.values, column.meaning.scale, out=target)
    page_out()


NO_JOINTS = JointColumns({}, (), frozenset(), np.zeros(0, bool))


def joint_columns(table: LogTable, commanded: bool = False) -> JointColumns:
    """
    Return what joints measure in a ``table``, NO_JOINTS where no column is of joints.

    commanded : return what they were commanded instead
    """
    spellings = _best_spellings(table, commanded)
    if not spellings:
        return NO_JOINTS
    joints = _joints_of(list(spellings.values()))
    used: set[str] = set()
    quantities = {}
    for kind, spelling in spellings.items():
        quantities[kind] = spelling.of_joints(joints)
        used.update(spelling.names())
    if len({quantity.values.shape for quantity in quantities.values()}) > 1:
        raise table.do_not_belong_together()
    rows = np.any([_rows_with_numbers(x.values) for x in quantities.values()], axis=0)
    if not rows.all():
        quantities = {kind: quantity.of_rows(rows) for kind, quantity in quantities.items()}
    columns = JointColumns(quantities, tuple(joints), frozenset(used), rows)
    if columns.are_named:
        return columns
    return _named_by_cells(table, columns)


def _best_spellings(table: LogTable, commanded: bool) -> dict[str, _Spelling]:
    """Return position, velocity and effort as measured or commanded, those that there are."""
    candidates: dict[str, list[_Column]] = {kind: [] for kind in JOINT_QUANTITIES}
    for name, meaning in table.meanings.items():
        if meaning.quantity not in candidates or meaning.is_commanded != commanded:
            continue
        if meaning.is_current and commanded:  # no feedforward [N m]
            continue
        candidates[meaning.quantity].append(_Column(name, table.columns[name], meaning))
    return {kind: _Spelling(table, columns) for kind, columns in candidates.items() if columns}


def _joints_of(spellings: list[_Spelling]) -> list[str]:
    """Return the joints of the first quantity that has a column of each, else of a matrix."""
    with_labels = [spelling for spelling in spellings if not spelling.is_matrix]
    return (with_labels or spellings)[0].joints()


def _rows_with_numbers(x: np.ndarray) -> np.ndarray:
    """Return which rows of x (n, k) hold a number."""
    page_out()
    return np.isfinite(x).any(axis=1)


def _named_by_cells(table: LogTable, columns: JointColumns) -> JointColumns:
    """Return ``columns`` with the joints that cells of the log name, as they are without these."""
    cells = {name: table.columns[name] for name in table.names_of(NAMES)}
    joints = joints_in_cells(table.where, cells, columns.rows, columns.fields)
    if not joints:
        return columns
    return replace(columns, joints=tuple(joints), used=columns.used.union(cells))
