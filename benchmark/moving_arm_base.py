"""
How well an arm is identified whose base moves, beside the same arm on the ground.

    OPENBLAS_NUM_THREADS=1 python benchmark/moving_arm_base.py [SEEDS [SECONDS]]

MuJoCo lets the FR3 of this package, 20 % and about 10 mm off its description, move on a base:
bolted to the ground, on a cart that slides on casters and is pushed about by some 1 m/s^2 and 0.5
rad/s, and hanging by a rope.  Sensors have the noise of real ones, the IMU's clock is 4 ms late.
Prints per seed the error of the torque that each model predicts for another motion of the arm on
the ground, whose efforts have no noise, and what is said of the cart told as a fixed base.
"""

import argparse
from pathlib import Path

import mujoco
import numpy as np

from ros_inertial_id.checks.check import check
from ros_inertial_id.demonstration.simulated_rigs.models import (
    add_sensors,
    compiled_on_ground,
    IMU_SENSORS,
    spec_of,
)
from ros_inertial_id.demonstration.simulated_rigs.quadruped import (
    ACCELEROMETER_NOISE,
    BASE_IMU,
    ENCODER_NOISE,
    GYRO_NOISE,
    IMU_DELAY,
    TORQUE_NOISE,
)
from ros_inertial_id.demonstration.simulated_rigs.samples import channels_of, IMU, JOINT_STATE
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.judge.prediction import predict
from ros_inertial_id.identification.settings import load_options
from ros_inertial_id.measurement.recording import Recording
from ros_inertial_id.simulation import true_robot

ROOT = Path(__file__).parents[1]
STATES = '/joint_states'
STEP, STEPS_A_SAMPLE = 5e-4, 4  # [s]; 500 Hz
GROUND, CART, ROPE = 'ground', 'cart', 'rope'
BASE_MASS, BASE_SIZE = 60.0, np.array([0.6, 0.5, 0.3])  # [kg], [m]
CASTERS = [(x, y, -0.15) for x in (-0.3, 0.3) for y in (-0.25, 0.25)]  # [m]
GLIDES = [0.02, 0.0, 0.0]  # friction of the casters and the ground
TYRE = [0.05, 1.0]  # time constant [s] and damping of the ground under them
PIVOT = 2.0  # [m] of the rope above the base
SWING = 0.6  # [rad/s] at the start
PUSH, TURN = 1.0, 0.5  # [m/s^2], [rad/s] about the peak of the cart
CART_RATES = 0.2, 0.9  # [Hz]
HARMONICS = 4
ARM_RATES, ARM_AMPLITUDE = (0.1, 0.7), 0.6  # [Hz], [rad]
HOLD = 100.0, 5.0  # [1/s] of the cart, [1] damping: of the force that pushes it
GAINS = 3000.0, 60.0  # [N m/rad], [N m s/rad] of the joints
VISCOUS, DRY, ARMATURE = 1.0, 1.0, 0.1
FRICTION = ['viscous', 'coulomb', 'armature']
IMU_FRAME = 'fr3_link0'
ENDS = 1.0  # [s] of a recording that are not compared


