"""A robot for the notebooks: what its joints would measure, with other masses than described."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np

import ros_inertial_id as rid

URDF = (Path(__file__).resolve().parents[2] / 'urdf' / 'arm3.urdf').read_text(encoding='utf-8')
RATE = 200.0  # [Hz]
HEAVIER = (1.2, 0.9, 1.15)  # the true links, as multiples of the described ones
NOISE = 0.05  # [N m]


def robot(payload=(0.0, 0.0), friction=1.0):
    """Return the true robot; payload : mass [kg], distance in front of the last joint [m]."""
    root = ElementTree.fromstring(URDF)
    links = [link for link in root.findall('link') if link.find('inertial') is not None]
    for link, factor in zip(links[-len(HEAVIER):], HEAVIER):
        inertial = link.find('inertial')
        for element in (inertial.find('mass'), inertial.find('inertia')):
            for key in element.attrib:
                element.set(key, str(factor * float(element.get(key))))
    mass, distance = payload
    if mass:
        load = ElementTree.fromstring(
            f'<link name="load"><inertial><origin xyz="{distance} 0 0"/><mass value="{mass}"/>'
            '<inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/>'
            '</inertial></link>')
        joint = ElementTree.fromstring(
            f'<joint name="grip" type="fixed"><parent link="{links[-1].get("name")}"/>'
            '<child link="load"/></joint>')
        root.extend([load, joint])
    for joint in root.findall('joint'):
        if joint.get('type') != 'fixed':
            for old in joint.findall('dynamics'):
                joint.remove(old)
            joint.append(ElementTree.Element('dynamics', damping=str(0.8 * friction),
                                             friction=str(0.5 * friction)))
    return rid.Model.from_description(ElementTree.tostring(root, encoding='unicode'))


def log(arm, seed, seconds=20.0):
    """Return what an arm measures on a random motion: {time, q, v, tau}, as a table."""
    rng, n = np.random.default_rng(seed), len(arm.joint_names)
    t = np.arange(0.0, seconds, 1.0 / RATE)
    w = 2.0 * np.pi * np.array([0.1, 0.25, 0.45, 0.7])[:, None]
    size, phase = rng.uniform(0.3, 1.0, (n, 4, 1)) / w, rng.uniform(0.0, 6.3, (n, 4, 1))
    q = (size * np.sin(w * t + phase)).sum(1).T
    v = (size * w * np.cos(w * t + phase)).sum(1).T
    a = (-size * w ** 2 * np.sin(w * t + phase)).sum(1).T
    tau = arm.torque(q, v, a) + NOISE * rng.normal(size=q.shape)
    columns = {f'{word}_{name}': x[:, k] for word, x in (('q', q), ('v', v), ('tau', tau))
               for k, name in enumerate(arm.joint_names)}
    return {'time': t, **columns}
