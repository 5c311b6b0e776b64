"""
Hostile cases: what the command line answers to files and numbers that are wrong.

    python benchmark/hostile_cases.py > doc/hostile_cases.md

Writes recordings of the two-joint arm, spoils one thing at a time and runs the command line on
it; prints a table of what was wrong, the exit status and the message.  A traceback, a status
other than 0, 2 or 3 or 20 s without an answer are printed as FAULT.  Five minutes.
"""

from collections.abc import Callable
import os
from pathlib import Path
import resource
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import pinocchio

from ros_inertial_id.measurement.bags.messages import JOINT_STATE
from ros_inertial_id.measurement.bags.writing import write_recording
from ros_inertial_id.measurement.recording import Channel, Recording

ROOT = Path(__file__).resolve().parents[1]
ARM = (ROOT / 'urdf' / 'arm2.urdf').read_text()
START, RATE, SECONDS = 1_700_000_000_000_000_000, 250, 12.0
PATIENCE = 60.0  # [s], of a machine with other work
HEAD = """# Hostile cases

What the command line answers to files and numbers that are wrong, as `benchmark/hostile_cases.py`
printed it: one thing is spoilt at a time in a good recording of a two-joint arm. No case ends in
a traceback, and none goes on silently. Damaged bags, stream faults and random input have tests of
their own: `test/measurement/bags/`, `test/nodes/`, `benchmark/damaged_bags.py`.
"""
Change = Callable[[dict[str, np.ndarray]], None]


