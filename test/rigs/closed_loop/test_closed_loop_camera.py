"""Camera pose and marker clocks of a closed loop, found from the markers, on the MuJoCo rig."""

from dataclasses import replace

import mujoco_mechanism
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
import seen_slider_crank as seen
import slider_crank_lagrangian as oracle

from ros_inertial_id.errors import InertialIdError, RecordingError
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class, prediction_options
from ros_inertial_id.measurement.recording import Channel
from ros_inertial_id.methods import METHODS
from ros_inertial_id.rigs.closed_loop.motion import common_errors, MOTION, reconstruct
from ros_inertial_id.rigs.simulation.slider_crank import record, RigOptions, SliderCrankRig

closed_loop = METHODS['closed_loop']

URDF = mujoco_mechanism.description('slider_crank')
CRANK, SLIDER, TAG = '/markers/crank_pin', '/markers/slider_pin', '/markers/rod_tag'
MARKERS = (f'{CRANK} rod_link', f'{SLIDER} slider_link', f'{TAG} rod_tag pose')
OPTIONS = options_class('closed_loop')(
    closures=oracle.CLOSURES, independent=('crank',), start=oracle.START, estimator='ordinary',
    markers=MARKERS, marker_noise=1e-4, tag_noise=2e-3, torques=('crank /crank/torque z',))
CAMERA = (0.8, -1.2, 0.5, 2.2, -0.4, 1.9)  # 1.5 m away, turned to no axis
FIND = replace(OPTIONS, find_camera=True)


def changed(recording, topic, rows=slice(None), late=0.0, **fields):
    """Return the Recording with other rows, stamps and fields of one channel."""
    channel = recording.channels[topic]
    stamps = (channel.stamp_ns + int(round(late * 1e9)))[rows].copy()
    fields = {k: np.array(v)[rows] for k, v in {**channel.fields, **fields}.items()}
    channel = Channel(topic, channel.type, stamps, stamps.copy(), fields, channel.names)
    return replace(recording, channels={**recording.channels, topic: channel})


def seen_from(recording, camera):
    """Return the Recording as a camera at X Y Z ROLL PITCH YAW sees it."""
    turn, place = Rotation.from_euler('xyz', camera[3:]).inv(), np.array(camera[:3])
    for topic in (CRANK, SLIDER, TAG):
        fields = dict(recording.channels[topic].fields)
        fields['position'] = turn.apply(fields['position'] - place)
        if 'orientation_xyzw' in fields:
            fields['orientation_xyzw'] = (
                turn * Rotation.from_quat(fields['orientation_xyzw'])).as_quat()
        recording = changed(recording, topic, **fields)
    return recording


def pose_error(found, camera):
    """Return the difference (6,) of two poses, angles within half a turn."""
    error = np.array(found) - camera
    error[3:] = (error[3:] + np.pi) % (2 * np.pi) - np.pi
    return error


@pytest.fixture(scope='module')
def rig_recording():
    """Five seconds of 0.1 mm markers at 800 Hz, seen along the axes of the base link."""
    return record(SliderCrankRig(URDF, RigOptions(seed=3, mass_change=0.0)), 5.0)


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
    error, standard_deviation = pose_error(notes['camera'], CAMERA), notes['camera_standard_error']
    assert (np.abs(error) < 4.0 * np.array(standard_deviation)).all()
    # 0.1 mm, 4000 frames, half a metre of mechanism.
    assert (np.array(standard_deviation) < 5e-5).all()
    assert notes['camera_not_determined'] == []
    # Same noise, same motion: what the pose adds is a fraction of a standard error.
    apart = (four(model, 'value') - four(known, 'value')) / four(known, 'standard_error')
    assert (np.abs(apart) < 0.1).all()
    np.testing.assert_allclose(four(model, 'standard_error'), four(known, 'standard_error'),
                               rtol=0.02)


def test_pose_found_is_what_predictions_use(short):
    model = identify([short], FIND, method='closed_loop').model
    options = prediction_options(model)
    assert options.camera == tuple(model.preprocessing[0]['camera'])
    assert not options.find_camera


