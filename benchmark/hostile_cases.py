"""
Hostile cases: what the command line answers to files and numbers that are wrong.

    python benchmark/hostile_cases.py [recordings] [descriptions] [files] [surroundings]

Writes recordings of the two-joint arm, spoils one thing at a time and runs the command line on
it; prints the tables of doc/hostile_cases.md: what was wrong, exit status, message.  A traceback,
a status other than 0, 2 or 3, a good verdict with nothing said of what was spoilt, or no answer in
time are printed as FAULT, counted, and the exit status is 1.  Two minutes; parts of it by name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
import io
import os
from pathlib import Path
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
from spoilt_bags import ARM, bag, drop, spoil, times
import zstandard

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 60.0  # [s], of a machine with other work
HEAD = """# Hostile cases

What the command line answers to files and numbers that are wrong, as `benchmark/hostile_cases.py`
printed it: one thing is spoilt at a time in a good recording of a two-joint arm. No case ends in
a traceback, and none goes on silently. Damaged bags, stream faults and random input have tests of
their own: `test/measurement/bags/`, `test/nodes/`, `benchmark/damaged_bags.py`.
"""


@dataclass(frozen=True)
class Case:
    """
    A call of the command line on something wrong.

    harmless : nothing needs to be said, since the result is the same
    folder, environment : in which it runs; largest : file that it may write [bytes]
    python : text of a program that runs instead of the command line
    """

    wrong: str
    arguments: list[str]
    harmless: bool = False
    folder: Path = ROOT
    environment: Mapping[str, str] = field(default_factory=dict)
    python: str = ''
    largest: int = resource.RLIM_INFINITY


def recordings(folder: Path, good: Path) -> list[Case]:
    """Return the Cases of recordings that are wrong."""
    rng = np.random.default_rng(2)

    def swapped(t):
        t = t.copy()
        t[500:520] -= 2 * 10 ** 9
        return t

    def still(fields):
        for name, x in fields.items():
            x[:] = x[0] if name != 'velocity' else 0.0

    def noise(fields):
        fields['effort'] = rng.normal(size=fields['effort'].shape)

    def nan_now_and_then(fields):
        fields['effort'][rng.random(len(fields['effort'])) < 0.02] = np.nan

    def permuted(fields):
        fields['effort'] = fields['effort'][:, ::-1].copy()

    changes: dict[str, dict] = {
        'wrong joint names': {'names': ('shoulder', 'elbow')},
        'no effort in any message': {'change': drop('effort')},
        'effort always zero': {'change': times('effort', 0.0)},
        'effort is noise': {'change': noise},
        'efforts negated': {'change': times('effort', -1.0)},
        'efforts of the joints permuted': {'change': permuted},
        'efforts in N mm': {'change': times('effort', 1000.0)},
        'positions in degrees': {'change': times('position', 180.0 / np.pi)},
        'a NaN in position': {'change': spoil('position', np.nan, 700)},
        'efforts NaN throughout': {'change': times('effort', np.nan)},
        'an infinite velocity': {'change': spoil('velocity', np.inf, 700)},
        'a spike of velocity': {'change': spoil('velocity', 500.0, 700)},
        'time runs backwards for 20 messages': {'stamps': swapped},
        'all stamps equal': {'stamps': lambda t: np.full_like(t, t[0])},
        'all stamps zero': {'stamps': np.zeros_like},
        'half a second': {'seconds': 0.5},
        'one message': {'seconds': 0.003},
        'the arm stands still': {'change': still},
        '2 % of the efforts NaN': {'change': nan_now_and_then},
        "one joint's effort constant": {'change': spoil('effort', 3.0)},
        'escape sequences in names': {'names': ('\x1b[31mjoint1', 'joint2')},
    }
    return [Case(case, ['identify', str(bag(folder / f'bag{k}', **given))])
            for k, (case, given) in enumerate(changes.items())]


def descriptions(folder: Path, good: Path) -> list[Case]:
    """Return the Cases of robot descriptions that are wrong."""
    def changed(old: str, new: str) -> str:
        assert old in ARM
        return ARM.replace(old, new, 1)

    bomb = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    back = ('<joint name="back" type="fixed"><parent link="link2"/><child link="base_link"/>'
            '</joint></robot>')
    wrong = {
        'no robot description': '',
        'an empty URDF': '',
        'a description without inertia': ARM.replace('<inertial', '<visual').replace(
            '</inertial', '</visual'),
        'a mass of 1e308': changed('<mass value="5"', '<mass value="1e308"'),
        'a mass of nan': changed('<mass value="5"', '<mass value="nan"'),
        'an infinite inertia': changed('izz="0.026588"', 'izz="inf"'),
        'an axis of zero length': changed('<axis xyz="0 0 1"/>', '<axis xyz="0 0 0"/>'),
        'a revolute joint declared prismatic': changed('name="joint2" type="revolute"',
                                                       'name="joint2" type="prismatic"'),
        'joints in a circle': changed('</robot>', back),
        'an entity bomb': changed('<!--', bomb + '<!--'),
        'a description that is cut': ARM[:len(ARM) // 2],
        'a xacro file as URDF': changed('<robot ', (
            '<robot xmlns:xacro="http://ros.org/wiki/xacro" ')).replace(
                '</robot>', '<xacro:arm name="x"/></robot>')}
    out = []
    for k, (case, text) in enumerate(wrong.items()):
        path = folder / f'{k}.urdf'
        path.write_text(text)
        out.append(Case(case, ['identify', str(good), '--urdf', str(path)] if k else [
            'identify', str(bag(folder / 'bare', urdf=''))]))
    return [*out, Case('design with a mass of nan', [
        'design', str(folder / '4.urdf'), '--out', str(folder / 'motion')])]


def files(folder: Path, good: Path) -> list[Case]:
    """Return the Cases of files that are wrong."""
    def text(name: str, content: str | bytes) -> str:
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    hole = folder / 'hole'
    hole.mkdir()
    os.mkfifo(hole / 'hole_0.mcap')
    (folder / 'dangling').symlink_to(folder / 'nowhere')
    (folder / 'empty').mkdir()
    cut = folder / 'cut'
    shutil.copytree(good, cut)
    storage = next(cut.glob('*.mcap'))
    storage.write_bytes(storage.read_bytes()[:storage.stat().st_size // 2])
    run(Case('nothing', ['identify', str(good), '--out', str(folder / 'good_result'),
                         '--no-report']))
    model = folder / 'good_result' / 'model.yaml'
    whole = model.read_text() if model.exists() else ''
    table = 't,q1,q2,tau1,tau2\n' + '0.0,0,0,0,0\n' * 5
    bomb = 'a: &a [x,x,x,x,x,x,x,x,x]\n' + ''.join(
        f'{c}: &{c} [*{b},*{b},*{b},*{b},*{b},*{b},*{b},*{b},*{b}]\n'
        for b, c in zip('abcdefgh', 'bcdefghi')) + 'serial_arm: *i\n'
    identify = ['identify', str(good)]
    into = ['--out', str(folder / 'log'), '--urdf', str(ROOT / 'urdf' / 'arm2.urdf')]
    return [
        Case('no such bag', ['identify', str(folder / 'none')]),
        Case('an empty folder', ['identify', str(folder / 'empty')]),
        Case('a dangling link', ['identify', str(folder / 'dangling')]),
        Case('a FIFO in the bag', ['identify', str(hole)]),
        Case('a name of 300 characters', ['identify', 'x' * 300]),
        Case('a bag that is cut in the middle', ['identify', str(cut)]),
        Case('5 kB of random bytes as a bag', ['identify', text('junk.mcap', os.urandom(5000))]),
        Case('the same bag twice', ['identify', str(good), str(good)]),
        Case('validation by the training bag', [*identify, '--validate', str(good)]),
        Case('a log with a text in a number', [
            'import', text('log.csv', table + '1,2,three,4,5\n'), *into]),
        Case('a log with a cell of 1 MB', [
            'import', text('big.csv', table + 'x' * 10 ** 6), *into]),
        Case('an unknown option', [*identify, '--config', text(
            'a.yaml', 'serial_arm: {cuttof: 5}')]),
        Case('a NaN in the options', [*identify, '--config', text(
            'b.yaml', 'serial_arm: {cutoff: .nan}')]),
        Case('options that are not UTF-8', [*identify, '--config', text(
            'c.yaml', b'cutoff: \xff5')]),
        Case('a YAML alias bomb', [*identify, '--config', text('d.yaml', bomb)]),
        Case('a key twice', [*identify, '--config', text(
            'i.yaml', 'serial_arm: {cutoff: 5.0, cutoff: 9.0}')]),
        Case('a cutoff of 1e-9 Hz', [*identify, '--config', text(
            'j.yaml', 'serial_arm: {cutoff: 1.0e-9}')]),
        Case('decimate: 1e8', [*identify, '--config', text(
            'k.yaml', 'serial_arm: {decimate: 100000000}')]),
        Case('a negative mass that is given', [*identify, '--config', text(
            'l.yaml', "serial_arm: {given: ['m2 -5']}")]),
        Case('10 GB of zeros', ['identify', zeros(folder / 'zeros.mcap', 10 << 30)]),
        Case('a folder that is not UTF-8', ['identify', shutil.copytree(
            good, os.fsdecode(os.fsencode(folder) + b'/\xff'))], harmless=True),
        Case('a mounting that is no direction', [*identify, '--mounting', 'ceiling']),
        Case('a mounting given in degrees', [*identify, '--mounting', 'rpy 90 0 0']),
        Case('a model file that is cut', [
            'validate', text('g.yaml', whole[:len(whole) // 2]), str(good)]),
        Case('a model file with an unknown key', [
            'validate', text('h.yaml', whole + 'extra: 1\n'), str(good)]),
        Case('an output folder that does not exist', [*identify, '--out', '/proc/nowhere']),
        Case('no space for the model', [*identify, '--out', str(folder / 'full')], largest=2000),
        Case('a model file with a cutoff of 0', ['validate', text('n.yaml', re.sub(
            r'  cutoff: \d+[.]5', '  cutoff: 0.0', whole)), str(good)]),
        Case('a NaN among what is given', [*identify, '--config', text(
            'o.yaml', "serial_arm: {given: ['m2 nan']}")]),
        Case('angles that are letters', [*identify, '--mounting', 'rpy a b c']),
        Case('actuated joints that are not there', [
            'identify', str(good), '--method', 'closed_loop', '--config', text(
                'p.yaml', 'closed_loop: {actuated: [none]}')]),
        Case('7 MB of .npz that unpack to 7 GB', [
            'import', npz(folder / 'bomb.npz'), *into]),
        Case('130 kB of .mcap.zstd that unpack to 4 GB', ['identify', packed(
            folder / 'bomb.mcap.zstd', storage)]),
        Case('a known load that was not there', [
            'drive-gains', '--empty', str(good), '--loaded', str(good), '2 0 0 0.1']),
    ]


def zeros(path: Path, size: int) -> str:
    """Make a sparse file and return its path."""
    path.touch()
    os.truncate(path, size)
    return str(path)


def npz(path: Path) -> str:
    """Write an array of 7.2 GB, all zero, and return the path."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {
        'descr': '<f8', 'fortran_order': False, 'shape': (900_000_000,)})
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as archive, archive.open(
            't.npy', 'w', force_zip64=True) as file:
        file.write(head.getvalue())
        for _ in range(7200):
            file.write(bytes(1_000_000))
    return str(path)


