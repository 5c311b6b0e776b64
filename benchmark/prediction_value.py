"""
What a criterion is worth: errors of predicted torques on other motions of the MuJoCo arm.

    python benchmark/prediction_value.py [SEEDS [SECONDS]]

Per seed a motion is designed by v_optimality with friction (the default), by d_optimality, by the
condition number of the inertial columns alone (the default of version 0.1.0), and one is drawn at
random, all within the same limits; the arm plays each, the same identification follows, and its
model predicts six random motions that it has not seen.  Printed: the root mean square error of
the torque per joint, without noise.  One seed and 40 s take about 5 minutes.
"""

from dataclasses import replace
import sys

from excitation_value import identified, random_feasible, URDF
import numpy as np
from threadpoolctl import threadpool_limits

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.excitation.design import design, DesignOptions
from ros_inertial_id.excitation.fourier import random_motion
from ros_inertial_id.excitation.limits import find_limits
from ros_inertial_id.identification.inverse_dynamics import InverseDynamics
from ros_inertial_id.methods.serial_arm import SerialArm
from ros_inertial_id.simulation.arm import ArmOptions

WAYS = {'v_optimality': {}, 'd_optimality': {'criterion': 'd_optimality'},
        'condition number, inertial': {'criterion': 'condition_number', 'friction': ()},
        'random': None}
OTHERS, SAMPLES = 6, 200


def prediction_errors(urdf, motion, options, others):
    """Return the error (n,) of torques that a model of one period predicts for other motions."""
    model, arm = identified(urdf, motion, options)
    robot = load_robot_model(urdf)
    predicts = InverseDynamics(SerialArm(), robot, model.parameters, model.values)
    square = []
    for other in others:
        q, v, a = other.at(np.linspace(0.0, other.period, SAMPLES))
        truth = np.array([arm.bodies.inverse(*x) for x in zip(q, v, a)])
        square.append((predicts.torque(q, v, a) - truth - arm.true_friction.torque(v)) ** 2)
    return np.sqrt(np.mean(square, axis=(0, 1)))


def main(seeds=1, seconds=40.0):
    """Print the errors of every way and seed."""
    urdf = (URDF / 'franka.urdf').read_text()
    robot = load_robot_model(urdf)
    for seed in range(seeds):
        base = DesignOptions(seed=seed, seconds=seconds)
        limits, rng = find_limits(robot, base), np.random.default_rng(100 + seed)
        bounds = limits.lower, limits.upper, limits.velocity, limits.acceleration
        others = [random_motion(robot.joint_names, bounds, rng, share=share)
                  for share in np.linspace(0.15, 0.9, OTHERS)]
        for name, changes in WAYS.items():
            motion = (random_feasible(robot, base, 1, seed)[0] if changes is None
                      else design(robot, replace(base, **changes)).motion)
            errors = prediction_errors(urdf, motion, ArmOptions(seed=seed), others)
            print(f'seed {seed}, {name}: {errors.round(4).tolist()} N m, root mean square '
                  f'{np.sqrt((errors ** 2).mean()):.4f}', flush=True)


if __name__ == '__main__':
    with threadpool_limits(1, user_api='blas'):
        main(*map(int, sys.argv[1:2]), *map(float, sys.argv[2:3]))
