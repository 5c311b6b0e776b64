"""
BagFactors: what one recording says, as R factors that merge with those of any other, and kept.

Columns are those of the plan's structure (base parameters under any mounting, friction laws and
constants that are tried), then the torque by a tilt of gravity about two axes.

They are kept in a cache and found again by content and plan.  A file holds a line (JSON) and all
numbers, of R factors the upper triangles, in double precision, so that what is read is what was
computed to the last bit.  Of a bag that is left out it holds the reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
import functools
import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import platformdirs

from .plan import Plan
from .stretches import FEW, Motion, motion_of, THIN, thinning
from .structure import choose_alternatives
from .tilted_rows import rows_and_tilts, with_tilts
from ..identified_model import plain
from ..judge.validation import evaluate
from ..passes import accumulate, Accumulated, blocks_of
from ..prepare.dataset import check_one_robot, Dataset, training_states
from ..prepare.robot import robot_of
from ...dynamics.regressor import RegressorBlock
from ...errors import RecordingError
from ...estimation.cross_validation import FOLDS
from ...estimation.estimators import Problem, ridge
from ...estimation.gravity_search import across_gravity
from ...estimation.r_factors import GroupFactor, merge, one_thread, RFactors
from ...estimation.residuals import Fit, Residuals
from ...measurement.joints.observation import within_rate
from ...measurement.recording import nothing_left, Recording
from ...methods import METHODS

LAGS = 512  # of the autocovariance of residuals, kept


@dataclass(frozen=True)
class BagFactors:
    """
    What one recording says about the columns of a Plan.

    stretches : RFactors of FOLDS parts of the time, about the plan's places and two tilts
    residuals : of the recording's own estimate
    motion : Motion of its training samples, every one or one in THIN
    ranges : joint -> {q, v, a: [smallest, largest]}
    notes : summary, provenance, mounting, gravity_base, start_s (since 1970), samples
        (of training)
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
            raise nothing_left()
        residuals = _residuals(data, plan, rows.folds)
        samples = data.samples(training=True)
        motion = motion_of(data, thinning(samples) if samples >= THIN * FEW else 1)
    summary = data.observations[0].summary
    return BagFactors(tuple(rows.folds), residuals, rows.ranges, motion, {
        'summary': dict(summary), 'provenance': dict(recording.provenance),
        'mounting': recording.mounting, 'gravity_base': data.robot.gravity_base.tolist(),
        'start_s': recording.origin_ns() * 1e-9, 'samples': samples})


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
    return Dataset(method, (robot,), (observation,), options, recordings=(recording,),
                   training=training_states((observation,)))


def _accumulated(data: Dataset, plan: Plan) -> Accumulated:
    """Return the Accumulated rows about the plan's places and two tilts."""
    structure, values = plan.structure, np.array(plan.links)
    size, across = int(structure.keep.max()) + 1, across_gravity(data.robot.gravity_base)

    def regress(state: Any, robot: Any) -> Iterator[RegressorBlock]:
        for block, tilts in rows_and_tilts(data.method, state, robot, structure.columns, values,
                                           across):
            yield with_tilts(block, tilts, structure.keep)

    folds, ranges = [RFactors(size + 2) for _ in range(FOLDS)], dict[str, Any]()
    for _ in accumulate(folds, blocks_of(data, regress, ranges), np.arange(size + 2), data):
        pass
    return Accumulated([f for f in folds if f.groups], ranges)


def _residuals(data: Dataset, plan: Plan, stretches: Sequence[RFactors]) -> Residuals:
    """Return the Residuals of the recording's own estimate."""
    places = np.arange(stretches[0].size - 2)
    base, folds, *_ = choose_alternatives(plan.structure, [f.select(places) for f in stretches])
    draft = ridge(Problem(merge(folds), base, {}))
    residuals, _, _ = evaluate(data, base.parameters, base.standard(draft.params), True)
    residuals.covariances = {name: (total[:LAGS], pairs[:LAGS])
                             for name, (total, pairs) in residuals.covariances.items()}
    return residuals


def key_of(content: str, window: tuple[float | None, float | None], plan: str) -> str:
    """
    Return the name under which factors are kept.

    content : hash of the bag; window : its start and end [s] or None; plan : key of the Plan
    """
    return hashlib.sha256(json.dumps([content, window, plan]).encode()).hexdigest()[:40]


