"""What the one judge says where several explanations, joints or sensors compete."""

from dataclasses import replace
import re
import subprocess
import sys
from xml.etree import ElementTree

import mujoco_arm
import numpy as np
import pinocchio
import pytest
from recording_faults import columns, rebuilt

from ros_inertial_id.api.identify import check, identify
from ros_inertial_id.checks.causes import MASSES
from ros_inertial_id.checks.finding import DO_NOT_USE, GOOD, USABLE
from ros_inertial_id.measurement.bags.writing import write_recording


def _with_masses(recording, kilograms):
    """Return a ``recording`` whose description has every mass the same, as placeholders are."""
    robot = ElementTree.fromstring(recording.robot_description)
    for mass in robot.iter('mass'):
        mass.set('value', str(kilograms))
    return replace(recording, robot_description=ElementTree.tostring(robot, encoding='unicode'))


def _said(result, name):
    return next(f for f in result.checks if f.name == name)


def test_placeholder_masses_are_said_beside_efforts_that_are_no_torques(franka):
    """No recording tells them apart, and gains that hide it make no model good."""
    placeholder = _with_masses(franka, 30.0)
    result = check(placeholder)
    (finding,) = [f for f in result.checks if f.severity == 'wrong']
    assert finding.says.endswith(MASSES) and result.verdict.word == DO_NOT_USE
    gains = [float(x) for x in re.search(r'drive_gain: \[([^]]*)\]', finding.do)[1].split(',')]
    hidden = identify(placeholder, effort_kind='current', drive_gain=gains)
    assert hidden.verdict.word != GOOD


def test_gains_that_repeat_the_described_masses_make_a_model_usable_at_best(arm):
    """Gains of a drive are never such that every described torque is right to a percent."""
    currents = replace(rebuilt(arm, effort=columns(arm)[-1] / 9.0), effort_kind='current')
    for gains in ((3.0,) * 3, (9.0,) * 3):  # wrong ones, and those of the drives
        said = {f.name for f in check(currents, drive_gain=gains).checks}
        assert 'gains from described masses' not in said
    advice = re.search(r'drive_gain: \[([^]]*)\]', _wrong(check(currents)))[1]
    result = check(currents, drive_gain=[float(x) for x in advice.split(',')])
    assert _said(result, 'gains from described masses').severity == 'doubtful'
    assert result.verdict.word == USABLE


def test_currents_of_gains_of_their_own_get_them(franka):
    """Where the description shows the gain of a joint, the advice has it."""
    gains = np.array([11.0, 11.0, 6.8, 8.0, 9.0, 2.8, 2.8])
    tau = columns(franka)[-1]
    said = _wrong(check(rebuilt(franka, effort=tau / gains)))
    found = np.array([float(x) for x in re.search(r'drive_gain: \[([^]]*)\]', said)[1].split(',')])
    middle = re.search(r'\(([^()]*) not determined: the middle one', said)
    unknown = middle[1].split(', ') if middle else []
    names = franka.channels['/joint_states'].names
    known = np.array([name not in unknown for name in names])
    assert known.sum() >= 3  # the described bodies are up to a third off
    np.testing.assert_allclose(found[known], gains[known], rtol=0.4)


def _wrong(result):
    return ' '.join(f.sentence() for f in result.checks if f.severity == 'wrong')


@pytest.mark.parametrize(
    'joint, factor, word',
    [
        (5, 1.3, USABLE),  # of the wrist: the others predict as well beside it
        (3, -1.0, DO_NOT_USE),
    ],
)  # of the elbow: the shoulder's torque is no longer explained
def test_a_fault_of_one_joint_is_of_the_whole_where_the_others_suffer(franka, joint, factor, word):
    tau = columns(franka)[-1]
    result = check(rebuilt(franka, effort=tau * np.where(np.arange(7) == joint, factor, 1.0)))
    name = franka.channels['/joint_states'].names[joint]
    assert result.joints[name].word == DO_NOT_USE
    assert result.verdict.word == word
    finding = next(f for f in result.checks if f.severity == 'wrong')
    assert finding.alone == (word == USABLE)


def test_gravity_that_was_taken_off_is_told_though_little_is_left(shared_data):
    """What described bodies leave is compared with the torque that the cause restores."""
    names = tuple(f'lwr_{k}_joint' for k in range(7))
    urdf = (shared_data / 'kuka_lwr4/kuka_lwr4.urdf').read_text()
    kuka = mujoco_arm.real('kuka_lwr4/measurement_1.npz', names)
    kuka = replace(kuka, robot_description=urdf)
    _, _, _, q, _, tau = columns(kuka)
    model = pinocchio.buildModelFromXML(urdf)
    data = model.createData()
    weight = np.array([pinocchio.computeGeneralizedGravity(model, data, x).copy() for x in q])
    result = check(rebuilt(kuka, effort=tau - weight))
    assert [f.name for f in result.checks if f.severity == 'wrong'] == ['gravity compensated']


def test_sensors_of_a_clean_arm_are_as_good_as_their_errors_say(franka):
    """Nothing is off in the simulation: estimates are zero within three errors."""
    model = identify(franka).model.identified
    entries = [n for n in model.statistics['nuisances'] if n['what'] != 'load at the last link']
    assert len(entries) == 1 + 3 * 7
    for entry in entries:
        assert abs(entry['value']) < 3.0 * entry['standard_error'] <= 3.0 * entry['prior'] * 1.001


def test_the_zero_of_an_encoder_is_estimated(franka):
    """A hundredth of a radian at the elbow, where gravity shows it."""
    q = columns(franka)[3].copy()
    q[:, 3] += 0.01
    entries = identify(rebuilt(franka, position=q)).model.identified.statistics['nuisances']
    zeros = {n['joint']: n for n in entries if n['what'] == 'zero of an encoder'}
    zero = zeros['fr3_joint4']
    # The sign is that of what has to be added to the recorded position.
    assert abs(abs(zero['value']) - 0.01) < 4.0 * zero['standard_error'] + 0.005


def test_scipy_is_not_imported_on_the_way_of_a_real_arm(franka, tmp_path):
    """Noise, seven joints, a bag: what takes a second to import is not needed."""
    bag = str(tmp_path / 'bag')
    write_recording(tmp_path / 'bag', franka)
    code = (
        'import sys\n'
        'from ros_inertial_id.cli.main import main\n'
        f'main(["check", {bag!r}])\n'
        f'main(["identify", {bag!r}, "--out", {str(tmp_path / "out")!r}])\n'
        'heavy = ("optimize", "linalg", "sparse", "spatial", "fft", "special", "interpolate")\n'
        'print([m for m in heavy if f"scipy.{m}" in sys.modules])\n'
    )
    out = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines()[-1] == '[]'


@pytest.mark.parametrize('armature, damping', [(0.1, 1.0), (1.0, 0.0)])
def test_rotors_and_damping_are_no_other_masses(armature, damping):
    """Exact torques of the described bodies, a rotor in each joint: the description is right."""
    urdf = mujoco_arm.description('arm2')
    t, q, v, a = mujoco_arm.motion(2, 20.0, 200.0, seed=5, speed=1.0)
    tau = mujoco_arm.torque(urdf, q, v, a) + armature * a + damping * v
    result = check(mujoco_arm.recording(mujoco_arm.joints_of(urdf), t, q, v, tau, urdf=urdf))
    assert (result.verdict.word, list(result.checks)) == (GOOD, [])
