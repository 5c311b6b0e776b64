"""
What a designed motion is worth: standard errors of the parameters against random motions.

    python benchmark/excitation_value.py [ROBOT [RANDOM [CRITERION ...]]]

The MuJoCo arm follows one designed motion and several random ones of the same length, all within
the same limits (position, velocity, acceleration, nominal torque, collision); the same sensor
noise, the same identification.  Every base parameter then has a standard error per motion.
"""

from dataclasses import dataclass
import os
import pathlib
import sys

import numpy as np
import pinocchio as pin
from threadpoolctl import threadpool_limits

from ros_inertial_id.dynamics.inertial_parameters import SYMBOLS
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.excitation.collision import wanted_shapes
from ros_inertial_id.excitation.design import design, DesignOptions
from ros_inertial_id.excitation.fourier import random_motion
from ros_inertial_id.excitation.limits import find_limits
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.measurement.recording import Channel, Recording
from ros_inertial_id.simulation.arm import ArmOptions, SimulatedArm

URDF = pathlib.Path(__file__).parents[1] / 'urdf'
JOINT_STATE = 'sensor_msgs/msg/JointState'
FRICTION = ('viscous', 'coulomb')
ACCELERATION = {'franka': (15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0)}  # Troebinger et al.
MARGIN = 0.6  # share of the torque limits: the true arm may be heavier than its description
TRIES = 5000


@dataclass(frozen=True)
class Value:
    """
    The worth of a design.

    names : (b,) base parameters; designed : (b,) and random : (k, b) standard errors
    condition : condition numbers of the identification, of the design and of each random motion
    errors : |estimate - truth| / standard error, of all motions, (1 + k, b)
    """

    names: tuple
    designed: np.ndarray
    random: np.ndarray
    condition: tuple
    errors: np.ndarray

    @property
    def ratios(self):
        """Return the standard errors of the random motions over those of the design (k, b)."""
        return self.random / self.designed

    @property
    def inertial(self):
        """Return which parameters (b,) are of bodies or viscous friction."""
        return np.array([not name.startswith('fc') for name in self.names])


def value_of(urdf, options, count=10, seed=0, arm_options=None):
    """
    Return the Value of the motion that ``options`` (DesignOptions) lead to.

    urdf : text; count : random motions; seed : theirs
    """
    robot = load_robot_model(urdf)
    motions = [design(robot, options).motion, *random_feasible(robot, options, count, seed)]
    found = [identified(urdf, motion, arm_options or ArmOptions()) for motion in motions]
    names = tuple(entry['name'] for entry in found[0][0].base)
    errors = np.array([np.sqrt(np.diag(model.covariance)) for model, _ in found])
    off = np.array([base_values(model) - true_values(model, arm) for model, arm in found])
    conditions = tuple(model.statistics['condition_number'] for model, _ in found)
    return Value(names, errors[0], errors[1:], conditions, np.abs(off) / errors)


def random_feasible(robot, options, count, seed):
    """Return random motions that keep the limits of a design, each joint near one of them."""
    rng = np.random.default_rng(seed)
    shapes = wanted_shapes(robot, options, np.random.default_rng(0))
    limits = find_limits(robot, options)  # the same margins as the design
    bounds = limits.lower, limits.upper, limits.velocity, limits.acceleration
    data, times, out = robot.pin_model.createData(), np.linspace(0.0, options.period, 1000), []
    for _ in range(TRIES):
        motion = random_motion(robot.joint_names, bounds, rng, period=options.period,
                               harmonics=options.harmonics)
        q, v, a = motion.at(times)
        tau = [pin.rnea(robot.pin_model, data, *x) for x in zip(q, v, a)]
        if (np.abs(tau).max(0) <= limits.effort).all() and shapes.colliding(robot, q) is None:
            out.append(motion)
            if len(out) == count:
                return out
    raise SystemExit(f'only {len(out)} of {TRIES} random motions keep the limits')


