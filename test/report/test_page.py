"""The page draws what the model holds, for every method of reading it: numbers, names, flags."""

import base64
from dataclasses import replace
import html
import json

import mujoco_arm
import numpy as np
import pytest
from test_report import changed, OPTIONS, Page, record

from ros_inertial_id.cli.main import main
from ros_inertial_id.errors import RobotModelError
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.report import verdict, write_report
from ros_inertial_id.report.comparison import compare_models, residuals_table
from ros_inertial_id.report.curves import curves
from ros_inertial_id.report.decision_tables import settings_table
from ros_inertial_id.report.knowledge import evaluate, significant
from ros_inertial_id.report.prediction_facts import worst_joint


@pytest.fixture(scope='module')
def good():
    """Return the Identification of one recording, validated by a second."""
    return identify([record()], OPTIONS, validate=[record(seed=1)])


@pytest.fixture(scope='module')
def page(good, tmp_path_factory):
    path = write_report(good, tmp_path_factory.mktemp('page') / 'report.html')
    return Page(path.read_text('utf-8'))


def numbers(page, name):
    """Return an array of the page by its name, and half a step of its sixteen bits."""
    low, step, text = page.data['arrays'][name]
    codes = np.frombuffer(base64.b64decode(text), dtype='<u2')
    return np.where(codes == 65535, np.nan, low + step * codes), 0.51 * step


def test_charts_hold_the_curves_of_the_model(good, page):
    drawn = curves(good.model, good.validation)
    charts = [c for c in page.data['charts'].values() if c.get('link') == 'validation']
    *charts, first = charts  # the worst joint's stands on the first screen as well
    assert len(charts) == len(drawn) == 2 and first['panes'] in [c['panes'] for c in charts]
    for chart, curve in zip(charts, drawn.values()):
        raw, filtered, predicted = chart['panes'][0]['series']
        band, residual = chart['panes'][1]['series']
        assert predicted['y'] == filtered['y'] and predicted['minus'] == residual['y']
        for name, y in (
            (raw['y'], curve.y_raw),
            (filtered['y'], curve.y),
            (residual['y'], curve.residual),
            (band['half'], curve.half),
        ):
            values, step = numbers(page, name)
            assert step < 1e-5 * np.nanmax(np.abs(y)) * 2
            np.testing.assert_allclose(values, y, rtol=0, atol=step)
        assert np.mean(np.abs(curve.residual) <= curve.half) > 0.9 and np.nanmin(curve.half) > 0
        t, _ = numbers(page, chart['x'])
        assert np.all(np.diff(t) >= 0) and np.isfinite(t).all()


def test_every_chart_of_the_page_has_a_place_and_a_name(good, tmp_path):
    text = write_report(good, tmp_path / 'report.html').read_text('utf-8')
    data = Page(text).data
    for number, chart in data['charts'].items():
        assert text.count(f'data-chart="{number}"') == 1
        assert chart['label'] and chart['title'] and chart['xlabel']
    assert text.count('src=') == 0


def test_the_worst_joint_stands_in_the_headline(good, page):
    fit = good.model.statistics['validation']['filtered']
    curve = curves(good.model, good.validation)
    shares = {
        name: np.sqrt(np.nanmean(c.residual**2) / np.nanmean(c.y**2)) for name, c in curve.items()
    }
    name, percent = worst_joint(good.model)
    assert name == max(shares, key=shares.get)
    # The curves are thinned out: a few per cent of the residual's own size.
    assert percent == pytest.approx(100 * shares[name], rel=0.1)
    assert percent > fit['relative_percent']
    assert any(
        chart['title'].startswith(f'Worst joint, {name}: validation: residual')
        for chart in page.data['charts'].values()
    )
    assert any(f'Worst joint: {name}' in text for text in verdict(good.model))


