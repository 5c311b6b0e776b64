"""What a running rig says becomes the state that its true parameters explain."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

pytest.importorskip('mujoco', reason='the simulated rigs need mujoco')

from ros_inertial_id.errors import ConfigError, RecordingError  # noqa: E402
from ros_inertial_id.identification.settings import load_options  # noqa: E402
from ros_inertial_id.measurement.recording import Channel, joined, Recording  # noqa: E402
from ros_inertial_id.methods import METHODS  # noqa: E402
from ros_inertial_id.rigs.closed_loop.motion import reconstruct  # noqa: E402
from ros_inertial_id.rigs.simulation import slider_crank as rig_of_crank  # noqa: E402
from ros_inertial_id.rigs.simulation.live_rigs import (LiveSliderCrank, LiveWrist,  # noqa: E402
                                                       TRUE_TORQUE, TRUE_WRENCH)

closed_loop = METHODS['closed_loop']
rigid_body = METHODS['rigid_body']

ROOT = Path(__file__).resolve().parents[3]
GRAVITY = np.array([0.0, 0.0, -9.81])
BEGIN = 10 ** 18  # [ns] no message is stamped zero
CRANK = {'closures': ('point slider_pin rod_end',), 'independent': ('crank',),
         'start': ('crank 0.5', 'slider 0.3'), 'velocity': 'differentiated', 'cutoff': 20.0}
MARKERS = {'markers': ('/markers/crank_pin rod_link', '/markers/slider_pin slider_link',
                       '/markers/rod_tag rod_tag pose'), 'marker_noise': 1e-4,
           'tag_noise': 2e-3, 'torques': ('crank /crank/torque z',)}
DELAY = 5e-3  # [s] of the rig's camera
FUSED = {**MARKERS, 'imus': ('/rod/imu rod_imu',)}
IMU = '/rod/imu'


def slider_crank(seed=0):
    urdf = (ROOT / 'urdf' / 'slider_crank.urdf').read_text()
    return LiveSliderCrank(urdf, seed), urdf


class Played:
    """What a rig said, to be replayed again and again."""

    def __init__(self, rig, steps):
        self.truth, self.steps = rig.truth, [rig.advance() for _ in range(steps)]

    def advance(self):
        self._rest = getattr(self, '_rest', None) or list(self.steps)
        return self._rest.pop(0)

    def joined(self, topic):
        return joined([step[topic] for step in self.steps if topic in step])


def exact(seed, steps):
    """Return what a rig Played whose encoder has no noise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rig_of_crank, 'ENCODER_NOISE', 0.0)
        return Played(slider_crank(seed)[0], steps)


def later(channel, topic, drop=None):
    keep = np.ones(len(channel), bool) if drop is None else ~drop(
        channel.stamp_ns * 1e-9, topic)
    return Channel(topic, channel.type, channel.stamp_ns[keep] + BEGIN,
                   channel.received_ns[keep] + BEGIN,
                   {k: v[keep].copy() for k, v in channel.fields.items()}, channel.names)


def followed(rig, live, method, robot, columns, steps, drop=None, note=None):
    """
    Return stamps [s], the rows that the truth predicts, residuals, and {topic: Channels}.

    drop : (stamps, topic) -> which are lost; note : called after every batch with the newest
    stamp of all samples, those of the batch and its state, or with a RecordingError
    """
    values = np.array([rig.truth.get(p.name, 0.0) for p in columns])
    names = {topic.lstrip('/'): topic for topic in live.topics}
    out, said = [], {}
    for step in range(steps):
        for topic, channel in rig.advance().items():
            said.setdefault(topic, []).append(channel)
            if topic.lstrip('/') in names:
                part = later(channel, names[topic.lstrip('/')], drop)
                if len(part):
                    live.add(part)
        try:
            taken = live.take() if step % 3 == 2 else None
        except RecordingError as error:
            note(error)
            continue
        if taken is None:
            continue
        stamps, state = taken
        if note:
            note((step + 1) * 0.01, stamps, state)
        for block in method.regress(state, robot, columns):
            rows = np.stack([g.W @ values[g.columns] for g in block.groups], 1)
            residual = np.stack([g.y for g in block.groups], 1) - rows
            at = [np.stack([np.interp(stamps, block.t, x) for x in y.T], 1)
                  for y in (rows, residual)]
            out.append((stamps + (live.origin_ns - BEGIN) * 1e-9, *at))
    return (*(np.concatenate(x) for x in zip(*out)), said)


def true_rows(said, topic, t):
    parts = said[topic]
    stamps = np.concatenate([c.stamp_ns for c in parts]) * 1e-9
    fields = ('effort',) if 'effort' in parts[0].fields else ('force', 'torque')
    values = np.hstack([np.concatenate([c.fields[f] for c in parts]) for f in fields])
    return np.stack([np.interp(t, stamps, x) for x in values.T], 1)


