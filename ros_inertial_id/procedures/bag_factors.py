"""
The wide factor of one recording, kept in a file and found again by content and plan.

A file holds a line (JSON) and all numbers, of R factors the upper triangles, in double precision,
so that what is read is what was computed to the last bit.  It is mapped into memory: who merges
one stretch of a thousand recordings reads that stretch.  Of a bag that is left out it holds the
reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
import functools
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs

from .plan import Plan
from ..errors import RecordingError
from ..estimation.r_factors import GroupFactor, one_thread, RFactors
from ..identification.files import replace_file
from ..identification.identified_model import IdentifiedModel, plain
from ..identification.model.held_laws import HeldRows, rows_structure
from ..identification.prepare.dataset import check_one_robot, Dataset, training_states
from ..identification.prepare.mounting import robot_of
from ..identification.reduce.stretches import Numbers, STRETCHES
from ..identification.reduce.structure import Structure
from ..identification.reduce.wide_factor import wide_factor, WideFactor
from ..measurement.joints.observation import within_rate
from ..measurement.recording import Recording
from ..methods import METHODS


def factors_of(recording: Recording, plan: Plan) -> tuple[WideFactor, dict[str, Any]]:
    """
    Return the WideFactor of a ``recording`` under a ``plan``, and its notes.

    Notes are summary, provenance, mounting, gravity_base, start_s (since 1970) and samples (of
    training).
    RecordingError where it cannot be used, RobotModelError where it is of another robot.
    """
    with one_thread():
        data = dataset_of(recording, plan)
        wide = wide_factor(data, plan.structure)
    return wide, {
        'summary': data.first.summary.entry(),
        'provenance': dict(recording.provenance),
        'mounting': recording.mounting,
        'gravity_base': data.robot.gravity_base.tolist(),
        'start_s': recording.origin_ns() * 1e-9,
        'samples': data.samples(training=True),
    }


def dataset_of(recording: Recording, plan: Plan) -> Dataset:
    """
    Return the Dataset of a ``recording`` as a ``plan`` has it read.

    RecordingError where it cannot be used, RobotModelError where it is of another robot.
    """
    method, options = METHODS[plan.method], plan.options
    robot = robot_of(recording, options, plan.urdf)
    if recording.robot_description:
        check_one_robot(
            [robot, robot_of(recording, options)],
            [Recording({}, provenance={'path': 'the plan'}), recording],
        )
    observation = method.observe(recording, robot, options)
    if not plan.asked.cutoff:
        observation = within_rate(observation, options.decimate)
    if observation.summary.velocity != options.velocity:
        raise RecordingError(
            'the recording has other velocities than the first ones',
            expected=options.velocity,
            found=observation.summary.velocity,
        )
    return Dataset(
        method,
        (robot,),
        (observation,),
        options,
        recordings=(recording,),
        training=training_states((observation,)),
    )


def key_of(content: str, window: tuple[float | None, float | None], plan: str) -> str:
    """Return the name of factors by hashes of bag ``content`` and ``plan``, and ``window`` [s]."""
    return hashlib.sha256(json.dumps([content, window, plan]).encode()).hexdigest()[:40]


def cache_folder(cache: str = '') -> Path:
    """Return the folder of what is kept: ``cache``, by default the user's cache."""
    return Path(cache or platformdirs.user_cache_dir('ros_inertial_id'))


