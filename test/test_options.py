"""Options refuse what they cannot mean, in words, and describe themselves as a JSON schema."""

from dataclasses import asdict, dataclass, replace
import json
from pathlib import Path

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import jsonschema
import numpy as np
import pytest
import yaml

from ros_inertial_id.cli.main import main
from ros_inertial_id.errors import ConfigError
from ros_inertial_id.excitation.design import load_design
from ros_inertial_id.excitation.problem import DesignOptions
from ros_inertial_id.identification.identified_model import plain
from ros_inertial_id.identification.settings import load_options, options_class
from ros_inertial_id.measurement.joints.kinematic_state import SignalOptions
from ros_inertial_id.methods import METHODS
from ros_inertial_id.options import (
    check_ranges,
    option,
    options_from,
    read_blocks,
    settings_of,
    yaml_content,
)

CONFIG = sorted((Path(__file__).parents[1] / 'config').glob('*.yaml'))


@dataclass(frozen=True)
class Example:
    """One option of every kind."""

    cutoff: float = option(5.0, 'a number', unit='Hz', at_least=0.0, at_most=500.0)
    count: int = option(3, 'a whole number', at_least=1)
    search: bool = option(True, 'true or false')
    law: str = option('viscous', 'one of a few', choices=('viscous', 'coulomb'))
    gains: tuple[float, ...] = option((), 'a list', unit='N m/A', at_least=0.0)
    laws: tuple[str, ...] = option((), 'a list of a few', choices=('viscous', 'coulomb'))


def refused(tmp_path, text, load=load_options):
    """Return what is said to a configuration file that is wrong."""
    path = tmp_path / 'wrong.yaml'
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as error:
        load(str(path))
    return str(error.value)


@pytest.mark.parametrize(
    'line, words',
    [
        (
            'gear_ratio: [a, b, c]',
            ('option gear_ratio, element 1', 'a finite number', "found 'a'"),
        ),
        (
            'gear_ratio: {joint1: 100}',
            ('option gear_ratio', 'a list, of a finite number each', "found {'joint1': 100}"),
        ),
        ('friction: [[viscous]]', ('option friction, element 1', 'a text', "found ['viscous']")),
        ('cutoff: .nan', ('option cutoff', 'a finite number [Hz]', 'found nan')),
        ('cutoff: -.inf', ('option cutoff', 'a finite number [Hz]', 'found -inf')),
        ('cutoff: true', ('option cutoff', 'a finite number [Hz]', 'found True')),
        ('cutoff: -3', ('option cutoff', '0.0 to', 'Hz', 'found -3')),
        ('estimator: rigde', ("found 'rigde'", "did you mean 'ridge'?")),
        ('cutof: 3', ("unknown key 'cutof'", "did you mean 'cutoff'?", 'gear_ratio')),
        ('7: 3', ('unknown key 7',)),
        ('mounting: 2020-02-02', ('option mounting', 'a text', 'datetime.date')),
    ],
)
def test_a_wrong_value_is_refused_with_what_was_expected(tmp_path, line, words):
    message = refused(tmp_path, f'serial_arm: {{{line}}}')
    assert all(word in message for word in words), message


def test_a_wrong_block_is_refused_with_the_nearest_one(tmp_path):
    message = refused(tmp_path, 'serial_amr: {cutoff: 3.0}')
    assert "block 'serial_amr'" in message and "did you mean 'serial_arm'?" in message
    assert 'each named by its method' in refused(tmp_path, 'serial_arm: 3')
    assert 'each named by its method' in refused(tmp_path, '- serial_arm')
    message = refused(tmp_path, 'design: {perod: 10}', load_design)
    assert "did you mean 'period'?" in message


def bomb(levels=40):
    """Return a YAML text of aliases that stands for 2^levels elements."""
    lines = ['  - &a0 [x, x]'] + [f'  - &a{k} [*a{k - 1}, *a{k - 1}]' for k in range(1, levels)]
    return 'serial_arm:\n  friction:\n' + '\n'.join(lines)


