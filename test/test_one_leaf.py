"""Every reader of descriptions, options and motions: one value changed gives words, or works."""

import functools
from pathlib import Path
import time
import warnings

import numpy as np
from one_leaf import changes
import pytest
import yaml

from ros_inertial_id.errors import InertialIdError
from ros_inertial_id.excitation.design import load_design
from ros_inertial_id.excitation.fourier import FourierMotion
from ros_inertial_id.excitation.friction_sweep import KIND, sweep_about
from ros_inertial_id.excitation.motion_files import read_motion
from ros_inertial_id.identification.settings import load_options
from ros_inertial_id.methods import METHODS
from ros_inertial_id.rigs.suspended_platform.postures import read_postures

ROOT = Path(__file__).parents[1]
GRAVITY = np.array([0.0, 0.0, -9.81])
MOST = 200
ARM = ('joint1', 'joint2', 'joint3')


def rig(method, text):
    """Build a rig of a YAML text as the identification does, and its columns."""
    options = load_options('', method)[1]
    robot = METHODS[method].build(text, options, GRAVITY)
    numbers = [x for p in METHODS[method].parameters(robot, options)
               for x in (p.scale, p.nominal, p.prior_sd)]
    assert np.isfinite(numbers).all()


@functools.cache
def platform():
    return METHODS['suspended_platform'].build(
        described('two_link_platform'), load_options('', 'suspended_platform')[1], GRAVITY)


def described(name):
    return (ROOT / 'urdf' / f'{name}.yaml').read_text(encoding='utf-8')


def motion(path):
    """Read a motion and look at it as the excitation does."""
    for samples in read_motion(path).at(np.linspace(0.0, 1.0, 5)):
        assert np.isfinite(samples).all()


def options(path):
    """Read all blocks of a configuration, and build the mechanism that it closes."""
    method, values = load_options(str(path))
    load_design(str(path))
    if method == 'closed_loop':
        METHODS[method].build((ROOT / 'urdf' / 'four_bar.urdf').read_text(), values, GRAVITY)


def fourier():
    rng = np.random.default_rng(0)
    return FourierMotion(ARM, 8.0, np.zeros(3), rng.normal(size=(3, 4)),
                         rng.normal(size=(3, 4))).to_dict()


def sweep():
    return {'kind': KIND, **sweep_about(ARM, np.zeros(3), (0.5, 1.0), 1.0, np.ones(3)).to_dict()}


def postures():
    return {'postures': [{'links': {'link1': {'rpy': [0.1 * k, 0.0, 0.2]}}, 'center': [
        0.0, 0.1, 0.2], 'inertia': [9.0, 0.0, 9.0, 0.0, 0.0, 3.0]} for k in range(2)]}


def configuration(name):
    return yaml.safe_load((ROOT / 'config' / f'{name}.yaml').read_text(encoding='utf-8'))


READERS = {
    'suspended platform': (yaml.safe_load(described('two_link_platform')), 'suspended_platform'),
    'two bodies': (yaml.safe_load(described('two_bodies')), 'rigid_body'),
    'payload': (yaml.safe_load(described('payload_imu')), 'rigid_body'),
    'motion': (fourier(), motion), 'sweep': (sweep(), motion),
    'configuration of an arm': (configuration('franka'), options),
    'configuration of a closed loop': (configuration('four_bar'), options),
    'postures': (postures(), lambda path: read_postures(path.read_text(), platform()))}


@pytest.mark.parametrize('name', READERS)
def test_one_leaf_changes_are_refused_with_words_or_read(name, tmp_path):
    content, reader = READERS[name]
    file, refused, broken = tmp_path / 'file.yaml', 0, []
    cases = [((), 'nothing', content), *changes(content, MOST)]
    warnings.simplefilter('error')
    for path, value, changed in cases:
        file.write_text(yaml.safe_dump(changed, sort_keys=False), encoding='utf-8')
        began = time.process_time()
        try:
            rig(reader, file.read_text()) if isinstance(reader, str) else reader(file)
        except InertialIdError as error:
            assert path, f'the whole one is refused: {error}'
            refused += 1
            assert '\n' not in str(error)
        except Exception as error:
            broken.append((path, str(value)[:20], repr(error)[:100]))
        assert time.process_time() - began < 5.0  # [s]; sound ones take 0.01
    assert not broken, '\n'.join(map(str, broken))
    assert refused > len(cases) / 10


@pytest.mark.parametrize('name', ['payload', 'sweep', 'configuration of an arm', 'postures'])
def test_texts_that_are_no_such_file_are_refused(name, tmp_path):
    _, reader = READERS[name]
    for text in ('a: [', '[' * 1100, 'a: 1\na: 2', '2026-99-99', '!!python/none', '\0', '',
                 'a: &a [*a]'):
        (tmp_path / 'file.yaml').write_text(text, encoding='utf-8')
        with pytest.raises(InertialIdError):
            rig(reader, text) if isinstance(reader, str) else reader(tmp_path / 'file.yaml')
