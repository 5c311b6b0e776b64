"""The table of base parameters is enough for a controller: the examples compute its torques."""

from dataclasses import replace
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys

from arm_recordings import ARM
from diagnostic_msgs.msg import DiagnosticArray
from live_graph import ROOT
import numpy as np
import pytest

from ros_inertial_id.api.model import Model
from ros_inertial_id.dynamics.friction import friction_column, LAWS
from ros_inertial_id.dynamics.inertial_parameters import Parameter
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.nodes.model_topics import band_rows, base_rows

FOLDER = ROOT / 'examples' / 'controller'
PROGRAM = """
#include <iostream>
#include <sstream>
#include "identified_torque.hpp"
#if __has_include(<diagnostic_msgs/msg/diagnostic_array.hpp>)
#include <diagnostic_msgs/msg/diagnostic_array.hpp>
using diagnostic_msgs::msg::DiagnosticArray;
#else
struct KeyValue {std::string key, value;};
struct Status {std::string name, hardware_id; std::vector<KeyValue> values;};
struct DiagnosticArray {std::vector<Status> status;};
#endif

DiagnosticArray read()
{
  DiagnosticArray message;
  for (std::string line; std::getline(std::cin, line) && !line.empty(); ) {
    std::stringstream words(line);
    auto & row = message.status.emplace_back();
    std::getline(words, row.name, '\t');
    std::getline(words, row.hardware_id, '\t');
    for (std::string key; std::getline(words, key, '\t'); ) {
      auto & pair = row.values.emplace_back();
      pair.key = key;
      std::getline(words, pair.value, '\t');
    }
  }
  return message;
}

int main()
{
  const auto link = [](const std::string & name) {return name.back() - '1';};
  const auto swapped = [](const std::string & name) {return '2' - name.back();};
  inertial_id::IdentifiedTorque terms(read(), link, swapped);
  inertial_id::PredictionBand band(read(), swapped);
  std::cout.precision(17);
  for (double x : terms.gravity()) {std::cout << x << ' ';}
  for (double x : terms.pi()) {std::cout << x << ' ';}
  std::cout << std::endl;
  double x[6], n, half[2], outside[2];  // x: q, v, a of two joints each
  while (std::cin >> x[0] >> x[1] >> x[2] >> x[3] >> x[4] >> x[5] >> n) {
    band.at(x, x + 2, x + 4, half, outside);
    for (int j = 0; j < 2; ++j) {
      std::cout << terms.joint_term(j, x[j], x[j + 2], x[j + 4], n) << ' ' << half[j] << ' ' <<
        outside[j] << ' ';
    }
    std::cout << std::endl;
  }
}
"""


def base_table(model):
    return DiagnosticArray(
        status=base_rows(
            model.base, model.parameters, model.values, model.mounting['gravity_base'][0]
        )
    )


def band_table(model):
    return DiagnosticArray(status=band_rows(model))


def states(count):
    rng = np.random.default_rng(0)
    return rng.uniform(-2.0, 2.0, (3, count, 2))


@pytest.fixture(scope='module', params=['auto', 'coulomb_load'])
def identified(request, arm_model, arm_recording):
    """Return the arm's IdentifiedModel, of friction in proportion to the load as well."""
    if request.param == 'auto':
        return arm_model
    laws = ('viscous', 'coulomb_load', 'armature')
    return identify([arm_recording], replace(options_class('serial_arm')(), friction=laws)).model


def test_python_example_computes_the_torques_of_the_model(controller_example, identified):
    robot = controller_example.IdentifiedTorque(ARM.read_text(), base_table(identified))
    model = Model(identified, np.array(identified.mounting['gravity_base'][0]))
    assert robot.joint_names == list(model.joint_names)
    q, v, a = states(20)
    expected = model.torque(q, v, a)
    torque = np.array([robot.torque(*state) for state in zip(q, v, a)])
    assert torque == pytest.approx(expected, abs=1e-9 * np.abs(expected).max())  # float64


def test_python_example_computes_the_band_of_the_model(controller_example, arm_model):
    model = Model(arm_model, np.array(arm_model.mounting['gravity_base'][0]))
    band = controller_example.PredictionBand(band_table(arm_model), model.joint_names)
    q, v, a = states(30)
    q[3] += 2.0 * np.pi  # a turn further, in range or out of it
    found = model.predict((np.arange(30.0), q, v, a))
    half, away = np.array([band.half_width(*state) for state in zip(q, v, a)]).transpose(1, 0, 2)
    assert (away > 0.0).any() and (away == 0.0).any()
    np.testing.assert_allclose(away, found.outside, atol=1e-9)
    np.testing.assert_allclose(half, found.upper - found.torque, rtol=1e-6)


@pytest.fixture(scope='module')
def program(tmp_path_factory):
    """Return the path of PROGRAM, compiled against the messages of this ROS."""
    compiler = shutil.which('g++') or shutil.which('clang++')
    if compiler is None:
        pytest.skip('no C++ compiler')
    folder = tmp_path_factory.mktemp('cpp')
    (folder / 'main.cpp').write_text(PROGRAM)
    prefixes = [sys.prefix, *os.environ.get('AMENT_PREFIX_PATH', '').split(':')]
    headers = [f'-isystem{path}' for prefix in prefixes for path in Path(prefix).glob('include/*')]
    subprocess.run(
        [
            compiler,
            '-std=c++17',
            '-Wall',
            '-Wextra',
            '-Werror',
            f'-I{FOLDER}',
            *headers,
            folder / 'main.cpp',
            '-o',
            folder / 'main',
        ],
        check=True,
    )
    return folder / 'main'