def test_files_that_are_no_configuration_are_refused_in_a_line(tmp_path):
    latin = 'serial_arm: {mounting: "größer"}'.encode('latin-1')
    assert 'text in UTF-8' in refused(tmp_path, latin)
    assert 'is not YAML' in refused(tmp_path, 'serial_arm: {cutoff: [')
    assert 'is not YAML' in refused(tmp_path, 'serial_arm: {mounting: 2020-13-45}')
    assert 'nesting' in refused(tmp_path, '[' * 5000)
    with pytest.raises(ConfigError, match='No such file'):
        load_options(str(tmp_path / 'absent.yaml'))


@pytest.mark.parametrize(
    'text',
    [
        bomb(),
        'a: &a [*a]',
        f'a: &a {"x" * 60_000}\nb: [*a, *a]',
        '# ' + ']' * 200 + '\na: ' + '[' * 101 + ']' * 101,
    ],
)
def test_a_yaml_that_is_larger_than_it_looks_is_refused(text):
    with pytest.raises(ConfigError, match='the text is not YAML; found nesting or aliases'):
        yaml_content(text, 'the text')


def test_anchors_and_merged_keys_are_understood():
    text = 'a: &a {x: 1, y: [2]}\nb: {<<: *a, x: 3}\nc: *a'
    assert yaml_content(text, '') == {
        'a': {'x': 1, 'y': [2]},
        'b': {'x': 3, 'y': [2]},
        'c': {'x': 1, 'y': [2]},
    }


@pytest.mark.parametrize('name', ['', '/a', 'a/b_2', '~/a', ' /a  b ', ['/a', '/b']])
def test_topics_are_taken(name):
    taken = options_from(SignalOptions, {'effort_topic': name}, 'test').effort_topic
    assert taken == (' '.join(name) if isinstance(name, list) else ' '.join(name.split()))


@pytest.mark.parametrize(
    'name',
    ['a//b', '/', 'a/', '1a', 'a/2', 'a-b', '..', 'a\0', 'ä', 'a~', '/a' * 101, 'x' * 5_000_000],
)
def test_what_is_no_topic_is_refused(name):
    with pytest.raises(ConfigError, match='effort_topic; expected a topic') as refusal:
        options_from(SignalOptions, {'effort_topic': name}, 'test')
    assert len(str(refusal.value)) < 300


def test_numbers_of_numpy_and_whole_numbers_for_floats_are_taken():
    values = {
        'cutoff': np.float32(4.0),
        'count': np.int64(2),
        'search': np.bool_(False),
        'gains': np.array([1.0, 2.0]),
    }
    taken = options_from(Example, values, 'test')
    assert taken == Example(4.0, 2, False, gains=(1.0, 2.0))
    assert [type(x) for x in (taken.cutoff, taken.count, taken.search)] == [float, int, bool]
    assert type(options_from(Example, {'cutoff': 4}, 'test').cutoff) is float
    assert options_from(Example, {'gains': [np.float64(3), 1]}, 'test').gains == (3.0, 1.0)
    number = yaml_content('cutoff: 1e-3', 'test')  # a text in YAML 1.1
    assert options_from(Example, number, 'test').cutoff == 1e-3
    for wrong in (
        {'count': 2.0},
        {'count': True},
        {'search': 1},
        {'cutoff': 'x'},
        {'cutoff': np.float64('nan')},
        {'gains': np.eye(2)},
        {'gains': (-1.0,)},
        {'laws': ('viscuos',)},
        {'cutoff': 1000.0},
    ):
        with pytest.raises(ConfigError):
            options_from(Example, wrong, 'test')


def test_options_made_in_code_are_checked_as_those_of_files():
    check_ranges(Example())
    with pytest.raises(ConfigError, match=r'option cutoff; expected 0.0 to 500.0 Hz; found 600'):
        check_ranges(replace(Example(), cutoff=600.0))
    with pytest.raises(ConfigError, match=r'option gains, element 2; expected 0.0 to inf N m/A'):
        check_ranges(Example(gains=(1.0, -1.0)))


