"""The report tells what the model holds, no more, and needs nothing but itself."""

from dataclasses import replace
from html.parser import HTMLParser
import json
import re
import subprocess
import sys

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.dynamics.regressor import RegressorBlock, RowGroup
from ros_inertial_id.identification.identified_model import IdentifiedModel
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.report import outline, summary, verdict, write_report
from ros_inertial_id.report.curves import curves, friction_curves
from ros_inertial_id.report.knowledge import significant, with_error
from ros_inertial_id.report.parameter_tables import friction_table

OPTIONS = options_class('serial_arm')(
    cutoff=8.0, unconstrained=True, friction=('viscous', 'coulomb', 'offset', 'armature')
)
VISCOUS, COULOMB, OFFSET = 0.8, 0.5, -0.2
FAST, SLOW = 1.5, 0.6  # [rad/s]


def record(name='arm2', seed=0, speed=FAST, still=(), mounting='', gravity=mujoco_arm.UPRIGHT):
    """Return a Recording of a noisy arm with friction that is not quite as described."""
    urdf = mujoco_arm.description(name)
    joints = mujoco_arm.joints_of(urdf)
    t, q, v, a = mujoco_arm.motion(len(joints), 10.0, 200.0, seed=seed, speed=speed)
    for joint in still:
        q[:, joint], v[:, joint], a[:, joint] = 0.5, 0.0, 0.0
    tau = mujoco_arm.torque(mujoco_arm.true_urdf(urdf, 3), q, v, a, gravity)
    tau += mujoco_arm.friction(v, VISCOUS, COULOMB, 0.02) + OFFSET
    tau += 0.05 * np.random.default_rng(seed).normal(size=tau.shape)
    recording = mujoco_arm.recording(joints, t, q, v, tau, mounting)
    return replace(recording, robot_description=urdf, provenance={'path': f'bag {seed} & more'})


@pytest.fixture(scope='module')
def good():
    """Return the Identification of two recordings, validated by a third."""
    return identify([record(), record(seed=1)], OPTIONS, validate=[record(seed=2)])


@pytest.fixture(scope='module')
def poor():
    """Return the Identification of an arm whose second joint was held still."""
    options = replace(OPTIONS, estimator='weighted')
    return identify([record(still=(1,))], options)