@pytest.mark.parametrize('camera', [tuple(np.array(CAMERA) + 0.05), (-1.0, 2.0, 3.0, 0, 1, 2)])
def test_a_pose_that_is_roughly_or_wrongly_known_is_refined(short, mechanism, camera):
    _, notes = reconstruct(short, mechanism, replace(FIND, camera=camera))
    error = pose_error(notes['camera'], CAMERA)
    assert (np.abs(error) < 4.0 * np.array(notes['camera_standard_error'])).all()


def test_markers_in_one_plane_fit_a_mirrored_camera_too(short, mechanism):
    """Turned half about the slide the mechanism looks the same, its crank turning backwards."""
    flat = replace(FIND, markers=MARKERS[:2])
    with pytest.raises(RecordingError, match='two places of the camera.*tag'):
        reconstruct(short, mechanism, flat)
    _, notes = reconstruct(short, mechanism, replace(
        flat, camera=tuple(np.array(CAMERA) + 0.02)))
    error = pose_error(notes['camera'], CAMERA)
    assert (np.abs(error) < 4.0 * np.array(notes['camera_standard_error'])).all()


def test_a_turn_that_one_marker_does_not_show_gets_no_number(short, mechanism):
    """A marker on the crank alone: turn the camera about its axis and the crank turns along."""
    alone = replace(FIND, markers=MARKERS[:1])
    with pytest.raises(RecordingError, match='do not determine the pose of the.*a turn about'):
        reconstruct(short, mechanism, alone)
    given = np.array(CAMERA) + (0.0, 0.004, 0.0, 0.0, 0.0, 0.0)
    _, notes = reconstruct(short, mechanism, replace(alone, camera=tuple(given)))
    words, = notes['camera_not_determined']
    assert words.startswith('a turn about the axis')
    x, y, z, *angles = notes['camera_standard_error']
    assert angles == [None] * 3 and x is z is None
    assert y < 1e-4  # along the axis of the crank it is known
    assert notes['camera'][1] == pytest.approx(CAMERA[1], abs=4 * y)


def test_exchanged_markers_are_named_wherever_the_camera_stands(short, mechanism):
    swapped = (f'{SLIDER} rod_link', f'{CRANK} slider_link', MARKERS[2])
    with pytest.raises(RecordingError, match='crank_pin.*exchanged'):
        reconstruct(short, mechanism, replace(FIND, markers=swapped))


def test_a_marker_that_contradicts_the_others_throughout_is_no_outlier(short, mechanism):
    """As a second camera's by 0.8 mm: followed halfway, it made inertias 11 % wrong."""
    aside = np.array(short.channels[SLIDER].fields['position']) + [0.0, 8e-4, 0.0]
    with pytest.raises(RecordingError, match='do not fit one another.*two cameras'):
        reconstruct(changed(short, SLIDER, position=aside), mechanism,
                    replace(OPTIONS, camera=CAMERA))


def test_every_marker_topic_has_its_own_clock(short, mechanism):
    """A second camera 7.3 ms late, a tag detector at 30 Hz and 12.4 ms early."""
    late = changed(changed(short, SLIDER, late=7.3e-3), TAG, slice(5, None, 27), late=-12.4e-3)
    known = replace(OPTIONS, camera=CAMERA)
    seen, notes = reconstruct(late, mechanism, known)
    offset, error = notes['marker_clock_offset'], notes['marker_clock_offset_error']
    assert offset[SLIDER] == pytest.approx(7.3e-3, abs=4 * error[SLIDER])
    assert offset[TAG] == pytest.approx(-12.4e-3, abs=4 * error[TAG])
    assert error[SLIDER] < 2e-5 and error[TAG] < 1e-4  # 0.1 mm at 1 m/s, 1000 or 40 times
    exact, as_one = reconstruct(short, mechanism, known)
    assert 'marker_clock_offset' not in as_one
    z, there = (r.channels[MOTION] for r in (seen, exact))
    apart = z.fields['position'][:, 0] - np.interp(z.stamp_ns, there.stamp_ns,
                                                   there.fields['position'][:, 0])
    # The tag is missing in most frames: a little more noise, and no offset.
    assert abs(apart.mean()) < 1e-4 and apart.std() < as_one['marker_deviation']['crank']