def cache_folder(cache: str = '') -> Path:
    """Return the folder of what is kept: ``cache``, by default the user's cache."""
    return Path(cache or platformdirs.user_cache_dir('ros_inertial_id'))


def keep(path: Path, content: bytes) -> None:
    """Write ``content`` as the file ``path``; OSError where there is no room."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Beside its place, then moved: who reads meanwhile sees all of it or nothing.
    beside = path.with_name(f'.{uuid4().hex}')
    try:
        beside.write_bytes(content)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def write_factors(path: Path, factors: BagFactors | str) -> None:
    """
    Write ``factors``, or the reason why a bag is left out, as the file ``path``.

    OSError where there is no room.
    """
    arrays, header = ({}, {'reason': factors}) if isinstance(factors, str) else _packed(factors)
    header['shapes'] = {name: np.shape(a) for name, a in arrays.items()}
    numbers = np.concatenate([np.zeros(0), *(np.ravel(a) for a in arrays.values())])
    keep(path, json.dumps(plain(header)).encode() + b'\n' + numbers.astype('<f8').tobytes())


def read_factors(path: str | Path) -> BagFactors:
    """Return the BagFactors in the file ``path``; ValueError where it holds none."""
    found = read_kept(path)
    if isinstance(found, str):
        raise ValueError(f'{path} holds no factors: {found}')
    return found


def read_kept(path: str | Path) -> BagFactors | str:
    """
    Return the BagFactors in the file ``path``, or the reason why its bag is left out.

    ValueError where it holds neither: there is none, or it was cut short.
    """
    try:
        line, _, numbers = Path(path).read_bytes().partition(b'\n')
        header, arrays, end = json.loads(line), dict[str, np.ndarray](), 0
        for name, shape in header['shapes'].items():
            count = math.prod(shape)
            arrays[name] = np.frombuffer(numbers, '<f8', count, end).reshape(shape)
            end += 8 * count
        return str(header['reason']) if 'reason' in header else _unpacked(header, arrays)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f'{path} holds no factors') from error


_triangle = functools.cache(np.triu_indices)


def _packed(factors: BagFactors) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return all arrays by name, and what the header says of them."""
    arrays: dict[str, Any] = {}
    stretches = []
    for k, stretch in enumerate(factors.stretches):
        for name, g in stretch.groups.items():
            arrays[f'R {k} {name}'] = g.R[_triangle(len(g.R))]
        stretches.append({'size': stretch.size, 'groups': [
            [name, g.unit, g.columns.tolist(), g.rows] for name, g in stretch.groups.items()]})
    for name, (total, pairs) in factors.residuals.covariances.items():
        arrays[f'total {name}'], arrays[f'pairs {name}'] = total, np.asarray(pairs, dtype=float)
    motion = factors.motion
    arrays.update(q=motion.q, v=motion.v, t=motion.t)
    kinds = {kind: vars(getattr(factors.residuals, kind)) for kind in ('filtered', 'raw')}
    return arrays, {'stretches': stretches, 'residuals': kinds, 'counts': motion.counts,
                    'lags': list(factors.residuals.covariances),
                    'ranges': factors.ranges, 'notes': factors.notes}


def _unpacked(header: dict[str, Any], file: Mapping[str, np.ndarray]) -> BagFactors:
    """Return the BagFactors of a header and the arrays in a file; KeyError where one lacks."""
    stretches = []
    for number, stretch in enumerate(header['stretches']):
        groups = {}
        for name, unit, columns, rows in stretch['groups']:
            k = len(columns) + 2
            R = np.zeros((k, k), order='F')
            R[_triangle(k)] = file[f'R {number} {name}']
            groups[name] = GroupFactor(unit, np.array(columns, dtype=int), R, rows)
        stretches.append(RFactors(stretch['size'], groups))
    kinds = header['residuals']
    residuals = Residuals(Fit(**kinds['filtered']), Fit(**kinds['raw']), {
        name: (file[f'total {name}'], file[f'pairs {name}']) for name in header['lags']})
    motion = Motion(file['q'], file['v'], file['t'], tuple(header['counts']))
    return BagFactors(tuple(stretches), residuals, header['ranges'], motion, header['notes'])
