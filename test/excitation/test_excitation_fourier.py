"""Fourier motions: rest at the ends, exact derivatives, files."""

import numpy as np
import pytest

from ros_inertial_id.errors import MotionError
from ros_inertial_id.excitation.fourier import (
    FourierMotion,
    motion_from_dict,
    random_motion,
    rest_space,
)
from ros_inertial_id.excitation.motion_files import read_motion

LOWER, UPPER = np.array([-2.0, 0.1, -0.4]), np.array([2.0, 3.0, 0.4])
VELOCITY, ACCELERATION = np.array([2.0, 1.0, 0.5]), np.array([8.0, 1.5, np.inf])


def motion(seed=0, **options):
    rng = np.random.default_rng(seed)
    return random_motion(('a', 'b', 'c'), (LOWER, UPPER, VELOCITY, ACCELERATION), rng, **options)


def test_velocity_and_acceleration_are_derivatives_of_position():
    m, t, h = motion(), np.linspace(0.3, 9.7, 50), 1e-4
    q, v, a = m.at(t)
    before, after = m.at(t - h)[0], m.at(t + h)[0]
    # truncation h^2/6 q''' and rounding eps/h^2, with q''' and q of order 10
    assert np.abs((after - before) / (2 * h) - v).max() < 1e-6
    assert np.abs((after - 2 * q + before) / h**2 - a).max() < 1e-5


@pytest.mark.parametrize('seed', range(5))
def test_random_motion_keeps_its_limits_and_uses_them(seed):
    q, v, a = motion(seed).at(np.linspace(0, 10, 5001))
    assert (q >= LOWER).all() and (q <= UPPER).all()
    use = np.maximum(np.abs(v).max(0) / VELOCITY, np.abs(a).max(0) / ACCELERATION)
    use = np.maximum(use, np.ptp(q, axis=0) / (UPPER - LOWER))
    assert np.abs(use - 0.9).max() < 0.01  # the scale is found on a grid of 200 points


@pytest.mark.parametrize('given, free', [(False, 9), (True, 8)])
def test_rest_space_holds_all_motions_at_rest(given, free):
    direction, space = rest_space(5, given)
    assert space.shape == (11, free)
    x = np.random.default_rng(1).normal(size=free)
    c = 0.7 * direction + space @ x
    m = FourierMotion(('a',), 10.0, c[:1], c[None, 1:6], c[None, 6:])
    q, v, a = m.at([0.0, 10.0])
    assert np.abs(v).max() < 1e-12 and np.abs(a).max() < 1e-12
    if given:
        assert abs(q[0, 0] - 0.7) < 1e-12


@pytest.mark.parametrize(
    'change, words',
    [
        (lambda d: d.pop('period'), 'period'),
        (lambda d: d['joints']['a'].pop('sine'), 'sine'),
        (lambda d: d['joints']['a'].update(sine=[1.0]), 'not a motion'),
        (lambda d: d['joints']['a'].update(offset=float('nan')), 'non-finite'),
        (lambda d: d.update(period=0), 'period above 0'),
    ],
)
def test_broken_motion_is_refused_with_words(change, words):
    content = motion().to_dict()
    change(content)
    with pytest.raises(MotionError, match=words):
        motion_from_dict(content)


@pytest.mark.parametrize('text', ['', '[1, 2', '3', 'motion: [1]'])
def test_file_that_is_no_motion_is_refused(tmp_path, text):
    path = tmp_path / 'm.yaml'
    path.write_text(text)
    with pytest.raises(MotionError, match='m.yaml'):
        read_motion(path)
