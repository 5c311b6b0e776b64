"""Any row of the tables of spellings, in any form, reads back to the same channel."""

import os
import re

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from test_log import write_csv

from ros_inertial_id.measurement.bags.log import read_log
from ros_inertial_id.measurement.bags.log_parts import JOINT_COMMANDS, JOINT_STATES
from ros_inertial_id.measurement.bags.log_spellings import (
    column_meaning,
    JOINT_QUANTITIES,
    NAMES,
    QUALIFIERS,
    TIME,
    TIME_UNITS,
    UNITS,
    UNITS_WITHOUT_BRACKETS,
    WORDS,
)

N = 15
T = 0.005 * np.arange(N)
FORMS_WITH_NAMES = (
    *('{word}_{joint}', '{word}.{joint}', '{word}/{joint}', '{word}[{joint}]', '{word} {joint}'),
    *('{joint}_{word}', '{joint}.{word}', '{joint} {word}', '/arm/joint_states/{joint}/{word}'),
    *('msg.{word}.{joint}', 'state.{word}[{joint}]', 'joint_{word}_{joint}', '/a/{word}/{joint}'),
)
FORMS_WITH_NUMBERS = ('{word}{joint}', '{word}_{joint}', '{word}[{joint}]', 'msg.{word}{joint}')
FORMS_OF_TIME = (
    *('{word}_{unit}', '{word} [{unit}]', '{word}({unit})', '{word}/{unit}', '{word}.{unit}'),
    *('data.{word}_{unit}', '%{word}_{unit}', '__{word}_{unit}'),
)
# One spelling of a row of units: its size in SI, which the tables are not asked for.
SIZES = {'rad': 1.0, 'mrad': 1e-3, 'deg': np.radians(1.0), 'rpm': 2.0 * np.pi / 60.0}
SIZES |= {'nm': 1.0, 'mnm': 1e-3}
SECONDS = {'s': 1.0, 'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9}
ANGLES = {'position': ('rad', 'mrad', 'deg'), 'velocity': ('rad', 'deg', 'rpm')}
SPELLED = [(row, word) for row in WORDS for word in row.spellings]
RESERVED = {
    part.lower()
    for words in (
        *(row.spellings for row in (*WORDS, *UNITS, *TIME_UNITS)),
        *QUALIFIERS.values(),
        *(('ext', 'd', 'j'),),
    )
    for word in words
    for part in re.split(r'[_./ ]', word)
}
EXAMPLES = int(os.environ.get('FUZZ_EXAMPLES', 40))
few = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize='FUZZ_EXAMPLES' not in os.environ,
    suppress_health_check=list(HealthCheck),
)


def is_no_spelling(joint):
    """Return whether no part of a name of a ``joint`` is a word that the tables know."""
    words = [re.match('[a-z]*', part)[0] for part in joint.lower().split('_')]  # q of q1
    return joint != 'joint' and RESERVED.isdisjoint(words)


letters = st.sampled_from('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ')
endings = st.text('abcdefgxyzABCXYZ0123456789_', min_size=1, max_size=9)
joint_names = st.builds('{}{}'.format, letters, endings).filter(is_no_spelling)
joints_of_robots = st.lists(joint_names, min_size=1, max_size=4, unique_by=str.lower)
cases = st.sampled_from([str.lower, str.upper, str.capitalize, str])


def urdf_of(joints):
    """Return a chain of ``joints``."""
    links = [f'l{k}' for k in range(len(joints) + 1)]
    return (
        '<robot name="r">'
        + ''.join(f'<link name="{link}"/>' for link in links)
        + ''.join(
            f'<joint name="{joint}" type="revolute"><parent link="{parent}"/>'
            f'<child link="{child}"/></joint>'
            for joint, parent, child in zip(joints, links, links[1:])
        )
        + '</robot>'
    )


def spellings_of(quantity, is_current=False):
    return [
        word for row, word in SPELLED if (row.quantity, row.is_current) == (quantity, is_current)
    ]


def spelled_sizes(rows, sizes):
    """Return [(spelling, size), ...] of all spellings of rows that have one of ``sizes``."""
    out = []
    for row in rows:
        known = [sizes[unit] for unit in row.spellings if unit in sizes]
        out += [(unit, size) for size in known[:1] for unit in row.spellings]
    return out


def units_of(quantity):
    """Return (spelling, size in SI) of units that are no currents, and '' for SI."""
    units = ANGLES.get(quantity, ('nm', 'mnm'))
    return [('', 1.0), *spelled_sizes(UNITS, {unit: SIZES[unit] for unit in units})]


@st.composite
def tables(draw, form, labels, qualifiers):
    """Return ({name of a column: (n,)}, {quantity: (n, k) in SI}) of joints ``labels``."""
    columns, fields = {}, {}
    qualifier = draw(st.sampled_from(qualifiers))
    suffix = draw(st.booleans())
    case = draw(cases)
    for quantity in JOINT_QUANTITIES:
        if quantity != 'position' and draw(st.booleans()):
            continue
        word = case(draw(st.sampled_from(spellings_of(quantity))))
        unit, scale = draw(st.sampled_from(units_of(quantity)))
        if qualifier:
            word = f'{word}_{qualifier}' if suffix else f'{qualifier}_{word}'
        seed = draw(st.integers(0, 99))
        fields[quantity] = np.random.default_rng(seed).normal(size=(N, len(labels)))
        for label, x in zip(labels, fields[quantity].T):
            name = form.format(word=word, joint=label)
            if unit:
                name += draw(st.sampled_from([f' [{unit}]', f' ({unit})']))
            columns[name] = x / scale
    return columns, fields


