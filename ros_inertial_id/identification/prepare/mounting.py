"""
The robot of a recording, mounted as the options, the recording or an IMU say, and what that shows.

Gravity along the first axis hides first moments (the VBS of Troebinger et al.); gravity in
general directions shows all there are (their generalized set, GBS).  A model predicts under
another mounting exactly when every base parameter of that mounting is a combination of those
that were identified.

Base parameters that are known are named as reports name them (mcxR2), which means something once
the robot is there: they are turned into the sums that they stand for.
"""

from collections.abc import Sequence
from dataclasses import replace
import re
from typing import Any

import numpy as np

from .description_choice import description_of
from .locked_joints import with_recorded_locks
from ..identified_model import IdentifiedModel
from ..settings import prediction_options
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.robot_model import gravity_from_mounting, STANDARD_GRAVITY
from ...errors import ConfigError, RecordingError, RobotModelError
from ...estimation.base_parameters import BaseParameters, find_base_parameters
from ...estimation.r_factors import one_thread, RFactors
from ...measurement.recording import Recording
from ...methods import DEFAULT_METHOD, METHODS
from ...methods.capabilities import ClosedLoops, KnownOptions
from ...methods.contract import Method
from ...options import described_blocks

SAMPLES = 3  # random samples per column: enough for any structure (PERFORMANCE.md)
SPAN = 1e-6  # relative residual of a combination that is inside the span of others
SAME = 0.02  # m/s^2, a tenth of a degree: the same mounting
IMU = 'sensor_msgs/msg/Imu'
WEAKEST = 4.0  # [m/s^2] of gravity that an IMU of a wrong scale may still show
AT_REST = 1.0  # [m/s^2] largest standard deviation of a base IMU that shows gravity
NAME = re.compile(r'^\s*([A-Za-z]+R\d+)(?=\s|=|$)')


def robot_of(
    recording: Recording, options: Any, urdf: str = '', method: str = DEFAULT_METHOD
) -> Any:
    """
    Return the Robot of a Recording, mounted as the options or the recording say.

    urdf : text of the description, '' for the recording's own
    RecordingError where there is no description, or an IMU that was not at rest.
    RobotModelError where it says how its loops close and the options do not.
    """
    text = urdf or description_of(recording, options)
    if not text:
        raise RecordingError(
            'no robot description',
            found='none in the recording',
            do='give --urdf, or record robot_description; it is in the first file of a split bag',
        )
    own = described_blocks(text)
    if own and (method not in own or own[method].get('closures') and not options.closures):
        raise RobotModelError(
            'the robot description says how its loops close and which joints are driven',
            found=f'method {method}, options without it',
            expected=f'method {next(iter(own))}',
            do='give it with --urdf (urdf_file of a node) and without --method',
        )
    mounting = options.mounting or recording.mounting or 'upright'
    build = METHODS[method].build
    options = with_recorded_locks(recording, options, text)
    imu = None
    if mounting.strip() == 'imu':
        imu = imu_gravity(recording, build(text, options, gravity_from_mounting('upright')))
    return build(text, options, gravity_from_mounting(mounting, imu, options.gravity_magnitude))


def imu_gravity(recording: Recording, robot: Any) -> np.ndarray | None:
    """
    Return gravity (3,) in the base frame by the mean of a base IMU [m/s^2], None without one.

    recording : with the IMU's topic; robot : with the IMU's frame, where it is not the base's
    (a header without a frame is taken for the base)

    Raises RecordingError for readings that are not finite or not at rest, and for a frame that
    the description does not have or that moves.
    """
    for channel in recording.of_type(IMU).values():
        force = channel.fields['linear_acceleration']
        wrong = ~np.isfinite(force).all(1)
        if wrong.any():
            raise RecordingError(
                f'the base IMU {channel.topic} is not finite',
                found=f'{int(wrong.sum())} of {len(force)} messages',
            )
        mean, shake = force.mean(0), force.std(0).max()
        if shake > AT_REST:
            raise RecordingError(
                f'the base IMU {channel.topic} was not at rest',
                expected=f'a standard deviation below {AT_REST} m/s^2',
                found=f'{shake:.2f} m/s^2',
            )
        if np.linalg.norm(mean) < WEAKEST:
            raise RecordingError(
                f'the base IMU {channel.topic} shows no gravity',
                expected=f'about 9.81 m/s^2, at least {WEAKEST}',
                found=f'{np.linalg.norm(mean):.3g} m/s^2',
            )
        return -(_rotation_of(channel, robot) @ mean)
    return None


