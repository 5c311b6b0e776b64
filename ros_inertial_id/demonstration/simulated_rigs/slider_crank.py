"""
A slider-crank rig: MuJoCo moves it, a camera sees markers, an IMU is on the connecting rod.

A controller turns the crank along 6 t + sin(2 pi 1.5 t) + 0.5 sin(2 pi 2.5 t).  Every sensor has
its own rate, noise and clock; the camera loses frames.  The rig advances by any time step, so the
same code feeds a node and a test.  The loop is closed here anew, in MuJoCo's own terms, so an
identification that agrees does not agree with itself.
"""

import numpy as np
from scipy.spatial.transform import Rotation

from .models import compiled, spec_of
from .samples import channels_of, JOINT_STATE, POINT, POSE, REPORT_STEP, Samples, SYMBOLS, WRENCH
from .samples import IMU as IMU_TYPE
from ...measurement.recording import Channel
from ...simulation import true_robot
from ...simulation.rigid_bodies import _mujoco, ten_parameters

INTEGRATION_STEP = 1.25e-4  # [s] of the simulation: 800 Hz and 1 kHz are whole numbers of it
STIFF = (-1e7, -4e3)  # solref: stiffness [1/s^2] and damping [1/s] of the closure
HARD = (0.9999, 0.9999, 0.001, 0.5, 2.0)  # solimp: hardly anything yields
RAMP = 0.5  # [s] from rest to the full motion
GAINS = 40.0, 0.8  # [N m/rad], [N m s/rad] of the crank's controller
START = 0.5  # [rad] crank angle
CRANK, ROD = 0.08, 0.25  # [m] lengths
EVERY = {'camera': 10, 'imu': 10, 'torque': 8}  # ticks: 800, 800 and 1000 Hz
DROPPED = 0.01  # share of the camera's frames
ENCODER_NOISE, TORQUE_NOISE = 1e-3, 1e-2  # [rad], [N m]
MARKER_NOISE, TAG_NOISE = 1e-4, 2e-3  # [m], [rad]
GYRO_NOISE, ACCELEROMETER_NOISE = 5e-3, 0.05  # [rad/s], [m/s^2]
GYRO_BIAS = 0.01  # [rad/s] of every axis
CAMERA_DELAY, IMU_DELAY = 5e-3, 2e-3  # [s] that stamps are late
POINT_MARKERS = {'/markers/crank_pin': 'rod_link', '/markers/slider_pin': 'slider_link'}
TAG, IMU, TORQUE = '/markers/rod_tag', '/rod/imu', '/crank/torque'
JOINTS, TRUE_TORQUE = '/joint_states', '/true_torque'