def assert_fields(channel, joints, fields):
    assert set(channel.fields) == set(fields) and set(channel.names) == set(joints)
    order = [channel.names.index(joint) for joint in joints]
    for quantity, values in fields.items():
        np.testing.assert_allclose(channel.fields[quantity][:, order], values, rtol=1e-12)


@few
@given(st.data(), joints_of_robots, st.sampled_from(FORMS_WITH_NAMES))
def test_columns_of_named_joints_read_back(data, joints, form):
    """The URDF lists the joints the other way round: the log's names decide."""
    columns, fields = data.draw(tables(form, joints, ['', *QUALIFIERS['measured']]))
    channels = read_log({'time': T, **columns}, urdf_of(joints[::-1])).channels
    assert set(channels) == {JOINT_STATES}
    assert_fields(channels[JOINT_STATES], joints, fields)


@few
@given(st.data(), joints_of_robots, st.sampled_from(FORMS_WITH_NUMBERS), st.integers(0, 12))
def test_columns_with_numbers_are_of_the_joints_of_the_urdf(data, joints, form, first):
    numbers = range(first, first + len(joints))
    columns, fields = data.draw(tables(form, numbers, ['', *QUALIFIERS['measured']]))
    shuffled = dict(data.draw(st.permutations(list(columns.items()))))
    channels = read_log({'time': T, **shuffled}, urdf_of(joints)).channels
    assert channels[JOINT_STATES].names == tuple(joints)
    assert_fields(channels[JOINT_STATES], joints, fields)


@few
@given(st.data(), joints_of_robots, st.sampled_from(FORMS_WITH_NAMES))
def test_commanded_columns_beside_measured_ones_are_commands(data, joints, form):
    columns, fields = data.draw(tables(form, joints, QUALIFIERS['commanded']))
    measured = {f'q_{joint}': x for joint, x in zip(joints, np.ones((len(joints), N)))}
    channels = read_log({'time': T, **measured, **columns}, urdf_of(joints)).channels
    assert_fields(channels[JOINT_COMMANDS], joints, fields)
    assert_fields(channels[JOINT_STATES], joints, {'position': np.ones((N, len(joints)))})


@few
@given(
    st.sampled_from(spellings_of(TIME)),
    st.sampled_from(spelled_sizes(TIME_UNITS, SECONDS)),
    st.sampled_from(FORMS_OF_TIME),
    cases,
)
def test_times_in_any_unit_read_back(word, unit, form, case):
    spelling, seconds = unit
    name = form.format(word=case(word), unit=spelling)
    counts = np.round(T / seconds, 6)
    channel = read_log({name: counts, 'q_a': T}, urdf_of(['a'])).channels[JOINT_STATES]
    np.testing.assert_allclose(channel.stamp_ns, T * 1e9, atol=1)  # [ns]


@few
@given(
    st.data(),
    joints_of_robots,
    st.sampled_from([(',', '.'), (';', '.'), (';', ','), ('\t', '.'), ('\t', ','), ('|', '.')]),
)
def test_texts_read_back_to_the_last_digit(tmp_path, data, joints, signs):
    delimiter, decimal = signs
    columns, fields = data.draw(tables('{joint}_{word}', joints, ['']))
    values = np.column_stack([T, *columns.values()])
    cells = [[repr(float(x)).replace('.', decimal) for x in row] for row in values]
    log = write_csv(tmp_path / 'log.csv', ['time', *columns], cells, delimiter)
    channel = read_log(log, urdf_of(joints)).channels[JOINT_STATES]
    assert_fields(channel, joints, fields)
    np.testing.assert_array_equal(channel.stamp_ns, np.round(T * 1e9))


@pytest.mark.parametrize(('row', 'word'), SPELLED)
def test_every_word_is_known_in_every_form_and_case(row, word):
    if row.quantity in (TIME, NAMES):
        assert column_meaning(word.upper()).quantity == row.quantity
        assert column_meaning(f'data.{word}').quantity == row.quantity
        return
    for form in FORMS_WITH_NAMES:
        for spelling in (word, word.upper()):
            meaning = column_meaning(form.format(word=spelling, joint='elbow'))
            assert (meaning.quantity, meaning.joint) == (row.quantity, 'elbow')
            assert meaning.is_current == row.is_current and meaning.is_measured


@pytest.mark.parametrize('unit', UNITS_WITHOUT_BRACKETS)
def test_units_without_brackets_end_a_name(unit):
    size = dict(spelled_sizes(UNITS, SIZES))[unit]
    for name in (f'q_elbow_{unit}', f'elbow_q_{unit}', f'q_{unit}_3', f'q3_{unit.upper()}'):
        meaning = column_meaning(name)
        assert meaning.joint in ('elbow', '3') and meaning.scale == pytest.approx(size)