class ArmOnBase:
    """The arm of ``true_urdf`` on a ``base``; seed : of its motion and its noise."""

    def __init__(self, true_urdf, base, seed, torque_noise=TORQUE_NOISE):
        self._rng, self._torque_noise = np.random.default_rng(seed), torque_noise
        robot = true_robot.parse(true_urdf)
        self.joints = true_robot.movable_joints(robot)
        limits = true_robot.joint_limits(robot, self.joints)
        self._middle = 0.5 * (limits.lower + limits.upper)
        count = len(self.joints)
        self._friction = true_robot.JointFriction(np.full(count, VISCOUS), np.full(count, DRY))
        self._sines = self._series(ARM_RATES, count)
        self._sines[1][:] *= ARM_AMPLITUDE / HARMONICS**0.5
        self._path = self._series(CART_RATES, 3)
        self._base, self.model = base, _compiled(true_urdf, base)
        self._data, self._read = mujoco.MjData(self.model), np.zeros(6)
        joint = self.model.joint
        self._q = [int(joint(name).qposadr[0]) for name in self.joints]
        self._v = [int(joint(name).dofadr[0]) for name in self.joints]
        self._body = self.model.body(IMU_FRAME).id
        self._data.qpos[self._q] = self._wanted(0.0)
        if base == ROPE:
            self._data.qvel[:2] = SWING * self._rng.uniform(0.5, 1.0, 2)

    def _series(self, rates, columns):
        """Return angular frequencies, amplitudes and phases (HARMONICS, columns)."""
        shape = (HARMONICS, columns)
        frequency = 2 * np.pi * self._rng.uniform(*rates, shape)
        phase = self._rng.uniform(0.0, 2 * np.pi, shape)
        return frequency, self._rng.uniform(0.5, 1.0, shape), phase

    def _wanted(self, t):
        """Return the joint positions (n,) that are held at t [s]."""
        frequency, amplitude, phase = self._sines
        return self._middle + (amplitude * np.sin(frequency * t + phase)).sum(0)

    def _push(self):
        """Push the cart along its path: x, y [m] and its turn [rad]."""
        frequency, amplitude, phase = self._path
        peak = np.array([PUSH, PUSH, TURN]) / HARMONICS**0.5
        order = np.array([2, 2, 1])  # of the derivative that has this peak
        along = np.sin(frequency * self._data.time + phase) - np.sin(phase)
        place = (peak * amplitude / frequency**order * along).sum(0)
        q, v = self._data.qpos[:7], self._data.qvel[:6]
        turn = 2.0 * np.arctan2(q[6], q[3])
        away = place - np.array([q[0], q[1], turn])
        inertia = np.array([1.2 * BASE_MASS, 1.2 * BASE_MASS, 6.0])
        force = inertia * (HOLD[0] * away - 2.0 * HOLD[1] * np.array([v[0], v[1], v[5]]))
        self._data.xfrc_applied[self._body, [0, 1, 5]] = force

    def record(self, seconds, urdf):
        """Return the Recording of so many ``seconds``, with a ``urdf`` as its description."""
        said = {STATES: [], BASE_IMU: []}
        data = self._data
        for k in range(round(seconds / STEP)):
            q, v = data.qpos[self._q].copy(), data.qvel[self._v].copy()
            torque = GAINS[0] * (self._wanted(data.time) - q) - GAINS[1] * v
            data.qfrc_applied[self._v] = torque - self._friction.torque(v)
            if self._base == CART:
                self._push()
            now = data.time
            mujoco.mj_step(self.model, data)
            self._read += data.sensordata / STEPS_A_SAMPLE  # an IMU takes the mean of its period
            if k % STEPS_A_SAMPLE == STEPS_A_SAMPLE - 1:
                self._sense(said, now, q, torque)
                self._read[:] = 0.0
        names = {STATES: self.joints}
        channels = {}
        for topic, kind in ((STATES, JOINT_STATE), (BASE_IMU, IMU)):
            series = {topic: said[topic]}
            channels |= channels_of(series, {topic: kind}, names.get(topic, ()), IMU_FRAME)
        return Recording(channels, urdf)

    def _sense(self, said, now, q, torque):
        """Add what the sensors read."""
        noise, count = self._rng.standard_normal, len(q)
        gyro, accelerometer = np.split(self._read, 2)
        effort = torque + self._torque_noise * noise(count)
        said[STATES].append(
            (now, {'position': q + ENCODER_NOISE * noise(count), 'effort': effort})
        )
        imu = {
            'angular_velocity': gyro + GYRO_NOISE * noise(3),
            'linear_acceleration': accelerometer + ACCELEROMETER_NOISE * noise(3),
        }
        said[BASE_IMU].append((now + IMU_DELAY, imu))


