"""
How well robots on their feet are identified: simulated by MuJoCo, descriptions 20 % off.

    OPENBLAS_NUM_THREADS=1 python benchmark/floating_base.py [SEEDS [SECONDS]]
    python benchmark/floating_base.py SEEDS SECONDS --robot ROBOT robot.urdf [--odometry]

ROBOT is one of ROBOTS, whose descriptions stand in example-robot-data (talos: talos_reduced).
Prints per seed: the residual on another recording and its ratio to that of the true parameters,
errors of the whole mass and of the whole centre of mass, z of the base parameters (RMS), z of the
whole mass and the components of the whole centre, what is found of LOAD on the trunk, and the CPU
time of check and identification.
"""

import argparse
from dataclasses import dataclass
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'oracles')]

import numpy as np  # noqa: E402
import pinocchio as pin  # noqa: E402
from standing_robots import Manner, ODOMETRY, OtherRobot  # noqa: E402

from ros_inertial_id.demonstration.simulated_rigs import quadruped  # noqa: E402
from ros_inertial_id.identification.identify import identify  # noqa: E402
from ros_inertial_id.identification.prepare.dataset import read_dataset  # noqa: E402
from ros_inertial_id.identification.settings import load_options  # noqa: E402
from ros_inertial_id.measurement.recording import Recording  # noqa: E402
from ros_inertial_id.methods import METHODS  # noqa: E402
from ros_inertial_id.report.whole import whole_of  # noqa: E402
from ros_inertial_id.simulation import true_robot  # noqa: E402

AXES = 'xx', 'xy', 'xz', 'yy', 'yz', 'zz'
LOAD = 3.0  # kg on the trunk, which no description has


@dataclass(frozen=True)
class Robot:
    """
    What stands: its feet {link: radius [m], None of a sole}, where its IMU is.

    stand : {joint: position [rad]}, 0 of others; drives : see Manner
    """

    feet: dict
    imu_link: str
    stand: dict
    drives: float = 1.0
    lifts: bool = True
    pace: float = 1.0


def _legs(names, hip, knee):
    """Return {joint: position} of four legs by their ``names``: those behind bend forwards."""
    out = {}
    for k, (thigh, calf) in enumerate(names):
        sign = 1.0 - 2.0 * (k > 1)
        out |= {thigh: sign * hip, calf: sign * knee}
    return out


ANYMAL = {
    'feet': dict.fromkeys(('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT'), 0.03),
    'imu_link': 'imu_link',
    'stand': _legs([(f'{leg}_HFE', f'{leg}_KFE') for leg in ('LF', 'RF', 'LH', 'RH')], 0.7, -1.2),
}
UNITREE = {f'{leg}_thigh_joint': 0.8 for leg in ('FL', 'FR', 'RL', 'RR')} | {
    f'{leg}_calf_joint': -1.6 for leg in ('FL', 'FR', 'RL', 'RR')
}
TALOS = {
    'arm_left_1_joint': 0.258, 'arm_left_2_joint': 0.173, 'arm_left_4_joint': -0.525,
    'arm_right_1_joint': -0.258, 'arm_right_2_joint': -0.173, 'arm_right_4_joint': -0.525,
}  # fmt: skip
for side in ('left', 'right'):
    for joint, position in ((3, -0.411), (4, 0.859), (5, -0.448)):
        TALOS[f'leg_{side}_{joint}_joint'] = position
STAND = {f'{leg}_thigh': 0.8 for leg in quadruped.LEGS}
STAND |= {f'{leg}_calf': -1.6 for leg in quadruped.LEGS}
ROBOTS = {
    'quadruped': Robot(
        dict.fromkeys(quadruped.FEET, 0.02), 'imu_link', STAND,
    ),
    'standing': Robot(
        dict.fromkeys(quadruped.FEET, 0.02), 'imu_link', STAND, lifts=False,
    ),
    'anymal_b': Robot(**ANYMAL, drives=3.0),
    'anymal_c': Robot(**ANYMAL, drives=5.0),
    'go2': Robot(
        dict.fromkeys(('FL_foot', 'FR_foot', 'RL_foot', 'RR_foot'), 0.022), 'imu', UNITREE, 2.0,
    ),
    'talos': Robot(
        dict.fromkeys(('left_sole_link', 'right_sole_link'), None),
        'base_link', TALOS, drives=30.0, lifts=False, pace=0.12,
    ),
}  # fmt: skip


