"""What could be wrong with gravity, angles and the last body."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .arm import Alternative, Arm, DESCRIPTION, USUAL_LOAD
from .thresholds import LOAD, TURNED, ZERO
from ..identification.choose.choice import LARGEST
from ..identification.prepare.mounting import across_gravity, turned


def encoders(arm: Arm) -> Iterator[Alternative]:
    """Yield the zero of one encoder off."""
    judge = arm.free_bodies(arm.gravity)
    for j in np.flatnonzero(arm.moved).tolist():
        slope = arm.column(arm.rate + 1 + j)
        zero = float(judge.sizes(arm.plain, [slope], 0.1)[0])
        yield Alternative(f'the zero of the position of {arm.names[j]} is about {zero:+.2g} rad '
                          'off', [j], replace(arm.plain, target=arm.measured + zero * slope),
                          small=abs(zero) < ZERO)


def mounting(arm: Arm) -> Iterator[Alternative]:
    """Yield gravity from where the described bodies say it comes, and its opposite."""
    size = float(np.linalg.norm(arm.gravity))
    if not (size and arm.described):
        return
    directions = [-arm.gravity]
    shown = arm.gravity + arm.described_bodies.sizes(
        arm.plain, [-arm.column(arm.pull + k) for k in range(3)], 10.0)
    if np.linalg.norm(shown) > 0.5 * size:
        directions.append(shown * size / np.linalg.norm(shown))
    for gravity in directions:
        better = arm.left_out([replace(arm.plain, gravity=gravity)], DESCRIPTION)[0]
        if (gravity @ arm.gravity > np.cos(TURNED) * size ** 2
                or arm.gap(better, arm.as_recorded[DESCRIPTION])[0] > 0.0):
            continue
        judge = arm.free_bodies(gravity)
        tilt = judge.solve(judge.whole, judge.targets([arm.plain]))[-2:, 0] * judge.prior_sd[-2:]
        if np.linalg.norm(tilt) < LARGEST:
            gravity = size * turned(gravity / size, across_gravity(gravity), tilt)
        angle = np.arccos(np.clip(gravity @ arm.gravity / size ** 2, -1.0, 1.0))
        if angle > TURNED:
            words = ' '.join(f'{x:.2f}' for x in gravity + 0.0)
            yield Alternative(f'the mounting is wrong: gravity is {np.degrees(angle):.0f} degrees '
                              f'off the direction given, along {words}', range(arm.count),
                              replace(arm.plain, gravity=gravity))


def compensated(arm: Arm) -> Iterator[Alternative]:
    """Yield gravity taken off the efforts: all of it, or that of the description."""
    if not (arm.gravity.any() and arm.described):
        return
    yield Alternative('gravity has been taken off the efforts already', range(arm.count),
                      replace(arm.plain, gravity=np.zeros(3)))
    added = arm.measured + sum(g * arm.column(arm.pull + k) for k, g in enumerate(arm.gravity))
    yield Alternative('gravity, as the description has it, has been taken off the efforts already',
                      range(arm.count), replace(arm.plain, target=added))


def payload(arm: Arm) -> Iterator[Alternative]:
    """Yield a load at the last link; a negative mass is none."""
    if arm.described:
        judge = arm.loaded
        x = judge.solve(judge.whole, judge.targets([arm.plain]))[:, 0]
        mass = float(x[-10] * USUAL_LOAD[0])
        if mass > max(LOAD, 0.3 * arm.nominal[-10]):
            yield Alternative(f'the last link carries about {mass:+.2g} kg that the description '
                              'does not have', [arm.count - 1], replace(arm.plain, load=True))
