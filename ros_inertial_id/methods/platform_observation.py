"""
Observation of a suspended platform: poses from markers, joints that are held or move.

A held link moves with its parent, so its own markers only say where it is; taking its motion from
the platform's keeps their noise out of the accelerations.  A link that moves takes its attitude
from its markers and its place from the joint.
"""

import numpy as np
from scipy.spatial.transform import Rotation

from ..dynamics.composite import composite_rows
from ..errors import RecordingError
from ..measurement import signals
from ..measurement.body_sources import (BodiesObservation, common_clock, gaps_between, half_width,
                                        read_pose, usable)
from ..measurement.body_state import (BodyState, choose_pose_cutoff, on_clock,
                                      smoothed_derivatives, state_of_pose)
from ..measurement.imu_fusion import fuse_imu
from .platform_rig import spring_wrench

HELD = 0.005  # [rad] rms: a joint that turns less is held; noise of markers makes a tenth of it
MOVING = 0.1  # [rad] rms: one that turns less than this, yet is not held, was meant to be
TRIM = 2.0  # periods of the cutoff at the ends of a stretch, where the filter had to guess
STRUCK = 6.0  # times the usual residual: something touched the platform ...
SEEN = 0.5  # of what the markers' noise makes in the rows: less is not believed
QUIET = 0.25  # share of the time that surely nothing touched it
VISIBLE = 0.01  # ... if it is also that share of the springs' force: without noise nothing is


def observe_platform(recording, robot, options):
    """
    Return the BodiesObservation of a PlatformRig in a Recording.

    Refuses a platform that does not swing and, with ``posture: held``, links that move.  Its
    summary says which links were held, which markers were lost, and where something struck.
    """
    origin = recording.origin_ns()
    series = [read_pose(recording, source, origin) if source else None
              for source in robot.sources]
    seen = [s for s in series if s is not None]
    clock = common_clock(seen, origin)
    cutoff, valley = options.cutoff, None
    if not cutoff:
        cutoff, valley = choose_pose_cutoff(_poses(seen, clock), clock.period)
    kernel = signals.zero_phase_kernel(clock.period, cutoff)
    clock = usable(clock, kernel, seen[0].topic)
    motion = PlatformMotion(robot, series, kernel, clock.period)
    stretches = [start + np.arange(count) * clock.period for start, count in clock.segments]
    postures = [motion.posture(t) for t in stretches]
    imus = _fuse_imus(recording, robot, motion, stretches, options)
    not_still = _check_postures(robot, postures, clock, options)
    summary = {
        'topic': seen[0].topic, 'rate': 1.0 / clock.period, 'samples': clock.samples,
        'missing': clock.missing, 'gaps': clock.gaps, 'gaps_at': gaps_between(clock),
        'segments': len(clock.segments), 'cutoff': cutoff, 'cutoff_chosen': not options.cutoff,
        'duration': sum(c for _, c in clock.segments) * clock.period, 'motion_ends_at': valley,
        'velocity': 'differentiated', 'held': [_held_links(robot, p) for p in postures],
        'not_still': not_still, 'imus': imus,
        'sources': {f'{name} {s.topic}': dict(s.note)
                    for name, s in zip(('platform', *robot.link_names), series) if s}}
    decimate = options.decimate or max(1, int(1.0 / (20.0 * cutoff * clock.period)))
    summary['decimate'] = decimate
    out = BodiesObservation(clock, kernel, motion, (), TRIM / cutoff, decimate, summary)
    summary['struck'] = _struck(out, robot)
    return out


def _fuse_imus(recording, robot, motion, stretches, options):
    """Let IMUs improve a PlatformMotion; return {body: what was found}."""
    notes = {}
    for body, (name, source) in enumerate(zip(('platform', *robot.link_names), robot.sources)):
        # A link that is held moves with its parent.
        moving = [t for t in stretches if not body or motion.posture(t)[body - 1][1] >= HELD]
        if moving and source and source.imu:
            notes[name] = motion.fuse(recording, body, moving, options.largest_clock_offset)
    return notes


