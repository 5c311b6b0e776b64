"""A designed motion is worth more than random ones: standard errors on the MuJoCo arm."""

import mujoco_arm
import numpy as np
import pinocchio as pin
import pytest

from ros_inertial_id.dynamics.inertial_parameters import SYMBOLS
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.excitation.collision import wanted_shapes
from ros_inertial_id.excitation.design import design, DesignOptions
from ros_inertial_id.excitation.fourier import random_motion
from ros_inertial_id.excitation.limits import find_limits
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class

pytest.importorskip('mujoco', reason='the simulated arm needs mujoco')

FRICTION, RATE, RANDOM = ('viscous', 'coulomb'), 250.0, 3  # [Hz]; motions to compare with
VISCOUS, COULOMB = np.array([2.0, 1.5, 0.8]), np.array([1.0, 1.2, 0.5])  # [N m s/rad], [N m]
NOISE = 1e-5, 1e-3, 0.05  # [rad], [rad/s], [N m]


def random_feasible(robot, options):
    """Return random motions that keep the limits of a design, each joint near one of them."""
    rng = np.random.default_rng(0)
    shapes = wanted_shapes(robot, options, np.random.default_rng(0))
    limits = find_limits(robot, options)
    bounds = limits.lower, limits.upper, limits.velocity, limits.acceleration
    data, times, out = robot.pin_model.createData(), np.linspace(0.0, options.period, 1000), []
    while len(out) < RANDOM:
        motion = random_motion(robot.joint_names, bounds, rng, period=options.period,
                               harmonics=options.harmonics)
        q, v, a = motion.at(times)
        tau = [pin.rnea(robot.pin_model, data, *x) for x in zip(q, v, a)]
        if (np.abs(tau).max(0) <= limits.effort).all() and shapes.colliding(robot, q) is None:
            out.append(motion)
    return out


def identified(urdf, true, motion, seed):
    """Return the model of one period of a motion, without a prior and with a fixed cutoff."""
    t, rng = np.arange(0.0, motion.period, 1.0 / RATE), np.random.default_rng(seed)
    q, v, a = motion.at(t)
    tau = mujoco_arm.torque(true, q, v, a) + VISCOUS * v + COULOMB * np.sign(v)
    noisy = [x + size * rng.standard_normal(x.shape) for x, size in zip((q, v, tau), NOISE)]
    recording = mujoco_arm.recording(motion.joint_names, t, *noisy, 'upright')
    return identify([recording], options_class('serial_arm')(
        estimator='weighted', friction=FRICTION, cutoff=10.0), urdf=urdf).model


def errors(model, true):
    """Return (stated, actual) errors (b,) of the base parameters."""
    known = {f'{symbol}{i}': x for i, pi in enumerate(load_robot_model(true).inertias, 1)
             for symbol, x in zip(SYMBOLS, pi)}
    known.update({f'{symbol}{j}': x for symbol, values in (('fv', VISCOUS), ('fc', COULOMB))
                  for j, x in enumerate(values, 1)})
    place = {p.name: k for k, p in enumerate(model.parameters)}
    off = [sum(c * (model.values[place[name]] - known[name])
               for name, c in entry['grouping'].items()) for entry in model.base]
    return np.sqrt(np.diag(model.covariance)), np.array(off)


def test_designed_motion_shrinks_standard_errors_of_inertias():
    """Every random motion is of the same length within the same limits, with the same noise."""
    urdf = mujoco_arm.description('arm3')
    robot, true = load_robot_model(urdf), mujoco_arm.true_urdf(urdf, 1)
    options = DesignOptions(criterion='d_optimality', friction=FRICTION, restarts=1, processes=1,
                            seconds=3600.0)
    motions = [design(robot, options).motion, *random_feasible(robot, options)]
    models = [identified(urdf, true, motion, seed) for seed, motion in enumerate(motions)]
    stated, off = np.array([errors(model, true) for model in models]).swapaxes(0, 1)
    ratios = stated[1:] / stated[0]
    assert np.median(ratios) > 1.3
    inertial = [not entry['name'].startswith('fc') for entry in models[0].base]
    assert (ratios[:, inertial] > 1.0).mean(1).min() >= 0.9
    # 4 motions of 21 parameters: normal errors beyond 4 standard errors come once in 750 times
    assert (np.abs(off) < 4.0 * stated).all()