def test_values_below_zero_are_flagged_sure_or_not(good, tmp_path):
    assert not any(item.negative for item in evaluate(good.model))
    model = changed(good.model, 'fv1', value=-0.1, standard_error=0.2, relative_percent=200.0)
    assert any('Negative, though not' in text and 'fv1' in text for text in verdict(model))
    path = write_report(replace(good, model=model), tmp_path / 'report.html')
    row = Page(path.read_text('utf-8')).row('fv1')
    assert row[1].endswith('!')
    rotor = changed(good.model, 'IzzR1', value=-0.1, standard_error=1.0)
    assert {i.name for i in evaluate(rotor) if i.negative} == {'IzzR1'}


def test_a_description_without_inertias_is_not_contradicted(good):
    bare = replace(
        good.model,
        parameters=tuple(replace(p, nominal=0.0) for p in good.model.parameters),
        base=[dict(entry, nominal=0.0) for entry in good.model.base],
    )
    assert not any('robot description' in text for text in verdict(bare))
    assert all(item.difference == 0.0 and not item.has_nominal for item in evaluate(bare))
    assert any('robot description' in text for text in verdict(good.model))


def test_checks_and_choices_are_shown_where_there_are_some(good, tmp_path):
    s = dict(good.model.statistics)
    s['verdict'] = {
        'word': 'usable',
        'reasons': ['joint2 slips'],
        'joints': {
            'joint1': {'word': 'good', 'reasons': []},
            'joint2': {'word': 'do not use', 'reasons': ['slip of 3 degrees']},
        },
    }
    s['checks'] = [
        {
            'name': 'slip',
            'says': 'joint2 <slips>',
            'tests': '',
            'evidence': 42.123,
            'unit': 'nats',
            'joints': ['joint2'],
            'severity': 'doubtful',
            'do': 'tighten it',
            'windows': [[1.0, 2.5]],
            'recording': 0,
        }
    ]
    s['choices'] = [
        {
            'what': 'model',
            'tried': 31,
            'candidate': 'coulomb 0.02',
            'left_out_error': 3.0,
            'worse_percent': 0.0,
            'worse_error_percent': 0.0,
            'chosen': True,
        },
        {
            'what': 'model',
            'tried': 31,
            'candidate': 'coulomb 0.02, spring',
            'left_out_error': 2.9,
            'worse_percent': -1.24,
            'worse_error_percent': 2.0,
            'chosen': False,
        },
        {
            'what': 'gravity direction',
            'candidate': 'as given',
            'evidence': -2.0,
            'worse_percent': 4.0,
            'worse_error_percent': 0.5,
            'chosen': False,
        },
    ]
    model = replace(good.model, statistics=s)
    found = Page(write_report(replace(good, model=model), tmp_path / 'r.html').read_text('utf-8'))
    row = next(row for row in found.rows if row[0] == 'doubtful')
    assert row[1:] == [
        'joint2 <slips>',
        'joint2',
        '1.00 to 2.50',
        'odds above 22026 to 1',
        'tighten it',
    ]
    assert ['model, of 31 tried', 'coulomb 0.02', 'cross-validated residual 3.00 %'] in found.rows
    assert [
        'model, of 31 tried',
        'not: coulomb 0.02, spring',
        'cross-validated residual 2.90 %, better by 1.2 ± 2.0 %',
    ] in found.rows
    assert [
        'gravity direction',
        'not: as given',
        'worse by 4.00 ± 0.50 %, log-likelihood lower by 2 (odds 7 to 1)',
    ] in found.rows
    assert 'cluster-robust' in (tmp_path / 'r.html').read_text('utf-8')
    assert 'usable' in found.words and 'do not use' not in found.words


def test_the_first_screen_says_what_next_and_what_is_outside_of_the_range(good, tmp_path):
    alone = identify([record()], replace(OPTIONS, consistent=True))
    path = write_report(alone, tmp_path / 'r.html')
    text = html.unescape(path.read_text('utf-8'))
    command = text.split('<code>')[2].split('</code>')[0]
    assert command == f'inertial-id export {tmp_path}/model.yaml --for urdf --out identified.urdf'
    assert f'inertial-id validate {tmp_path}/model.yaml OTHER_BAG' in text
    assert 'of the validation lies outside the trained range' in write_report(
        good, path
    ).read_text('utf-8')


