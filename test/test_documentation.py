"""Commands of the tutorials print what the pages show; links lead to pages and headings."""

import importlib
import os
from pathlib import Path
import re
import shlex
import subprocess
import sys

import numpy as np
import pinocchio as pin
import pytest

from ros_inertial_id.cli.arguments import parse
from ros_inertial_id.cli.main import main

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / 'README.md',
    ROOT / 'CONTRIBUTING.md',
    ROOT / 'benchmark' / 'README.md',
    *sorted((ROOT / 'doc').rglob('*.md')),
]
TUTORIALS = [page for page in PAGES if page.parent.name == 'tutorials']
PATIENCE = 600.0  # [s] for a command on a loaded machine; none takes ten
NUMBER = re.compile(r'(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?')


def blocks(page, language):
    """Return [(what stands before a block of a language, its text)] of a page."""
    parts = re.split(
        r'^```(\w*)\n(.*?)^```$', page.read_text(encoding='utf-8'), flags=re.DOTALL | re.MULTILINE
    )
    return [(parts[k - 1], parts[k + 1]) for k in range(1, len(parts), 3) if parts[k] == language]


def steps(text):
    """Return [(command, lines that it prints)] of a block of console."""
    out = []
    for part in re.split(r'^\$ ', text, flags=re.MULTILINE)[1:]:
        command, printed = re.match(r'((?:[^\n]*\\\n)*[^\n]*\n)(.*)', part, re.DOTALL).groups()
        out.append((command, printed.splitlines()))
    return out


def same(shown, printed):
    """Return whether a line is the one shown: its words, its numbers within 5 % or 0.005."""
    if ' '.join(NUMBER.sub('#', shown).split()) != ' '.join(NUMBER.sub('#', printed).split()):
        return False
    return [float(x) for x in NUMBER.findall(printed)] == pytest.approx(
        [float(x) for x in NUMBER.findall(shown)], rel=0.05, abs=0.005
    )


def printed_by(command, capsys):
    """Return what a command prints; those of inertial-id are given to its main function."""
    words = shlex.split(command.replace('\\\n', ''))
    if words[0] == 'inertial-id':
        status = main(words[1:])
        printed, errors = capsys.readouterr()
    else:
        environment = {
            **os.environ,
            'PYTHONPATH': str(ROOT),
            'PATH': f'{Path(sys.executable).parent}:{os.environ["PATH"]}',
        }
        done = subprocess.run(
            ['bash', '-c', command],
            text=True,
            capture_output=True,
            env=environment,
            timeout=PATIENCE,
        )
        status, printed, errors = done.returncode, done.stdout, done.stderr
    assert status == 0, f'{command}{errors}'
    return printed


@pytest.mark.parametrize('page', TUTORIALS, ids=lambda page: page.stem)
def test_commands_of_a_tutorial_print_what_it_shows(page, tmp_path, monkeypatch, capsys):
    todo = [step for _, text in blocks(page, 'console') for step in steps(text)]
    if not todo:
        pytest.skip('none of its commands can be run here; the page says why')
    for folder in ('config', 'examples', 'urdf'):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    for command, shown in todo:
        printed = printed_by(command, capsys)
        lines = iter(printed.splitlines())
        for line in shown:
            if line != '...':  # of what stands between only that is shown
                assert any(same(line, other) for other in lines), f'{line!r}\n{printed}'


@pytest.mark.parametrize('page', TUTORIALS, ids=lambda page: page.stem)
def test_what_is_not_run_says_why(page):
    for before, text in blocks(page, 'sh'):
        assert re.search(r'<!-- not run: .+ -->\s*$', before), text


def test_python_of_the_pages_runs(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / 'examples')
    monkeypatch.setattr(sys, 'argv', ['simulated_log.py', '--out', str(tmp_path)])
    importlib.import_module('simulated_log').main()
    monkeypatch.chdir(tmp_path)
    Path('first.csv').rename('log.csv')
    Path('second.csv').rename('other_log.csv')
    Path('result').mkdir()
    names = dict.fromkeys('qva', np.full(3, 0.1))
    for page in (ROOT / 'README.md', ROOT / 'doc' / 'api.md', ROOT / 'doc' / 'use_a_model.md'):
        for _, text in blocks(page, 'python'):
            exec(compile(text, page.name, 'exec'), names)
            names['result'].model.save('result/model.yaml')
    robot = names['robot']  # of pinocchio, whose algorithms know nothing of ours
    data, zero = robot.createData(), np.zeros(3)
    gravity = pin.nonLinearEffects(robot, data, names['q'], zero)
    coriolis = pin.nonLinearEffects(robot, data, names['q'], names['v']) - gravity
    np.testing.assert_allclose(names['g'], gravity, atol=1e-9)
    np.testing.assert_allclose(
        names['tau'], names['M'] @ names['a'] + coriolis + gravity + names['f'], atol=1e-9
    )
    print(names['tau'], coriolis, names['f'])
    assert {path.suffix for path in tmp_path.iterdir()} >= {'.urdf', '.xml', '.html', '.yaml'}


@pytest.mark.parametrize('page', PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_the_pages_can_be_given(page):
    text = ''.join(
        text for language in ('bash', 'sh', 'console') for _, text in blocks(page, language)
    ).replace('\\\n', '')
    for line in re.findall(r'^(?:\$ )?inertial-id (.*)', text, re.MULTILINE):
        words = shlex.split(line, comments=True)
        if words[0] not in ('--version', 'completion'):
            parse(words)


def anchors(page):
    """Return the anchors of the headings of a page, as GitHub and MyST make them."""
    text = re.sub(
        r'^```.*?^```$', '', page.read_text(encoding='utf-8'), flags=re.DOTALL | re.MULTILINE
    )
    titles = re.findall(r'^#+ (.+)$', text, re.MULTILINE)
    return {re.sub(r'[^\w\- ]', '', title.lower()).strip().replace(' ', '-') for title in titles}


@pytest.mark.parametrize('page', PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = re.sub(
        r'^```.*?^```$', '', page.read_text(encoding='utf-8'), flags=re.DOTALL | re.MULTILINE
    )
    for target in re.findall(r'\]\(([^)\s]+)\)', text):
        if not target.startswith(('http', 'mailto')):
            path, _, heading = target.partition('#')
            other = page.parent / path if path else page
            assert other.exists(), target
            assert not heading or heading in anchors(other), target


def test_pages_that_the_package_names_exist():
    files = [
        path
        for folder in ('ros_inertial_id', 'config', 'launch', 'examples', 'test')
        for path in (ROOT / folder).rglob('*')
        if path.suffix in ('.py', '.yaml', '.hpp')
    ]
    named = {
        name
        for path in files
        for name in re.findall(r'\bdoc/[\w/]+\.md', path.read_text(encoding='utf-8'))
    }
    assert named and not [name for name in named if not (ROOT / name).exists()]
