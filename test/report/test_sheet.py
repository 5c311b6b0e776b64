"""Sheets: the pages of payload and check say what the results say, flags included."""

from dataclasses import replace
import shlex

import mujoco_arm
import numpy as np
import pytest
from test_report import Page, record

from ros_inertial_id.checks.finding import Checkup, Finding, Verdict
from ros_inertial_id.cli.arguments import parse
from ros_inertial_id.dynamics.inertial_parameters import about_origin
from ros_inertial_id.identification.model.outcome import described_model
from ros_inertial_id.procedures.payload import Payload
from ros_inertial_id.report.checkup_page import thinned
from ros_inertial_id.report.sheet import Table, write_sheet
from ros_inertial_id.report.sheets import checkup_sheet, payload_sheet
from ros_inertial_id.report.viewer import ellipsoid

LOAD = Payload(
    link='link2',
    frame='flange',
    mass=1.2345,
    center_of_mass=np.array([0.01, 0.02, 0.1]),
    inertia=np.diag([0.011, 0.012, 0.003]),
    mass_error=0.012,
    center_of_mass_error=np.full(3, 1e-3),
    inertia_error=np.full((3, 3), 2e-3),
    parameters=np.array([1.2345, 0.12345, *np.zeros(8)]),
    from_data={'inertia': 0.42},
    relative_percent=3.21,
)
ARM = described_model(mujoco_arm.description('arm2'), 'upright', {})
FOUND = Checkup(
    (
        Finding(
            'spikes',
            'spikes in the efforts of a',
            '',
            12.0,
            'samples',
            ('a',),
            'masked',
            'look at the cable',
            ((1.0, 1.5),),
        ),
        Finding('sign', 'efforts of b are negated', '', 57.0, 'nats', ('b',), 'wrong', 'negate'),
    ),
    Verdict('do not use', ('efforts of b are negated',)),
    {'a': Verdict('good'), 'b': Verdict('do not use', ('efforts of b are negated', 'noisy'))},
    (0.02,),
    {'a': 10.0, 'b': 2.0},
    {'a': 1.5, 'b': 4.0},
    {'a': 0.3, 'b': 3.0},
)


def shown(sheet, folder):
    """Return (HTML text, Page) of a sheet."""
    text = folder / 'page.html'
    write_sheet(sheet, text, ['inertial-id', 'verb', 'a bag'])
    return text.read_text('utf-8'), Page(text.read_text('utf-8'))


def test_a_payload_shows_every_number_and_what_to_paste(tmp_path):
    text, page = shown(payload_sheet(LOAD, ARM, 'bare.yaml'), tmp_path)
    for words in ('1.234 ± 0.012 kg', '3.21 %', '42 %', 'bare.yaml', 'set_target_payload(1.2345'):
        assert words in text
    rows = [row for row in page.rows if row and row[0] in ('x', 'Izz')]
    assert rows == [['x', '0.0100', '0.0010', 'm'], ['Izz', '0.0030', '0.0020', 'kg m²']]
    # The second axis lies: m g c of the link, and with a load 0.1 m along its first axis.
    link = 4.0 * np.array([0.0146, -0.1605])
    held = [9.81 * np.hypot(*x) for x in (link, link + [0.12345, 0.0])]
    assert [float(x) for x in page.row('joint2')[1:4]] == pytest.approx([*held, 80.0], rel=3e-3)


def test_a_checkup_says_its_verdict_first_and_what_holds_for_all_once(tmp_path):
    text, page = shown(checkup_sheet(FOUND, ['one bag']), tmp_path)
    assert text.index('do not use') < text.index('spikes in the efforts')
    assert [row for row in page.rows if row and row[0] in ('a', 'b')] == [
        ['a', 'good', '', '10.0', '1.50', '0.300'],
        ['b', 'do not use', 'noisy', '2.00', '4.00', '3.00'],
    ]
    assert [
        'wrong',
        'efforts of b are negated',
        'b',
        '',
        'certain',
        'negate',
    ] in page.rows
    assert [
        'masked',
        'spikes in the efforts of a',
        'a',
        '1.00 to 1.50',
        '12 samples',
        'look at the cable',
    ] in page.rows
    assert '2 %' in text


