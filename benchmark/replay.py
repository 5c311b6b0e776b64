"""
Replay error of exported models of eight simulated robots, beside that of the truth.

    python benchmark/replay.py [--seeds 1]

MuJoCo moves arms, a leg, legs and a gripper by position servos with friction loss, rotors and a
delay; masses, centres and inertias of their descriptions are off by up to 20, 20 and 10 %.  From
20 s of commands and positions each is identified for MuJoCo: all of it; the drives alone beside
a description that is right; the drives alone beside the one that is off, whose links no drives
can mend, so that the true drives on those links are what it is measured by.  Another motion of
10 s is replayed, restarted every 2 s; the figure is RMS over all joints.
"""

import argparse
import logging
from pathlib import Path
import sys

import mujoco
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / 'test' / 'oracles'), str(ROOT)]

import servo_arms  # noqa: E402
import six_axis_arm  # noqa: E402

import ros_inertial_id as rid  # noqa: E402
from ros_inertial_id.identification.identified_model import DESCRIBED, MODEL  # noqa: E402
from ros_inertial_id.procedures.replay import replayed  # noqa: E402

GRIPPER = """<robot name="gripper"><link name="base_link"/>
<link name="wrist"><inertial><origin xyz="0.01 0 0.05"/><mass value="0.6"/>
 <inertia ixx="1e-3" iyy="1.2e-3" izz="6e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="joint01" type="revolute"><parent link="base_link"/><child link="wrist"/>
 <axis xyz="1 0 0"/><limit lower="-6" upper="6" effort="10" velocity="6"/></joint>
{}</robot>"""
FINGER = """<link name="finger{0}"><inertial><origin xyz="0 {1} 0.05"/><mass value="0.12"/>
 <inertia ixx="1.2e-4" iyy="1.2e-4" izz="3e-5" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="joint0{0}" type="revolute"><parent link="wrist"/><child link="finger{0}"/>
 <origin xyz="0 {1} 0.1"/><axis xyz="1 0 0"/>
 <limit lower="-6" upper="6" effort="3" velocity="6"/></joint>
"""


def kinds():
    """Return {name: Kind} of the eight robots."""
    leg = six_axis_arm.description('leg', servo_arms.LEGS[:3], servo_arms.NUMBERED[:3], 0.04, 3)
    fingers = FINGER.format(2, 0.03) + FINGER.format(3, -0.03)
    return {
        **servo_arms.KINDS,
        'leg': servo_arms.Kind(leg, (0.0, 0.8, -1.6), 6.0, 0.5, 0.005, 1e-4),
        'gripper': servo_arms.Kind(
            GRIPPER.format(fingers), (0.0, 0.3, -0.3), 5.0, 1.0, 0.008, 1e-4
        ),
    }


def truth_of(robot, urdf=''):
    """Return the MJCF text of the true robot, or of its drives on links of another ``urdf``."""
    spec = robot.spec(urdf)
    for actuator in spec.actuators:
        actuator.delay, actuator.nsample = robot.kind.delay, 40
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST  # as of what is exported
    spec.compile()
    return spec.to_xml()


def errors(robot, seed):
    """Return {what: RMS replay error [rad]} of models, and of what they are measured by."""
    training, other = servo_arms.recorded(robot, seed), servo_arms.recorded(robot, seed + 50, 10.0)
    drives = {'stiffness': list(robot.stiffness), 'damping': list(robot.damping)}

    def identified(**options):
        return rid.identify(training, effort_kind='command', **drives, **options).model

    def error(model, mjcf='', who=MODEL):
        if mjcf:
            replay = replayed(model.identified, [other], mjcf)
        else:
            replay = model.replay(other, force=True)
        return float(np.sqrt(np.mean(replay.tracks[who].rms ** 2)))

    everything = identified()
    return {
        'truth': error(everything, truth_of(robot)),
        'description': error(everything, who=DESCRIBED),
        'identified': error(everything),
        'drives, links right': error(identified(urdf=robot.urdf, links=['described'])),
        'drives, links off': error(identified(links=['described'])),
        'true drives, links off': error(everything, truth_of(robot, robot.kind.urdf)),
    }


def main():
    """Print a row per robot."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[1])
    parser.add_argument('--seeds', type=int, default=1)
    parser.add_argument('--of', nargs='+', default=[], help='names of robots, all by default')
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    servo_arms.KINDS.update(kinds())
    ratios = []
    for name in options.of or servo_arms.KINDS:
        for seed in range(1, options.seeds + 1):
            found = errors(servo_arms.servos(name, seed), seed)
            if not ratios:
                print('replay error [mrad] of', ', '.join(found), 'and three ratios')
            ratios.append(
                [
                    found['identified'] / found['truth'],
                    found['drives, links right'] / found['truth'],
                    found['drives, links off'] / found['true drives, links off'],
                ]
            )
            numbers = ' '.join(f'{1e3 * x:7.2f}' for x in found.values())
            print(f'{name:9}{seed:2}', numbers, *(f'{x:6.2f}' for x in ratios[-1]), flush=True)
    print('largest ratios', np.max(ratios, axis=0).round(2))


if __name__ == '__main__':
    main()
