"""
Accuracy on public recordings, with default options, as the table of doc/accuracy.md.

    python benchmark/accuracy.py --data FOLDER [--write]

FOLDER holds kuka_lwr4/ (FloBaRoID) and panda/ (Gaz et al. 2019) as .npz with stamp_s, q, v, tau;
nothing is fetched.  --write puts the table into the page.  Half a minute of CPU per line.
"""

import argparse
from pathlib import Path
import re

import ros_inertial_id as rid
from ros_inertial_id.identification.identify import validation

PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'accuracy.md'
HEAD = ('| recording | training -> validation | filtered [%] | raw [%] | worst joint [%] |',
        '|---|---|---|---|---|')


def read(folder, name):
    """Return the Recording of a log and the path of its description."""
    urdf = next(folder.glob('*.urdf'))
    return rid.read_log(folder / f'{name}.npz', urdf=urdf), urdf


def row(robot, words, training, checked, urdf):
    """Return a line of the table: identify from recordings and validate on one."""
    model = rid.identify(training, urdf=urdf).model.identified
    fit, _ = validation(model, [checked])
    filtered, raw = fit['filtered'], fit['raw']
    worst = max(filtered['rms'], key=lambda n: filtered['rms'][n] / filtered['measured_rms'][n])
    share = 100.0 * filtered['rms'][worst] / filtered['measured_rms'][worst]
    line = (f"| {robot} | {words} | {filtered['relative_percent']:.2f} | "
            f"{raw['relative_percent']:.2f} | {worst} {share:.1f} |")
    print(line, flush=True)
    return line


def seconds(recording, k):
    """Return the time of sample k since the first one [s]."""
    stamps = recording.channels['/joint_states'].stamp_ns
    return float((stamps[k] - stamps[0]) * 1e-9)


def kuka(folder):
    """Yield the lines of the KUKA LWR4+."""
    logs, urdf = {k: read(folder, f'measurement_{k}')[0] for k in (1, 2, 3)}, read(
        folder, 'measurement_1')[1]
    inside = logs[2].window(seconds(logs[2], 550), seconds(logs[2], -50))
    yield row('KUKA LWR4+', '1 -> 2, samples 550 to -50', [logs[1]], inside, urdf)
    yield row('KUKA LWR4+', '1 -> 2, all with the transient', [logs[1]], logs[2], urdf)
    yield row('KUKA LWR4+', '2 + 3 -> 1, all', [logs[2], logs[3]], logs[1], urdf)
    yield row('KUKA LWR4+', '1 + 2 -> 3, all (twice as fast)', [logs[1], logs[2]], logs[3], urdf)


def panda(folder):
    """Yield the line of the Franka Panda."""
    log, urdf = read(folder, 'excitation')
    cut = seconds(log, int(0.6 * len(log.channels['/joint_states'].stamp_ns)))
    yield row('Franka Panda', 'first 60 % -> last 40 %', [log.window(0.0, cut)],
              log.window(cut, None), urdf)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.strip().split('\n')[0])
    parser.add_argument('--data', type=Path, required=True)
    parser.add_argument('--write', action='store_true')
    options = parser.parse_args()
    print('\n'.join(HEAD))
    lines = [*HEAD, *kuka(options.data / 'kuka_lwr4'), *panda(options.data / 'panda')]
    if options.write:
        text = PAGE.read_text(encoding='utf-8')
        table = '\n'.join(['<!-- table -->', *lines, '<!-- end -->'])
        PAGE.write_text(re.sub(r'<!-- table -->.*?<!-- end -->', lambda _: table, text,
                               flags=re.S), encoding='utf-8')


if __name__ == '__main__':
    main()
