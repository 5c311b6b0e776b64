"""
From what was recorded to what a closed loop needs: z(t) and motor torques as joint channels.

Encoders are used as they are.  Markers become z(t) by least squares on the mechanism, IMUs are
fused with them by a Kalman smoother, torques may come from wrench or plain number topics.  The
result is a Recording with one JointState channel for the motion and one for the torques, so
everything after it is the same for all sensors.
"""

from dataclasses import dataclass, replace
from typing import Any, Mapping, Sequence

import numpy as np

from .imu import fuse_imus, FusedCoordinates
from .markers import reconstruct_markers
from .shutter import check_shutter
from ..dynamics.mechanism import Mechanism
from ..measurement.markers import common_frames, read_markers
from ..measurement.sources import channel_of
from ...dynamics.body_motion import frame_of
from ...errors import ConfigError, RecordingError
from ...measurement.joints.channels import NO_EFFORT
from ...measurement.joints.kinematic_state import JointSpaceObservation
from ...measurement.joints.observation import observe_joints
from ...measurement.joints.sources import find_channel
from ...measurement.recording import Channel, Recording
from ...measurement.signals import smooth, zero_phase_kernel
from ...options import option

NO_CUTOFF = 1e9  # [Hz] a cutoff that filters nothing
FASTER = 1.5  # times the rate of the motion: a torque that is low-passed before it is read
BAND = 0.4  # of the rate of the motion that is kept of it
LARGEST_CLOCK_OFFSET = 0.05  # [s] between an IMU and markers
JOINT_STATE = 'sensor_msgs/msg/JointState'
MOTION = '/closed_loop/motion'
TORQUES = '/closed_loop/torques'
# Axis of a wrench: field and column.
WRENCH_AXES = {'x': ('torque', 0), 'y': ('torque', 1), 'z': ('torque', 2)}
WRENCH_AXES |= {'fx': ('force', 0), 'fy': ('force', 1), 'fz': ('force', 2)}


@dataclass(frozen=True)
class MotionOptions:
    """Markers, IMUs and torque sensors on the mechanism, where joint states are not enough."""

    markers: tuple[str, ...] = option(
        (), 'markers: "TOPIC LINK [pose]", "TOPIC[LABEL] LINK [pose]"; empty: encoders'
    )
    marker_noise: float = option(
        1e-3, 'standard deviation of a marker position', unit='m', at_least=1e-7
    )
    tag_noise: float = option(
        1e-2, 'standard deviation of a tag orientation', unit='rad', at_least=1e-7
    )
    camera: tuple[float, ...] = option(
        (),
        'pose of the camera (frame of the markers) in the base link: X Y Z ROLL PITCH YAW; '
        'empty: the base link itself',
        unit='m, rad',
    )
    imus: tuple[str, ...] = option((), 'IMUs: "TOPIC LINK"; they are fused with the markers')
    torques: tuple[str, ...] = option(
        (),
        'torque sensors: "JOINT TOPIC [AXIS]"; axis x y z of a wrench\'s torque, fx fy fz of '
        'its force; empty: efforts of the joint states',
    )


def reconstruct(
    recording: Recording, robot: Mechanism, options: Any
) -> tuple[Recording, dict[str, Any], FusedCoordinates | None]:
    """
    Return (Recording, notes, fused) with joint channels for motion and torque of the mechanism.

    notes : topics ``motion`` and ``torque`` (equal when one message carries both), and what was
        understood of markers and IMUs; fused : the motion, where there are IMUs
    """
    if options.imus and not options.markers:
        raise ConfigError('imus: are given', expected='markers: too', found='encoders only')
    channels, fused = dict(recording.channels), None
    effort = options.effort_topic or options.joint_states_topic
    notes: dict[str, Any] = {'motion': options.joint_states_topic, 'torque': effort}
    if options.torques:
        sensors = torque_sensors(options.torques, robot.joint_names)
        channels[TORQUES] = _torques(recording, robot.motor_names, sensors)
        notes['torque'] = ', '.join(topic for _, topic, _ in sensors)
    elif options.markers and robot.actuated:
        notes['torque'] = find_channel(recording, robot.motor_names, effort, 'effort').topic
    if options.markers:
        channels[MOTION], of_markers, fused = _see(recording, robot, options)
        notes.update(of_markers, motion=_markers_of(options.markers))
    return replace(recording, channels=channels), notes, fused


def motor_joints(
    recording: Recording, robot: Mechanism, options: Any, notes: Mapping[str, Any]
) -> JointSpaceObservation:
    """
    Return the independent joints of a ``recording`` and the torques of the motors, unfiltered.

    recording, notes : of ``reconstruct``
    """
    motion, effort = _topics(options, notes)
    if not options.actuated:
        _check_no_passive(recording, robot.motor_names, effort)
    asked = replace(
        options, joint_states_topic=motion, effort_topic=effort, cutoff=NO_CUTOFF, decimate=1
    )
    joints = observe_joints(recording, robot.coordinates, asked, robot.motor_names)
    return replace(joints, effort=_on_slower_clock(joints.effort, joints.clock.period))


