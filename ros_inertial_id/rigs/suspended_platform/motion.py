"""
Motion of a suspended platform and its links, from poses and the IMUs on them.

A held link moves with its parent, so its own markers only say where it is; taking its motion from
the platform's keeps their noise out of the accelerations.  A link that moves takes its attitude
from its markers and its place from the joint.
"""

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from .rig import PlatformRig
from ..bodies.joints import carried, Joint, jointed
from ..bodies.motion import PosedBodies
from ..measurement.body_motion import BodyMotion
from ..measurement.body_state import BodyState
from ..measurement.sources import half_width
from ...measurement import signals

HELD = 0.005  # [rad] rms: a joint that turns less is held; noise of markers makes a tenth of it


class PlatformMotion(PosedBodies):
    """The platform by its sensors, then links by theirs, or as they are held."""

    def __init__(self, robot: PlatformRig, bodies: Sequence[BodyMotion | None]) -> None:
        super().__init__(bodies)
        self.robot = robot
        self._postures: dict[tuple, list[tuple[np.ndarray, float]]] = {}  # of all motions

    @property
    def platform(self) -> BodyMotion:
        """Return the BodyMotion of the platform, which always has sensors."""
        body = self.bodies[0]
        assert body is not None
        return body

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
        frames = [Rotation.from_quat(self.raw(k, t)) for k in range(len(self.bodies))]
        out = []
        for joint, body, attitude in zip(self.robot.joints[1:], self.bodies[1:], frames[1:]):
            if body is None:
                out.append((joint.rotation, 0.0))
                continue
            relative = frames[joint.parent].inv() * attitude
            mean = relative.mean()
            away = (mean.inv() * relative).as_rotvec()
            half = min(half_width(body.kernel), len(t) // 4)
            smooth = signals.smooth(away, np.full(2 * (half // 2) + 1, 1 / (2 * (half // 2) + 1)))
            out.append((mean.as_matrix(), float(np.sqrt((smooth**2).sum(1).mean()))))
        return out

    def raw(self, body: int, t: np.ndarray) -> np.ndarray:
        """
        Return the unfiltered attitude of a body (N, 4), that of its carrier where bolted.

        body : its index, 0: the platform; t : (N,) uniform times [s]
        """
        motion = self.bodies[body]
        if motion is not None:
            return motion.attitude(t)
        joint = self.robot.joints[body]
        turn = Rotation.from_quat(self.raw(joint.parent, t))
        return (turn * Rotation.from_matrix(joint.rotation)).as_quat()

    def __call__(self, t):
        states = [self.platform.at(t)]
        links = zip(self.robot.joints[1:], self.bodies[1:], self.posture(t))
        for joint, body, (mean, rms) in links:
            parent = states[joint.parent]
            if body is None or rms < HELD:
                still = np.zeros(3)
                state = carried(parent, joint, Rotation.from_matrix(mean), still, still)
            elif joint.kind == 'revolute':
                state = hinged(parent, joint, body.at(t))
            else:
                state = jointed(parent, joint, body.at(t))
            states.append(state)
        return tuple(states)


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
