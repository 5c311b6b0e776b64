"""Test the checkup: clean recordings pass, every injected fault is found under its name."""

from dataclasses import replace
import re

import mujoco_arm
import numpy as np
import pytest
from recording_faults import columns, FAULTS, rebuilt

from ros_inertial_id.checks import signals
from ros_inertial_id.checks.check import check
from ros_inertial_id.checks.checked import checked_statistics, cleaned
from ros_inertial_id.checks.finding import DO_NOT_USE, GOOD, MASKED, NOTE
from ros_inertial_id.cli.main import main
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import load_options
from ros_inertial_id.report.words import verdict

OPTIONS = load_options('', 'serial_arm')[1]


@pytest.mark.parametrize(
    'name, seed, mounting',
    [
        ('franka', 1, 'upright'),
        ('franka', 11, 'rpy 0 1.5707963 0'),
        ('arm3', 12, 'upright'),
        ('arm2', 13, 'upright'),
    ],
)
def test_clean_recordings_are_good_and_nothing_is_left_out(name, seed, mounting):
    recording = mujoco_arm.recorded(name, seed, mounting)
    result = check([recording], OPTIONS)
    assert [f.name for f in result.checks if f.severity != NOTE] == []
    assert result.verdict.word == GOOD and result.masked == (0.0,)
    assert cleaned([recording], result)[0] is recording  # so its numbers are as without a checkup


def test_a_description_without_masses_is_refused_as_identify_refuses_it(arm):
    """Free bodies lean on what is described as well: the check said "usable", at 7 % for .4."""
    massless = re.sub(r'mass value="[^"]*"', 'mass value="0"', arm.robot_description)
    result = check([replace(arm, robot_description=massless)], OPTIONS)
    assert result.verdict.word == DO_NOT_USE
    assert 'links without inertia' in result.verdict.reasons[0]


LEVEL = {'encoder zero': 2, 'effort delayed': 2, 'one gain': 2}
# What must be told from what other joints, bodies or directions could do is so among seven joints.
# Other faults are in the samples of a joint, or in all joints alike: three show them as well.
AMONG_SEVEN = {
    'effort of a joint negated',
    'efforts permuted',
    'efforts currents',
    'one gain',
    'gravity compensated',
    'effort of a joint delayed',
    'payload not declared',
    'wrong mounting',
}


# Descriptions of other robots: see test_checkup_causes.py.
@pytest.mark.parametrize('fault', sorted(FAULTS.keys() - {'other robot'}))
def test_every_fault_is_named(franka, arm, fault):
    inject, expected = FAULTS[fault]
    broken, options, window = inject(
        franka if fault in AMONG_SEVEN else arm,
        OPTIONS,
        LEVEL.get(fault, 1),
        np.random.default_rng(1),
    )
    result = check([broken], options)
    found = [f for f in result.checks if f.name in expected]
    assert found, [f.sentence() for f in result.checks]
    assert found[0].do and found[0].evidence > 0.0
    if window:
        starts = [start for f in found for start, _ in f.windows]
        assert min(abs(start - window[0]) for start in starts) < 0.2  # [s], as promised


def test_what_a_stretch_loses_is_judged_by_the_whole_recording(arm, monkeypatch):
    q = columns(arm)[3].copy()
    q[2400:2800, 1] = q[2400, 1]  # 2 of 20 s, which are two fifths of a stretch of 5 s
    stuck = rebuilt(arm, position=q)
    whole = check([stuck], OPTIONS)
    monkeypatch.setattr(signals, 'JOINT_PIECE', 1000)
    parts = check([stuck], OPTIONS)
    assert check([arm], OPTIONS).verdict.word == GOOD
    for found in (whole, parts):
        finding = next(f for f in found.checks if f.name == 'position stuck')
        assert finding.severity == MASKED
        np.testing.assert_allclose(finding.windows, [(12.0, 14.0)], atol=0.02)


@pytest.mark.parametrize('storage', ['', 'sqlite3'])
def test_where_damage_would_not_show_spikes_say_so_and_nothing_else_does(arm, storage):
    tau = columns(arm)[5].copy()
    tau[500, 1] += 200.0
    wild = rebuilt(arm, effort=tau)
    for recording, says_so in ((arm, False), (wild, bool(storage))):
        recording = replace(recording, provenance={'unverified': storage})
        findings = [f for f in check([recording], OPTIONS).checks if f.name == 'no checksums']
        assert bool(findings) == says_so
        assert all(f.severity == NOTE for f in findings)
    both = check([replace(wild, provenance={'unverified': storage})] * 2, OPTIONS).checks
    assert [f.name for f in both].count('no checksums') == bool(storage)


def test_a_torque_of_noise_is_not_to_be_used_and_carries_nothing_over(arm):
    tau = arm.channels['/joint_states'].fields['effort']
    noise = tau.std(0) * np.random.default_rng(3).standard_normal(tau.shape)
    noisy = rebuilt(arm, effort=noise)
    checkup, result = check([noisy], OPTIONS), identify([noisy], OPTIONS)
    result.model.statistics.update(checked_statistics(result.model.statistics, checkup))
    assert checkup.checks[0].name == 'efforts do not follow the motion'
    assert result.model.statistics['verdict']['word'] == DO_NOT_USE
    assert not any('generalizes' in sentence for sentence in verdict(result.model))


def test_a_contact_of_one_second_costs_little_when_it_is_left_out(arm):
    broken, _, _ = FAULTS['contact'][0](arm, OPTIONS, 2, np.random.default_rng(0))
    rest = cleaned([broken], check([broken], OPTIONS))
    clean, masked, kept = (identify(r, OPTIONS).model for r in ([arm], rest, [broken]))

    def error(model):
        truth = [e['value'] for e in clean.base]
        size = [e['standard_error'] for e in clean.base]
        return np.sqrt(
            np.mean(
                [
                    ((e['value'] - x) / s) ** 2
                    for e, x, s in zip(model.base, truth, size)
                    if e['determined'] and s
                ]
            )
        )

    # In standard errors of the clean estimate: one is what another recording would change too.
    assert error(masked) < 1.0 < error(kept)


def test_the_verb_says_the_verdict_first_and_strict_is_a_status(arm, monkeypatch, capsys):
    negated = rebuilt(arm, effort=-arm.channels['/joint_states'].fields['effort'])
    monkeypatch.setattr('ros_inertial_id.cli.verbs.recordings_in', lambda *_: [negated])
    assert main(['check', 'bag']) == 0
    first, second = capsys.readouterr().out.splitlines()[:2]
    assert first.startswith('verdict: do not use') and 'negated' in second
    assert main(['check', 'bag', '--strict']) == 3
