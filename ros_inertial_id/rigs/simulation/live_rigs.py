"""
The simulated rigs under one contract, for the node that publishes them.

Each is an entry point of RIGS_GROUP (see plugins.py), made from the text of its description and a
seed of everything random.  It has ``description`` (URDF or YAML text), ``topics`` (topic: type),
``time`` [s] of its own clock, ``ends`` [s] (inf for one that goes on), ``advance()``, which moves
on by at most ``step`` [s] and returns the Channels of what was measured in it (stamps from 0), and
``truth`` : what an identification should find, name of the parameter -> value.  Topics named
``true_...`` are not
measured: they hold what is to be predicted, without noise.
"""

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from . import two_link_platform as two_links
from .platform import channels_of, MARKERS, PlatformOptions, PlatformRig
from .sensors import channel, IMU, JOINT_STATE, POSES, stamps, WRENCH, wrench_channel
from .slider_crank import SliderCrankRig, TOPICS
from .wrist_sensor import BIAS, RATE, WristOptions, WristRig
from ...measurement.recording import Channel
from ...simulation.rigid_bodies import ten_parameters

STEP = 0.01  # [s]: at most that late is what a rig says
SYMBOLS = ('m', 'mcx', 'mcy', 'mcz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')
AXES = ('fx', 'fy', 'fz', 'nx', 'ny', 'nz')
HELD_SECONDS = 12.0  # of vibration of the platform in every held posture
LOOSE_SECONDS = 8.0  # of every motion of its loose links
PAUSE = 1.0  # [s] between two of them, without the camera
TRUE_TORQUE, TRUE_WRENCH = '/true_torque', '/true_wrench'


class LiveSliderCrank:
    """The slider-crank: markers, IMU, crank torque, encoder."""

    urdf = 'slider_crank'
    step = STEP
    ends = np.inf
    topics = {**TOPICS, TRUE_TORQUE: JOINT_STATE}

    def __init__(self, urdf, seed=0):
        self.description, self._rig = urdf, SliderCrankRig(urdf, seed)

    @property
    def time(self) -> float:
        """Return the time since the start [s]."""
        return self._rig.time

    @property
    def truth(self) -> dict[str, float]:
        """Return the ten parameters of every body, as MuJoCo has them."""
        model, out = self._rig.mechanism.model, {}
        for number, link in enumerate(('crank_link', 'rod_link', 'slider_link'), 1):
            body = model.body(link)
            R = Rotation.from_quat(np.roll(body.iquat, -1)).as_matrix()
            ten = ten_parameters(body.mass[0], body.ipos, R @ np.diag(body.inertia) @ R.T)
            out.update({f'{s}{number}': float(x) for s, x in zip(SYMBOLS, ten)})
        return out

    def advance(self) -> dict[str, Channel]:
        """Move on by STEP; return {topic: Channel} of what was measured."""
        channels = self._rig.advance(STEP)
        t, torque = np.array(self._rig.true_torques).T
        channels[TRUE_TORQUE] = channel(TRUE_TORQUE, JOINT_STATE, stamps(t),
                                        {'effort': torque[:, None]}, ('crank',))
        return channels


class LivePlatform:
    """The suspended platform: four held postures, then two motions of the loose limb."""

    urdf = ''
    step = STEP
    topics = {MARKERS: POSES, two_links.IMU.topic: IMU}

    def __init__(self, urdf='', seed=0):
        self.description, self._seed = urdf or two_links.description(), seed
        self._parts = [(posture, True, HELD_SECONDS) for posture in two_links.HELD]
        self._parts += [(posture, False, LOOSE_SECONDS) for posture in two_links.LOOSE]
        self.ends = sum(seconds + PAUSE for *_, seconds in self._parts)
        self.time, self._begun, self._left = 0.0, 0.0, 0

    @property
    def truth(self) -> dict[str, float]:
        """Return the ten parameters of every link."""
        return {f'{s}{k}': float(x) for k, link in enumerate(two_links.LINKS[1:])
                for s, x in zip(SYMBOLS, two_links.ten(link))}

    def advance(self) -> dict[str, Channel]:
        """Move on by one camera frame; return {topic: Channel} of what was measured."""
        if not self._left:
            if not self._parts:
                self.time += STEP
                return {}
            self._next()
        sample = self._rig.step()
        self._left -= 1
        self.time = self._begun + sample[0] + 1.0 / self._rig.options.rate
        if not self._left:
            self.time += PAUSE
        channels = channels_of([sample], self._begun)
        channels[MARKERS] = replace(channels[MARKERS], type=POSES, names=())
        return channels

    def _next(self):
        posture, held, seconds = self._parts.pop(0)
        options = PlatformOptions(seed=self._seed)
        self._seed += 1  # another push every time
        self._rig = PlatformRig(two_links.LINKS, two_links.SPRINGS, posture, held, options)
        self._begun, self._left = self.time, round(seconds * options.rate)


class LiveWrist:
    """A payload behind a force-torque sensor at the wrist of a moving arm."""

    urdf = 'franka'
    step = STEP
    ends = np.inf
    link, joints = 'fr3_flange', tuple(f'fr3_joint{i}' for i in range(1, 8))
    topics = {'/joint_states': JOINT_STATE, '/wrench': WRENCH, '/payload/imu': IMU,
              TRUE_WRENCH: WRENCH}

    def __init__(self, urdf, seed=0):
        self.description = urdf
        self._rig = WristRig(urdf, self.joints, self.link, WristOptions(seed=seed))
        self._count = 0

    @property
    def time(self) -> float:
        """Return the time since the start [s]."""
        return self._count / RATE

    @property
    def truth(self) -> dict[str, float]:
        """Return the ten parameters of the payload and the sensor's bias."""
        names = [f'{s}1' for s in SYMBOLS] + [f'bias_{axis}1' for axis in AXES]
        return dict(zip(names, map(float, np.concatenate([self._rig.parameters, BIAS]))))

    def advance(self) -> dict[str, Channel]:
        """Move on by STEP; return {topic: Channel} of what was measured."""
        samples, exact = [], []
        for _ in range(max(1, round(STEP * RATE))):
            samples.append(self._rig.step())
            exact.append(self._rig.data.sensordata[:6] + BIAS)
        self._count += len(samples)
        channels = self._rig.channels(samples)
        channels[TRUE_WRENCH] = wrench_channel(TRUE_WRENCH, stamps([s.time for s in samples]),
                                               np.array(exact), self.link)
        return channels