def keep(path: Path, content: bytes) -> None:
    """Write ``content`` as the file ``path``; OSError where there is no room."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content)


_triangle = functools.cache(np.triu_indices)


def write_factors(path: Path, notes: Mapping[str, Any], wide: WideFactor | None = None) -> None:
    """Write ``notes`` of a recording, and its WideFactor if any, as ``path``; OSError: no room."""
    header: dict[str, Any] = {'notes': notes}
    arrays = [np.zeros(0)]
    if wide is not None:
        (stretch_numbers,) = wide.numbers
        header.update(
            stride=stretch_numbers.stride,
            numbers=len(stretch_numbers.number),
            gravity_columns=wide.gravity_columns,
            joints=wide.joints,
            size=wide.total.size,
            ranges=wide.ranges,
            groups=[[name, g.unit, g.columns] for name, g in wide.total.groups.items()],
            rows=[_sample_counts(factors) for factors in wide.by_number],
        )
        arrays = [stretch_numbers.number, wide.speed, wide.distance]
        for factors in wide.by_number:
            present = [factors.groups[name] for name in wide.groups if name in factors.groups]
            arrays += [group.R[_triangle(len(group.R))] for group in present]
    numbers = np.concatenate(arrays).astype('<f8')
    header['count'] = len(numbers)
    keep(path, json.dumps(plain(header)).encode() + b'\n' + numbers.tobytes())


def write_rows(path: Path, model: IdentifiedModel, rows: HeldRows) -> None:
    """Write the ``rows`` kept of a ``model`` as ``path``; OSError: no room."""
    no_numbers = (Numbers(np.zeros(0, np.int8), 1),)  # of stretches: no recording is read again
    write_factors(path, {'model': fingerprint(model)}, replace(rows.wide, numbers=no_numbers))


def read_rows(path: Path, model: IdentifiedModel) -> HeldRows:
    """Return the rows of a ``model`` in the file ``path``; ValueError where it holds none."""
    if read_notes(path).get('model') != fingerprint(model):
        raise ValueError(f'{path} holds the rows of another model')
    return HeldRows(read_factors(path, rows_structure(model)))


def fingerprint(model: IdentifiedModel) -> str:
    """Return a hash of the numbers and the robot of a ``model``."""
    text = json.dumps([model.robot['urdf'], model.values.tolist()])
    return hashlib.sha256(text.encode()).hexdigest()


def _sample_counts(factors: RFactors) -> dict[str, float]:
    """Return {joint: samples that its triangle stands for}."""
    return {name: group.rows for name, group in factors.groups.items()}


def read_notes(path: str | Path) -> dict[str, Any]:
    """Return the notes in the file ``path``; ValueError where there is none, or cut short."""
    return dict(_read(path)[0]['notes'])


def read_factors(
    path: str | Path, structure: Structure, numbers: Sequence[int] = range(STRETCHES)
) -> WideFactor:
    """
    Return the WideFactor in the file ``path``, of some stretches.

    structure : of the plan that it was written by; numbers : of the stretches
    ValueError where it holds none.
    """
    header, content = _read(path)
    if 'groups' not in header:
        raise ValueError(f'{path} holds no factors: {header["notes"]}')
    end, size = header['numbers'], header['size']
    stretch_numbers = Numbers(np.array(content[:end], np.int8), header['stride'])
    speed, distance = np.array(content[end : end + 2 * STRETCHES]).reshape(2, STRETCHES)
    end += 2 * STRETCHES
    factors = [RFactors(size) for _ in range(STRETCHES)]
    for number, rows in enumerate(header['rows']):
        for name, unit, columns in header['groups']:
            if name not in rows:
                continue
            k = len(columns) + 2
            begin, end = end, end + k * (k + 1) // 2
            if number in numbers:
                R = np.zeros((k, k), order='F')
                R[_triangle(k)] = content[begin:end]
                factors[number].groups[name] = GroupFactor(unit, np.array(columns), R, rows[name])
    return WideFactor(
        structure,
        tuple(factors),
        np.array(header['gravity_columns'], int),
        header['joints'],
        header['joints'] > 0,
        (stretch_numbers,),
        speed,
        distance,
        header['ranges'],
    )


def _read(path: str | Path) -> tuple[dict[str, Any], np.ndarray]:
    """Return header and numbers of the file ``path``; ValueError where it is not whole."""
    try:
        with open(path, 'rb') as file:
            header = json.loads(file.readline())
            begin, count = file.tell(), int(header['count'])
        if os.stat(path).st_size != begin + 8 * count:
            raise ValueError('cut short')
        if not count:
            return header, np.zeros(0)
        return header, np.memmap(path, '<f8', 'r', begin, (count,))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f'{path} holds no factors') from error
