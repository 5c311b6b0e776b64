"""
What a criterion is worth: errors of predicted torques on other motions of the MuJoCo arm.

    python benchmark/prediction_value.py [ROBOT [SEEDS [SECONDS [RESTARTS]]]]

Per seed a motion is designed by v_optimality with friction (the default), by d_optimality, by the
condition number of the inertial columns alone (the default of version 0.1.0), and one is drawn at
random, all within the same limits; the arm plays each, the same identification follows, and its
model predicts six random motions that it has not seen.  Printed per joint: the standard error that
the design predicts over the workspace, and the root mean square error of the torque without noise,
of a model that has found the width of Coulomb's step itself and of one that was told it: the arm's
friction is then exactly the model's.  Franka, one seed and 40 s: about 5 minutes.
"""

from dataclasses import replace
import sys

from excitation_value import identified_from, random_feasible, recorded, URDF
import numpy as np
from threadpoolctl import threadpool_limits

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.excitation.assessment import assess_motion
from ros_inertial_id.excitation.assessment import torque_errors
from ros_inertial_id.excitation.design import design, DesignOptions
from ros_inertial_id.excitation.feasible import finest_grid
from ros_inertial_id.excitation.fourier import random_motion
from ros_inertial_id.excitation.limits import find_limits
from ros_inertial_id.excitation.problem import motion_problem
from ros_inertial_id.identification.model.inverse_dynamics import InverseDynamics
from ros_inertial_id.methods.serial_arm import SerialArm
from ros_inertial_id.simulation.arm import ArmOptions, SimulatedArm

WAYS = {'v_optimality': {}, 'd_optimality': {'criterion': 'd_optimality'},
        'condition number, inertial': {'criterion': 'condition_number', 'friction': ()},
        'random': None}
WIDTHS = {'width found': {}, 'width told': {'coulomb_width': 0.01}}  # [rad/s], of JointFriction
OTHERS, SAMPLES = 6, 200


def prediction_errors(urdf, arm, model, others):
    """Return the error (n,) of torques that a model predicts for other motions of an arm."""
    predicts = InverseDynamics(SerialArm(), load_robot_model(urdf), model.parameters,
                               model.values)
    square = []
    for other in others:
        q, v, a = other.at(np.linspace(0.0, other.period, SAMPLES))
        truth = np.array([arm.bodies.inverse(*x) for x in zip(q, v, a)])
        square.append((predicts.torque(q, v, a) - truth - arm.true_friction.torque(v)) ** 2)
    return np.sqrt(np.mean(square, axis=(0, 1)))


def stated_errors(robot, options, motion):
    """Return the standard errors (n,) of torques over the workspace after one period [N m]."""
    problem = motion_problem(robot, options)[0]
    result = assess_motion(problem, lambda times: [x.T for x in motion.at(times)],
                           finest_grid(problem))
    return torque_errors(problem, result)


def main(name='franka', seeds=1, seconds=40.0, restarts=8):
    """Print the errors of every way and seed."""
    urdf = (URDF / f'{name}.urdf').read_text()
    robot = load_robot_model(urdf)
    for seed in range(int(seeds)):
        base = DesignOptions(seed=seed, seconds=float(seconds), restarts=int(restarts),
                             coulomb_width=0.01)
        limits, rng = find_limits(robot, base), np.random.default_rng(100 + seed)
        bounds = limits.lower, limits.upper, limits.velocity, limits.acceleration
        others = [random_motion(robot.joint_names, bounds, rng, share=share)
                  for share in np.linspace(0.15, 0.9, OTHERS)]
        for way, changes in WAYS.items():
            motion = (random_feasible(robot, base, 1, seed)[0] if changes is None
                      else design(robot, replace(base, **changes)).motion)
            tell(f'seed {seed}, {way}, stated', stated_errors(robot, base, motion))
            arm = SimulatedArm(urdf, robot.joint_names, ArmOptions(seed=seed))
            recording = recorded(urdf, arm, motion)
            for width, settings in WIDTHS.items():
                model = identified_from([recording], **settings)
                tell(f'seed {seed}, {way}, {width}', prediction_errors(urdf, arm, model, others))


def tell(what, errors):
    """Print errors (n,) [N m]."""
    print(f'{what}: {errors.round(4).tolist()} N m, root mean square '
          f'{np.sqrt((errors ** 2).mean()):.4f}', flush=True)


if __name__ == '__main__':
    with threadpool_limits(1, user_api='blas'):
        main(*sys.argv[1:])
