"""
Accuracy on public recordings, with default options, as the table of doc/accuracy.md.

    python benchmark/accuracy.py --data FOLDER [--bags FOLDER] [--logs FOLDER] [--write]

--data holds kuka_lwr4/ (FloBaRoID) and panda/ (Gaz et al. 2019) as .npz with stamp_s, q, v, tau;
--bags the ROS 2 bags of inverse-dynamics-solver (UNISA, BSD-3) as ur10.db3 and fer.db3 with their
.urdf; --logs ur10/ (their validation_trajectory, one JointTrajectory, as validation.npz), ur10e/
(dynamic_calibration: harm12.npz of 30 s, rows 635 to 3510, ptp.npz of another day, rows 700 to
4200, currents times De Luca's gains) and lbr/ (dynamic_parameter_identification: a.npz, efforts
negated, 100 Hz, halves).  Nothing is fetched.  --write puts the
table into the page.  Plain: viscous and Coulomb friction, offset, rotor inertia by least squares,
the better one of step and smooth sign.  The ratio is to the line that the page has when it starts.
"""

import argparse
from pathlib import Path
import re

import numpy as np

import ros_inertial_id as rid
from ros_inertial_id.identification.identify import validation

PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'accuracy.md'
HEAD = (
    '| recording | training -> validation | filtered [%] | at 10 Hz [%] | raw [%] | plain [%] '
    '| worst joint [%] |ratio|in band [%]|',
    '|---|---|---|---|---|---|---|---|---|',
)
PLAIN = {
    'friction': ['viscous', 'coulomb', 'offset', 'armature'],
    'estimator': 'ordinary',
    'unconstrained': True,
    'mounting': 'upright',
}


def read(folder, name):
    """Return the Recording of a log and the path of its description."""
    urdf = next(folder.glob('*.urdf'))
    return rid.read_log(folder / f'{name}.npz', urdf=urdf), urdf


def row(robot, words, training, checked, urdf):
    """Return a line of the table: identify from recordings and validate on one."""
    result = rid.identify(training, urdf=urdf).model
    model = result.identified
    fit, _ = validation(model, [checked])
    prediction = result.predict(checked)
    held = np.abs(prediction.residual) <= prediction.upper - prediction.torque
    before = written(robot, words)
    ratio = '-'
    if before:
        ratio = f'{filtered_percent(fit) / before:.2f}'
    filtered, raw = fit['filtered'], fit['raw']
    worst = max(filtered['rms'], key=lambda n: filtered['rms'][n] / filtered['measured_rms'][n])
    share = 100.0 * filtered['rms'][worst] / filtered['measured_rms'][worst]
    plain = min(
        _filtered(training, checked, urdf, **PLAIN, **width)
        for width in ({}, {'coulomb_width': 0.0})
    )
    at_10 = fit.get('fixed_cutoff', {}).get('relative_percent')
    line = (
        f'| {robot} | {words} | {filtered["relative_percent"]:.2f} | '
        f'{"-" if at_10 is None else f"{at_10:.2f}"} | {raw["relative_percent"]:.2f} | '
        f'{plain:.2f} | {worst} {share:.1f} |{ratio}|{100.0 * held.mean():.1f}|'
    )
    print(line, flush=True)
    return line


def filtered_percent(fit):
    """Return the relative residual behind the filter of a validation's statistics [%]."""
    return fit['filtered']['relative_percent']


def written(robot, words):
    """Return the relative residual [%] of a line that stands in the page, None without one."""
    line = re.search(
        rf'^\| {re.escape(robot)} \| {re.escape(words)} \| ([0-9.]+)',
        PAGE.read_text(encoding='utf-8'),
        flags=re.M,
    )
    if line is None:
        return None
    return float(line[1])


def _filtered(training, checked, urdf, **options):
    """Return the relative residual of the validation with these options [%]."""
    model = rid.identify(training, urdf=urdf, **options).model.identified
    return filtered_percent(validation(model, [checked])[0])


def seconds(recording, k):
    """Return the time of sample k since the first one [s]."""
    stamps = recording.channels['/joint_states'].stamp_ns
    return float((stamps[k] - stamps[0]) * 1e-9)