def is_body(link):
    """Return whether the inertia of a ``link`` of a URDF is one that a body has."""
    inertia = link.find('inertial/inertia').attrib
    xx, xy, xz, yy, yz, zz = (float(inertia[f'i{axes}']) for axes in AXES)
    moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return moments[0] > 0.0 and moments[2] < moments[0] + moments[1]


def truth_of(urdf, seed):
    """Return the URDF text of a robot up to 20 % and about 10 mm off its description."""
    rng, robot = np.random.default_rng(seed), true_robot.parse(urdf)
    for link in robot.findall('link[inertial]'):
        if not is_body(link):
            link.remove(link.find('inertial'))
    return true_robot.perturbed_urdf(robot, rng, 0.2, 0.1, 0.05)


def simulated(truth, robot, seed, odometry):
    """Return a OtherRobot of a ``truth`` (URDF text)."""
    manner = Manner(robot.lifts, robot.drives, robot.pace, odometry)
    return OtherRobot(truth, robot.feet, robot.stand, robot.imu_link, seed, manner)


def truth_by_joints(rig, joints):
    """Return the true parameters of a ``rig``, numbered as ``joints`` are, from 1 on."""
    number = {str(k): str(1 + joints.index(joint)) for k, joint in enumerate(rig.joints, 1)}
    out = {}
    for name, value in rig.truth.items():
        symbol = name.rstrip('0123456789')
        old = name[len(symbol) :]
        out[symbol + number.get(old, old)] = value
    return out


def loaded(rig):
    """Put LOAD on the trunk of a simulated robot, 5 cm above its frame."""
    body = rig.model.body(1)
    mass, place = body.mass[0], np.array([0.0, 0.0, 0.05])
    centre = (mass * body.ipos + LOAD * place) / (mass + LOAD)
    body.inertia[:] += mass * LOAD / (mass + LOAD) * np.sum((place - body.ipos) ** 2)
    body.ipos[:], body.mass[0] = centre, mass + LOAD


def whole(urdf, values, bodies, at):
    """Return mass [kg] and centre (3,) [m] of all bodies with joints ``at`` (n,)."""
    model = pin.buildModelFromXML(urdf, pin.JointModelFreeFlyer())
    model.inertias[0] = pin.Inertia.Zero()
    for k in range(bodies):
        mass, *moment = (values[f'{name}{k}'] for name in ('m', 'mcx', 'mcy', 'mcz'))
        model.inertias[k + 1] = pin.Inertia(mass, np.array(moment) / mass, np.eye(3))
    q = np.concatenate([np.zeros(6), [1.0], at])
    return pin.computeTotalMass(model), pin.centerOfMass(model, model.createData(), q)


def residual(recording, options, parameters, vectors):
    """Return relative residuals (k,) of ``vectors`` (k, p) on a recording."""
    data = read_dataset([recording], options, 'floating_base', '')
    squares, target = np.zeros(len(vectors)), 0.0
    for robot, state in data.states(training=True):
        for block in METHODS['floating_base'].regress(state, robot, parameters):
            for group in block.groups:
                error = group.y - vectors[:, group.columns] @ group.W.T
                squares += (error**2).sum(1)
                target += group.y @ group.y
    return np.sqrt(squares / target)


def z_of_base(model, true):
    """Return z (k,) of the determined base parameters of a ``model``."""
    out = []
    for entry in model.base:
        if entry['determined']:
            value = sum(share * true[name] for name, share in entry['grouping'].items())
            out.append((entry['value'] - value) / entry['standard_error'])
    return np.array(out)


