"""
Logs of a simulated arm, to learn commands and API without a robot.

    python examples/simulated_log.py --arm arm3 --out logs
    python examples/simulated_log.py --arm six_axes --currents --load "2 0 0 0.1" --out logs
    python examples/simulated_log.py --servos --out logs

Writes robot.urdf (what the maker says), first.csv and second.csv of two motions; with --currents
efforts in ampere and robot.yaml, which says what an ampere is worth; with --load loaded.csv, the
first motion with a load of that mass [kg] and centre [m] on the last link; with --servos what
position servos were commanded instead of efforts (arm2, arm3).  Links of the arm that
moves weigh 0.9 to 1.2 times what its description says, and its joints have friction.
"""

import argparse
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

import ros_inertial_id as rid

FOLDER = Path(__file__).resolve().parents[1] / 'urdf'
URDF = (FOLDER / 'arm3.urdf').read_text(encoding='utf-8')
RATE = 200.0  # [Hz]
HEAVIER = (1.2, 0.9, 1.15)  # the true links in turn, as multiples of the described ones
NOISE = 0.05  # of torques [N m]
# A six-joint arm with a reach of 1.3 m: joint origins, axes, and link masses with half edges [m].
SIX_AXES = (
    ((0, 0, 0.18), 'z', 7.4, (0.06, 0.06, 0.09), 330, 2.1),
    ((0, 0.18, 0), 'y', 13.0, (0.31, 0.06, 0.06), 330, 2.1),
    ((0.61, -0.14, 0), 'y', 4.0, (0.28, 0.05, 0.05), 150, 3.1),
    ((0.57, 0, 0), 'y', 2.1, (0.05, 0.06, 0.05), 56, 3.1),
    ((0, 0.12, 0), 'z', 2.0, (0.05, 0.05, 0.06), 56, 3.1),
    ((0, 0, 0.12), 'y', 0.7, (0.04, 0.04, 0.04), 56, 3.1),
)
STIFFNESS, DAMPING, DELAY = 800.0, 40.0, 0.012  # of servos [N m/rad], [N m s/rad], [s]
GAINS = (13.0, 13.0, 10.0, 8.0, 8.0, 8.0)  # of the six axes [N m/A]


def six_axes():
    """Return the URDF of the six-joint arm."""
    parts = ['<?xml version="1.0"?>', '<robot name="six_axes">', '  <link name="base"/>']
    for k, (origin, axis, mass, half, effort, velocity) in enumerate(SIX_AXES, 1):
        x, y, z = np.square(half) * mass / 3.0  # of a block
        at = f'{half[0]} 0 0' if half[0] > 0.2 else '0 0 0'
        turned = ' '.join('1' if name == axis else '0' for name in 'xyz')
        parts.append(f'''  <link name="link{k}"><inertial>
    <origin xyz="{at}"/><mass value="{mass}"/>
    <inertia ixx="{y + z:.6f}" ixy="0" ixz="0" iyy="{x + z:.6f}" iyz="0" izz="{x + y:.6f}"/>
  </inertial></link>
  <joint name="joint{k}" type="revolute"><parent link="{f'link{k - 1}' if k > 1 else 'base'}"/>
    <child link="link{k}"/><origin xyz="{' '.join(map(str, origin))}"/><axis xyz="{turned}"/>
    <limit lower="-2.8" upper="2.8" effort="{effort}" velocity="{velocity}"/></joint>''')
    return '\n'.join([*parts, '</robot>', ''])


def robot(payload=(0.0, 0.0, 0.0, 0.0), friction=1.0, urdf=URDF):
    """Return the true robot; payload : mass [kg], centre in the last link's frame [m]."""
    root = ElementTree.fromstring(urdf)
    links = [link for link in root.findall('link') if link.find('inertial') is not None]
    moved = {
        joint.find('child').get('link')
        for joint in root.findall('joint')
        if joint.get('type') != 'fixed'
    }
    for k, link in enumerate(link for link in links if link.get('name') in moved):
        inertial = link.find('inertial')
        for element in (inertial.find('mass'), inertial.find('inertia')):
            for key in element.attrib:
                element.set(key, str(HEAVIER[k % 3] * float(element.get(key))))
    mass, *centre = payload
    if mass:
        load = ElementTree.fromstring(
            f'<link name="load"><inertial><origin xyz="{" ".join(map(str, centre))}"/>'
            f'<mass value="{mass}"/>'
            '<inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/>'
            '</inertial></link>'
        )
        joint = ElementTree.fromstring(
            f'<joint name="grip" type="fixed"><parent link="{links[-1].get("name")}"/>'
            '<child link="load"/></joint>'
        )
        root.extend([load, joint])
    for joint in root.findall('joint'):
        if joint.get('type') != 'fixed':
            for old in joint.findall('dynamics'):
                joint.remove(old)
            joint.append(
                ElementTree.Element(
                    'dynamics', damping=str(0.8 * friction), friction=str(0.5 * friction)
                )
            )
    return rid.Model.from_description(ElementTree.tostring(root, encoding='unicode'))


