"""Test the rules of verdicts, on numbers."""

from dataclasses import replace

import pytest

from ros_inertial_id.checks.check import checkup_of
from ros_inertial_id.checks.checked import checked_statistics, UNCHECKED
from ros_inertial_id.checks.finding import (
    DO_NOT_USE,
    DOUBTFUL,
    Finding,
    GOOD,
    NOT_CHECKED,
    USABLE,
    Verdict,
)
from ros_inertial_id.checks.verdicts import joint_verdicts, Judged, whole_verdict


@pytest.mark.parametrize(
    'share, noise, outside, nominal, word',
    [
        (0.05, 0.001, 0.05, 1.0, GOOD),
        (0.15, 0.14, 0.0, 1.0, GOOD),  # noise of 14 %
        (0.15, 0.01, 0.0, 1.0, USABLE),
        (0.25, 0.25, 0.0, 1.0, USABLE),
        (0.05, 0.05, 0.3, 1.0, USABLE),
        (0.05, 0.05, 0.0, 0.03, USABLE),
        (0.6, 0.6, 0.0, 1.0, DO_NOT_USE),
        (1.1, 0.1, 0.0, 1.0, DO_NOT_USE),
    ],
)
def test_a_joint_is_judged_by_what_is_left_of_its_torque(share, noise, outside, nominal, word):
    fit = Judged({'a': 4.0 * share}, {'a': 4.0}, noise={'a': 4.0 * noise})
    joints = joint_verdicts(fit, {'a': 4.0 * nominal}, [], {'a': 4.0 * outside})
    assert joints['a'].word == word and bool(joints['a'].reasons) == (word != GOOD)


def test_the_whole_is_judged_by_all_torques_and_by_its_worst_joint():
    torque = {'a': 10.0, 'b': 0.5, 'c': 0.5}
    residual = {'a': 0.2, 'b': 0.4, 'c': 0.15}
    joints = joint_verdicts(Judged(residual, torque), {}, [])
    whole = whole_verdict(Judged(residual, torque), joints, [])
    assert joints['b'].word == DO_NOT_USE and joints['c'].word == whole.word == USABLE
    assert whole.reasons == (
        'not for b',
        'more than 20 % relative residual of c in cross-validation',
    )


@pytest.mark.parametrize(
    'share, noise, word',
    [
        (0.05, 0.01, USABLE),
        (0.05, 0.04, USABLE),  # 3 % besides
        (0.05, 0.049, GOOD),
        (0.01, 0.001, GOOD),
        (0.015, 0.001, USABLE),
        (0.15, 0.01, USABLE),
    ],
)
def test_a_systematic_residual_of_all_torques_is_not_good(share, noise, word):
    fit = Judged(
        {'a': 10.0 * share, 'b': 0.0}, {'a': 10.0, 'b': 0.01}, noise={'a': 10.0 * noise, 'b': 0.0}
    )
    whole = whole_verdict(fit, joint_verdicts(fit, {}, []), [])
    assert whole.word == word and whole.reasons[:1] == (
        ()
        if word == GOOD
        else (
            f'{100 * share:.3g} % relative residual in cross-validation, where sensor noise alone '
            f'leaves {100 * noise:.2g} %: something is not modelled',
        )
    )


def test_a_joint_that_lacks_something_is_named_and_noise_that_is_not_known_lacks_nothing():
    residual, torque = {'a': 0.1, 'b': 0.12}, {'a': 10.0, 'b': 1.0}
    fit = Judged(residual, torque, noise={'a': 0.1, 'b': 0.03})
    whole = whole_verdict(fit, joint_verdicts(fit, {}, []), [])
    assert whole.word == USABLE and whole.reasons == (
        'more than 10 % systematic residual of b in cross-validation',
    )
    fit = Judged(residual, torque)
    assert whole_verdict(fit, joint_verdicts(fit, {}, []), []).word == GOOD


@pytest.mark.parametrize('noise', [0.0, 0.005, 0.02, 0.05, 0.13])
def test_noise_never_turns_into_good_what_is_not_good_without_it(noise):
    """The residual of a recording, 1.6 % of which is no noise, with white noise added to it."""
    fit = Judged(
        {'a': 10.0 * (0.016**2 + noise**2) ** 0.5},
        {'a': 10.0},
        noise={'a': 10.0 * noise},
        independent={'a': 900.0},
    )
    whole = whole_verdict(fit, joint_verdicts(fit, {}, []), [])
    assert whole.word == USABLE
    assert ('not modelled' in whole.reasons[0]) == (noise < 0.03)
    assert ('may hide a systematic error of up to' in whole.reasons[0]) == (noise >= 0.03)