@pytest.mark.parametrize('sensors, found, delay', [
    ({}, {}, 0.0), (MARKERS, {'torque_clock_offset': -DELAY}, DELAY)],
    ids=('encoder', 'markers'))
def test_crank_torque_is_predicted_from(sensors, found, delay):
    rig, urdf = slider_crank()
    _, options = load_options('', 'closed_loop', {**CRANK, **sensors})
    robot = closed_loop.build(urdf, options, GRAVITY)
    live = closed_loop.source(robot, options, 0.1, found)
    columns = closed_loop.parameters(robot, options)
    t, predicted, left, said = followed(rig, live, closed_loop, robot, columns, 200)
    true = true_rows(said, TRUE_TORQUE, t - delay)
    assert np.linalg.norm(predicted - true) < 0.05 * np.linalg.norm(true)
    # The residual is the sensor's noise, 0.01 N m, and what the filter leaves of the motion's.
    assert np.sqrt(np.mean(left ** 2)) < 0.015
    assert (np.diff(t) > 0).all() and len(t) > 0.9 * 1.8 * 800 and live.gaps == 0


@pytest.fixture(scope='module')
def crank_played():
    """Two seconds of the slider-crank; its encoder is exact, so it is the truth."""
    return exact(3, 200)


@pytest.fixture(scope='module')
def fused_options():
    return load_options('', 'closed_loop', {**CRANK, **FUSED})[1]


@pytest.fixture(scope='module')
def crank(fused_options):
    return closed_loop.build((ROOT / 'urdf' / 'slider_crank.urdf').read_text(), fused_options,
                             GRAVITY)


@pytest.fixture(scope='module')
def found(fused_options, crank):
    """What an identification from another recording says of sensors and motion."""
    rig, urdf = slider_crank(seed=4)
    played = Played(rig, 150)
    channels = {topic: played.joined(topic) for topic in played.steps[-1]}
    _, notes = reconstruct(Recording(channels, urdf, 'upright'), crank, fused_options)
    return {**notes, 'torque_clock_offset': -DELAY}


class Witness:
    """Batches of a fused motion: how late, how wrong (3,), how sure (3, 3), and complaints."""

    def __init__(self, live, played):
        encoder = played.joined('/joint_states')
        self._live = live
        self._truth = CubicSpline(encoder.stamp_ns * 1e-9, encoder.fields['position'][:, 0])
        self.t, self.lag, self.error, self.covariance, self.complaints = [], [], [], [], []

    def __call__(self, now, stamps=None, state=None):
        if stamps is None:
            self.complaints.append(str(now))
            return
        zero = (self._live.origin_ns - BEGIN) * 1e-9
        self.t.append(state.t[-1] + zero)
        self.lag.append(now + DELAY - (stamps[-1] + zero))  # camera stamps are late by DELAY
        true = [self._truth(self.t[-1] - DELAY, nu) for nu in range(3)]
        error = np.array([x[-1, 0] for x in (state.q, state.v, state.a)]) - true
        error[0] -= 2 * np.pi * np.round(error[0] / (2 * np.pi))
        self.error.append(error)
        self.covariance.append(self._live.covariance)


def fused(played, robot, options, found, drop=None):
    """Return relative torque error after 0.3 s, stamps, residuals, LiveMechanism, Witness."""
    live = closed_loop.source(robot, options, 0.1, found)
    witness = Witness(live, played)
    columns = closed_loop.parameters(robot, options)
    t, predicted, left, said = followed(played, live, closed_loop, robot, columns, 200, drop,
                                        witness)
    true = true_rows(said, TRUE_TORQUE, t - DELAY)
    error = np.abs(predicted - true)[:, 0] / np.sqrt((true ** 2).mean())
    return error, t, left, live, witness


def rms(x):
    return float(np.sqrt(np.mean(np.square(x))))


def test_fused_motion_is_at_once_and_better_than_that_of_markers_alone(
        crank_played, crank, fused_options, found):
    error, t, left, live, witness = fused(crank_played, crank, fused_options, found)
    alone = replace(fused_options, imus=())
    late = closed_loop.source(crank, alone, 0.1, found)
    columns = closed_loop.parameters(crank, alone)
    s, predicted, _, said = followed(crank_played, late, closed_loop, crank, columns, 200)
    true = true_rows(said, TRUE_TORQUE, s - DELAY)
    by_markers = rms(predicted - true) / rms(true)
    assert rms(error) < 0.8 * by_markers < 0.05
    assert rms(left) < 0.012  # the torque sensor's noise is 0.01 N m
    # Two periods of the camera: its newest frame, and the tick of the clock that it is past.
    assert np.median(witness.lag) < 2.5 / 800 and max(witness.lag) < 5 / 800
    assert (np.diff(t) > 0).all() and live.gaps == 0 and not witness.complaints
    assert len(t) > 0.98 * (2.0 - 0.065) * 0.99 * 800  # 1 % are dropped, 50 frames warm up


