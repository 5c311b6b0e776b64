"""A payload behind a wrist sensor while the arm moves: joint states and wrench at a fixed lag."""

from typing import Any, Mapping

import numpy as np
from scipy.spatial.transform import Rotation

from .wrench_observation import state_of_frame
from ..bodies.body_rig import BodyRig
from ..measurement.sources import BodiesState
from ...dynamics.body_motion import frame_of
from ...errors import ConfigError
from ...measurement.joints.drives import DriveOptions
from ...measurement.live import listen_to_joints, LiveMotion


class LiveWrench(LiveMotion):
    """The motion of the payload and the wrench on it; contract in methods/__init__.py."""

    def __init__(self, robot: BodyRig, options: Any, lag: float,
                 metadata: Mapping[str, Any]):
        if robot.arm is None:
            raise ConfigError('nothing to predict live', found='bodies measured on their own',
                              expected='a payload on an arm with joint states')
        super().__init__(options.cutoff, options.velocity == 'measured', lag, np.eye(6))
        topic, = metadata['wrench_topics']
        self._arm = robot.arm
        self._frame = robot.frame or frame_of(robot.arm, metadata['sources'][topic]['frame_id'])
        self._sign = 1.0 if metadata['wrench_of'] == 'on_body' else -1.0
        turn = metadata.get('sensor_turned', {}).get(topic, {}).get('turn_deg', np.zeros(3))
        self._mounted = Rotation.from_rotvec(turn, degrees=True).as_matrix()
        self._gravity = np.asarray(robot.gravity_base)
        if 'gravity' in metadata:
            direction = np.array(metadata['gravity']['direction'])
            self._gravity = np.linalg.norm(self._gravity) * direction
        listen_to_joints(self, options.joint_states_topic or metadata['topic'],
                         robot.arm.joint_names, DriveOptions())
        self.listen(topic, self._load_wrench)

    def _load_wrench(self, channel):
        along = [channel.fields[kind] @ self._mounted.T for kind in ('force', 'torque')]
        self.load(0, self.seconds(channel.stamp_ns), np.hstack(along))

    def take(self) -> tuple[np.ndarray, BodiesState] | None:
        """Return (stamps, BodiesState), or None."""
        taken = super().take()
        if taken is None:
            return None
        stamps, state = taken
        body = state_of_frame(self._arm, self._frame, state.q, state.v, state.a, self._gravity)
        return stamps, BodiesState(state.t, state.segment, (body,), state.tau, state.tau_raw,
                                   self._sign)