@pytest.fixture(scope='module')
def schema():
    """Return the JSON schema as ``inertial-id schema`` prints it."""
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(['schema']) == 0
    return json.loads(out.getvalue())


def test_schema_is_one_and_holds_every_option_with_its_unit(schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    assert set(schema['properties']) == {*METHODS, 'design', 'driver'}
    own = schema['properties']['serial_arm']['properties']
    assert set(own) == {f for f in options_class('serial_arm').__dataclass_fields__}
    assert own['cutoff']['description'].endswith('[Hz]') and own['cutoff']['type'] == 'number'
    assert own['effort_kind']['enum']


@pytest.mark.parametrize('path', CONFIG, ids=lambda p: p.name)
def test_shipped_configurations_fit_the_schema(schema, path):
    jsonschema.validate(yaml.safe_load(path.read_text()), schema)


def test_the_schema_and_the_reader_refuse_the_same(schema, tmp_path):
    for line in (
        'cutof: 3',
        'gear_ratio: [a]',
        'cutoff: -3',
        'estimator: rigde',
        'friction: [[viscous]]',
    ):
        text = f'serial_arm: {{{line}}}'
        refused(tmp_path, text)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(yaml.safe_load(text), schema)
    jsonschema.validate(yaml.safe_load('serial_arm:'), schema)
    (tmp_path / 'empty.yaml').write_text('serial_arm:')
    assert load_options(str(tmp_path / 'empty.yaml'))[0] == 'serial_arm'


# JSON escapes those beyond as two surrogates, which YAML does not read.
LETTERS = st.characters(max_codepoint=0xFFFD, exclude_categories=('Cs',))


def values_of(setting):
    """Return a strategy for all values that an option may have."""
    if setting.choices:
        element = st.sampled_from(list(setting.choices))
    elif setting.topic:
        element = st.just('') | st.from_regex(
            r'\A/?[a-z_][a-z0-9_]{0,9}(/[a-z_][a-z0-9_]{0,9})?\Z'
        )
    elif setting.kind is bool:
        element = st.booleans()
    elif setting.kind is int:
        element = st.integers(setting.at_least, setting.at_most)
    elif setting.kind is float:
        element = st.floats(
            setting.at_least, setting.at_most, allow_nan=False, allow_infinity=False
        )
    else:
        element = st.text(LETTERS, max_size=12)
    return st.lists(element, max_size=3).map(tuple) if setting.many else element


BLOCKS = {**{name: options_class(name) for name in METHODS}, 'design': DesignOptions}


@pytest.mark.parametrize('block', BLOCKS)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_setting_is_read_again_as_it_was_written(block, data):
    """Plain values through YAML and through JSON, which every configuration file is of."""
    kind = BLOCKS[block]
    chosen = data.draw(
        st.fixed_dictionaries({}, optional={n: values_of(s) for n, s in settings_of(kind).items()})
    )
    written = options_from(kind, chosen, 'code')
    assert {name: getattr(written, name) for name in chosen} == chosen
    for text in (yaml.safe_dump(plain(chosen)), json.dumps(plain(chosen))):
        assert options_from(kind, yaml_content(text, 'a file'), 'a file') == written
    whole = yaml.safe_dump(plain(asdict(written)))
    assert options_from(kind, yaml_content(whole, 'a file'), 'a file') == written


def test_a_configuration_is_named_as_in_config_or_is_a_file(tmp_path):
    (tmp_path / 'mine.yaml').write_text('driver: {namespace: wall}')
    assert read_blocks(str(tmp_path / 'mine.yaml'), METHODS) == {'driver': {'namespace': 'wall'}}
    assert read_blocks('franka', METHODS)['driver']['joint_states'] == 'franka/joint_states'
    with pytest.raises(ConfigError, match="'frank' does not come.*did you mean 'franka'"):
        read_blocks('frank', METHODS)
