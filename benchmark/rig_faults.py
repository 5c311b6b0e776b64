"""
What the command line says of rigs that are not as described, and how true its errors are.

    python benchmark/rig_faults.py [NAME ...] [--seeds 10]

Every case is written as bags by MuJoCo (rigs/simulation), identified by ``inertial-id identify``
and read back from model.yaml: the verdict with its reasons, and errors in standard errors.
platform : right, springs guessed, a mass told 5 % wrong, a marker 15 mm off in the layout, a
rolling shutter of 8 ms per metre, the last two also with ``refine_markers``
wrist : right, a sensor turned by 30 degrees, a mounting tilted by 5 degrees, a wrench 5 ms late
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
import os
import pathlib
import sys

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'oracles')]

from bag_identification import identified_bags  # noqa: E402
from body_recordings import SYMBOLS  # noqa: E402
import numpy as np  # noqa: E402
import platform_truth as rig  # noqa: E402
from scipy.interpolate import CubicSpline  # noqa: E402
from scipy.spatial.transform import Rotation  # noqa: E402
import yaml  # noqa: E402

from ros_inertial_id.rigs.simulation.platform import PlatformOptions, PlatformRig  # noqa: E402
from ros_inertial_id.rigs.simulation.wrist_sensor import WristOptions, WristRig  # noqa: E402

SHUTTER = 8e-3  # [s/m] downwards
FINE = 10  # times the camera's rate, to see markers between frames
JOINTS = tuple(f'fr3_joint{i}' for i in range(1, 8))


def seen(posture, seed, held, shutter=0.0, duration=10.0):
    """Return the Recording of two links on the platform, rows of the image read one by one."""
    if not shutter:
        return rig.record(rig.TWO_LINKS, posture, duration, seed, held)
    fine = PlatformRig(rig.TWO_LINKS, rig.SPRINGS, [None, *posture], held, PlatformOptions(
        seed=seed, rate=120.0 * FINE, marker_noise=0.0)).record(duration + 0.1)
    channel, rng = fine.channels['/markers'], np.random.default_rng(seed)
    t, places = np.arange(len(channel)) / (120.0 * FINE), channel.fields['position']
    frames = np.arange(5, int(120.0 * duration))
    late = shutter * (0.9 - places.mean(0)[:, 2])
    position = np.stack([CubicSpline(t, places[:, k])(frames / 120.0 + late[k])
                         for k in range(places.shape[1])], axis=1)
    position += 3e-4 * rng.standard_normal(position.shape)
    kept = channel.rows(frames * FINE)
    return replace(fine, channels={'/markers': replace(
        kept, fields={**kept.fields, 'position': position})})


def platform(seed, change: Callable[[dict], None] | None = None, shutter=0.0, refine=False):
    """Return (recordings, description, options, truth) of a platform with a change in its YAML."""
    text = yaml.safe_load(rig.description(rig.TWO_LINKS))
    if change:
        change(text)
    recordings = [seen(p, 100 * seed + k, True, shutter) for k, p in enumerate(rig.POSTURES)]
    recordings += [seen(p, 100 * seed + 50 + k, False, shutter) for k, p in enumerate(rig.LOOSE)]
    labels = recordings[0].channels['/markers'].names
    for body in (text['platform'], text['links']['link1']):  # numbered, as in a PoseArray
        body['layout'] = {str(labels.index(k)): place for k, place in body['layout'].items()}
    recordings = [replace(r, channels={'/markers': replace(
        r.channels['/markers'], type='geometry_msgs/msg/PoseArray', names=())})
        for r in recordings]
    known = {f'{s}{k}': v for k, link in enumerate(rig.TWO_LINKS[1:])
             for s, v in zip(SYMBOLS, rig.ten(link))}
    return recordings, yaml.safe_dump(text), {'suspended_platform': {
        'refine_markers': refine, 'mounting': 'upright'}}, known


def stiffer(text):
    K = np.array(text['platform']['stiffness'])
    text['platform']['stiffness'] = (1.1 * K).tolist()


def heavier(text):
    text['mass'] *= 1.05


def misplaced(text):
    place = text['platform']['layout']['p3']
    text['platform']['layout']['p3'] = [x + 0.015 / 3.0 ** 0.5 for x in place]


def wrist(seed, turn=0.0, tilt=0.0, late=0.0):
    """Return (recordings, description, options, truth) of a payload behind a wrist sensor."""
    rng = np.random.default_rng(seed)
    axis = rng.standard_normal(3)
    gravity = Rotation.from_euler('x', tilt, degrees=True).apply([0.0, 0.0, -9.81])
    urdf = (ROOT / 'urdf' / 'franka.urdf').read_text()
    made = WristRig(urdf, JOINTS, 'fr3_flange', WristOptions(seed=seed), gravity)
    recording = made.record(20.0)
    wrench = recording.channels['/wrench']
    sensor = Rotation.from_rotvec(turn * axis / np.linalg.norm(axis), degrees=True)
    shown = replace(wrench, stamp_ns=wrench.stamp_ns + round(1e9 * late), fields={
        k: sensor.inv().apply(np.array(v)) for k, v in wrench.fields.items()})
    known = dict(zip([f'{s}1' for s in SYMBOLS], made.parameters))
    return ([replace(recording, channels={**recording.channels, '/wrench': shown})], urdf,
            {'rigid_body': {'mounting': 'upright'}}, known)


CASES = {
    'platform right': lambda seed: platform(seed),
    'platform springs +10 %': lambda seed: platform(seed, stiffer),
    'platform mass +5 %': lambda seed: platform(seed, heavier),
    'platform marker 15 mm off': lambda seed: platform(seed, misplaced),
    'platform marker 15 mm off, refined': lambda seed: platform(seed, misplaced, refine=True),
    'platform shutter': lambda seed: platform(seed, shutter=SHUTTER),
    'platform shutter, refined': lambda seed: platform(seed, shutter=SHUTTER, refine=True),
    'wrist right': lambda seed: wrist(seed),
    'wrist sensor turned 30 degrees': lambda seed: wrist(seed, turn=30.0),
    'wrist mounting tilted 5 degrees': lambda seed: wrist(seed, tilt=5.0),
    'wrist wrench 5 ms late': lambda seed: wrist(seed, late=5e-3)}


def identified(recordings, text, options, known):
    """Return (errors in standard errors, verdict, reasons) of the command line on bags."""
    model, verdict = identified_bags(recordings, text, options)
    z = [(e['value'] - sum(c * known[n] for n, c in e['grouping'].items())) / e['standard_error']
         for e in (model or {'base': ()})['base'] if e['value'] is not None
         and set(e['grouping']) <= set(known)]
    return np.array(z), verdict['word'], verdict['reasons']


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split('\n')[0])
    parser.add_argument('names', nargs='*', help='beginnings of names of cases; default: all')
    parser.add_argument('--seeds', type=int, default=10)
    arguments = parser.parse_args()
    for name, make in CASES.items():
        if arguments.names and not name.startswith(tuple(arguments.names)):
            continue
        z, words = [], []
        for seed in range(arguments.seeds):
            errors, word, reasons = identified(*make(seed))
            z.append(errors)
            words.append(word)
            if seed == 0:
                print(f'  {word}: {"; ".join(reasons)}', flush=True)
        whole = np.concatenate(z)
        rms = np.sqrt((whole ** 2).mean()) if whole.size else float('nan')
        counts = ', '.join(f'{words.count(w)} {w}' for w in dict.fromkeys(words))
        print(f'{name}: {counts}; z rms {rms:.2f}, largest {np.abs(whole).max(initial=0):.2f}',
              flush=True)


if __name__ == '__main__':
    main()
