"""Live signals: what a running rig says becomes the state that its true parameters explain."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='the simulated rigs need mujoco')

from ros_inertial_id.errors import RecordingError  # noqa: E402
from ros_inertial_id.identification.settings import load_options  # noqa: E402
from ros_inertial_id.measurement.live import carried, Window  # noqa: E402
from ros_inertial_id.measurement.recording import Channel, joined  # noqa: E402
from ros_inertial_id.methods import METHODS  # noqa: E402
from ros_inertial_id.rigs.simulation.live_rigs import (LiveSliderCrank, LiveWrist,  # noqa: E402
                                                       TRUE_TORQUE, TRUE_WRENCH)

closed_loop = METHODS['closed_loop']
rigid_body = METHODS['rigid_body']

ROOT = Path(__file__).resolve().parents[2]
GRAVITY = np.array([0.0, 0.0, -9.81])
BEGIN = 10 ** 18  # [ns] no message is stamped zero
CRANK = {'closures': ('point slider_pin rod_end',), 'independent': ('crank',),
         'start': ('crank 0.5', 'slider 0.3'), 'velocity': 'differentiated', 'cutoff': 20.0}
MARKERS = {'markers': ('/markers/crank_pin rod_link', '/markers/slider_pin slider_link',
                       '/markers/rod_tag rod_tag pose'), 'marker_noise': 1e-4,
           'tag_noise': 2e-3, 'torques': ('crank /crank/torque z',)}
DELAY = 5e-3  # [s] of the rig's camera
FOUND = {'torque_clock_offset': -DELAY}


def slider_crank(seed=0):
    urdf = (ROOT / 'urdf' / 'slider_crank.urdf').read_text()
    rig = LiveSliderCrank(urdf, seed)
    return rig, urdf


class Played:
    """What a rig said, to be replayed again and again."""

    def __init__(self, rig, steps):
        self.truth, self.steps = rig.truth, [rig.advance() for _ in range(steps)]

    def advance(self):
        self._rest = getattr(self, '_rest', None) or list(self.steps)
        return self._rest.pop(0)

    def joined(self, topic):
        return joined([step[topic] for step in self.steps if topic in step])


def later(channel, topic, drop=None):
    keep = np.ones(len(channel), bool) if drop is None else ~drop(
        channel.stamp_ns * 1e-9, topic)
    return Channel(topic, channel.type, channel.stamp_ns[keep] + BEGIN,
                   channel.received_ns[keep] + BEGIN,
                   {k: v[keep].copy() for k, v in channel.fields.items()}, channel.names)


def followed(rig, live, method, robot, columns, steps, drop=None):
    """
    Return stamps [s], the rows that the truth predicts, residuals, and {topic: Channels}.

    drop : (stamps, topic) -> which are lost
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
        taken = live.take() if step % 3 == 2 else None
        if taken is None:
            continue
        stamps, state = taken
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
    ({}, {}, 0.0), (MARKERS, FOUND, DELAY)],
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


@pytest.fixture(scope='module')
def crank_played():
    """Two seconds of the slider-crank."""
    return Played(slider_crank(seed=3)[0], 200)


@pytest.fixture(scope='module')
def seen_options():
    return load_options('', 'closed_loop', {**CRANK, **MARKERS})[1]


@pytest.fixture(scope='module')
def crank(seen_options):
    return closed_loop.build((ROOT / 'urdf' / 'slider_crank.urdf').read_text(), seen_options,
                             GRAVITY)


def rms(x):
    return float(np.sqrt(np.mean(np.square(x))))


def held_back(played, topic, seconds, every):
    """Return {topic: Channel} of each step, those of a ``topic`` late for the n-th batch of 50 ms.

    seconds : that they are late by, of their stamps, just when a batch is taken
    """
    steps, waiting = [], []
    for k, step in enumerate(played.steps):
        step = dict(step)
        batch, place = divmod(k, 5)
        late = batch % every == every - 1 and place >= 5 - round(seconds / 0.01)
        if late:
            waiting.append(step.pop(topic))
        elif waiting:
            parts, waiting = [*waiting, step[topic]], []
            step[topic] = joined(parts)
        steps.append(step)
    return steps


def torque_error(steps, played, crank, seen_options):
    """Return (t [s], error of the torque, its true values, LiveMechanism) of steps of 10 ms."""
    live = closed_loop.live(crank, seen_options, 0.1, FOUND)
    columns = closed_loop.parameters(crank, seen_options)
    values = np.array([played.truth.get(p.name, 0.0) for p in columns])
    names, out = {t.lstrip('/'): t for t in live.topics}, []
    for k, step in enumerate(steps):
        for name, channel in step.items():
            if name.lstrip('/') in names:
                live.add(later(channel, names[name.lstrip('/')]))
        taken = live.take() if k % 5 == 4 else None
        if taken is not None:
            (block,) = closed_loop.regress(taken[1], crank, columns)
            (group,) = block.groups
            out.append((taken[0], np.interp(taken[0], block.t, group.W @ values[group.columns])))
    t, predicted = (np.concatenate(x) for x in zip(*out))
    t = t + (live.origin_ns - BEGIN) * 1e-9
    said = {TRUE_TORQUE: [played.joined(TRUE_TORQUE)]}
    true = true_rows(said, TRUE_TORQUE, t - DELAY)[:, 0]
    return t, predicted - true, true, live