def test_fused_motion_is_as_sure_as_it_says(crank_played, crank, fused_options, found):
    _, _, _, live, witness = fused(crank_played, crank, fused_options, found)
    error, P = np.array(witness.error), np.array(witness.covariance)
    square = np.einsum('ni,ni->n', error, np.linalg.solve(P, error[..., None])[..., 0]) / 3
    # Sixty batches: 1 +- 0.1 for white jerk; a real one is known to a factor, not exactly.
    assert 0.5 < square.mean() < 1.7
    standard_deviation = np.sqrt(np.diagonal(P, axis1=1, axis2=2)).mean(0)
    assert (standard_deviation[:3] < [3e-4, 0.02, 2.0]).all()
    ratio = np.sqrt((error ** 2).mean(0)) / standard_deviation
    assert ((ratio > 0.5) & (ratio < 1.6)).all()
    np.testing.assert_allclose(live.standard_deviation['crank'], np.sqrt(np.diag(P[-1])))


def test_fused_motion_begins_anew_after_a_gap_and_when_time_runs_backwards(
        crank_played, crank, fused_options, found):
    error, t, _, live, _ = fused(crank_played, crank, fused_options, found,
                                 lambda s, _: (s > 0.9) & (s < 1.1))
    assert live.gaps == 1 and rms(error) < 0.02
    assert not ((t > 0.9) & (t < 1.1)).any() and (t > 1.2).sum() > 600
    for channel in crank_played.steps[0].values():  # a bag that begins anew
        for topic in live.topics:
            if topic.lstrip('/') == channel.topic.lstrip('/'):
                live.add(later(channel, topic))
    live.take()
    assert live.gaps == 2


def test_nothing_is_predicted_while_a_marker_topic_is_silent(
        crank_played, crank, fused_options, found):
    """It may be out of sight or late, and what the others say may have two answers."""
    error, t, _, live, witness = fused(
        crank_played, crank, fused_options, found,
        lambda s, topic: (s > 0.8) & (s < 1.5) & (topic == '/markers/slider_pin'))
    assert live.gaps == 0 and not witness.complaints and rms(error) < 0.02
    assert not ((np.array(witness.t) > 0.95) & (np.array(witness.t) < 1.45)).any()
    assert t[-1] > 1.8 and (np.diff(t) < 0.01).all()


def test_silent_imu_is_said_once_and_nothing_is_predicted_until_it_is_back(
        crank_played, crank, fused_options, found):
    error, t, _, live, witness = fused(
        crank_played, crank, fused_options, found,
        lambda s, topic: (s > 1.0) & (s < 1.5) & (topic == IMU))
    assert len(witness.complaints) == 1 and 'rod/imu is silent' in witness.complaints[0]
    assert not ((t > 1.02) & (t < 1.48)).any() and t[-1] > 1.9
    assert rms(error) < 0.02


def test_model_that_does_not_say_how_to_fuse_is_refused(crank, fused_options):
    with pytest.raises(ConfigError, match='identify again'):
        closed_loop.source(crank, fused_options, 0.1, {'cutoff': 20.0})


def test_wrench_of_a_payload_is_predicted():
    urdf = (ROOT / 'urdf' / 'franka.urdf').read_text()
    rig = LiveWrist(urdf)
    _, options = load_options('', 'rigid_body', {
        'wrench_frame': LiveWrist.link, 'cutoff': 15.0, 'velocity': 'differentiated'})
    robot = rigid_body.build(urdf, options, GRAVITY)
    found = {'wrench_topics': ['/wrench'], 'wrench_of': 'on_body', 'topic': '/joint_states'}
    live = rigid_body.source(robot, options, 0.1, found)
    columns = rigid_body.parameters(robot, options)
    t, predicted, _, said = followed(rig, live, rigid_body, robot, columns, 200)
    true = true_rows(said, TRUE_WRENCH, t)
    for part in (slice(0, 3), slice(3, 6)):
        error = np.linalg.norm(predicted[:, part] - true[:, part])
        assert error < 0.01 * np.linalg.norm(true[:, part])


def test_samples_without_stamps_are_refused():
    urdf = (ROOT / 'urdf' / 'slider_crank.urdf').read_text()
    _, options = load_options('', 'closed_loop', CRANK)
    live = closed_loop.source(closed_loop.build(urdf, options, GRAVITY), options, 0.1, {})
    stamps = np.zeros(3, np.int64)
    with pytest.raises(RecordingError, match='carry no stamps'):
        live.add(Channel('joint_states', 'sensor_msgs/msg/JointState', stamps, stamps.copy(),
                         {'position': np.ones((3, 1))}, ('crank',)))
