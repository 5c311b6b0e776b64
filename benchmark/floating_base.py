"""
How well robots on their feet are identified: simulated by MuJoCo, descriptions 20 % off.

    OPENBLAS_NUM_THREADS=1 python benchmark/floating_base.py [SEEDS [SECONDS]]
    python benchmark/floating_base.py SEEDS SECONDS robot.urdf IMU_LINK HEIGHT_OF_KNEE FOOT...

Prints per seed: the residual on another recording and its ratio to that of the true parameters,
errors of the whole mass and of the whole centre of mass, z of the base parameters (RMS), what is
found of 3 kg on the trunk, and the CPU time of check and identification.
"""

from pathlib import Path
import sys
import time

import numpy as np
import pinocchio as pin

from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.prepare.dataset import read_dataset
from ros_inertial_id.identification.settings import load_options
from ros_inertial_id.measurement.recording import Recording
from ros_inertial_id.methods import METHODS
from ros_inertial_id.rigs.simulation.quadruped import FEET, FEET_FORCES, STAND, StandingRobot
from ros_inertial_id.simulation import true_robot

ROOT = Path(__file__).parents[1]
LOAD = 3.0  # kg on the trunk, which no description has
RADIUS = 0.02


def truth_of(urdf, seed):
    """Return the URDF text of a robot up to 20 % and about 10 mm off its description."""
    rng = np.random.default_rng(seed)
    return true_robot.perturbed_urdf(true_robot.parse(urdf), rng, 0.2, 0.1, 0.05)


def record(urdf, truth, robot, seed, seconds):
    """Return (Recording, true parameters) of a robot that sways."""
    feet, stand, imu_link = robot
    rig = StandingRobot(truth, dict.fromkeys(feet, RADIUS), stand, imu_link, seed)
    return Recording(rig.advance(seconds), urdf), rig


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


def study(urdf, robot, seed, seconds):
    """Return the numbers of one seed."""
    feet, stand, _ = robot
    truth = truth_of(urdf, seed)
    recording, rig = record(urdf, truth, robot, seed, seconds)
    second, _ = record(urdf, truth, robot, seed + 1000, 0.5 * seconds)
    changes = {'feet': [f'{foot} {RADIUS}' for foot in feet], 'contact_topic': FEET_FORCES}
    _, options = load_options('', 'floating_base', changes)
    begin = time.process_time()
    model = identify([recording], options, method='floating_base').model
    cpu = time.process_time() - begin
    names = [p.name for p in model.parameters]
    true, found = rig.truth, dict(zip(names, model.values))
    vectors = np.array([model.values, [true[name] for name in names]])
    left, of_truth = residual(second, options, model.parameters, vectors)
    bodies = len(model.robot['links'])
    (mass, centre), (true_mass, true_centre) = (
        whole(urdf, x, bodies, stand) for x in (found, true)
    )
    z = []
    for entry in model.base:
        if entry['determined']:
            value = sum(share * true[name] for name, share in entry['grouping'].items())
            z.append((entry['value'] - value) / entry['standard_error'])
    rig = StandingRobot(truth, dict.fromkeys(feet, RADIUS), stand, robot[2], seed)
    loaded(rig)
    heavier = identify(
        [Recording(rig.advance(0.5 * seconds), urdf)], options, method='floating_base'
    ).model
    more = dict(zip(names, heavier.values))
    load = whole(urdf, more, bodies, stand)[0] - true_mass
    return {
        'left out %': 100 * left,
        'ratio': left / of_truth,
        'mass %': 100 * (mass / true_mass - 1),
        'centre mm': 1e3 * np.linalg.norm(centre - true_centre),
        'z rms': np.sqrt(np.mean(np.square(z))),
        'z median/.67': np.median(np.abs(z)) / 0.6745,
        'load kg': load,
        'cpu s': cpu,
    }


def main(arguments):
    """Print one line per seed, and the mean."""
    seeds, seconds = int((arguments + ['3'])[0]), float((arguments + ['3', '60'])[1])
    urdf, robot = (ROOT / 'urdf' / 'quadruped.urdf').read_text(), (FEET, STAND, 'imu_link')
    if len(arguments) > 2:
        path, imu_link, knee, *feet = arguments[2:]
        urdf = Path(path).read_text()
        bend = float(knee)
        robot = feet, (0.0, bend / 2, -bend) * len(feet), imu_link
    rows = []
    for seed in range(seeds):
        entry = study(urdf, robot, seed, seconds)
        rows.append(list(entry.values()))
        if not seed:
            print('seed ', *(f'{name:>12s}' for name in entry), flush=True)
        print(f'{seed:5d}', *(f'{x:12.3f}' for x in rows[-1]), flush=True)
    print('mean ', *(f'{x:12.3f}' for x in np.mean(rows, axis=0)))


if __name__ == '__main__':
    main(sys.argv[1:])