class PlatformMotion:
    """Poses of platform and links to the BodyStates of all bodies on a uniform stretch."""

    def __init__(self, robot, series, kernel, period):
        self.robot, self.series, self.kernel, self.period = robot, series, kernel, period
        self._fused = {}

    def filtered(self, kernel):
        """Return the motion by its poses alone, behind another low-pass."""
        return PlatformMotion(self.robot, self.series, kernel, self.period)

    def fuse(self, recording, body, stretches, limit):
        """Let the IMU on a body improve its motion on stretches; return what was found."""
        states, note = fuse_imu(recording, self.robot.sources[body], self.series[body], stretches,
                                self.kernel, self.robot.gravity_base, limit)
        self._fused.update({(body, t[0], len(t)): s for t, s in zip(stretches, states)})
        return note

    def own(self, body, t):
        """Return the BodyState of a body by its own sensors, whatever holds it."""
        fused = self._fused.get((body, t[0], len(t)))
        if fused is not None:
            return fused
        pose = on_clock(self.series[body].t, self.series[body].values, t)
        return state_of_pose(pose[:, :3], pose[:, 3:], self.kernel, self.period,
                             self.robot.gravity_base)

    def posture(self, t):
        """Return per link (mean rotation in its parent, rms of its turning [rad])."""
        frames = [Rotation.from_quat(self.raw(k, t)) for k in range(len(self.series))]
        out = []
        for joint, series, own in zip(self.robot.joints[1:], self.series[1:], frames[1:]):
            if series is None:
                out.append((joint.rotation, 0.0))
                continue
            relative = frames[joint.parent].inv() * own
            mean = relative.mean()
            away = (mean.inv() * relative).as_rotvec()
            half = min(half_width(self.kernel), len(t) // 4)
            smooth = signals.smooth(away, np.full(2 * (half // 2) + 1, 1 / (2 * (half // 2) + 1)))
            out.append((mean.as_matrix(), float(np.sqrt((smooth ** 2).sum(1).mean()))))
        return out

    def raw(self, body, t):
        """Return the unfiltered attitude of a body (N, 4), that of its carrier where bolted."""
        series = self.series[body]
        if series is not None:
            return on_clock(series.t, series.values[:, 3:], t)
        joint = self.robot.joints[body]
        turn = Rotation.from_quat(self.raw(joint.parent, t))
        return (turn * Rotation.from_matrix(joint.rotation)).as_quat()

    def __call__(self, t):
        bodies = [self.own(0, t)]
        links = zip(self.robot.joints[1:], self.robot.sources[1:], self.posture(t))
        for body, (joint, source, (mean, rms)) in enumerate(links, 1):
            parent = bodies[joint.parent]
            if rms < HELD:
                bodies.append(attached(parent, joint, mean))
            elif joint.kind != 'revolute':
                bodies.append(jointed(parent, joint, self.own(body, t)))
            elif source.imu:
                bodies.append(hinged(parent, joint, *hinge_rates(parent, self.own(body, t),
                                                                 joint)))
            else:
                pose = on_clock(self.series[body].t, self.series[body].values, t)
                angle = hinge_angle(self.raw(joint.parent, t), pose[:, 3:], joint)
                bodies.append(hinged(parent, joint, *smoothed_derivatives(
                    angle[:, None], self.kernel, self.period)))
        return tuple(bodies)


def attached(parent, joint, rotation):
    """Return the BodyState of a body that a joint holds at ``rotation`` (3, 3) in its parent."""
    R = np.asarray(rotation)
    arm = joint.position - R @ joint.own_position
    turn = Rotation.from_quat(parent.quaternion_xyzw)
    acc = parent.acc + _swing(parent.omega, parent.alpha, arm)
    return BodyState(parent.position + turn.apply(arm), (turn * Rotation.from_matrix(R)).as_quat(),
                     parent.omega @ R, parent.alpha @ R, acc @ R)


def jointed(parent, joint, own):
    """Return the BodyState of a body with the attitude of ``own``, its place by the joint."""
    turn, carrier = (Rotation.from_quat(b.quaternion_xyzw) for b in (own, parent))
    position = (parent.position + carrier.apply(joint.position) - turn.apply(joint.own_position))
    pivot = parent.acc + _swing(parent.omega, parent.alpha, joint.position)
    acc = turn.inv().apply(carrier.apply(pivot)) - _swing(own.omega, own.alpha, joint.own_position)
    return BodyState(position, own.quaternion_xyzw, own.omega, own.alpha, acc)


def hinge_angle(parent, own, joint):
    """
    Return the angle (N,) [rad] of a revolute Joint between attitudes (N, 4), without jumps.

    What its markers show across the axis is noise, for the hinge does not turn there.
    """
    relative = (Rotation.from_matrix(joint.rotation).inv() * Rotation.from_quat(parent).inv()
                * Rotation.from_quat(own)).as_quat()
    return np.unwrap(2.0 * np.arctan2(relative[:, :3] @ joint.axis, relative[:, 3]))


def hinge_rates(parent, own, joint):
    """Return angle, rate and acceleration (N, 1) of a hinge between BodyStates."""
    angle = hinge_angle(parent.quaternion_xyzw, own.quaternion_xyzw, joint)
    into = (Rotation.from_quat(own.quaternion_xyzw).inv()
            * Rotation.from_quat(parent.quaternion_xyzw))
    # omega x spin, which the relative acceleration has besides, is across the axis.
    rates = [(getattr(own, q) - into.apply(getattr(parent, q))) @ joint.axis
             for q in ('omega', 'alpha')]
    return [x[:, None] for x in (angle, *rates)]


def hinged(parent, joint, angle, rate, acceleration):
    """Return the BodyState of a body on a hinge of its parent; angle and rates (N, 1)."""
    turn = Rotation.from_matrix(joint.rotation) * Rotation.from_rotvec(angle * joint.axis)
    omega_p, alpha_p = turn.inv().apply(parent.omega), turn.inv().apply(parent.alpha)
    spin = rate * joint.axis
    own = BodyState(parent.position,
                    (Rotation.from_quat(parent.quaternion_xyzw) * turn).as_quat(),
                    omega_p + spin, alpha_p + acceleration * joint.axis
                    + np.cross(omega_p, spin), parent.acc)
    return jointed(parent, joint, own)


def _swing(omega, alpha, arm):
    return np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))


def _poses(series, clock):
    """Return the unfiltered poses (N, 7 s) on the clock, one array per stretch."""
    return [np.concatenate([on_clock(s.t, s.values, start + np.arange(count) * clock.period)
                            for s in series], axis=1) for start, count in clock.segments]


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


def _struck(observation, robot):
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
    x, *_ = np.linalg.lstsq(A.reshape(-1, A.shape[2]), y.ravel(), rcond=1e-9)
    rest = y - A @ x
    least = VISIBLE * y.std(0).max()
    usual = np.quantile(_level(rest), QUIET, axis=0)
    if np.isfinite(robot.mass):  # a platform may lie on its stop all the time
        noise = acceleration_noise(observation) * (robot.mass + robot.platform[0])
        usual[:3] = np.minimum(usual[:3], noise)
        # An IMU makes less noise, but links that move are still seen by markers.
        usual *= max(1.0, SEEN * (noise / usual[:3]).max())
    out, first = [], 0
    for state in states:
        count = len(state.t)
        level = _level(rest[first:first + count])
        bad = ((level > STRUCK * usual) & (level > least)).any(1)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], bad.astype(int), [0]])))
        out += [[round(float(state.t[a]), 3), round(float(state.t[b - 1]), 3)]
                for a, b in edges.reshape(-1, 2)]
        first += count
    return out


def acceleration_noise(observation):
    """
    Return how the markers' noise shows in the platform's filtered acceleration (3,) [m/s^2].

    White noise has third differences of sqrt(20) times its size; those of a swing are far less.
    """
    motion, square = observation.motion, []
    for start, count in observation.clock.segments:
        series = motion.series[0]
        t = start + np.arange(count) * motion.period
        square.append(np.abs(np.diff(on_clock(series.t, series.values[:, :3], t), 3, axis=0)))
    deviation = np.median(np.concatenate(square), axis=0) / 0.6745 / np.sqrt(20.0)
    pulse = np.zeros((4 * len(motion.kernel) + 101, 1))
    pulse[len(pulse) // 2] = 1.0
    _, _, second = smoothed_derivatives(pulse, motion.kernel, motion.period)
    return deviation * np.linalg.norm(second)


def _level(residual):
    """Return the local size (N, 6) of residuals, over half a second at 100 Hz."""
    width = min(49, 2 * ((len(residual) - 1) // 4) + 1)
    power = signals.smooth(residual ** 2, np.full(width, 1.0 / width))
    return np.sqrt(np.maximum(power, 0.0))
