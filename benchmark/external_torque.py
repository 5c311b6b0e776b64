"""
Contact by the momentum observer on the simulated Franka, with an identified model.

    python benchmark/external_torque.py [MINUTES [PUSHES]]

A model is identified from one period of a designed motion.  The arm, whose bodies differ from
their description by up to a quarter, then follows MINUTES of other random motions that nobody
disturbs; contacts that are flagged there are false.  Then PUSHES of 5 N on its hand, in random
directions, begin at random moments of the motion: how long each goes unnoticed.  All of it is
simulated at 500 Hz; 10 minutes take about 10 minutes of a core.
"""

import pathlib
import sys

from excitation_value import JOINT_STATE
import numpy as np
from threadpoolctl import threadpool_limits

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.excitation.design import design, DesignOptions
from ros_inertial_id.excitation.fourier import random_motion
from ros_inertial_id.excitation.limits import find_limits
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.measurement.recording import Channel, Recording
from ros_inertial_id.procedures.momentum_observer import observer_of
from ros_inertial_id.simulation.arm import ArmOptions, SimulatedArm

URDF = pathlib.Path(__file__).parents[1] / 'urdf' / 'franka.urdf'
FORCE = 5.0  # [N]
BANDWIDTH, FALSE_ALARMS = 50.0, 1.0  # the defaults of the node
SETTLED = 1.0  # [s] of every motion that passes before a push


def samples(urdf, motion, seconds, pushes=()):
    """Return (t, q, v, tau) of the arm along a motion; pushes : (begin, end [s], force (3,))."""
    arm = SimulatedArm(urdf, motion.joint_names, ArmOptions(seed=1))
    arm._reference = motion.at
    arm._state = np.array([x[0] for x in motion.at(np.zeros(1))[:2]])
    seen = []
    for _ in range(round(seconds * arm.options.rate)):
        force = next((f for begin, end, f in pushes if begin <= arm.time < end), np.zeros(3))
        arm.bodies.push(len(arm.joint_names) - 1, force)
        one = arm.step()
        seen.append((one.time, one.measured_q, one.measured_v, one.measured_tau))
    return [np.array(x) for x in zip(*seen)]


def identified(urdf, motion):
    """Return the IdentifiedModel of one period of a motion, with the options' defaults."""
    t, q, v, tau = samples(urdf, motion, motion.period)
    stamps = np.round(t * 1e9).astype(np.int64)
    channel = Channel('/joint_states', JOINT_STATE, stamps, stamps, {
        'position': q, 'velocity': v, 'effort': tau}, motion.joint_names)
    return identify([Recording({'/joint_states': channel}, urdf, 'upright')],
                    options_class('serial_arm')()).model


def main(minutes=10.0, pushes=20):
    """Print false alarms and delays."""
    urdf, rng = URDF.read_text(), np.random.default_rng(0)
    robot, options = load_robot_model(urdf), DesignOptions(restarts=1, seconds=60.0)
    model = identified(urdf, design(robot, options).motion)
    limits = find_limits(robot, options)
    bounds = limits.lower, limits.upper, limits.velocity, limits.acceleration
    observer = observer_of(model, robot, BANDWIDTH, FALSE_ALARMS)
    alarms, total, largest = 0, 0.0, 0.0
    while total < 60.0 * minutes:
        motion = random_motion(robot.joint_names, bounds, rng, share=rng.uniform(0.1, 0.9))
        observer.restart()
        out = observer.add(*samples(urdf, motion, 30.0))
        hits = out.contact.any(1)
        alarms += int((np.diff(hits.astype(int)) > 0).sum() + hits[0])
        largest = max(largest, float((np.abs(out.torque) / out.standard_deviation).max()))
        total += 30.0
        print(f'{total:.0f} s: {alarms} false alarms, largest residual {largest:.1f} standard '
              f'deviations, {np.abs(out.torque).max(0).round(2)} N m', flush=True)
    delays = []
    for _ in range(pushes):
        motion = random_motion(robot.joint_names, bounds, rng, share=rng.uniform(0.1, 0.9))
        begin, way = rng.uniform(SETTLED, 3.0), rng.standard_normal(3)
        observer.restart()
        t, *rest = samples(urdf, motion, begin + 0.3,
                           [(begin, np.inf, FORCE * way / np.linalg.norm(way))])
        hits = observer.add(t, *rest).contact.any(1) & (t >= begin)
        delays.append(1e3 * (t[np.argmax(hits)] - begin) if hits.any() else np.inf)
    print(f'{FORCE:g} N: noticed after {np.sort(np.round(delays)).tolist()} ms')


if __name__ == '__main__':
    with threadpool_limits(1, user_api='blas'):
        main(*map(float, sys.argv[1:2]), *map(int, sys.argv[2:3]))
