"""
Mutations of the numerical core, the judge and the readers: how many do the tests notice?

    python benchmark/mutation.py [--sample 20] [--seconds S] [MODULE ...]
    python benchmark/mutation.py --changed [BASE] --seconds 60

Mutants are those of cosmic-ray's operators (``pip install cosmic-ray``): operators, comparisons,
numbers, conditions, returns; not type annotations.  Of each module, or of the lines that changed
since a commit, a random sample (seed 0) is tried, one at a time, in a clone of HEAD; changes that
are not committed are not seen.  The tests run in a fork that has the libraries already: a second
and less per mutant.  One that no test notices is printed with its line.

BASE : by default origin/main where HEAD is ahead of it, else the commit before HEAD
Survivors are no failure: they are for a person to read, a mutant may be as good as the code.  The
status is 1 where the tests fail without a mutation.  doc/mutation.md has the table of full runs.
"""

import argparse
import difflib
import os
from pathlib import Path
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

os.environ.update(OPENBLAS_NUM_THREADS='1', OMP_NUM_THREADS='1')
sys.dont_write_bytecode = True  # a mutant of the same size and second would be taken for whole
HERE, PACKAGE = Path(__file__).resolve().parents[1], 'ros_inertial_id'
# Modules whose own tests do not import them by name, or too many do.
TESTS = {
    'estimation/statistics.py': 'estimation/test_statistics.py',
    'estimation/drive_gains.py': 'procedures/test_drive_gains.py',
    'estimation/payload.py': 'procedures/test_payload.py',
    'estimation/problem.py': 'estimation/test_problem.py estimation/test_known_parameters.py',
    'estimation/r_factors.py': 'estimation/test_r_factors.py',
    'estimation/residuals.py': 'estimation/test_residuals.py estimation/test_cross_validation.py',
    'estimation/robust.py': 'estimation/test_estimators.py',
    'dynamics/friction.py': 'dynamics/test_friction.py dynamics/test_regressor.py',
    'dynamics/regressor.py': 'dynamics/test_regressor.py dynamics/test_robot_model.py',
    'dynamics/description.py': 'dynamics/test_robot_model.py',
    'identification/judge/prediction.py': 'identification/test_prediction_band.py',
    'identification/judge/statistics.py': 'identification/test_prediction_band.py '
                                          'identification/test_identify.py',
    'identification/model/model_content.py': 'identification/test_model_door.py',
    'measurement/bags/bag.py': 'measurement/bags/test_bag.py',
    'measurement/bags/decoding.py': 'measurement/bags/test_messages.py',
    'measurement/bags/log_columns.py': 'measurement/bags/test_log_formats.py '
                                       'measurement/bags/test_log.py',
    'measurement/signals.py': 'measurement/test_signals.py',
    'options.py': 'test_options.py'}
ROOMS = ('dynamics', 'estimation', 'identification', 'checks', 'measurement', 'methods', 'options',
         'rigs/dynamics', 'rigs/measurement')
# | stands in types; most others end in a TypeError at once, which says nothing about a test;
# cosmic-ray 8.7 fails at dotted names of exceptions.
LEFT_OUT = 'Bit', 'Shift', 'Mod', 'FloorDiv', 'Pow', '_Is', 'Invert', 'Exception'
FEWEST, FACTOR = 10.0, 5.0  # [s] of CPU for the tests of a mutant, at least; times those of none


def main() -> int:
    """Try the mutants and print those that survive, and the score."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[1])
    parser.add_argument('--sample', type=int, default=20, help='mutants of a module')
    parser.add_argument('--seconds', type=float, default=1e9, help='after which it ends')
    parser.add_argument('--changed', nargs='?', const='', help='mutate lines changed since BASE')
    parser.add_argument('modules', nargs='*', help='such as dynamics/friction.py')
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    lines = {name: None for name in options.modules or TESTS}
    if options.changed is not None:
        lines = changed_lines(options.changed or base())
    names = list(lines)
    if options.seconds < 1e9:
        random.Random(0).shuffle(names)  # the time may end before they do
    every = [(name, *mutant) for name in names
             for mutant in sampled(name, lines[name], options.sample)]
    print(f'{len(every)} mutants of {len(lines)} modules', flush=True)
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / 'clone'
        subprocess.run(['git', 'clone', '-q', HERE, clone], check=True)
        return tried(clone, every, end)


def tried(clone: Path, every: list[tuple], end: float) -> int:
    """Try mutants (module, line, operator, number) until a time; print; return the status."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator
    os.chdir(clone)
    sys.path[:0] = [str(clone), str(clone / 'test'), str(clone / 'test' / 'oracles')]
    for library in ('mujoco', 'numpy', 'pinocchio', 'pytest', 'rosbags.highlevel', 'scipy.linalg',
                    'scipy.optimize', 'scipy.signal', 'scipy.stats', 'yaml', 'hypothesis'):
        __import__(library)
    usual: dict[str, float] = {}
    killed: dict[str, list[bool]] = {}
    for name, line, operator, number in every:
        if name not in usual:
            most = min(600.0, max(1.0, (end - time.monotonic()) / 4.0))
            status, usual[name] = tests_of_module(name, clone, most, time.monotonic() + most)
            if os.WIFEXITED(status) and status:
                print(f'{name}: its tests fail without a mutation')
                return 1
            if status:
                print(f'{name}: left out, its tests take more than {most:.0f} s', flush=True)
                usual[name] = float('inf')
        if time.monotonic() > end:
            break
        if usual[name] == float('inf'):
            continue
        file = clone / PACKAGE / name
        whole = file.read_text()
        text = mutate_code(whole, get_operator(operator)(), number)
        if text is None:
            continue
        file.write_text(text)
        status, _ = tests_of_module(name, clone, max(FEWEST, FACTOR * usual[name]), end)
        file.write_text(whole)
        if time.monotonic() > end:
            break
        killed.setdefault(name, []).append(status != 0)
        if not status:
            print(f'survived: {name}:{line} {operator}: {difference(whole, text)}', flush=True)
    for name, results in killed.items():
        print(f'{name}: {sum(results)} of {len(results)} killed')
    results = sum(killed.values(), [])
    print(f'score: {sum(results)} of {len(results)} killed, '
          f'{100.0 * sum(results) / max(len(results), 1):.0f} %')
    return 0


