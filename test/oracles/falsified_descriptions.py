"""Descriptions falsified as people falsify them, and a walker of boxes whose numbers are right."""

from xml.etree import ElementTree

import numpy as np

ELEMENTS = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')


def box(name, mass, size, centre):
    """Return a link that is a solid box."""
    x, y, z = (mass / 12.0 * (sum(s * s for s in size) - s * s) for s in size)
    place = ' '.join(map(str, centre))
    shape = f'<origin xyz="{place}"/><geometry><box size="{" ".join(map(str, size))}"/></geometry>'
    return (
        f'<link name="{name}"><inertial><origin xyz="{place}"/><mass value="{mass}"/>'
        f'<inertia ixx="{x:.9g}" ixy="0" ixz="0" iyy="{y:.9g}" iyz="0" izz="{z:.9g}"/></inertial>'
        f'<visual>{shape}</visual></link>'
    )


def joint(name, parent, child, place, axis='0 1 0'):
    """Return a hinge."""
    return (
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{place}"/><axis xyz="{axis}"/><dynamics damping="0.1"/>'
        '<limit lower="-1" upper="1.2" effort="60" velocity="10"/></joint>'
    )


def walker():
    """Return a trunk with two legs of hip, thigh and shank."""
    parts = [box('trunk', 6.1, (0.4, 0.22, 0.12), (0.0, 0.0, 0.01))]
    for side, sign in (('left', 1), ('right', -1)):
        parts += [
            box(f'{side}_hip', 0.73, (0.08, 0.07, 0.09), (0.01, 0.03 * sign, 0.0)),
            box(f'{side}_thigh', 1.13, (0.06, 0.05, 0.28), (0.005, 0.04 * sign, -0.11)),
            box(f'{side}_shank', 0.41, (0.04, 0.03, 0.26), (0.004, 0.006 * sign, -0.12)),
            joint(f'{side}_a', 'trunk', f'{side}_hip', f'0.02 {0.1 * sign} 0', '1 0 0'),
            joint(f'{side}_b', f'{side}_hip', f'{side}_thigh', f'0 {0.05 * sign} 0'),
            joint(f'{side}_c', f'{side}_thigh', f'{side}_shank', f'0 {0.03 * sign} -0.24'),
        ]
    return f'<robot name="walker">{"".join(parts)}</robot>'


class Falsified:
    """A ``urdf`` text to be falsified at a ``link`` and the joint that carries it."""

    def __init__(self, urdf, link):
        self.robot = ElementTree.fromstring(urdf)
        self.link = self.robot.find(f'link[@name="{link}"]')
        self.inertia = self.link.find('inertial/inertia')
        self.origin = self.link.find('inertial/origin')
        child = f'child[@link="{link}"]'
        self.joint = next(j for j in self.robot.iter('joint') if j.find(child) is not None)

    def text(self):
        return ElementTree.tostring(self.robot, encoding='unicode')

    def scale(self, factor, names=ELEMENTS):
        for name in names:
            self.inertia.set(name, repr(float(self.inertia.get(name)) * factor))

    def scale_all(self, path, name, factor):
        for element in self.robot.iterfind(path):
            element.set(name, repr(float(element.get(name)) * factor))

    def move(self, factors):
        xyz = [float(x) * f for x, f in zip(self.origin.get('xyz').split(), factors)]
        self.origin.set('xyz', ' '.join(map(str, xyz)))

    def about_frame(self):
        mass = float(self.link.find('inertial/mass').get('value'))
        c = np.array(self.origin.get('xyz').split(), dtype=float)
        extra = mass * (c @ c * np.eye(3) - np.outer(c, c))
        for name, value in zip(ELEMENTS, extra[np.triu_indices(3)]):
            self.inertia.set(name, str(float(self.inertia.get(name)) + float(value)))

    def place_holders(self, links, mass, moment):
        for inertial in links:
            inertial.find('mass').set('value', str(mass))
            for name in ELEMENTS:
                inertial.find('inertia').set(name, str(moment if name[1] == name[2] else 0.0))

    def grams(self):
        self.scale_all('link/inertial/mass', 'value', 1e3)
        for name in ELEMENTS:
            self.scale_all('link/inertial/inertia', name, 1e3)

    def without(self, links):
        for link in links:
            for inertial in link.findall('inertial'):
                link.remove(inertial)

    def weigh(self, mass):
        self.link.find('inertial/mass').set('value', str(mass))

    def without_limits(self):
        self.joint.remove(self.joint.find('limit'))

    def limit(self, **values):
        for name, value in values.items():
            self.joint.find('limit').set(name, str(value))

    def mimic(self, joint='nobody', **more):
        ElementTree.SubElement(self.joint, 'mimic', joint=joint, **more)

    def another_joint(self):
        return next(j for j in self.robot.iter('joint') if j is not self.joint).get('name')