def _compiled(urdf, base):
    """Return the MuJoCo model of an arm (URDF text) on a ``base``."""
    spec = spec_of(urdf)
    root = spec.body(IMU_FRAME)
    root.explicitinertial, root.mass, root.ipos = True, BASE_MASS, [0.0, 0.0, 0.0]
    root.fullinertia = np.full(6, np.nan)
    root.inertia = BASE_MASS / 12 * (BASE_SIZE @ BASE_SIZE - BASE_SIZE**2)
    if base == CART:
        root.add_freejoint()
        root.pos = [0.0, 0.0, 0.2]
        plane, ball = mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_SPHERE
        spec.worldbody.add_geom(type=plane, size=[20.0, 20.0, 0.1], friction=GLIDES)
        for place in CASTERS:
            root.add_geom(type=ball, size=[0.05, 0, 0], pos=place, friction=GLIDES, mass=0)
    if base == ROPE:
        root.add_joint(type=mujoco.mjtJoint.mjJNT_BALL, pos=[0.0, 0.0, PIVOT], damping=[5.0, 0, 0])
    add_sensors(spec, root, 'imu', IMU_SENSORS)
    return compiled_on_ground(spec, STEP, TYRE, ARMATURE)


def settings(base):
    """Return method and options by which an arm on a ``base`` is identified."""
    if base == GROUND:
        return 'serial_arm', load_options('', 'serial_arm', {'friction': FRICTION})[1]
    changes = {'friction': FRICTION, 'base': 'carried'}
    return 'floating_base', load_options('', 'floating_base', changes)[1]


def identified(recording, base):
    """Return the model of a ``recording`` on a ``base``."""
    method, options = settings(base)
    return identify([recording], options, method=method).model


def error_of(prediction):
    """Return the residual [%] of a Prediction without the ends, where a filter has to guess."""
    t = prediction.t
    inside = (t > t[0] + ENDS) & (t < t[-1] - ENDS)
    left, measured = prediction.residual[inside], prediction.measured[inside]
    return 100.0 * np.linalg.norm(left) / np.linalg.norm(measured)


def pace_of(recording):
    """Return the RMS of the acceleration [m/s^2] across and of the rate [rad/s] of the base."""
    imu = recording.channels[BASE_IMU].fields
    across = imu['linear_acceleration'][:, :2]
    return [np.sqrt((x**2).sum(1).mean()) for x in (across, imu['angular_velocity'])]


def study(urdf, seed, seconds):
    """Return the numbers of one seed, and what is said of the cart told as a fixed base."""
    rng = np.random.default_rng(seed)
    truth = true_robot.perturbed_urdf(true_robot.parse(urdf), rng, 0.2, 0.1, 0.05)
    other = ArmOnBase(truth, GROUND, [seed, 1], torque_noise=0.0).record(seconds / 2, urdf)
    errors, out = {}, {}
    for base in (GROUND, CART, ROPE):
        recording = ArmOnBase(truth, base, [seed, 0]).record(seconds, urdf)
        model = identified(recording, base)
        errors[base] = error_of(predict(model, other))
        out[f'{base} %'] = errors[base]
        if base != GROUND:
            out[f'{base} / ground'] = errors[base] / errors[GROUND]
            out[f'{base} m/s^2'], out[f'{base} rad/s'] = pace_of(recording)
        if base == CART:
            method, options = settings(GROUND)
            checkup = check([recording], options, method=method)
            do = [finding.do for finding in checkup.checks if 'floating_base' in finding.do]
            told = f'{checkup.verdict.word}: {"; ".join([*checkup.verdict.reasons, *do])}'
    return out, told


def main():
    """Print one line per seed, then what is said of a moving base that is told as fixed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('seeds', nargs='?', type=int, default=6)
    parser.add_argument('seconds', nargs='?', type=float, default=30.0)
    given = parser.parse_args()
    urdf = (ROOT / 'urdf' / 'franka.urdf').read_text()
    verdicts = []
    for seed in range(given.seeds):
        numbers, verdict = study(urdf, seed, given.seconds)
        verdicts.append(verdict)
        if not seed:
            print('seed ', *(f'{name:>14s}' for name in numbers), flush=True)
        print(f'{seed:5d}', *(f'{x:14.3f}' for x in numbers.values()), flush=True)
    for seed, verdict in enumerate(verdicts):
        print(f'seed {seed}, cart told as fixed: {verdict}')


if __name__ == '__main__':
    main()
