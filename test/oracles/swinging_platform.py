"""
A platform on springs with a chain of links on it, simulated by MuJoCo and seen by a camera system.

The springs put ``preload - K x - D dx`` on the platform (x: displacement and rotation vector from
the rest pose, about the platform's origin, along the world's axes); the first link is bolted to
it.  Other links are held in a posture, or released to swing in their joints under gravity.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import mujoco
import numpy as np
from recordings import channel_of, EPOCH_NS, of_rig, stamps_of
from scipy.spatial.transform import Rotation

RATE = 120.0  # [Hz] of the camera
MARKER_NOISE = 3e-4  # [m]
SUBSTEPS = 3  # of Runge and Kutta between samples: 3 ms, 1e-6 of modes at 3 Hz; IMUs speak in each
MARKERS = '/markers'
DISPLACEMENT, TURN = 0.015, 0.05  # [m], [rad] by which the platform is pushed at the start
IMU_NOISE, IMU_BIAS = np.repeat([2e-3, 0.02], 3), np.repeat([0.01, 0.05], 3)  # [rad/s, m/s^2]
IMU = 'GYRO', 'ACCELEROMETER'
IMU_DELAY = 4e-3  # [s] that stamps of IMUs are late


@dataclass(frozen=True)
class SimulatedImu:
    """Where an IMU sits on a link (position (3,) [m], rotation (3, 3)); its topic."""

    topic: str
    position: np.ndarray
    rotation: np.ndarray


@dataclass(frozen=True)
class Link:
    """
    One link: mass [kg], center (3,) [m], inertia (3, 3) about the centre, in the link's frame.

    position : (3,) of its frame, at the joint, in the parent's; layout : marker -> (3,); imu : on
    it, or None; kind : fixed, spherical or revolute, about axis (3,) in its frame
    friction : viscous [N m s/rad]
    """

    name: str
    mass: float
    center: np.ndarray
    inertia: np.ndarray
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    layout: Mapping[str, np.ndarray] = field(default_factory=dict)
    imu: SimulatedImu | None = None
    kind: str = 'spherical'
    friction: float = 0.0
    axis: tuple[float, ...] = (0.0, 0.0, 1.0)

    @property
    def parameters(self):
        """Return its ten standard parameters, (10,), about the frame's origin (Steiner)."""
        c = self.center
        inertia = self.inertia + self.mass * (c @ c * np.eye(3) - np.outer(c, c))
        return np.concatenate(
            [[self.mass], self.mass * c, inertia[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]]
        )


@dataclass(frozen=True)
class Springs:
    """K and D (6, 6), preload (6,) at the rest pose: x forward, y left, z up, origin."""

    stiffness: np.ndarray
    damping: np.ndarray
    preload: np.ndarray


