"""
A closed loop while it runs: crank angles or markers and torques as they come.

Markers become z(t) by the same least squares on the mechanism as offline, frame by frame.  With
IMUs the causal filter of imu.py gives the motion as soon as all sensors have shown it: markers are
waited for until every topic has gone on, IMUs as long as the lag allows; nothing is predicted
while one is silent.  Without IMUs it is filtered and differentiated at a fixed lag.
"""

from dataclasses import replace
from typing import Any, Mapping

import numpy as np

from .camera import camera_of
from .imu import CausalFilter, PATIENCE
from .marker_fit import MarkerFit
from .motion import torque_of
from .state import close, MechanismState
from ..dynamics.continuation import Continuation
from ..dynamics.mechanism import Mechanism
from ..measurement.markers import common_frames, LINE, Marker, read_markers
from ...errors import InertialIdError, RecordingError
from ...measurement.joints.drives import effort_map
from ...measurement.joints.kinematic_state import JointSpaceState
from ...measurement.live import listen_to_efforts, listen_to_joints, LiveMotion, WARM_UP
from ...measurement.recording import Recording
from ...measurement.sampling import LONGEST_GAP

FEWEST = 3       # frames solved at once
ROUNDING = 1e-9  # [s] by which equal stamps of two topics may differ
HIDDEN = 5.0     # [s] without a topic of markers, after which what came on others is left out


class LiveMechanism(LiveMotion):
    """
    The motion and torques of a Mechanism, see LiveSource.

    covariance : with IMUs, (3 k, 3 k) of z, zdot, zddot of the newest state
    """

    covariance = None

    def __init__(self, robot: Mechanism, options: Any, lag: float,
                 metadata: Mapping[str, Any]):
        measured = options.velocity == 'measured' and not options.markers
        # A causal filter needs no time of its own: all of the lag is left to wait with.
        patience = max(PATIENCE, lag) if options.imus else PATIENCE
        self._filter = (CausalFilter(robot, options.imus, metadata, patience) if options.imus
                        else None)
        turn = effort_map(options, len(robot.actuated))
        shift = metadata.get('torque_clock_offset', 0.0)
        super().__init__(options.cutoff, measured, 0.0 if self._filter else lag, turn, shift)
        self._robot = robot
        self._continuation = Continuation(robot)
        self._camera = _Camera(robot, options, metadata) if options.markers else None
        motion = options.joint_states_topic or 'joint_states'
        actuated = [robot.joint_names[j] for j in robot.actuated]
        if self._camera:
            for topic in self._camera.topics:
                self.listen(topic, self._marker_taker(self._camera))
        else:
            listen_to_joints(self, motion, robot.coordinates, options)
        for number, topic in enumerate(self._filter.topics if self._filter else ()):
            self.listen(topic, self._imu_taker(self._filter, number))
        for line in options.torques:
            joint, topic, *axis = line.split()
            self.listen(topic, self._torque_taker(actuated.index(joint), joint, ''.join(axis)))
        if not options.torques:
            listen_to_efforts(self, options.effort_topic or motion, actuated)

    @property
    def standard_deviation(self) -> dict[str, np.ndarray]:
        """Return joint -> standard deviations of its newest z, zdot, zddot, where known."""
        if self.covariance is None:
            return {}
        each = np.sqrt(np.diagonal(self.covariance)).reshape(3, -1).T
        return dict(zip(self._robot.coordinates, each))

    def _reset(self):
        super()._reset()
        if self._filter:
            self._filter.restart()

    def _torque_taker(self, place, joint, axis):
        def take(channel):
            self.load(place, self.seconds(channel.stamp_ns),
                      torque_of(channel, joint, axis)[:, None])

        return take

    def _imu_taker(self, imus, number):
        return lambda channel: imus.receive(number, channel, self.seconds(channel.stamp_ns))

    def _marker_taker(self, camera):
        return lambda channel: camera.see(channel, self.seconds(channel.stamp_ns))

    def take(self) -> tuple[np.ndarray, MechanismState] | None:
        """Return (stamps, MechanismState); raise where the mechanism cannot be closed."""
        frames = self._camera.frames() if self._camera else None
        if self._camera and frames is not None:
            t, z, variance, q = self._camera.follow(frames)
            self.move(t, np.hstack([z, variance, q]) if self._filter else z)
        taken = self._fused(self._filter) if self._filter else super().take()
        if taken is None:
            return None
        stamps, state = taken
        try:
            return stamps, close(self._robot, state, self._continuation)
        except InertialIdError:
            self._continuation.restart()
            raise

    def _fused(self, imus):
        """Return (stamps, JointSpaceState) of the markers and IMUs received so far, or None."""
        t, count = self._motion.t, len(self._robot)
        begun = self._done > -np.inf
        if len(t) < (1 if begun else WARM_UP):
            return None
        known = imus.known_until(t[-1])
        if known is None:
            self._reset()
            return None
        until = min(self.known_until(), known)
        if not begun:
            self._done = max(t[WARM_UP - 1], until)
        z, variance, q = np.split(self._motion.rows, [count, 2 * count], axis=1)
        ticks, x, covariance = imus.follow(t, z, variance, q, until)
        self._period, tau = imus.period, self.loads_at(ticks)
        stamps = t[(t > self._done) & (t <= ticks[-1])]
        self.forget(t[max(0, np.searchsorted(t, ticks[-1], 'right') - 1)])  # keeps the last one
        self.covariance = covariance[-1]
        if not len(stamps):
            return None
        self._done = stamps[-1]
        z, rate, second = np.split(x, 3, axis=1)
        return stamps, JointSpaceState(ticks, 0, z, rate, second, tau, tau)


