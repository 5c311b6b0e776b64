"""The camera's pose of a closed loop, found from the markers, on the MuJoCo rig."""

from dataclasses import replace

import numpy as np
import pytest
from recordings import altered
from scipy.spatial.transform import Rotation
import seen_slider_crank as seen
import simulated_rigs
from simulated_rigs import CRANK, SLIDER, TAG
import slider_crank_lagrangian as oracle

from ros_inertial_id.errors import RecordingError
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import prediction_options
from ros_inertial_id.methods import METHODS
from ros_inertial_id.rigs.closed_loop.motion import MOTION, reconstruct

closed_loop = METHODS['closed_loop']

OPTIONS, URDF = simulated_rigs.CRANK_OPTIONS, simulated_rigs.CRANK_URDF
MARKERS = OPTIONS.markers
CAMERA = (0.8, -1.2, 0.5, 2.2, -0.4, 1.9)  # 1.5 m away, turned to no axis
FIND = replace(OPTIONS, find_camera=True)


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


def pose_error(found):
    """Return how far a pose is from CAMERA (6,): shift, and turn about the base's axes."""
    turns = [Rotation.from_euler('xyz', x[3:]) for x in (found, CAMERA)]
    return np.r_[np.array(found[:3]) - CAMERA[:3], (turns[0] * turns[1].inv()).as_rotvec()]


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


def four(model, field):
    found = {entry['name']: entry[field] for entry in model.base}
    return np.array([found[n] for n in oracle.FOUR])


def test_pose_from_anywhere_serves_as_well_as_the_known_one(rig_recording, from_afar):
    known = identify([rig_recording], OPTIONS, method='closed_loop').model
    model = identify([from_afar], FIND, method='closed_loop').model
    notes = model.preprocessing[0]
    error, standard_deviation = pose_error(notes['camera']), notes['camera_standard_error']
    assert (np.abs(error) < 4.0 * np.array(standard_deviation)).all()
    # 0.1 mm, 2400 frames, half a metre of mechanism.
    assert (np.array(standard_deviation) < 6.5e-5).all()
    # Same noise, same motion: what the pose adds is a fraction of a standard error.
    apart = (four(model, 'value') - four(known, 'value')) / four(known, 'standard_error')
    assert (np.abs(apart) < 0.1).all()
    np.testing.assert_allclose(
        four(model, 'standard_error'), four(known, 'standard_error'), rtol=0.02
    )


def test_pose_found_is_what_predictions_use(short):
    model = identify([short], FIND, method='closed_loop').model
    options = prediction_options(model)
    assert options.camera == tuple(model.preprocessing[0]['camera'])
    assert not options.find_camera


def test_a_pose_that_is_roughly_known_is_refined(short, mechanism):
    _, notes = reconstruct(short, mechanism, replace(FIND, camera=tuple(np.array(CAMERA) + 0.05)))
    assert (
        np.abs(pose_error(notes['camera'])) < 4.0 * np.array(notes['camera_standard_error'])
    ).all()


def test_a_pose_that_is_wrongly_known_is_said(short, mechanism):
    with pytest.raises(RecordingError, match='from no place.*leave camera: empty'):
        reconstruct(short, mechanism, replace(FIND, camera=(-1.0, 2.0, 3.0, 0, 1, 2)))


def test_markers_in_one_plane_fit_a_mirrored_camera_too(short, mechanism):
    """Turned half about the slide the mechanism looks the same, its crank turning backwards."""
    flat = replace(FIND, markers=MARKERS[:2])
    with pytest.raises(RecordingError, match='two places of the camera.*tag'):
        reconstruct(short, mechanism, flat)
    _, notes = reconstruct(short, mechanism, replace(flat, camera=tuple(np.array(CAMERA) + 0.02)))
    error = pose_error(notes['camera'])
    assert (np.abs(error) < 4.0 * np.array(notes['camera_standard_error'])).all()


def test_a_turn_that_one_marker_does_not_show_is_named(short, mechanism):
    """A marker on the crank: turn the camera about its axis, y, and the crank turns along."""
    alone = replace(FIND, markers=MARKERS[:1])
    for camera in ((), CAMERA):
        with pytest.raises(RecordingError, match='not determine.*found turn about y, .* open'):
            reconstruct(short, mechanism, replace(alone, camera=camera))


def test_exchanged_markers_fit_from_no_place_of_the_camera(short, mechanism):
    swapped = (f'{SLIDER} rod_link', f'{CRANK} slider_link', MARKERS[2])
    with pytest.raises(RecordingError, match='from no place of the camera.*exchanged'):
        reconstruct(short, mechanism, replace(FIND, markers=swapped))


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
    found, notes = reconstruct(made, closed_loop.build(URDF, options, (0, 0, -9.81)), options)
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