class SwingingPlatform:
    """
    Links of which the first is the platform; each is carried by the one before.

    posture : rotation (3, 3) of every further link in its parent, None of one that is bolted
    held : whether the joints are locked there; else they start from there at rest
    seed : of the push and all noise; stop : height [m] below which something is in the way
    model, data : MuJoCo's
    """

    def __init__(self, links, springs, posture, held=True, seed=0, stop=None):
        self.links, self.springs, self._stop = tuple(links), springs, stop
        self._rng = np.random.default_rng(seed)
        self.model = self._compile(posture, held)
        self.data = mujoco.MjData(self.model)
        self._state, self._torque, self._back = (np.zeros(k) for k in (12, 3, 4))
        self._pull = np.hstack([springs.stiffness, springs.damping])
        self._settle()
        push = self._rng.standard_normal((2, 3))
        push /= np.linalg.norm(push, axis=1, keepdims=True)
        self._move(DISPLACEMENT * push[0], TURN * push[1])
        self._count = 0

    def _compile(self, posture, held):
        spec = mujoco.MjSpec()
        body = spec.worldbody
        for link, turn in zip(self.links, (None, *posture)):
            body = body.add_body(
                name=link.name,
                pos=link.position,
                mass=link.mass,
                ipos=link.center,
                quat=_wxyz(np.eye(3) if turn is None else turn),
                explicitinertial=True,
                fullinertia=link.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]],
            )
            if link is self.links[0]:
                body.add_freejoint()
            elif turn is not None and not held:
                self._release(body, link)
            if link.imu:
                self._add_imu(spec, body, link)
        model = spec.compile()
        model.opt.gravity[:] = 0.0, 0.0, -9.81
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
        model.opt.timestep = 1.0 / (SUBSTEPS * RATE)
        return model

    def _release(self, body, link):
        """Let a link swing in its joint."""
        kind = (
            mujoco.mjtJoint.mjJNT_HINGE
            if link.kind == 'revolute'
            else (mujoco.mjtJoint.mjJNT_BALL)
        )
        body.add_joint(type=kind, name=link.name, axis=link.axis, damping=[link.friction, 0, 0])

    def _add_imu(self, spec, body, link):
        body.add_site(name=link.name, pos=link.imu.position, quat=_wxyz(link.imu.rotation))
        for kind in IMU:
            spec.add_sensor(
                type=getattr(mujoco.mjtSensor, f'mjSENS_{kind}'),
                name=f'{kind} {link.name}',
                objname=link.name,
                objtype=mujoco.mjtObj.mjOBJ_SITE,
            )

    def _settle(self):
        """Put the platform where springs and weight balance, as the links now are."""
        for _ in range(50):
            mujoco.mj_forward(self.model, self.data)
            load = self.data.qfrc_bias[:6].copy()
            load[3:] = _matrix(self.data.qpos[3:7]) @ load[3:]  # of a free joint: along its axes
            x = np.linalg.solve(self.springs.stiffness, self._wrench() - load)
            self._move(x[:3], x[3:])

    def _move(self, shift, turn):
        """Move the platform by shift (3,) [m] and rotation vector turn (3,) in the world."""
        q = self.data.qpos
        q[:3] += shift
        q[3:7] = _wxyz(Rotation.from_rotvec(turn).as_matrix() @ _matrix(q[3:7]))

    def _wrench(self):
        """Return the springs' force and torque (6,) about the platform's origin, in the world."""
        q, v = self.data.qpos, self.data.qvel
        x, turn = self._state, q[3:7]
        x[:3], x[6:9] = q[:3], v[:3]
        mujoco.mju_quat2Vel(x[3:6], turn, 1.0)
        mujoco.mju_rotVecQuat(x[9:], v[3:6], turn)
        out = self.springs.preload - self._pull @ x
        if self._stop is not None:
            out[2] += 2e5 * max(0.0, self._stop - q[2])  # a hard rubber stop
        return out

    def _push(self, _, data):
        """Add the springs' wrench to what is passive, torques along the platform's axes."""
        wrench, force = self._wrench(), data.qfrc_passive
        mujoco.mju_negQuat(self._back, data.qpos[3:7])
        mujoco.mju_rotVecQuat(self._torque, wrench[3:], self._back)
        force[:3] += wrench[:3]
        force[3:6] += self._torque

    def _measure(self):
        """Return {topic: (6,)}, angular velocity and specific force as the IMUs measure them."""
        return {
            link.imu.topic: IMU_BIAS
            + IMU_NOISE * self._rng.standard_normal(6)
            + np.concatenate([self.data.sensor(f'{kind} {link.name}').data for kind in IMU])
            for link in self.links
            if link.imu
        }

    def step(self):
        """
        Return (time [s], markers (m, 3) as seen, IMU samples) of this instant and move on.

        IMU samples : {topic: [(stamp [s], (6,)), ...]} from here to the next instant
        """
        mujoco.mj_kinematics(self.model, self.data)
        seen = []
        for link in self.links:
            if link.layout:
                body, places = self.data.body(link.name), np.array(list(link.layout.values()))
                seen.append(body.xpos + places @ body.xmat.reshape(3, 3).T)
        places = np.concatenate(seen)
        places += MARKER_NOISE * self._rng.standard_normal(places.shape)
        time = self._count / RATE
        measured = {}
        for k in range(SUBSTEPS):
            mujoco.set_mjcb_passive(self._push)
            try:
                mujoco.mj_step(self.model, self.data)
            finally:
                mujoco.set_mjcb_passive(None)
            for topic, values in self._measure().items():  # as it was before the step
                stamp = time + k * self.model.opt.timestep + IMU_DELAY
                measured.setdefault(topic, []).append((stamp, values))
        self._count += 1
        return time, places, measured

    def record(self, duration):
        """Return the Recording of ``duration`` [s] with named markers and the topics of IMUs."""
        samples = [self.step() for _ in range(round(duration * RATE))]
        position = np.array([places for _, places, _ in samples])
        quaternion = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*position.shape[:2], 4)).copy()
        channels = [
            channel_of(
                MARKERS,
                'visualization_msgs/msg/MarkerArray',
                stamps_of([t for t, *_ in samples], EPOCH_NS),
                {'position': position, 'orientation_xyzw': quaternion},
                [label for link in self.links for label in link.layout],
            )
        ]
        for topic in samples[0][2]:
            t, values = zip(*(row for _, _, measured in samples for row in measured[topic]))
            readings = np.array(values)
            fields = {'angular_velocity': readings[:, :3], 'linear_acceleration': readings[:, 3:]}
            stamps = stamps_of(t, EPOCH_NS)
            channels.append(channel_of(topic, 'sensor_msgs/msg/Imu', stamps, fields))
        return of_rig('', *channels, path='simulated platform')


def _matrix(wxyz):
    return Rotation.from_quat(np.roll(wxyz, -1)).as_matrix()


def _wxyz(R):
    return np.roll(Rotation.from_matrix(R).as_quat(), 1)
