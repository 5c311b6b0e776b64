"""
The robot of a recording, mounted as the options, the recording or an IMU say, and what that shows.

Gravity along the first axis hides first moments (the VBS of Troebinger et al.); gravity in
general directions shows all there are (their generalized set, GBS).  A model predicts under
another mounting exactly when every base parameter of that mounting is a combination of those
that were identified.

Base parameters that are known are named as reports name them (mcxR2), which means something once
the robot is there: they are turned into the sums that they stand for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
import math
from operator import attrgetter
import re
from typing import Any

import numpy as np

from .description_choice import description_of
from .locked_joints import with_recorded_locks
from ..identified_model import IdentifiedModel
from ..settings import prediction_options
from ...dynamics.friction import as_step
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.robot_model import gravity_from_mounting, STANDARD_GRAVITY
from ...errors import ConfigError, RecordingError, RobotModelError
from ...estimation.base_parameters import BaseParameters, find_base_parameters
from ...estimation.r_factors import one_thread, RFactors
from ...measurement.recording import Channel, Recording
from ...methods import DEFAULT_METHOD, METHODS
from ...methods.capabilities import ClosedLoops, KnownOptions
from ...methods.contract import Method
from ...options import described_blocks

SAMPLES_PER_COLUMN = 3  # random ones: enough for any structure (PERFORMANCE.md)
OUTSIDE_SPAN = 1e-6  # relative residual of a combination that is no combination of others
SAME_GRAVITY = 0.02  # m/s^2, a tenth of a degree: the same mounting
IMU = 'sensor_msgs/msg/Imu'
WEAKEST_GRAVITY = 4.0  # [m/s^2] that an IMU of a wrong scale may still show
MOST_SHAKING = 1.0  # [m/s^2] largest standard deviation of a base IMU that shows gravity
IDENTITY = attrgetter('name', 'unit', 'owner', 'law')  # of a Parameter
BASE_PARAMETER_NAME = re.compile(r'^\s*([A-Za-z]+R\d+)(?=\s|=|$)')


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
    _check_closures(text, options, method)
    options = with_recorded_locks(recording, options, text)
    build = METHODS[method].build
    mounting = options.mounting or recording.mounting or 'upright'
    measured = None
    if mounting.strip() == 'imu':
        upright = build(text, options, gravity_from_mounting('upright'))
        measured = imu_gravity(recording, upright)
    gravity = gravity_from_mounting(mounting, measured, options.gravity_magnitude)
    return build(text, options, gravity)


def _check_closures(urdf: str, options: Any, method: str) -> None:
    """Raise RobotModelError where a ``urdf`` says how its loops close and the options do not."""
    described = described_blocks(urdf)
    if not described:
        return
    if method in described:
        closures = described[method].get('closures')
        if not closures or options.closures:
            return
    raise RobotModelError(
        'the robot description says how its loops close and which joints are driven',
        found=f'method {method}, options without it',
        expected=f'method {next(iter(described))}',
        do='give it with --urdf (urdf_file of a node) and without --method',
    )


def imu_gravity(recording: Recording, robot: Any) -> np.ndarray | None:
    """
    Return gravity (3,) in the base frame by the mean of a base IMU [m/s^2], None without one.

    recording : with the IMU's topic; robot : with the IMU's frame, where it is not the base's
    (a header without a frame is taken for the base)

    Raises RecordingError for readings that are not finite or not at rest, and for a frame that
    the description does not have or that moves.
    """
    channel = next(iter(recording.of_type(IMU).values()), None)
    if channel is None:
        return None
    force = channel.fields['linear_acceleration']
    finite = np.isfinite(force).all(1)
    if not finite.all():
        raise RecordingError(
            f'the base IMU {channel.topic} is not finite',
            found=f'{np.count_nonzero(~finite)} of {len(force)} messages',
        )
    shaking = force.std(0).max()
    if shaking > MOST_SHAKING:
        raise RecordingError(
            f'the base IMU {channel.topic} was not at rest',
            expected=f'a standard deviation below {MOST_SHAKING} m/s^2',
            found=f'{shaking:.2f} m/s^2',
            do='let it rest; of a base that moves, identify with --method floating_base',
        )
    mean = force.mean(0)
    magnitude = np.linalg.norm(mean)
    if magnitude < WEAKEST_GRAVITY:
        raise RecordingError(
            f'the base IMU {channel.topic} shows no gravity',
            expected=f'about 9.81 m/s^2, at least {WEAKEST_GRAVITY}',
            found=f'{magnitude:.3g} m/s^2',
        )
    rotation = _rotation_of(channel, robot)
    return np.asarray(-(rotation @ mean))


def _rotation_of(channel: Channel, robot: Any) -> np.ndarray:
    """Return the rotation (3, 3) of a base IMU's frame in the base."""
    if not channel.frame_id:
        return np.eye(3)
    frames = {frame.name: frame for frame in robot.pin_model.frames}
    fixed = [name for name, frame in frames.items() if frame.parentJoint == 0]
    frame = frames.get(channel.frame_id)
    if frame is None:
        raise RecordingError(
            f'the base IMU {channel.topic} is in a frame that the description does not have',
            found=channel.frame_id,
            exists=fixed,
            do='add its link to the URDF, or give the mounting as rpy or gravity',
        )
    if channel.frame_id not in fixed:
        raise RecordingError(
            f'the IMU {channel.topic} sits on a moving link',
            exists=fixed,
            found=channel.frame_id,
            expected='one on the base',
            do='give the mounting as rpy or gravity',
        )
    rotation: np.ndarray = frame.placement.rotation
    return rotation


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
    method = METHODS[model.method]
    options = prediction_options(model)
    _check_columns(model, method.parameters(robot, options))
    state = method.random_state(robot, 2, np.random.default_rng(0))
    _check_validity_range(model, method.validity_range(state, robot))
    check_mounting(method, model, options, robot)