def packed(path: Path, storage: Path) -> str:
    """Write the begin of a storage file and 4 GB of zeros behind it, packed; return the path."""
    with path.open('wb') as file, zstandard.ZstdCompressor(19).stream_writer(file) as stream:
        stream.write(storage.read_bytes()[:20_000])
        for _ in range(4000):
            stream.write(bytes(1_000_000))
    return str(path)


def surroundings(folder: Path, good: Path) -> list[Case]:
    """Return the Cases of what is wrong around the command: folder, locale, calls in Python."""
    trap, identify = folder / 'trap', ['identify', str(good)]
    trap.mkdir()
    for name in ('numpy', 'scipy', 'yaml', 'json', 'threading', 'multiprocessing', 'rclpy',
                 'ros_inertial_id'):
        (trap / f'{name}.py').write_text("raise SystemExit('Traceback: run from this folder')")
    arm, two = str(ROOT / 'urdf' / 'arm2.urdf'), str(shutil.copytree(good, folder / 'two'))
    bare = {'LANG': 'C', 'LC_ALL': 'C', 'PYTHONUTF8': '0', 'PYTHONCOERCECLOCALE': '0'}
    out = [Case(f'modules of Python in the folder: {words[0]}', words, True, trap) for words in (
        ['design', arm, '--out', str(folder / 'motion')], [*identify, two, '--jobs', '2'])]
    out += [Case(f'LANG={lang}', identify, True, environment={**bare, 'LC_ALL': lang})
            for lang in ('C', 'POSIX')]
    out += [Case(f'rid.identify({call})', [], python=CALL.format(call=call))
            for call in ('[]', "'bag'", '5', '{}')]
    return [*out, Case('an IMU of zeros', [
        'identify', str(bag(folder / 'imu', imu=0.0)), '--mounting', 'imu'])]