def _rotation_of(channel, robot):
    """Return the rotation (3, 3) of a base IMU's frame in the base."""
    if not channel.frame_id:
        return np.eye(3)
    frames = {f.name: f for f in robot.pin_model.frames}
    frame = frames.get(channel.frame_id)
    fixed = [name for name, f in frames.items() if f.parentJoint == 0]
    if frame is None:
        raise RecordingError(
            f'the base IMU {channel.topic} is in a frame that the description does not have',
            found=channel.frame_id,
            exists=fixed,
            do='add its link to the URDF, or give the mounting as rpy or gravity',
        )
    if frame.parentJoint != 0:
        raise RecordingError(
            f'the IMU {channel.topic} sits on a moving link',
            exists=fixed,
            found=channel.frame_id,
            expected='one on the base',
            do='give the mounting as rpy or gravity',
        )
    return frame.placement.rotation


def check_robot(model: IdentifiedModel, robot: Any) -> None:
    """Raise RobotModelError when the model knows too little of a robot, as it is mounted."""
    if tuple(model.robot['joints']) != robot.joint_names:
        raise RobotModelError(
            'the model is of another robot',
            do='use its own model file',
            expected=model.robot['joints'],
            found=robot.joint_names,
        )
    if model.robot['kinematics_sha256'] != robot.kinematics_sha256():
        raise RobotModelError(
            f'the model is of robot {model.robot["name"]!r} with other kinematics',
            found=f'robot {robot.name!r}, same joint names but other axes or placements',
        )
    method, options = METHODS[model.method], prediction_options(model)
    columns = [(p.name, p.unit, p.owner, p.law) for p in model.parameters]
    there = [(p.name, p.unit, p.owner, p.law) for p in method.parameters(robot, options)]
    bodies = [column for column in there if not column[3]]
    if [c for c in columns if not c[3]] != bodies or not set(columns) <= set(there):
        raise RobotModelError(
            'the parameters of the model are not those of its robot',
            found=sorted({c[0] for c in set(columns) ^ set(bodies) - set(there)}),
            do='take the file as it was written',
        )
    state = method.random_state(robot, 2, np.random.default_rng(0))
    for where, quantities in method.validity_range(state, robot).items():
        lacking = set(quantities) - set(model.validity_range.get(where, ()))
        if lacking:
            raise RobotModelError(
                f'the validity_range of the model lacks {where}',
                found=f'no {", ".join(sorted(lacking))}',
                do='take the file as it was written',
            )
    check_mounting(method, model, options, robot)


def with_sums(recordings: Sequence[Recording], options: Any, method: str, urdf: str) -> Any:
    """
    Return the options with base parameters among the ``known`` ones written as sums.

    recordings : whose mountings decide the base parameters
    urdf : text, '' for that of the recordings
    ConfigError where there is no such base parameter.
    """
    if not isinstance(options, KnownOptions) or not any(map(NAME.match, options.known)):
        return options
    bare = replace(options, known=())
    robots = [robot_of(recording, bare, urdf, method) for recording in recordings]
    columns = [p for p in METHODS[method].parameters(robots[0], bare) if not p.law]
    base = structural_base(METHODS[method], robots, columns)
    sums = dict(zip(base.names(), base.groupings()))

    def written(line):
        match = NAME.match(line)
        if not match:
            return line
        if match[1] not in sums:
            raise ConfigError('option known', found=match[1], exists=list(sums))
        terms = ' + '.join(
            f'{np.format_float_positional(c)} {name}' for name, c in sums[match[1]].items()
        ).replace('+ -', '- ')
        return f'{terms} = {line[match.end() :].strip(" =") or "0"}'

    return replace(options, known=tuple(map(written, options.known)))


