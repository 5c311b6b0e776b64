"""
The numbers that the papers of the rigs print, and those of ``inertial-id identify`` on bags.

    python benchmark/published.py [--seeds 12] [--write]

Every recording is made by code that shares nothing with the package (slider-crank: its Lagrangian;
quaternion: Newton and Euler), the platform by MuJoCo; it is written as bags and identified by the
command line; the seeds are not those of any other benchmark.
slider-crank : 2 s at 1 kHz, 1e-3 rad, 1e-2 N m, the paper's estimator (least squares), cutoff
    chosen by the data; the seed turns the crank, too.  Errors of I1, m1X1, I2, m2X2 [%]
quaternion : see quaternion.py; largest error [kg, kg m^2] and [%]
static friction : 40 s at 250 Hz, torque noise 2, 0.5 and 0.1 N m, delta 8 s/rad, cutoff chosen by
    the data; the paper's tables are lost, so it is compared with the truth alone
platform : six recordings of 10 s, 0.3 mm; largest error of first moments over the link's mass [mm]
    and of inertias over the link's largest principal one [%], link 0 and link 1
--write puts the table into doc/accuracy.md.  A minute a seed.
"""

import argparse
from dataclasses import replace
import os
import pathlib
import re
import sys

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'oracles')]

from bag_identification import identified_bags  # noqa: E402
import numpy as np  # noqa: E402
import platform_truth as rig  # noqa: E402
import quaternion  # noqa: E402
import slider_crank_lagrangian as crank  # noqa: E402
import static_friction_arm as arm  # noqa: E402
from tolerances import scores  # noqa: E402
import yaml  # noqa: E402

from ros_inertial_id.dynamics.inertial_parameters import SYMBOLS  # noqa: E402

PAGE = ROOT / 'doc' / 'accuracy.md'
FIRST = 500  # seed
URDF = (ROOT / 'urdf' / 'slider_crank.urdf').read_text()
SLIDER_CRANK = {
    'closures': list(crank.CLOSURES),
    'independent': ['crank'],
    'estimator': 'ordinary',
}
HEAD = (
    '| paper | what | published | median | largest | seeds below in all | z rms |',
    '|---|---|---|---|---|---|---|',
)


def base_of(recordings, description, options):
    """Return {base parameter: (value, standard error)} of the command line."""
    model, verdict = identified_bags(recordings, description, options)
    if model is None:
        raise SystemExit(verdict['reasons'])
    return {e['name']: (e['value'], e['standard_error']) for e in model['base']}


def slider_crank(seed, motion):
    """Return (errors (4,) [%], errors of all six in stated ones)."""
    rng, t = np.random.default_rng(seed), np.arange(0.0, 2.0, 1e-3)
    z, rate, second = motion(t)
    z = z + rng.uniform(-np.pi, np.pi)
    tau = crank.torque(z, rate, second) + 1e-2 * rng.standard_normal(t.size)
    start = [f'crank {z[0]:.2f}', f'rod {-z[0]:.2f}', 'slider 0.25']
    made = crank.encoder_recording(t, z + 1e-3 * rng.standard_normal(t.size), tau, URDF)
    found = base_of([made], URDF, {'closed_loop': {**SLIDER_CRANK, 'start': start}})
    return (
        np.array([100.0 * abs(found[n][0] / crank.BASE[n] - 1.0) for n in crank.FOUR]),
        [(found[n][0] - true) / found[n][1] for n, true in crank.BASE.items()],
    )


def six_cylinders(seed, *recorded, **options):
    """Return (largest errors (2,), errors in stated ones) of digits as the paper prints them."""
    value, error = quaternion.identified(
        quaternion.recording(seed, *recorded), *recorded[1:], **options
    )
    z = (value - quaternion.TRUE) / error
    return np.array(quaternion.worst_errors(value)), z[np.isfinite(z)]


def numbered_markers(seed):
    """Return (recordings, description) of the platform, its markers numbered as in a PoseArray."""
    text = yaml.safe_load(rig.description(rig.TWO_LINKS))
    recordings = [
        rig.record(rig.TWO_LINKS, posture, 10.0, 100 * seed + k)
        for k, posture in enumerate(rig.POSTURES)
    ]
    recordings += [
        rig.record(rig.TWO_LINKS, posture, 10.0, 100 * seed + 50 + k, held=False)
        for k, posture in enumerate(rig.LOOSE)
    ]
    labels = recordings[0].channels['/markers'].names
    for body in (text['platform'], text['links']['link1']):
        body['layout'] = {str(labels.index(k)): place for k, place in body['layout'].items()}
    recordings = [
        replace(
            r,
            channels={
                '/markers': replace(
                    r.channels['/markers'], type='geometry_msgs/msg/PoseArray', names=()
                )
            },
        )
        for r in recordings
    ]
    return recordings, yaml.safe_dump(text)


