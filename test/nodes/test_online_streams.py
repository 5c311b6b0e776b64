"""Learning online outlives what streams do: gaps, topics that come late, bad messages, faults."""

from dataclasses import replace

import arm_recordings
import numpy as np
import pytest

from ros_inertial_id.checks.channel_checks import channel_checks
from ros_inertial_id.errors import RecordingError
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.measurement.recording import joined, Recording
from ros_inertial_id.nodes.online import said_of
from ros_inertial_id.procedures.online import OnlineIdentification
from ros_inertial_id.procedures.stream_watch import StreamWatch

SECONDS = 30.0


@pytest.fixture(scope='module')
def channel():
    """Return the joint states of the moving arm."""
    motion = arm_recordings.random_arm_motion(5)
    return arm_recordings.simulated(motion, SECONDS)[0].channels['/joint_states']


def learn(channels, options):
    """Feed seconds of Channels; return the last estimate and what was waited for, each second."""
    learning = OnlineIdentification(arm_recordings.ARM.read_text(), options)
    origin = min(c.stamp_ns[0] for c in channels)
    estimate, waiting = None, []
    for second in range(int(SECONDS)):
        for part in channels:
            t = (part.stamp_ns - origin) * 1e-9
            rows = np.flatnonzero((t >= second) & (t < second + 1))
            if len(rows):
                try:
                    learning.add(part.rows(rows))
                except RecordingError as error:  # as the node complains of it
                    waiting.append(str(error))
        estimate = learning.estimate() or estimate
        waiting.append(learning.waiting)
    return estimate, waiting


def test_gaps_that_leave_no_stretch_long_enough_are_waited_out(channel):
    t = (channel.stamp_ns - channel.stamp_ns[0]) * 1e-9
    broken = channel.rows(np.flatnonzero((t % 3.0 > 0.2) | (t > 15.0)))
    estimate, waiting = learn([broken], options_class('serial_arm')())
    assert 'without a gap' in ''.join(waiting)
    assert estimate is not None and estimate.seconds > 5.0  # from the whole rest of the motion


def test_positions_that_another_node_repeats_alone_are_a_warning_and_a_spike_is_an_error(channel):
    bare = channel.rows(slice(0, None, 4))
    none = np.full_like(bare.fields['position'], np.nan)
    bare = replace(
        bare,
        stamp_ns=bare.stamp_ns + 10**6,
        fields={'position': bare.fields['position'], 'velocity': none, 'effort': none},
    )
    both = joined([channel, bare])
    both = both.rows(np.argsort(both.stamp_ns))
    assert levels(both) == {'warn'}
    says = [finding.says for finding in channel_checks(Recording({both.topic: both}))]
    assert any('messages carry no velocity of ' in words for words in says)
    effort = both.fields['effort'].copy()
    effort[len(effort) // 2, 0] += 500.0
    assert 'error' in levels(replace(both, fields={**both.fields, 'effort': effort}))


def levels(channel):
    """Return the levels at which an online estimate speaks of the samples of a Channel."""
    watch, levels = StreamWatch(), set()
    for rows in np.array_split(np.arange(len(channel)), 100):
        watch.add(channel.rows(rows))
        levels |= {level for level, words in said_of(watch.findings()) if words}
    return levels


def test_efforts_on_a_topic_that_comes_later_are_waited_for(channel):
    t = (channel.stamp_ns - channel.stamp_ns[0]) * 1e-9
    motion = replace(channel, fields={k: channel.fields[k] for k in ('position', 'velocity')})
    efforts = replace(channel, topic='/efforts', fields={'effort': channel.fields['effort']})
    options = replace(options_class('serial_arm')(), effort_topic='/efforts')
    estimate, waiting = learn([motion, efforts.rows(np.flatnonzero(t > 12.0))], options)
    assert all(waiting[:10])
    assert estimate is not None and sum(b['determined'] for b in estimate.base) >= 5
