"""The command line itself: what it says before any verb runs, and how verbs are asked for."""

import json
import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys

import pytest
from typed_words import refused

from ros_inertial_id import __version__
from ros_inertial_id.cli.arguments import all_verbs, parse
from ros_inertial_id.cli.console import changed
from ros_inertial_id.cli.main import main
from ros_inertial_id.methods import METHODS

ARM = str(Path(__file__).parents[2] / 'urdf' / 'arm2.urdf')
HEAVY = ('numpy', 'scipy', 'pinocchio', 'yaml', 'matplotlib', 'rosbags', 'rich', 'jinja2')


@pytest.mark.parametrize('words', [['--help'], ['--version'], [], ['identify', '--help']])
def test_help_and_version_import_nothing_heavy(words):
    code = (
        'import sys\n'
        'from ros_inertial_id.cli.main import main\n'
        'try:\n'
        f'    main({words!r})\n'
        'except SystemExit as end:\n'
        '    assert not end.code\n'
        f'print([name for name in {HEAVY!r} if name in sys.modules])\n'
    )
    out = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines()[-1] == '[]'


def test_without_words_the_verbs_stand_in_groups_with_an_example_each(capsys):
    assert main([]) == 0
    text = capsys.readouterr().out
    for name, verb in all_verbs().items():
        assert f'inertial-id {name} {verb.example}' in text and verb.text in text
        assert text.count(f'\n{verb.group}:\n') == 1


def test_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as end:
        main(['--version'])
    assert not end.value.code
    assert capsys.readouterr().out == f'inertial-id {__version__}\n'


@pytest.mark.parametrize('given, used', [(None, '1'), ('4', '4')])
def test_blas_starts_one_thread_unless_more_are_asked_for(monkeypatch, capsys, given, used):
    monkeypatch.setenv('OPENBLAS_NUM_THREADS', given or '')
    if given is None:
        monkeypatch.delenv('OPENBLAS_NUM_THREADS')
    main([])
    assert os.environ['OPENBLAS_NUM_THREADS'] == used


@pytest.mark.parametrize('name', [n for n in all_verbs() if n not in ('schema', 'demo')])
def test_examples_are_understood(name):
    import shlex

    options = parse([name, *shlex.split(all_verbs()[name].example)])
    assert options.verb == name


def test_mistyped_verbs_and_options_are_answered_by_the_nearest(capsys):
    assert "did you mean 'identify'?" in refused(capsys, 'identfy', 'bag')
    assert "did you mean '--validate'?" in refused(
        capsys, 'identify', 'bag', '--out', 'x', '--valdate', 'other'
    )
    for out in ('--outt', '-out', '--OUT', '-o'):
        assert "did you mean '--out'?" in refused(capsys, 'identify', 'bag', out, 'x')
    assert 'there is no option --mountin' in refused(
        capsys, 'identify', 'bag', '--out', 'x', '--mountin', 'upright'
    )  # no abbreviations
    arm = Path(__file__).parents[2] / 'urdf' / 'arm3.urdf'
    message = refused(capsys, 'design', arm, '--lock', '*finger*')
    assert "--lock '*finger*' is no joint that moves; there is: " in message
    assert "did you mean '--period'?" in refused(capsys, 'design', 'arm.urdf', '--duration', '5')
    for option in ('--duration', '--start'):
        assert 'BAG@START:END' in refused(capsys, 'identify', 'bag', option, '5')
    assert "did you mean 'franka'?" in refused(capsys, 'identify', 'bag', '--config', 'frnaka')
    assert "did you mean 'ordinary'?" in refused(
        capsys, 'identify', 'bag', '--out', 'x', '--estimator', 'ols'
    )
    assert 'required: BAG' in refused(capsys, 'identify')
    assert 'give a recording by --empty' in refused(capsys, 'drive-gains', 'bag')
    assert parse(['drive-gains', '--empty', 'a', 'b', '--empty', 'c']).empty == ['a', 'b', 'c']
    assert 'invalid choice' in refused(capsys, 'completion', 'sh')
    assert "did you mean 'mujoco'?" in refused(capsys, 'export', 'result', '--for', 'mjcf')
    assert 'did you mean' not in refused(capsys, 'train', 'bag')  # drive-gains was the nearest
    message = refused(capsys, 'identify', 'bag', '--out', '/tmp/x', '--method', 'serial_amr')
    assert all(method in message for method in METHODS)


