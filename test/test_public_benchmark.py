"""The public benchmark: protocols that hold, files that are checked, scores by hand."""

import hashlib
from pathlib import Path
import re
import sys

import numpy as np
import pinocchio as pin
import pytest
import yaml

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmark.public.entries import plain_least_squares  # noqa: E402
from benchmark.public.program import Program  # noqa: E402
from benchmark.public.protocol import NotRun, Protocol, PROTOCOLS  # noqa: E402
from benchmark.public.score import score  # noqa: E402
from benchmark.public.signals import motion  # noqa: E402
from benchmark.public.urdf import of_joints  # noqa: E402

JOINTS = ('joint1', 'joint2', 'joint3')
URDF = (ROOT / 'urdf' / 'arm3.urdf').read_text(encoding='utf-8')


def recorded(folder):
    """Write a repository with a motion of pinocchio's torques and friction; return its entry."""
    model = pin.buildModelFromXML(URDF)
    data = model.createData()
    t = 0.005 * np.arange(4000)
    phase = 2.0 * np.pi * np.outer(t, [0.31, 0.47, 0.73]) + [0.0, 1.0, 2.0]
    rate = 2.0 * np.pi * np.array([0.31, 0.47, 0.73])
    q, v, a = 0.6 * np.sin(phase), 0.6 * rate * np.cos(phase), -0.6 * rate**2 * np.sin(phase)
    tau = np.array([pin.rnea(model, data, *state).copy() for state in zip(q, v, a)])
    tau += 0.8 * v + 0.5 * np.sign(v)
    repository = folder / 'somebody' / 'arm'
    repository.mkdir(parents=True)
    np.savetxt(repository / 'log.csv', np.column_stack([t, q, tau]), delimiter=',')
    (repository / 'arm.urdf').write_text(URDF, encoding='utf-8')
    sums = {
        name: [hashlib.sha256((repository / name).read_bytes()).hexdigest()]
        for name in ('log.csv', 'arm.urdf')
    }
    return {
        'robot': 'arm',
        'repository': 'somebody/arm',
        'commit': '0' * 40,
        'licence': 'none',
        'description': {'path': 'arm.urdf', 'sha256': sums['arm.urdf']},
        'joints': list(JOINTS),
        'cutoff_hz': 10,
        'reader': 'csv',
        'columns': {'t': [0], 'q': [1, 2, 3], 'tau': [4, 5, 6]},
        'recordings': {'log': {'path': 'log.csv', 'sha256': sums['log.csv']}},
        'splits': [
            {'name': 'halves', 'train': ['log'], 'train_to': 0.5, 'test': 'log', 'from': '10 s'}
        ],
    }


def protocol(folder, entry):
    """Return the Protocol of an ``entry`` written to a file."""
    path = folder / 'arm.yaml'
    path.write_text(yaml.safe_dump(entry), encoding='utf-8')
    return Protocol(path, folder)


def test_plain_least_squares_finds_what_it_models(tmp_path):
    split = protocol(tmp_path, recorded(tmp_path)).split('halves')
    assert len(split.training[0].t) == 2000 and len(split.test.t) == 2000
    predict = plain_least_squares.fit(split.training, of_joints(split.description, JOINTS))
    asked = motion(split.test, 10.0)
    found = score(JOINTS, asked, *predict(asked.t, asked.q, asked.v, asked.a))
    assert found.filtered < 2.0
    assert found.inside > 85.0


# The mean torque of the training, with its scatter: all that a program needs is files.
MEAN = """
import sys
import numpy as np
folder, verb = sys.argv[1:]
if verb == 'fit':
    assert open(folder + '/robot.urdf').read().count('<joint') >= 3
    tau = np.load(folder + '/train_0.npz')['tau']
    np.savez(folder + '/model.npz', mean=tau.mean(0), sd=tau.std(0))
else:
    model, q = np.load(folder + '/model.npz'), np.load(folder + '/test.npz')['q']
    np.savez(folder + '/predicted.npz', **{k: np.tile(model[n], (len(q), 1))
                                           for k, n in (('tau', 'mean'), ('sd', 'sd'))})
"""


def test_a_program_is_entered_by_its_command(tmp_path):
    split = protocol(tmp_path, recorded(tmp_path)).split('halves')
    script = tmp_path / 'mean.py'
    script.write_text(MEAN)
    program = Program(f'mean={sys.executable} {script} {{folder}}')
    predict = program.fit(split.training, of_joints(split.description, JOINTS))
    asked = motion(split.test, 10.0)
    tau, sd = predict(asked.t, asked.q, asked.v, asked.a)
    np.testing.assert_allclose(tau[0], split.training[0].tau.mean(0))
    np.testing.assert_allclose(sd[-1], split.training[0].tau.std(0))
    with pytest.raises(NotRun, match=r'silent wrote no predicted\.npz'):
        Program('silent=true').fit(split.training, '<robot/>')(asked.t, asked.q, asked.v, asked.a)
    with pytest.raises(NotRun, match='broken fit ended with status 1'):
        Program('broken=false').fit(split.training, '<robot/>')
    assert not Program('c=docker run -v {folder}:/data image /data').has_cpu_time


def test_another_file_is_refused(tmp_path):
    entry = recorded(tmp_path)
    log = tmp_path / 'somebody' / 'arm' / 'log.csv'
    log.write_bytes(log.read_bytes().replace(b'1', b'2', 1))
    with pytest.raises(NotRun, match='is another file'):
        protocol(tmp_path, entry).split('halves')
    log.unlink()
    with pytest.raises(NotRun, match='absent: .*github.com/somebody/arm at 0000000000'):
        protocol(tmp_path, entry).split('halves')


def test_scores_are_what_they_say():
    t = 0.01 * np.arange(2000)
    tau = np.sin(2.0 * np.pi * np.outer(t, [0.5, 0.7, 0.9]))
    recording = type('Recorded', (), {'t': t, 'q': tau, 'v': None, 'tau': tau})
    asked = motion(recording, 10.0)
    sd = np.full_like(tau[: len(asked.t)], 0.2 / 1.96)
    found = score(JOINTS, asked, asked.tau * [1.0, 1.0, 0.9], sd)
    assert found.worst_joint == ('joint3', pytest.approx(10.0, abs=0.1))
    assert found.filtered == pytest.approx(10.0 / np.sqrt(3.0), abs=0.1)
    assert found.inside == 100.0


@pytest.mark.parametrize('path', sorted(PROTOCOLS.glob('*.yaml')), ids=lambda path: path.stem)
def test_protocols_are_whole(path):
    entry = yaml.safe_load(path.read_text(encoding='utf-8'))
    sums = re.findall(r'\b[0-9a-f]{64}\b', path.read_text(encoding='utf-8'))
    assert len(sums) > len(entry['recordings'])
    assert re.fullmatch('[0-9a-f]{40}', entry['commit'])
    for split in entry['splits']:
        assert {split['test'], *split['train']} <= set(entry['recordings'])
    assert path.stem in (ROOT / 'benchmark' / 'public' / 'README.md').read_text(encoding='utf-8')
