"""
What one recording passes on its way to its model: files, functions and lines that were run.

    python benchmark/traced.py BAG [BAG ...] [--urdf ROBOT.urdf]

Counted by sys.setprofile from the bag to the model, the second time: imports do not count.
Lines are those of the files passed, comments and docstrings included.
"""

import argparse
from collections import defaultdict
from pathlib import Path
import sys

import ros_inertial_id as rid

ROOT = Path(rid.__file__).parent


def passed(work):
    """Return {file: functions of the package that were called} while ``work`` ran."""
    files = defaultdict(set)

    def seen(frame, event, _):
        if event == 'call' and frame.f_code.co_filename.startswith(str(ROOT)):
            if frame.f_code.co_name != '<module>':
                files[frame.f_code.co_filename].add(frame.f_code.co_qualname
                                                    if sys.version_info >= (3, 11)
                                                    else frame.f_code.co_name)

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[1])
    parser.add_argument('bags', nargs='+')
    parser.add_argument('--urdf', default='')
    options = parser.parse_args()

    def work():
        return rid.identify([rid.read_bag(bag) for bag in options.bags], urdf=options.urdf)

    work()
    files = passed(work)
    lines = {name: len(Path(name).read_text(encoding='utf-8').splitlines()) for name in files}
    for name in sorted(files):
        print(f'{lines[name]:5d} lines {len(files[name]):4d} functions  '
              f'{Path(name).relative_to(ROOT)}')
    print(f'{len(files)} files, {sum(map(len, files.values()))} functions, '
          f'{sum(lines.values())} lines')


if __name__ == '__main__':
    main()
