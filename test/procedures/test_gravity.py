"""Gravity's direction is found within its stated error; its sign only as far as it is known."""

from dataclasses import replace

import mujoco_arm
import numpy as np
import pytest
from recordings import altered
from scipy.stats import chi2, norm

from ros_inertial_id.errors import ConfigError, EstimationError
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.procedures.gravity import identify_gravity

LAWS = ('viscous', 'coulomb', 'offset')
PENDULUM = """<robot name="pendulum"><link name="base"/>
<link name="gimbal"><inertial><mass value="1"/><origin xyz="0 0 0"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
<link name="bob"><inertial><mass value="2"/><origin xyz="0.3 0 0"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="gimbal"/>
  <origin xyz="0 0 0.45"/><axis xyz="0 0 1"/>
  <limit lower="-3" upper="3" velocity="5" effort="100"/></joint>
<joint name="lift" type="revolute"><parent link="gimbal"/><child link="bob"/>
  <axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="5" effort="100"/></joint>
</robot>"""


def options():
    """Return options with the friction of the simulated arm and an offset."""
    return replace(options_class('serial_arm')(), friction=LAWS, coulomb_width=0.01)


def record(urdf, direction, seed, noise=0.1, speed=1.0, duration=20):
    """Return the Recording of an arm with friction and noise under gravity along a direction."""
    names, rng = mujoco_arm.joints_of(urdf), np.random.default_rng(seed)
    t, q, v, a = mujoco_arm.motion(len(names), duration, 100, seed=seed, speed=speed)
    tau = mujoco_arm.torque(urdf, q, v, a, 9.81 * np.asarray(direction))
    tau += mujoco_arm.friction(v, 0.5) + noise * rng.normal(size=v.shape)
    return mujoco_arm.measured(rng, names, t, q, v, tau)


def squared_error(found, direction):
    """Return how far a GravityEstimate is from a unit vector (3,), in its squared errors."""
    angles = found.tangent.T @ direction  # of less than a degree: sine and angle are one
    return angles @ np.linalg.solve(found.covariance, angles)


def test_direction_is_within_its_interval_in_7_of_8_random_mountings():
    urdf, squares, errors = mujoco_arm.description('arm3'), [], []
    for seed in range(8):
        direction = np.random.default_rng(500 + seed).normal(size=3)
        direction /= np.linalg.norm(direction)
        recording = record(mujoco_arm.true_urdf(urdf, seed), direction, seed)
        found = identify_gravity([recording], options(), urdf=urdf)
        squares.append(squared_error(found, direction))
        errors.append(
            np.degrees(np.arccos(min(1.0, direction @ found.direction))) / found.standard_error_deg
        )
        assert np.linalg.norm(found.gravity_base) == pytest.approx(9.81)
        assert found.standard_error_deg < 0.3
        assert found.sign['decided_by'] == 'nominal' and not found.sign['ambiguous']
    assert np.sum(squares <= chi2(2).ppf(0.95)) >= 7
    assert sum(squares) < chi2(16).ppf(0.995)
    # Not by intervals that are too wide: a typical error is about one standard error.
    assert np.median(errors) > 0.3


def test_errors_of_the_direction_by_free_bodies_are_as_large_as_they_scatter():
    urdf, direction = mujoco_arm.description('arm3'), np.array([0.0, 0.6, -0.8])
    free = replace(options(), unconstrained=True)
    squares = [
        squared_error(
            identify_gravity([record(urdf, direction, seed)], free, urdf=urdf), direction
        )
        for seed in range(8)
    ]
    assert chi2(16).ppf(0.005) < sum(squares) < chi2(16).ppf(0.995)


def test_odds_of_the_sign_are_those_of_first_moments_turned_round_under_the_description():
    """
    Torques of a pendulum on two crossing axes stay where gravity and its first moments turn round.

    So the data say nothing, and the description, which knows the bob's first moment of 0.6 kg m
    to its mass anywhere within a third of the reach, has odds of two Gaussian densities.
    """
    moment, standard_deviation = 2.0 * 0.3, 2.0 * 0.45 / 3.0  # [kg m]
    t, q, v, a = mujoco_arm.motion(2, 20, 100, speed=1.0)
    tau = mujoco_arm.torque(PENDULUM, q, v, a, 9.81 * np.array([0.36, 0.48, -0.8]))
    tau += 0.01 * np.random.default_rng(0).normal(size=tau.shape)
    recording = mujoco_arm.recording(mujoco_arm.joints_of(PENDULUM), t, q, v, tau)
    found = identify_gravity([recording], replace(options(), friction=()), urdf=PENDULUM)
    known = norm(moment, standard_deviation)
    nats = known.logpdf(moment) - known.logpdf(-moment)
    # 0.01 N m of noise: the first moment is known to 0.01 %.
    assert found.sign['evidence_nats']['nominal'] == pytest.approx(nats, rel=0.01)
    assert found.sign['evidence_nats']['data'] == pytest.approx(0.0, abs=1e-6)


