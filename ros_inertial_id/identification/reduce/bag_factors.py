"""
BagFactors: what one recording says, as R factors that merge with those of any other.

Columns are those of the plan's structure (base parameters under any mounting, friction laws and
constants that are tried), then the torque by a tilt of gravity about two axes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .plan import Plan
from .stretches import FEW, Motion, motion_of, THIN, thinning, with_tilts
from .structure import choose_alternatives
from ..choose.gravity_direction import across_gravity
from ..judge.validation import evaluate
from ..passes import accumulate, Accumulated, blocks_of
from ..prepare.dataset import Dataset
from ..prepare.robot import robot_of
from ..prepare.training_data import check_one_robot
from ...dynamics.regressor import RegressorBlock
from ...errors import RecordingError
from ...estimation.cross_validation import FOLDS
from ...estimation.estimators import Problem, ridge
from ...estimation.r_factors import merge, one_thread, RFactors
from ...estimation.residuals import Residuals
from ...measurement.joints.observation import within_rate
from ...measurement.recording import Recording
from ...methods import METHODS

LAGS = 512  # of the autocovariance of residuals, kept
TEMPERATURE = 'sensor_msgs/msg/Temperature'


@dataclass(frozen=True)
class BagFactors:
    """
    What one recording says about the columns of a Plan.

    stretches : RFactors of FOLDS parts of the time, about the plan's places and two tilts
    residuals : of the recording's own estimate
    motion : Motion of its training samples, every one or one in THIN
    ranges : joint -> {q, v, a: [smallest, largest]}
    notes : summary, provenance, mounting, gravity_base, start_s (since 1970), span_s,
        samples (of training), temperature (mean [deg C] or None)
    """

    stretches: tuple[RFactors, ...]
    residuals: Residuals
    ranges: Mapping[str, Any]
    motion: Motion
    notes: Mapping[str, Any]


def factors_of(recording: Recording, plan: Plan) -> BagFactors:
    """
    Return the BagFactors of a ``recording`` under a ``plan``.

    RecordingError where it cannot be used, RobotModelError where it is of another robot.
    """
    with one_thread():
        data = dataset_of(recording, plan)
        rows = _accumulated(data, plan)
        if not rows.folds:
            raise RecordingError('the recording is too short',
                                 found='no samples left after filtering')
        residuals = _residuals(data, plan, rows.folds)
        samples = data.samples(training=True)
        motion = motion_of(data, thinning(samples) if samples >= THIN * FEW else 1)
    summary = data.observations[0].summary
    return BagFactors(tuple(rows.folds), residuals, rows.ranges, motion, {
        'summary': dict(summary), 'provenance': dict(recording.provenance),
        'mounting': recording.mounting, 'gravity_base': data.robot.gravity_base.tolist(),
        'start_s': recording.origin_ns() * 1e-9, 'span_s': float(summary['duration']),
        'samples': samples, 'temperature': _temperature(recording)})


def dataset_of(recording: Recording, plan: Plan) -> Dataset:
    """
    Return the Dataset of a ``recording`` as a ``plan`` has it read.

    RecordingError where it cannot be used, RobotModelError where it is of another robot.
    """
    method, options = METHODS[plan.method], plan.options
    robot = robot_of(recording, options, plan.urdf)
    if recording.robot_description:
        check_one_robot([robot, robot_of(recording, options)], [
            Recording({}, provenance={'path': 'the plan'}), recording])
    observation = method.observe(recording, robot, options)
    if not plan.asked.cutoff:
        observation = within_rate(observation, options.decimate)
    if observation.summary['velocity'] != options.velocity:
        raise RecordingError('the recording has other velocities than the first ones',
                             expected=options.velocity, found=observation.summary['velocity'])
    return Dataset(method, (robot,), (observation,), options, recordings=(recording,))


def _accumulated(data: Dataset, plan: Plan) -> Accumulated:
    """Return the Accumulated rows about the plan's places and two tilts."""
    structure, robot, values = plan.structure, data.robot, np.array(plan.links)
    size, bodies = int(structure.keep.max()) + 1, structure.columns[:len(values)]
    pulled = [replace(robot, gravity_base=np.linalg.norm(robot.gravity_base) * d)
              for d in across_gravity(robot.gravity_base).T]

    def regress(state: Any, robot: Any) -> Iterator[RegressorBlock]:
        still = replace(state, v=np.zeros_like(state.v), a=np.zeros_like(state.a))
        for block, *tilts in zip(data.method.regress(state, robot, structure.columns),
                                 *(data.method.regress(still, r, bodies) for r in pulled)):
            yield with_tilts(block, [{g.name: g.W @ values[g.columns] for g in b.groups}
                                     for b in tilts], structure.keep)

    folds, ranges = [RFactors(size + 2) for _ in range(FOLDS)], dict[str, Any]()
    for _ in accumulate(folds, blocks_of(data, regress, ranges), np.arange(size + 2), data):
        pass
    return Accumulated([f for f in folds if f.groups], ranges)


def _residuals(data: Dataset, plan: Plan, stretches: Sequence[RFactors]) -> Residuals:
    """Return the Residuals of the recording's own estimate."""
    places = np.arange(stretches[0].size - 2)
    base, folds, _ = choose_alternatives(plan.structure, [f.select(places) for f in stretches])
    draft = ridge(Problem(merge(folds), base, {}))
    residuals, _, _ = evaluate(data, base.parameters, base.standard(draft.params), True)
    residuals.covariances = {name: (total[:LAGS], pairs[:LAGS])
                             for name, (total, pairs) in residuals.covariances.items()}
    return residuals


def _temperature(recording: Recording) -> float | None:
    """Return the mean of all temperature topics [deg C], None where there is none."""
    values = [c.fields['temperature'] for c in recording.of_type(TEMPERATURE).values() if len(c)]
    means = [float(np.nanmean(v)) for v in values if np.isfinite(v).any()]
    return float(np.mean(means)) if means else None
