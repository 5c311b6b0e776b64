"""A six-axis arm as the common collaborative ones: two long links between three parallel axes."""

from dataclasses import replace

import mujoco_arm
import numpy as np

JOINTS = (
    'shoulder_pan_joint',
    'shoulder_lift_joint',
    'elbow_joint',
    'wrist_1_joint',
    'wrist_2_joint',
    'wrist_3_joint',
)
# Of each link: place of its joint [m], axis, mass [kg], centre of mass [m], largest torque [N m].
LINKS = (
    ((0, 0, 0.18), (0, 0, 1), 7.5, (0.02, 0.0, -0.03), 330),
    ((0, 0.17, 0), (0, 1, 0), 12.5, (0.3, -0.01, 0.0), 330),
    ((0.6, -0.13, 0), (0, 1, 0), 4.0, (0.26, 0.0, 0.01), 150),
    ((0.56, 0, 0), (0, 1, 0), 2.0, (0.01, 0.09, 0.0), 54),
    ((0, 0.12, 0), (0, 0, 1), 2.0, (0.0, 0.01, 0.09), 54),
    ((0, 0, 0.12), (0, 1, 0), 1.4, (0.01, 0.07, 0.02), 54),
)
GAINS = (13.0, 13.0, 11.5, 10.5, 10.5, 10.5)  # [N m/A]


def description(robot='six_axis_arm', links=LINKS, joints=JOINTS, ball=0.06, chain=0):
    """Return the text of the URDF; every ``chain`` links a new one begins at the base."""
    out, parent = [f'<robot name="{robot}"><link name="base_link"/>'], 'base_link'
    for k, (name, (place, axis, mass, center, most)) in enumerate(zip(joints, links)):
        link, c = name.replace('joint', 'link'), np.array(center)
        parent = 'base_link' if chain and k % chain == 0 else parent
        # A ball about the centre and the spread of the link along itself.
        size = mass * (ball**2 + 0.4 * (c @ c - c * c))
        out.append(
            f'<link name="{link}"><inertial><origin xyz="{_text(center)}"/><mass value="{mass}"/>'
            f'<inertia ixx="{size[0]}" iyy="{size[1]}" izz="{size[2]}" ixy="0" ixz="0" iyz="0"/>'
            f'</inertial></link><joint name="{name}" type="revolute"><parent link="{parent}"/>'
            f'<child link="{link}"/><origin xyz="{_text(place)}"/><axis xyz="{_text(axis)}"/>'
            f'<limit lower="-6.28" upper="6.28" effort="{most}" velocity="3.1"/></joint>'
        )
        parent = link
    return ''.join([*out, '</robot>'])


def _text(values):
    return ' '.join(str(x) for x in values)


def currents(recording, gains=GAINS):
    """Return the ``recording`` with motor currents [A] instead of torques."""
    topic, channel = next(iter(recording.channels.items()))
    fields = {**channel.fields, 'effort': channel.fields['effort'] / np.array(gains)}
    return replace(recording, channels={topic: replace(channel, fields=fields)})


def recorded(seed, rate=200.0, seconds=20.0):
    """Return a Recording of 20 s in currents, of an arm that is not quite its description."""
    urdf = description()
    t, q, v, a = mujoco_arm.motion(6, seconds, rate, seed=seed, speed=1.0)
    tau = mujoco_arm.torque(mujoco_arm.true_urdf(urdf, seed), q, v, a)
    rng, size = np.random.default_rng(seed), tau.std(0)
    tau += size * (0.15 * v + 0.1 * np.tanh(v / 0.01) + 0.003 * rng.standard_normal(tau.shape))
    return currents(mujoco_arm.measured(rng, JOINTS, t, q, v, tau, mounting='upright', urdf=urdf))