def test_descriptions_that_are_empty_or_xacro_arerefused(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv('PATH', str(tmp_path))
    empty, xacro = tmp_path / 'empty.urdf', tmp_path / 'arm.urdf.xacro'
    empty.write_text('')
    xacro.write_text('<robot xmlns:xacro="x"><xacro:property name="a" value="1"/></robot>')
    words = ('identify', 'bag', '--out', str(tmp_path / 'out'), '--urdf')
    assert 'is empty' in refused(capsys, *words, str(empty))
    assert 'xacro' in refused(capsys, *words, str(xacro))
    tool = tmp_path / 'xacro'
    tool.write_text('#!/bin/sh\necho "no argument arm" >&2\nexit 1\n')
    tool.chmod(0o755)
    monkeypatch.setenv('PATH', f'{tmp_path}{os.pathsep}/bin{os.pathsep}/usr/bin')
    assert 'no argument arm' in refused(capsys, *words, str(xacro))
    xacro.write_text('<robot name="a"><!-- once <xacro:property name="a" value="1"/> --></robot>')
    assert 'bag does not exist' in refused(capsys, *words, str(xacro))


@pytest.mark.parametrize(
    'verb, words',
    [
        ('design', 'PATH --out o'),
        ('design', f'{ARM} --config PATH --out o'),
        ('design', f'{ARM} --model PATH --out o'),
        ('import', f'PATH --urdf {ARM} --out o'),
        ('import', 'l.csv --urdf PATH --out o'),
        ('check', 'PATH'),
        ('check', 'bag --config PATH'),
        ('identify', 'PATH --out o'),
        ('identify', 'bag --validate PATH --out o'),
        ('validate', 'PATH bag'),
        ('compare', 'PATH PATH'),
        ('drift', 'PATH bag'),
        ('payload', 'PATH bag'),
        ('payload', '--empty PATH --loaded bag'),
        ('drive-gains', '--empty PATH --loaded bag 1'),
        ('open', 'PATH'),
        ('calibrate', 'PATH --empty bag --out o'),
        ('postures', 'PATH --held bag'),
    ],
)
def test_paths_that_the_system_refuses_are_said_in_a_line(capsys, tmp_path, verb, words):
    (tmp_path / 'file').write_text('')
    (tmp_path / 'loop').symlink_to(tmp_path / 'loop')
    for path in ('x' * 300, str(tmp_path / 'file' / 'under'), str(tmp_path / 'loop')):
        message = refused(capsys, verb, *words.replace('PATH', path).split())
        assert len(message) < 2500


@pytest.mark.parametrize('shell', ['bash', 'zsh', 'fish'])
def test_completions_name_verbs_and_options(capsys, shell):
    assert main(['completion', shell]) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in all_verbs()) and 'validate' in script
    if shutil.which(shell):
        checked = subprocess.run([shell, '-n'], input=script, text=True, capture_output=True)
        assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize('closed', [1, 2], ids=['stdout', 'stderr'])