def _check_columns(model: IdentifiedModel, parameters: Sequence[Parameter]) -> None:
    """Raise RobotModelError unless a model has all ``parameters`` of bodies, of laws some."""
    identified_bodies = _identities(_of_bodies(model.parameters))
    bodies = _identities(_of_bodies(parameters))
    strange = set(_identities(model.parameters)) - set(_identities(parameters))
    if strange or identified_bodies != bodies:
        raise RobotModelError(
            'the parameters of the model are not those of its robot',
            found=sorted({p.name for p in model.parameters}),
            do='take the file as it was written',
        )


def _identities(parameters: Sequence[Parameter]) -> list[tuple[str, str, str, str]]:
    """Return name, unit, owner and law of parameters, whatever their values."""
    return list(map(IDENTITY, parameters))


def _of_bodies(parameters: Sequence[Parameter]) -> list[Parameter]:
    """Return those of ``parameters`` that are of bodies and not of friction laws."""
    return [p for p in parameters if not p.law]


def _check_validity_range(
    model: IdentifiedModel, ranges: Mapping[str, Mapping[str, np.ndarray]]
) -> None:
    """Raise RobotModelError where a model lacks a quantity of ``ranges``, {joint: {quantity}}."""
    for joint, quantities in ranges.items():
        lacking = set(quantities) - set(model.validity_range.get(joint, ()))
        if lacking:
            raise RobotModelError(
                f'the validity_range of the model lacks {joint}',
                found=f'no {", ".join(sorted(lacking))}',
                do='take the file as it was written',
            )


def with_sums(recordings: Sequence[Recording], options: Any, method: str, urdf: str) -> Any:
    """
    Return the options with base parameters among the ``known`` ones written as sums.

    recordings : whose mountings decide the base parameters
    urdf : text, '' for that of the recordings
    ConfigError where there is no such base parameter.
    """
    if not isinstance(options, KnownOptions):
        return options
    if not any(map(BASE_PARAMETER_NAME.match, options.known)):
        return options
    nothing_known = replace(options, known=())
    robots = [robot_of(recording, nothing_known, urdf, method) for recording in recordings]
    columns = _of_bodies(METHODS[method].parameters(robots[0], nothing_known))
    base = structural_base(METHODS[method], robots, columns)
    groupings = dict(zip(base.names(), base.groupings()))
    known = tuple(_as_sum(line, groupings) for line in options.known)
    return replace(options, known=known)


def _as_sum(line: str, groupings: Mapping[str, Mapping[str, float]]) -> str:
    """Return a ``line`` of ``known``, of a base parameter as the sum that it stands for."""
    match = BASE_PARAMETER_NAME.match(line)
    if match is None:
        return line
    name = match[1]
    if name not in groupings:
        raise ConfigError('option known', found=name, exists=list(groupings))
    terms = [f'{np.format_float_positional(c)} {p}' for p, c in groupings[name].items()]
    weighted_sum = ' + '.join(terms).replace('+ -', '- ')
    value = line[match.end() :].strip(' =') or '0'
    return f'{weighted_sum} = {value}'


