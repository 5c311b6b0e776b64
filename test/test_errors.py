"""Messages are one thing to read whatever stands in the files that they quote."""

import unicodedata

import pytest

from ros_inertial_id.errors import ConfigError, LONGEST_MESSAGE


def test_a_message_is_cut_in_its_middle():
    text = str(ConfigError('mounting', found='begin' + 'x' * 5_000_000 + 'end', do='give rpy'))
    assert len(text) < LONGEST_MESSAGE + 20
    assert text.startswith('mounting; found begin') and text.endswith('end; give rpy')


@pytest.mark.parametrize(
    'found, said', [(unicodedata.normalize('NFD', 'é1'), True), ('é2', False), ('é1', False)]
)
def test_the_same_letters_coded_differently_are_named_as_such(found, said):
    error = ConfigError('joints', expected=['é1', 'ü'], found=repr([found, 'b']))
    assert ('coded in two ways' in str(error)) == said


def test_what_commands_a_terminal_is_shown():
    assert str(ConfigError('a\x1b[2J', found='\ud800')) == r'a\x1b[2J; found \ud800'