def kuka(folder):
    """Yield the pairs of the KUKA LWR4+."""
    logs, urdf = (
        {k: read(folder, f'measurement_{k}')[0] for k in (1, 2, 3)},
        read(folder, 'measurement_1')[1],
    )
    inside = logs[2].window(seconds(logs[2], 550), seconds(logs[2], -50))
    yield 'KUKA LWR4+', '1 -> 2, samples 550 to -50', [logs[1]], inside, urdf
    yield 'KUKA LWR4+', '1 -> 2, all with the transient', [logs[1]], logs[2], urdf
    yield 'KUKA LWR4+', '2 + 3 -> 1, all', [logs[2], logs[3]], logs[1], urdf
    yield 'KUKA LWR4+', '1 + 2 -> 3, all (twice as fast)', [logs[1], logs[2]], logs[3], urdf


def panda(folder):
    """Yield the pair of the Franka Panda."""
    log, urdf = read(folder, 'excitation')
    cut = seconds(log, int(0.6 * len(log.channels['/joint_states'].stamp_ns)))
    yield (
        'Franka Panda',
        'first 60 % -> last 40 %',
        [log.window(0.0, cut)],
        log.window(cut, None),
        urdf,
    )


def each_way(robot, one, two, urdf, words):
    """Yield the pairs of two Recordings, each validated on the other."""
    yield robot, '{} -> {}'.format(*words), [one], two, urdf
    yield robot, '{1} -> {0}'.format(*words), [two], one, urdf


def halves(bag, urdf, robot):
    """Yield the pairs of both halves of a Recording."""
    topic = next(iter(bag.channels.values()))
    cut = float((topic.stamp_ns[len(topic) // 2] - topic.stamp_ns[0]) * 1e-9)
    yield from each_way(
        robot, bag.window(0.0, cut), bag.window(cut, None), urdf, ('first half', 'second')
    )


def bags(folder):
    """Yield the pairs of the ROS 2 bags in a folder."""
    for name, robot in (('ur10', 'UR10, currents'), ('fer', 'Franka FER, 30 Hz')):
        yield from halves(rid.read_bag(folder / f'{name}.db3'), folder / f'{name}.urdf', robot)


def logs(folder, bag):
    """Yield the pairs of the logs in a folder; bag : of the UR10 that has another log."""
    if bag:
        yield from each_way(
            'UR10, currents',
            rid.read_bag(bag),
            *read(folder / 'ur10', 'validation'),
            ('exciting', 'validation'),
        )
    one, urdf = read(folder / 'ur10e', 'harm12')
    yield from each_way(
        'UR10e, currents',
        one,
        read(folder / 'ur10e', 'ptp')[0],
        urdf,
        ('12 harmonics', 'point to point'),
    )
    yield from halves(*read(folder / 'lbr', 'a'), 'LBR Med 7, 100 Hz')


def folders(words):
    """Return a parser of the folders with recordings, with ``words`` about the script."""
    parser = argparse.ArgumentParser(description=words)
    parser.add_argument('--data', type=Path, required=True)
    parser.add_argument('--bags', type=Path)
    parser.add_argument('--logs', type=Path)
    return parser


def pairs(options):
    """Yield (robot, words, training Recordings, validation Recording, path of the URDF)."""
    yield from kuka(options.data / 'kuka_lwr4')
    yield from panda(options.data / 'panda')
    if options.bags:
        yield from bags(options.bags)
    if options.logs:
        yield from logs(options.logs, options.bags and options.bags / 'ur10.db3')


def main():
    """Print the table."""
    parser = folders(__doc__.strip().split('\n')[0])
    parser.add_argument('--write', action='store_true')
    options = parser.parse_args()
    print('\n'.join(HEAD))
    lines = [*HEAD, *(row(*pair) for pair in pairs(options))]
    if options.write:
        text = PAGE.read_text(encoding='utf-8')
        table = '\n'.join(['<!-- table -->', *lines, '<!-- end -->'])
        PAGE.write_text(
            re.sub(r'<!-- table -->.*?<!-- end -->', lambda _: table, text, flags=re.S),
            encoding='utf-8',
        )


if __name__ == '__main__':
    main()
