"""
Recordings of arms that MuJoCo moves, for the tests of the estimation.

Exact inverse dynamics of a smooth motion, noise as of real sensors on top: MuJoCo shares no code
with what is tested, and the truth is known.
"""

from pathlib import Path
import xml.etree.ElementTree as ET

import numpy as np
from recordings import joint_states, recording_of

from ros_inertial_id.simulation.rigid_bodies import RigidBodies
from ros_inertial_id.simulation.true_robot import parse, perturbed_urdf

URDF = Path(__file__).parents[2] / 'urdf'
DATA = Path(__file__).parents[3] / 'shared' / 'data'
UPRIGHT = (0.0, 0.0, -9.81)


def description(name):
    """Return the text of one of our descriptions."""
    return (URDF / f'{name}.urdf').read_text(encoding='utf-8')


def joints_of(urdf):
    """Return the names of the revolute joints of a URDF text."""
    return tuple(
        j.get('name')
        for j in ET.fromstring(urdf).findall('joint')
        if j.get('type') in ('revolute', 'continuous', 'prismatic')
    )


def true_urdf(urdf, seed, change=0.2):
    """Return the URDF text of a robot that is near ``urdf`` but not the same."""
    return perturbed_urdf(parse(urdf), np.random.default_rng(seed), change, change, change / 2)


def with_load(urdf, last, mass, center, inertia, offset='0 0 0'):
    """
    Return the URDF text with a load on the link ``last``, in a frame at ``offset`` [m] from it.

    mass : [kg]; center : (3,) [m]; inertia : (3, 3) diagonal, about the centre [kg m^2]
    """
    ixx, iyy, izz = np.diag(inertia)
    place = ' '.join(str(x) for x in center)
    return urdf.replace(
        '</robot>',
        f'''<link name="load"><inertial><origin xyz="{place}"/>
      <mass value="{mass}"/><inertia ixx="{ixx}" ixy="0" ixz="0" iyy="{iyy}" iyz="0" izz="{izz}"/>
      </inertial></link><joint name="grip" type="fixed"><parent link="{last}"/>
      <child link="load"/><origin xyz="{offset}"/></joint></robot>''',
    )