def z_of_whole(model, urdf, true):
    """Return z of the whole mass and of x, y, z of the whole centre in the middle of the range."""
    said, ranges = whole_of(model), model.validity_range
    middle = [np.mean(ranges[joint]['q']) for joint in model.robot['joints']]
    mass, centre = whole(urdf, true, len(model.robot['links']), middle)
    return np.array(
        [(said.mass - mass) / said.mass_error, *((said.centre - centre) / said.errors)]
    )


def settings(robot, odometry):
    """Return the options by which a ``robot`` is identified."""
    feet = []
    for foot, radius in robot.feet.items():
        feet.append(f'{foot} {radius or "sole"}')
    changes = {'feet': feet, 'contact_topic': quadruped.FEET_FORCES}
    if odometry:
        changes['odometry_topic'] = ODOMETRY
    return load_options('', 'floating_base', changes)[1]


def study(urdf, robot, seed, seconds, odometry):
    """Return the numbers of one seed."""
    truth = truth_of(urdf, seed)
    rig = simulated(truth, robot, seed, odometry)
    recording = Recording(rig.advance(seconds), urdf)
    options = settings(robot, odometry)
    begin = time.process_time()
    model = identify([recording], options, method='floating_base').model
    cpu = time.process_time() - begin
    second = Recording(simulated(truth, robot, seed + 1000, odometry).advance(seconds / 2), urdf)
    names = [p.name for p in model.parameters]
    joints = model.robot['joints']
    true, found = truth_by_joints(rig, joints), dict(zip(names, model.values))
    vectors = np.array([model.values, [true[name] for name in names]])
    left, of_truth = residual(second, options, model.parameters, vectors)
    stand = [robot.stand.get(joint, 0.0) for joint in joints]
    bodies = len(model.robot['links'])
    (mass, centre), (true_mass, true_centre) = (
        whole(urdf, x, bodies, stand) for x in (found, true)
    )
    z = z_of_base(model, true)
    heavier = simulated(truth, robot, seed, odometry)
    loaded(heavier)
    recording = Recording(heavier.advance(seconds / 2), urdf)
    model_of_more = identify([recording], options, method='floating_base').model
    more = dict(zip(names, model_of_more.values))
    load = whole(urdf, more, bodies, stand)[0] - true_mass
    of_whole = dict(zip(('z mass', 'z x', 'z y', 'z z'), z_of_whole(model, urdf, true)))
    return {
        'left out %': 100 * left,
        'ratio': left / of_truth,
        'mass %': 100 * (mass / true_mass - 1),
        'centre mm': 1e3 * np.linalg.norm(centre - true_centre),
        'z rms': np.sqrt(np.mean(np.square(z))),
        'z median/.67': np.median(np.abs(z)) / 0.6745,
        **of_whole,
        'load kg': load,
        'cpu s': cpu,
    }


def main():
    """Print one line per seed, and the mean."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('seeds', nargs='?', type=int, default=3)
    parser.add_argument('seconds', nargs='?', type=float, default=60.0)
    parser.add_argument('--robot', nargs=2, default=('quadruped', ROOT / 'urdf/quadruped.urdf'))
    parser.add_argument('--odometry', action='store_true')
    parser.add_argument('--first', type=int, default=0)
    given = parser.parse_args()
    robot, urdf = ROBOTS[given.robot[0]], pathlib.Path(given.robot[1]).read_text()
    rows = []
    for seed in range(given.first, given.first + given.seeds):
        entry = study(urdf, robot, seed, given.seconds, given.odometry)
        rows.append(list(entry.values()))
        if len(rows) == 1:
            print('seed ', *(f'{name:>12s}' for name in entry), flush=True)
        print(f'{seed:5d}', *(f'{x:12.3f}' for x in rows[-1]), flush=True)
    print('mean ', *(f'{x:12.3f}' for x in np.mean(rows, axis=0)))
    print('rms  ', *(f'{x:12.3f}' for x in np.sqrt(np.mean(np.square(rows), axis=0))))


if __name__ == '__main__':
    main()
