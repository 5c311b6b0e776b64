"""A model for a simulator: its own reader has the torques of the laws that it holds."""

from dataclasses import replace
import difflib
from pathlib import Path
import sys
from xml.etree import ElementTree

import mujoco
import mujoco_arm
import numpy as np
import pinocchio as pin
import pytest
import yaml

import ros_inertial_id as rid
from ros_inertial_id.cli.arguments import TARGETS as CHOICES
from ros_inertial_id.cli.main import main
from ros_inertial_id.identification.files import read_description
from ros_inertial_id.identification.model.targets import file_name, target_table, TARGETS
from ros_inertial_id.identification.prepare.dataset import read_dataset
from ros_inertial_id.identification.settings import prediction_options

PAGE = Path(__file__).parents[2] / 'doc' / 'use_a_model.md'
KUKA = tuple(f'lwr_{i}_joint' for i in range(7))
MJCF = """<mujoco model="two">
  <!-- kept -->
  <compiler autolimits="true"/>
  <default>
    <joint damping="3" armature="0.2"/>
    <default class="servo"><position kp="40" kv="2"/></default>
  </default>
  <worldbody>
    <body name="base">
      <body name="upper" pos="0 0 .3">
        <joint name="shoulder" axis="0 1 0" range="-90 90"/>
        <inertial mass="2" pos=".1 0 0"   quat="1 0 0 0" diaginertia=".02 .03 .02"/>
        <geom size=".1"/>
        <body name="lower" pos=".4 0 0" euler="0 20 0">
          <joint name="elbow" pos=".01 0 0" axis="0 1 0"/>
          <geom type="capsule" size=".03 .2"/>
          <site name="tip" pos=".3 0 0"/>
          <body name="tool" pos=".3 0 0"><geom size=".03"/></body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="a" joint="shoulder" gear="2"/>
    <position class="servo" name="b" joint="elbow" ctrlrange="-1 1"/>
  </actuator>
  <keyframe><key name="home" qpos=".1 .2"/></keyframe>
</mujoco>
"""


def states(joints):
    """Return q, v, a (1000, n) of joints that move: dry friction has its sign."""
    rng = np.random.default_rng(1)
    q, a = rng.uniform(-1.0, 1.0, (2, 1000, joints))
    v = rng.uniform(0.5, 1.5, (1000, joints)) * rng.choice([-1.0, 1.0], (1000, joints))
    return q, v, a


def by_mujoco(path, q, v, a, constraints=False):
    """Return the torques (N, n) that drive an MJCF, and friction as a step or as a constraint."""
    model = mujoco.MjModel.from_xml_path(str(path))
    if not constraints:
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data, out = mujoco.MjData(model), []
    for data.qpos[:], data.qvel[:], data.qacc[:] in zip(q, v, a):
        mujoco.mj_inverse(model, data)
        mujoco.mj_fwdActuation(model, data)
        out.append(data.qfrc_inverse - data.qfrc_actuator)
        if not constraints:
            out[-1] += model.dof_frictionloss * np.sign(data.qvel)
    return np.array(out)


def by_pinocchio(model, q, v, a):
    data = model.createData()
    rigid = np.array([pin.rnea(model, data, *state) for state in zip(q, v, a)])
    return rigid + model.damping * v + model.upperDryFrictionLimit * np.sign(v)


def of_xml(path, gravity):
    model = pin.Model()
    model.loadFromXML(str(path), 'model')
    return model


def of_urdf(path, gravity):
    model = pin.buildModelFromUrdf(str(path))
    model.gravity.linear = gravity
    return model


def read_back(target, path, model, state):
    """Return the torques of ``state`` by the reader of a target."""
    if target in ('mujoco', 'newton'):
        return by_mujoco(path, *state)
    if target in ('urdf', 'pinocchio'):
        reader = {'urdf': of_urdf, 'pinocchio': of_xml}[target]
        return by_pinocchio(reader(path, model.gravity_base), *state)
    pytest.importorskip('pydrake', reason='Drake is not installed: pip install drake')
    return by_drake(path, model, state, target)