def test_gravity_that_was_estimated_is_not_said_to_be_given(good):
    tilted = [
        {'what': 'gravity direction', 'candidate': what, 'chosen': chosen, 'evidence': 82.0}
        for what, chosen in (('as given', False), ('[0, 0.02, -1]', True))
    ]
    model = replace(
        good.model,
        options={**good.model.options, 'mounting': 'gravity 0 0.2 -9.8'},
        statistics={**good.model.statistics, 'choices': tilted},
    )
    told = ' '.join(verdict(model))
    assert 'estimated from the torques' in told and '(upright, as none was given)' in told
    rows = dict(settings_table(model).rows[1:])
    assert rows['mounting'] == 'upright, as none was given' and 'option mounting' not in rows
    assert rows['gravity in base_link'].endswith('estimated from the torques')


def test_names_that_are_html_or_formulas_stay_text(tmp_path):
    result = identify([record()], OPTIONS)
    name = '</script><b>$\\frac$</b>'
    robot = dict(result.model.robot, name=name)
    text = write_report(
        replace(result, model=replace(result.model, robot=robot)), tmp_path / 'r.html'
    ).read_text('utf-8')
    assert (
        name not in text
        and 'b' not in Page(text).tags - {'b'}
        and any(name in words for words in Page(text).words)
    )


def test_models_are_compared_with_the_significance_of_differences(good, tmp_path, capsys):
    entry = next(e for e in good.model.base if e['name'] == 'fv1')
    other = changed(good.model, 'fv1', value=entry['value'] + 1.0)
    for name, model in (('a', good.model), ('b', other)):
        (tmp_path / f'{name}.yaml').write_text(model.to_yaml())
    words = [
        'compare',
        str(tmp_path / 'a.yaml'),
        str(tmp_path / 'b.yaml'),
        '--out',
        str(tmp_path / 'out'),
    ]
    assert main([*words, '--json']) == 0
    data = json.loads(capsys.readouterr().out)
    assert {part: len(set(both)) for part, both in data['relative_percent'].items()} == {
        'training': 1,
        'cross-validation': 1,
        'validation': 1,
    }  # the same models otherwise
    assert data['schema'] == 'ros_inertial_id/compare/1' and len(data['base_parameters']) > 10
    assert data['significantly_different'] == ['fv1']
    text = (tmp_path / 'out' / 'comparison.html').read_text('utf-8')
    z = 1.0 / (np.sqrt(2) * entry['standard_error'])
    shown = Page(text)
    assert any(row[0] == 'fv1' and row[-2] == f'{z:.1f}' for row in shown.rows)
    assert len(shown.data['charts']) == 2  # the friction of two joints
    assert f'inertial-id compare {tmp_path}' in text
    strange = replace(other, robot=dict(other.robot, kinematics_sha256='other'))
    with pytest.raises(RobotModelError, match='another robot'):
        compare_models(['a', 'b'], [good.model, strange], {})
    assert main(words[:2]) == 2


def test_a_model_beside_itself_has_two_rows_of_residuals(good):
    fit = good.model.statistics['validation']['filtered']
    comparison = compare_models(['a', 'a'], [good.model, good.model], {'a': fit})
    percent = significant(fit['relative_percent'])
    assert [(row[0], row[-1]) for row in residuals_table(comparison).rows] == [('a', percent)] * 2


def test_a_spike_of_one_sample_is_not_thinned_out():
    joints, urdf = ('joint1', 'joint2'), mujoco_arm.description('arm2')
    t, q, v, a = mujoco_arm.motion(2, 60.0, 200.0, seed=3)
    tau = mujoco_arm.torque(urdf, q, v, a)
    tau += 0.05 * np.random.default_rng(3).normal(size=tau.shape)
    tau[6543, 1] += 40.0
    other = mujoco_arm.recording(joints, t, q, v, tau, urdf=urdf)
    result = identify([record()], OPTIONS, validate=[other])
    curve = curves(result.model, result.validation)['joint2']
    assert len(curve.t) < 0.3 * len(t)
    assert np.nanmax(curve.y_raw - curve.predicted) > 35.0
