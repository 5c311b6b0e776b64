"""Measured drives: numbers of another unit as priors, and what is theirs is said to be."""

from pathlib import Path

import pytest
import servo_arms

import ros_inertial_id as rid
from ros_inertial_id.errors import ConfigError
from ros_inertial_id.identification.prepare.measured_drives import measured_drive
from ros_inertial_id.report.parameter_tables import friction_table

LIBRARY = Path(__file__).parents[2] / 'config' / 'drives'
DRIVE = """\
what: the joint of a test
source: its simulation
date: 2026-11-29
method: its truth, a tenth off
joints: {joint}
terms:
  viscous: [{fv}, {error}]
  coulomb: [{fc}, {error}]
"""
OTHER = 1.1  # times the truth: another unit of the make


@pytest.fixture(scope='module')
def servos():
    return servo_arms.servos('six_axis', 2)


@pytest.fixture(scope='module')
def identified(servos):
    recording = servo_arms.recorded(servos, 2, 4.0)

    def identify(**options):
        return rid.identify(
            recording,
            effort_kind='command',
            stiffness=list(servos.stiffness),
            damping=list(servos.damping),
            friction=['viscous', 'coulomb', 'armature'],
            **options,
        ).model

    return identify


def test_drives_of_other_units_help_a_short_recording_and_are_named(servos, identified, tmp_path):
    """Beside a delay 4 s do not tell viscous friction well: half of its error goes."""
    truth, drives = servos.truth(), []
    alone = identified()
    joints = alone.identified.robot['joints']
    for number, joint in enumerate(joints, 1):
        fv, fc = (OTHER * truth[f'{symbol}{number}'] for symbol in ('fv', 'fc'))
        path = tmp_path / f'drive{number}.yaml'
        path.write_text(DRIVE.format(joint=joint, fv=fv, fc=fc, error=1e-6))
        drives.append(str(path))
    helped = identified(drive=drives, given=['fc1 0.1 5'])
    assert _viscous_error(helped, truth) < 0.6 * _viscous_error(alone, truth)
    # Of another unit nothing is known to better than 30 %; what the user gives stands above.
    given = helped.identified.options['given']
    name, value, deviation = given[0].split()
    assert name == 'fv1' and float(value) == pytest.approx(OTHER * truth['fv1'], rel=1e-5)
    assert float(deviation) == pytest.approx(0.3 * float(value), rel=1e-4)
    assert given[-1] == 'fc1 0.1 5'
    # What data know less of than the drive has no value, and the table says whose it is.
    entry = next(entry for entry in helped.identified.base if entry['name'] == 'fv2')
    entry.update(determined=False, value=None, standard_error=None)
    rows = {row[0]: str(row[1:]) for row in friction_table(helped.identified).rows}
    assert 'from drive2, not determined' in rows[joints[1]]
    assert 'from' not in rows[joints[2]]


def _viscous_error(model, truth):
    """Return the mean relative error of viscous friction."""
    errors = []
    for parameter, value in zip(model.identified.parameters, model.identified.values):
        if parameter.law == 'viscous':
            errors.append(abs(value / truth[parameter.name] - 1.0))
    return sum(errors) / len(errors)


@pytest.mark.parametrize('path', sorted(LIBRARY.glob('*.yaml')), ids=lambda path: path.stem)
def test_the_library_is_whole(path):
    drive = measured_drive(path.stem)
    for law in drive.terms:
        value, deviation = drive.prior(law)
        assert 0.3 * value < deviation


def test_drives_that_are_not_there_are_named(identified, tmp_path):
    with pytest.raises(ConfigError, match='go2_calf'):
        identified(drive=['go2_calv'])
    with pytest.raises(ConfigError, match='_calf_joint.*there is: .*elbow_joint'):
        identified(drive=['go2_calf'])
    path = tmp_path / 'drive.yaml'
    path.write_text(DRIVE.format(joint='"*"', fv=0.1, fc=-1.0, error=0.1))
    with pytest.raises(ConfigError, match='coulomb.*both positive'):
        measured_drive(str(path))
    path.write_text('what: nothing else\n')
    with pytest.raises(ConfigError, match='add source'):
        measured_drive(str(path))