@pytest.mark.parametrize(
    'independent, word',
    [(20.0, USABLE), (20000.0, GOOD)],
)
def test_a_residual_that_is_noise_is_good_where_it_hides_little(independent, word):
    """Of 4 % of noise 2 sqrt(2 / n) of the square is open: 3.2 % by 20 residuals."""
    fit = Judged({'a': 0.4}, {'a': 10.0}, noise={'a': 0.4}, independent={'a': independent})
    whole = whole_verdict(fit, joint_verdicts(fit, {}, []), [])
    assert whole.word == word
    if word == USABLE:
        assert 'leaves 4 % and may hide a systematic error of up to 3.2 %' in whole.reasons[0]


def test_a_residual_that_is_no_number_is_not_good():
    fit = Judged({'a': float('nan')}, {'a': 4.0})
    joints = joint_verdicts(fit, {}, [])
    assert joints['a'].word == whole_verdict(fit, joints, []).word == DO_NOT_USE


def test_a_doubtful_finding_of_a_joint_is_said_of_that_joint_alone():
    finding = Finding(
        'effort quantised',
        'the effort of a comes in steps',
        '',
        9.0,
        'samples',
        ('a',),
        DOUBTFUL,
        '',
    )
    joints = joint_verdicts(Judged({'a': 0.1, 'b': 0.1}, {'a': 4.0, 'b': 4.0}), {}, [finding])
    assert joints['a'].word == USABLE and joints['a'].reasons == (finding.says,)
    assert joints['b'].word == GOOD


def test_a_validation_that_misses_a_joint_is_part_of_the_verdict():
    checkup = checkup_of([], (0.0,), torque={'a': 10.0, 'b': 10.0}, residual={'a': 0.2, 'b': 0.2})
    fit = {
        'rms': {'a': 0.2, 'b': 0.2},
        'measured_rms': {'a': 10.0, 'b': 10.0},
        'relative_percent': 2.0,
    }
    statistics = {'training': {'filtered': fit}}
    assert checked_statistics(statistics, checkup)['verdict']['word'] == GOOD
    # The second joint has little torque in the validation, of which a third is missed.
    seen = {'rms': {'a': 0.2, 'b': 0.3}, 'measured_rms': {'a': 10.0, 'b': 0.9}}
    statistics['validation'] = {'filtered': seen}
    verdict = checked_statistics(statistics, checkup)['verdict']
    assert verdict['word'] == USABLE
    assert verdict['reasons'] == [
        'more than 20 % relative residual of b on the validation recording'
    ]
    assert verdict['joints']['a']['word'] == GOOD and verdict['joints']['b']['word'] == USABLE
    statistics['validation']['range'] = {'b': {'q': [0.5, 0.5001]}}  # it stood still there
    assert checked_statistics(statistics, checkup)['verdict']['word'] == GOOD


@pytest.mark.parametrize(
    'training, validation, word', [(2.0, 9.0, USABLE), (4.0, 9.0, GOOD), (0.2, 1.0, GOOD)]
)
def test_a_validation_far_above_the_training_is_a_reason(training, validation, word):
    checkup = checkup_of([], (0.0,), torque={'a': 10.0}, residual={'a': 0.1 * training})
    statistics = {
        kind: {
            'filtered': {
                'rms': {'a': 0.1 * percent},
                'measured_rms': {'a': 10.0},
                'relative_percent': percent,
            }
        }
        for kind, percent in (('training', training), ('validation', validation))
    }
    verdict = checked_statistics(statistics, checkup)['verdict']
    assert verdict['word'] == word
    assert any('times that in training' in r for r in verdict['reasons']) == (word == USABLE)


def test_each_joint_is_judged_by_its_own_cross_validation():
    checkup = checkup_of([], (0.0,), torque={'a': 9.0, 'b': 1.1}, residual={'a': 0.2, 'b': 0.02})
    size = {'a': 10.0, 'b': 1.0}  # as its own rows have them
    statistics = {
        'training': {'filtered': {'rms': {'a': 0.2, 'b': 0.02}, 'measured_rms': size}},
        'cross_validation': {'rms': {'a': 4.0, 'b': 0.03}, 'measured_rms': size},
    }
    verdict = checked_statistics(statistics, checkup)['verdict']
    assert verdict['joints']['a'] == {
        'word': USABLE,
        'reasons': ['40 % relative residual in cross-validation: the other joints leave 3 %'],
    }
    assert verdict['joints']['b']['word'] == GOOD  # whatever the other joint has