def test_the_antipode_is_reported_when_no_prior_is_given():
    urdf = mujoco_arm.description('franka')
    direction = np.array([0.6, 0.0, -0.8])
    found = identify_gravity([record(urdf, direction, 1)], options(), urdf=urdf, prior='none')
    assert found.sign['ambiguous'] and found.sign['decided_by'] == 'data'
    assert found.antipode @ found.direction < -0.9
    assert found.relative_percent[1] > found.relative_percent[0]


def test_slow_motion_weakens_the_evidence_for_the_sign():
    urdf, strength = mujoco_arm.description('franka'), {}
    for speed in (1.0, 0.1):
        recording = record(urdf, (0.0, 0.6, -0.8), 2, speed=speed)
        found = identify_gravity([recording], options(), urdf=urdf, prior='none')
        strength[speed] = abs(found.sign['evidence_nats']['data'])
    assert strength[0.1] < 0.1 * strength[1.0]


def test_a_given_half_space_decides_the_sign_and_says_how_it_fits():
    urdf = mujoco_arm.description('franka')
    direction = np.array([0.0, 0.6, -0.8])
    recording = record(urdf, direction, 3)
    right = identify_gravity([recording], options(), urdf=urdf, prior=(0, 0, -1))
    wrong = identify_gravity([recording], options(), urdf=urdf, prior=(0, 0, 1))
    assert right.direction @ direction > 0.999 and wrong.direction @ direction < -0.9
    assert right.sign['evidence_nats']['data'] > 0.0 > wrong.sign['evidence_nats']['data']
    assert right.sign['evidence_nats']['nominal'] > 0.0 > wrong.sign['evidence_nats']['nominal']


def test_a_wrong_prior_word_is_refused():
    urdf = mujoco_arm.description('arm3')
    with pytest.raises(ConfigError, match="found 'down'.*nominal, none"):
        identify_gravity([record(urdf, (0, 0, -1), 0)], options(), urdf=urdf, prior='down')


def test_torques_that_are_noise_have_no_gravity():
    urdf = mujoco_arm.description('arm3')
    names, rng = mujoco_arm.joints_of(urdf), np.random.default_rng(0)
    t, q, v, a = mujoco_arm.motion(3, 20, 100)
    recording = mujoco_arm.recording(names, t, q, v, rng.normal(size=q.shape))
    with pytest.raises(EstimationError, match='no direction of gravity explains'):
        identify_gravity([recording], options(), urdf=urdf)


@pytest.mark.skipif(not mujoco_arm.DATA.is_dir(), reason='shared/data is not here')
def test_a_real_upright_robot_is_upright():
    urdf = (mujoco_arm.DATA / 'panda' / 'panda.urdf').read_text()
    recording = mujoco_arm.real(
        'panda/excitation.npz', tuple(f'panda_joint{i}' for i in range(1, 8))
    )
    found = identify_gravity([recording], options_class('serial_arm')(), urdf=urdf)
    assert found.direction @ (0, 0, -1) > np.cos(np.radians(1.0))


@pytest.mark.skipif(not mujoco_arm.DATA.is_dir(), reason='shared/data is not here')
def test_the_identification_shows_the_same_direction():
    urdf = (mujoco_arm.DATA / 'kuka_lwr4' / 'kuka_lwr4.urdf').read_text()
    recording = mujoco_arm.real(
        'kuka_lwr4/measurement_1.npz', tuple(f'lwr_{i}_joint' for i in range(7))
    )
    usual = options_class('serial_arm')()
    found = identify_gravity([recording], usual, urdf=urdf)
    mounting = 'gravity ' + ' '.join(repr(float(g)) for g in found.gravity_base)
    model = identify([recording], replace(usual, mounting=mounting), urdf=urdf).model
    shown = [c for c in model.statistics['choices'] if c['what'] == 'gravity direction'][-1]
    # Free bodies near the description's show it, consistent ones found it: two of its errors.
    assert shown['tilt_deg'] < 2.0 * shown['standard_error_deg']


def test_samples_that_checks_mask_do_not_turn_gravity():
    """A glitch of 1 kN m in one message of the second joint pulls its direction by degrees."""
    urdf, direction = mujoco_arm.description('arm3'), np.array([0.0, 0.6, -0.8])
    clean = record(urdf, direction, 1)
    (channel,) = clean.channels.values()
    effort = np.array(channel.fields['effort'])
    effort[len(effort) // 2, 1] += 1e3
    bad = altered(clean, effort=effort)
    found, by_all = (
        identify_gravity([bad], options(), urdf=urdf, keep_all=keep_all).direction
        for keep_all in (False, True)
    )
    expected = identify_gravity([clean], options(), urdf=urdf).direction
    angles = [np.degrees(np.arccos(min(1.0, x @ expected))) for x in (found, by_all)]
    assert angles[0] < 0.05 and angles[1] > 10.0 * angles[0]
