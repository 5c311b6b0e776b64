"""
The published numbers of the quaternion method (Cheng, Bi, Yuan 2022), by the command line on bags.

    python benchmark/quaternion.py [--seeds 12]

Six cylinders in the paper's motion (2 s, 30 deg/s^2), written by Newton and Euler alone as a bag
of poses and wrenches at 1 kHz, identified by ``inertial-id identify`` with principal unknowns.
The seed turns the base.  exact : all digits, 100 Hz; seven : rounded to seven significant digits,
as printed there, 40 Hz; noise : 0.1 mm and 0.1 mrad, wrenches to 0.1 %.  The largest errors
that the paper prints: 0.0264 (kg, kg m^2) and 0.031 %.
"""

import argparse
import os
import pathlib
import sys

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'oracles')]

from bag_identification import identified_bags  # noqa: E402
from body_recordings import channel  # noqa: E402
import cylinder_chain as chain  # noqa: E402
import numpy as np  # noqa: E402
from scipy.spatial.transform import Rotation  # noqa: E402
import yaml  # noqa: E402

from ros_inertial_id.measurement.recording import Recording  # noqa: E402

RATE, LONGEST = 1000.0, 2.0
BODIES = [f'b{k}' for k in range(1, 7)]
TRUE = np.concatenate([[m, m, m, a, b, b] for m, a, b in zip(chain.MASS, chain.J11, chain.J22)])
NAMES = [f'{n}{k}' for k in range(1, 7) for n in ('mx', 'my', 'mz', 'Ixx', 'Iyy', 'Izz')]
OPTIONS = {
    'unknowns': 'principal', 'sensor_bias': False, 'mass': 1e4, 'size': 1.0, 'mounting': 'upright',
    'gravity_magnitude': chain.GRAVITY, 'wrench_of': 'on_body', 'decimate': 1}
CUTOFF = {'exact': 100.0, 'seven': 40.0, 'noise': 0.0}  # [Hz], 0: chosen


def rounded(x, digits=7):
    """Return x with that many significant digits."""
    size = 10.0 ** (digits - 1 - np.floor(np.log10(np.maximum(np.abs(x), 1e-300))))
    return np.round(x * size) / size


def recording(seed, kind):
    """Return the Recording of the paper's motion, its base turned by a random angle."""
    rng, t = np.random.default_rng(seed), np.arange(0.0, LONGEST, 1.0 / RATE)
    base = Rotation.from_euler('z', rng.uniform(-np.pi, np.pi))
    channels = {}
    for name, (p, q, _, _, _, load) in zip(BODIES, chain.samples(t)):
        p, turn = base.apply(p), base * Rotation.from_quat(q)
        load = np.hstack([base.apply(load[:, :3]), base.apply(load[:, 3:])])
        if kind == 'noise':
            p = p + 1e-4 * rng.standard_normal(p.shape)
            turn = turn * Rotation.from_rotvec(1e-4 * rng.standard_normal(p.shape))
            size = np.repeat(1e-3 * np.sqrt((load.reshape(-1, 2, 3) ** 2).mean((0, 2))), 3)
            load = load + size * rng.standard_normal(load.shape)
        q = turn.as_quat()
        if kind == 'seven':
            p, q, load = rounded(p), rounded(q), rounded(load)
        channels[f'/{name}'] = channel(f'/{name}', 'geometry_msgs/msg/PoseStamped', t, {
            'position': p, 'orientation_xyzw': q})
        channels[f'/f{name}'] = channel(f'/f{name}', 'geometry_msgs/msg/WrenchStamped', t, {
            'force': load[:, :3], 'torque': load[:, 3:]})
    return Recording(channels, '', 'upright', {'path': 'Newton and Euler'})


def description():
    """Return the YAML of the chain, a wrench on both sides of every cylinder."""
    return yaml.safe_dump({
        'bodies': {n: {'pose': f'/{n}'} for n in BODIES},
        'wrenches': {f'/f{n}': {'acts_on': n, 'from': BODIES[k - 1] if k else '', 'axes': 'world',
                                'point': [float(-chain.LENGTH[k] / 2), 0.0, 0.0]}
                     for k, n in enumerate(BODIES)}}, sort_keys=False)


def identified(made, cutoff):
    """Return (values (36,), standard errors) of the command line, NaN where not determined."""
    model, verdict = identified_bags([made], description(), {
        'rigid_body': {**OPTIONS, 'cutoff': cutoff}})
    if model is None:
        raise SystemExit(verdict['reasons'])
    found = {e['name']: e for e in model['base']}
    return np.array([[np.nan if found[n][key] is None else found[n][key] for n in NAMES]
                     for key in ('value', 'standard_error')])


def worst_errors(value):
    """Return the largest errors of values (36,): [kg, kg m^2], and relative [%]."""
    off = np.abs(value - TRUE)
    return np.nanmax(off), 100.0 * np.nanmax(off / TRUE)


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split('\n')[0])
    parser.add_argument('--seeds', type=int, default=12)
    arguments = parser.parse_args()
    for kind in ('exact', 'seven', 'noise'):
        worst, unknown, z = [], set(), []
        for seed in range(arguments.seeds):
            value, error = identified(recording(seed, kind), CUTOFF[kind])
            worst.append(worst_errors(value))
            z.append((value - TRUE) / error)
            unknown |= {n for n, v in zip(NAMES, value) if np.isnan(v)}
        (a, b), (c, d) = np.median(worst, axis=0), np.max(worst, axis=0)
        print(f'{kind}: largest error {a:.3g} and {b:.2g} % (median), {c:.3g} and {d:.2g} %;'
              f' z rms {np.sqrt(np.nanmean(np.square(z))):.2f}; without a number: '
              f'{" ".join(sorted(unknown)) or "none"}', flush=True)


if __name__ == '__main__':
    main()
