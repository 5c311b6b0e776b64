"""Dead centres and change points: what the guards must say, with closed forms as the truth."""

import re

from machines import GRAVITY, machine, text
import numpy as np
import pytest
import slider_crank_lagrangian as oracle

from ros_inertial_id.errors import RobotModelError
from ros_inertial_id.methods import METHODS
from ros_inertial_id.rigs.dynamics.continuation import Continuation

closed_loop = METHODS['closed_loop']


@pytest.mark.parametrize('step', [0.002, 0.03, 0.2, 0.3, 0.4, 0.5])
def test_passing_a_dead_centre_unseen_is_said_however_coarse_the_samples(step):
    """
    A crank that goes on round, known by its slider alone: it might as well have turned back.

    No sample lies on the dead centre itself, at crank angle zero.
    """
    mechanism = machine(
        'slider_crank', independent=('slider',), start=('crank 0.9', 'rod -1.15', 'slider 0.29')
    )
    for phase in (0.15, 0.35, 0.5, 0.65, 0.85):
        crank = step * (np.arange(max(2, int(0.9 / step)), -3, -1) + phase)
        x = oracle.L1 * np.cos(crank) + np.sqrt(oracle.L2**2 - (oracle.L1 * np.sin(crank)) ** 2)
        with pytest.raises(RobotModelError, match='dead centre|another branch') as caught:
            Continuation(mechanism).follow(x[:, None], -crank)  # the time is minus the crank angle
        stated = float(re.search(r'(?:at|between) (-?[0-9.]+)', str(caught.value)).group(1))
        # Singular is said from 0.15 rad before, a jump with the sample after.
        assert -max(0.15, step) - 1e-4 <= stated <= 1.5 * step


def test_turning_back_before_the_dead_centre_is_followed():
    mechanism = machine(
        'slider_crank', independent=('slider',), start=('crank 0.9', 'rod -1.15', 'slider 0.29')
    )
    for step in (0.01, 0.1, 0.5):
        crank = 0.9 - 0.6 * np.sin(step * np.arange(int(20 / step)))
        x = oracle.L1 * np.cos(crank) + np.sqrt(oracle.L2**2 - (oracle.L1 * np.sin(crank)) ** 2)
        q, _ = Continuation(mechanism).follow(x[:, None])
        np.testing.assert_allclose(q[:, 0], crank, atol=1e-9)


def four_bar(crank, coupler, rocker, side):
    """Return a four-bar on ground 0.3 m, and crank angle -> its rocker's by two circles."""
    lengths = {'0.1': crank, '0.28': coupler, '0.25': rocker}

    def rocker_angle(z):
        tip = crank * np.stack([np.cos(z), np.sin(z)])
        across = np.array([[0.3], [0.0]]) - tip
        far = np.hypot(*across)
        along = (far**2 + coupler**2 - rocker**2) / (2.0 * far)
        height = side * np.sqrt(coupler**2 - along**2)
        end = tip + (along * across + height * np.stack([-across[1], across[0]])) / far
        return np.arctan2(end[1], end[0] - 0.3), np.arctan2(*(end - tip)[::-1]) - z

    urdf = text('four_bar')
    for was, is_ in lengths.items():
        urdf = urdf.replace(f'xyz="{was} 0 0"', f'xyz="{is_!r} 0 0"')
    angles = [float(x[0]) for x in rocker_angle(np.array([1.0]))]
    options = closed_loop.Options(
        closures=('point rocker_pin coupler_end',),
        independent=('crank',),
        start=('crank 1.0', f'rocker {angles[0]}', f'coupler {angles[1]}'),
    )
    return closed_loop.build(urdf, options, GRAVITY), rocker_angle


@pytest.mark.parametrize('step', [0.02, 0.35, 0.6, 1.0])
def test_four_bar_next_to_its_change_point_never_ends_on_the_other_branch(step):
    """
    At the change point (shortest + longest = the other two) both branches meet, crank at pi.

    A little before it the crank still goes round: whatever the steps, either it is followed or
    what is in the way is said.
    """
    rng, followed = np.random.default_rng(1), 0
    for margin in (1e-6, 1e-4, 1.5e-4, 2.5e-4, 1e-3, 5e-3, 0.02):
        mechanism, rocker_angle = four_bar(0.1, 0.28, 0.12 + margin, rng.choice([-1, 1]))
        z = 1.0 + step * np.arange(int(8.0 / step))
        try:
            q, _ = Continuation(mechanism).follow(z[:, None])
        except RobotModelError as error:
            assert any(word in str(error) for word in ('dead centre', 'another branch'))
            continue
        difference = q[:, 2] - rocker_angle(z)[0]
        np.testing.assert_allclose(np.cos(difference), 1.0, atol=1e-9)
        followed += 1
    assert followed >= (2 if step < 1.0 else 0)  # the last two stay well away from it
