"""
BagFactors: what one recording says, as R factors that merge with those of any other.

Columns are those of the plan's structure (base parameters under any mounting, friction laws and
constants that are tried), then the torque by a tilt of gravity about two axes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .accumulation import choose_alternatives, standard
from .dataset import Dataset
from .gravity_direction import across_gravity
from .plan import METHOD, Plan, tilt_values
from .robot import robot_of
from .training_data import check_one_robot
from .validation import evaluate
from ..dynamics.regressor import RegressorBlock, RowGroup
from ..errors import RecordingError
from ..estimation.cross_validation import FOLDS
from ..estimation.estimators import Problem, ridge
from ..estimation.r_factors import merge, one_thread, RFactors
from ..estimation.residuals import Residuals
from ..measurement.recording import Recording
from ..methods import METHODS

LAGS = 512  # of the autocovariance of residuals, kept
TEMPERATURE = 'sensor_msgs/msg/Temperature'


@dataclass(frozen=True)
class BagFactors:
    """
    What one recording says about the columns of a Plan.

    stretches : RFactors of FOLDS stretches of time, about the plan's places and two tilts
    residuals : of the recording's own estimate, for their correlation
    ranges : joint -> {q, v, a: [smallest, largest]}
    notes : summary, provenance, mounting, gravity_base, start_s (since 1970), span_s,
        temperature (mean [deg C] or None)
    """

    stretches: tuple[RFactors, ...]
    residuals: Residuals
    ranges: Mapping[str, Any]
    notes: Mapping[str, Any]


def factors_of(recording: Recording, plan: Plan) -> BagFactors:
    """
    Return the BagFactors of a ``recording`` under a ``plan``.

    RecordingError where it cannot be used, RobotModelError where it is of another robot.
    """
    method, options = METHODS[METHOD], plan.options
    with one_thread():
        robot = robot_of(recording, options, plan.urdf)
        if recording.robot_description:
            own = robot_of(recording, options)
            check_one_robot([robot, own], [Recording({}, provenance={'path': 'the plan'}),
                                           recording])
        observation = method.observe(recording, robot, options)
        if observation.summary['velocity'] != options.velocity:
            raise RecordingError('the recording has other velocities than the first ones',
                                 expected=options.velocity, found=observation.summary['velocity'])
        data = Dataset(method, (robot,), (observation,), options)
        stretches = _accumulate(data, plan)
        if not stretches:
            raise RecordingError('the recording is too short',
                                 found='no samples left after filtering')
        residuals, ranges = _residuals(data, plan, stretches)
    stamps = recording.origin_ns() * 1e-9
    return BagFactors(tuple(stretches), residuals, ranges, {
        'summary': dict(observation.summary), 'provenance': dict(recording.provenance),
        'mounting': recording.mounting, 'gravity_base': robot.gravity_base.tolist(),
        'start_s': stamps, 'span_s': float(observation.summary['duration']),
        'temperature': _temperature(recording)})


def _accumulate(data: Dataset, plan: Plan) -> list[RFactors]:
    """Return RFactors of FOLDS stretches about the plan's places and two tilts."""
    structure, robot = plan.structure, data.robot
    size = int(structure.keep.max()) + 1
    pulled = [replace(robot, gravity_base=np.linalg.norm(robot.gravity_base) * d)
              for d in across_gravity(robot.gravity_base).T]
    folds = [RFactors(size + 2) for _ in range(FOLDS)]
    identity, values = np.arange(size + 2), tilt_values(plan)
    bodies, own, seen = structure.columns[:len(values)], data.samples(training=True), 0
    states: Any = data.states(training=True)
    for _, state in states:
        still = replace(state, v=np.zeros_like(state.v), a=np.zeros_like(state.a))
        blocks = zip(data.method.regress(state, robot, structure.columns),
                     *(data.method.regress(still, r, bodies) for r in pulled))
        for block, *tilts in blocks:
            wide = _with_tilts(block, tilts, values, structure.keep)
            fold = np.minimum((seen + np.arange(len(block.t))) * FOLDS // own, FOLDS - 1)
            for number in np.unique(fold):
                where = np.flatnonzero(fold == number)
                part = wide.rows(slice(int(where[0]), int(where[-1]) + 1))
                folds[number].accumulate(part, identity)
            seen += len(block.t)
    return [f for f in folds if f.groups]


def _with_tilts(block: RegressorBlock, tilts: Sequence[RegressorBlock], values: np.ndarray,
                keep: np.ndarray) -> RegressorBlock:
    """Return the RegressorBlock of the places kept, with the torques of unit tilts behind."""
    size, groups = int(keep.max()) + 1, []
    for g, *others in zip(block.groups, *(b.groups for b in tilts)):
        place = keep[g.columns]
        chosen = np.flatnonzero(place >= 0)
        torques = [x.W @ values[x.columns] for x in others]
        W = np.ascontiguousarray(np.vstack([g.W.T[chosen], torques])).T
        groups.append(RowGroup(g.name, g.unit, np.append(place[chosen], [size, size + 1]), W,
                               g.y, g.y_raw))
    return RegressorBlock(block.t, block.segment, tuple(groups))


def _residuals(data: Dataset, plan: Plan, stretches: Sequence[RFactors]
               ) -> tuple[Residuals, dict[str, Any]]:
    """Return the Residuals of the recording's own estimate, and its validity range."""
    places = np.arange(stretches[0].size - 2)
    base, folds, _ = choose_alternatives(plan.structure, [f.select(places) for f in stretches])
    draft = ridge(Problem(merge(folds), base, {}))
    residuals, _, ranges = evaluate(data, base.parameters, standard(base, draft.params), True)
    residuals.covariances = {name: (total[:LAGS], pairs[:LAGS])
                             for name, (total, pairs) in residuals.covariances.items()}
    return residuals, ranges


def merged_residuals(parts: Iterable[Residuals]) -> Residuals:
    """Return the sums of Residuals ``parts`` of several recordings."""
    out = Residuals()
    for part in parts:
        for ours, theirs in ((out.filtered, part.filtered), (out.raw, part.raw)):
            ours.samples += theirs.samples
            for sums, more in ((ours.residual, theirs.residual), (ours.target, theirs.target)):
                sums.update({k: sums.get(k, 0.0) + x for k, x in more.items()})
        for name, (total, pairs) in part.covariances.items():
            known, count = out.covariances.get(name, (np.zeros(0), np.zeros(0)))
            longer = max(len(known), len(total))
            out.covariances[name] = tuple(
                np.pad(x, (0, longer - len(x))) + np.pad(y, (0, longer - len(y)))
                for x, y in ((known, total), (count, pairs)))
    return out


def _temperature(recording: Recording) -> float | None:
    """Return the mean of all temperature topics [deg C], None where there is none."""
    values = [c.fields['temperature'] for c in recording.of_type(TEMPERATURE).values() if len(c)]
    means = [float(np.nanmean(v)) for v in values if np.isfinite(v).any()]
    return float(np.mean(means)) if means else None
