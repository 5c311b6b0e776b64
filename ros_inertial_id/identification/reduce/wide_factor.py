"""
The wide factor: rows of recordings, written once, as one triangle per row group and stretch.

    [ columns of the structure | unit gravity along x, y, z of the gravity columns
      | efforts of all joints | rate of the own effort | slope of the torque with each angle ]

Rows of a tree's joints have all of these; of others that may be late the rate alone is known.

Every later question is algebra on these triangles.  Rows are affine in gravity, W(g') = W +
(g' - g) G, so that no tilt and no antipode asks for another pass; another sign, order, gain or
delay of the efforts is another combination of columns; stretches that are left out are triangles
that are left out; triangles of further recordings merge.  Only friction that grows with the load
stays as under gravity as given.

A stretch is distinct motion: two periods of a trajectory say no more of what a model lacks than
one.  Of methods that do not tell motions apart it is a piece of time.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np

from .stretches import Numbers, STRETCHES, stretches_of
from .structure import harmonic_of, Structure, structure_of
from ..prepare.dataset import Dataset
from ..prepare.mounting import any_mounting
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.regressor import RegressorBlock, RowGroup, slopes_with_positions
from ...estimation.r_factors import merge, RFactors
from ...measurement.recording import nothing_left
from ...methods.capabilities import JointTorques, LateEfforts, Tiltable
from ...methods.contract import Method

WEIGHING_UNITS = ('kg', 'kg m')  # of parameters of bodies that gravity acts on


@dataclass(frozen=True)
class SetsLeftOut:
    """
    Stretches that are left out together, (k,) each: what only helps inside of the data is no gain.

    quarters : of the time; fastest : quarter; farthest : quarter that is farthest from where the
        arm is in the mean; every_fourth : four sets that leave every stretch out once
    """

    quarters: Sequence[np.ndarray]
    fastest: np.ndarray
    farthest: np.ndarray
    every_fourth: Sequence[np.ndarray]

    @property
    def spread(self) -> list[np.ndarray]:
        """Return the sets that a fault shows in: quarters of the time add nothing to them."""
        return [self.fastest, self.farthest, *self.every_fourth]

    @property
    def every(self) -> list[np.ndarray]:
        """Return all sets."""
        return [*self.quarters, *self.spread]


@dataclass(frozen=True)
class WideFactor:
    """
    What rows of recordings of one robot say, about the columns above.

    structure : of the first columns, under any gravity where the method knows its slope
    by_number : (STRETCHES,) RFactors of each
    gravity_columns : (h,) places of the columns that gravity acts on, none where its slope is
        not known
    joints : n joints whose efforts are further columns, 0 without; late : whether the rate is one
    numbers : of the stretches of each recording's training samples
    speed, distance : (STRETCHES,) mean squares of velocities, and of positions about their mean,
        of all joints in units of their own
    ranges : {joint or body: {quantity: [smallest, largest]}}
    """

    structure: Structure
    by_number: tuple[RFactors, ...]
    gravity_columns: np.ndarray
    joints: int
    late: bool
    numbers: tuple[Numbers, ...]
    speed: np.ndarray
    distance: np.ndarray
    ranges: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def kept(self) -> list[int]:
        """Return the numbers of the stretches that have rows."""
        return [k for k, f in enumerate(self.by_number) if f.groups]

    @cached_property
    def stretches(self) -> list[RFactors]:
        """Return the RFactors of the stretches that have rows."""
        return [self.by_number[k] for k in self.kept]

    @property
    def places(self) -> int:
        """Return the number of columns of the structure, alternatives among them."""
        return int(self.structure.keep.max()) + 1

    @property
    def efforts(self) -> int:
        """Return the index at which the columns of efforts begin."""
        return self.places + 3 * len(self.gravity_columns)

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the names of the row groups."""
        return tuple(self.units)

    @cached_property
    def units(self) -> dict[str, str]:
        """Return {name: unit} of the row groups."""
        return {name: g.unit for stretch in self.stretches for name, g in stretch.groups.items()}

    @property
    def size(self) -> int:
        """Return the number of all columns."""
        return self.by_number[0].size

    @cached_property
    def products(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """
        Return of each row group its columns (k,), and sums (stretches, k + 1, k + 1).

        These are of products of [its columns | what was measured] with each other.
        """
        out = dict[str, tuple[np.ndarray, np.ndarray]]()
        for number, stretch in enumerate(self.stretches):
            for name, group in stretch.groups.items():
                if name not in out:
                    size = len(group.columns) + 1
                    products = np.zeros((len(self.stretches), size, size))
                    out[name] = group.columns, products
                R = group.R[:, :-1]
                out[name][1][number] = R.T @ R
        return out

    @property
    def rate(self) -> int:
        """Return the index of the column of rates, where there is one."""
        return self.efforts + self.joints

    def rows(self) -> np.ndarray:
        """Return the numbers (STRETCHES,) of rows of each."""
        return np.array([f.rows() for f in self.by_number])

    @cached_property
    def total(self) -> RFactors:
        """Return the RFactors of all stretches."""
        return merge(self.stretches)

    def columns_under_gravity(self, change: np.ndarray) -> np.ndarray:
        """Return T (size, places): the columns with gravity changed by ``change`` (3,) [m/s^2]."""
        T = np.eye(self.size)[:, : self.places]
        rows = np.arange(self.places, self.efforts)
        T[rows, np.tile(self.gravity_columns, 3)] = np.repeat(change, len(self.gravity_columns))
        return T

    def with_gravity(self, change: np.ndarray) -> 'WideFactor':
        """Return the WideFactor of the same rows, gravity changed by ``change`` (3,) [m/s^2]."""
        T = np.eye(self.size)
        T[:, : self.places] = self.columns_under_gravity(change)
        return replace(self, by_number=tuple(f.combine(T) for f in self.by_number))

    def with_earlier_efforts(self, offset: float) -> 'WideFactor':
        """Return the WideFactor whose efforts are ``offset`` [s] earlier, to first order."""
        if not offset:
            return self
        return replace(
            self, by_number=tuple(self._with_earlier(f, offset) for f in self.by_number)
        )

    def _with_earlier(self, factors, offset):
        groups = {}
        for name, group in factors.groups.items():
            R = group.R.copy()
            rate = np.flatnonzero(group.columns == self.rate)[0]
            R[:, -2:] += offset * R[:, [rate]]  # the triangle stays one: the rate is before them
            groups[name] = replace(group, R=R)
        return RFactors(factors.size, groups)

    def tilts(self, beta: np.ndarray, across: np.ndarray) -> np.ndarray:
        """Return T (size, k): torques by tilts ``across`` (3, k) [m/s^2] of ``beta`` (places,)."""
        T = np.zeros((self.size, across.shape[1]))
        T[self.places : self.efforts] = np.kron(across, beta[self.gravity_columns][:, None])
        return T

    def at_places(self, parameters: Sequence[Parameter], values: np.ndarray) -> np.ndarray:
        """
        Return (places,) base parameters of the structure's bodies, for ``tilts``.

        values : (p,) standard parameters, after others where a mass is no column of the rows
        """
        general, out = self.structure.base, np.zeros(self.places)
        value_of = dict(zip((p.name for p in parameters), values[-len(parameters) :]))
        out[: len(general)] = general.reduce(
            [value_of.get(p.name, 0.0) for p in general.parameters]
        )
        return out

    def merged(self, other: 'WideFactor') -> 'WideFactor':
        """Return the WideFactor of both, stretch by stretch."""
        rows = other.rows()
        share = rows / np.maximum(self.rows() + rows, 1e-300)
        ranges = deepcopy(self.ranges)
        extend(ranges, other.ranges)
        return replace(
            self,
            by_number=tuple(map(RFactors.merge, self.by_number, other.by_number)),
            numbers=(*self.numbers, *other.numbers),
            speed=(1.0 - share) * self.speed + share * other.speed,
            distance=(1.0 - share) * self.distance + share * other.distance,
            ranges=ranges,
        )

    def sets_left_out(self) -> 'SetsLeftOut':
        """Return the sets of stretches that are left out together."""
        count = len(self.stretches)
        order, quarter = np.arange(count), max(1, count // 4)
        return SetsLeftOut(
            np.array_split(order, 4),
            np.argsort(-self.speed[self.kept])[:quarter],
            np.argsort(-self.distance[self.kept])[:quarter],
            [order[k::4] for k in range(4)],
        )


def wide_structure(data: Dataset, columns: Sequence[Parameter]) -> Structure:
    """Return the Structure of ``columns`` under any gravity, or as mounted where none is asked."""
    robots: Sequence[Any] = data.robots
    if isinstance(data.method, Tiltable):
        robots = any_mounting(data.method, data.robot.urdf, data.options)
    return structure_of(data.method, robots, columns)


def without_unheld_harmonics(data: Dataset, columns: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """
    Return the ``columns`` without harmonics of a turn of which ``data`` hold no whole period.

    All of them where the options name the laws.
    """
    if not data.method.chooses_laws(data.options):
        return tuple(columns)
    ranges = dict[str, Any]()
    for robot, state in data.states(training=True):
        extend(ranges, data.method.validity_range(state, robot))
    return tuple(p for p in columns if holds_period(ranges, p))


def holds_period(ranges: Mapping[str, Any], parameter: Parameter) -> bool:
    """
    Return whether positions hold a whole period of a harmonic, True of all other parameters.

    ranges : as of a WideFactor, of joints whose positions are known
    """
    order = harmonic_of(parameter)
    positions = ranges.get(parameter.owner, {}).get('q', (0.0, np.inf))
    return bool(not order or order * np.ptp(positions) >= 2.0 * np.pi)


def wide_factor(
    data: Dataset,
    structure: Structure,
    every: int = 1,
    alike: WideFactor | None = None,
    elements: bool = True,
) -> WideFactor:
    """
    Return the WideFactor of all recordings of a Dataset ``data``: rows are written here.

    structure : of ``wide_structure``; every : that many training sample takes part
    alike : of the same recordings, read otherwise, whose stretches are taken; their own: None
    elements : whether there are columns of gravity, efforts and angles, where the method has them
    RecordingError where no sample is left after filtering.
    """
    whole, done = data.samples(training=True), 0
    total: WideFactor | None = None
    for k, recording in enumerate(data.each()):
        if alike is None:
            stretches = stretches_of(recording)
        else:
            stretches = alike.numbers[k], alike.speed, alike.distance
        factor = _of_recording(recording, structure, every, (done, whole), stretches, elements)
        done += recording.samples(training=True)
        if total is None:
            total = factor
        elif factor is not None:
            total = total.merged(factor)
    if total is None:
        raise nothing_left()
    return total


def _of_recording(
    data: Dataset,
    structure: Structure,
    every: int,
    progress: tuple[int, int],
    stretches: tuple[Numbers, np.ndarray, np.ndarray] | None,
    elements: bool,
) -> WideFactor | None:
    """Return the WideFactor of a Dataset of one recording, None without samples."""
    if stretches is None:
        return None
    numbers, speed, distance = stretches
    wide = empty_factor(data.method, data.robot, structure, elements)
    factors = wide.by_number
    identity, ranges, done = np.arange(factors[0].size), dict[str, Any](), 0
    for robot, state in data.states(training=True):
        extend(ranges, data.method.validity_range(state, robot))
        number = numbers.at(done + np.arange(len(state.t)))
        done += len(state.t)
        if every > 1:
            state, number = state.rows(slice(None, None, every)), number[::every]
        low = 0
        for block in wide_rows(wide, data.method, robot, state):
            block_number = number[low : low + len(block.t)]
            low += len(block.t)
            for k in np.unique(block_number[block_number >= 0]):
                factors[k].accumulate(block, identity, np.flatnonzero(block_number == k))
        data.report('identify', progress[0] + done, progress[1])
    if not wide.rows().any():
        return None
    return replace(wide, numbers=(numbers,), speed=speed, distance=distance, ranges=ranges)


def empty_factor(
    method: Method, robot: Any, structure: Structure, elements: bool = True
) -> WideFactor:
    """Return the WideFactor of a ``structure`` without rows; elements : see ``wide_factor``."""
    gravity_columns = np.zeros(0, dtype=int)
    if elements and isinstance(method, Tiltable):
        weighing = [not p.law and p.unit in WEIGHING_UNITS for p in structure.columns]
        gravity_columns = np.sort(structure.keep[weighing])
        gravity_columns = gravity_columns[gravity_columns >= 0]
    joints, late = 0, elements and isinstance(method, LateEfforts)
    if elements and isinstance(method, JointTorques):
        joints = len(robot.joint_names)
    effort_columns = 2 * joints + int(late)
    places = int(structure.keep.max()) + 1
    columns = places + 3 * len(gravity_columns) + effort_columns
    return WideFactor(
        structure,
        tuple(RFactors(columns) for _ in range(STRETCHES)),
        gravity_columns,
        joints,
        late,
        (),
        np.zeros(STRETCHES),
        np.zeros(STRETCHES),
    )


def wide_rows(wide: WideFactor, method: Any, robot: Any, state: Any) -> Iterator[RegressorBlock]:
    """Yield RegressorBlocks of a ``state`` about the columns of a WideFactor."""
    structure, gravity_columns, joints = wide.structure, wide.gravity_columns, wide.joints
    keep, wanted = structure.keep, structure.keep >= 0
    slopes: Iterator[Any] = repeat(None)
    rank = np.full(len(keep), -1)
    if gravity_columns.size:
        rank = np.searchsorted(gravity_columns, keep)
        pulled = np.isin(keep, gravity_columns)
        slopes = method.gravity_slopes(state, robot, pulled)
    if wide.late:
        rate = method.effort_rates(state, robot)
    if joints:
        angles = slopes_with_positions(robot, state.q, state.v, state.a)
    by_axis = wide.places + len(gravity_columns) * np.arange(3)[:, None]
    by_effort = wide.efforts + np.arange(joints)
    by_angle = wide.rate + 1 + np.arange(joints)
    low = 0
    for block, slope in zip(method.regress(state, robot, structure.columns, wanted), slopes):
        samples, groups = slice(low, low + len(block.t)), []
        low = samples.stop
        for j, g in enumerate(block.groups):
            columns, W = keep[g.columns], g.W.T
            chosen = columns >= 0
            if not chosen.all():
                columns, W = columns[chosen], W[chosen]
            parts, part_columns = [W], [columns]
            if gravity_columns.size:
                at, G = slope[j]
                parts += list(G)
                part_columns.append((by_axis + rank[at]).ravel())
            if joints:
                parts.append(state.tau[samples].T)
                part_columns.append(by_effort)
            if wide.late:
                parts.append(rate[samples, j][None])
                part_columns.append(np.array([wide.rate]))
            if joints:
                parts.append(angles[samples, j].T)
                part_columns.append(by_angle)
            indices, rows = np.concatenate(part_columns), np.concatenate(parts).T
            groups.append(RowGroup(g.name, g.unit, indices, rows, g.y, g.y_raw))
        yield RegressorBlock(block.t, block.segment, tuple(groups))


def extend(ranges: dict[str, Any], seen: Mapping[str, Mapping[str, Any]]) -> None:
    """Extend ``ranges`` joint -> {q, v, a: [smallest, largest]} by the values ``seen``."""
    for where, quantities in seen.items():
        entry = ranges.setdefault(where, {})
        for name, column in quantities.items():
            low, high = entry.get(name, (np.inf, -np.inf))
            entry[name] = [min(low, float(np.min(column))), max(high, float(np.max(column)))]
