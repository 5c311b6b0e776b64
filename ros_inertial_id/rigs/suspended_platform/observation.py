"""
Observation of a suspended platform: poses from markers, joints held or moving, impacts.

Impacts are stretches of a recording in which something touched the platform.
"""

from typing import Any

import numpy as np

from .motion import HELD, PlatformMotion
from .rig import PlatformRig, spring_wrench
from ..bodies.observation import BodiesObservation, clock_and_filter, marker_doubts
from ..dynamics.rigid_bodies import composite_rows
from ..measurement.body_state import choose_pose_cutoff, on_clock
from ..measurement.sources import common_clock, on_stretches, read_pose
from ...errors import RecordingError
from ...estimation.least_squares import pseudo_inverse
from ...measurement import signals
from ...measurement.recording import Recording

MOVING = 0.1  # [rad] rms: one that turns less than this, yet is not held, was meant to be
BEYOND = 2.5  # times the largest mass of the calibration: no spring is linear for ever
IMPACT = 6.0  # times the usual residual: something touched the platform ...
SEEN = 0.5  # of what the markers' noise makes in the rows: less is not believed
QUIET = 0.25  # share of the time that surely nothing touched it
VISIBLE = 0.01  # ... if it is also that share of the springs' force: without noise nothing is


def observe_platform(recording: Recording, robot: PlatformRig, options: Any) -> BodiesObservation:
    """
    Return the BodiesObservation of a PlatformRig in a Recording.

    Refuses a platform that does not swing, one that carries much more than it was calibrated with
    and, with ``posture: held``, links that move.  Its summary says which links were held, which
    markers were lost, and where something hit it.
    """
    origin = recording.origin_ns()
    series = [read_pose(recording, source, origin) if source else None for source in robot.sources]
    seen = [s for s in series if s is not None]
    clock = common_clock(seen, origin)
    clock, kernel, summary = clock_and_filter(
        clock, seen[0].topic, options,
        lambda: choose_pose_cutoff(on_stretches(seen, clock), clock.period))
    motion = PlatformMotion(robot, series, kernel, clock.period)
    stretches = [start + np.arange(count) * clock.period for start, count in clock.segments]
    postures = [motion.posture(t) for t in stretches]
    summary |= {
        'velocity': 'differentiated', 'held': [_held_links(robot, p) for p in postures],
        'imus': _fuse_imus(recording, robot, motion, stretches, options),
        'not_still': _check_postures(robot, postures, clock, options),
        'sources': {f'{name} {s.topic}': dict(s.note)
                    for name, s in zip(robot.body_names, series) if s}}
    out = BodiesObservation(clock, kernel, motion, (), summary, motion.filtered,
                            lambda rng: motion.noisy(clock, rng))
    summary['impacts'] = impacts_in(out, robot)
    summary['doubts'] = marker_doubts(summary['sources'])
    _check_load(out, robot)
    return out


def _check_load(observation, robot):
    """Raise RecordingError where the platform carries more than it was calibrated for."""
    load, most = _load(observation, robot), robot.largest_load
    if load > BEYOND * most:
        raise RecordingError(
            'the calibration of the platform does not cover this load',
            expected=f'at most {BEYOND * most:.3g} kg on it, as it was calibrated with up to '
            f'{most:.3g} kg', found=f'{load:.3g} kg',
            do='calibrate it with a mass near that; only of springs that are known to stay linear '
               'write the larger mass as largest_load: into the description')


def _load(observation, robot):
    """Return the mass [kg] on the platform by how far the springs are pressed on average."""
    if not np.isfinite(robot.largest_load):
        return 0.0
    forces = np.concatenate([spring_wrench(robot, state.bodies[0])[0][:, :3]
                             for state in observation.states(training=True)])
    g = robot.gravity_base
    return float(-forces.mean(0) @ g / (g @ g) - robot.platform[0])


def _fuse_imus(recording, robot, motion, stretches, options):
    """Let IMUs improve a PlatformMotion; return {body: what was found}."""
    notes = {}
    for body, (name, source) in enumerate(zip(robot.body_names, robot.sources)):
        # A link that is held moves with its parent.
        moving = [t for t in stretches if not body or motion.posture(t)[body - 1][1] >= HELD]
        if moving and source and source.imu:
            notes[name] = motion.fuse(recording, body, moving, options.largest_clock_offset)
    return notes