def lines(table):
    """Return the rows of a table as PROGRAM reads them."""
    rows = [
        [
            row.name,
            row.hardware_id,
            *(word for pair in row.values for word in (pair.key, pair.value)),
        ]
        for row in table.status
    ]
    return [*('\t'.join(words) for words in rows), '']


def test_cpp_example_computes_what_the_python_example_and_the_model_do(
    controller_example, identified, program
):
    model = Model(identified, np.array(identified.mounting['gravity_base'][0]))
    table = base_table(identified)
    robot = controller_example.IdentifiedTorque(ARM.read_text(), table)
    q, v, a = states(30)
    v[4] = 1e-4  # near a reversal
    q[3] += 2.0 * np.pi  # a turn further
    band = model.predict((np.arange(30.0), q, v, a))
    assert (band.outside > 0.0).any() and (band.outside == 0.0).any()
    rows = [' '.join(map(str, [*x[:, ::-1].flatten(), 5.0])) for x in np.stack([q, v, a], 1)]
    out = (
        subprocess.run(
            [program],
            input='\n'.join([*lines(table), *lines(band_table(identified)), *rows]),
            capture_output=True,
            text=True,
            check=True,
        )
        .stdout.strip()
        .split('\n')
    )
    first, *found = [np.array(line.split(), dtype=float) for line in out]
    assert first[:3].tolist() == robot.model.gravity.linear.tolist()
    pi = np.append(first[3:], np.zeros(len(robot._pi) - len(first[3:])))
    assert pi == pytest.approx(robot._pi, rel=1e-12)
    terms, half, outside = np.array(found).reshape(30, 2, 3)[:, ::-1].transpose(2, 0, 1)
    loaded = controller_example.LAWS['coulomb_load']
    expected = [
        [
            sum(
                c * law(q[k, j], v[k, j], a[k, j], x) * (5.0 if law is loaded else 1.0)
                for joint, law, c, x in robot._terms
                if joint == j
            )
            for j in range(2)
        ]
        for k in range(30)
    ]
    np.testing.assert_allclose(terms, expected, rtol=1e-12)
    np.testing.assert_allclose(outside, band.outside, atol=1e-9)
    np.testing.assert_allclose(half, band.upper - band.torque, rtol=1e-9)


@pytest.mark.parametrize('law', LAWS)
def test_every_law_of_the_package_is_in_both_examples(controller_example, law):
    nonlinear = LAWS[law].nonlinear_values[-1]
    v = np.array([-1.3, -0.02, 0.004, 2.0])
    parameter = Parameter(f'{LAWS[law].symbol}1', '', 1.0, law=law, nonlinear=nonlinear)
    q, a = 0.0 * v + 0.3, 0.7 * v
    expected = friction_column(parameter, q, v, a, np.ones(4))
    column = controller_example.LAWS[law]
    assert [column(*x, nonlinear) for x in zip(q, v, a)] == pytest.approx(expected)
    assert f'"{law}"' in (FOLDER / 'identified_torque.hpp').read_text()


def formulas():
    """Return {law: formula} of the page about the contract, in Python's words."""
    page = (ROOT / 'doc' / 'contract.md').read_text().split('## Friction laws')[1]
    out = {}
    for names, formula in re.findall(r'^\| (`[^|]*`) \| ([^|]*) \|', page, re.M):
        python = re.sub(r'(?<=\)) (?=[a-z])', ' * ', formula.split(';')[0])  # of c above 0
        python = re.sub(r'(?<=\d) (?=[a-z])', ' * ', python.replace('^', '**'))
        names = re.findall(r'`(\w+)`', names)
        out |= dict(zip(names, python.split(', ') if len(names) > 1 else [python]))
    return out


def test_the_page_of_the_contract_has_the_formula_of_every_law():
    words = {
        'pi': np.pi,
        'tanh': np.tanh,
        'atan': np.arctan,
        'exp': np.exp,
        'sign': np.sign,
        'sin': np.sin,
        'cos': np.cos,
        'abs': np.abs,
        'w': 0.01,
        'n': 1.0,
    }
    v = np.array([-1.3, -0.02, 0.004, 2.0])
    q, a = np.linspace(-0.9, 1.1, 4), 0.7 * v
    written = formulas()
    assert set(written) == set(LAWS)
    for name, law in LAWS.items():
        if name != 'presliding':  # has a memory, and its own words on the page
            c = law.nonlinear_values[-1]
            found = eval(
                written[name], {'__builtins__': {}, **words, 'q': q, 'v': v, 'a': a, 'c': c}
            )
            assert found == pytest.approx(law.column(q, v, a, c), rel=1e-12), name


def test_the_presliding_of_the_page_is_that_of_the_package():
    rng, c = np.random.default_rng(0), 0.01
    q = np.cumsum(rng.normal(0.0, 0.003, 200))
    v = np.gradient(q)
    z, expected = 0.0, LAWS['presliding'].column(q, v, 0.0 * v, c)
    for k in range(1, len(q)):
        d = q[k] - q[k - 1]
        s = np.sign(v[k]) if v[k] else np.sign(d)
        z = s + (z - s) * np.exp(-abs(d) / c)
        assert z == pytest.approx(expected[k], abs=1e-9)
