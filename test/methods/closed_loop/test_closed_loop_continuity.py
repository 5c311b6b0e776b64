"""Markers in continuity: occlusion, exchanges and outliers, against the slider-crank by hand."""

from dataclasses import replace

import mujoco_mechanism
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
import slider_crank_lagrangian as oracle

from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.measurement.recording import Channel, Recording
from ros_inertial_id.methods import METHODS
from ros_inertial_id.methods.closed_loop.motion import MOTION, reconstruct

closed_loop = METHODS['closed_loop']
URDF = mujoco_mechanism.description('slider_crank')
CRANK, SLIDER, TAG = '/crank_pin', '/slider_pin', '/rod_tag'
LINES = (f'{CRANK} rod_link', f'{SLIDER} slider_link', f'{TAG} rod_tag pose')
NOISE, TAG_NOISE = 3e-4, 5e-3  # [m], [rad]
OPTIONS = options_class('closed_loop')(
    closures=oracle.CLOSURES, independent=('crank',), start=oracle.START, estimator='ordinary',
    marker_noise=NOISE, tag_noise=TAG_NOISE, markers=LINES[:2], torques=('crank /torque',))
MECHANISM = closed_loop.build(URDF, OPTIONS, (0.0, 0.0, -9.81))
TAG_PLACE = 0.12, 0.01  # [m] along the rod and beside it, from urdf/slider_crank.urdf
UPRIGHT = Rotation.from_euler('x', np.pi / 2)  # the plane of the mechanism in its base
DURATION, RATE = 6.0, 240.0


def truth(t):
    z, rate, second = oracle.lively(t)
    return z + 0.5, rate, second


def places(z):
    """Return topic -> positions (M, 3) by hand, and the rod's angle to the base (M,)."""
    pin = oracle.L1 * np.stack([np.cos(z), np.sin(z), 0.0 * z], axis=1)
    angle = -np.arcsin(oracle.L1 / oracle.L2 * np.sin(z))
    along = np.stack([np.cos(angle), np.sin(angle), 0.0 * z], axis=1)
    out = {CRANK: pin, SLIDER: pin + oracle.L2 * along,
           TAG: pin + TAG_PLACE[0] * along + [0, 0, TAG_PLACE[1]]}
    return {topic: UPRIGHT.apply(p) for topic, p in out.items()}, angle


def recording(seed, seen, wrong=0.0, camera=None):
    """
    Return the Recording of six seconds.

    seen : topic -> (M,) of t (M,) in which it is seen; wrong : share of frames with the two pins
    exchanged, and of readings anywhere; camera : X Y Z ROLL PITCH YAW
    """
    rng, t = np.random.default_rng(seed), np.arange(0.0, DURATION, 1 / RATE)
    points, angle = places(truth(t)[0])
    turn = UPRIGHT * Rotation.from_euler('z', angle[:, None])
    swapped = rng.random(len(t)) < wrong
    points[CRANK][swapped], points[SLIDER][swapped] = (
        points[SLIDER][swapped].copy(), points[CRANK][swapped].copy())
    stamps, channels = np.round(t * 1e9).astype(np.int64), {}
    view = Rotation.from_euler('xyz', (camera or np.zeros(6))[3:]).inv()
    for topic, chosen in seen.items():
        at = points[topic] + NOISE * rng.standard_normal((len(t), 3))
        astray = rng.random(len(t)) < wrong
        at[astray] += rng.uniform(-0.3, 0.3, (int(astray.sum()), 3))
        fields = {'position': view.apply(at - (camera or np.zeros(6))[:3])}
        if topic == TAG:
            noisy = turn * Rotation.from_rotvec(TAG_NOISE * rng.standard_normal((len(t), 3)))
            fields['orientation_xyzw'] = (view * noisy).as_quat()
        kind = 'PoseStamped' if topic == TAG else 'PointStamped'
        kept = chosen(t, rng)
        channels[topic] = Channel(topic, f'geometry_msgs/msg/{kind}', stamps[kept], stamps[kept],
                                  {k: v[kept] for k, v in fields.items()}, ())
    t = np.arange(0.0, DURATION, 1e-3)
    tau = oracle.torque(*truth(t)) + 1e-2 * rng.standard_normal(len(t))
    stamps = np.round(t * 1e9).astype(np.int64)
    channels['/torque'] = Channel('/torque', 'sensor_msgs/msg/JointState', stamps, stamps.copy(),
                                  {'effort': tau[:, None]}, ('crank',))
    return Recording(channels, URDF, 'upright', {'path': 'by hand'})


