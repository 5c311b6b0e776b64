"""Markers in continuity: occlusion, exchanges and outliers, against the slider-crank by hand."""

from dataclasses import replace

import numpy as np
import pytest
from seen_slider_crank import (
    always,
    CRANK,
    DURATION,
    four_of_five,
    LINES,
    OPTIONS,
    RATE,
    recording,
    SLIDER,
    TAG,
    truth,
    URDF,
)
import slider_crank_lagrangian as oracle

from ros_inertial_id.errors import RecordingError
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.methods import METHODS
from ros_inertial_id.rigs.closed_loop.motion import MOTION, reconstruct

closed_loop = METHODS['closed_loop']
CAMERA = (0.8, -1.2, 0.5, 2.2, -0.4, 1.9)
MECHANISM = closed_loop.build(URDF, OPTIONS, (0.0, 0.0, -9.81))


def errors(made, options):
    """Return the errors (M,) of the crank angle [rad], apart from whole turns, and notes."""
    found, notes, _ = reconstruct(made, MECHANISM, options)
    channel = found.channels[MOTION]
    z = channel.fields['position'][:, 0] - truth(channel.stamp_ns * 1e-9)[0]
    return (z + np.pi) % (2 * np.pi) - np.pi, notes


def standard_errors(model):
    found = {entry['name']: entry for entry in model.base}
    return (
        np.array([found[n]['value'] - oracle.BASE[n] for n in oracle.FOUR]),
        np.array([found[n]['standard_error'] for n in oracle.FOUR]),
    )


def test_occlusion_costs_what_it_hides_and_no_more():
    """With the slider alone a frame fits two crank angles: neighbours say which."""
    whole = identify(
        [recording(0, {CRANK: always, SLIDER: always})], OPTIONS, method='closed_loop'
    ).model
    made = recording(0, {CRANK: four_of_five, SLIDER: four_of_five})
    error, notes = errors(made, OPTIONS)
    assert np.abs(error).max() < 6 * notes['marker_deviation']['crank']
    model = identify([made], OPTIONS, method='closed_loop').model
    off, stated = standard_errors(model)
    assert (np.abs(off) < 3.5 * stated).all()
    # A third less information costs a quarter; cutoffs differ a little.
    assert (stated < 1.5 * standard_errors(whole)[1]).all()


def test_error_of_the_torques_clock_is_in_the_stated_errors():
    """Gravity of the rod's mcy2 and a torque that is late look alike: the error grows with it."""
    made, options = recording(0, {CRANK: always, SLIDER: always}), replace(OPTIONS, cutoff=9.0)
    options = replace(options, estimator='ridge')
    found, known = (
        identify([made], replace(options, find_time_offset=find), method='closed_loop').model
        for find in (True, False)
    )
    note = found.preprocessing[0]
    assert abs(note['time_offset']) < 3.5 * note['time_offset_error'] < 5e-4
    one, other = ({e['name']: e['standard_error'] for e in m.base} for m in (found, known))
    assert one['mcy2'] > 1.1 * other['mcy2'] and one['mcxR1'] < 1.1 * other['mcxR1']


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


def test_markers_are_named_that_leave_the_assembly_open_or_end_too_early():
    """The slider alone fits two crank angles; nobody knows what /closed_loop/motion would be."""
    alone = replace(OPTIONS, markers=LINES[1:2])
    with pytest.raises(RecordingError, match='which assembly is seen: /slider_pin;.*another link'):
        identify([recording(0, {SLIDER: always})], alone, method='closed_loop')
    whole = recording(0, dict.fromkeys((CRANK, SLIDER), always))
    short = replace(
        whole,
        channels={
            name: channel.rows(slice(0, len(channel) // 12))
            for name, channel in whole.channels.items()
        },
    )
    with pytest.raises(RecordingError, match='the motion by /crank_pin, /slider_pin is too short'):
        identify([short], OPTIONS, method='closed_loop')


def test_exchanges_and_outliers_leave_no_trace():
    """A tenth of the frames exchanged, of the readings astray, a fifth unseen, seen from afar."""
    made = recording(2, dict.fromkeys((CRANK, SLIDER, TAG), four_of_five), 0.1, CAMERA)
    error, notes = errors(made, replace(OPTIONS, markers=LINES, camera=CAMERA))
    assert np.abs(error).max() < 6 * notes['marker_deviation']['crank']
    # A frame of which most readings are wrong, or that the slider alone shows, is left out.
    assert notes['marker_frames'] > 0.75 * DURATION * RATE