def log(arm, seed, seconds=20.0, gains=None, servos=False):
    """Return what an arm measures on a random motion: {time, q_, v_, tau_}; gains [N m/A]."""
    rng, n = np.random.default_rng(seed), len(arm.joint_names)
    t = np.arange(0.0, seconds, 1.0 / RATE)
    w = 2.0 * np.pi * np.array([0.1, 0.25, 0.45, 0.7])[:, None]
    size, phase = rng.uniform(0.3, 1.0, (n, 4, 1)) / w, rng.uniform(0.0, 6.3, (n, 4, 1))
    q = (size * np.sin(w * t + phase)).sum(1).T
    v = (size * w * np.cos(w * t + phase)).sum(1).T
    a = (-size * w**2 * np.sin(w * t + phase)).sum(1).T
    if servos:  # each command holds until the next: in the mean it acts half a sample later
        share = np.clip(np.minimum(t, t[-1] - t) / 2.0, 0.0, 1.0)[:, None]  # from rest to rest
        q = q * share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
        v = np.gradient(q, 1.0 / RATE, axis=0)
        sent = q + (arm.torque(q, v, np.gradient(v, 1.0 / RATE, axis=0)) + DAMPING * v) / STIFFNESS
        command = np.stack([np.interp(t + DELAY + 0.5 / RATE, t, x) for x in sent.T], axis=1)
        q = q + 1e-4 * rng.normal(size=q.shape)
        return {
            'time': t,
            **{
                f'{word}_{name}': x[:, k]
                for word, x in (('q', q), ('cmd', command))
                for k, name in enumerate(arm.joint_names)
            },
        }
    effort = arm.torque(q, v, a) + NOISE * rng.normal(size=q.shape)
    word = 'tau' if gains is None else 'current'
    columns = {
        f'{word}_{name}': x[:, k]
        for word, x in (('q', q), ('v', v), (word, effort / np.array(gains or 1.0)))
        for k, name in enumerate(arm.joint_names)
    }
    return {'time': t, **columns}


def main():
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[1])
    parser.add_argument('--arm', default='arm3', help='franka, arm2, arm3 or six_axes')
    parser.add_argument('--currents', action='store_true', help='efforts in ampere (six_axes)')
    parser.add_argument('--servos', action='store_true', help='commands in place of efforts')
    parser.add_argument('--load', metavar='"M X Y Z"', help='write loaded.csv with it as well')
    parser.add_argument('--out', default='logs', type=Path)
    options = parser.parse_args()
    urdf = (
        six_axes()
        if options.arm == 'six_axes'
        else (FOLDER / f'{options.arm}.urdf').read_text(encoding='utf-8')
    )
    gains = GAINS if options.currents else None
    logs = {
        name: log(robot(urdf=urdf), seed, gains=gains, servos=options.servos)
        for seed, name in enumerate(('first', 'second'))
    }
    if options.load:
        load = tuple(map(float, options.load.split()))
        logs['loaded'] = log(robot(load, urdf=urdf), 0, gains=gains)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / 'robot.urdf').write_text(urdf, encoding='utf-8')
    for name, columns in logs.items():
        np.savetxt(
            options.out / f'{name}.csv',
            np.column_stack([*columns.values()]),
            delimiter=',',
            fmt='%.7g',
            header=','.join(columns),
            comments='',
        )
    if options.currents:
        (options.out / 'robot.yaml').write_text(
            'serial_arm:\n  effort_kind: current\n'
            f'  drive_gain: [{", ".join(map(str, GAINS))}]  # N m of the joint per ampere\n'
        )
    if options.servos:
        (options.out / 'robot.yaml').write_text(
            f'serial_arm:\n  effort_kind: command\n  stiffness: [{STIFFNESS}]  # N m/rad, of all '
            f'joints\n  damping: [{DAMPING}]  # N m s/rad\n'
        )
    print(f'{options.out}:', ', '.join(sorted(path.name for path in options.out.iterdir())))


if __name__ == '__main__':
    main()
