"""
Do recordings of one robot agree within their stated errors: parameters, gravity's direction.

    python benchmark/agreement.py --data FOLDER [--bags FOLDER] [--logs FOLDER] [--arms 10]

The folders are those of accuracy.py.  Every recording is identified alone, by default.  Of every
pair: the base parameters that the data of both determine, their difference in combined standard
errors, share within 1.96 [%], rms and largest; and the directions of gravity as both found them,
apart [deg] and in combined errors (Mahalanobis distance of two angles over 2.45 / 1.96, so that
95 % lie below 1.96).  --arms: simulated arms of three to six joints, by MuJoCo, with a spring in
a joint and a base that is tilted by up to 3 degrees, two motions each, also against the truth.
"""

from itertools import combinations
from pathlib import Path
import sys

from accuracy import folders, read
import numpy as np
from predicted_error import split

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / 'test' / 'oracles')]

import mujoco_arm  # noqa: E402
import six_axis_arm  # noqa: E402

import ros_inertial_id as rid  # noqa: E402
from ros_inertial_id.estimation.gravity_search import across_gravity, turned  # noqa: E402
from ros_inertial_id.identification.choose.choice import choose_model  # noqa: E402
from ros_inertial_id.identification.fit.solution import solve  # noqa: E402
from ros_inertial_id.identification.passes import Passes  # noqa: E402
from ros_inertial_id.identification.prepare.dataset import read_dataset  # noqa: E402
from ros_inertial_id.identification.prepare.time_offset import aligned  # noqa: E402
from ros_inertial_id.identification.reduce.reduction import reduce_data  # noqa: E402
from ros_inertial_id.identification.reduce.structure import structure_of  # noqa: E402
from ros_inertial_id.identification.settings import options_class  # noqa: E402

DOWN = np.array([0.0, 0.0, -1.0])
AXES = across_gravity(DOWN)  # (3, 2) in which directions are compared
HALF = 2.4477 / 1.96  # 95 % of distances of two normal angles lie within the first number


class Identified:
    """Estimates (value, standard error) by name, gravity's direction and its covariance."""

    def __init__(self, recording, urdf):
        options, passes = options_class('serial_arm')(), Passes()
        data = read_dataset([recording], options, 'serial_arm', urdf)
        structure = structure_of(data.method, data.robots,
                                 data.method.parameters(data.robot, options))
        data = aligned(data, structure)
        choice = choose_model(data, reduce_data(data, structure, passes), passes)
        solution = solve(choice)
        base, found = choice.reduced.base, solution.estimate
        sure = solution.fitted.estimate.determined
        self.estimates = {name: (x, error) for name, x, error, good in zip(
            base.names(), found.params, found.bse, sure) if good}
        gravity = choice.data.robot.gravity_base / np.linalg.norm(choice.data.robot.gravity_base)
        across, tilt = across_gravity(gravity), choice.shown_tilt
        self.gravity = turned(gravity, across, tilt.angles)
        turn = AXES.T @ np.cross(np.eye(3), gravity) @ np.cross(gravity, across.T).T
        self.covariance = turn @ tilt.covariance @ turn.T

    def apart(self, direction, covariance=0.0):
        """Return how far gravity is from a direction (3,): degrees, and in combined errors."""
        angle = np.degrees(np.arccos(np.clip(self.gravity @ direction, -1.0, 1.0)))
        way = AXES.T @ (self.gravity - direction)
        distance = np.sqrt(way @ np.linalg.solve(self.covariance + covariance, way))
        return angle, distance / HALF


def compared(one, other):
    """Return the differences of what both determine, in combined standard errors."""
    return np.array([(one.estimates[name][0] - other.estimates[name][0])
                     / np.hypot(one.estimates[name][1], other.estimates[name][1])
                     for name in one.estimates if name in other.estimates])