def by_drake(path, model, state, target):
    """Return the torques of a URDF or an SDF, whose dry friction Drake passes over."""
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import MultibodyForces

    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(str(path))
    if target == 'drake':
        base = plant.GetBodyByName(model.identified.robot['base_link'])
        plant.WeldFrames(plant.world_frame(), base.body_frame())
    plant.Finalize()
    context, out = plant.CreateDefaultContext(), []
    for q, v, a in zip(*state):
        plant.SetPositions(context, q)
        plant.SetVelocities(context, v)
        forces = MultibodyForces(plant)
        plant.CalcForceElementsContribution(context, forces)
        out.append(plant.CalcInverseDynamics(context, a, forces))
    if target == 'drake':
        return np.array(out)
    joints = ElementTree.parse(path).getroot().iter('joint')
    dry = {joint.get('name'): joint.findtext('axis/dynamics/friction') for joint in joints}
    return np.array(out) + np.sign(state[1]) * [float(dry[name]) for name in model.joint_names]


@pytest.mark.parametrize('target', sorted(set(TARGETS) - {'isaaclab', 'usd'}))
def test_the_reader_of_a_target_has_the_torques_of_its_laws(result, tmp_path, target):
    path = tmp_path / file_name(target)
    written = result.model.export(target, path)
    state = states(3)
    torques = read_back(target, path, written.model, state)
    np.testing.assert_allclose(torques, written.model.torque(*state), rtol=0.0, atol=1e-9)
    laws = {p.law for p in written.model.identified.parameters if p.law}
    assert not laws & {'presliding', 'power', 'coulomb_load'}
    assert ('armature' in laws) is ('armature' in TARGETS[target].holds)
    assert any('armature' in line for line in written.not_held) is ('armature' not in laws)


def test_isaac_lab_has_the_numbers_of_its_laws(result, tmp_path):
    written = result.model.export('isaaclab', tmp_path / 'a.yaml', physics_dt=0.002)
    fields = yaml.safe_load((tmp_path / 'a.yaml').read_text())['ImplicitActuatorCfg']
    for field, law in (('viscous_friction', 'viscous'), ('armature', 'armature')):
        for p, value in zip(written.model.identified.parameters, written.model.identified.values):
            if p.law == law:
                assert fields[field][p.owner] == value


def test_rows_are_kept_beside_the_model_and_recordings_serve_without(result, bags, tmp_path):
    result.model.save(tmp_path / 'model.yaml')
    loaded = rid.load_model(tmp_path)
    first = loaded.export('mujoco', tmp_path / 'a.xml')
    again = result.model.export('mujoco', tmp_path / 'b.xml')
    assert (tmp_path / 'a.xml').read_text() == (tmp_path / 'b.xml').read_text()
    assert 'from the rows' in first.how and first.residual_percent == again.residual_percent
    (tmp_path / 'model.rows').write_bytes(b'{}\n')
    from_bags = rid.load_model(tmp_path).export('mujoco', tmp_path / 'c.xml')
    assert 'from the recordings' in from_bags.how
    state = states(3)
    difference = from_bags.model.torque(*state) - first.model.torque(*state)
    assert np.abs(difference).max() < 0.01
    elsewhere = replace(loaded.identified, provenance={'recordings': [{'path': '/nowhere'}]})
    dropped = rid.Model(elsewhere, loaded.gravity_base).export('urdf', tmp_path / 'd.urdf')
    assert dropped.dropped and 'nowhere' in dropped.how and dropped.residual_percent is None


def changed(path):
    """Return a Model of the MJCF at ``path`` with other numbers, offsets and springs."""
    described = rid.Model.from_description(path)
    identified, rng = described.identified, np.random.default_rng(3)
    values, parameters = identified.values.copy(), list(identified.parameters)
    values *= rng.uniform(0.9, 1.1)
    links = {}
    for k, p in enumerate(parameters):
        if p.law:
            values[k] = rng.uniform(0.3, 0.6)
        elif p.name.startswith('m') and p.unit == 'kg':
            links[p.owner] = values[k : k + 10].tolist()
    for joint, stiffness in zip(described.joint_names, (0.7, -0.4)):
        viscous = next(p for p in parameters if p.owner == joint)
        for law, unit, value in (('offset', 'N m', 0.3), ('spring', 'N m/rad', stiffness)):
            parameters.append(replace(viscous, name=f'{law} {joint}', law=law, unit=unit))
            values = np.append(values, value)
    model = replace(
        identified,
        parameters=tuple(parameters),
        values=values,
        statistics={'consistent': {'links': links}},
    )
    return rid.Model(model, described.gravity_base)


