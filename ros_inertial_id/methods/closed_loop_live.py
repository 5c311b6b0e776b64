"""
A closed loop while it runs: crank angles or markers and torques as they come, at a fixed lag.

Markers become z(t) by the same least squares on the mechanism as offline, frame by frame; IMUs,
which a smoother fuses offline, are left out here.
"""

from dataclasses import replace

import numpy as np

from ..dynamics.continuation import Continuation
from ..errors import InertialIdError, RecordingError
from ..measurement.kinematic_state import effort_map
from ..measurement.live import listen_to_efforts, listen_to_joints, LiveMotion
from ..measurement.markers import common_frames, LINE, read_markers
from ..measurement.recording import Recording
from .closed_loop_markers import MarkerFit
from .closed_loop_motion import camera_pose, torque_of
from .closed_loop_state import close

PATIENCE = 0.03  # [s] a frame waits for a marker that may have been lost
FEWEST = 3       # frames solved at once


class LiveMechanism(LiveMotion):
    """The motion and torques of a Mechanism; contract in methods/__init__.py."""

    def __init__(self, robot, options, lag, found):
        measured = options.velocity == 'measured' and not options.markers
        # With IMUs the cutoff is that of a much quieter motion than markers alone show.
        cutoff = found.get('marker_cutoff', options.cutoff)
        super().__init__(cutoff, measured, lag, effort_map(options, len(robot.actuated)),
                         found.get('torque_clock_offset', 0.0))
        self._robot = robot
        self._continuation = Continuation(robot)
        self._camera = _Camera(robot, options) if options.markers else None
        motion = options.joint_states_topic or 'joint_states'
        actuated = [robot.joint_names[j] for j in robot.actuated]
        if self._camera:
            for topic in self._camera.topics:
                self.listen(topic, self._see)
        else:
            listen_to_joints(self, motion, robot.coordinates)
        for line in options.torques:
            joint, topic, *axis = line.split()
            self.listen(topic, self._torque_taker(actuated.index(joint), joint, ''.join(axis)))
        if not options.torques:
            listen_to_efforts(self, options.effort_topic or motion, actuated)

    def _torque_taker(self, place, joint, axis):
        def take(channel):
            self.load(place, self.seconds(channel.stamp_ns),
                      torque_of(channel, joint, axis)[:, None])

        return take

    def _see(self, channel):
        self._camera.see(channel, self.seconds(channel.stamp_ns))

    def take(self):
        """Return (stamps, MechanismState); raise where the mechanism cannot be closed."""
        if self._camera:
            frames = self._camera.frames()
            if frames is not None:
                self.move(*self._camera.follow(frames))
        taken = super().take()
        if taken is None:
            return None
        stamps, state = taken
        try:
            return stamps, close(self._robot, state, self._continuation)
        except InertialIdError:
            self._continuation.restart()
            raise


class _Camera:
    """Markers as they are seen, to frames, to independent coordinates."""

    def __init__(self, robot, options):
        self._robot, self._options, self._pose = robot, options, camera_pose(options)
        self._lines = {}
        for line in options.markers:
            self._lines.setdefault(LINE.match(line.strip()).group(1), []).append(line)
        self._seen = {line: [] for line in options.markers}
        self._newest = {}
        self._fit = self._last = None

    @property
    def topics(self):
        return tuple(self._lines)

    def see(self, channel, t):
        """Take a Channel of new samples, stamped at t [s]."""
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
        newest = max(self._newest.values())
        until = max(min(self._newest.values()), newest - PATIENCE)
        whole = [_joined(parts) for parts in self._seen.values()]
        ripe = [m and m.t <= until for m in whole]
        if None in whole or max(int(r.sum()) for r in ripe) < FEWEST:
            return None
        for line, marker, r in zip(self._seen, whole, ripe):
            self._seen[line] = [_rows(marker, ~r)] if not r.all() else []
        return common_frames([_rows(m, r) for m, r in zip(whole, ripe)], *self._pose)

    def follow(self, frames):
        """Return (t (M,), z (M, k)) of the Frames that fit the mechanism."""
        options, robot = self._options, self._robot
        if self._fit is None:
            self._fit = MarkerFit(robot, frames, options.marker_noise, options.tag_noise)
        fit = self._fit
        fit.frames = frames
        z, q = fit.search(np.arange(len(frames.t)))
        good = fit.good(q)
        if not good.any():
            raise RecordingError('the markers do not fit the mechanism',
                                 found=f'none of {len(good)} frames')
        z = z[good]  # Cauchy weights left next to nothing of what does not fit
        turning = [i for i, j in enumerate(robot.independent) if not robot.prismatic[j]]
        whole = z if self._last is None else np.vstack([self._last, z])
        whole[:, turning] = np.unwrap(whole[:, turning], axis=0)
        self._last = whole[-1]
        return frames.t[good], whole[len(whole) - len(z):]


def _joined(parts):
    if not parts:
        return None
    return replace(parts[0], t=np.concatenate([m.t for m in parts]),
                   position=np.concatenate([m.position for m in parts]),
                   rotation=None if parts[0].rotation is None
                   else np.concatenate([m.rotation for m in parts]))


def _rows(marker, chosen):
    return replace(marker, t=marker.t[chosen], position=marker.position[chosen],
                   rotation=None if marker.rotation is None else marker.rotation[chosen])
