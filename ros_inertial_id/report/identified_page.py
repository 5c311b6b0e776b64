"""
The page of an identification, in the order in which an engineer asks.

What may I use it for, and what next; how well does it predict; what do the links weigh; friction;
what was decided and why; parameters; provenance.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from . import decision_tables, parameter_tables, tables
from .curves import Curve, curves, friction_curves
from .drawings import Drawings
from .finding_table import findings_table
from .knowledge import fits, ratio, significant, WHERE
from .links import Link, links_of
from .model_statistics import ModelStatistics
from .mounting import force_unit
from .next_steps import next_steps
from .prediction_facts import CARRIES_OVER, CurvesFacts, LEAST_SHARE, reasons_of, worst_joint
from .replay_facts import replay_section
from .sentences import said
from .sheet import Card, Section, Sheet
from .summary import outline_of
from .uses import Uses, uses_of
from .viewer import inertia_view, residual_view
from .whole import Whole, whole_of
from .words import chapters
from ..checks.finding import DO_NOT_USE
from ..identification.identified_model import IdentifiedModel
from ..identification.identify import Identification
from ..identification.settings import robot_of_model

ELLIPSOIDS = (
    'Ellipsoids: solid bodies of uniform density with the mass, centre and moments of inertia of '
    'each link, orange as identified, dashed as described.'
)


@dataclass(frozen=True)
class IdentifiedNumbers:
    """
    What the page of an identification shows, each computed once, when it is first asked for.

    identification : model and thinned out rows of training and validation
    model_file : path of its model.yaml
    """

    identification: Identification
    model_file: str = 'model.yaml'

    @property
    def model(self) -> IdentifiedModel:
        """Return the model."""
        return self.identification.model

    @property
    def created(self) -> str:
        """Return when the model was made, to the minute."""
        moment = self.model.provenance['created'][:16].replace('T', ' ')
        return f'{moment} UTC'

    @cached_property
    def uses(self) -> Uses:
        """Return the grade of every use of the model."""
        return uses_of(self.model)

    @cached_property
    def sentences(self) -> dict[str, list[str]]:
        """Return {chapter: sentences}."""
        return chapters(self.model)

    @cached_property
    def links(self) -> list[Link]:
        """Return mass, centre and moments of inertia of each link."""
        return links_of(self.model)

    @cached_property
    def whole(self) -> Whole | None:
        """Return mass and centre of all bodies where the base moves, else None."""
        return whole_of(self.model)

    @cached_property
    def residuals(self) -> dict[str, Any]:
        """Return {part of the data: {filtered, raw: residuals}}."""
        return fits(self.model)

    @cached_property
    def curves(self) -> dict[str, dict[str, Curve]]:
        """Return {validation, training: {row group: Curve}} of the parts that have samples."""
        drawn = {
            'validation': curves(self.model, self.identification.validation),
            'training': curves(self.model, self.identification.training),
        }
        return {part: by_name for part, by_name in drawn.items() if by_name}

    @property
    def main_part(self) -> str:
        """Return the part of the data whose curves are drawn first."""
        return next(iter(self.curves), 'training')


def head(numbers: IdentifiedNumbers, drawings: Drawings) -> Sheet:
    """Return title, verdict, uses, the worst joint and what next."""
    model, part = numbers.model, numbers.main_part
    return Sheet(
        f'{model.robot["name"]}: identified dynamics',
        f'Method {model.method}, estimator {model.options["estimator"]}, {numbers.created}',
        [*_verdict_cards(model), *_residual_cards(numbers), *_range_cards(model)],
        table=tables.uses_grid(numbers.uses),
        charts=_overview(numbers, drawings),
        view=residual_view(drawings, model, part, numbers.curves.get(part, {})),
        commands=next_steps(model, numbers.model_file),
        numbers=outline_of(model, numbers.sentences, numbers.uses, (numbers.links, numbers.whole)),
    )


def _verdict_cards(model: IdentifiedModel) -> Iterator[Card]:
    verdict = ModelStatistics(model).verdict
    if verdict:
        reasons = '; '.join(reasons_of(verdict)) or 'no finding of the checks is against it'
        yield Card(verdict['word'], reasons, verdict['word'] == DO_NOT_USE)


def _residual_cards(numbers: IdentifiedNumbers) -> Iterator[Card]:
    """Yield the relative residuals of other data, of the training where there are none."""
    parts = dict(WHERE)
    if len(numbers.residuals) > 1:
        del parts['training']
    for part, where in parts.items():
        if part in numbers.residuals:
            percent = numbers.residuals[part]['filtered']['relative_percent']
            yield Card(f'{significant(percent)} %', f'relative residual {where}, all joints')


def _range_cards(model: IdentifiedModel) -> Iterator[Card]:
    """Yield what of a validation is outside of the validity range, and whether that matters."""
    outside = ModelStatistics(model).outside
    percent = outside.get('samples_percent', 0.0)
    if percent < LEAST_SHARE:
        return
    inside, beyond = outside['relative_percent_inside'], outside['relative_percent_outside']
    carries_over = inside is not None and (beyond or 0.0) <= CARRIES_OVER * inside
    yield Card(
        f'{percent:.0f} %',
        'of the validation lies outside the trained range: residual '
        f'{significant(beyond)} % there, {significant(inside)} % inside',
        not carries_over,
    )


def _overview(numbers: IdentifiedNumbers, drawings: Drawings) -> list[str]:
    """Return the numbers of small charts of all joints, the worst of them marked."""
    worst = worst_joint(numbers.model)
    part = numbers.main_part
    charts = []
    for name, curve in numbers.curves.get(part, {}).items():
        mark = ''
        if worst and name == worst[0]:
            mark = 'worst: '
        fit = numbers.residuals[part]['filtered']
        charts.append(drawings.small_torque(part, curve, fit, mark))
    return charts


def prediction(numbers: IdentifiedNumbers, drawings: Drawings) -> Iterator[Section]:
    """Yield measured against predicted per joint, the residual over all that it may depend on."""
    model, residuals = numbers.model, numbers.residuals
    sentences = numbers.sentences['Prediction']
    percents = [
        f'{significant(fit["filtered"]["relative_percent"])} % in {part}'
        for part, fit in residuals.items()
    ]
    figures = [
        (name, _torque_charts(numbers, drawings, name), drawings.residuals(curve))
        for name, curve in numbers.curves.get(numbers.main_part, {}).items()
    ]
    yield Section(
        'How well it predicts',
        f'relative residual {", ".join(percents)}',
        # The verdict stands in a card.
        [text for text in sentences if not text.startswith('Verdict')],
        [
            tables.uses_table(numbers.uses),
            tables.residuals_table(model, force_unit(robot_of_model(model))),
        ],
        figures=figures,
        note=_note_on_curves(numbers),
        opened=False,
    )


def _torque_charts(numbers: IdentifiedNumbers, drawings: Drawings, name: str) -> list[str]:
    """Return the numbers of the charts of one row group, by its name, in every part."""
    return [
        drawings.torque(part, by_name[name], numbers.residuals[part]['filtered'])
        for part, by_name in numbers.curves.items()
    ]


def _note_on_curves(numbers: IdentifiedNumbers) -> str:
    """Return the use of the curves, how far they are thinned out, and what the band is."""
    part = numbers.main_part
    drawn = [len(curve.t) for curve in numbers.curves.get(part, {}).values()]
    samples = numbers.residuals[part]['filtered']['samples']
    level = ModelStatistics(numbers.model).band.get('level', 0.0)
    facts = CurvesFacts(round(samples / max(drawn, default=1)), 100.0 * level)
    return ' '.join(said(facts))


def replay(numbers: IdentifiedNumbers, drawings: Drawings) -> Iterator[Section]:
    """Yield drift and RMS of a replay in a simulator, and the worst joint over time."""
    if 'replay' in numbers.model.statistics:
        yield replay_section(numbers.model, numbers.sentences['Replay'], drawings)


def links(numbers: IdentifiedNumbers, drawings: Drawings) -> Iterator[Section]:
    """Yield mass, centre and moments of inertia of every link, drawn as ellipsoids."""
    view, note = None, ''
    if numbers.links:
        view = inertia_view(drawings, numbers.model)
    if view:
        note = ELLIPSOIDS
    sure = sum(link.determined[0] for link in numbers.links)
    yield Section(
        'What the links weigh',
        f'{len(numbers.links)} links, {sure} with a mass of their own that the torques determine; '
        'of the others, sums',
        numbers.sentences['Whole robot'],
        tables=[tables.links_table(numbers.links)],
        opened=False,
        view=view,
        note=note,
    )


def friction(numbers: IdentifiedNumbers, drawings: Drawings) -> Iterator[Section]:
    """Yield friction over speed, as identified and as measured, and its coefficients."""
    drawn = friction_curves(numbers.model, numbers.identification.training)
    note = ''
    if drawn:
        note = (
            'Line: friction of the model with two standard errors. Grey: measured torque minus '
            'that of all other parameters, in training; black: its mean and standard deviation '
            'at each speed.'
        )
    yield Section(
        'Friction',
        f'{len(drawn)} curves over speed with two standard errors',
        tables=[parameter_tables.friction_table(numbers.model)],
        opened=False,
        charts=[drawings.friction(curve) for curve in drawn],
        note=note,
    )


def decisions(numbers: IdentifiedNumbers, _: Drawings) -> Iterator[Section]:
    """Yield decisions with their reasons, findings of the checks, settings and signals."""
    model, sentences = numbers.model, numbers.sentences
    findings = ModelStatistics(model).findings
    decided = decision_tables.decisions(model)
    yield Section(
        'What was decided, and why',
        f'{len(decided.rows)} decisions, findings of the checks: {len(findings)}',
        [*sentences['Recordings'], *sentences['What would help']],
        [
            decided,
            findings_table(findings),
            decision_tables.nuisance_table(model),
            decision_tables.settings_table(model),
            tables.validity_table(model, robot_of_model(model)),
        ],
        opened=False,
    )


def parameters(numbers: IdentifiedNumbers, _: Drawings) -> Iterator[Section]:
    """Yield the base parameters with what they are worth."""
    model, s = numbers.model, numbers.model.statistics
    yield Section(
        'Parameters',
        f'{s["rank_in_data"]} of {s["rank"]} base parameters '
        f'determined, condition number {ratio(s["condition_number"])}',
        numbers.sentences['Parameters'],
        [parameter_tables.parameter_table(model), parameter_tables.names_table(model)],
        opened=False,
    )


def uncertainty(numbers: IdentifiedNumbers, _: Drawings) -> Iterator[Section]:
    """Yield the budget of the combined standard errors, a bar per group of parameters."""
    yield Section(
        'Uncertainty',
        'what the combined standard errors owe to which source',
        numbers.sentences['Uncertainty'],
        [parameter_tables.budget_table(numbers.model)],
        opened=False,
    )


def provenance(numbers: IdentifiedNumbers, _: Drawings) -> Iterator[Section]:
    """Yield recordings, versions and the command that make the model again."""
    yield Section(
        'Provenance',
        f'to make this model again; {numbers.created}',
        tables=decision_tables.provenance_tables(numbers.model),
        code=str(numbers.model.provenance.get('command', '')),
        opened=False,
    )