def motion(joints, duration, rate, seed=0, period=10.0, harmonics=5, speed=1.5):
    """Return t (N,), q, v, a (N, n): a random periodic motion of about ``speed`` [rad/s]."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(duration * rate)) / rate
    omega = 2 * np.pi / period * np.arange(1, harmonics + 1)[:, None]
    size = rng.normal(size=(2, harmonics, joints))
    size *= speed / np.sqrt((size**2).sum((0, 1))) / omega
    angle = omega * t[:, None, None]
    sin, cos = np.sin(angle), np.cos(angle)
    q = rng.uniform(-0.5, 0.5, joints) + (size[0] * sin + size[1] * cos).sum(1)
    v = (omega * (size[0] * cos - size[1] * sin)).sum(1)
    a = (-(omega**2) * (size[0] * sin + size[1] * cos)).sum(1)
    return t, q, v, a


def torque(urdf, q, v, a, gravity=UPRIGHT):
    """Return the joint torques (N, n) of rigid bodies by MuJoCo."""
    arm = RigidBodies(urdf, joints_of(urdf), gravity)
    return np.array([arm.inverse(*state).copy() for state in zip(q, v, a)])


def recording(names, t, q, v, tau, mounting='', urdf=''):
    """Return the Recording of joint states, with the description ``urdf`` in it."""
    states = joint_states(names, t, position=q, velocity=v, effort=tau)
    return recording_of(states, robot_description=urdf, mounting=mounting)


def friction(v, viscous=0.8, coulomb=0.5, width=0.01):
    """Return the friction [N m] of velocities v (N, n) [rad/s], dry below ``width`` [rad/s]."""
    return viscous * v + coulomb * np.tanh(v / width)


def measured(rng, names, t, q, v, tau, noise=None, **place):
    """
    Return the Recording of a motion as good encoders show it, noise of 1e-5 rad and 1e-3 rad/s.

    noise : standard deviation of torques [N m], without which they are as given
    """
    q = q + 1e-5 * rng.normal(size=q.shape)
    v = v + 1e-3 * rng.normal(size=v.shape)
    if noise is not None:
        tau = tau + noise * rng.normal(size=tau.shape)
    return recording(names, t, q, v, tau, **place)


def real(path, names):
    """Return the Recording of one of the files of shared/data."""
    data = np.load(DATA / path)
    fields = {'position': data['q'], 'velocity': data['v'], 'effort': data['tau']}
    return recording_of(joint_states(names, data['stamp_s'], **fields), provenance={'path': path})


def recorded(name, seed, mounting='upright', rate=200.0, noise=(1e-5, 1e-3)):
    """
    Return 20 s of an arm that is not quite its description, with friction.

    noise : standard deviations of positions and velocities; that of efforts is 0.3 %
    """
    urdf = description(name)
    t, q, v, a = motion(len(joints_of(urdf)), 20.0, rate, seed=seed, speed=1.0)
    if name == 'franka':  # in the middle of its limits
        q = q - q.mean(0) + np.array([0.0, 0.0, 0.0, -1.57, 0.0, 1.87, 0.0])
    gravity = (0.0, 0.0, -9.81) if mounting == 'upright' else (9.81, 0.0, 0.0)
    tau = torque(true_urdf(urdf, seed), q, v, a, gravity)
    rng, size = np.random.default_rng(seed), tau.std(0)
    tau += size * (0.15 * v + 0.1 * np.tanh(v / 0.01) + 0.003 * rng.standard_normal(tau.shape))
    noisy = (x + sd * rng.standard_normal(x.shape) for x, sd in zip((q, v), noise))
    return recording(joints_of(urdf), t, *noisy, tau, mounting, urdf)


def rows(urdf, parameters, t, q, v, a, tau):
    """Yield the RegressorBlocks of serial_arm of exact motion about ``parameters``."""
    from ros_inertial_id.dynamics.robot_model import load_robot_model
    from ros_inertial_id.measurement.joints.kinematic_state import JointSpaceState
    from ros_inertial_id.methods import METHODS

    state = JointSpaceState(t, 0, q, v, a, tau, tau)
    yield from METHODS['serial_arm'].regress(state, load_robot_model(urdf), parameters)


def problem(urdf, options, t, q, v, a, tau, folds=1):
    """
    Return (Problem, list of RFactors of ``folds`` stretches) of exact motion.

    Columns are those of serial_arm with ``options``; of alternatives the first.
    """
    from ros_inertial_id.dynamics.robot_model import load_robot_model
    from ros_inertial_id.estimation.estimators import Problem
    from ros_inertial_id.estimation.r_factors import RFactors
    from ros_inertial_id.identification.prepare.mounting import structural_base
    from ros_inertial_id.identification.reduce.structure import alternatives
    from ros_inertial_id.methods import METHODS

    serial_arm = METHODS['serial_arm']
    robot = load_robot_model(urdf)
    columns = serial_arm.parameters(robot, options)
    later = {k for ks in alternatives(columns).values() for k in ks[1:]}
    base = structural_base(
        serial_arm, [robot], tuple(p for k, p in enumerate(columns) if k not in later)
    )
    bounds = np.linspace(0, len(t), folds + 1).astype(int)
    parts = []
    for low, high in zip(bounds[:-1], bounds[1:]):
        parts.append(RFactors(len(base)))
        for block in rows(urdf, base.parameters, *(x[low:high] for x in (t, q, v, a, tau))):
            parts[-1].accumulate(block, base.places())
    total = parts[0]
    for part in parts[1:]:
        total = total.merge(part)
    return Problem(total, base, {}), parts


def two_joint_problem(noise=0.0, seed=0):
    """
    Return (Problem of a two-joint arm without friction, its true base parameters, its motion).

    noise : deviation of torques [N m], of all or (2,); the motion : URDF text, t, q, v, a, tau
    """
    from ros_inertial_id.dynamics.robot_model import load_robot_model
    from ros_inertial_id.methods import METHODS

    urdf = description('arm2')
    true = true_urdf(urdf, 7)
    t, q, v, a = motion(2, 20, 50, seed=3)
    tau = torque(true, q, v, a) + noise * np.random.default_rng(seed).normal(size=v.shape)
    made, _ = problem(urdf, METHODS['serial_arm'].Options(friction=()), t, q, v, a, tau)
    truth = made.base.reduce(load_robot_model(true).inertias.ravel())
    return made, truth, (urdf, t, q, v, a, tau)
