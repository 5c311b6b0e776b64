"""
The simulated rigs under one contract, for the node that publishes them.

Each is an entry point of RIGS_GROUP (see plugins.py).  A rig has ``description`` (URDF or YAML
text), ``topics`` (topic: type), ``time`` [s] of its own clock, ``ends`` [s] (inf for one that goes
on), ``advance()``, which moves on by at most ``step`` [s] and returns the Channels of what was
measured in it (stamps from 0), and ``truth`` : what an identification should find, name of the
parameter -> value.  Topics named ``true_...`` are not
measured: they hold what is to be predicted, without noise.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from . import two_link_platform as two_links
from .platform import channels_of, MARKERS, PlatformOptions, PlatformRig
from .sensors import channel, IMU, JOINT_STATE, POSES, stamps, WRENCH, wrench_channel
from .slider_crank import RigOptions, SliderCrankRig, TOPICS
from .wrist_sensor import WristOptions, WristRig
from ...errors import ConfigError
from ...measurement.recording import Channel
from ...options import option
from ...simulation.rigid_bodies import ten_parameters

STEP = 0.01  # [s]: at most that late is what a rig says
SYMBOLS = ('m', 'mcx', 'mcy', 'mcz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')
AXES = ('fx', 'fy', 'fz', 'nx', 'ny', 'nz')
FAULTS = ('creeping', 'marker_lost', 'stop')  # in the first, second, third held posture
CREEP = 20.0  # [N m s/rad] of a joint that is clamped badly: the limb sags within a second
LOST = 1.0, 2.0  # [s] of the posture
TRUE_TORQUE, TRUE_WRENCH = '/true_torque', '/true_wrench'


class LiveSliderCrank:
    """The slider-crank: markers, IMU, crank torque, encoder."""

    Options = RigOptions
    urdf = 'slider_crank'
    step = STEP
    ends = np.inf
    topics = {**TOPICS, TRUE_TORQUE: JOINT_STATE}

    def __init__(self, options, urdf):
        self.description, self._rig = urdf, SliderCrankRig(urdf, options)

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


@dataclass(frozen=True)
class SequenceOptions(PlatformOptions):
    """How the platform rig is seen, and for how long."""

    held_seconds: float = option(12.0, 'of vibration in every held posture', unit='s',
                                 at_least=1.0)
    loose_seconds: float = option(8.0, 'of every motion of the loose links', unit='s',
                                  at_least=1.0)
    faults: tuple[str, ...] = option(
        (), f'faults to play, of {", ".join(FAULTS)}: a limb that is not held still in the first '
        'posture, a marker lost for a second in the second, a stop that the platform touches in '
        'the third')
    pause: float = option(1.0, 'between two of them, without the camera', unit='s', at_least=0.0)


class LivePlatform:
    """The suspended platform: four held postures, then two motions of the loose limb."""

    Options = SequenceOptions
    urdf = ''
    step = STEP
    topics = {MARKERS: POSES, two_links.IMU.topic: IMU}

    def __init__(self, options, urdf=''):
        self.description = urdf or two_links.description()
        wrong = [fault for fault in options.faults if fault not in FAULTS]
        if wrong:
            raise ConfigError('option faults', found=wrong, exists=FAULTS)
        self._options, self._fault = options, ''
        self._parts = [(posture, True, options.held_seconds) for posture in two_links.HELD]
        self._parts += [(posture, False, options.loose_seconds) for posture in two_links.LOOSE]
        self.ends = sum(seconds + options.pause for *_, seconds in self._parts)
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
        t = sample[0]
        self.time = self._begun + t + 1.0 / self._options.rate
        if not self._left:
            self.time += self._options.pause
        channels = channels_of([sample], self._begun)
        markers = channels[MARKERS]
        position = np.array(markers.fields['position'])
        if self._fault == 'marker_lost' and LOST[0] <= t < LOST[1]:
            position[0, 3] = np.nan
        channels[MARKERS] = replace(markers, type=POSES, names=(), fields=dict(
            markers.fields, position=position))
        return channels

    def _next(self):
        posture, held, seconds = self._parts.pop(0)
        options = self._options
        number = len(two_links.HELD) + len(two_links.LOOSE) - 1 - len(self._parts)
        fault = FAULTS[number] if number < len(FAULTS) else ''
        self._fault = fault if fault in options.faults else ''
        links = list(two_links.LINKS)
        if self._fault == 'creeping':
            links[-1], held = replace(links[-1], friction=CREEP), False
        # another push every time
        seen = PlatformOptions(**{name: getattr(options, name) for name in
                                  PlatformOptions.__dataclass_fields__} | {
                                      'seed': options.seed + number})
        self._rig = PlatformRig(links, two_links.SPRINGS, posture, held, seen)
        if self._fault == 'stop':
            self._rig.stop = _stop(PlatformRig(links, two_links.SPRINGS, posture, held, seen))
        self._begun, self._left = self.time, round(seconds * options.rate)


class LiveWrist:
    """A payload behind a force-torque sensor at the wrist of a moving arm."""

    Options = WristOptions
    urdf = 'franka'
    step = STEP
    ends = np.inf
    link, joints = 'fr3_flange', tuple(f'fr3_joint{i}' for i in range(1, 8))
    topics = {'/joint_states': JOINT_STATE, '/wrench': WRENCH, '/payload/imu': IMU,
              TRUE_WRENCH: WRENCH}

    def __init__(self, options, urdf):
        self.description, self._rate = urdf, options.rate
        self._rig = WristRig(urdf, self.joints, self.link, options)
        self._count = 0

    @property
    def time(self) -> float:
        """Return the time since the start [s]."""
        return self._count / self._rate

    @property
    def truth(self) -> dict[str, float]:
        """Return the ten parameters of the payload and the sensor's bias."""
        rig = self._rig
        names = [f'{s}1' for s in SYMBOLS] + [f'bias_{axis}1' for axis in AXES]
        return dict(zip(names, map(float, np.concatenate([rig.parameters, rig.bias]))))

    def advance(self) -> dict[str, Channel]:
        """Move on by STEP; return {topic: Channel} of what was measured."""
        samples, exact = [], []
        for _ in range(max(1, round(STEP * self._rate))):
            samples.append(self._rig.step())
            exact.append(self._rig.data.sensordata[:6] + self._rig.bias)
        self._count += len(samples)
        channels = self._rig.channels(samples)
        channels[TRUE_WRENCH] = wrench_channel(TRUE_WRENCH, stamps([s.time for s in samples]),
                                               np.array(exact), self.link)
        return channels


def _stop(rig):
    """Return the height [m] of a stop that a swinging platform touches at its lowest."""
    heights = []
    for _ in range(round(2.0 * rig.options.rate)):
        heights.append(float(rig.data.qpos[2]))
        rig.step()
    return min(heights) + 0.2 * (np.mean(heights) - min(heights))
