"""
The page of an identification, in the order in which an engineer asks.

What may I use it for; what do the links weigh; how well does it predict; friction; what was
decided and why; parameters; provenance.
"""

from collections.abc import Mapping, Sequence

from . import tables
from .curves import curves, friction_curves
from .drawings import Drawings
from .knowledge import evaluate, fits, ratio, significant, WHERE
from .links import Link, links_of
from .recording_words import force_unit
from .sheet import Card, Section, Sheet
from .sheets import findings_table
from .summary import outline
from .uses import Uses, uses_of
from .words import chapters, reasons_of, worst_joint
from ..checks.finding import DO_NOT_USE, Finding
from ..identification.identified_model import IdentifiedModel
from ..identification.identify import Identification
from ..identification.settings import robot_of_model


def report_sheet(identification: Identification) -> Sheet:
    """Return the page of an ``identification``."""
    model, drawings = identification.model, Drawings()
    uses, links, words = uses_of(model), links_of(model), chapters(model)
    made = f"{model.provenance['created'][:16].replace('T', ' ')} UTC"
    # The verdict stands in a card.
    predicted = [text for text in words['Prediction'] if not text.startswith('Verdict')]
    return Sheet(
        f"{model.robot['name']}: identified dynamics", f'Method {model.method}, estimator '
        f"{model.options['estimator']}, {made}", _cards(model, uses),
        uses.sentences(), (
            _weights(links), _prediction(identification, drawings, predicted),
            _friction(identification, drawings), _decided(model, words),
            _parameters(model, words['Parameters']),
            Section('Provenance', f'to make this model again; {made}',
                    tables=tables.provenance_tables(model),
                    code=str(model.provenance.get('command', '')), opened=False)),
        tables.uses_table(uses.joints), numbers=outline(model), drawings=drawings)


def _cards(model: IdentifiedModel, uses: Uses) -> list[Card]:
    """Return the verdict, the residuals and the worst joint."""
    parts, out = fits(model), []
    whole = model.statistics.get('verdict')
    if whole:
        reasons = ('; '.join(reasons_of(whole))
                   or 'no finding of the checks is against it')
        out.append(Card(whole['word'], reasons, whole['word'] == DO_NOT_USE))
    for part, words in list(WHERE.items())[:2 if len(parts) > 1 else 3]:
        if part in parts:
            percent = parts[part]['filtered']['relative_percent']
            out.append(Card(f'{significant(percent)} %', f'relative residual {words}, all joints'))
    worst = worst_joint(model)
    if worst and len(uses.joints) > 1:
        out.append(Card(f'{significant(worst[1])} %',
                        f'relative residual of the worst joint, {worst[0]}'))
    return out


def _weights(links: Sequence[Link]) -> Section:
    sure = sum(link.determined[0] for link in links)
    return Section('What the links weigh', f'{len(links)} links, {sure} with a mass that the '
                   'data determine', tables=[tables.links_table(links)], opened=False)


def _prediction(identification: Identification, drawings: Drawings,
                words: Sequence[str]) -> Section:
    """Return measured against predicted per joint, the residual over all that it may depend on."""
    model = identification.model
    parts = {'validation': curves(model, identification.validation),
             'training': curves(model, identification.training)}
    parts = {part: drawn for part, drawn in parts.items() if drawn}
    residuals, main = fits(model), next(iter(parts), 'training')
    figures = [(name, [drawings.torque(part, drawn[name], residuals[part]['filtered'])
                       for part, drawn in parts.items()],
                drawings.residuals(curve))
               for name, curve in parts.get(main, {}).items()]
    shown = max((len(c.t) for c in parts.get(main, {}).values()), default=1)
    thinned = max(1, round(residuals[main]['filtered']['samples'] / shown))
    note = ('Drag to zoom, double click for the whole range; arrow keys, + and - on a selected '
            'chart, Ctrl and the wheel on any. All joints share their time.')
    if thinned > 1:
        note += f' Decimated {thinned}:1, extremes kept.'
    band = model.statistics.get('prediction_band')
    if band:
        note += (f" Shaded: the band that holds {100 * band['level']:.0f} % of the residuals of "
                 'motion like the training (by cross-validation); it widens outside the validity '
                 'range.')
    digest = ', '.join(f"{significant(fit['filtered']['relative_percent'])} % in {part}"
                       for part, fit in residuals.items())
    unit = force_unit(robot_of_model(model))
    return Section('How well it predicts', f'relative residual {digest}', words,
                   [tables.residuals_table(model, unit)], figures=figures, note=note, opened=False)


def _friction(identification: Identification, drawings: Drawings) -> Section:
    model = identification.model
    drawn = friction_curves(model, identification.training)
    note = ('Line: friction of the model with two standard errors. Dots: measured torque minus '
            'that of all other parameters, in training.') if drawn else ''
    return Section('Friction', f'{len(drawn)} curves over speed with two standard errors',
                   tables=[tables.friction_table(model)], opened=False,
                   charts=[drawings.friction(curve) for curve in drawn], note=note)


def _decided(model: IdentifiedModel, words: Mapping[str, Sequence[str]]) -> Section:
    """Return decisions with their reasons, findings of the checks, settings and signals."""
    found = [Finding(**entry) for entry in model.statistics.get('checks') or ()]
    decided = tables.decisions(model)
    return Section(
        'What was decided, and why',
        f'{len(decided.rows)} decisions, findings of the checks: {len(found)}',
        [*words['Recordings'], *words['What would help']],
        [decided, findings_table(found), tables.settings_table(model), tables.signals(model),
         tables.validity_table(model, robot_of_model(model))], opened=False)


def _parameters(model: IdentifiedModel, words: Sequence[str]) -> Section:
    s, known = model.statistics, evaluate(model)
    rank = (f"Rank {s['rank']}, decided by a gap of {ratio(s['rank_gap'])} in the singular values"
            if s['rank_gap'] is not None else f"Rank {s['rank']}: every combination counts")
    return Section(
        'Parameters', f"{s['rank_in_data']} of {s['rank']} base parameters "
        f"determined, condition number {ratio(s['condition_number'])}", [
            *words, f'{rank}.'],
        [tables.parameter_table(known, s.get('cov_type', '')), tables.names_table(model)],
        opened=False)
