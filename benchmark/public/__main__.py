"""
Print the table of all entries on all public recordings.

    python -m benchmark.public FOLDER [--recordings NAME ...] [--entries NAME ...]
        [--programs NAME=COMMAND ...]

FOLDER holds clones of the repositories as owner/repository, each at the commit of its protocol;
nothing is fetched.  Each entry runs each split in a process of its own, with one thread.
"""

import argparse
from dataclasses import asdict
import importlib
import json
import os
from pathlib import Path
import resource
import subprocess
import sys
from typing import Any

from .program import Program
from .protocol import NotRun, Protocol, protocols, Split

ENTRIES = Path(__file__).parent / 'entries'
ROOT = Path(__file__).parents[2]
ONE_THREAD = {'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1'}
HEAD = (
    '| robot | training -> test | entry | filtered [%] | raw [%] | worst joint [%] '
    '| in 95 % band [%] | CPU [s] | lines |',
    '|---|---|---|---|---|---|---|---|---|',
)
HEAD_REPLAY = (
    '| robot | training -> test | entry | replay [mrad] | after 0.1, 0.5, 2 s [mrad] | CPU [s] |',
    '|---|---|---|---|---|---|',
)


def main() -> None:
    """Print both tables, and what could not be run."""
    parser = argparse.ArgumentParser(description=__doc__.strip().split('\n')[0])
    parser.add_argument('folder', type=Path)
    parser.add_argument('--recordings', nargs='*', default=[])
    parser.add_argument('--entries', nargs='*', default=[])
    parser.add_argument('--programs', nargs='*', default=[], metavar='NAME=COMMAND')
    parser.add_argument('--one', nargs=3, metavar=('RECORDING', 'SPLIT', 'ENTRY'))
    options = parser.parse_args()
    if options.one:
        print(json.dumps(_one(options.folder, *options.one)))
        return
    chosen = protocols(options.folder, options.recordings)
    names = options.entries
    if not names and not options.programs:
        names = sorted(path.stem for path in ENTRIES.glob('[!_]*.py'))
    names = [*names, *options.programs]
    not_run: list[str] = []
    for head, by_replay in ((HEAD, False), (HEAD_REPLAY, True)):
        print('\n'.join(head), flush=True)
        for protocol in chosen:
            if protocol.by_replay == by_replay:
                not_run += _lines(protocol, names, options.folder)
        print()
    print('\n'.join(['Not run:', *(f'- {line}' for line in not_run)]))


def _lines(protocol: Protocol, names: list[str], folder: Path) -> list[str]:
    """Print a line per split and entry of a protocol; return what was not run, and why."""
    not_run = []
    for split in protocol.split_names:
        for name in names:
            found = _asked(folder, protocol.name, split, name)
            name = name.partition('=')[0]
            if 'why' in found:
                not_run.append(f'{protocol.robot}, {split}, {name}: {found["why"]}')
                continue
            print(f'| {protocol.robot} | {split} | {name} | {_cells(found)} |', flush=True)
    return not_run


def _cells(found: dict) -> str:
    """Return the cells of a line, of torques or of a replay."""
    cpu = '-'
    if found['cpu'] is not None:
        cpu = f'{found["cpu"]:.1f}'
    if 'whole' in found:
        after = ', '.join(f'{x:.1f}' for x in found['after'])
        return f'{found["whole"]:.2f} | {after} | {cpu}'
    worst = '{} {:.1f}'.format(*found['worst_joint'])
    inside = f'{found["inside"]:.1f}'
    if not found['stated']:
        inside = '-'
    return (
        f'{found["filtered"]:.2f} | {found["raw"]:.2f} | {worst} | {inside} | {cpu} '
        f'| {found["lines"]}'
    )


def _asked(folder: Path, *what: str) -> dict:
    """Return what ``_one`` prints in a process of its own, or {'why'} of one that failed."""
    command = [sys.executable, '-m', 'benchmark.public', str(folder), '--one', *what]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **ONE_THREAD}, capture_output=True, text=True
    )
    if done.returncode:
        return {'why': (done.stderr.strip().splitlines() or ['no message'])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def _one(folder: Path, recording: str, split_name: str, entry_name: str) -> dict:
    """Return the figures of an entry on a split."""
    protocol = protocols(folder, [recording])[0]
    try:
        split = protocol.split(split_name)
        entry = _entry(entry_name)
    except (NotRun, ImportError) as error:
        return {'why': str(error)}
    wanted = 'fit_simulator' if protocol.by_replay else 'fit'
    if not hasattr(entry, wanted):
        return {'why': f'it has no {wanted}()'}
    before = _cpu()
    if protocol.by_replay:
        return {**_replayed(entry, split), 'cpu': _cpu() - before}
    try:
        found = _judged(entry, split, protocol.cutoff_hz)
    except NotRun as error:
        return {'why': str(error)}
    if isinstance(entry, Program):
        cpu = found['cpu'] if entry.has_cpu_time else None
        return {**found, 'cpu': cpu, 'lines': '-'}
    return {**found, 'lines': _line_count(ENTRIES / f'{entry_name}.py')}


def _entry(name: str) -> Any:
    """Return the module of an entry by its ``name``, or the Program of NAME=COMMAND."""
    if '=' in name:
        return Program(name)
    return importlib.import_module(f'benchmark.public.entries.{name}')


def _judged(entry, split: Split, cutoff_hz: float) -> dict:
    """Return the Score of torques as a dictionary, with the CPU time of the fit."""
    import numpy as np

    from .score import score
    from .signals import motion
    from .urdf import of_joints

    before = _cpu()
    predict = entry.fit(split.training, of_joints(split.description, split.test.joints))
    cpu = _cpu() - before
    asked = motion(split.test, cutoff_hz)
    tau, sd = predict(asked.t, asked.q, asked.v, asked.a)
    found = asdict(score(split.test.joints, asked, tau, sd))
    return {**found, 'stated': bool(np.isfinite(sd).any()), 'cpu': cpu}


def _replayed(entry, split: Split) -> dict:
    """Return the Drift of a replay as a dictionary."""
    from .replay import bare, drift

    return asdict(drift(entry.fit_simulator(split.training, bare(split.description)), split.test))


def _line_count(path: Path) -> int:
    """Return the lines of an entry that are neither empty nor comments."""
    lines = path.read_text(encoding='utf-8').splitlines()
    return sum(bool(line.strip()) and not line.strip().startswith('#') for line in lines)


def _cpu() -> float:
    """Return user and system time of this process and its children [s]."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


if __name__ == '__main__':
    main()