# {what was done: (how, what the audit has to call it, with which word in it)}
FALSIFIED = {
    'decimal point': (lambda f: f.scale(1e3, ['izz']), 'triangle inequality', ''),
    'another moment': (lambda f: f.scale(30.0, ['ixx']), 'triangle inequality', ''),
    'negative': (lambda f: f.scale(-1.0, ['iyy']), 'not positive definite', ''),
    'kg mm^2': (lambda f: f.scale(1e6), 'inertia too large', 'kg mm^2'),
    'g mm^2': (lambda f: f.scale(1e9), 'inertia too large', 'g mm^2'),
    'g m^2': (lambda f: f.scale(1e3), 'inertia too large', 'g m^2'),
    'tenfold': (lambda f: f.scale(10.0), 'inertia too large', 'a tenth'),
    'too small': (lambda f: f.scale(1e-6), 'inertia too small', ''),
    'grams': (lambda f: f.grams(), 'masses in another unit', ''),
    'centre in mm': (lambda f: f.move([1e3] * 3), 'centre outside', 'mm'),
    'centre negated': (lambda f: f.move([1, 1, -1]), 'centre outside', 'z negated'),
    'all of them 1': (
        lambda f: f.place_holders(f.robot.iter('inertial'), 1.0, 1.0),
        'placeholder',
        '',
    ),
    'round': (
        lambda f: f.place_holders([f.link.find('inertial')], 2.0, 0.1),
        'placeholder',
        'round',
    ),
    'no inertial': (lambda f: f.without([f.link]), 'massless', ''),
    'no masses': (lambda f: f.without(f.robot.iter('link')), 'no masses', ''),
    'degrees': (lambda f: f.limit(lower=-90, upper=90), 'limits in degrees', '1.571'),
    'empty range': (lambda f: f.limit(lower=0, upper=0), 'limits empty', ''),
    'no effort': (
        lambda f: f.scale_all('joint/limit', 'effort', 0.0),
        'effort or velocity zero',
        '',
    ),
    'mimic': (lambda f: f.mimic(), 'mimic', 'nobody'),
    'multiplier 0': (
        lambda f: f.mimic(f.another_joint(), multiplier='0'),
        'mimic',
        'stands still',
    ),
    'no limits': (lambda f: f.without_limits(), 'limits missing', ''),
    'weak': (lambda f: f.limit(effort=1e-3), 'effort limit', ''),
    'negative mass': (lambda f: f.weigh(-1.0), 'mass below zero', ''),
    'no mass': (lambda f: f.weigh(0.0), 'inertia without mass', ''),
    'steel': (lambda f: f.weigh(9.0), 'density', 'metal'),
    'air': (lambda f: f.weigh(1e-3), 'density', 'foam'),
    'all of steel': (
        lambda f: f.scale_all('link/inertial/mass', 'value', 9.0),
        'density',
        'solid steel',
    ),
    'other side': (lambda f: f.weigh(2.9), 'mirrored links differ', 'mass'),
    'other centre': (lambda f: f.move([1, 1, 0.3]), 'mirrored links differ', 'centre'),
    'other inertia': (lambda f: f.scale(4.0), 'mirrored links differ', 'inertia'),
}
