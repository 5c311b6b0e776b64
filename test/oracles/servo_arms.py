"""
Robots without torque sensors: MuJoCo's position servos follow held commands that come late.

Joints have dry and viscous friction and rotors, encoders count, nothing says a torque.  Commands
wait in a buffer of our own, so that MuJoCo's ``delay`` is free to be judged.
"""

from dataclasses import dataclass

import mujoco
from mujoco import rollout
import mujoco_arm
import numpy as np
from recordings import joint_states, recording_of
import six_axis_arm

from ros_inertial_id.measurement.recording import Recording
from ros_inertial_id.simulation.rigid_bodies import RigidBodies

STEP = 5e-4  # [s] of the simulation
EVERY = 10  # steps between commands, and between samples: 200 Hz
SETTLING = 2.0  # [s] before a recording, in which the first command is held

# As of small printed arms (five joints of 0.1 m links), and of a quadruped's legs.
SMALL = (
    ((0, 0, 0.055), (0, 0, 1), 0.15, (0.0, 0.01, 0.03), 3.3),
    ((0.03, 0, 0.054), (0, 1, 0), 0.2, (0.01, 0.0, 0.07), 3.3),
    ((0.028, 0, 0.113), (0, 1, 0), 0.13, (0.07, 0.0, 0.01), 3.3),
    ((0.135, 0, 0.005), (0, 1, 0), 0.11, (0.03, 0.0, 0.01), 3.3),
    ((0.061, 0, 0), (1, 0, 0), 0.14, (0.04, 0.01, 0.0), 3.3),
)
LEGS = tuple(
    link
    for x, y in ((0.19, 0.05), (0.19, -0.05), (-0.19, 0.05), (-0.19, -0.05))
    for link in (
        ((x, y, 0), (1, 0, 0), 0.7, (0.0, 0.0, 0.0), 24),
        ((0, 1.9 * y, 0), (0, 1, 0), 1.2, (0.0, -0.02, -0.03), 24),
        ((0, 0, -0.213), (0, 1, 0), 0.25, (0.01, 0.0, -0.12), 45),
    )
)

NUMBERED = tuple(f'joint{k:02d}' for k in range(1, 13))  # in alphabetical order, as pinocchio's


@dataclass(frozen=True)
class Kind:
    """A description, where its joints are moved about [rad], and what its servos are like."""

    urdf: str
    home: tuple[float, ...]
    bandwidth: float  # [Hz] of the position loop
    gear: float  # rotor's inertia over that of the links
    delay: float  # [s]
    count: float  # [rad] of the encoder


KINDS = {
    'arm2': Kind(mujoco_arm.description('arm2'), (0.0, 0.5), 4.0, 0.1, 0.006, 1e-4),
    'arm3': Kind(mujoco_arm.description('arm3'), (0.0, 1.0, -0.5), 3.0, 0.2, 0.008, 1e-4),
    'franka': Kind(
        mujoco_arm.description('franka'),
        (0.0, 0.0, 0.0, -1.57, 0.0, 1.87, 0.0),
        4.0,
        0.3,
        0.004,
        2e-5,
    ),
    'six_axis': Kind(
        six_axis_arm.description(), (0.0, -1.0, 1.0, 0.0, 0.5, 0.0), 4.0, 0.5, 0.01, 5e-5
    ),
    'small': Kind(
        six_axis_arm.description('small', SMALL, NUMBERED, 0.025),
        (0.0,) * 5,
        4.0,
        2.0,
        0.012,
        2 * np.pi / 4096,
    ),
    'legs': Kind(
        six_axis_arm.description('legs', LEGS, NUMBERED, 0.04, 3),
        (0.0, 0.8, -1.6) * 4,
        6.0,
        0.5,
        0.005,
        1e-4,
    ),
}


