"""
What a second motion is worth: a friction sweep, or one for what the first left open.

    python benchmark/second_motion.py [ROBOT [SEEDS [RESTARTS]]]     ROBOT of urdf/, default arm3

The friction of the MuJoCo arm has a Stribeck peak: below 0.05 rad/s it rises by half.  The first
motion is designed by the default criterion; a model is identified from it, and from it and a
second one: the same motion again, one designed for what the first model leaves open, a friction
sweep.  Each model predicts point-to-point motions that it has not seen.  Printed: root mean square
errors of the torque without noise as a share of the torque, over all samples and over those of
joints slower than 0.05 rad/s.  arm3, one seed: about 5 minutes.
"""

from dataclasses import dataclass, replace
import pathlib
import sys
import tempfile

from excitation_value import identified_from, recorded, URDF
import numpy as np
from threadpoolctl import threadpool_limits

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.excitation.design import design, DesignOptions
from ros_inertial_id.identification.model.inverse_dynamics import InverseDynamics
from ros_inertial_id.methods.serial_arm import SerialArm
from ros_inertial_id.simulation.arm import ArmOptions, SimulatedArm
from ros_inertial_id.simulation.true_robot import JointFriction

SLOW, PEAK = 0.05, 0.5  # [rad/s], share of Coulomb friction
MOVES, MOVE, REST = 12, 1.5, 0.3  # point-to-point moves, [s] each, [s] at rest after it
FRICTIONS = {'auto': ('auto',), 'stribeck': ('viscous', 'coulomb', 'stribeck')}


@dataclass(frozen=True)
class Stribeck(JointFriction):
    """Friction that rises towards zero speed."""

    def torque(self, v):
        """Return the torque (..., n) that the motors need against friction at speeds ``v``."""
        peak = 1.0 + PEAK * np.exp(-(v / SLOW) ** 2)
        return self.viscous * v + self.coulomb * peak * np.tanh(v / self.velocity_scale)


def arm_of(urdf, seed):
    """Return a SimulatedArm with a Stribeck peak; always the same for a seed."""
    arm = SimulatedArm(urdf, options=ArmOptions(seed=seed, rate=250.0, bandwidth=60.0))
    friction = arm.true_friction
    arm.true_friction = Stribeck(friction.viscous, friction.coulomb, friction.velocity_scale)
    return arm


def point_to_point(robot, rng):
    """Return (q, v, a), each (k, n), of quintics between random postures, with rests."""
    middle, half = 0.5 * (robot.upper + robot.lower), 0.4 * (robot.upper - robot.lower)
    x = np.clip(np.arange(0.0, MOVE + REST, 0.005) / MOVE, 0.0, 1.0)[:, None]
    at = middle + half * rng.uniform(-1.0, 1.0, len(robot))
    parts = []
    for _ in range(MOVES):
        reach = 0.25 * robot.velocity * MOVE / 1.875  # a quarter of full speed, at most
        way = np.clip(middle + half * rng.uniform(-1.0, 1.0, len(robot)) - at, -reach, reach)
        parts.append((at + way * x ** 3 * (10 - 15 * x + 6 * x ** 2),
                      way / MOVE * 30 * x ** 2 * (1 - x) ** 2,
                      way / MOVE ** 2 * 60 * x * (1 - x) * (1 - 2 * x)))
        at = at + way
    return tuple(np.concatenate(part) for part in zip(*parts))


def errors(urdf, arm, model, motion):
    """Return the errors [%] of torques predicted for a motion: of all, of slow moving joints."""
    robot = load_robot_model(urdf)
    q, v, a = motion
    truth = np.array([arm.bodies.inverse(*x) for x in zip(q, v, a)]) + arm.true_friction.torque(v)
    predicted = InverseDynamics(SerialArm(), robot, model.parameters, model.values).torque(q, v, a)
    slow = (np.abs(v) < SLOW) & (np.abs(v) > 1e-3)
    return [100.0 * np.linalg.norm((predicted - truth)[rows]) / np.linalg.norm(truth[rows])
            for rows in (np.isfinite(v), slow)]


def main(name='arm3', seeds=1, restarts=4):
    """Print the errors of every second motion."""
    urdf = (URDF / f'{name}.urdf').read_text()
    robot = load_robot_model(urdf)
    for seed in range(int(seeds)):
        options = DesignOptions(seed=seed, restarts=int(restarts), seconds=900.0)
        first = design(robot, options).motion
        rng = np.random.default_rng(50 + seed)
        unseen = point_to_point(robot, rng)
        start = recorded(urdf, arm_of(urdf, seed), first)
        for law, friction in FRICTIONS.items():
            model = identified_from([start], friction=friction)
            tell(seed, law, 'first alone', errors(urdf, arm_of(urdf, seed), model, unseen))
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / 'model.yaml'
                path.write_text(model.to_yaml())
                changes = {'the same again': None, 'for what is open': {'model': str(path)},
                           'friction sweep': {'kind': 'friction_sweep'}}
                for way, change in changes.items():
                    motion = first if change is None else design(
                        robot, replace(options, **change)).motion
                    arm = arm_of(urdf, seed)
                    arm.step()  # noise of its own
                    second = recorded(urdf, arm, motion)
                    both = identified_from([start, second], friction=friction)
                    tell(seed, law, f'{way} ({motion.period:.0f} s)',
                         errors(urdf, arm_of(urdf, seed), both, unseen))


def tell(seed, law, way, found):
    """Print the errors [%] of one way."""
    print(f'seed {seed}, {law:9s} {way:26s} all {found[0]:7.3f} %   slow joints {found[1]:7.3f} %',
          flush=True)


if __name__ == '__main__':
    with threadpool_limits(1, user_api='blas'):
        main(*sys.argv[1:])
