"""
A wrist rig: an arm that swings a payload behind a force-torque sensor, simulated by MuJoCo.

The arm follows its motion exactly; MuJoCo's inverse dynamics says what the sensor measures.  The
sensor has noise and a bias, like the encoders and the IMU on the payload it publishes beside.
"""

from dataclasses import dataclass

import numpy as np

from .sensors import channel, imu_channel, JOINT_STATE, stamps, wrench_channel
from ...measurement.recording import Channel, Recording
from ...options import check_ranges, option
from ...simulation.rigid_bodies import _bodies_only, _mujoco, ten_parameters

HARMONICS = 5


@dataclass(frozen=True)
class WristOptions:
    """The payload, its motion and the sensors of the wrist rig."""

    rate: float = option(500.0, 'samples per second', unit='Hz', at_least=10.0, at_most=5000.0)
    seed: int = option(0, 'seed of everything random', at_least=0)
    mass: float = option(2.0, 'mass of the payload', unit='kg', at_least=0.01)
    center: tuple[float, ...] = option(
        (0.03, -0.02, 0.09), 'its centre in the frame of the sensor', unit='m')
    inertia: tuple[float, ...] = option(
        (0.012, 0.015, 0.009, 0.001, -0.0015, 0.0008),
        'inertia about its centre: xx yy zz xy xz yz', unit='kg m^2')
    amplitude: float = option(0.7, 'largest swing of a joint', unit='rad', at_least=0.0)
    base_frequency: float = option(0.15, 'of the Fourier series of the motion', unit='Hz',
                                   at_least=0.01)
    encoder_noise: float = option(1e-5, 'standard deviation', unit='rad', at_least=0.0)
    force_noise: float = option(0.15, 'standard deviation', unit='N', at_least=0.0)
    torque_noise: float = option(0.006, 'standard deviation', unit='N m', at_least=0.0)
    force_bias: tuple[float, ...] = option((4.0, -3.0, 6.0), 'offset of the sensor', unit='N')
    torque_bias: tuple[float, ...] = option((0.2, -0.3, 0.1), 'offset of the sensor', unit='N m')
    gyro_noise: float = option(2e-3, 'standard deviation', unit='rad/s', at_least=0.0)
    accelerometer_noise: float = option(0.02, 'standard deviation', unit='m/s^2', at_least=0.0)


@dataclass(frozen=True)
class WristSample:
    """One instant: q, v (n,); wrench (6,) as the sensor shows it; imu (6,): rate, force."""

    time: float
    q: np.ndarray
    v: np.ndarray
    wrench: np.ndarray
    imu: np.ndarray


class WristRig:
    """
    The arm of a URDF text with a payload on ``link``, in a periodic motion.

    gravity_base : [m/s^2] in the base frame.  ``parameters`` (10,) is the payload's truth in the
    frame of the sensor, ``bias`` (6,) the sensor's.
    """

    def __init__(self, urdf, joint_names, link, options=None, gravity_base=(0.0, 0.0, -9.81)):
        self.options = options = options or WristOptions()
        check_ranges(options)
        self.urdf, self.joint_names, self.link = urdf, tuple(joint_names), link
        self._mujoco = _mujoco()
        self.model = self._compile(gravity_base)
        self.data = self._mujoco.MjData(self.model)
        self._dof = np.array([self.model.joint(n).dofadr[0] for n in self.joint_names])
        self._rng = np.random.default_rng(options.seed)
        self._home, self._swing = self._motion()
        self.bias = np.concatenate([options.force_bias, options.torque_bias])
        self._count = 0

    def _compile(self, gravity_base):
        mujoco, options = self._mujoco, self.options
        spec = mujoco.MjSpec.from_string(_bodies_only(self.urdf, self.joint_names))
        spec.compiler.fusestatic = False
        body = spec.body(self.link).add_body(
            name='payload', mass=options.mass, ipos=options.center, fullinertia=options.inertia,
            explicitinertial=True)
        body.add_site(name='sensor')
        for kind in ('FORCE', 'TORQUE', 'GYRO', 'ACCELEROMETER'):
            spec.add_sensor(name=kind.lower(), type=getattr(mujoco.mjtSensor, f'mjSENS_{kind}'),
                            objtype=mujoco.mjtObj.mjOBJ_SITE, objname='sensor')
        model = spec.compile()
        model.opt.gravity[:] = gravity_base
        disable = mujoco.mjtDisableBit
        model.opt.disableflags |= int(disable.mjDSBL_CONSTRAINT | disable.mjDSBL_CONTACT)
        return model

    def _motion(self):
        """Return the middle of the joint ranges and the Fourier coefficients (2, 5, n)."""
        low, high = self.model.jnt_range.T
        bounded = self.model.jnt_limited.astype(bool)
        order = [self.model.joint(n).id for n in self.joint_names]
        home = np.where(bounded, (low + high) / 2, 0.0)[order]
        room = np.where(bounded, (high - low) / 2, np.pi)[order]
        swing = self._rng.standard_normal((2, HARMONICS, len(home)))
        peak = np.abs(swing).sum((0, 1))
        return home, swing * np.minimum(self.options.amplitude * 2.0, 0.9 * room) / peak

    def reference(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the motion (q, v, a), each (n,), at ``time`` [s]."""
        w = 2 * np.pi * self.options.base_frequency * np.arange(1, HARMONICS + 1)[:, None]
        s, c = np.sin(w * time), np.cos(w * time)
        A, B = self._swing
        return (self._home + (A * s + B * c).sum(0), (w * (A * c - B * s)).sum(0),
                -(w ** 2 * (A * s + B * c)).sum(0))

    def step(self) -> WristSample:
        """Return the WristSample of this instant and move on to the next."""
        options, data, time = self.options, self.data, self._count / self.options.rate
        q, v, a = self.reference(time)
        data.qpos[self._dof], data.qvel[self._dof], data.qacc[self._dof] = q, v, a
        self._mujoco.mj_inverse(self.model, data)
        measured = data.sensordata.copy()
        noise = self._rng.standard_normal(12) * np.repeat(
            [options.force_noise, options.torque_noise, options.gyro_noise,
             options.accelerometer_noise], 3)
        measured += noise
        encoder = options.encoder_noise * self._rng.standard_normal(len(q))
        self._count += 1
        return WristSample(time, q + encoder, v, measured[:6] + self.bias, measured[6:])

    @property
    def parameters(self) -> np.ndarray:
        """Return the payload's ten standard parameters about the sensor's origin."""
        xx, yy, zz, xy, xz, yz = self.options.inertia
        return ten_parameters(self.options.mass, np.array(self.options.center),
                              np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))

    def channels(self, samples: list[WristSample], begun: float = 0.0) -> dict[str, Channel]:
        """Return {topic: Channel} of ``samples`` of a motion that has begun at ``begun`` [s]."""
        t = stamps([s.time for s in samples], begun)
        q, wrench, imu = (np.array([getattr(s, name) for s in samples])
                          for name in ('q', 'wrench', 'imu'))
        made = (channel('/joint_states', JOINT_STATE, t, {'position': q}, self.joint_names),
                wrench_channel('/wrench', t, wrench, self.link),
                imu_channel('/payload/imu', t, imu, self.link))
        return {c.topic: c for c in made}

    def record(self, duration: float) -> Recording:
        """Return a Recording of ``duration`` [s]: /joint_states, /wrench and /payload/imu."""
        samples = [self.step() for _ in range(round(duration * self.options.rate))]
        return Recording(self.channels(samples, 1e9), self.urdf, 'upright',
                         {'path': 'simulated wrist rig', 'duration_s': duration})
