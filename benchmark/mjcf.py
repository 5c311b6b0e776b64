"""
Accuracy of mechanisms that are described by their MJCF alone, in MuJoCo's forward dynamics.

    python benchmark/mjcf.py FILE.xml [FILE.xml ...] [--seeds 3] [--base] [--noise 0.005]

Models are not part of this repository: give paths, for example agility_cassie/cassie.xml and
robotiq_2f85/2f85.xml of MuJoCo Menagerie.  A robot of Gepetto/example-parallel-robots is given by
its folder: its URDF with the pairs of its robot.yaml is written as an MJCF first, and that file
alone is read.  Motors follow sums of sines; positions of the independent joints (2e-5 rad of
noise) and torques (0.5 % of their RMS) are sampled at 1 kHz; masses, inertias and the priors of
springs and friction in the description are up to 25 and 60 % off.  Prints rank,
errors in stated errors and the CPU time of every seed.
"""

import argparse
import os
import pathlib
import re
import sys
import tempfile
import time

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'oracles')]

import mjcf_runs  # noqa: E402
import mujoco  # noqa: E402
import numpy as np  # noqa: E402
import yaml  # noqa: E402

from ros_inertial_id.dynamics.mjcf import mjcf_description  # noqa: E402
from ros_inertial_id.dynamics.tree_description import described_blocks  # noqa: E402
from ros_inertial_id.identification.identify import identify  # noqa: E402
from ros_inertial_id.identification.settings import load_options  # noqa: E402


def as_mjcf(folder, out):
    """Write a URDF with the pairs of its robot.yaml as MJCF; return its path."""
    loops = yaml.safe_load((folder / 'robot.yaml').read_text())
    text = (folder / 'robot.urdf').read_text()
    text = text[:text.rfind('</robot>')] + (
        '<mujoco><compiler fusestatic="false" discardvisual="true" balanceinertia="true" '
        'boundmass="1e-6" boundinertia="1e-9"/></mujoco></robot>')
    text = re.sub(r'<(visual|collision)>.*?</\1>', '', text, flags=re.S)
    spec = mujoco.MjSpec.from_string(text)
    for (first, second), kind in zip(loops['closed_loop'], loops['type']):
        ends = []
        for end in (first, second):
            joint = re.search(rf'<joint name="{end}".*?<child link="([^"]+)"', text, re.S)
            ends.append(joint[1] if joint else end)
        made = spec.add_equality(objtype=mujoco.mjtObj.mjOBJ_SITE)
        made.type = (mujoco.mjtEq.mjEQ_WELD if kind == '6d' else mujoco.mjtEq.mjEQ_CONNECT)
        for name, end in zip(('name1', 'name2'), ends):
            spec.body(end).add_site(name=f'{end}_site')
            setattr(made, name, f'{end}_site')
    for name in loops['name_mot']:
        spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    spec.compile()
    path = pathlib.Path(out) / f'{folder.name}.xml'
    path.write_text(spec.to_xml())
    return path


def run(path, seeds, noise, duration, size):
    """Yield (model, errors in stated errors, CPU [s]) of one MJCF, seed by seed."""
    urdf = mjcf_description(path)
    block = described_blocks(urdf)['closed_loop']
    truth = mjcf_runs.truth(urdf, block)
    given = mjcf_runs.nominal(urdf)
    names = list(dict.fromkeys([*block['independent'], *block['actuated']]))
    for seed in range(1, 1 + seeds):
        made = mjcf_runs.recording(path, given, names, block['actuated'], duration, size=size,
                                   noise=(2e-5, noise), seed=seed, start=block.get('start', ()))
        start = time.process_time()
        method, options = load_options(description=given)
        model = identify([made], options, method=method).model
        errors = [(e['value'] - sum(c * truth[n] for n, c in e['grouping'].items()))
                  / e['standard_error'] for e in model.base if e['determined']]
        yield model, np.array(errors), time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('paths', nargs='+', type=pathlib.Path)
    parser.add_argument('--seeds', type=int, default=3)
    parser.add_argument('--noise', type=float, default=0.005)
    parser.add_argument('--seconds', type=float, default=20.0)
    parser.add_argument('--size', type=float, default=0.25)
    parser.add_argument('--base', action='store_true')
    arguments = parser.parse_args()
    for path in arguments.paths:
        with tempfile.TemporaryDirectory() as folder:
            file, each = as_mjcf(path, folder) if path.is_dir() else path, []
            for number, (model, errors, spent) in enumerate(run(
                    file, arguments.seeds, arguments.noise, arguments.seconds, arguments.size)):
                each.append(errors)
                print(f'{path.stem}: rank {model.statistics["rank_in_data"]} of '
                      f'{model.statistics["rank"]}, z rms {np.sqrt((errors ** 2).mean()):.2f} '
                      f'largest {np.abs(errors).max():.2f}, {spent:.1f} s of CPU', flush=True)
                for e in model.base if arguments.base and not number else ():
                    if e['determined']:
                        print(f"  {e['name']:8s} {e['value']:11.5f} +- {e['standard_error']:.5f} "
                              f"{e['unit']:6s} {e['expression']}")
        whole = np.concatenate(each)
        print(f'{path.stem}, {len(each)} seeds: z rms {np.sqrt((whole ** 2).mean()):.2f}, '
              f'largest {np.abs(whole).max():.2f}')


if __name__ == '__main__':
    main()
