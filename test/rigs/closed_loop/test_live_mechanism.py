"""What a running rig says becomes the state that its true parameters explain."""

from dataclasses import replace

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.demonstration.simulated_rigs.slider_crank import SliderCrank, TRUE_TORQUE
from ros_inertial_id.demonstration.simulated_rigs.wrist_sensor import TRUE_WRENCH, WristRig
from ros_inertial_id.errors import ConfigError, RecordingError
from ros_inertial_id.identification.settings import load_options
from ros_inertial_id.measurement.recording import Channel
from ros_inertial_id.measurement.summary import Summary
from ros_inertial_id.methods import METHODS

closed_loop = METHODS['closed_loop']
rigid_body = METHODS['rigid_body']

GRAVITY = np.array([0.0, 0.0, -9.81])
BEGIN = 10**18  # [ns] no message is stamped zero
CRANK = {
    'closures': ('point slider_pin rod_end',),
    'independent': ('crank',),
    'start': ('crank 0.5', 'slider 0.3'),
    'velocity': 'differentiated',
    'cutoff': 20.0,
}


def slider_crank(seed=0):
    urdf = mujoco_arm.description('slider_crank')
    return SliderCrank(urdf, seed), urdf


def later(channel, topic):
    return replace(
        channel,
        topic=topic,
        stamp_ns=channel.stamp_ns + BEGIN,
        received_ns=channel.received_ns + BEGIN,
    )


def followed(rig, live, method, robot, columns, steps, change=None):
    """
    Return stamps [s], the rows that the truth predicts, residuals, and {topic: Channels}.

    change : topic -> what is done to its Channels before they are handed on
    """
    values = np.array([rig.truth.get(p.name, 0.0) for p in columns])
    names = {topic.lstrip('/'): topic for topic in live.topics}
    out, said = [], {}
    for step in range(steps):
        for topic, channel in rig.advance().items():
            said.setdefault(topic, []).append(channel)
            if topic in (change or {}):
                channel = change[topic](channel, topic)
            if topic.lstrip('/') in names:
                live.add(later(channel, names[topic.lstrip('/')]))
        taken = live.take() if step % 3 == 2 else None
        if taken is None:
            continue
        stamps, state = taken
        for block in method.regress(state, robot, columns):
            rows = np.stack([g.W @ values[g.columns] for g in block.groups], 1)
            residual = np.stack([g.y for g in block.groups], 1) - rows
            at = [
                np.stack([np.interp(stamps, block.t, x) for x in y.T], 1) for y in (rows, residual)
            ]
            out.append((stamps + (live.origin_ns - BEGIN) * 1e-9, *at))
    return (*(np.concatenate(x) for x in zip(*out)), said)


def true_rows(said, topic, t):
    parts = said[topic]
    stamps = np.concatenate([c.stamp_ns for c in parts]) * 1e-9
    fields = ('effort',) if 'effort' in parts[0].fields else ('force', 'torque')
    values = np.hstack([np.concatenate([c.fields[f] for c in parts]) for f in fields])
    return np.stack([np.interp(t, stamps, x) for x in values.T], 1)


@pytest.mark.parametrize(
    'sensors', [{}, {'torques': ('crank /crank/torque z',)}], ids=('efforts', 'torque topic')
)
def test_crank_torque_is_predicted_from_the_encoder_and(sensors):
    rig, urdf = slider_crank()
    _, options = load_options('', 'closed_loop', {**CRANK, **sensors})
    robot = closed_loop.build(urdf, options, GRAVITY)
    live = closed_loop.source(robot, options, 0.1, Summary())
    columns = closed_loop.parameters(robot, options)
    t, predicted, left, said = followed(rig, live, closed_loop, robot, columns, 200)
    true = true_rows(said, TRUE_TORQUE, t)
    assert np.linalg.norm(predicted - true) < 0.05 * np.linalg.norm(true)
    # The residual is the sensor's noise, 0.01 N m, and what the filter leaves of the motion's.
    assert np.sqrt(np.mean(left**2)) < 0.015
    assert (np.diff(t) > 0).all() and len(t) > 0.9 * 1.8 * 800 and live.gaps == 0


def test_torque_of_a_joint_without_a_motor_is_not_listened_to():
    """A recording may hold it, and the same options serve to predict."""
    sensors = ('crank /crank/torque z', 'slider /slider/force fx')
    _, options = load_options('', 'closed_loop', {**CRANK, 'torques': sensors})
    robot = closed_loop.build(slider_crank()[1], options, GRAVITY)
    topics = closed_loop.source(robot, options, 0.1, Summary()).topics
    assert '/crank/torque' in topics and '/slider/force' not in topics


def test_torque_stamped_late_is_read_late():
    """By 12 ms, as the identification found: without it the crank's acceleration is another's."""

    def late(channel, topic):
        return replace(channel, stamp_ns=channel.stamp_ns + 12_000_000)

    _, options = load_options('', 'closed_loop', {**CRANK, 'torques': ('crank /crank/torque z',)})
    residuals = []
    for found in ({}, {'time_offset': 12e-3}):
        rig, urdf = slider_crank()
        robot = closed_loop.build(urdf, options, GRAVITY)
        live = closed_loop.source(robot, options, 0.1, Summary.of(found))
        columns = closed_loop.parameters(robot, options)
        _, _, left, _ = followed(
            rig, live, closed_loop, robot, columns, 100, {'/crank/torque': late}
        )
        residuals.append(np.sqrt(np.mean(left**2)))
    assert residuals[1] < 0.015 < 0.5 * residuals[0]


def test_markers_are_not_followed_live():
    _, options = load_options('', 'closed_loop', {**CRANK, 'markers': ('/pin rod_link',)})
    urdf = mujoco_arm.description('slider_crank')
    robot = closed_loop.build(urdf, options, GRAVITY)
    with pytest.raises(ConfigError, match='encoders of crank.*found a motion by markers.*--valid'):
        closed_loop.source(robot, options, 0.1, Summary())


def test_wrench_of_a_payload_is_predicted():
    urdf = mujoco_arm.description('franka')
    rig = WristRig(urdf)
    _, options = load_options(
        '',
        'rigid_body',
        {'wrench_frame': WristRig.link, 'cutoff': 15.0, 'velocity': 'differentiated'},
    )
    robot = rigid_body.build(urdf, options, GRAVITY)
    found = {'wrench_topics': ['/wrench'], 'wrench_of': 'on_body', 'topic': '/joint_states'}
    live = rigid_body.source(robot, options, 0.1, Summary.of(found))
    columns = rigid_body.parameters(robot, options)
    t, predicted, _, said = followed(rig, live, rigid_body, robot, columns, 200)
    true = true_rows(said, TRUE_WRENCH, t)
    for part in (slice(0, 3), slice(3, 6)):
        error = np.linalg.norm(predicted[:, part] - true[:, part])
        assert error < 0.01 * np.linalg.norm(true[:, part])


def test_samples_without_stamps_are_refused():
    urdf = mujoco_arm.description('slider_crank')
    _, options = load_options('', 'closed_loop', CRANK)
    live = closed_loop.source(closed_loop.build(urdf, options, GRAVITY), options, 0.1, Summary())
    stamps = np.zeros(3, np.int64)
    with pytest.raises(RecordingError, match='carry no stamps'):
        live.add(
            Channel(
                'joint_states',
                'sensor_msgs/msg/JointState',
                stamps,
                stamps.copy(),
                {'position': np.ones((3, 1))},
                ('crank',),
            )
        )
