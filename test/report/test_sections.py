"""Pages are lists of sections, sentences rows of a table: both hold together, to be recomposed."""

from dataclasses import replace
import string

import numpy as np
import pytest
from scipy.stats import binned_statistic
from test_report import OPTIONS, Page, record

from ros_inertial_id.errors import ConfigError
from ros_inertial_id.identification.identified_model import plain
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.report import outline, parameter_facts, prediction_facts, sections
from ros_inertial_id.report.curves import FrictionCurve, SPEED_BINS
from ros_inertial_id.report.sections import (
    friction,
    IDENTIFICATION,
    IdentifiedNumbers,
    parameters,
    Section,
    Table,
)
from ros_inertial_id.report.sentences import ALWAYS, CONCLUSIONS, said, SENTENCES


@pytest.fixture(scope='module')
def result():
    """Return the Identification of a small arm."""
    return identify([record()], OPTIONS)


def headings(sheet):
    return [section.title for section in sheet.sections]


def test_a_page_of_somebody_has_its_sections_in_its_order(result, tmp_path):
    def masses(numbers, drawings):
        rows = [(link.name, f'{link.values[0]:.2f}') for link in numbers.links]
        yield Section('Masses', tables=[Table(('link', 'mass [kg]'), rows)])

    numbers = IdentifiedNumbers(result)
    page = replace(IDENTIFICATION, sections=(masses, parameters, friction))
    assert headings(page.sheet(numbers)) == ['Masses', 'Parameters', 'Friction']
    path = page.write(numbers, tmp_path / 'mine.html')
    text = path.read_text('utf-8')
    shown = Page(text)
    places = [text.index(f'<h2>{title}</h2>') for title in ('Masses', 'Parameters', 'Friction')]
    assert places == sorted(places) and 'How well it predicts' not in text
    assert shown.row('link1')[1] == f'{numbers.links[0].values[0]:.2f}'
    for number in shown.data['charts']:
        assert text.count(f'data-chart="{number}"') == 1
    assert len(shown.data['charts']) == 4  # friction of two joints, and both in the head


@pytest.mark.parametrize(
    ('row', 'message'),
    [
        (
            ('link1', 2.7),
            'a cell of the table of link, mass; expected a text or a Cell; found 2.7',
        ),
        (('link1',), 'a row of the table of link, mass; expected 2 cells; found 1'),
    ],
)
def test_a_table_of_somebody_refuses_what_it_cannot_show(row, message):
    with pytest.raises(ConfigError, match=message):
        Table(('link', 'mass'), [row])


def test_the_numbers_of_a_page_are_those_of_programs(result):
    numbers = IdentifiedNumbers(result)
    assert plain(IDENTIFICATION.sheet(numbers).numbers) == plain(outline(result.model))


def test_the_usual_page_is_the_list_of_its_sections(result):
    sheet = IDENTIFICATION.sheet(IdentifiedNumbers(result))
    assert headings(sheet) == [
        'How well it predicts',
        'What the links weigh',
        'Friction',
        'What was decided, and why',
        'Uncertainty',
        'Parameters',
        'Provenance',
    ]


def test_every_section_stands_in_the_documented_list():
    pages = [page for page in vars(sections).values() if isinstance(page, sections.Page)]
    assert len(pages) == 7
    table = sections.__doc__.split('=\n', 1)[1]
    listed = {line.split()[0] for line in table.splitlines() if line[:1].isalpha()}
    assert {part.__name__ for page in pages for part in page.sections} == listed - {
        'of',
        'section',
    }


def asked_for(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize('kind', SENTENCES, ids=lambda kind: kind.__name__)
def test_sentences_ask_for_what_their_facts_have(kind):
    for condition, text in SENTENCES[kind]:
        assert {condition, *asked_for(text)} <= {ALWAYS, *dir(kind)}


def test_conclusions_ask_for_what_a_generalization_has():
    for text in CONCLUSIONS.values():
        assert asked_for(text) <= set(dir(prediction_facts.Generalization))


def test_nothing_is_said_of_what_is_not_known_or_does_not_apply():
    assert said(None, parameter_facts.MountingFacts('')) == []
    assert said(parameter_facts.MountingFacts('mcx1 {braces}'))[0].startswith(
        'Under this mounting no motion excites mcx1 {braces};'
    )


def test_friction_is_binned_by_speed_with_its_spread():
    rng = np.random.default_rng(0)
    v = rng.uniform(-1.0, 0.9, 3000)
    v[::7] = np.nan  # breaks
    measured = np.sign(v) + rng.normal(size=3000) * (1.0 + (v > 0.0))
    curve = FrictionCurve(
        'joint', 'N m', np.linspace(-1.0, 1.0, 5), np.zeros(5), np.zeros(5), v, measured
    )
    known = np.isfinite(v)
    expected = [
        binned_statistic(v[known], values[known], statistic, SPEED_BINS, (-1.0, 1.0)).statistic
        for values, statistic in ((v, 'mean'), (measured, 'mean'), (measured, 'std'))
    ]
    filled = np.isfinite(expected[0])
    assert 0 < filled.sum() < SPEED_BINS  # nothing moved faster than 0.9
    assert curve.bins == pytest.approx(np.array(expected)[:, filled])
