"""
Stated and true error of predicted torque, of models of independent recordings of one robot.

    python benchmark/predicted_error.py --data FOLDER [--logs FOLDER]

The folders are those of accuracy.py.  Two models, each of one recording, predict the motion of
both, where it is within the validity ranges of both.  True: RMS of their difference over sqrt 2.
Stated: by the covariances of their files.  Jackknife: by the models without one fifth of each.
Residual: in training, RMS over both.  All in N m, joint by joint.
"""

from itertools import combinations

from accuracy import folders, read, seconds
import numpy as np

import ros_inertial_id as rid
from ros_inertial_id import jackknife
from ros_inertial_id.estimation.r_factors import one_thread
from ros_inertial_id.identification.choose.choice import choose_model
from ros_inertial_id.identification.fit.fitting import cross_validate_consistent
from ros_inertial_id.identification.fit.solution import solve
from ros_inertial_id.identification.judge.validation import Excess
from ros_inertial_id.identification.passes import Passes
from ros_inertial_id.identification.prepare.dataset import read_dataset
from ros_inertial_id.identification.prepare.time_offset import aligned
from ros_inertial_id.identification.reduce.reduction import reduce_data
from ros_inertial_id.identification.reduce.structure import structure_of
from ros_inertial_id.identification.settings import options_class

THIN = 3  # one sample in so many
FEWEST = 10  # samples within the ranges of both that say something


def split(recording):
    """Return both halves of a Recording."""
    cut = seconds(recording, len(next(iter(recording.channels.values())).stamp_ns) // 2)
    return recording.window(0.0, cut), recording.window(cut, None)


def robots(options):
    """Yield (robot, {words: Recording}, path of the URDF)."""
    folder = options.data / 'kuka_lwr4'
    yield 'KUKA LWR4+', {str(k): read(folder, f'measurement_{k}')[0] for k in (1, 2, 3)}, next(
        folder.glob('*.urdf'))
    log, urdf = read(options.data / 'panda', 'excitation')
    yield 'Franka Panda', dict(zip(('first half', 'second'), split(log))), urdf
    if options.logs:
        names = {'30 s': 'harm12', '50 s': 'harm12b', 'point to point': 'ptp'}
        folder = options.logs / 'ur10e'
        yield 'UR10e, currents', {words: read(folder, name)[0] for words, name in names.items()
                                  if (folder / f'{name}.npz').exists()}, read(folder, 'ptp')[1]
        log, urdf = read(options.logs / 'lbr', 'a')
        yield 'LBR Med 7, 100 Hz', dict(zip(('first half', 'second'), split(log))), urdf


class Identified:
    """One recording's model: its rows over any motion, and errors of the torque they predict."""

    def __init__(self, recording, urdf):
        self.model = rid.identify(recording, urdf=urdf).model.identified
        passes = Passes()
        options = options_class(self.model.method)()
        with one_thread():
            data = read_dataset([recording], options, self.model.method, urdf.read_text())
            structure = structure_of(data.method, data.robots,
                                     data.method.parameters(data.robot, options))
            data = aligned(data, structure)
            solution = solve(choose_model(data, reduce_data(data, structure, passes), passes))
            choice, fitted = solution.choice, solution.fitted
            without = cross_validate_consistent(
                choice.data, choice.reduced.folds, fitted.problem, fitted.estimate,
                fitted.inherited) if solution.consistent else fitted.cross_validation
        self.data, self.base = choice.data, choice.reduced.base
        self.moves = jackknife.deviations(np.array(without.params))
        self.motion = [[getattr(state, k)[::THIN] for k in 'qvat']
                       for _, state in self.data.states(training=False)]

    def rows(self, q, v, a, t):
        """Return (N, g, p) rows of all columns, and how far out of range they are (N, g)."""
        method, parameters = self.data.method, self.model.parameters
        state = method.state_of(self.data.robot, q, v, a, t)
        blocks = list(method.regress(state, self.data.robot, parameters))
        W = np.zeros((len(t), len(blocks[0].groups), len(parameters)))
        for k, group in enumerate(blocks[0].groups):
            W[:, k, group.columns] = np.concatenate([block.groups[k].W for block in blocks])
        names = [group.name for group in blocks[0].groups]
        return W, Excess(names, self.model.validity_range)(
            method.validity_range(state, self.data.robot))


def compared(one, other):
    """Return {what: (g,) rms [N m]} of two Identified, and how many samples are in range (g,)."""
    squares, count = dict.fromkeys(('true', 'stated', 'jackknife'), 0.0), 0
    for motion in (*one.motion, *other.motion):
        (W, away), (V, beyond) = one.rows(*motion), other.rows(*motion)
        inside = np.maximum(away, beyond) == 0.0
        difference = W @ one.model.values - V @ other.model.values
        squares['true'] += (inside * difference ** 2).sum(0) / 2.0
        for case, rows in ((one, W), (other, V)):
            B = rows[:, :, case.base.independent]
            variance = np.einsum('ngi,ij,ngj->ng', B, case.model.covariance, B, optimize=True)
            squares['stated'] += (inside * variance).sum(0) / 2.0
            squares['jackknife'] += (inside * ((B @ case.moves.T) ** 2).sum(2)).sum(0) / 2.0
        count = count + inside.sum(0)
    return {what: np.sqrt(total / np.maximum(count, 1)) for what, total in squares.items()}, count


def main():
    """Print the table."""
    options = folders(__doc__.strip().split('\n')[0]).parse_args()
    print('| robot | recordings | samples in range | true | stated | jackknife | residual | '
          'stated / true |\n|---|---|---|---|---|---|---|---|')
    ratios = []
    for robot, recordings, urdf in robots(options):
        cases = {words: Identified(recording, urdf) for words, recording in recordings.items()}
        for (words, one), (others, other) in combinations(cases.items(), 2):
            rms, count = compared(one, other)
            if count.min() < FEWEST:
                print(f'| {robot} | {words}, {others} | {count.min()}: too few | | | | | |')
                continue
            rms['residual'] = np.sqrt(0.5 * sum(np.square(list(
                case.model.statistics['training']['filtered']['rms'].values()))
                for case in (one, other)))
            ratio = rms['stated'] / rms['true']
            ratios.append(ratio)
            cells = [' '.join(f'{x:.3f}' for x in rms[what])
                     for what in ('true', 'stated', 'jackknife', 'residual')]
            print(f"| {robot} | {words}, {others} | {count.min()} | {' | '.join(cells)} | "
                  f'{np.median(ratio):.2f} ({ratio.min():.2f} to {ratio.max():.2f}) |', flush=True)
    ratios = np.concatenate(ratios)
    print(f'stated / true, median of all joints and pairs: {np.median(ratios):.2f}; half of them '
          f'{np.quantile(ratios, 0.25):.2f} to {np.quantile(ratios, 0.75):.2f}')


if __name__ == '__main__':
    main()