def _check_no_passive(recording, motors, topic):
    """Raise RecordingError where some ``motors``, all independent joints, have no effort."""
    driven = set()
    for channel in recording.channels.values():
        if 'effort' not in channel.fields or topic not in ('', channel.topic):
            continue
        effort = np.nan_to_num(channel.fields['effort'])
        exerts = (np.abs(effort) > NO_EFFORT).any(axis=0)
        driven.update(np.array(channel.names)[exerts].tolist())
    passive = [name for name in motors if name not in driven]
    if not passive or len(passive) == len(motors):
        return
    active = ', '.join(name for name in motors if name in driven)
    raise RecordingError(
        f'{", ".join(passive)} is an independent joint without an effort',
        expected='an effort of every independent joint, or the joints with a motor by name',
        found='zero or none in every message',
        do=f'of a passive joint: write actuated: [{active}]; else record its torque',
    )


def _on_slower_clock(effort, period):
    """
    Return {joint: (stamps, values)} of which samples ``period`` [s] apart hold all below the band.

    Read at slower stamps as they are, most samples of a fast torque would be lost and its noise
    folded into the band of the motion.
    """
    out = {}
    for name, (t, x) in effort.items():
        step = float(np.median(np.diff(t)))
        kernel = zero_phase_kernel(step, BAND / period)
        if FASTER * step < period and len(t) > len(kernel):
            even = np.arange(t[0], t[-1] + 0.5 * step, step)
            t, x = even, smooth(np.interp(even, t, x)[:, None], kernel)[:, 0]
        out[name] = t, x
    return out


def _topics(options, notes):
    """Return (joint_states_topic, effort_topic) of the Recording by ``options``; see above."""
    motion, effort = options.joint_states_topic, options.effort_topic
    if options.markers:
        motion, effort = MOTION, notes['torque']
    if options.torques:
        effort = TORQUES
    return motion, effort


def _markers_of(lines):
    """Return the names of the markers of configuration ``lines``: TOPIC or TOPIC[LABEL]."""
    return ', '.join(line.split()[0] for line in lines)


def _see(recording, robot, options):
    """Return the Channel of the motion from markers and IMUs, notes, FusedCoordinates or None."""
    markers = read_markers(recording, options.markers)
    for marker in markers:
        frame_of(robot.robot, marker.link)
    frames = common_frames(markers).seen_from(options.camera)
    seen = reconstruct_markers(robot, frames, options.marker_noise, options.tag_noise)
    check_shutter(robot, frames, seen.t, seen.q)
    notes = dict(
        seen.notes,
        marker_deviation={
            name: float(np.sqrt(np.median(seen.covariance[:, i, i])))
            for i, name in enumerate(robot.coordinates)
        },
    )
    t, motion, fused = seen.t, {'position': seen.z}, None
    if options.imus:
        fused = fuse_imus(recording, robot, seen, options.imus, LARGEST_CLOCK_OFFSET)
        t, motion = fused.t, {'position': fused.z, 'velocity': fused.rate}
        notes['imus'] = fused.fusion.notes()
    stamps = recording.origin_ns() + np.round(t * 1e9).astype(np.int64)
    name = f'the motion by {_markers_of(options.markers)}'
    channel = Channel(name, JOINT_STATE, stamps, stamps.copy(), motion, robot.coordinates)
    return channel, notes, fused


def torque_sensors(lines: Sequence[str], joints: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return [(joint, topic, axis or ''), ...] of ``lines`` of the option torques."""
    sensors = []
    for line in lines:
        words = line.split()
        if len(words) not in (2, 3) or words[0] not in joints:
            raise ConfigError(
                'option torques',
                expected='"JOINT TOPIC [AXIS]"',
                found=repr(line),
                exists=joints,
            )
        joint, topic, *axis = words
        sensors.append((joint, topic, ''.join(axis)))
    return sensors


def _torques(recording, actuated, sensors):
    """Return one JointState channel with the efforts of sensors, on the first one's stamps."""
    names = tuple(joint for joint, _, _ in sensors)
    missing = [joint for joint in actuated if joint not in names]
    if missing:
        raise ConfigError(
            'option torques',
            expected='one line per actuated joint',
            found=f'none for {", ".join(missing)}',
        )
    series = []
    for joint, topic, axis in sensors:
        channel = channel_of(recording, topic)
        series.append((channel.stamp_ns, torque_of(channel, joint, axis)))
    stamps, _ = series[0]
    efforts = np.stack([np.interp(stamps, *measured) for measured in series], axis=1)
    return Channel(TORQUES, JOINT_STATE, stamps.copy(), stamps.copy(), {'effort': efforts}, names)


def torque_of(channel: Channel, joint: str, axis: str) -> np.ndarray:
    """
    Return the torque (n,) of a joint in a Channel: effort, axis of a wrench, or a number.

    axis : x, y, z (torque [N m]) or fx, fy, fz (force [N]) of a wrench.  RecordingError where the
    channel holds no such thing.
    """
    values = _effort_in(channel, joint, axis)
    if values is None:
        raise RecordingError(
            f'{channel.topic} is no torque of {joint}',
            found=channel.type,
            exists=('effort of the joint', 'x y z fx fy fz of a wrench', 'Float64'),
        )
    if not np.isfinite(values).all():
        raise RecordingError(
            f'the torque in {channel.topic} is not finite',
            found=f'{int((~np.isfinite(values)).sum())} of {len(values)}',
        )
    return values


def _effort_in(channel, joint, axis):
    """Return the torque (n,) of a joint in a Channel, None where it holds none."""
    fields = channel.fields
    if 'effort' in fields and joint in channel.names:
        return fields['effort'][:, channel.names.index(joint)]
    if 'torque' in fields and axis in WRENCH_AXES:
        field, column = WRENCH_AXES[axis]
        return fields[field][:, column]
    if 'data' in fields and fields['data'].ndim == 1:
        return fields['data']
    return None