CALL = """import ros_inertial_id as rid
try:
    rid.identify({call})
except rid.InertialIdError as error:
    print(error)
    raise SystemExit(2)
"""


def run(case: Case) -> tuple[str, str]:
    """Run a case; return its status and all that was said."""
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (case.largest, case.largest))

    program = ([sys.executable, '-c', case.python] if case.python
               else [str(Path(sys.executable).with_name('inertial-id')), *case.arguments])
    try:
        done = subprocess.run(program, cwd=case.folder, env={**os.environ, **case.environment},
                              text=True, capture_output=True, timeout=PATIENCE,
                              preexec_fn=limit, errors='replace', encoding='utf-8')
    except subprocess.TimeoutExpired:
        return 'FAULT', f'no answer in {PATIENCE:.0f} s'
    out = done.stdout + done.stderr
    status = str(done.returncode)
    if 'Traceback' in out or status not in '023' or '\x1b' in out:
        status = f'FAULT {status}'
    elif status == '0' and 'Verdict: good' in out and not case.harmless and not (
            {'WARNING', 'Recordings:', 'no validation'} & set(re.findall(
                'WARNING|Recordings:|no validation(?! recording)', out, re.I))):
        status = 'FAULT silent'
    return status, out


def said(status: str, out: str) -> str:
    """Return the sentences that answer: the error, or the verdict, findings and warnings."""
    lines = [line.strip() for line in out.splitlines() if line.strip()]
    if status not in ('0', '3'):
        return ' '.join(lines[-3:])
    text = ' '.join(lines)
    verdict = (re.search('(?<=- )Verdict: .*?[.](?= - | [A-Z])', text)
               or re.search('Verdict: .*?[.](?= - | [A-Z])', text))
    found = re.search('(?<=Recordings: - ).*?(?= Masked| What would| [^ ]*model.yaml)', text)
    seen = re.search('[^:]*: no validation, [^.]*[.]', text)
    return ' '.join([verdict[0] if verdict else lines[-1], *(x[0] for x in (found, seen) if x),
                     *(line for line in lines if line.startswith('WARNING'))])


PARTS = {'recordings': recordings, 'descriptions': descriptions, 'files': files,
         'surroundings': surroundings}


def main() -> int:
    """Print the tables of the parts that are named, of all by default; return 1 with a FAULT."""
    parts, faults, count = sys.argv[1:] or list(PARTS), 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        good = bag(folder / 'good')
        print(HEAD)
        for part in parts:
            print(f'## {part.capitalize()}\n\n| wrong | status | what is said |\n|---|---|---|')
            for case in PARTS[part](folder, good):
                if case.arguments[:1] == ['identify'] and '--out' not in case.arguments:
                    case = replace(case, arguments=[
                        *case.arguments, '--out', str(folder / 'result'), '--no-report'])
                status, out = run(case)
                faults, count = faults + status.startswith('FAULT'), count + 1
                words = said(status, out).replace(str(folder), '.').replace('|', '/').replace(
                    '<', '&lt;').replace('x' * 60, 'x...')[:300]
                print(f'| {case.wrong} | {status} | {words} |', flush=True)
            print()
    print(f'{count} cases, {faults} of them faults (a traceback, silence, no answer).')
    return int(faults > 0)


if __name__ == '__main__':
    sys.exit(main())