class _Camera:
    """Markers as they are seen, to frames, to independent coordinates."""

    def __init__(self, robot, options, metadata):
        options = replace(options, camera=tuple(metadata.get('camera', options.camera)))
        self._robot, self._options, self._pose = robot, options, camera_of(options)
        self._offsets = metadata.get('marker_clock_offset', {})
        self._lines: dict[str, list[str]] = {}
        for line in options.markers:
            words = LINE.match(line.strip())
            assert words is not None  # observed with these options
            self._lines.setdefault(words.group(1), []).append(line)
        self._fit = self._last = None
        self._begin()

    def _begin(self):
        self._newest: dict[str, float] = {}  # [s] of each topic
        self._seen: dict[str, list[Marker]] = {line: [] for line in self._options.markers}

    @property
    def topics(self):
        return tuple(self._lines)

    def see(self, channel, t):
        """Take a Channel of new samples, stamped at t [s]."""
        t = t - self._offsets.get(channel.topic, 0.0)
        if t[-1] < self._newest.get(channel.topic, -np.inf) - LONGEST_GAP:  # its clock went back
            self._begin()
        self._newest[channel.topic] = float(t[-1])
        alone = Recording({channel.topic: replace(channel, stamp_ns=channel.stamp_ns)})
        for line in self._lines[channel.topic]:
            try:
                marker, = read_markers(alone, (line,))
            except RecordingError:  # out of sight: a frame without it
                continue
            start = t[int(np.argmin(channel.stamp_ns))]
            self._seen[line].append(replace(marker, t=marker.t + start))

    def frames(self):
        """Return the Frames for which no marker can come any more, or None."""
        if len(self._newest) < len(self._lines):
            return None
        # A topic that is late and one that is out of sight look alike, and the markers of others
        # may leave the posture open: only what comes later on it says that nothing is missing.
        until, newest = min(self._newest.values()), max(self._newest.values())
        if newest - until > HIDDEN:
            silent = sorted(topic for topic, t in self._newest.items() if newest - t > HIDDEN)
            self._forget(f'no markers on {", ".join(silent)}', 'they come')
        unseen = [line for line, parts in self._seen.items() if not parts]
        if unseen:
            waited = newest - min((parts[0].t[0] for parts in self._seen.values() if parts),
                                  default=newest)
            if waited > HIDDEN:
                self._forget(f'nothing of {"; ".join(unseen)}', 'it was seen once')
            return None
        whole = [_joined(parts) for parts in self._seen.values()]
        ripe = [m.t <= until + ROUNDING for m in whole]
        if max(int(r.sum()) for r in ripe) < FEWEST:
            return None
        for line, marker, r in zip(self._seen, whole, ripe):
            self._seen[line] = [marker.rows(~r)]
        return self._pose.placed(common_frames([m.rows(r) for m, r in zip(whole, ripe)]))

    def _forget(self, what, until):
        """Keep the newest alone of what was seen and raise RecordingError: nobody knows more."""
        self._seen = {line: parts[-1:] for line, parts in self._seen.items()}
        raise RecordingError(f'{what} for {HIDDEN:g} s: nothing is predicted until {until}',
                             do='let the camera see them')

    def follow(self, frames):
        """Return t (M,), z, variance (M, k) and q (M, n) of the Frames that fit the mechanism."""
        options, robot = self._options, self._robot
        if self._fit is None:
            self._fit = MarkerFit(robot, frames, options.marker_noise, options.tag_noise)
        fit = self._fit
        fit.frames = frames
        z, q, covariance = fit.search(np.arange(len(frames.t)))
        good = fit.good(q)
        if not good.any():
            raise RecordingError('the markers do not fit the mechanism',
                                 found=f'none of {len(good)} frames')
        # Cauchy weights left next to nothing of what does not fit.
        z, q, variance = z[good], q[good], np.diagonal(covariance[good], axis1=1, axis2=2)
        turning = [i for i, j in enumerate(robot.independent) if not robot.prismatic[j]]
        whole = z if self._last is None else np.vstack([self._last, z])
        whole[:, turning] = np.unwrap(whole[:, turning], axis=0)
        self._last, z = whole[-1], whole[len(whole) - len(z):]
        q[:, list(robot.independent)] = z
        return frames.t[good], z, variance, q


def _joined(parts):
    return replace(parts[0], t=np.concatenate([m.t for m in parts]),
                   position=np.concatenate([m.position for m in parts]),
                   rotation=None if parts[0].rotation is None
                   else np.concatenate([m.rotation for m in parts]))