def test_what_next_after_a_checkup_can_be_pasted(tmp_path):
    given = ['--urdf', 'my robot.urdf', '--columns', 'q_*=*_angle']
    for word, verbs in (('good', ['identify', 'identify']), ('do not use', ['check'])):
        checkup = replace(FOUND, verdict=Verdict(word))
        sheet = checkup_sheet(checkup, ['a bag@2:'], options=given)
        typed = [parse(shlex.split(command)[1:]) for _, command in sheet.commands]
        assert [options.verb for options in typed] == verbs
        assert {options.urdf for options in typed} == {'my robot.urdf'}
        assert {options.columns for options in typed} == {'q_*=*_angle'}
        bag = 'a bag@2:' if word == 'good' else 'OTHER_BAG'
        assert all(options.bags == [bag] for options in typed)


def test_signals_have_the_units_of_their_joint(tmp_path):
    bag = record()
    sliding = bag.robot_description.replace('"revolute"', '"prismatic"', 1)
    sheet = checkup_sheet(replace(FOUND, joints={}), ['a bag'], [bag], sliding)
    labels = [
        [pane['label'] for pane in chart['panes']] for chart in sheet.drawings.charts.values()
    ]
    assert labels == [['effort [N]', 'position [m]'], ['effort [N m]', 'position [rad]']]


def test_a_recording_is_drawn_with_what_was_found_shaded(tmp_path):
    bag = record()
    names = dict(zip('ab', bag.channels['/joint_states'].names))
    found = replace(
        FOUND,
        joints={names[k]: v for k, v in FOUND.joints.items()},
        checks=tuple(replace(f, joints=tuple(names[j] for j in f.joints)) for f in FOUND.checks),
    )
    page = shown(checkup_sheet(found, ['a bag'], [bag]), tmp_path)[1]
    charts = page.data['charts'].values()
    assert [chart['title'] for chart in charts] == ['joint1: spikes', 'joint2']
    assert [chart['marks'] for chart in charts] == [[{'x': 1.0, 'to': 1.5, 'name': 'spikes'}], []]


def test_efforts_are_drawn_whose_positions_come_on_another_topic(tmp_path):
    bag = record()
    joint_states = bag.channels['/joint_states']
    efforts = replace(joint_states, fields={'effort': joint_states.fields['effort']})
    bag = replace(bag, channels={'/efforts': efforts})
    checkup = replace(FOUND, joints={}, checks=())
    page = shown(checkup_sheet(checkup, ['a bag'], [bag]), tmp_path)[1]
    panes = [chart['panes'] for chart in page.data['charts'].values()]
    assert [[pane['label'] for pane in of_joint] for of_joint in panes] == [
        ['effort [N m]'],
        ['effort [N m]'],
    ]


def test_what_is_drawn_has_the_extremes_and_breaks_in_gaps():
    t = np.delete(np.arange(20_000) / 1000.0, slice(9000, 9500))
    y = np.sin(t)
    y[4321] = 50.0
    drawn, (values,) = thinned(t, y[None])
    assert len(drawn) < 2100 and drawn[np.nanargmax(values)] == t[4321]
    gap = np.flatnonzero(np.isnan(values))
    assert len(gap) == 1 and (drawn[gap - 1], drawn[gap + 1]) == (t[8999], t[9000])
    assert np.all(np.diff(drawn) >= 0)


def test_an_ellipsoid_is_the_solid_body_of_its_moments_of_inertia():
    mass, centre, half = 3.0, np.array([0.1, -0.2, 0.3]), np.array([0.05, 0.1, 0.2])
    about = np.diag(mass / 5.0 * ((half**2).sum() - half**2))  # of a solid ellipsoid
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    place, axes = ellipsoid(about_origin(mass, centre, about), turn, np.ones(3))
    np.testing.assert_allclose(place, [1.2, 1.1, 1.3])
    np.testing.assert_allclose(np.sort(np.linalg.norm(axes, axis=0)), half)
    np.testing.assert_allclose(np.abs(axes) @ np.ones(3), half[[1, 0, 2]], atol=1e-12)


def test_columns_beyond_the_terminal_stand_below(monkeypatch):
    monkeypatch.setenv('COLUMNS', '20')
    table = Table(('joint', 'position [rad]', 'velocity', 'effort'), [('j1', '1', '2', '3')])
    assert table.lines() == [
        'joint  position',
        '          [rad]',
        'j1            1',
        'joint  velocity',
        '',
        'j1            2',
        'joint  effort',
        '',
        'j1          3',
    ]