def platform(seed):
    """Return (largest errors (4,): [mm] and [%] of link 0, of link 1, errors in stated ones)."""
    true = {
        f'{s}{k}': x
        for k, link in enumerate(rig.TWO_LINKS[1:])
        for s, x in zip(SYMBOLS, rig.ten(link))
    }
    found = base_of(*numbered_markers(seed), {'suspended_platform': {'mounting': 'upright'}})
    errors, z = [], []
    for k, link in enumerate(rig.TWO_LINKS[1:]):
        first, second = (
            [n + str(k) for n in names.split()]
            for names in ('mcx mcy mcz', 'Ixx Ixy Iyy Ixz Iyz Izz')
        )
        off = {n: found[n][0] - true[n] for n in (*first, *second)}
        x = [true[n] for n in second]
        J = np.array([[x[0], x[1], x[3]], [x[1], x[2], x[4]], [x[3], x[4], x[5]]])
        errors += [
            1e3 * max(abs(off[n]) for n in first) / link.mass,
            100.0 * max(abs(off[n]) for n in second) / np.linalg.eigvalsh(J)[-1],
        ]
        z += [off[n] / found[n][1] for n in off]
    return np.array(errors), z


FRICTION_HEAD = (
    '| estimator | rank | fs [N m] | fcs [N m] | fv [N m s/rad] | delta found | z rms |',
    '|---|---|---|---|---|---|---|',
)
ROWS = {
    ('slider-crank', 'I1, m1X1, I2, m2X2 [%], cycloid'): (
        crank.PAPER_ERRORS,
        lambda seed: slider_crank(seed, crank.cycloid),
    ),
    ('slider-crank', 'the same, 6t + two sines'): (
        crank.PAPER_ERRORS,
        lambda seed: slider_crank(seed, crank.lively),
    ),
    ('quaternion, 6 bodies', 'largest [kg, kg m^2], [%], 100 samples'): (
        (0.0264, 0.031),
        six_cylinders,
    ),
    ('quaternion, 6 bodies', 'the same, poses alone at 1 kHz, cutoff 40 Hz'): (
        (0.0264, 0.031),
        lambda seed: six_cylinders(seed, 1000.0, False, cutoff=40.0),
    ),
    ('suspended platform', 'link 0 [mm], [%], link 1 [mm], [%]'): (
        (0.9, 0.3657, 1.7, 1.5537),
        platform,
    ),
}


def static_friction(estimator, seeds):
    """Return a row of FRICTION_HEAD: rms errors of three joints, and errors in stated ones."""
    off, z, deltas, ranks = {n: [] for n in arm.FRICTION}, [], [], []
    for seed in range(FIRST, FIRST + seeds):
        made, truth = arm.recording(seed, 8.0, np.array([2.0, 0.5, 0.1]), rate=250.0)
        model, verdict = identified_bags(
            [made],
            made.robot_description,
            {'serial_arm': {'friction': list(arm.LAWS), 'estimator': estimator}},
        )
        if model is None:
            raise SystemExit(verdict['reasons'])
        found = {e['name']: e['value'] for e in model['base']}
        for name, true in arm.FRICTION.items():
            off[name].append(np.nan if found[name] is None else found[name] - true)
        z += scores(model['base'], truth).values()
        constants = model['statistics']['nonlinear_parameters']
        deltas += [f'{constants[f"fcs{j}"]["value"]:.2g}' for j in (1, 2, 3)]
        ranks.append(model['statistics']['rank'])
    errors = [
        ' '.join(f'{np.sqrt(np.nanmean(np.square(off[f"{n}{j}"]))):.2g}' for j in (1, 2, 3))
        for n in ('fs', 'fcs', 'fv')
    ]
    return (
        f'| {estimator} | {max(ranks)} | {" | ".join(errors)} | {" ".join(deltas)} | '
        f'{np.sqrt(np.mean(np.square(z))):.2f} |'
    )


def words(values):
    """Return numbers as a cell."""
    return ' '.join(f'{x:.2g}' if x < 0.1 else f'{x:.2f}' for x in values)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.strip().split('\n')[0])
    parser.add_argument('--seeds', type=int, default=12)
    parser.add_argument('--write', action='store_true')
    arguments = parser.parse_args()
    lines = list(HEAD)
    print('\n'.join(lines), flush=True)
    for (paper, what), (published, row) in ROWS.items():
        each = [row(seed) for seed in range(FIRST, FIRST + arguments.seeds)]
        errors, z = np.array([e for e, _ in each]), np.concatenate([z for _, z in each])
        below = int((errors < published).all(1).sum())
        lines.append(
            f'| {paper} | {what} | {words(published)} | {words(np.median(errors, 0))} | '
            f'{words(errors.max(0))} | {below} of {len(each)} | '
            f'{np.sqrt((z**2).mean()):.2f} |'
        )
        print(lines[-1], flush=True)
    friction = [
        *FRICTION_HEAD,
        *(
            static_friction(name, min(3, arguments.seeds))
            for name in ('ordinary', 'weighted', 'ridge')
        ),
    ]
    print('\n'.join(friction))
    if arguments.write:
        text = PAGE.read_text(encoding='utf-8')
        for name, table in (('published', lines), ('static friction', friction)):
            text = re.sub(
                f'<!-- {name} -->.*?<!-- end {name} -->',
                '\n'.join([f'<!-- {name} -->', *table, f'<!-- end {name} -->']),
                text,
                flags=re.S,
            )
        PAGE.write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main()
