"""The notebooks of examples/ run from their first cell to the last, and find what is true."""

import importlib.util
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / 'examples' / 'notebooks'
spec = importlib.util.spec_from_file_location('notebooks', ROOT / 'doc' / 'make_notebooks.py')
make = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make)


def test_from_a_bag_to_a_simulated_robot():
    _, names = make.run(NOTEBOOKS / 'bag_to_simulated_robot.ipynb')
    noise = 100.0 * names['simulated_log'].NOISE / np.sqrt(np.mean(names['tau'] ** 2, axis=0))
    assert np.all(names['percent'](names['by_mujoco']) < 1.3 * noise)  # and offsets, and a
    assert np.all(names['percent'](names['described']) > 5.0 * noise)


def test_two_payloads_are_weighed_and_told_apart():
    _, names = make.run(NOTEBOOKS / 'two_payloads.ipynb')
    for load, mass in ((names['one'], 1.50), (names['other'], 1.56)):
        assert abs(load.mass - mass) < 4.0 * load.mass_error
        assert abs(load.center_of_mass[0] - 0.10) < 4.0 * load.center_of_mass_error[0]
    assert not names['same']


def test_the_odd_ones_of_a_fleet_are_found():
    _, names = make.run(NOTEBOOKS / 'fleet_in_pandas.ipynb')
    assert set(names['odd']) == {'robot 4', 'robot 5'}
    assert abs(names['z']['robot 5']).idxmax().startswith(('fv', 'fc'))
