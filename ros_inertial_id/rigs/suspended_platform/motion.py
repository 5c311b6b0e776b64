"""
Motion of a suspended platform and its links, from poses and the IMUs on them.

A held link moves with its parent, so its own markers only say where it is; taking its motion from
the platform's keeps their noise out of the accelerations.  A link that moves takes its attitude
from its markers and its place from the joint.
"""

from copy import copy
from typing import Any, Mapping, Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from .rig import PlatformRig
from ..bodies.joints import carried, Joint, jointed
from ..measurement.body_state import BodyState, on_clock, state_of_pose
from ..measurement.fused_body import fuse_body, FusedBody
from ..measurement.sources import half_width
from ...measurement import signals
from ...measurement.recording import Recording

HELD = 0.005  # [rad] rms: a joint that turns less is held; noise of markers makes a tenth of it


class PlatformMotion:
    """Poses of platform and links to the BodyStates of all bodies on a uniform stretch."""

    def __init__(
        self, robot: PlatformRig, series: Sequence[Any], kernel: np.ndarray, period: float
    ) -> None:
        self.robot, self.series, self.kernel, self.period = robot, series, kernel, period
        self.fused: dict[int, FusedBody] = {}
        self._keys: dict[int, list[tuple]] = {}  # body, start and length of each stretch
        self._states: dict[tuple, BodyState] = {}
        self._postures: dict[tuple, list[tuple[np.ndarray, float]]] = {}

    def noisy(
        self, again: Sequence[Any], count: int, rng: np.random.Generator
    ) -> list['PlatformMotion']:
        """
        Return the motion ``count`` times with noise of all sensors drawn by ``rng``.

        again : NoisySeries of every body, None where there is none
        """
        fused = {body: fused.noisy(count, rng) for body, fused in self.fused.items()}
        out = []
        for _ in range(count):
            motion = copy(self)  # with the same postures
            motion.series = [s and s.again(rng) for s in again]
            motion._states = dict(self._states)
            for body, states in fused.items():
                motion._states.update(zip(self._keys[body], next(states)))
            out.append(motion)
        return out

    def fuse(
        self, recording: Recording, body: int, stretches: list[np.ndarray], limit: float
    ) -> Mapping[str, Any]:
        """
        Let the IMU on a body improve its motion on stretches; return what was found.

        stretches : uniform times [(N,), ...] [s]; limit : largest clock offset [s]
        """
        series = self.series[body]
        poses = [(t, on_clock(series.t, series.values, t)) for t in stretches]
        self.fused[body], note = fuse_body(
            recording, self.robot.sources[body], poses, self.kernel, self.robot.gravity_base, limit
        )
        self._keys[body] = [(body, t[0], len(t)) for t in stretches]
        self._states.update(zip(self._keys[body], self.fused[body].states()))
        return note

    def erring(self, shared: bool) -> list['PlatformMotion']:
        """
        Return the motion under each independent error of unit size of how IMUs are mounted.

        shared : those of the calibration, which are the same in all recordings, or the others
        """
        out = []
        for body, fused in self.fused.items():
            errors = fused.fused.errors
            if shared:
                errors = fused.fused.shared
            for off in errors.T:
                motion = copy(self)
                motion._states = {**self._states, **dict(zip(self._keys[body], fused.states(off)))}
                out.append(motion)
        return out

    def own(self, body: int, t: np.ndarray) -> BodyState:
        """
        Return the BodyState of a body by its own sensors, whatever holds it.

        body : its index, 0: the platform; t : (N,) uniform times [s]
        """
        state = self._states.get((body, t[0], len(t)))
        if state is not None:
            return state
        pose = on_clock(self.series[body].t, self.series[body].values, t)
        return state_of_pose(
            pose[:, :3], pose[:, 3:], self.kernel, self.period, self.robot.gravity_base
        )

    def moves(self, body: int, t: np.ndarray) -> bool:
        """Return whether a ``body`` moves beside its parent at uniform times t (N,) [s]."""
        if body == 0:
            return True
        _, rms = self.posture(t)[body - 1]
        return rms >= HELD

    def posture(self, t: np.ndarray) -> list[tuple[np.ndarray, float]]:
        """
        Return per link (mean rotation in its parent, rms of its turning [rad]).

        t : (N,) uniform times [s]
        """
        key = t[0], len(t)
        if key not in self._postures:  # by the poses alone, so that all motions share it
            self._postures[key] = self._posture(t)
        return self._postures[key]

    def _posture(self, t):
        frames = [Rotation.from_quat(self.raw(k, t)) for k in range(len(self.series))]
        out = []
        for joint, series, attitude in zip(self.robot.joints[1:], self.series[1:], frames[1:]):
            if series is None:
                out.append((joint.rotation, 0.0))
                continue
            relative = frames[joint.parent].inv() * attitude
            mean = relative.mean()
            away = (mean.inv() * relative).as_rotvec()
            half = min(half_width(self.kernel), len(t) // 4)
            smooth = signals.smooth(away, np.full(2 * (half // 2) + 1, 1 / (2 * (half // 2) + 1)))
            out.append((mean.as_matrix(), float(np.sqrt((smooth**2).sum(1).mean()))))
        return out

    def raw(self, body: int, t: np.ndarray) -> np.ndarray:
        """
        Return the unfiltered attitude of a body (N, 4), that of its carrier where bolted.

        body : its index, 0: the platform; t : (N,) uniform times [s]
        """
        series = self.series[body]
        if series is not None:
            return on_clock(series.t, series.values[:, 3:], t)
        joint = self.robot.joints[body]
        turn = Rotation.from_quat(self.raw(joint.parent, t))
        return (turn * Rotation.from_matrix(joint.rotation)).as_quat()

    def __call__(self, t):
        bodies = [self.own(0, t)]
        links = zip(self.robot.joints[1:], self.posture(t))
        for body, (joint, (mean, rms)) in enumerate(links, 1):
            parent = bodies[joint.parent]
            if rms < HELD:
                still = np.zeros(3)
                state = carried(parent, joint, Rotation.from_matrix(mean), still, still)
            elif joint.kind == 'revolute':
                state = hinged(parent, joint, self.own(body, t))
            else:
                state = jointed(parent, joint, self.own(body, t))
            bodies.append(state)
        return tuple(bodies)


def hinged(parent: BodyState, joint: Joint, body: BodyState) -> BodyState:
    """
    Return the BodyState of a body that turns in its parent about a hinge.

    What ``body`` shows across the axis is noise, for the hinge does not turn there.
    """
    zero, turn = Rotation.from_matrix(joint.rotation), Rotation.from_quat(body.quaternion_xyzw)
    into = turn.inv() * Rotation.from_quat(parent.quaternion_xyzw)
    relative = (into * zero).inv().as_quat()
    angle = 2.0 * np.arctan2(relative[:, :3] @ joint.axis, relative[:, 3])
    # omega x spin, which the relative acceleration has besides, is across the axis.
    rate, acceleration = (
        ((getattr(body, q) - into.apply(getattr(parent, q))) @ joint.axis)[:, None] * joint.axis
        for q in ('omega', 'alpha')
    )
    turned = zero * Rotation.from_rotvec(angle[:, None] * joint.axis)
    return carried(parent, joint, turned, rate, acceleration)
