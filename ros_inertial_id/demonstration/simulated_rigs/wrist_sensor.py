"""
A wrist rig: an FR3 that swings a payload behind a force-torque sensor, simulated by MuJoCo.

The arm follows its motion exactly; MuJoCo's inverse dynamics says what the sensor measures.  The
sensor has noise and a bias, like the encoders and the IMU on the payload it publishes beside.
"""

import numpy as np

from .models import add_sensors, IMU_SENSORS
from .samples import channels_of, IMU, JOINT_STATE, REPORT_STEP, Samples, SYMBOLS, WRENCH
from ...measurement.recording import Channel
from ...simulation.rigid_bodies import _bodies_only, _mujoco, ten_parameters

JOINTS = tuple(f'fr3_joint{i}' for i in range(1, 8))
SENSOR_RATE = 500.0  # [Hz] of all sensors
HARMONICS = 5  # of the motion, of BASE_FREQUENCY [Hz]
BASE_FREQUENCY = 0.15
AMPLITUDE = 0.7  # [rad] largest swing of a joint
ENCODER_NOISE = 1e-5  # [rad]
NOISE = np.repeat([0.15, 0.006, 2e-3, 0.02], 3)  # force [N], torque [N m], gyro, accelerometer
BIAS = np.array([4.0, -3.0, 6.0, 0.2, -0.3, 0.1])  # of the sensor [N, N m]
# The payload, in the frame of the sensor: mass [kg], centre [m], inertia about it [kg m^2].
MASS, CENTER = 2.0, np.array([0.03, -0.02, 0.09])
INERTIA = np.array([[0.012, 0.001, -0.0015], [0.001, 0.015, 0.0008], [-0.0015, 0.0008, 0.009]])
PARAMETERS = ten_parameters(MASS, CENTER, INERTIA)
STATES, SENSOR, PAYLOAD_IMU = '/joint_states', '/wrench', '/payload/imu'
TRUE_WRENCH = '/true_wrench'


class WristRig:
    """
    The arm of a URDF text ``description`` with the payload on ``link``, in a periodic motion.

    model, data : MuJoCo's; seed : of motion and noise
    """

    urdf, link = 'franka', 'fr3_flange'
    step = REPORT_STEP
    topics = {STATES: JOINT_STATE, SENSOR: WRENCH, PAYLOAD_IMU: IMU, TRUE_WRENCH: WRENCH}

    def __init__(self, description, seed=0):
        self._mujoco = _mujoco()
        self.model = self._compile(description)
        self.data = self._mujoco.MjData(self.model)
        self._dof = np.array([self.model.joint(n).dofadr[0] for n in JOINTS])
        self._rng = np.random.default_rng(seed)
        self._home, self._swing = self._motion()
        self._count = 0

    def _compile(self, description):
        mujoco = self._mujoco
        spec = mujoco.MjSpec.from_string(_bodies_only(description, JOINTS))
        spec.compiler.fusestatic = False
        body = spec.body(self.link).add_body(
            name='payload',
            mass=MASS,
            ipos=CENTER,
            explicitinertial=True,
            fullinertia=INERTIA[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]],
        )
        add_sensors(spec, body, 'sensor', ('FORCE', 'TORQUE', *IMU_SENSORS))
        model = spec.compile()
        model.opt.gravity[:] = 0.0, 0.0, -9.81
        disable = mujoco.mjtDisableBit
        model.opt.disableflags |= int(disable.mjDSBL_CONSTRAINT | disable.mjDSBL_CONTACT)
        return model

    def _motion(self):
        """Return the middle of the joint ranges and the Fourier coefficients (2, 5, n)."""
        low, high = self.model.jnt_range[[self.model.joint(n).id for n in JOINTS]].T
        swing = self._rng.standard_normal((2, HARMONICS, len(JOINTS)))
        peak = np.abs(swing).sum((0, 1))
        return (low + high) / 2, swing * np.minimum(2.0 * AMPLITUDE, 0.45 * (high - low)) / peak

    def _reference(self):
        """Return the motion (q, v, a), each (n,), of this instant."""
        w = 2 * np.pi * BASE_FREQUENCY * np.arange(1, HARMONICS + 1)[:, None]
        s, c = np.sin(w * self.time), np.cos(w * self.time)
        A, B = self._swing
        return (
            self._home + (A * s + B * c).sum(0),
            (w * (A * c - B * s)).sum(0),
            -(w**2 * (A * s + B * c)).sum(0),
        )

    @property
    def time(self) -> float:
        """Return the time since the start [s]."""
        return self._count / SENSOR_RATE

    @property
    def truth(self) -> dict[str, float]:
        """Return the ten parameters of the payload and the sensor's bias."""
        names = (*SYMBOLS, *(f'bias_{axis}' for axis in ('fx', 'fy', 'fz', 'nx', 'ny', 'nz')))
        return {f'{name}1': float(x) for name, x in zip(names, (*PARAMETERS, *BIAS))}

    def advance(self, duration: float = REPORT_STEP) -> dict[str, Channel]:
        """Move on by ``duration`` [s]; return {topic: Channel} of what was measured."""
        data, said = self.data, Samples()
        for _ in range(round(duration * SENSOR_RATE)):
            data.qpos[self._dof], data.qvel[self._dof], data.qacc[self._dof] = self._reference()
            self._mujoco.mj_inverse(self.model, data)
            exact = data.sensordata.copy()
            noisy = exact + NOISE * self._rng.standard_normal(12)
            q = data.qpos[self._dof] + ENCODER_NOISE * self._rng.standard_normal(len(JOINTS))
            for topic, fields in (
                (STATES, {'position': q}),
                (SENSOR, {'force': noisy[:3] + BIAS[:3], 'torque': noisy[3:6] + BIAS[3:]}),
                (PAYLOAD_IMU, {'angular_velocity': noisy[6:9], 'linear_acceleration': noisy[9:]}),
                (TRUE_WRENCH, {'force': exact[:3] + BIAS[:3], 'torque': exact[3:6] + BIAS[3:]}),
            ):
                said.setdefault(topic, []).append((self.time, fields))
            self._count += 1
        return channels_of(said, self.topics, JOINTS, self.link)