@pytest.mark.parametrize(
    'evidence, unit, words',
    [
        (1.0, 'samples', '[1 sample]'),
        (3.0, 'samples', '[3 samples]'),
        (1.0, '% of the samples', '[1 % of the samples]'),
        (41.23, 'nats', '[certain]'),
        (2.0, 'nats', '[odds 7 to 1]'),
    ],
)
def test_a_finding_says_how_much_there_is_of_it(evidence, unit, words):
    finding = Finding('a', 'something', '', evidence, unit, (), DOUBTFUL, 'mend it')
    assert finding.sentence() == f'something {words}; mend it'


def test_a_method_without_model_checks_has_verdicts_of_its_joints_and_says_what_is_not_checked():
    reason = f'{UNCHECKED} closed_loop'
    checkup = replace(checkup_of([], (0.0,)), verdict=Verdict(NOT_CHECKED, (reason,)))
    fit = {'rms': {'a': 0.2, 'b': 2.0}, 'measured_rms': {'a': 10.0, 'b': 1.0}}
    statistics = {'training': {'filtered': fit}}
    verdict = checked_statistics(statistics, checkup)['verdict']
    assert verdict['word'] == DO_NOT_USE and reason in verdict['reasons']
    assert verdict['joints']['a'] == {'word': USABLE, 'reasons': [reason]}
    assert verdict['joints']['b']['word'] == DO_NOT_USE and 'not for b' in verdict['reasons']
    seen = {'rms': {'a': 0.2, 'b': 0.02}, 'measured_rms': {'a': 10.0, 'b': 1.0}}
    statistics = {'training': {'filtered': seen}}
    assert checked_statistics(statistics, checkup)['verdict']['word'] == USABLE
    statistics['validation'] = {'filtered': fit}  # 200 % of b, 2 % of all
    assert checked_statistics(statistics, checkup)['verdict']['word'] == DO_NOT_USE
    statistics = {'training': {'filtered': fit}}
    fit['measured_rms'] = {'a': 0.0, 'b': 0.0}  # rows that say zero: nothing to compare with
    assert checked_statistics(statistics, checkup)['verdict'] == {
        'word': NOT_CHECKED,
        'reasons': [reason],
        'joints': {},
    }


def test_usable_says_how_good_the_data_could_be():
    """By noise, by the best part of the motion, and by the other joints."""
    fit = Judged({'a': 1.5, 'b': 0.2}, {'a': 10.0, 'b': 10.0}, noise={'a': 0.1, 'b': 0.1})
    fit = replace(fit, best={'a': 0.5, 'b': 0.1})
    assert joint_verdicts(fit, {}, [])['a'].reasons == (
        '15 % relative residual in cross-validation, where sensor noise alone leaves 1 %, the '
        'best quarter of the motion leaves 5 %, the other joints leave 2 %: something is not '
        'modelled',
    )
    poor = replace(fit, residual={'a': 3.0, 'b': 0.2})
    assert joint_verdicts(poor, {}, [])['a'].reasons == (
        '30 % relative residual in cross-validation: the best quarter of the motion leaves 5 %, '
        'the other joints leave 2 %',
    )


def test_a_model_without_a_determined_parameter_is_not_to_be_used():
    checkup = checkup_of([], (0.0,), torque={'a': 4.0}, residual={'a': 0.02})
    fit = {'rms': {'a': 0.02}, 'measured_rms': {'a': 4.0}, 'relative_percent': 0.5}
    for determined, word in ((3, GOOD), (0, DO_NOT_USE)):
        statistics = {'cross_validation': fit, 'determined': determined, 'rank': 25}
        verdict = checked_statistics(statistics, checkup)['verdict']
        assert verdict['word'] == word
    assert verdict['reasons'] == ['not determined: the motion shows none of 25 base parameters']
    friction = {'determined': 2, 'rank': 25, 'bodies': {'rank': 22, 'determined': 0}}
    verdict = checked_statistics({'cross_validation': fit, **friction}, checkup)['verdict']
    assert verdict['word'] == DO_NOT_USE
    assert verdict['reasons'] == [
        'not determined: the motion shows none of 22 base parameters of bodies'
    ]