def structural_base(
    method: Method, robots: Sequence[Any], parameters: Sequence[Parameter]
) -> BaseParameters:
    """Return the BaseParameters of random motion of ``robots``, each as it is mounted."""
    rng = np.random.default_rng(0)
    factors, keep = RFactors(len(parameters)), np.arange(len(parameters))
    for robot in robots:
        state = method.random_state(robot, -(-SAMPLES * len(parameters) // len(robots)), rng)
        for block in method.regress(state, robot, parameters):
            factors.accumulate(block, keep)
    return find_base_parameters(factors.system()[0], parameters)


def rank_of_bodies(method: Method, robots: Sequence[Any], base: BaseParameters) -> dict[str, int]:
    """
    Return {'rank_of_bodies': by the rows, 'rank_by_energy': by the gradient of the energy}.

    Two ways to one number (Gautier 1991): where they differ the structure is not certain.
    Nothing is returned where no loops are closed.

    base : BaseParameters that it returned
    """
    if not isinstance(method, ClosedLoops):
        return {}
    bodies = [p for p in base.parameters if not p.law]
    rng = np.random.default_rng(1)  # other states than those of the rows
    rows = [method.energy_rows(robot, bodies, SAMPLES * len(bodies), rng) for robot in robots]
    by_rows = sum(not base.parameters[k].law for k in base.independent)
    return {
        'rank_of_bodies': by_rows,
        'rank_by_energy': len(find_base_parameters(np.concatenate(rows), bodies)),
    }


def any_mounting(method: Method, urdf: str, options: Any) -> list[Any]:
    """Return robots under three gravities that together show the generalized base set."""
    return [method.build(urdf, options, STANDARD_GRAVITY * axis) for axis in np.eye(3)]


def unknown(known: BaseParameters, wanted: BaseParameters) -> np.ndarray:
    """Return the indices (k,) of base parameters ``wanted`` that ``known`` ones do not give."""
    scales = np.array([p.scale for p in wanted.parameters])
    span, targets = (
        K / np.linalg.norm(K, axis=1)[:, None]
        for K in (base.matrix() / scales for base in (known, wanted))
    )
    basis, _ = np.linalg.qr(span.T)
    outside = np.linalg.norm(targets - (targets @ basis) @ basis.T, axis=1)
    return np.flatnonzero(outside > SPAN)


def mounting_parameters(
    method: Method, urdf: str, options: Any, base: BaseParameters
) -> dict[str, list[str]]:
    """
    Return names of generalized parameters, {known, missing: [...]} where rows show ``base``.

    A missing one whose name stands for another sum in ``base`` comes with its own: the weight of a
    slide tells it from the rotor that drives it only where it hangs.
    """
    general = structural_base(method, any_mounting(method, urdf, options), base.parameters)
    lacking = set(unknown(base, general).tolist())
    names, shown = general.names(), set(base.names())
    missing = [
        f'{n} = {words}' if n in shown else n
        for k, (n, words) in enumerate(zip(names, general.expressions()))
        if k in lacking
    ]
    return {'known': [n for k, n in enumerate(names) if k not in lacking], 'missing': missing}


def check_mounting(method: Method, model: IdentifiedModel, options: Any, robot: Any) -> None:
    """Raise RobotModelError that names what lacks to predict ``robot``, as it is mounted."""
    known = [np.array(g) for g in model.mounting['gravity_base']]
    if any(np.allclose(robot.gravity_base, g, atol=SAME) for g in known):
        return
    with one_thread():
        before = structural_base(
            method,
            [method.build(model.robot['urdf'], options, g) for g in known],
            model.parameters,
        )
        now = structural_base(method, [robot], model.parameters)
    lacking = unknown(before, now)
    if lacking.size:
        names, words = now.names(), now.expressions()
        raise RobotModelError(
            'this mounting needs parameters that were not identified',
            found=[f'{names[k]} = {words[k]}' for k in lacking],
            expected=f'gravity_base as in {model.mounting["gravity_base"]}, not '
            f'{np.round(robot.gravity_base, 3).tolist()}',
            do='identify with a recording under this mounting too',
        )


def turned(direction: np.ndarray, across: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Return unit ``direction`` (3,) turned by ``angles`` (2,) [rad] towards ``across`` (3, 2)."""
    moved = direction + across @ angles
    return np.asarray(moved / np.linalg.norm(moved))


def across_gravity(gravity: np.ndarray) -> np.ndarray:
    """Return unit vectors (3, 2) across ``gravity`` (3,), their cross product along it."""
    direction = gravity / np.linalg.norm(gravity)
    Q, _ = np.linalg.qr(np.column_stack([direction, np.eye(3)[:, np.argsort(np.abs(direction))]]))
    across = Q[:, 1:3]
    return across if np.cross(*across.T) @ direction > 0.0 else across[:, ::-1]