@dataclass(frozen=True)
class Servos:
    """What a robot truly is: bodies, and of every joint (n,) gains, rotor and friction."""

    kind: Kind
    urdf: str
    stiffness: np.ndarray
    damping: np.ndarray
    armature: np.ndarray
    viscous: np.ndarray
    coulomb: np.ndarray

    @property
    def names(self) -> tuple[str, ...]:
        return mujoco_arm.joints_of(self.urdf)

    def truth(self) -> dict[str, float]:
        """Return {fv1, fc1, Ia1, ...: value} of what no URDF holds."""
        return {
            f'{symbol}{k}': x
            for symbol, values in (
                ('fv', self.viscous),
                ('fc', self.coulomb),
                ('Ia', self.armature),
            )
            for k, x in enumerate(values, 1)
        }

    def model(self, urdf: str = '', friction: bool = True) -> mujoco.MjModel:
        """Return MuJoCo's model, or that of another description without friction and rotors."""
        return self.spec(urdf, friction).compile()

    def spec(self, urdf: str = '', friction: bool = True) -> mujoco.MjSpec:
        """Return what ``model`` is compiled from."""
        spec = mujoco.MjSpec.from_string(urdf or self.urdf)
        for geom in spec.geoms:
            spec.delete(geom)
        for k, name in enumerate(self.names):
            joint = spec.joint(name)
            joint.damping = [self.viscous[k] * friction, 0.0, 0.0]
            joint.frictionloss = self.coulomb[k] * friction
            joint.armature = self.armature[k] * friction
            joint.solref_friction = [4 * STEP, 1.0]
            joint.limited = mujoco.mjtLimited.mjLIMITED_FALSE
            servo = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            servo.set_to_position(kp=self.stiffness[k], kv=self.damping[k])
        spec.option.timestep = STEP
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
        return spec


def servos(name: str, seed: int) -> Servos:
    """Return the Servos of one of KINDS, whose bodies differ from the description."""
    kind, rng = KINDS[name], np.random.default_rng(seed)
    urdf = mujoco_arm.true_urdf(kind.urdf, seed)
    names = mujoco_arm.joints_of(urdf)
    bodies = RigidBodies(urdf, names, mujoco_arm.UPRIGHT)
    links = np.diag(bodies.mass_matrix(np.array(kind.home)))
    rotor = kind.gear * np.mean(links) * rng.uniform(0.5, 1.0, len(names))
    speed = 2 * np.pi * kind.bandwidth
    load = np.maximum(links + rotor, 0.1 * (links + rotor).max()) * rng.uniform(0.8, 1.2)
    return Servos(
        kind,
        urdf,
        speed**2 * load,
        1.2 * speed * load,
        rotor,
        load * rng.uniform(0.5, 1.0, len(names)),
        load * rng.uniform(1.0, 2.0, len(names)),
    )


def recorded(robot: Servos, seed: int, duration: float = 20.0) -> Recording:
    """Return what drivers of a robot publish: /joint_states and /joint_commands at 200 Hz."""
    rng, n = np.random.default_rng(seed), len(robot.names)
    t, command, *_ = mujoco_arm.motion(
        n, duration, 1 / (EVERY * STEP), seed=seed, period=5.0, harmonics=8, speed=1.2
    )
    command += robot.kind.home - command.mean(0)
    sent = np.arange(len(t)) * EVERY + rng.integers(-1, 2, len(t))  # [steps]
    q, v = moved(robot.model(), sent * STEP + robot.kind.delay, command, duration)
    at = sent[1:] + 3  # another clock than that of the commands
    q = robot.kind.count * np.round(q[at] / robot.kind.count)
    v = v[at] + 2e-3 * rng.standard_normal(q.shape)
    return recording_of(
        joint_states(robot.names, STEP * at, position=q, velocity=v),
        joint_states(robot.names, STEP * sent, '/joint_commands', position=command),
        robot_description=robot.kind.urdf,
        mounting='upright',
    )


def moved(
    model: mujoco.MjModel, arrivals: np.ndarray, command: np.ndarray, duration: float
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return q, v (steps, n) of a model whose servos hold each command (m, n) from its arrival on.

    arrivals : (m,) [s]; the first command is held before, until the robot rests
    """
    step = model.opt.timestep
    before = round(SETTLING / step)
    t = step * (np.arange(before + round(duration / step)) - before)
    held = np.searchsorted(arrivals, t + 1e-9, side='right') - 1
    data = mujoco.MjData(model)
    data.qpos[:] = command[0]
    start = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    states, _ = rollout.rollout(model, data, start[None], command[np.maximum(held, 0)][None])
    q, v = np.split(states[0, :, 1 : 1 + 2 * model.nv], 2, axis=1)
    return q[before - 1 :], v[before - 1 :]  # a state stands after its step


def replayed(model: mujoco.MjModel, recording: Recording, delay: float = 0.0) -> np.ndarray:
    """Return how far (n,) [rad, rms] a model under the recorded commands is from the states."""
    states, commands = (recording.channels[f'/joint_{x}'] for x in ('states', 'commands'))
    end = (states.stamp_ns[-1] + 1) * 1e-9
    q, _ = moved(model, commands.stamp_ns * 1e-9 + delay, commands.fields['position'], end + 0.1)
    t = model.opt.timestep * np.arange(len(q))
    at = states.stamp_ns * 1e-9
    found = np.stack([np.interp(at, t, column) for column in q.T], axis=1)
    return np.sqrt(np.mean((found - states.fields['position']) ** 2, axis=0))
