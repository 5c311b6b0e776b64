"""
A platform on springs with a chain of links on it, simulated by MuJoCo and seen by a camera system.

The springs put ``preload - K x - D dx`` on the platform (x: displacement and rotation vector from
the rest pose, about the platform's origin, along the world's axes); the first link is bolted to
it.  Other links are held in a posture, or released to swing in their joints under gravity.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from .sensors import channel, imu_channel, MARKER_ARRAY, stamps
from ...measurement.recording import Channel, Recording
from ...simulation.rigid_bodies import _mujoco

SUBSTEPS = 3  # of Runge and Kutta between samples: 3 ms at 120 Hz, 1e-6 of modes at 3 Hz; IMUs
#               speak in every one
MARKERS = '/markers'
DISPLACEMENT, TURN = 0.015, 0.05  # [m], [rad] by which the platform is pushed at the start
GYRO_NOISE, ACCELEROMETER_NOISE = 2e-3, 0.02  # of IMUs [rad/s], [m/s^2]
GYRO_BIAS, ACCELEROMETER_BIAS = 0.01, 0.05  # of every axis
IMU_DELAY = 4e-3  # [s] that stamps of IMUs are late


@dataclass(frozen=True)
class PlatformOptions:
    """How it is seen: samples per second [Hz], seed of all noise, noise of markers [m]."""

    rate: float = 120.0
    seed: int = 0
    marker_noise: float = 3e-4


@dataclass(frozen=True)
class SimulatedImu:
    """Where an IMU sits on a link (position (3,) [m], rotation (3, 3)); its topic."""

    topic: str
    position: np.ndarray
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))


@dataclass(frozen=True)
class SimulatedLink:
    """
    One link: mass [kg], center (3,) [m], inertia (3, 3) about the centre, in the link's frame.

    kind : fixed, spherical or revolute (axis in the link's frame); position (3,) of its frame, at
    the joint, in the parent's; rotation (3, 3) when fixed; friction : viscous, of its joint
    [N m s/rad]; layout : marker -> (3,); imu : on it, or None
    """

    name: str
    mass: float
    center: np.ndarray
    inertia: np.ndarray
    kind: str = 'fixed'
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    axis: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    friction: float = 0.0
    layout: Mapping[str, np.ndarray] = field(default_factory=dict)
    imu: SimulatedImu | None = None


@dataclass(frozen=True)
class Springs:
    """K and D (6, 6), preload (6,) at the rest pose: x forward, y left, z up, origin."""

    stiffness: np.ndarray
    damping: np.ndarray
    preload: np.ndarray


class PlatformRig:
    """
    Links of which the first is the platform; each is carried by the one before.

    posture : rotation (3, 3) of every further link in its parent (None for fixed ones)
    held : whether the joints are locked there; else they start from there at rest
    stop : height [m] below which the platform touches a stop, None for none
    """

    def __init__(self, links, springs, posture, held=True, options=None, stop=None):
        self.options = options = options or PlatformOptions()
        self.links, self.springs, self.stop = tuple(links), springs, stop
        self._mujoco = _mujoco()
        self._rng = np.random.default_rng(options.seed)
        self.model = self._compile(posture, held)
        self.data = self._mujoco.MjData(self.model)
        self._state, self._torque, self._back = (np.zeros(k) for k in (12, 3, 4))
        self._pull = np.hstack([springs.stiffness, springs.damping])
        self._start(posture, held)
        self._count = 0

    def _compile(self, posture, held):
        spec = self._mujoco.MjSpec()
        body = spec.worldbody
        for k, (link, turn) in enumerate(zip(self.links, (np.eye(3), *posture))):
            fixed = link.kind == 'fixed' and k > 0
            R = link.rotation if fixed else turn
            place = R if k and (held or fixed) else np.eye(3)
            body = body.add_body(
                name=link.name, pos=link.position, quat=_wxyz(place), mass=link.mass,
                ipos=link.center, explicitinertial=True,
                fullinertia=link.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])
            if k == 0:
                body.add_freejoint()
            elif not held and link.kind == 'spherical':
                body.add_joint(type=self._mujoco.mjtJoint.mjJNT_BALL, name=link.name)
            elif not held and link.kind == 'revolute':
                body.add_joint(type=self._mujoco.mjtJoint.mjJNT_HINGE, name=link.name,
                               axis=link.axis)
            if link.imu:
                self._add_imu(spec, body, link)
        model = spec.compile()
        for joint in range(1, model.njnt):
            link = next(k for k in self.links if k.name == model.joint(joint).name)
            first = model.jnt_dofadr[joint]
            model.dof_damping[first:first + (3 if link.kind == 'spherical' else 1)] = link.friction
        model.opt.gravity[:] = 0.0, 0.0, -9.81
        model.opt.integrator = self._mujoco.mjtIntegrator.mjINT_RK4
        model.opt.timestep = 1.0 / (SUBSTEPS * self.options.rate)
        return model

    def _add_imu(self, spec, body, link):
        body.add_site(name=link.name, pos=link.imu.position, quat=_wxyz(link.imu.rotation))
        for kind in ('GYRO', 'ACCELEROMETER'):
            spec.add_sensor(type=getattr(self._mujoco.mjtSensor, f'mjSENS_{kind}'),
                            name=f'{kind} {link.name}', objname=link.name,
                            objtype=self._mujoco.mjtObj.mjOBJ_SITE)

    def _start(self, posture, held):
        q, at = self.data.qpos, 7
        for link, turn in zip(self.links[1:], posture):
            if held or link.kind == 'fixed':
                continue
            if link.kind == 'spherical':
                q[at:at + 4] = _wxyz(turn)
                at += 4
            else:
                q[at] = Rotation.from_matrix(turn).as_rotvec() @ link.axis
                at += 1
        self._settle()
        push = self._rng.standard_normal((2, 3))
        push /= np.linalg.norm(push, axis=1, keepdims=True)
        q[:3] += DISPLACEMENT * push[0]
        q[3:7] = _wxyz(Rotation.from_rotvec(TURN * push[1]).as_matrix() @ _matrix(q[3:7]))

    def _settle(self):
        """Put the platform where springs and weight balance, as the links now are."""
        K = self.springs.stiffness
        for _ in range(50):
            self.data.qvel[:] = 0.0
            self._mujoco.mj_forward(self.model, self.data)
            load = self._wrench() - _from_body(self.data, self.data.qfrc_bias[:6])
            x = np.linalg.solve(K, load)
            self.data.qpos[:3] += x[:3]
            self.data.qpos[3:7] = _wxyz(Rotation.from_rotvec(x[3:]).as_matrix()
                                        @ _matrix(self.data.qpos[3:7]))

    def _wrench(self):
        """Return the springs' force and torque (6,) about the platform's origin, in the world."""
        q, v = self.data.qpos, self.data.qvel
        x, turn = self._state, q[3:7]
        x[:3], x[6:9] = q[:3], v[:3]
        self._mujoco.mju_quat2Vel(x[3:6], turn, 1.0)
        self._mujoco.mju_rotVecQuat(x[9:], v[3:6], turn)
        out = self.springs.preload - self._pull @ x
        if self.stop is not None:
            out[2] += 2e5 * max(0.0, self.stop - q[2])  # a hard rubber stop
        return out

    def _push(self, _, data):
        """Add the springs' wrench to what is passive, torques along the platform's axes."""
        wrench, force = self._wrench(), data.qfrc_passive
        self._mujoco.mju_negQuat(self._back, data.qpos[3:7])
        self._mujoco.mju_rotVecQuat(self._torque, wrench[3:], self._back)
        force[:3] += wrench[:3]
        force[3:6] += self._torque

    def _measure(self):
        """Return {topic: (6,)}, angular velocity and specific force as the IMUs measure them."""
        out = {}
        for link in self.links:
            if link.imu:
                true = [self.data.sensor(f'{kind} {link.name}').data + bias
                        + noise * self._rng.standard_normal(3) for kind, bias, noise in (
                            ('GYRO', GYRO_BIAS, GYRO_NOISE),
                            ('ACCELEROMETER', ACCELEROMETER_BIAS, ACCELEROMETER_NOISE))]
                out[link.imu.topic] = np.concatenate(true)
        return out

    def step(self) -> tuple[float, dict[str, np.ndarray], dict[str, list[Any]]]:
        """
        Return (time [s], {marker: (3,) as seen}, IMU samples) of this instant and move on.

        IMU samples : {topic: [(stamp [s], (6,)), ...]} from here to the next instant
        """
        self._mujoco.mj_kinematics(self.model, self.data)
        seen: dict[str, np.ndarray] = {}
        for link in self.links:
            if link.layout:
                body, places = self.data.body(link.name), np.array(list(link.layout.values()))
                noise = self.options.marker_noise * self._rng.standard_normal(places.shape)
                seen.update(zip(link.layout, body.xpos + places @ body.xmat.reshape(3, 3).T
                                + noise))
        time = self._count / self.options.rate
        measured: dict[str, list[Any]] = {}
        for k in range(SUBSTEPS):
            self._mujoco.set_mjcb_passive(self._push)
            try:
                self._mujoco.mj_step(self.model, self.data)
            finally:
                self._mujoco.set_mjcb_passive(None)
            for topic, values in self._measure().items():  # as it was before the step
                stamp = time + k * self.model.opt.timestep + IMU_DELAY
                measured.setdefault(topic, []).append((stamp, values))
        self._count += 1
        return time, seen, measured

    def record(self, duration: float, description: str = '') -> Recording:
        """Return the Recording of ``duration`` [s] with the topic /markers and those of IMUs."""
        samples = [self.step() for _ in range(round(duration * self.options.rate))]
        return Recording(channels_of(samples, 1e9), description, 'upright',
                         {'path': 'simulated platform', 'duration_s': duration})


def channels_of(samples: Sequence[Any], begun: float) -> dict[str, Channel]:
    """
    Return {topic: Channel} of simulated samples.

    samples : what PlatformRig.step returned, one after the other
    begun : [s] from which their time counts
    """
    labels = tuple(samples[0][1])
    position = np.array([[seen[label] for label in labels] for _, seen, _ in samples])
    orientation = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*position.shape[:2], 4)).copy()
    out = {MARKERS: channel(MARKERS, MARKER_ARRAY, stamps([t for t, *_ in samples], begun),
                            {'position': position, 'orientation_xyzw': orientation}, labels)}
    for topic in samples[0][2]:
        t, values = zip(*(row for _, _, measured in samples for row in measured[topic]))
        out[topic] = imu_channel(topic, stamps(t, begun), np.array(values))
    return out


def _matrix(wxyz):
    return Rotation.from_quat(np.roll(wxyz, -1)).as_matrix()


def _wxyz(R):
    return np.roll(Rotation.from_matrix(R).as_quat(), 1)


def _from_body(data, wrench):
    """Return (6,) with the torque of a free joint's generalised force turned into the world."""
    return np.concatenate([wrench[:3], _matrix(data.qpos[3:7]) @ wrench[3:]])
