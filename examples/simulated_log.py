"""
Logs of a simulated arm as .csv, to learn the commands without a robot (needs mujoco).

    python examples/simulated_log.py --arm franka --out logs
    python examples/simulated_log.py --arm six_axes --currents --out logs

Writes robot.urdf (what the maker says), first.csv and second.csv of two motions, and with
--currents robot.yaml, which says what an ampere is worth.  The arm that moves differs from its
description: link masses by up to 25 %, friction that no description has.
"""

import argparse
from pathlib import Path

import numpy as np

from ros_inertial_id.excitation.fourier import random_motion
from ros_inertial_id.simulation.arm import ArmOptions, SimulatedArm

ROOT = Path(__file__).resolve().parents[1]
# A six-joint arm with a reach of 1.3 m: joint origins, axes, and link masses with half edges [m].
SIX_AXES = (((0, 0, 0.18), 'z', 7.4, (0.06, 0.06, 0.09), 330, 2.1),
            ((0, 0.18, 0), 'y', 13.0, (0.31, 0.06, 0.06), 330, 2.1),
            ((0.61, -0.14, 0), 'y', 4.0, (0.28, 0.05, 0.05), 150, 3.1),
            ((0.57, 0, 0), 'y', 2.1, (0.05, 0.06, 0.05), 56, 3.1),
            ((0, 0.12, 0), 'z', 2.0, (0.05, 0.05, 0.06), 56, 3.1),
            ((0, 0, 0.12), 'y', 0.7, (0.04, 0.04, 0.04), 56, 3.1))
GAINS = (13.0, 13.0, 10.0, 8.0, 8.0, 8.0)  # [N m/A]


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


def write_log(path, arm, seed, gains, seconds=40.0):
    """Write one motion of an arm as .csv; seed of the motion, gains (n,) [N m per unit]."""
    limits, n = arm.limits, len(arm.joint_names)
    lower, upper = limits.reach()
    motion = random_motion(arm.joint_names, (lower, upper, limits.velocity, (6.0,) * n),
                           np.random.default_rng(seed), period=20.0, share=0.7)
    state = arm.simulate(motion.at, seconds)
    words = ('q', 'v', 'current' if np.any(gains != 1.0) else 'tau')
    header = ['time', *(f'{word}_{name}' for word in words for name in arm.joint_names)]
    table = np.column_stack([state.time, state.measured_q, state.measured_v,
                             state.measured_tau / gains])
    np.savetxt(path, table, delimiter=',', fmt='%.7g', header=','.join(header), comments='')


def main():
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[1])
    parser.add_argument('--arm', default='franka', help='franka, arm2, arm3 or six_axes')
    parser.add_argument('--currents', action='store_true', help='efforts in ampere (six_axes)')
    parser.add_argument('--out', default='logs')
    options = parser.parse_args()
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    urdf = six_axes() if options.arm == 'six_axes' else (
        ROOT / 'urdf' / f'{options.arm}.urdf').read_text(encoding='utf-8')
    arm = SimulatedArm(urdf, options=ArmOptions(rate=250.0, seed=4))
    gains = np.array(GAINS if options.currents else [1.0] * len(arm.joint_names))
    (out / 'robot.urdf').write_text(urdf, encoding='utf-8')
    for seed, name in enumerate(('first', 'second')):
        write_log(out / f'{name}.csv', arm, seed, gains)
    if options.currents:
        (out / 'robot.yaml').write_text(
            'serial_arm:\n  effort_kind: current\n'
            f"  drive_gain: [{', '.join(map(str, GAINS))}]  # N m of the joint per ampere\n")
    print(f'{out}:', ', '.join(sorted(path.name for path in out.iterdir())))


if __name__ == '__main__':
    main()