def test_camera_and_clock_are_found_together(short, mechanism):
    late = changed(short, SLIDER, late=-33.1e-3)
    _, notes = reconstruct(late, mechanism, FIND)
    error = pose_error(notes['camera'], CAMERA)
    assert (np.abs(error) < 4.0 * np.array(notes['camera_standard_error'])).all()
    assert notes['marker_clock_offset'][SLIDER] == pytest.approx(
        -33.1e-3, abs=4 * notes['marker_clock_offset_error'][SLIDER])


@pytest.mark.parametrize('late', [0.08, 0.0801])  # of whole frame periods or not
def test_marker_clocks_too_far_apart_are_said(short, mechanism, late):
    known = replace(OPTIONS, camera=CAMERA)
    with pytest.raises(RecordingError, match='not on one clock.*slider_pin.*largest_clock'):
        reconstruct(changed(short, SLIDER, late=late), mechanism, known)


ONE, TWO = CAMERA, (-0.9, -0.7, 0.8, 1.1, 0.6, -2.4)
BOTH = replace(seen.OPTIONS, markers=seen.LINES, camera=ONE, cameras=(seen.CRANK,))


@pytest.fixture(scope='module')
def of_two():
    """The slider and a tag from one place, the crank's pin from another, late."""
    return seen.of_two_cameras(
        0, ONE, TWO, {seen.CRANK: seen.always}, 12.3e-3,
        seen=dict.fromkeys((seen.SLIDER, seen.TAG), seen.always)).window(0.0, 1.2)


@pytest.mark.parametrize('find', [True, False])
def test_two_cameras_are_found_together(of_two, find):
    options = replace(BOTH, find_camera=find, camera=() if find else ONE)
    made, notes = reconstruct(of_two, closed_loop.build(URDF, options, (0, 0, -9.81)), options)
    line, = notes['cameras']
    topic, *pose = line.split()
    assert topic == seen.CRANK
    error = pose_error([float(x) for x in pose], TWO)
    assert (np.abs(error) < 4.0 * np.array(notes['cameras_standard_error'][topic])).all()
    assert notes['marker_clock_offset'][topic] == pytest.approx(
        12.3e-3, abs=4 * notes['marker_clock_offset_error'][topic])
    if find:
        error = pose_error(notes['camera'], ONE) / notes['camera_standard_error']
        assert (np.abs(error) < 4.0).all()
    else:
        assert 'camera' not in notes
    motion = made.channels[MOTION]
    error = motion.fields['position'][:, 0] - seen.truth(motion.stamp_ns * 1e-9)[0]
    assert np.sqrt((error ** 2).mean()) < 1.2 * notes['marker_deviation']['crank']


def test_a_clock_is_not_drawn_to_between_two_frames():
    """Noise is smaller there: a curve's own slope moved the offset by 7 errors."""
    made = seen.of_two_cameras(
        2, ONE, TWO, {seen.CRANK: seen.always}, 12.3e-3, between=0.3, noise=1e-3,
        seen=dict.fromkeys((seen.SLIDER, seen.TAG), seen.always)).window(0.0, 1.2)
    options = replace(BOTH, marker_noise=1e-3, cameras=(' '.join([seen.CRANK, *map(str, TWO)]),))
    _, notes = reconstruct(made, closed_loop.build(URDF, options, (0, 0, -9.81)), options)
    assert notes['marker_clock_offset'][seen.CRANK] == pytest.approx(
        12.3e-3, abs=3 * notes['marker_clock_offset_error'][seen.CRANK])


def test_errors_of_poses_and_clocks_are_known_to_move_the_motion(of_two):
    """The same readings with the true poses: the difference is one that the errors make."""
    found = replace(BOTH, find_camera=True)
    known = replace(BOTH, cameras=(' '.join([seen.CRANK, *map(str, TWO)]),))
    robot = closed_loop.build(URDF, BOTH, (0, 0, -9.81))
    (one, _), (two, _) = (reconstruct(of_two, robot, options) for options in (found, known))
    z, there = (r.channels[MOTION].fields['position'][:, 0] for r in (one, two))
    t, errors = common_errors(one)
    assert len(t) == len(z) and errors.shape[1:] == (1, 13)
    expected = np.sqrt((errors ** 2).sum(2).mean())
    # Of the thirteen, few dominate: chi-squared of a few degrees of freedom.
    assert 0.3 * expected < np.sqrt(((z - there) ** 2).mean()) < 2.5 * expected
    left = z - there - errors[:, 0] @ np.linalg.lstsq(errors[:, 0], z - there, rcond=1e-3)[0]
    assert np.sqrt((left ** 2).mean()) < 0.2 * expected


