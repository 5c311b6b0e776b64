"""Markers of a closed loop that a camera sees from elsewhere, on the MuJoCo rig."""

from dataclasses import replace

import numpy as np
import pytest
from recordings import altered
from scipy.spatial.transform import Rotation
import seen_slider_crank as seen
import simulated_rigs
from simulated_rigs import CRANK, SLIDER, TAG

from ros_inertial_id.errors import RecordingError
from ros_inertial_id.methods import METHODS
from ros_inertial_id.rigs.closed_loop.motion import MOTION, reconstruct

closed_loop = METHODS['closed_loop']

OPTIONS, URDF = simulated_rigs.CRANK_OPTIONS, simulated_rigs.CRANK_URDF
CAMERA = (0.8, -1.2, 0.5, 2.2, -0.4, 1.9)  # 1.5 m away, turned to no axis


def seen_from(recording, camera):
    """Return the Recording as a camera at X Y Z ROLL PITCH YAW sees it."""
    turn, place = Rotation.from_euler('xyz', camera[3:]).inv(), np.array(camera[:3])
    for topic in (CRANK, SLIDER, TAG):
        fields = dict(recording.channels[topic].fields)
        fields['position'] = turn.apply(fields['position'] - place)
        if 'orientation_xyzw' in fields:
            fields['orientation_xyzw'] = (
                turn * Rotation.from_quat(fields['orientation_xyzw'])
            ).as_quat()
        recording = altered(recording, topic, **fields)
    return recording


@pytest.fixture(scope='module')
def rig_recording():
    """Three seconds of 0.1 mm markers at 800 Hz, seen along the axes of the base link."""
    return simulated_rigs.slider_crank(3.0, seed=3)


@pytest.fixture(scope='module')
def from_afar(rig_recording):
    return seen_from(rig_recording, CAMERA)


@pytest.fixture(scope='module')
def short(from_afar):
    return from_afar.window(0.6, 2.0)


@pytest.fixture(scope='module')
def mechanism():
    return closed_loop.build(URDF, OPTIONS, (0.0, 0.0, -9.81))


def test_a_camera_whose_pose_is_given_serves_as_the_base_link(rig_recording, from_afar, mechanism):
    _, known, _ = reconstruct(rig_recording, mechanism, OPTIONS)
    _, notes, _ = reconstruct(from_afar, mechanism, replace(OPTIONS, camera=CAMERA))
    assert notes['marker_deviation'] == pytest.approx(known['marker_deviation'], rel=1e-3)
    with pytest.raises(RecordingError, match='does not sit where|do not fit'):
        reconstruct(from_afar.window(0.6, 1.0), mechanism, OPTIONS)


def test_a_marker_that_contradicts_the_others_throughout_is_no_outlier(short, mechanism):
    """As a second camera's by 0.8 mm: followed halfway, it made inertias 11 % wrong."""
    aside = np.array(short.channels[SLIDER].fields['position']) + [0.0, 8e-4, 0.0]
    with pytest.raises(RecordingError, match='do not fit one another.*one camera'):
        reconstruct(
            altered(short, SLIDER, position=aside), mechanism, replace(OPTIONS, camera=CAMERA)
        )


def test_topics_with_stamps_of_their_own_are_interpolated():
    """The crank between two frames of the others, the tag in every eighth frame of its own."""
    parts = [
        seen.recording(seed, {topic: seen.always}, begin=begin / seen.RATE)
        for seed, topic, begin in ((2, seen.SLIDER, 0.0), (3, seen.CRANK, 0.3), (4, seen.TAG, 0.7))
    ]
    made = replace(parts[0], channels={k: c for r in parts for k, c in r.channels.items()})
    made = altered(made, seen.TAG, slice(0, None, 8))
    options = replace(seen.OPTIONS, markers=seen.LINES)
    found, notes, _ = reconstruct(made, closed_loop.build(URDF, options, (0, 0, -9.81)), options)
    channel = found.channels[MOTION]
    error = channel.fields['position'][:, 0] - seen.truth(channel.stamp_ns * 1e-9)[0]
    # A third of a frame at 9 rad/s is 12 mrad: what is not interpolated would be off by that.
    assert abs(error.mean()) < 5 * error.std() / np.sqrt(len(error)) < 1e-3
    assert error.std() == pytest.approx(notes['marker_deviation']['crank'], rel=0.15)
    assert len(error) > 0.99 * seen.RATE * seen.DURATION


def test_a_topic_stamped_late_contradicts_the_others(short, mechanism):
    """Its clock is trusted: 20 ms at half a metre per second are 10 mm."""
    late = altered(short, SLIDER, stamp_ns=short.channels[SLIDER].stamp_ns + 20_300_000)
    with pytest.raises(RecordingError, match='do not fit one another|does not sit where'):
        reconstruct(late, mechanism, replace(OPTIONS, camera=CAMERA))
