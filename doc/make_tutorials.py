"""
Run the commands of the tutorials and write what they print into the pages; nothing is fetched.

    python doc/make_tutorials.py [--data FOLDER] [PAGE ...]

A block of ``bash`` is run, its page's blocks one after the other in an empty folder with links to
config/, urdf/ and examples/; the block of ``text`` that follows is replaced by what it printed.
Blocks of ``sh`` need a robot and are not run.  Pages with ``data: NAME`` in a comment need the
recordings of that name in FOLDER and are left as they are without.  With ``demo`` pages this takes
ten minutes on two cores.
"""

import argparse
import os
from pathlib import Path
import re
import subprocess
import sys
import tempfile

ROOT = Path(__file__).resolve().parents[1]
PAGES = Path(__file__).resolve().parent / 'tutorials'
BLOCK = re.compile(r'```bash\n(.*?)```\n(?:\n```text\n(.*?)```\n)?', re.S)
MOST = 60  # lines of an output that are shown


def run(commands, folder):
    """Return what commands print in a folder; a failure ends the script."""
    (folder / '.bin').mkdir(exist_ok=True)
    verb = folder / '.bin' / 'inertial-id'
    verb.write_text(f'#!/bin/sh\nexec {sys.executable} -m ros_inertial_id "$@"\n')
    verb.chmod(0o755)
    path = f"{verb.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(['bash', '-e', '-c', commands], cwd=folder, text=True,
                          capture_output=True, env={
                              **os.environ, 'PATH': path, 'PYTHONPATH': str(ROOT),
                              'OPENBLAS_NUM_THREADS': '1'})
    if done.returncode:
        sys.exit(f'{commands}\n{done.stdout}\n{done.stderr}')
    lines = done.stdout.replace(str(folder), '.').rstrip().split('\n')
    if len(lines) > MOST:
        lines = [*lines[:MOST], '...']
    return '\n'.join(lines)


def make(page, data):
    """Run the commands of a page and write their outputs into it."""
    text = page.read_text(encoding='utf-8')
    needs = re.search(r'<!-- data: (\S+) -->', text)
    if needs and not (data and (data / needs[1]).is_dir()):
        print(f'{page.name}: left as it is, its recordings are not here')
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for shared in ('config', 'urdf', 'examples'):
            (folder / shared).symlink_to(ROOT / shared)
        if needs:
            (folder / needs[1]).symlink_to((data / needs[1]).resolve())

        def answered(match):
            printed = run(match[1], folder)
            shown = f'\n```text\n{printed}\n```\n' if match[2] is not None else ''
            return f'```bash\n{match[1]}```\n{shown}'

        page.write_text(BLOCK.sub(answered, text), encoding='utf-8')
    print(f'{page.name}: made')


def main():
    """Make the pages."""
    parser = argparse.ArgumentParser(description=__doc__.strip().split('\n')[0])
    parser.add_argument('--data', type=Path, help='folder of recordings of real robots')
    parser.add_argument('pages', nargs='*', type=Path)
    options = parser.parse_args()
    for page in options.pages or sorted(PAGES.glob('*.md')):
        make(page, options.data)


if __name__ == '__main__':
    main()