@pytest.mark.parametrize('faster', [0.0, 1e-4])
def test_drift_of_another_cameras_clock_is_found_beside_its_offset(faster):
    """13 s that are enough; four seeds of 20 s each: within 1 ppm, no false one, z rms 0.80."""
    made = seen.of_two_cameras(3, ONE, TWO, {seen.CRANK: seen.always}, 12.3e-3, 0.3, faster,
                               seen=dict.fromkeys((seen.SLIDER, seen.TAG), seen.always),
                               duration=13.0)
    options = replace(BOTH, find_camera=True)
    _, notes = reconstruct(made, closed_loop.build(URDF, options, (0, 0, -9.81)), options)
    assert ('marker_clock_drift' in notes) == (faster > 0.0)
    if faster:
        error = notes['marker_clock_drift_error'][seen.CRANK]
        assert error < 0.05 * faster
        assert notes['marker_clock_drift'][seen.CRANK] == pytest.approx(faster, abs=4 * error)


def test_a_camera_that_is_known_may_see_a_line_alone():
    """One that is found may not: noise would show a turn about the line."""
    made = seen.of_two_cameras(1, ONE, TWO, {seen.SLIDER: seen.always}, 12.3e-3,
                               seen=dict.fromkeys((seen.CRANK, seen.TAG), seen.always))
    line = ' '.join([seen.SLIDER, *map(str, TWO)])
    options = replace(BOTH, cameras=(line,))
    robot = closed_loop.build(URDF, options, (0, 0, -9.81))
    _, notes = reconstruct(made.window(0.0, 1.2), robot, options)
    assert notes['marker_clock_offset'][seen.SLIDER] == pytest.approx(
        12.3e-3, abs=4 * notes['marker_clock_offset_error'][seen.SLIDER])
    with pytest.raises(RecordingError, match='all on one line: a turn about it is open'):
        reconstruct(made.window(0.0, 1.2), robot, replace(options, cameras=(seen.SLIDER,)))


def test_live_predictions_know_where_both_cameras_stand(of_two):
    options = replace(BOTH, cutoff=60.0, velocity='differentiated')
    robot = closed_loop.build(URDF, options, (0, 0, -9.81))
    found = {'cameras': [' '.join([seen.CRANK, *map(str, TWO)])],
             'marker_clock_offset': {seen.CRANK: 12.3e-3}}
    live = closed_loop.live(robot, options, 0.1, found)
    for topic in (seen.SLIDER, seen.TAG, seen.CRANK, '/torque'):
        live.add(of_two.channels[topic])
    _, state = live.take()
    error = state.q[:, 0] - seen.truth(state.t)[0]
    # 0.3 mm of a crank of 80 mm are 3.8 mrad a marker; all markers and the filter make 1.8.
    assert np.sqrt((error ** 2).mean()) < 3e-3


@pytest.mark.parametrize('cameras, what', [
    ((seen.CRANK + ' 1 2 3',), 'TOPIC ... .X Y Z ROLL PITCH YAW'),
    (('/elsewhere',), '/elsewhere'), ((seen.CRANK, seen.CRANK), 'once'),
    ((f'{seen.CRANK} {seen.SLIDER} {seen.TAG}',), 'without those of the first camera')])
def test_cameras_that_cannot_be_are_refused(cameras, what):
    made = seen.recording(0, dict.fromkeys((seen.SLIDER, seen.TAG, seen.CRANK), seen.always),
                          camera=ONE).window(0.0, 1.0)
    with pytest.raises(InertialIdError, match=what):
        reconstruct(made, closed_loop.build(URDF, BOTH, (0, 0, -9.81)),
                    replace(BOTH, cameras=cameras))