def _held_links(robot, posture):
    return [name for name, joint, (_, rms) in zip(robot.link_names, robot.joints[1:], posture)
            if joint.kind != 'fixed' and rms < HELD]


def _check_postures(robot, postures, clock, options):
    """Return [{link, degrees, from, to}, ...] of joints that were neither held nor let loose."""
    out = []
    for (start, count), posture in zip(clock.segments, postures):
        for name, (_, rms) in zip(robot.link_names, posture):
            if rms < HELD:
                continue
            entry = {'link': name, 'degrees': round(float(np.degrees(rms)), 2),
                     'from': round(start, 3), 'to': round(start + count * clock.period, 3)}
            if options.posture == 'held':
                raise RecordingError(
                    f'link {name!r} was not still', expected=f'within {np.degrees(HELD):.2f} deg',
                    found=f"{entry['degrees']} deg rms from {entry['from']} to {entry['to']} s",
                    do='hold it and record again, or cut the recording')
            if rms < MOVING:
                out.append(entry)
    return out


def impacts_in(observation: BodiesObservation, robot: PlatformRig) -> list[list[float]]:
    """
    Return [[from, to], ...] [s] where no bodies on these springs could move like that.

    Whatever the links weigh, the rows of free bodies fit all of a recording alike, but for the
    noise of the markers; a stop, a hand or a slipping bolt leaves bursts of residual force.
    """
    states = list(observation.states(training=True))
    if not np.isfinite(robot.stiffness).all() or not states:
        return []
    rows, wrench = [], []
    for state in states:
        force, dx = spring_wrench(robot, state.bodies[0])
        W = composite_rows(state.bodies, state.bodies[0].position)
        damping = np.eye(6)[:, :, None] * dx.T[None]
        rows.append(np.concatenate([W, damping], axis=1).transpose(2, 0, 1))
        wrench.append(force)
    A, y = np.concatenate(rows), np.concatenate(wrench)
    residual = y - A @ (pseudo_inverse(A.reshape(-1, A.shape[2])) @ y.ravel())
    least = VISIBLE * y.std(0).max()
    usual = np.quantile(_level(residual), QUIET, axis=0)
    if np.isfinite(robot.mass):  # a platform may lie on its stop all the time
        noise = acceleration_noise(observation) * (robot.mass + robot.platform[0])
        usual[:3] = np.minimum(usual[:3], noise)
        # An IMU makes less noise, but links that move are still seen by markers.
        usual *= max(1.0, SEEN * (noise / usual[:3]).max())
    out, first = [], 0
    for state in states:
        count = len(state.t)
        level = _level(residual[first:first + count])
        bad = ((level > IMPACT * usual) & (level > least)).any(1)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], bad.astype(int), [0]])))
        out += [[round(float(state.t[a]), 3), round(float(state.t[b - 1]), 3)]
                for a, b in edges.reshape(-1, 2)]
        first += count
    return out


def acceleration_noise(observation: BodiesObservation) -> np.ndarray:
    """
    Return how the markers' noise shows in the platform's filtered acceleration (3,) [m/s^2].

    White noise has third differences of sqrt(20) times its size; those of a swing are far less.
    Their median: a stop that is touched is no noise.
    """
    motion: Any = observation.motion  # a PlatformMotion
    series, thirds = motion.series[0], []
    for start, count in observation.clock.segments:
        t = start + np.arange(count) * motion.period
        thirds.append(np.abs(np.diff(on_clock(series.t, series.values[:, :3], t), 3, axis=0)))
    standard_deviation = np.median(np.concatenate(thirds), axis=0) / 0.6745 / np.sqrt(20.0)
    pulse = np.zeros((4 * len(motion.kernel) + 101, 1))
    pulse[len(pulse) // 2] = 1.0
    _, _, second = signals.smoothed_derivatives(pulse, motion.kernel, motion.period)
    return standard_deviation * np.linalg.norm(second)


def _level(residual):
    """Return the local size (N, 6) of residuals, over half a second at 100 Hz."""
    width = min(49, 2 * ((len(residual) - 1) // 4) + 1)
    power = signals.smooth(residual ** 2, np.full(width, 1.0 / width))
    return np.sqrt(np.maximum(power, 0.0))