def robots(options):
    """Yield (robot, {words: Recording}, text of the URDF)."""
    folder = options.data / 'kuka_lwr4'
    yield 'KUKA LWR4+', {str(k): read(folder, f'measurement_{k}')[0] for k in (1, 2, 3)}, next(
        folder.glob('*.urdf'))
    log, urdf = read(options.data / 'panda', 'excitation')
    yield 'Franka Panda', halves(log), urdf
    if options.bags:
        for name, robot in (('ur10', 'UR10, currents'), ('fer', 'Franka FER, 30 Hz')):
            yield robot, halves(rid.read_bag(options.bags / f'{name}.db3')), (
                options.bags / f'{name}.urdf')
    if options.logs:
        log, urdf = read(options.logs / 'ur10', 'validation')
        yield 'UR10, currents, other motion', halves(log), urdf
        folder = options.logs / 'ur10e'
        for name in ('harm12', 'harm12b', 'ptp'):
            if (folder / f'{name}.npz').exists():
                log, urdf = read(folder, name)
                yield f'UR10e, currents, {name}', halves(log), urdf
        for name in 'abc':
            if (options.logs / 'lbr' / f'{name}.npz').exists():
                log, urdf = read(options.logs / 'lbr', name)
                yield f'LBR Med 7, {name}', halves(log), urdf
        logs = {name: read(options.logs / 'lbr', name)[0] for name in 'abc'
                if (options.logs / 'lbr' / f'{name}.npz').exists()}
        if len(logs) > 1:
            yield 'LBR Med 7', logs, urdf


def halves(recording):
    """Return both halves of a Recording by name."""
    return dict(zip(('first half', 'second half'), split(recording)))


def simulated(count):
    """Yield (name, two Recordings, URDF text, true direction of gravity) of tilted arms."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        urdf = six_axis_arm.description() if seed % 2 else mujoco_arm.description('arm3')
        truth, names = mujoco_arm.true_urdf(urdf, seed), mujoco_arm.joints_of(urdf)
        tilt, towards = np.radians(rng.uniform(0.0, 3.0)), rng.uniform(0.0, 2.0 * np.pi)
        gravity = np.array([np.sin(tilt) * np.cos(towards), np.sin(tilt) * np.sin(towards),
                            -np.cos(tilt)])
        joint, made, size = int(rng.integers(len(names))), {}, np.zeros(0)
        for k in range(2):
            t, q, v, a = mujoco_arm.motion(len(names), 30.0, 200.0, seed=100 * seed + k)
            tau = mujoco_arm.torque(truth, q, v, a, tuple(9.81 * gravity))
            size = size if size.size else tau.std(0)
            tau[:, joint] += 0.3 * size[joint] * (q[:, joint] - 0.2)
            tau += size * (0.1 * v + 0.1 * np.sign(v) + 0.01 * rng.standard_normal(tau.shape))
            made[str(k + 1)] = mujoco_arm.recording(
                names, t, q, v + 1e-3 * rng.standard_normal(q.shape), tau)
        yield f'arm {seed}, {len(names)} joints', made, urdf, gravity


def row(robot, words, z, angle, distance):
    """Print a line of the table."""
    share = (f'{len(z)} | {100 * (np.abs(z) < 1.96).mean():.0f} | {np.sqrt((z ** 2).mean()):.2f} '
             f'| {np.abs(z).max():.1f}' if len(z) else ' | | |')
    print(f'| {robot} | {words} | {share} | {angle:.2f} | {distance:.2f} |', flush=True)


def main():
    """Print the table."""
    parser = folders(__doc__.strip().split('\n')[0])
    parser.add_argument('--arms', type=int, default=10)
    parser.add_argument('--simulated-only', action='store_true')
    options = parser.parse_args()
    print('| robot | recordings | parameters | within 1.96 [%] | rms | largest | gravity apart '
          '[deg] | in combined errors |\n|---|---|---|---|---|---|---|---|')
    every, near = [], []
    for robot, recordings, urdf in () if options.simulated_only else robots(options):
        found = {words: Identified(one, urdf.read_text()) for words, one in recordings.items()}
        for (name, one), (words, other) in combinations(found.items(), 2):
            every.append(compared(one, other))
            near.append(one.apart(other.gravity, other.covariance))
            row(robot, f'{name}, {words}', every[-1], *near[-1])
    if near:
        row('all recordings', '', np.concatenate(every), np.nan,
            np.mean([d < 1.96 for _, d in near]))
    near, true = [], []
    for robot, recordings, urdf, gravity in simulated(options.arms):
        one, other = (Identified(recording, urdf) for recording in recordings.values())
        near.append(one.apart(other.gravity, other.covariance))
        row(robot, '1, 2', compared(one, other), *near[-1])
        for model in (one, other):
            true.append(model.apart(gravity))
            row(robot, 'truth', np.empty(0), *true[-1])
    if near:
        print(f'gravity within 1.96: {100 * np.mean([d < 1.96 for _, d in near]):.0f} % of '
              f'{len(near)} simulated pairs, {100 * np.mean([d < 1.96 for _, d in true]):.0f} % '
              f'of {len(true)} against the truth')


if __name__ == '__main__':
    main()