@pytest.mark.parametrize('words, status', [(['schema'], 0), (['schema', '--absent'], 2)])
def test_closed_streams_leave_status_and_the_other_stream_as_they_are(closed, words, status):
    line = f'exec "$0" -m ros_inertial_id "$@" {closed}>&-'
    done = subprocess.run(
        ['sh', '-c', line, sys.executable, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == status
    if closed == 1:
        assert 'Traceback' not in done.stderr and bool(done.stderr) == bool(status)
    else:
        assert bool(done.stdout) == (not status)


# A result that is so short that it is written when the command ends.
SMALL = """
import sys
from ros_inertial_id.cli import verbs
from ros_inertial_id.cli.main import main
verbs.schema_ = lambda options: print('short')
sys.exit(main(['schema']))
"""


@pytest.mark.skipif(not Path('/dev/full').exists(), reason='no device that is always full')
def test_a_result_that_cannot_be_written_is_one_line_and_status_2():
    with open('/dev/full', 'w') as full:
        done = subprocess.run(
            [sys.executable, '-c', SMALL],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, 'PYTHONUNBUFFERED': ''},
        )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and 'No space left' in done.stderr


def test_help_of_a_verb_is_asked_for_as_elsewhere(capsys):
    with pytest.raises(SystemExit) as end:
        main(['help', 'drift'])
    assert not end.value.code and 'model.yaml of this kind of robot' in capsys.readouterr().out


@pytest.mark.parametrize('words', [['schema'], ['postures', 'absent.yaml']])
def test_interrupting_the_start_prints_no_traceback(words):
    # The interpreter says when our package begins to be imported: from there on it is ours.
    command = [sys.executable, '-X', 'importtime', '-m', 'ros_inertial_id', *words]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    lines = []
    for line in process.stderr:
        lines.append(line)
        if 'numpy' in line:  # the verb's imports have begun
            process.send_signal(signal.SIGINT)
            break
    rest = process.stderr.read()
    assert process.wait() in (130, -signal.SIGINT)
    assert lines and 'Traceback' not in rest and 'KeyboardInterrupt' not in rest


def test_every_verb_that_prints_json_is_documented_with_its_keys():
    doc = Path(__file__).parents[2] / 'doc'
    documented = (doc / 'json.md').read_text(encoding='utf-8')
    assert not [
        name
        for name, verb in all_verbs().items()
        if verb.prints_json and f'`{name}`' not in documented
    ]
    text = (doc / 'command_line.md').read_text(encoding='utf-8')
    assert not [name for name in all_verbs() if name not in text]


def test_a_bag_says_as_json_what_the_documentation_names(capsys, tmp_path):
    import re

    urdf = Path(__file__).parents[2] / 'urdf' / 'arm2.urdf'
    log = tmp_path / 'log.csv'
    log.write_text('time,q1,q2,tau1,tau2\n0.00,0,0,1,2\n0.01,0,0,1,2\n')
    assert (
        main(['import', str(log), '--urdf', str(urdf), '--out', str(tmp_path / 'bag'), '--json'])
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found['messages'] == {'/joint_states': 2} and found['bag'] == str(tmp_path / 'bag')
    assert found['schema'] == 'ros_inertial_id/import/1' and str(tmp_path) in found['verdict'][0]
    line = next(
        words
        for words in (Path(__file__).parents[2] / 'doc' / 'json.md')
        .read_text(encoding='utf-8')
        .split('\n')
        if words.startswith('| `import` |')
    )
    assert set(found) == {'schema', 'verdict', *re.findall(r'`(\w+)`', line)[1:]}


@pytest.mark.parametrize('option', ['--lock', '--links', '--drive'])
def test_words_behind_a_list_are_answered_by_the_list(capsys, option):
    assert main(['identify', 'bag', option, 'a', 'b', 'c', '--out', 'x']) == 2
    assert f'{option} a,b,c' in capsys.readouterr().err


def test_joints_are_locked_by_an_option(capsys):
    options = parse(['identify', 'bag', '--out', 'x', '--lock', 'wrist,*finger*'])
    assert changed(options, 'mounting') == {'locked_joints': ('wrist', '*finger*')}
    assert changed(parse(['identify', 'bag', '--out', 'x']), 'mounting') == {}
    weighed = parse(['payload', 'model.yaml', '--frame', 'tool0', 'bag'])  # options between
    assert (weighed.model, weighed.bags) == ('model.yaml', ['bag'])


def test_open_shows_the_page_of_a_result(capsys, tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr('webbrowser.open', shown.append)
    (tmp_path / 'report.html').write_text('<html>')
    assert main(['open', str(tmp_path)]) == 0
    assert shown == [(tmp_path / 'report.html').as_uri()]
    (tmp_path / 'other.html').write_text('<html>')
    capsys.readouterr()
    assert 'report.html' in refused(capsys, 'open', str(tmp_path))
    assert 'does not exist' in refused(capsys, 'open', str(tmp_path / 'none'))
