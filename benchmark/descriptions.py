"""
Audit of many descriptions: findings and seconds of each, and what of falsified ones is found.

    python3 benchmark/descriptions.py FOLDER ...            # every .urdf and .sdf below
    python3 benchmark/descriptions.py --falsify FILE ...    # falsified in all ways of the tests

Seconds are CPU time of the process, meshes read.  Nothing in the folders is run.
"""

import argparse
from collections import Counter
from pathlib import Path
import sys
import time

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'oracles')]

from falsified_descriptions import FALSIFIED, Falsified  # noqa: E402

from ros_inertial_id import audit  # noqa: E402
from ros_inertial_id.api.audit import AuditResult  # noqa: E402
from ros_inertial_id.auditing.audit import audited  # noqa: E402
from ros_inertial_id.auditing.finding import NOTE  # noqa: E402
from ros_inertial_id.auditing.urdf import described_urdf  # noqa: E402
from ros_inertial_id.errors import InertialIdError  # noqa: E402
from ros_inertial_id.identification.files import read_description  # noqa: E402

KINDS = ('.urdf', '.sdf')


def main() -> None:
    """Print one row per description, or per falsified one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('paths', nargs='+', type=Path)
    parser.add_argument('--falsify', action='store_true')
    parser.add_argument('--no-meshes', action='store_true')
    options = parser.parse_args()
    if options.falsify:
        for path in options.paths:
            print_falsified(path)
        return
    words: Counter[str] = Counter()
    longest = 0.0
    for path in options.paths:
        files = [path]
        if path.is_dir():
            files = sorted(file for file in path.rglob('*') if file.suffix in KINDS)
        for file in files:
            start = time.process_time()
            try:
                result = audit(file, meshes=not options.no_meshes)
            except InertialIdError as refusal:
                words['refused'] += 1
                print(f'{file} | refused: {refusal}')
                continue
            seconds = time.process_time() - start
            longest = max(longest, seconds)
            words[result.word] += 1
            print(f'{file} | {result.word} | {kinds(result)} | {seconds:.2f} s')
    print(dict(words), f'longest {longest:.2f} s')


def kinds(result: AuditResult) -> str:
    """Return the kinds of findings with their numbers, notes apart."""
    names = Counter(f.name for f in result.findings if f.severity != NOTE)
    return ', '.join(f'{count} {name}' for name, count in names.items())


def print_falsified(path: Path) -> None:
    """Print of each way to falsify the heaviest moving link in a file whether it is named."""
    urdf, folder = read_description(path), str(path.resolve().parent)
    robot = described_urdf(urdf, folder)
    sound = {f.name for f in audited(robot).findings if f.severity != NOTE}
    moved = [name for name in robot.links if name in robot.carrier and robot.carrier[name].moves]
    link = max(moved, key=lambda name: robot.links[name].mass)
    print(f'{path.name}, {link}; sound: {", ".join(sound) or "nothing"}')
    for how, (falsify, name, _) in FALSIFIED.items():
        falsified = Falsified(urdf, link)
        falsify(falsified)
        findings = audited(described_urdf(falsified.text(), folder)).findings
        said = {f.name for f in findings if f.severity != NOTE}
        word = 'found'
        if name not in said:
            word = f'not found as such; {", ".join(said - sound) or "nothing"}'
        print(f'  {how}: {word}')


if __name__ == '__main__':
    main()