def motion() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return stamps (N,) [ns] and the fields (N, 2) of a good recording of the two-joint arm."""
    model = pinocchio.buildModelFromXML(ARM)
    t = np.arange(0.0, SECONDS, 1.0 / RATE)
    w = 2.0 * np.pi * np.array([[0.31, 0.47], [0.83, 0.71]])[:, None]
    amplitude = np.array([[0.6, 0.5], [0.3, 0.35]])[:, None]
    phase = np.array([0.0, 1.0])
    q = (amplitude * np.sin(w * t[:, None] + phase)).sum(0)
    v = (amplitude * w * np.cos(w * t[:, None] + phase)).sum(0)
    a = (-amplitude * w ** 2 * np.sin(w * t[:, None] + phase)).sum(0)
    data = model.createData()
    tau = np.array([pinocchio.rnea(model, data, *row) for row in zip(q, v, a)])
    tau += 0.3 * v + 0.2 * np.tanh(v / 0.01)
    tau += 0.02 * np.random.default_rng(1).normal(size=tau.shape)
    return START + (t * 1e9).astype(np.int64), {'position': q, 'velocity': v, 'effort': tau}


def bag(path: Path, change: Change | None = None, names: tuple[str, ...] = ('joint1', 'joint2'),
        stamps: Callable[[np.ndarray], np.ndarray] = lambda t: t, seconds: float = SECONDS,
        urdf: str = ARM) -> Path:
    """Write a bag whose fields were changed and return its path."""
    t, fields = motion()
    keep = (t - START) < seconds * 1e9
    t, fields = t[keep], {name: x[keep].copy() for name, x in fields.items()}
    if change is not None:
        change(fields)
    channel = Channel('/joint_states', JOINT_STATE, stamps(t), t + 50_000,
                      {name: x for name, x in fields.items() if x.size}, names)
    write_recording(path, Recording({channel.topic: channel}, urdf))
    return path


def spoil(name: str, value: float, rows: slice | int = slice(None)) -> Change:
    """Return a change that sets samples of a field of the first joint."""
    def change(fields: dict[str, np.ndarray]) -> None:
        fields[name][rows, 0] = value
    return change


def times(name: str, factor: float) -> Change:
    """Return a change that multiplies a field."""
    def change(fields: dict[str, np.ndarray]) -> None:
        fields[name] *= factor
    return change


def drop(name: str) -> Change:
    """Return a change that empties a field."""
    def change(fields: dict[str, np.ndarray]) -> None:
        fields[name] = fields[name][:, :0]
    return change


def recordings(folder: Path) -> list[tuple[str, list[str]]]:
    """Return (case, arguments) of recordings that are wrong."""
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
        'no robot description': {'urdf': ''},
        'a description without inertia': {'urdf': ARM.replace('<inertial', '<visual').replace(
            '</inertial', '</visual')},
        'a mass of 1e308': {'urdf': _mass('1e308')},
        'a mass of nan': {'urdf': _mass('nan')},
        'a description that is cut': {'urdf': ARM[:len(ARM) // 2]},
    }
    return [(case, ['identify', str(bag(folder / f'bag{k}', **given))])
            for k, (case, given) in enumerate(changes.items())]


def _mass(value):
    head, tail = ARM.rsplit('<mass value="', 1)
    return head + '<mass value="' + value + tail[tail.index('"'):]


def files(folder: Path, good: Path) -> list[tuple[str, list[str]]]:
    """Return (case, arguments) of files that are wrong."""
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
    run(['identify', str(good), '--out', str(folder / 'good_result'), '--no-report'])
    model = folder / 'good_result' / 'model.yaml'
    whole = model.read_text() if model.exists() else ''
    table = 't,q1,q2,tau1,tau2\n' + '0.0,0,0,0,0\n' * 5
    bomb = 'a: &a [x,x,x,x,x,x,x,x,x]\n' + ''.join(
        f'{c}: &{c} [*{b},*{b},*{b},*{b},*{b},*{b},*{b},*{b},*{b}]\n'
        for b, c in zip('abcdefgh', 'bcdefghi')) + 'serial_arm: *i\n'
    identify, arm = ['identify', str(good)], str(ROOT / 'urdf' / 'arm2.urdf')
    return [
        ('no such bag', ['identify', str(folder / 'none')]),
        ('an empty folder', ['identify', str(folder / 'empty')]),
        ('a dangling link', ['identify', str(folder / 'dangling')]),
        ('a FIFO in the bag', ['identify', str(hole)]),
        ('a name of 300 characters', ['identify', 'x' * 300]),
        ('a bag that is cut in the middle', ['identify', str(cut)]),
        ('5 kB of random bytes as a bag', ['identify', text('junk.mcap', os.urandom(5000))]),
        ('the same bag twice', ['identify', str(good), str(good)]),
        ('validation by the training bag', [*identify, '--validate', str(good)]),
        ('a log with a text in a number', ['import', text('log.csv', table + '1,2,three,4,5\n'),
                                           '--out', str(folder / 'log'), '--urdf', arm]),
        ('a log with a cell of 1 MB', ['import', text('big.csv', table + 'x' * 10 ** 6),
                                       '--out', str(folder / 'big'), '--urdf', arm]),
        ('an unknown option', [*identify, '--config', text('a.yaml', 'serial_arm: {cuttof: 5}')]),
        ('a NaN in the options', [*identify, '--config',
                                  text('b.yaml', 'serial_arm: {cutoff: .nan}')]),
        ('options that are not UTF-8', [*identify, '--config', text('c.yaml', b'cutoff: \xff5')]),
        ('a YAML alias bomb', [*identify, '--config', text('d.yaml', bomb)]),
        ('a key twice', [*identify, '--config', text(
            'i.yaml', 'serial_arm: {cutoff: 5.0, cutoff: 9.0}')]),
        ('a cutoff of 1e-9 Hz', [*identify, '--config', text(
            'j.yaml', 'serial_arm: {cutoff: 1.0e-9}')]),
        ('decimate: 1e8', [*identify, '--config', text(
            'k.yaml', 'serial_arm: {decimate: 100000000}')]),
        ('a negative mass that is given', [*identify, '--config', text(
            'l.yaml', "serial_arm: {given: ['m2 -5']}")]),
        ('10 GB of zeros', ['identify', zeros(folder / 'zeros.mcap', 10 << 30)]),
        ('an entity bomb as URDF', [*identify, '--urdf', text(
            'm.urdf', '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">]>' + ARM)]),
        ('joints in a circle', [*identify, '--urdf', text('n.urdf', ARM.replace(
            '</robot>', '<joint name="back" type="fixed"><parent link="link2"/>'
            '<child link="base_link"/></joint></robot>'))]),
        ('a folder that is not UTF-8', ['identify', shutil.copytree(
            good, os.fsdecode(os.fsencode(folder) + b'/\xff'))]),
        ('an empty URDF', [*identify, '--urdf', text('e.urdf', '')]),
        ('a xacro file as URDF', [*identify, '--urdf', text(
            'f.urdf', ARM.replace('<robot ', '<robot xmlns:xacro="http://ros.org/wiki/xacro" ', 1)
            .replace('</robot>', '<xacro:arm name="x"/></robot>'))]),
        ('a mounting that is no direction', [*identify, '--mounting', 'ceiling']),
        ('a mounting given in degrees', [*identify, '--mounting', 'rpy 90 0 0']),
        ('a model file that is cut', ['validate', text('g.yaml', whole[:len(whole) // 2]),
                                      str(good)]),
        ('a model file with an unknown key', ['validate', text('h.yaml', whole + 'extra: 1\n'),
                                              str(good)]),
        ('an output folder that does not exist', [*identify, '--out', '/proc/nowhere']),
        ('no space for the model', ['FULL', *identify, '--out', str(folder / 'full')]),
    ]


def zeros(path: Path, size: int) -> str:
    """Make a sparse file and return its path."""
    path.touch()
    os.truncate(path, size)
    return str(path)


def run(arguments: list[str]) -> tuple[str, str]:
    """Run the command line; return its status and what it said."""
    full = arguments[0] == 'FULL'

    def limit() -> None:
        if full:
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
    try:
        done = subprocess.run(
            [sys.executable, '-m', 'ros_inertial_id', *arguments[full:]], cwd=ROOT, text=True,
            capture_output=True, timeout=PATIENCE, preexec_fn=limit, errors='replace')
    except subprocess.TimeoutExpired:
        return 'FAULT', f'no answer in {PATIENCE:.0f} s'
    out = done.stdout + done.stderr
    status = str(done.returncode)
    if 'Traceback' in out or status not in '023':
        status = f'FAULT {status}'
    return status, out


def said(status: str, out: str) -> str:
    """Return the sentence that answers: the error, or the verdict and the warnings."""
    lines = [line.strip() for line in out.splitlines() if line.strip()]
    if status in ('0', '3'):
        text = ' '.join(lines)
        start = text.find('- Verdict')
        warning = [line for line in lines if line.startswith('WARNING')]
        return ' '.join([text[start + 2:start + 260] if start >= 0 else lines[-1], *warning])
    return ' '.join(lines[-3:])[:300]


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        good = bag(folder / 'good')
        print(HEAD)
        for title, cases in (('Recordings and descriptions', recordings(folder)),
                             ('Files and options', files(folder, good))):
            print(f'## {title}\n\n| wrong | status | what is said |\n|---|---|---|')
            for case, arguments in cases:
                if arguments[0] == 'identify' and '--out' not in arguments:
                    arguments = [*arguments, '--out', str(folder / 'result'), '--no-report']
                status, out = run(arguments)
                words = said(status, out).replace(str(folder), '.').replace('|', '/').replace(
                    '<', '&lt;').replace('x' * 60, 'x...')
                print(f'| {case} | {status} | {words} |', flush=True)
            print()


if __name__ == '__main__':
    main()