@pytest.mark.parametrize('topic', ['/markers/slider_pin', '/crank/torque'])
@pytest.mark.parametrize('every', [1, 4])
def test_topic_that_comes_later_than_the_others_is_waited_for(topic, every, crank_played, crank,
                                                              seen_options):
    """A reader that is held up between two topics finds the one 40 ms older than the other."""
    t, error, true, live = torque_error(held_back(crank_played, topic, 0.04, every), crank_played,
                                        crank, seen_options)
    assert rms(error) < 0.03 * rms(true)  # 1.3 % in time
    assert live.gaps == 0 and len(t) > 0.9 * (2.0 - 0.2) * 0.99 * 800


@pytest.mark.parametrize('late', [('/markers/crank_pin', '/markers/rod_tag'),
                                  ('/markers/slider_pin',)])
def test_markers_that_come_far_too_late_are_waited_for_too(late, crank_played, crank,
                                                           seen_options):
    """The middleware sends them again 0.6 s later; a slider alone leaves the posture open."""
    steps, held = [dict(step) for step in crank_played.steps], {topic: [] for topic in late}
    for step in steps[80:140]:
        for topic in late:
            held[topic].append(step.pop(topic))
    for topic in late:
        steps[140][topic] = joined([*held[topic], steps[140][topic]])
    t, error, true, live = torque_error(steps, crank_played, crank, seen_options)
    assert np.abs(error).max() < 0.1 * rms(true)
    assert live.gaps == 0 and (np.diff(t) < 0.01).all()


def test_nothing_is_predicted_while_a_marker_topic_is_silent(crank_played, crank, seen_options):
    """It may be out of sight or late, and what the others say may have two answers."""
    live, silent, when = closed_loop.live(crank, seen_options, 0.1, FOUND), range(80, 150), []
    names = {t.lstrip('/'): t for t in live.topics}
    for k, step in enumerate(crank_played.steps):
        for name, channel in step.items():
            if name.lstrip('/') in names and not (name == '/markers/slider_pin' and k in silent):
                live.add(later(channel, names[name.lstrip('/')]))
        if live.take() is not None:
            when.append(k)
    assert not set(when) & set(range(85, 145)) and when[-1] > 190
    assert live.gaps == 0


def test_a_marker_that_is_never_seen_is_said_and_fills_no_memory(crank_played, crank,
                                                                 seen_options):
    """Its topic goes on, with nothing at that place, while the others are kept for it."""
    live = closed_loop.live(crank, seen_options, 0.1, FOUND)
    camera, complaints = live._camera, []
    for k, step in enumerate(crank_played.steps * 6):
        for channel in step.values():
            if 'markers' in channel.topic:
                channel = later(channel, channel.topic)
                blind = channel.topic.endswith('slider_pin')
                stamps = channel.stamp_ns + round(2e9 * (k // len(crank_played.steps)))
                fields = {name: np.full_like(x, np.nan) if blind else x
                          for name, x in channel.fields.items()}
                live.add(replace(channel, stamp_ns=stamps, fields=fields))
        try:
            live.take()
        except RecordingError as error:
            complaints.append(str(error))
    assert complaints and 'nothing of /markers/slider_pin slider_link for 5 s' in complaints[0]
    assert sum(len(m.t) for parts in camera._seen.values() for m in parts) < 2 * 5.2 * 800


def test_marker_topic_with_a_clock_of_its_own_is_followed(crank, seen_options):
    played = Played(slider_crank(seed=6)[0], 100)
    tag, late = '/markers/rod_tag', 7_300_000  # [ns], no whole number of periods
    for step in played.steps:
        c = step[tag]
        step[tag] = Channel(tag, c.type, c.stamp_ns + late, c.received_ns.copy(), c.fields, ())
    live = closed_loop.live(crank, seen_options, 0.1,
                            {**FOUND, 'marker_clock_offset': {tag: late * 1e-9}})
    columns = closed_loop.parameters(crank, seen_options)
    t, predicted, _, said = followed(played, live, closed_loop, crank, columns, 100)
    true = true_rows(said, TRUE_TORQUE, t - DELAY)
    assert live.gaps == 0 and len(t) > 550
    assert rms(predicted - true) < 0.03 * rms(true)


def test_wrench_of_a_payload_is_predicted():
    urdf = (ROOT / 'urdf' / 'franka.urdf').read_text()
    rig = LiveWrist(urdf)
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
                                     drop=lambda s, _: (s > 0.9) & (s < 1.1))
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
    assert {name for name, method in METHODS.items() if method.predicts_live} == {
        'serial_arm', 'closed_loop', 'rigid_body'}


def test_joints_are_found_by_name_whatever_their_order_in_the_message():
    stamps = np.arange(3)
    channel = Channel('/joint_states', 'sensor_msgs/msg/JointState', stamps, stamps, {
        'position': np.array([[3.0, 1.0, 9.0], [np.nan] * 3, [30.0, 10.0, 90.0]])},
        ('elbow', 'shoulder', 'finger'))
    rows, values = carried(channel, ('shoulder', 'elbow'), ('position', 'velocity'))
    np.testing.assert_array_equal(rows, [0, 2])
    np.testing.assert_array_equal(values['position'], [[1.0, 3.0], [10.0, 30.0]])
    assert np.isnan(values['velocity']).all()
