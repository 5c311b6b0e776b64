"""Observation of a suspended platform: poses from markers, joints held or moving."""

from dataclasses import replace
from typing import Any

import numpy as np

from .motion import HELD, PlatformMotion
from .rig import PlatformRig
from ..bodies.observation import BodiesObservation, clock_and_filter, marker_doubts
from ..measurement.body_motion import BodyMotion
from ..measurement.body_state import choose_pose_cutoff, white_variance
from ..measurement.sources import common_clock, on_stretches, read_pose, stretch_times
from ...errors import RecordingError
from ...measurement import signals
from ...measurement.recording import Recording


def observe_platform(recording: Recording, robot: PlatformRig, options: Any) -> BodiesObservation:
    """
    Return the BodiesObservation of a PlatformRig in a Recording.

    Refuses, with ``posture: held``, links that move.  Its summary says which links were held and
    which markers were lost.
    """
    origin = recording.origin_ns()
    series = [_pose(recording, source, origin) for source in robot.sources]
    seen = [s for s in series if s is not None]
    clock = common_clock(seen, origin)
    clock, kernel, summary = clock_and_filter(
        clock,
        seen[0].topic,
        options,
        lambda: choose_pose_cutoff(on_stretches(seen, clock), clock.period),
    )
    bodies = [s and BodyMotion(s, clock, kernel, robot.gravity_base) for s in series]
    motion = PlatformMotion(robot, bodies)
    stretches = stretch_times(clock)
    postures = [motion.posture(t) for t in stretches]
    if options.posture == 'held':
        _check_held(robot, postures, clock)

    def moving(body):  # a link that is held moves with its parent
        return [t for t in stretches if motion.moves(body, t)]

    fused, imus = motion.fused(recording, robot, moving, options.largest_clock_offset)
    sources = _sources(robot, series)
    summary = replace(summary, velocity='differentiated').with_details(
        held=[_held_links(robot, p) for p in postures],
        imus=imus,
        sources=sources,
        doubts=marker_doubts(sources),
    )
    return BodiesObservation(clock, kernel, fused, (), summary)


def _pose(recording, source, origin):
    """Return the Series of a body's pose, None of one that is bolted to its parent."""
    if source is None:
        return None
    return read_pose(recording, source, origin)


def _sources(robot, series):
    """Return {body and topic: notes} of the poses, None where a body has none."""
    out = {}
    for name, pose in zip(robot.body_names, series):
        if pose is not None:
            out[f'{name} {pose.topic}'] = dict(pose.note)
    return out


def _held_links(robot, posture):
    return [
        name
        for name, joint, (_, rms) in zip(robot.link_names, robot.joints[1:], posture)
        if joint.kind != 'fixed' and rms < HELD
    ]


def _check_held(robot, postures, clock):
    """Raise RecordingError where a link was not held."""
    for (start, count), posture in zip(clock.segments, postures):
        turning = [rms for _, rms in posture]
        loose = [k for k, rms in enumerate(turning) if rms >= HELD]
        if loose:
            raise RecordingError(
                f'link {robot.link_names[loose[0]]!r} was not still',
                expected=f'within {np.degrees(HELD):.2f} deg',
                found=f'{np.degrees(turning[loose[0]]):.2f} deg rms from {start:.3f} to '
                f'{start + count * clock.period:.3f} s',
                do='hold it and record again, or cut the recording',
            )


def acceleration_noise(observation: BodiesObservation) -> np.ndarray:
    """
    Return the markers' noise in the platform's filtered acceleration (3,) [m/s^2].

    The median over stretches: what touches the platform is no noise.
    """
    motion = observation.motion
    assert isinstance(motion, PlatformMotion)
    platform = motion.platform
    poses = on_stretches([platform.pose], observation.clock)
    noise = [white_variance(pose[:, :3]) for pose in poses]
    standard_deviation = np.sqrt(np.median(noise, axis=0))
    pulse = np.zeros((4 * len(platform.kernel) + 101, 1))
    pulse[len(pulse) // 2] = 1.0
    _, _, second = signals.smoothed_derivatives(pulse, platform.kernel, platform.clock.period)
    return standard_deviation * np.linalg.norm(second)
