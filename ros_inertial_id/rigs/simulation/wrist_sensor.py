"""
A wrist rig: an arm that swings a payload behind a force-torque sensor, simulated by MuJoCo.

The arm follows its motion exactly; MuJoCo's inverse dynamics says what the sensor measures.  The
sensor has noise and a bias, like the encoders and the IMU on the payload it publishes beside.
"""

from dataclasses import dataclass

import numpy as np

from .sensors import channel, imu_channel, JOINT_STATE, stamps, wrench_channel
from ...measurement.recording import Channel, Recording
from ...simulation.rigid_bodies import _bodies_only, _mujoco, ten_parameters

RATE = 500.0            # [Hz] of all sensors
HARMONICS = 5           # of the motion, of BASE_FREQUENCY [Hz]
BASE_FREQUENCY = 0.15
AMPLITUDE = 0.7         # [rad] largest swing of a joint
ENCODER_NOISE = 1e-5    # [rad]
NOISE = np.repeat([0.15, 0.006, 2e-3, 0.02], 3)  # force [N], torque [N m], gyro, accelerometer
BIAS = np.array([4.0, -3.0, 6.0, 0.2, -0.3, 0.1])  # of the sensor [N, N m]


@dataclass(frozen=True)
class WristOptions:
    """
    The payload, and the seed of everything random.

    mass [kg]; center (3,) [m] in the frame of the sensor; inertia (6,) about it: xx yy zz xy xz yz
    [kg m^2]
    """

    seed: int = 0
    mass: float = 2.0
    center: tuple[float, ...] = (0.03, -0.02, 0.09)
    inertia: tuple[float, ...] = (0.012, 0.015, 0.009, 0.001, -0.0015, 0.0008)


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
    frame of the sensor, BIAS the sensor's.
    """

    def __init__(self, urdf, joint_names, link, options=None, gravity_base=(0.0, 0.0, -9.81)):
        self.options = options = options or WristOptions()
        self.urdf, self.joint_names, self.link = urdf, tuple(joint_names), link
        self._mujoco = _mujoco()
        self.model = self._compile(gravity_base)
        self.data = self._mujoco.MjData(self.model)
        self._dof = np.array([self.model.joint(n).dofadr[0] for n in self.joint_names])
        self._rng = np.random.default_rng(options.seed)
        self._home, self._swing = self._motion()
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
        return home, swing * np.minimum(2.0 * AMPLITUDE, 0.9 * room) / peak

    def reference(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the motion (q, v, a), each (n,), at ``time`` [s]."""
        w = 2 * np.pi * BASE_FREQUENCY * np.arange(1, HARMONICS + 1)[:, None]
        s, c = np.sin(w * time), np.cos(w * time)
        A, B = self._swing
        return (self._home + (A * s + B * c).sum(0), (w * (A * c - B * s)).sum(0),
                -(w ** 2 * (A * s + B * c)).sum(0))

    def step(self) -> WristSample:
        """Return the WristSample of this instant and move on to the next."""
        data, time = self.data, self._count / RATE
        q, v, a = self.reference(time)
        data.qpos[self._dof], data.qvel[self._dof], data.qacc[self._dof] = q, v, a
        self._mujoco.mj_inverse(self.model, data)
        measured = data.sensordata + NOISE * self._rng.standard_normal(12)
        encoder = ENCODER_NOISE * self._rng.standard_normal(len(q))
        self._count += 1
        return WristSample(time, q + encoder, v, measured[:6] + BIAS, measured[6:])

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
        samples = [self.step() for _ in range(round(duration * RATE))]
        return Recording(self.channels(samples, 1e9), self.urdf, 'upright',
                         {'path': 'simulated wrist rig', 'duration_s': duration})