def test_an_mjcf_keeps_all_but_its_numbers(tmp_path):
    path, out = tmp_path / 'two.xml', tmp_path / 'out.xml'
    path.write_text(MJCF)
    model = changed(path)
    model.export('mujoco', out)
    before, after = MJCF.splitlines(), out.read_text().splitlines()
    lines = [line for line in difflib.ndiff(before, after) if line.startswith('- ')]
    tags = {line[1:].split()[0].lstrip('<') for line in lines}
    assert tags == {'joint', 'inertial', 'body', 'position'}
    arms = [mujoco.MjModel.from_xml_path(str(each)) for each in (path, out)]
    for name in (
        'body_pos',
        'jnt_range',
        'jnt_axis',
        'geom_size',
        'site_pos',
        'key_qpos',
        'actuator_gear',
        'actuator_ctrlrange',
        'actuator_gainprm',
    ):
        kept = [getattr(arm, name) for arm in arms]
        np.testing.assert_array_equal(*kept)
    q, v, a = states(2)
    torques = by_mujoco(out, q, v, a)
    torques[:, 1] -= 40.0 * q[:, 1] + 2.0 * v[:, 1]  # of the servo, which holds zero
    np.testing.assert_allclose(torques, model.torque(q, v, a), rtol=0.0, atol=1e-9)


@pytest.mark.parametrize('kept', ['none', 'one, and a command in a key'])
def test_a_joint_without_actuator_gets_one_for_its_constant_torque(tmp_path, kept):
    path, out = tmp_path / 'two.xml', tmp_path / 'out.xml'
    head, actuators = MJCF.split('  <actuator>\n')
    motor = actuators.splitlines(True)[0]
    sections = {
        'none': '</mujoco>\n',
        'one, and a command in a key': f'  <actuator>\n{motor}  </actuator>\n'
        '  <keyframe><key name="home" ctrl=".5"/></keyframe>\n</mujoco>\n',
    }
    path.write_text(head + sections[kept])
    model = changed(path)
    model.export('mujoco', out)
    q, v, a = states(2)
    np.testing.assert_allclose(by_mujoco(out, q, v, a), model.torque(q, v, a), atol=1e-9)
    if kept != 'none':
        np.testing.assert_array_equal(mujoco.MjModel.from_xml_path(str(out)).key_ctrl, [[0.5, 0]])


def test_a_written_mjcf_is_read_without_mujoco(result, tmp_path, monkeypatch):
    result.model.to_mjcf(tmp_path / 'arm.xml')
    monkeypatch.setitem(sys.modules, 'mujoco', None)
    again = rid.Model.from_description(read_description(tmp_path / 'arm.xml'))
    assert again.joint_names == result.model.joint_names


def test_the_file_of_a_real_arm_predicts_as_its_model_does(shared_data, tmp_path):
    urdf = (shared_data / 'kuka_lwr4' / 'kuka_lwr4.urdf').read_text()
    first, second = (mujoco_arm.real(f'kuka_lwr4/measurement_{k}.npz', KUKA) for k in (1, 2))
    model = rid.identify(first, urdf=urdf).model
    written = model.export('mujoco', tmp_path / 'arm.xml')
    data = read_dataset([second], prediction_options(model.identified), 'serial_arm', urdf)
    parts = [state for _, state in data.states(training=False)]
    q, v, a, tau = (
        np.concatenate([getattr(s, n)[::4] for s in parts]) for n in ('q', 'v', 'a', 'tau')
    )
    by_model, by_laws, by_file = (
        np.linalg.norm(torque - tau) / np.linalg.norm(tau)
        for torque in (
            model.torque(q, v, a),
            written.model.torque(q, v, a),
            by_mujoco(written.path, q, v, a, constraints=True),
        )
    )
    assert by_file < 1.1 * by_laws  # MuJoCo rounds off the step of dry friction
    assert by_file < 1.15 * by_model
    # What the page says of these laws is what they cost on data left out.
    ratios = model.statistics['ratios_in_simulators']
    assert ratios['lwr_5_joint'] > 2.0 > ratios['lwr_1_joint']


def test_the_page_has_the_table_and_the_command_line_the_names(result, tmp_path, capsys):
    assert target_table() in PAGE.read_text(encoding='utf-8')
    assert set(CHOICES) == set(TARGETS)
    result.model.save(tmp_path / 'model.yaml')
    out = str(tmp_path / 'arm.urdf')
    assert main(['export', str(tmp_path), '--for', 'urdf', '--out', out]) == 0
    said = capsys.readouterr().out
    assert 'not held: Ia1' in said and 'in cross-validation' in said
