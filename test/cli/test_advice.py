"""Advice: every option that a message names is one of the verb that says it."""

import argparse
import ast
from pathlib import Path
import re

import pytest

import ros_inertial_id
from ros_inertial_id.cli.arguments import all_verbs, parser

ROOT = Path(ros_inertial_id.__file__).parent
READ_LOGS = ('check', 'identify', 'validate', 'drift', 'payload', 'compare', 'drive-gains')
BY_OPTIONS = ('check', 'identify', 'drive-gains', 'payload')  # that take no model alone
FORCED = ('validate', 'compare', 'payload', 'drive-gains')
# Verbs that may say what stands in a file, by the beginning of its path; of others any.
SAID_BY = {
    'measurement/bags/log.py': ('import', *BY_OPTIONS),
    'measurement/bags/': ('import', *READ_LOGS),
    'measurement/joints/': BY_OPTIONS,
    'identification/prepare/mounting.py': ('check', 'identify', 'drive-gains'),
    'identification/prepare/': BY_OPTIONS,
    'identification/settings.py': ('check', 'identify', 'drive-gains'),
    'dynamics/robot_model.py': ('check', 'identify', 'drive-gains', 'design'),
    'checks/admission.py': FORCED,
    'checks/': READ_LOGS,
    'procedures/payload.py': ('payload',),
    'procedures/bag_map.py': ('identify', 'drift'),
    'processes.py': ('identify', 'drift'),
    'report/comparison.py': ('compare',),
    'report/load_data.py': ('payload',),
}
BY_CONFIGURATION = 'locked_joints:'  # stands beside --lock for verbs and nodes without it
OTHER_PROGRAMS = ('ros2 ', '--ros-args')


def options_of_verbs():
    """Return {verb: its options}."""
    (verbs,) = [
        action
        for action in parser(all_verbs())._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    return {name: set(of_verb._option_string_actions) for name, of_verb in verbs.choices.items()}


def texts(path):
    """Yield the texts of a file that are no docstrings, pieces of one text together."""
    tree = ast.parse(path.read_text(encoding='utf-8'))
    pieces = {
        id(piece)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for piece in ast.walk(node)
    } - {id(node) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            pieces.add(id(node.value))  # a docstring
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield ''.join(x.value for x in node.values if isinstance(x, ast.Constant))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in pieces:
                yield node.value


def refused(text, verbs, options):
    """Return the options in a text that a verb of those that say it does not have."""
    if any(words in text for words in OTHER_PROGRAMS):
        return []
    out = []
    for match in re.finditer(r'(?<![\w-])--[a-z][a-z-]*', text):
        clause = text[: match.start()].split(';')[-1]
        named = re.findall(rf'\b(?:inertial-id ({"|".join(options)})|identify (?=with $))', clause)
        asked = [verb or 'identify' for verb in named[-1:]] or verbs
        by_configuration = match[0] == '--lock' and BY_CONFIGURATION in text
        if not by_configuration and not all(match[0] in options[verb] for verb in asked):
            out.append(f'{match[0]} of {", ".join(asked)}: {text}')
    return out


def verbs_that_say(path, every):
    """Return the verbs that may say what stands in a file."""
    name = path.relative_to(ROOT).as_posix()
    for begin, verbs in SAID_BY.items():
        if name.startswith(begin):
            return verbs
    return ()


def test_options_in_messages_are_those_of_the_verb():
    options, wrong = options_of_verbs(), []
    for path in sorted(ROOT.rglob('*.py')):
        verbs = verbs_that_say(path, options)
        for text in texts(path):
            wrong += [f'{path.name}: {each}' for each in refused(text, verbs, options)]
    assert not wrong, '\n'.join(wrong)


@pytest.mark.parametrize('text', ['give --columns', 'inertial-id check --keep-all'])
def test_an_option_of_another_verb_is_found(text):
    options = options_of_verbs()
    assert refused(text, ('design',), options)
    assert not refused('inertial-id identify --keep-all', ('check',), options)


@pytest.mark.parametrize('verb', READ_LOGS)
def test_every_verb_that_reads_logs_takes_them_as_import_does(verb):
    assert {'--columns', '--rate', '--joints'} <= options_of_verbs()[verb]