class SliderCrank:
    """
    The rig, from rest, near what a URDF text ``description`` says.

    seed : of everything random; mass_change : largest relative change of a link's mass
    model, data : MuJoCo's of what it really is
    """

    urdf = 'slider_crank'
    step = REPORT_STEP
    topics = {
        **dict.fromkeys(POINT_MARKERS, POINT),
        TAG: POSE,
        IMU: IMU_TYPE,
        TORQUE: WRENCH,
        JOINTS: JOINT_STATE,
        TRUE_TORQUE: JOINT_STATE,
    }

    def __init__(self, description, seed=0, mass_change=0.25):
        self._rng = np.random.default_rng(seed)
        self._mujoco = _mujoco()
        self.model = self._compile(
            true_robot.perturbed_urdf(
                true_robot.parse(description), self._rng, mass_change, 0.0, 0.0
            )
        )
        self.data = self._mujoco.MjData(self.model)
        rod = -START - np.arcsin(CRANK / ROD * np.sin(START))
        slider = CRANK * np.cos(START) + ROD * np.cos(START + rod)
        for joint, position in (('crank', START), ('rod', rod), ('slider', slider)):
            self.data.joint(joint).qpos = position
        self._count = 0

    def _compile(self, urdf):
        """Return the model of a URDF text with a site of its name on every link, loop closed."""
        mujoco, spec = self._mujoco, spec_of(urdf)
        for body in spec.bodies:
            body.add_site(name=body.name)
        closure = spec.add_equality(
            type=mujoco.mjtEq.mjEQ_CONNECT,
            objtype=mujoco.mjtObj.mjOBJ_SITE,
            name1='slider_pin',
            name2='rod_end',
        )
        closure.solref[:], closure.solimp[:] = STIFF, HARD
        model = compiled(spec, INTEGRATION_STEP)
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        model.opt.tolerance, model.opt.iterations = 1e-14, 50
        return model

    @property
    def time(self) -> float:
        """Return the time since the start [s]."""
        return self._count * INTEGRATION_STEP

    @property
    def truth(self) -> dict[str, float]:
        """Return the ten parameters of every body, as MuJoCo has them."""
        out = {}
        for number, link in enumerate(('crank_link', 'rod_link', 'slider_link'), 1):
            body = self.model.body(link)
            R = Rotation.from_quat(np.roll(body.iquat, -1)).as_matrix()
            ten = ten_parameters(body.mass[0], body.ipos, R @ np.diag(body.inertia) @ R.T)
            out.update({f'{s}{number}': float(x) for s, x in zip(SYMBOLS, ten)})
        return out

    def advance(self, duration: float = REPORT_STEP) -> dict[str, Channel]:
        """Move on by ``duration`` [s]; return {topic: Channel} of what was measured."""
        said: Samples = {}
        for _ in range(int(round(duration / INTEGRATION_STEP))):
            torque = self._torque()
            self.data.joint('crank').qfrc_applied = torque
            self._mujoco.mj_forward(self.model, self.data)
            if self._count % EVERY['torque'] == 0:
                self._sense_crank(torque, said)
            if self._count % EVERY['imu'] == 0:
                self._sense_rod(said)
            if self._count % EVERY['camera'] == 0 and self._rng.random() >= DROPPED:
                self._see(said)
            self._mujoco.mj_step2(self.model, self.data)
            self._count += 1
        return channels_of(said, self.topics, ('crank',))

    def _torque(self):
        z, rate = fast_motion(self.time)
        crank = self.data.joint('crank')
        return float(GAINS[0] * (START + z - crank.qpos[0]) + GAINS[1] * (rate - crank.qvel[0]))

    def _say(self, said, topic, late=0.0, **fields):
        said.setdefault(topic, []).append((self.time + late, fields))

    def _noise(self, standard_deviation, size=None):
        return standard_deviation * self._rng.standard_normal(size)

    def _sense_crank(self, torque, said):
        value = torque + self._noise(TORQUE_NOISE)
        self._say(said, TRUE_TORQUE, effort=[torque])
        self._say(said, TORQUE, force=[0.0, 0.0, 0.0], torque=[0.0, 0.0, value])
        angle = self.data.joint('crank').qpos[0] + self._noise(ENCODER_NOISE)
        self._say(said, JOINTS, position=[angle], effort=[value])

    def _see(self, said):
        for topic, link in POINT_MARKERS.items():
            self._say(
                said,
                topic,
                CAMERA_DELAY,
                position=self.data.site(link).xpos + self._noise(MARKER_NOISE, 3),
            )
        tag = self.data.site('rod_tag')
        attitude = Rotation.from_rotvec(self._noise(TAG_NOISE, 3)) * Rotation.from_matrix(
            tag.xmat.reshape(3, 3)
        )
        self._say(
            said,
            TAG,
            CAMERA_DELAY,
            position=tag.xpos + self._noise(MARKER_NOISE, 3),
            orientation_xyzw=attitude.as_quat(),
        )

    def _sense_rod(self, said):
        """
        Say what the IMU reads, of the instant of the positions.

        The integration is semi-implicit: velocities belong to half a step before the positions
        and accelerations, so they are moved on by that half.
        """
        mujoco, index, data = self._mujoco, self.model.site('rod_imu').id, self.data
        velocity, acceleration = np.zeros(6), np.zeros(6)
        kind, before = mujoco.mjtObj.mjOBJ_SITE, data.qvel.copy()
        data.qvel += 0.5 * INTEGRATION_STEP * data.qacc
        mujoco.mj_comVel(self.model, data)
        mujoco.mj_rnePostConstraint(self.model, data)
        mujoco.mj_objectVelocity(self.model, data, kind, index, velocity, 1)
        mujoco.mj_objectAcceleration(self.model, data, kind, index, acceleration, 1)
        data.qvel[:] = before
        self._say(
            said,
            IMU,
            IMU_DELAY,
            angular_velocity=velocity[:3] + self._noise(GYRO_NOISE, 3) + GYRO_BIAS,
            linear_acceleration=acceleration[3:] + self._noise(ACCELEROMETER_NOISE, 3),
        )


def fast_motion(t: float) -> tuple[float, float]:
    """Return crank angle and rate after t [s]: rich in speeds, from rest over RAMP seconds."""
    s = min(t / RAMP, 1.0)
    pace = s * s * (3 - 2 * s)
    t = RAMP * (s**3 - 0.5 * s**4) + max(t - RAMP, 0.0)
    w = 2 * np.pi
    z = 6 * t + np.sin(1.5 * w * t) + 0.5 * np.sin(2.5 * w * t)
    rate = 6 + 1.5 * w * np.cos(1.5 * w * t) + 1.25 * w * np.cos(2.5 * w * t)
    return z, rate * pace
