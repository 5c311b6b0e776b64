"""
Random mechanisms: is the structural rank that of an independent regressor?

    python benchmark/random_mechanisms.py [COUNT [FIRST]]

Planar and spatial, one to three loops, revolute joints and slides.  Prints one line each: joints,
degrees of freedom, both ranks and their gaps, CPU time; at the end how many agree.  A mechanism
that random drawing made immobile or singular where it is assembled is none, and is left out.
"""

import os
import pathlib
import sys
import time

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'oracles')]

import mechanisms  # noqa: E402
import numpy as np  # noqa: E402
import pinocchio_loops  # noqa: E402

from ros_inertial_id.errors import InertialIdError  # noqa: E402
from ros_inertial_id.identification.prepare.mounting import structural_base  # noqa: E402
from ros_inertial_id.identification.settings import options_class  # noqa: E402
from ros_inertial_id.methods import METHODS  # noqa: E402

STIFF = 0.02  # smallest singular value of the closures, relative: below it the drawing is singular


def ranks(seed):
    """Return (mechanism or words, ours, theirs), ranks with their gaps."""
    closed_loop, sample = METHODS['closed_loop'], mechanisms.random_mechanism(seed)
    options = options_class('closed_loop')(closures=sample.closures)
    model = pinocchio_loops.Loops(sample.urdf, sample.closures, (), ())
    s = np.linalg.svd(model.gap(model.start)[1], compute_uv=False)
    full = s > 1e-9 * s[0]
    if full.sum() == len(model.names) or s[full][-1] < STIFF * s[0]:
        return 'immobile or singular', None, None
    try:
        robot = closed_loop.build(sample.urdf, options, np.array([0.0, 0.0, -9.81]))
    except InertialIdError as error:
        return f'REFUSED: {error}', None, None
    bodies = [p for p in closed_loop.parameters(robot, None) if not p.law]
    base = structural_base(closed_loop, [robot], bodies)
    start = tuple(f'{n} {x!r}' for n, x in zip(robot.joint_names, map(float, robot.start)))
    loops = pinocchio_loops.Loops(sample.urdf, sample.closures, robot.coordinates, start)
    # Short ways keep to the branch, longer ones show weak directions: the clearer answer counts.
    theirs = max((loops.rank(np.full(len(robot), size)) for size in (0.15, 0.4, 0.6)),
                 key=lambda answer: answer[1])
    return robot, (len(base), base.gap), theirs


def main(count=200, first=0):
    """Print the ranks of ``count`` mechanisms from the seed ``first`` on."""
    agree = differ = refused = 0
    for seed in range(first, first + count):
        before = time.process_time()
        robot, ours, theirs = ranks(seed)
        if ours is None:
            refused += robot.startswith('REFUSED')
            print(seed, robot, flush=True)
            continue
        agree, differ = agree + (ours[0] == theirs[0]), differ + (ours[0] != theirs[0])
        print(f'{seed}: {len(robot.robot)} joints, {len(robot)} free, '
              f'{len(robot.closures)} loops, rank {ours[0]} (gap {ours[1]:.0e}), '
              f'theirs {theirs[0]} (gap {theirs[1]:.0e}), '
              f'{time.process_time() - before:.1f} s'
              f'{"" if ours[0] == theirs[0] else "  <- DIFFERENT"}', flush=True)
    print(f'{agree} agree, {differ} differ, {refused} refused')


if __name__ == '__main__':
    main(*map(int, sys.argv[1:]))