def tests_of_module(name: str, clone: Path, limit: float, end: float) -> tuple[int, float]:
    """Return status and CPU time [s] of a module's tests; limit : [s] of it; end : of all."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit)))
        signal.alarm(max(1, int(min(20.0 * limit, end - time.monotonic()))))  # of what waits
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        import pytest
        os._exit(pytest.main(['-q', '-x', '-p', 'no:cacheprovider', *tests_of(name, clone)]))
    _, status = os.waitpid(child, 0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return status, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def tests_of(name: str, clone: Path = HERE) -> list[str]:
    """Return the files of tests of a module: as TESTS says, else all that import it by name."""
    if name in TESTS:
        return [f'test/{file}' for file in TESTS[name].split()]
    dotted = f"{PACKAGE}.{name.removesuffix('.py').replace('/', '.')}"
    room, _, module = dotted.rpartition('.')
    pattern = re.compile(rf'{re.escape(dotted)}\b|'
                         rf'from {re.escape(room)} import [^\n]*\b{module}\b')
    return sorted(str(path.relative_to(clone)) for path in (clone / 'test').rglob('test_*.py')
                  if 'nodes' not in path.parts and pattern.search(path.read_text()))


def base() -> str:
    """Return the commit since which lines are taken as changed."""
    def git(*words: str) -> str:
        return subprocess.run(['git', *words], cwd=HERE, text=True, capture_output=True,
                              check=False).stdout.strip()
    main = git('rev-parse', '--verify', '-q', 'origin/main')
    ahead = main and main != git('rev-parse', 'HEAD')
    return (git('merge-base', main, 'HEAD') if ahead
            else git('rev-parse', '-q', '--verify', 'HEAD~1'))


def changed_lines(since: str) -> dict[str, set[int]]:
    """Return {module: numbers of its lines} that changed since a commit, of ROOMS with tests."""
    out: dict[str, set[int]] = {}
    if not since:
        return out
    difference = subprocess.run(['git', 'diff', '-U0', since, 'HEAD', '--', PACKAGE], cwd=HERE,
                                text=True, capture_output=True, check=True).stdout
    name = ''
    for line in difference.splitlines():
        if line.startswith('+++ '):
            name = line.removeprefix(f'+++ b/{PACKAGE}/')
        elif line.startswith('@@') and name.startswith(ROOMS) and tests_of(name):
            first, _, count = line.split()[2][1:].partition(',')
            out.setdefault(name, set()).update(range(int(first), int(first) + int(count or 1)))
    return out


def sampled(name: str, lines: set[int] | None, most: int) -> list[tuple[int, str, int]]:
    """Return (line, operator, number) of a random sample of the mutants of a module."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator, operator_names
    path = HERE / PACKAGE / name
    nodes, places = list(ast_nodes(get_ast_from_path(path))), []
    for operator in sorted(operator_names()):
        if any(word in operator for word in LEFT_OUT) or get_operator(operator).arguments():
            continue
        found = [start for node in nodes
                 for start, _ in get_operator(operator)().mutation_positions(node)]
        places += [(start[0], operator, k) for k, start in enumerate(found)
                   if lines is None or start[0] in lines]
    return random.Random(0).sample(places, min(most, len(places)))


def difference(whole: str, text: str) -> str:
    """Return the changed lines in one line."""
    return ' -> '.join(line[1:].strip() for line in difflib.unified_diff(
        whole.splitlines(), text.splitlines(), n=0, lineterm='')
        if line[:1] in '+-' and line[:3] not in ('+++', '---'))


if __name__ == '__main__':
    sys.exit(main())