class Page(HTMLParser):
    """The rows of all tables as texts, the attributes that refer to something, all text."""

    def __init__(self, text):
        super().__init__()
        self.data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
        self.rows, self.references, self.tags, self.words, self._in = [], [], set(), [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.references += [v for k, v in attributes if k in ('src', 'href', 'xlink:href')]
        if tag == 'tr':
            self.rows.append([])
        self._in = tag in ('td', 'th') or self._in and tag not in ('tr', 'table')
        if tag in ('td', 'th'):
            self.rows[-1].append('')

    def handle_endtag(self, tag):
        self._in = self._in and tag not in ('td', 'th')

    def handle_data(self, data):
        self.words.append(data)
        if self._in:
            self.rows[-1][-1] += data

    def row(self, *begin):
        """Return the one row that begins with these cells."""
        found = [row for row in self.rows if tuple(row[: len(begin)]) == begin]
        assert len(found) == 1, (begin, found)
        return found[0]


def page(identification, folder):
    return Page(write_report(identification, folder / 'report.html').read_text('utf-8'))


@pytest.fixture(scope='module')
def good_page(good, tmp_path_factory):
    return page(good, tmp_path_factory.mktemp('good'))


def test_report_refers_to_nothing_outside_itself(good, tmp_path):
    path = write_report(good, tmp_path / 'report.html')
    text = path.read_text('utf-8')
    found = Page(text)
    assert found.references
    assert all(r.startswith(('#', 'data:')) for r in found.references)
    assert not {'link', 'img', 'iframe', 'object'} & found.tags  # scripts have no src
    assert not re.search(r'@import|url\(\s*["\']?(?!#)', text)
    assert len(text) < 3e6


def test_table_gives_every_base_parameter_to_the_digits_of_its_error(good, good_page):
    for entry in good.model.base:
        row = good_page.row(entry['name'])
        value, error = (float(x) for x in row[1].rstrip(' !').split(' ± '))
        assert value == pytest.approx(entry['value'], abs=0.05 * entry['standard_error'])
        assert error == pytest.approx(entry['standard_error'], rel=0.05)
        assert row[3] == entry['unit'].replace('^2', '²') and row[-1] == entry['expression']


def test_table_of_residuals_is_that_of_the_model(good, good_page):
    found, s = good_page, good.model.statistics
    fits = [
        *(s['training'][kind] for kind in ('filtered', 'raw')),
        s['cross_validation'],
        *(s['validation'][kind] for kind in ('filtered', 'raw')),
    ]
    for joint in good.model.robot['joints']:
        expected = [f'{fit["rms"][joint]:#.3g}' for fit in fits]
        assert [joint, *expected] in found.rows
        first = next(row for row in found.rows if row[0] == joint)
        # The answer has that of the validation, filtered, and what no recording shows.
        percent = 100.0 * fits[3]['rms'][joint] / fits[3]['measured_rms'][joint]
        (use,) = (use for use in outline(good.model)['uses']['joints'] if use['name'] == joint)
        expected = np.hypot(percent, use['systematic_percent'])
        grade, number, _ = first[2].split()
        assert grade == 'good,' and float(number) == pytest.approx(expected, rel=0.05)
    assert [cell.rstrip(' %') for cell in found.row('relative')[1:6]] == [
        significant(fit['relative_percent']) for fit in fits
    ]
    assert found.row('samples', str(fits[0]['samples']))[4] == str(fits[3]['samples'])


def test_report_tells_where_the_data_came_from(good_page):
    paths = [row[1] for row in good_page.rows if row and row[0] == 'path']
    assert paths == ['bag 0 & more', 'bag 1 & more', 'bag 2 & more']
    assert good_page.row('low-pass cutoff, recording 1')[1] == '8 Hz'


def test_no_number_is_given_for_what_the_data_do_not_determine(poor, tmp_path):
    found = page(poor, tmp_path)
    undetermined = [entry for entry in poor.model.base if not entry['determined']]
    # The joint never moved: nothing shows its inertia, and it gets no friction at all.
    assert 'Izz2' in [entry['name'] for entry in undetermined]
    assert not {'fv2', 'fc2'} & {entry['name'] for entry in poor.model.base}
    for entry in undetermined:
        assert found.row(entry['name'])[1] == 'not determined by the data'
    use = next(row for row in found.rows if row[0] == 'joint2')
    assert use[1].startswith('no, ') and use[2:5] == ['no, stood still'] * 2 + ['no']
    assert any(
        text.startswith('Not determined by the data') and 'Izz2' in text
        for text in verdict(poor.model)
    )


def test_report_of_a_model_without_validation_says_so(poor, tmp_path):
    assert verdict(poor.model)[0].startswith('No validation recording')
    assert not any(row[0] == 'validation' for row in page(poor, tmp_path).rows if row)


def test_model_read_from_its_file_gives_the_same_report(good, poor, good_page, tmp_path):
    for result in (good, poor):
        model = IdentifiedModel.from_yaml(result.model.to_yaml())
        assert summary(model) == summary(result.model)
    read = IdentifiedModel.from_yaml(good.model.to_yaml())
    assert page(replace(good, model=read), tmp_path).rows == good_page.rows


def test_verdict_names_what_a_tilted_mounting_would_show(good):
    (told,) = (text for text in verdict(good.model) if text.startswith('Under this mounting'))
    # Gravity along the first axis hides the first moments across it (the second body's along
    # the common normal joins them).
    assert 'mcx1, mcyR1' in told
    wall = record(mounting='gravity 0 9.81 0', gravity=(0.0, 9.81, 0.0))
    tilted = identify([wall], OPTIONS).model
    assert not any(text.startswith('Under this mounting') for text in verdict(tilted))


def test_a_slow_motion_is_advised_to_be_faster_and_designed_for_arms_alone():
    model = identify([record(speed=0.2)], OPTIONS).model
    assert any(text.startswith('Faster motion') for text in verdict(model))
    loops = replace(model, method='closed_loop', options={})
    assert [any('inertial-id design' in text for text in verdict(m)) for m in (model, loops)] == [
        True,
        False,
    ]


def changed(model, name, **values):
    base = [dict(entry, **values) if entry['name'] == name else entry for entry in model.base]
    return replace(model, base=base)


def test_verdict_names_what_cannot_be_below_zero(good):
    assert not any('impossible' in text for text in verdict(good.model))
    for name, wrong in (('fv1', True), ('IzzR1', True), ('off1', False), ('Ixy2', False)):
        model = changed(good.model, name, value=-1.0, standard_error=0.1)
        assert any(f'impossible: {name} = -1' in text for text in verdict(model)) is wrong


def test_verdict_compares_other_data_with_training(good):
    def told(ratio):
        s = dict(good.model.statistics)
        percent = ratio * s['training']['filtered']['relative_percent']
        s['validation'] = dict(
            s['validation'], filtered=dict(s['validation']['filtered'], relative_percent=percent)
        )
        return told_of(s)

    def told_of(statistics):
        return next(
            x
            for x in verdict(replace(good.model, statistics=statistics))
            if x.startswith('Validation')
        )

    assert told(1.1).endswith('the model generalizes to data it has not seen.')
    alone = {k: x for k, x in good.model.statistics.items() if k != 'validation'}
    (crossed,) = (x for x in verdict(replace(good.model, statistics=alone)) if '5-fold' in x)
    assert crossed.endswith('the model generalizes to left-out parts of this motion.')
    shown = good.model.statistics['validation']['filtered']
    rms = {**shown['rms'], 'joint2': 2.0 * shown['measured_rms']['joint2']}
    statistics = {
        **good.model.statistics,
        'validation': {**good.model.statistics['validation'], 'filtered': {**shown, 'rms': rms}},
    }
    assert told_of(statistics).endswith('but not for joint2 (200 % of its own torque).')
    assert 'somewhat worse than in training (1.6 times)' in told(1.6)
    assert '5.0 times worse than in training' in told(5.0)


def test_verdict_names_a_cause_of_bad_validation_only_where_that_shows(good):
    s = good.model.statistics
    training = s['training']['filtered']['relative_percent']

    def told(inside, crossed=training):
        found = dict(
            s['validation'],
            filtered=dict(s['validation']['filtered'], relative_percent=5.0 * training),
        )
        found['outside'] = inside and {
            'joints': {},
            'samples_percent': 10.0,
            'relative_percent_inside': inside * training,
            'relative_percent_outside': 4.0 * training,
        }
        statistics = dict(
            s,
            validation=found,
            cross_validation=dict(s['cross_validation'] or {}, relative_percent=crossed),
        )
        return next(
            x
            for x in verdict(replace(good.model, statistics=statistics))
            if x.startswith('Validation')
        )

    assert told(1.2).endswith('moves outside the validity range.')
    # Worse inside of the range than outside: neither the range nor one motion is to blame.
    for inside in (6.0, None):
        assert told(inside).endswith('what the model lacks, or the robot has changed in between.')
        assert told(inside, 5.0 * training).endswith('the model overfits one motion.')


def test_verdict_sees_residuals_that_are_not_noise(good):
    first = good.model.preprocessing[0]
    noise = 0.5 / first['cutoff'] * first['rate'] / first['decimate']  # samples behind the filter
    s = dict(good.model.statistics, correlation_samples={'joint1': noise, 'joint2': 20 * noise})
    (told,) = (t for t in verdict(replace(good.model, statistics=s)) if 'are autocorrelated' in t)
    assert 'of joint2 are autocorrelated' in told
    s['correlation_samples'] = {'joint1': noise, 'joint2': noise}
    assert any('as filtered noise' in t for t in verdict(replace(good.model, statistics=s)))
    fit = s['validation']['filtered']  # which noise alone does not explain where most is left
    poor = dict(fit, rms={**fit['rms'], 'joint2': 0.92 * fit['measured_rms']['joint2']})
    s['validation'] = dict(s['validation'], filtered=poor)
    assert not any('as filtered noise' in t for t in verdict(replace(good.model, statistics=s)))


def test_summary_of_seven_joints_fits_a_screen():
    model = identify([record('franka')], OPTIONS, validate=[record('franka', seed=1)]).model
    lines = summary(model).split('\n')
    assert len(lines) <= 56
    assert max(map(len, lines)) <= 120
    for joint in model.robot['joints']:
        assert any(line.startswith(joint) for line in lines)


def block(t, segment, y):
    """Return a RegressorBlock of one row group with one parameter."""
    t, y = np.array(t, dtype=float), np.array(y, dtype=float)
    W = np.ones((len(t), 1))
    return RegressorBlock(t, segment, (RowGroup('joint1', 'N m', np.array([0]), W, y, y),))


class Constant:
    """A model that predicts 1, with no band."""

    statistics, validity_range = {}, {}

    def predict(self, block):
        return {group.name: group.W[:, 0] for group in block.groups}


def test_lines_break_between_segments_recordings_and_gaps():
    blocks = [
        block([0, 1, 2], 0, [0, 1, 2]),
        block([3, 4], 0, [3, 4]),
        block([5, 6], 1, [5, 6]),
        block([], 1, []),
        block([16, 17], 1, [7, 8]),
        block([0, 1], 0, [9, 10]),
    ]
    curve = curves(Constant(), blocks)['joint1']
    nan = np.nan
    np.testing.assert_array_equal(curve.y, [0, 1, 2, 3, 4, nan, 5, 6, nan, 7, 8, nan, 9, 10])
    np.testing.assert_array_equal(curve.residual, curve.y - 1)
    assert len(curve.starts) == 1 and curve.starts[0] == curve.t[12] > curve.t[10]
    assert np.nanmin(np.diff(curve.t[~np.isnan(curve.t)])) > 0


def test_friction_curve_is_the_law_with_the_true_coefficients(good):
    first = friction_curves(good.model, good.training)[0]
    assert abs(first.speed).max() == max(map(abs, good.model.validity_range['joint1']['v']))
    fast = abs(first.speed) > 0.3  # past Coulomb's step, whatever its width
    true = VISCOUS * first.speed + COULOMB * np.sign(first.speed) + OFFSET
    # Two standard errors are 95 % at every speed; three halves more make it sure.
    assert np.all(abs(first.torque - true)[fast] < 2.5 * first.error[fast])
    assert (
        np.sqrt(np.mean((first.measured - np.interp(first.v, first.speed, first.torque)) ** 2))
        < 0.1
    )


def test_a_law_that_a_joint_does_not_have_is_not_said_to_stand_in_a_sum(good):
    """Harmonics of one joint made every other joint's row say that it had them, too."""
    base = [entry for entry in good.model.base if entry['name'] not in ('fv2', 'fc2')]
    parameters = [given for given in good.model.parameters if given.name != 'fc2']
    table = friction_table(replace(good.model, base=base, parameters=parameters))
    second = {
        head.split()[0]: getattr(cell, 'text', cell)
        for head, cell in zip(table.heads, table.rows[1])
    }
    assert (second['viscous'], second['coulomb']) == ('only in a sum', '-')


@pytest.mark.parametrize(
    'value, error, text',
    [
        (3.41923, 0.02117, ('3.419', '0.021')),
        (-1.5, 12.3, ('-2', '12')),
        (6.49, 2.0, ('6.5', '2.0')),
        (1234.5, 100.0, ('1234', '100')),
        (2.0, 1e-13, ('2.000000000', '1.0e-13')),
        (0.5, 0.0, ('0.5', '0.0')),
    ],
)
def test_digits_follow_the_error(value, error, text):
    assert with_error(value, error) == text


def test_package_and_verdict_work_without_jinja_and_pages_say_what_is_missing():
    code = (
        "import sys; sys.modules['jinja2'] = None\n"
        'from ros_inertial_id.report import summary, verdict, watch_page\n'
        'from ros_inertial_id.errors import ConfigError\n'
        'try:\n'
        '    watch_page([])\n'
        'except ConfigError as error:\n'
        '    print(error)\n'
    )
    out = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert 'a page needs jinja2; install jinja2' in out.stdout