def identified(urdf, motion, options, **settings):
    """
    Return the IdentifiedModel of one period of a motion of the MuJoCo arm, and the arm.

    options : ArmOptions; settings : of the identification, beside those that all share
    """
    arm = SimulatedArm(urdf, motion.joint_names, options)
    model = identified_from([recorded(urdf, arm, motion)], **settings)
    return model, arm


def recorded(urdf, arm, motion):
    """Return the Recording of one period of a motion of ``arm``."""
    seen = arm.simulate(motion.at, motion.period)
    stamps = np.round(seen.time * 1e9).astype(np.int64)
    channel = Channel('/joint_states', JOINT_STATE, stamps, stamps, {
        'position': seen.measured_q, 'velocity': seen.measured_v,
        'effort': seen.measured_tau}, arm.joint_names)
    return Recording({'/joint_states': channel}, urdf, 'upright')


def identified_from(recordings, **settings):
    """Return the IdentifiedModel of recordings."""
    # Without a prior: the standard errors are what the motion alone shows. One cutoff for all.
    return identify(recordings, options_class('serial_arm')(
        **{'estimator': 'weighted', 'friction': FRICTION, 'cutoff': 10.0, **settings})).model


def base_values(model):
    """Return the identified values (b,) of the base parameters, determined or not."""
    place = {p.name: k for k, p in enumerate(model.parameters)}
    return np.array([sum(c * model.values[place[name]] for name, c in entry['grouping'].items())
                     for entry in model.base])


def true_values(model, arm):
    """Return the true values (b,) of the base parameters of a model."""
    robot = load_robot_model(arm.true_urdf)
    true = {f'{symbol}{i + 1}': x for i, pi in enumerate(robot.inertias)
            for symbol, x in zip(SYMBOLS, pi)}
    for symbol, values in (('fv', arm.true_friction.viscous), ('fc', arm.true_friction.coulomb)):
        true.update({f'{symbol}{j + 1}': x for j, x in enumerate(values)})
    return np.array([sum(c * true[name] for name, c in entry['grouping'].items())
                     for entry in model.base])


def main(name='franka', count=10, *criteria):
    """Print the worth of the designs for one of our arms."""
    urdf = (URDF / f'{name}.urdf').read_text()
    robot = load_robot_model(urdf)
    for criterion in criteria or ('condition_number', 'd_optimality'):
        options = DesignOptions(
            criterion=criterion, acceleration=ACCELERATION.get(name, ()), restarts=4,
            effort=tuple(MARGIN * robot.effort),
            # scale free: friction can take part without spoiling the rest
            friction=FRICTION if criterion == 'd_optimality' else ())
        value = value_of(urdf, options, count)
        print(f'{name}, {criterion}: one period of {options.period:g} s against {count} random '
              'motions')
        tell(value)


def tell(value):
    """Print a Value."""
    for kind, chosen in (('all', np.ones(len(value.names), bool)),
                         ('bodies and viscous friction', value.inertial),
                         ('Coulomb friction', ~value.inertial)):
        ratios = value.ratios[:, chosen]
        better = 100 * (ratios > 1.0).mean(1)
        print(f'  {chosen.sum()} parameters ({kind}): standard error random / designed, median '
              f'{np.median(ratios):.2f} (per motion {np.median(ratios, axis=1).min():.2f} to '
              f'{np.median(ratios, axis=1).max():.2f}); design better for {better.mean():.0f} % '
              f'({better.min():.0f} to {better.max():.0f})')
    print('  condition number: design {:.0f}, random {:.0f} to {:.0f}'.format(
        value.condition[0], min(value.condition[1:]), max(value.condition[1:])))
    print('  errors within 3 standard errors: design {:.1f} %, random {:.1f} %'.format(
        100 * (value.errors[0] < 3).mean(), 100 * (value.errors[1:] < 3).mean()), flush=True)


if __name__ == '__main__':
    with threadpool_limits(1, user_api='blas'):
        print(f'{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}')
        main(*sys.argv[1:2], *map(int, sys.argv[2:3]), *sys.argv[3:])
