"""Live signals: what a running rig says becomes the state that its true parameters explain."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='the simulated rigs need mujoco')

from ros_inertial_id.config import load_options  # noqa: E402
from ros_inertial_id.errors import RecordingError  # noqa: E402
from ros_inertial_id.measurement.live import Window  # noqa: E402
from ros_inertial_id.measurement.recording import Channel  # noqa: E402
from ros_inertial_id.methods import closed_loop, METHODS, rigid_body  # noqa: E402
from ros_inertial_id.simulation.live_rigs import (  # noqa: E402
    LiveSliderCrank, LiveWrist, TRUE_TORQUE, TRUE_WRENCH)

ROOT = Path(__file__).resolve().parents[1]
GRAVITY = np.array([0.0, 0.0, -9.81])
BEGIN = 10 ** 18  # [ns] no message is stamped zero
CRANK = {'closures': ('point slider_pin rod_end',), 'independent': ('crank',),
         'start': ('crank 0.5', 'slider 0.3'), 'velocity': 'differentiated', 'cutoff': 20.0}
MARKERS = {'markers': ('/markers/crank_pin rod_link', '/markers/slider_pin slider_link',
                       '/markers/rod_tag rod_tag pose'), 'marker_noise': 1e-4,
           'tag_noise': 2e-3, 'torques': ('crank /crank/torque z',)}
DELAY = 5e-3  # [s] of the rig's camera


def slider_crank(**options):
    urdf = (ROOT / 'urdf' / 'slider_crank.urdf').read_text()
    rig = LiveSliderCrank(LiveSliderCrank.Options(**options), urdf)
    return rig, urdf


def later(channel, topic, drop=None):
    keep = np.ones(len(channel), bool) if drop is None else ~drop(channel.stamp_ns * 1e-9)
    return Channel(topic, channel.type, channel.stamp_ns[keep] + BEGIN,
                   channel.received_ns[keep] + BEGIN,
                   {k: v[keep].copy() for k, v in channel.fields.items()}, channel.names)


def followed(rig, live, method, robot, columns, steps, drop=None):
    """Return stamps [s], the rows that the truth predicts, residuals, and {topic: Channels}."""
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
        taken = live.take() if step % 3 == 2 else None
        if taken is None:
            continue
        stamps, state = taken
        for block in method.regress(state, robot, columns):
            rows = np.stack([g.W @ values[g.columns] for g in block.groups], 1)
            rest = np.stack([g.y for g in block.groups], 1) - rows
            at = [np.stack([np.interp(stamps, block.t, x) for x in y.T], 1)
                  for y in (rows, rest)]
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
    live = closed_loop.live(robot, options, 0.1, found)
    columns = closed_loop.parameters(robot, options)
    t, predicted, left, said = followed(rig, live, closed_loop, robot, columns, 200)
    true = true_rows(said, TRUE_TORQUE, t - delay)
    assert np.linalg.norm(predicted - true) < 0.05 * np.linalg.norm(true)
    # The residual is the sensor's noise, 0.01 N m, and what the filter leaves of the motion's.
    assert np.sqrt(np.mean(left ** 2)) < 0.015
    assert (np.diff(t) > 0).all() and len(t) > 0.9 * 1.8 * 800 and live.gaps == 0


def test_wrench_of_a_payload_is_predicted():
    urdf = (ROOT / 'urdf' / 'franka.urdf').read_text()
    rig = LiveWrist(LiveWrist.Options(), urdf)
    _, options = load_options('', 'rigid_body', {
        'wrench_frame': LiveWrist.link, 'cutoff': 15.0, 'velocity': 'differentiated'})
    robot = rigid_body.build(urdf, options, GRAVITY)
    found = {'wrench_topics': ['/wrench'], 'wrench_of': 'on_body', 'topic': '/joint_states'}
    live = rigid_body.live(robot, options, 0.1, found)
    columns = rigid_body.parameters(robot, options)
    t, predicted, _, said = followed(rig, live, rigid_body, robot, columns, 200)
    true = true_rows(said, TRUE_WRENCH, t)
    for part in (slice(0, 3), slice(3, 6)):
        error = np.linalg.norm(predicted[:, part] - true[:, part])
        assert error < 0.01 * np.linalg.norm(true[:, part])


def test_camera_that_was_covered_begins_anew_and_says_so():
    rig, urdf = slider_crank()
    _, options = load_options('', 'closed_loop', {**CRANK, **MARKERS})
    robot = closed_loop.build(urdf, options, GRAVITY)
    live = closed_loop.live(robot, options, 0.1, {'torque_clock_offset': -DELAY})
    columns = closed_loop.parameters(robot, options)
    t, predicted, _, said = followed(rig, live, closed_loop, robot, columns, 200,
                                     drop=lambda s: (s > 0.9) & (s < 1.1))
    assert live.gaps == 1
    assert not ((t > 0.9) & (t < 1.1)).any()
    true = true_rows(said, TRUE_TORQUE, t - DELAY)
    assert np.linalg.norm(predicted - true) < 0.05 * np.linalg.norm(true)


def test_window_drops_what_is_stamped_twice_and_begins_anew_after_a_jump():
    window = Window()
    assert window.add(np.array([0.0, 0.1, 0.1, 0.2]), np.arange(4.0)[:, None], 0.5)
    assert window.t.tolist() == [0.0, 0.1, 0.2] and window.rows.ravel().tolist() == [0, 1, 3]
    assert not window.add(np.array([0.3, 2.0, 2.1]), np.arange(3.0)[:, None], 0.5)
    assert window.t.tolist() == [2.0, 2.1]
    assert not window.add(np.array([1.0]), np.ones((1, 1)), 0.5)
    assert window.t.tolist() == [1.0]


def test_samples_without_stamps_are_refused():
    urdf = (ROOT / 'urdf' / 'slider_crank.urdf').read_text()
    _, options = load_options('', 'closed_loop', CRANK)
    live = closed_loop.live(closed_loop.build(urdf, options, GRAVITY), options, 0.1, {})
    stamps = np.zeros(3, np.int64)
    with pytest.raises(RecordingError, match='carry no stamps'):
        live.add(Channel('joint_states', 'sensor_msgs/msg/JointState', stamps, stamps.copy(),
                         {'position': np.ones((3, 1))}, ('crank',)))


def test_methods_without_a_torque_to_predict_offer_nothing_live():
    assert {name for name, method in METHODS.items() if hasattr(method, 'live')} == {
        'serial_arm', 'closed_loop', 'rigid_body'}