def structural_base(
    method: Method, robots: Sequence[Any], parameters: Sequence[Parameter]
) -> BaseParameters:
    """
    Return the BaseParameters of random motion of ``robots``, each as it is mounted.

    Dry friction takes part as a step: a motor behind a fixed ratio changes sign when its joint
    does, so that of their dry friction only the sum exists.  Widths alone would tell them apart.
    """
    steps = [as_step(parameter) for parameter in parameters]
    rng = np.random.default_rng(0)
    factors = RFactors(len(parameters))
    columns = np.arange(len(parameters))
    samples = math.ceil(SAMPLES_PER_COLUMN * len(parameters) / len(robots))  # of each robot
    for robot in robots:
        state = method.random_state(robot, samples, rng)
        for block in method.regress(state, robot, steps):
            factors.accumulate(block, columns)
    rows = factors.system()[0]
    return find_base_parameters(rows, parameters)


def rank_of_bodies(method: Method, robots: Sequence[Any], base: BaseParameters) -> dict[str, int]:
    """
    Return {'rank_of_bodies': by the rows, 'rank_by_energy': by the gradient of the energy}.

    Two ways to one number (Gautier 1991): where they differ the structure is not certain.
    Nothing is returned where no loops are closed.

    base : BaseParameters of random motion of ``robots``, see ``structural_base``
    """
    if not isinstance(method, ClosedLoops):
        return {}
    bodies = _of_bodies(base.parameters)
    samples = SAMPLES_PER_COLUMN * len(bodies)
    rng = np.random.default_rng(1)  # other states than those of the rows
    rows = [method.energy_rows(robot, bodies, samples, rng) for robot in robots]
    by_energy = find_base_parameters(np.concatenate(rows), bodies)
    independent = [base.parameters[k] for k in base.independent]
    return {
        'rank_of_bodies': len(_of_bodies(independent)),
        'rank_by_energy': len(by_energy),
    }


def any_mounting(method: Method, urdf: str, options: Any) -> list[Any]:
    """Return robots under three gravities that together show the generalized base set."""
    return [method.build(urdf, options, STANDARD_GRAVITY * axis) for axis in np.eye(3)]


def unknown(known: BaseParameters, wanted: BaseParameters) -> np.ndarray:
    """Return the indices (k,) of base parameters ``wanted`` that ``known`` ones do not give."""
    scales = np.array([p.scale for p in wanted.parameters])
    span = _unit_rows(known.matrix() / scales)
    targets = _unit_rows(wanted.matrix() / scales)
    basis, _ = np.linalg.qr(span.T)
    inside = (targets @ basis) @ basis.T
    outside = np.linalg.norm(targets - inside, axis=1)
    return np.flatnonzero(outside > OUTSIDE_SPAN)


def _unit_rows(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1)
    return np.asarray(rows / lengths[:, None])


def mounting_parameters(
    method: Method, urdf: str, options: Any, base: BaseParameters
) -> dict[str, list[str]]:
    """
    Return names of generalized parameters, {known, missing: [...]} where rows show ``base``.

    A missing one whose name stands for another sum in ``base`` comes with its own: the weight of a
    slide tells it from the rotor that drives it only where it hangs.
    """
    robots = any_mounting(method, urdf, options)
    general = structural_base(method, robots, base.parameters)
    names, expressions = general.names(), general.expressions()
    lacking = unknown(base, general)
    known = np.delete(names, lacking).tolist()
    base_names = base.names()
    missing = []
    for k in lacking:
        name = names[k]
        if name in base_names:
            name = f'{name} = {expressions[k]}'
        missing.append(name)
    return {'known': known, 'missing': missing}


def check_mounting(method: Method, model: IdentifiedModel, options: Any, robot: Any) -> None:
    """Raise RobotModelError that names what lacks to predict ``robot``, as it is mounted."""
    gravities = np.array(model.mounting['gravity_base'])
    if np.isclose(robot.gravity_base, gravities, atol=SAME_GRAVITY).all(1).any():
        return
    with one_thread():
        identified_robots = [
            method.build(model.robot['urdf'], options, gravity) for gravity in gravities
        ]
        identified = structural_base(method, identified_robots, model.parameters)
        needed = structural_base(method, [robot], model.parameters)
    lacking = unknown(identified, needed)
    if not lacking.size:
        return
    names, expressions = needed.names(), needed.expressions()
    raise RobotModelError(
        'this mounting needs parameters that were not identified',
        found=[f'{names[k]} = {expressions[k]}' for k in lacking],
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
    if np.cross(*across.T) @ direction > 0.0:
        return across
    return across[:, ::-1]
