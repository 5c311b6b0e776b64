"""Slides that are described, measured or driven otherwise than told."""

from dataclasses import replace
import re

import linear_axes
import numpy as np
import pytest
from tolerances import scores

import ros_inertial_id as rid
from ros_inertial_id.errors import RecordingError

FRICTION = tuple(f'{joint} viscous coulomb' for joint in 'xyz')
BELTS = ('coupling left beam 1', 'coupling right beam 1')
MOTORS = ('left', 'right', 'head')
OF_GANTRY = tuple(f'{joint} viscous coulomb' for joint in ('beam', *MOTORS))


def of_axes(**changes):
    """Return the model of three axes that are otherwise than told by ``changes``."""
    recording = linear_axes.of_three_axes(1, **changes)
    made = rid.identify(recording, method='closed_loop', friction=FRICTION)
    return made.identification.model


def verdict(model):
    """Return the word and the reasons of the verdict on a ``model``."""
    said = model.statistics['verdict']
    return said['word'], ' '.join(said['reasons'])


def test_axes_as_told_are_good_and_their_masses_found():
    model = of_axes()
    assert verdict(model) == ('good', '')
    assert np.abs(list(scores(model.base, truth_of_axes()).values())).max() < 3.5


def truth_of_axes():
    """Return {parameter: true value} of three axes."""
    out = {}
    laws = zip(linear_axes.MASSES, linear_axes.DAMPING, linear_axes.DRY)
    for k, (mass, viscous, coulomb) in enumerate(laws, 1):
        out |= {f'm{k}': mass, f'fv{k}': viscous, f'fc{k}': coulomb}
    return out


@pytest.mark.parametrize('times', [0.5, 1.25])
def test_the_lead_of_a_vertical_slide_is_told_by_its_weight(times):
    model = of_axes(times=(1.0, 1.0, times))
    (finding,) = model.statistics['checks']
    assert finding['name'] == 'lead of a slide'
    said = float(finding['says'].split('positions of z are ')[1].split()[0])
    assert said == pytest.approx(times, rel=0.02)
    assert 'a constant load that is not described acts on z' in finding['says']  # no data tell
    assert verdict(model)[0] == 'do not use'


def test_a_counterweight_is_named_and_found_where_it_is_described():
    recording = linear_axes.of_three_axes(1)
    (channel,) = recording.channels.values()
    effort = channel.fields['effort'] - [0.0, 0.0, 40.0]
    channels = {channel.topic: replace(channel, fields={**channel.fields, 'effort': effort})}
    carried = replace(recording, channels=channels)
    made = rid.identify(carried, method='closed_loop', friction=FRICTION)
    (finding,) = made.identification.model.statistics['checks']
    assert 'a constant load that is not described acts on z (-40 +- ' in finding['says']
    assert "add 'joint z' to springs:" in finding['do']
    made = rid.identify(carried, method='closed_loop', friction=FRICTION, springs=('joint z',))
    model = made.identification.model
    assert verdict(model)[0] == 'good'
    z = scores(model.base, truth_of_axes())
    assert z.keys() >= {'m1', 'm2', 'm3'} and np.abs(list(z.values())).max() < 3.5


def test_a_slide_in_millimetres_gets_no_factor_by_a_first_order():
    model = of_axes(times=(1e3, 1e3, 1e3))
    assert verdict(model)[0] == 'do not use'
    assert 'positions of z are in another unit than m' in verdict(model)[1]


@pytest.mark.parametrize(
    'axes, reason',
    [
        (((1, 0, 0), (0, 0, 1), (0, 1, 0)), 'a constant load .* acts on z'),
        (((1, 0, 0), (0, 1, 0), (0, 0, -1)), 'the torque of z has the wrong sign'),
        (((1, 0, 0), (0, 1, 0), (0, 0.34, 0.94)), 'acts on z'),
    ],
)
def test_an_axis_that_is_turned_against_gravity_is_not_to_be_used(axes, reason):
    model = of_axes(urdf=linear_axes.three_axes(axes))
    word, reasons = verdict(model)
    assert word == 'do not use'
    assert re.search(reason, reasons)


def test_dry_friction_of_two_motors_and_their_beam_is_one_number():
    made = rid.identify(
        linear_axes.of_two_motors(1),
        method='closed_loop',
        closures=BELTS,
        actuated=MOTORS,
        friction=OF_GANTRY,
    )
    model = made.identification.model
    found = {entry['expression']: entry for entry in model.base}
    true = {
        'm1 + m3 + m4': linear_axes.BEAM + sum(linear_axes.CARRIAGES),
        'm2': linear_axes.HEAD,
        'fv1 + fv3 + fv4': linear_axes.BEAM_DAMPING,
        'fc1 + fc3 + fc4': linear_axes.BEAM_DRY,
        'fv2': linear_axes.HEAD_DAMPING,
        'fc2': linear_axes.HEAD_DRY,
    }
    assert found.keys() == true.keys()
    for expression, value in true.items():
        entry = found[expression]
        assert abs(entry['value'] - value) < 3.5 * entry['standard_error']
        assert entry['standard_error'] < 0.002 * value


def test_a_second_motor_that_is_not_told_is_refused():
    """With one motor's force alone the beam would weigh 6.65 +- 0.24 kg, true 16.2."""
    line = r'write actuated: \[head, right, left\]'
    with pytest.raises(RecordingError, match=f'left has an effort, .*{line}'):
        rid.identify(
            linear_axes.of_two_motors(1), method='closed_loop', closures=BELTS, friction=OF_GANTRY
        )
