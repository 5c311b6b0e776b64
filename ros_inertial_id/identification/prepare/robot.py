"""
The robot of a recording, mounted as the options, the recording or an IMU say.

Base parameters that are known are named as reports name them (mcxR2), which means something once
the robot is there: they are turned into the sums that they stand for.
"""

from collections.abc import Sequence
from dataclasses import replace
import re
from typing import Any

import numpy as np

from .mounting import check_mounting, structural_base
from ..identified_model import IdentifiedModel
from ..settings import prediction_options
from ...dynamics.robot_model import gravity_from_mounting
from ...dynamics.tree_description import described_blocks
from ...errors import ConfigError, RecordingError, RobotModelError
from ...measurement.recording import Recording
from ...methods import DEFAULT_METHOD, METHODS
from ...methods.capabilities import KnownOptions

IMU = 'sensor_msgs/msg/Imu'
WEAKEST = 4.0  # [m/s^2] of gravity that an IMU of a wrong scale may still show
AT_REST = 1.0  # [m/s^2] largest standard deviation of a base IMU that shows gravity
NAME = re.compile(r'^\s*([A-Za-z]+R\d+)(?=\s|=|$)')


def robot_of(recording: Recording, options: Any, urdf: str = '',
             method: str = DEFAULT_METHOD) -> Any:
    """
    Return the Robot of a Recording, mounted as the options or the recording say.

    urdf : text of the description, '' for the recording's own
    RecordingError where there is no description, or an IMU that was not at rest.
    RobotModelError where it says how its loops close and the options do not.
    """
    text = urdf or recording.robot_description
    if not text:
        raise RecordingError('no robot description', found='none in the recording',
                             do='give --urdf, or record robot_description')
    own = described_blocks(text)
    if own and (method not in own or own[method].get('closures') and not options.closures):
        raise RobotModelError(
            'the robot description says how its loops close and which joints are driven',
            found=f'method {method}, options without it', expected=f'method {next(iter(own))}',
            do='give it with --urdf (urdf_file of a node) and without --method')
    mounting = options.mounting or recording.mounting or 'upright'
    build = METHODS[method].build
    upright = build(text, options, gravity_from_mounting('upright'))
    imu = imu_gravity(recording, upright) if mounting.strip() == 'imu' else None
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
            raise RecordingError(f'the base IMU {channel.topic} is not finite',
                                 found=f'{int(wrong.sum())} of {len(force)} messages')
        mean, shake = force.mean(0), force.std(0).max()
        if shake > AT_REST:
            raise RecordingError(f'the base IMU {channel.topic} was not at rest',
                                 expected=f'a standard deviation below {AT_REST} m/s^2',
                                 found=f'{shake:.2f} m/s^2')
        if np.linalg.norm(mean) < WEAKEST:
            raise RecordingError(f'the base IMU {channel.topic} shows no gravity',
                                 expected=f'about 9.81 m/s^2, at least {WEAKEST}',
                                 found=f'{np.linalg.norm(mean):.3g} m/s^2')
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
            found=channel.frame_id, exists=fixed,
            do='add its link to the URDF, or give the mounting as rpy or gravity')
    if frame.parentJoint != 0:
        raise RecordingError(f'the IMU {channel.topic} sits on a moving link', exists=fixed,
                             found=channel.frame_id, expected='one on the base',
                             do='give the mounting as rpy or gravity')
    return frame.placement.rotation


def check_robot(model: IdentifiedModel, robot: Any) -> None:
    """Raise RobotModelError when the model knows too little of a robot, as it is mounted."""
    if tuple(model.robot['joints']) != robot.joint_names:
        raise RobotModelError('the model is of another robot', do='use its own model file',
                              expected=model.robot['joints'], found=robot.joint_names)
    if model.robot['kinematics_sha256'] != robot.kinematics_sha256():
        raise RobotModelError(
            f"the model is of robot {model.robot['name']!r} with other kinematics",
            found=f'robot {robot.name!r}, same joint names but other axes or placements')
    method, options = METHODS[model.method], prediction_options(model)
    columns = [(p.name, p.unit, p.owner, p.law) for p in model.parameters]
    there = [(p.name, p.unit, p.owner, p.law) for p in method.parameters(robot, options)]
    bodies = [column for column in there if not column[3]]
    if [c for c in columns if not c[3]] != bodies or not set(columns) <= set(there):
        raise RobotModelError('the parameters of the model are not those of its robot',
                              found=sorted({c[0] for c in
                                            set(columns) ^ set(bodies) - set(there)}),
                              do='take the file as it was written')
    state = method.random_state(robot, 2, np.random.default_rng(0))
    for where, quantities in method.validity_range(state, robot).items():
        lacking = set(quantities) - set(model.validity_range.get(where, ()))
        if lacking:
            raise RobotModelError(f'the validity_range of the model lacks {where}',
                                  found=f"no {', '.join(sorted(lacking))}",
                                  do='take the file as it was written')
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
        terms = ' + '.join(f'{np.format_float_positional(c)} {name}'
                           for name, c in sums[match[1]].items()).replace('+ -', '- ')
        return f'{terms} = {line[match.end():].strip(" =") or "0"}'

    return replace(options, known=tuple(map(written, options.known)))