def always(t, rng):
    return np.ones(len(t), dtype=bool)


def four_of_five(t, rng):
    return rng.random(len(t)) < 0.8


def errors(made, options):
    """Return the errors (M,) of the crank angle [rad], apart from whole turns, and notes."""
    found, notes = reconstruct(made, MECHANISM, options)
    channel = found.channels[MOTION]
    z = channel.fields['position'][:, 0] - truth(channel.stamp_ns * 1e-9)[0]
    return (z + np.pi) % (2 * np.pi) - np.pi, notes


def standard_errors(model):
    found = {entry['name']: entry for entry in model.base}
    return (np.array([found[n]['value'] - oracle.BASE[n] for n in oracle.FOUR]),
            np.array([found[n]['standard_error'] for n in oracle.FOUR]))


def test_occlusion_costs_what_it_hides_and_no_more():
    """With the slider alone a frame fits two crank angles: neighbours say which."""
    whole = identify([recording(0, {CRANK: always, SLIDER: always})], OPTIONS,
                     method='closed_loop').model
    made = recording(0, {CRANK: four_of_five, SLIDER: four_of_five})
    error, notes = errors(made, OPTIONS)
    assert notes['marker_frames_of_another_assembly'] > 50  # 16 % of 1440 show the slider alone
    assert np.abs(error).max() < 6 * notes['marker_deviation']['crank']
    model = identify([made], OPTIONS, method='closed_loop').model
    off, stated = standard_errors(model)
    assert (np.abs(off) < 3.5 * stated).all()
    # A third less information costs a quarter; cutoffs differ a little.
    assert (stated < 1.5 * standard_errors(whole)[1]).all()


def test_nothing_is_said_where_nobody_can_know_the_assembly():
    """The crank hides for 0.2 s, the slider passes the dead centre and back: either way fits."""
    t = np.arange(0.0, DURATION, 1 / RATE)
    dead = t[np.flatnonzero(np.abs(np.sin(truth(t)[0])) < 0.02)]
    middle = dead[np.argmin(np.abs(dead - 0.5 * DURATION))]

    def hidden(t, rng):
        return np.abs(t - middle) > 0.1

    error, notes = errors(recording(1, {CRANK: hidden, SLIDER: always}), OPTIONS)
    assert np.abs(error).max() < 6 * notes['marker_deviation']['crank']
    assert 0 < len(t) - notes['marker_frames'] < 0.25 * RATE  # the rest is there


@pytest.mark.parametrize('camera', [None, (0.8, -1.2, 0.5, 2.2, -0.4, 1.9)])
def test_exchanges_and_outliers_leave_no_trace(camera):
    """A tenth of the frames exchanged, of the readings astray, a fifth unseen, camera unknown."""
    options = replace(OPTIONS, markers=LINES, find_camera=camera is not None)
    made = recording(2, dict.fromkeys((CRANK, SLIDER, TAG), four_of_five), 0.1, camera)
    error, notes = errors(made, options)
    # A pose of the camera from 1440 frames turns the crank by a hundredth of a degree.
    assert np.abs(error).max() < 6 * notes['marker_deviation']['crank']
    assert notes['marker_frames'] > 0.85 * DURATION * RATE
