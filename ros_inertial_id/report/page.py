"""
The page of an identification, in the order in which an engineer asks.

What may I use it for, and what next; how well does it predict; what do the links weigh; friction;
what was decided and why; parameters; provenance.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
import shlex

from . import decision_tables, parameter_tables, tables
from .curves import Curve, curves, friction_curves
from .drawings import Drawings
from .facts import CARRIES_OVER, LEAST_SHARE, reasons_of, worst_joint
from .knowledge import fits, ratio, significant, WHERE
from .links import links_of
from .recording_words import force_unit
from .sheet import Card, Section, Sheet
from .sheets import findings_table
from .summary import outline
from .uses import Uses, uses_of
from .viewer import inertia_view
from .words import chapters
from ..checks.finding import DO_NOT_USE, Finding
from ..identification.identified_model import IdentifiedModel
from ..identification.identify import Identification
from ..identification.settings import robot_of_model
from ..methods import METHODS
from ..methods.capabilities import JointTorques, Live


def report_sheet(identification: Identification, model_file: str) -> Sheet:
    """Return the page of an ``identification``; ``model_file`` : where its model is."""
    model, drawings = identification.model, Drawings()
    uses, words = uses_of(model), chapters(model)
    made = f'{model.provenance["created"][:16].replace("T", " ")} UTC'
    # The verdict stands in a card.
    predicted = [text for text in words['Prediction'] if not text.startswith('Verdict')]
    parts = {
        'validation': curves(model, identification.validation),
        'training': curves(model, identification.training),
    }
    parts = {part: drawn for part, drawn in parts.items() if drawn}
    return Sheet(
        f'{model.robot["name"]}: identified dynamics',
        f'Method {model.method}, estimator {model.options["estimator"]}, {made}',
        _cards(model),
        (),
        (
            _prediction(model, drawings, parts, predicted, uses),
            _links(model, drawings),
            _friction(identification, drawings),
            _decided(model, words),
            _parameters(model, words['Parameters']),
            Section(
                'Provenance',
                f'to make this model again; {made}',
                tables=decision_tables.provenance_tables(model),
                code=str(model.provenance.get('command', '')),
                opened=False,
            ),
        ),
        tables.uses_table(uses),
        _worst_chart(model, drawings, parts),
        _commands(model, model_file),
        outline(model),
        drawings,
    )


def _cards(model: IdentifiedModel) -> list[Card]:
    """Return the verdict, the residuals, and what of a validation is outside of the range."""
    parts, out = fits(model), []
    whole = model.statistics.get('verdict')
    if whole:
        reasons = '; '.join(reasons_of(whole)) or 'no finding of the checks is against it'
        out.append(Card(whole['word'], reasons, whole['word'] == DO_NOT_USE))
    for part, words in list(WHERE.items())[: 2 if len(parts) > 1 else 3]:
        if part in parts:
            percent = parts[part]['filtered']['relative_percent']
            out.append(Card(f'{significant(percent)} %', f'relative residual {words}, all joints'))
    outside = parts.get('validation', {}).get('outside') or {}
    if outside.get('samples_percent', 0.0) >= LEAST_SHARE:
        inside, beyond = (outside[f'relative_percent_{side}'] for side in ('inside', 'outside'))
        out.append(
            Card(
                f'{outside["samples_percent"]:.0f} %',
                'of the validation lies outside '
                f'the trained range: residual {significant(beyond)} % there, '
                f'{significant(inside)} % inside',
                inside is None or (beyond or 0.0) > CARRIES_OVER * inside,
            )
        )
    return out


def _worst_chart(
    model: IdentifiedModel, drawings: Drawings, parts: Mapping[str, Mapping[str, Curve]]
) -> str:
    """Return the number of the chart of the joint with the largest relative residual."""
    worst, part = worst_joint(model), next(iter(parts), '')
    if not worst or worst[0] not in parts.get(part, {}):
        return ''
    return drawings.torque(
        part,
        parts[part][worst[0]],
        fits(model)[part]['filtered'],
        f'Worst {"joint" if worst[0] in model.robot["joints"] else "row"}, {worst[0]}: ',
    )


def _commands(model: IdentifiedModel, file: str) -> list[tuple[str, str]]:
    """Return [(what for, command)] of what to do with a ``model`` in a ``file``."""
    if model.statistics.get('verdict', {}).get('word') == DO_NOT_USE:
        return [('What is wrong with a recording', 'inertial-id check BAG --report check.html')]

    def written(kind: str, out: str) -> str:
        return (
            'python3 -c "import ros_inertial_id as rid; '
            f'rid.load_model({file!r}).to_{kind}({out!r})"'
        )

    out, arm = [], isinstance(METHODS[model.method], JointTorques)
    if 'validation' not in model.statistics:
        out.append(('Validate it', shlex.join(['inertial-id', 'validate', file, 'OTHER_BAG'])))
    if 'consistent' in model.statistics:
        out.append(('Corrected URDF', written('urdf', 'identified.urdf')))
        if arm:
            out.append(('MuJoCo model', written('mjcf', 'identified.xml')))
            out.append(
                (
                    'Better motion',
                    shlex.join(
                        [
                            'inertial-id',
                            'design',
                            'identified.urdf',
                            '--model',
                            file,
                            '--out',
                            'motion',
                        ]
                    ),
                )
            )
    if isinstance(METHODS[model.method], Live):
        out.append(
            (
                'Live prediction',
                'ros2 launch ros_inertial_id predict.launch.py '
                + shlex.quote(f'model:={Path(file).absolute()}'),
            )
        )
    return out


def _links(model: IdentifiedModel, drawings: Drawings) -> Section:
    links = links_of(model)
    sure = sum(link.determined[0] for link in links)
    view = inertia_view(drawings, model) if links else None
    return Section(
        'What the links weigh',
        f'{len(links)} links, {sure} with a mass that the data determine',
        tables=[tables.links_table(links)],
        opened=False,
        view=view,
        note='Ellipsoids: solid bodies of uniform density with the mass, '
        'centre and moments of inertia of each link, orange as identified, dashed as '
        'described.'
        if view
        else '',
    )


def _prediction(
    model: IdentifiedModel,
    drawings: Drawings,
    parts: Mapping[str, Mapping[str, Curve]],
    words: Sequence[str],
    uses: Uses,
) -> Section:
    """Return measured against predicted per joint, the residual over all that it may depend on."""
    residuals, main = fits(model), next(iter(parts), 'training')
    figures = [
        (
            name,
            [
                drawings.torque(part, drawn[name], residuals[part]['filtered'])
                for part, drawn in parts.items()
            ],
            drawings.residuals(curve),
        )
        for name, curve in parts.get(main, {}).items()
    ]
    shown = max((len(c.t) for c in parts.get(main, {}).values()), default=1)
    thinned = max(1, round(residuals[main]['filtered']['samples'] / shown))
    note = (
        'Drag to zoom, double click for the whole range; arrow keys, + and - on a selected '
        'chart, Ctrl and the wheel on any. All joints share their time.'
    )
    if thinned > 1:
        note += f' Decimated {thinned}:1, extremes kept.'
    band = model.statistics.get('prediction_band')
    if band:
        note += (
            f' Shaded: the band that holds {100 * band["level"]:.0f} % of the residuals of '
            'motion like the training (by cross-validation); it widens outside the validity '
            'range.'
        )
    digest = ', '.join(
        f'{significant(fit["filtered"]["relative_percent"])} % in {part}'
        for part, fit in residuals.items()
    )
    unit = force_unit(robot_of_model(model))
    return Section(
        'How well it predicts',
        f'relative residual {digest}',
        words,
        [tables.joints_table(uses.joints), tables.residuals_table(model, unit)],
        figures=figures,
        note=note,
        opened=False,
    )


def _friction(identification: Identification, drawings: Drawings) -> Section:
    model = identification.model
    drawn = friction_curves(model, identification.training)
    note = (
        (
            'Line: friction of the model with two standard errors. Dots: measured torque minus '
            'that of all other parameters, in training.'
        )
        if drawn
        else ''
    )
    return Section(
        'Friction',
        f'{len(drawn)} curves over speed with two standard errors',
        tables=[parameter_tables.friction_table(model)],
        opened=False,
        charts=[drawings.friction(curve) for curve in drawn],
        note=note,
    )


def _decided(model: IdentifiedModel, words: Mapping[str, Sequence[str]]) -> Section:
    """Return decisions with their reasons, findings of the checks, settings and signals."""
    found = [Finding(**entry) for entry in model.statistics.get('checks') or ()]
    decided = decision_tables.decisions(model)
    return Section(
        'What was decided, and why',
        f'{len(decided.rows)} decisions, findings of the checks: {len(found)}',
        [*words['Recordings'], *words['What would help']],
        [
            table
            for table in (
                decided,
                findings_table(found),
                decision_tables.nuisance_table(model),
                decision_tables.settings_table(model),
                tables.validity_table(model, robot_of_model(model)),
            )
            if table
        ],
        opened=False,
    )


def _parameters(model: IdentifiedModel, words: Sequence[str]) -> Section:
    s = model.statistics
    return Section(
        'Parameters',
        f'{s["rank_in_data"]} of {s["rank"]} base parameters '
        f'determined, condition number {ratio(s["condition_number"])}',
        words,
        [
            parameter_tables.parameter_table(model),
            parameter_tables.names_table(model),
        ],
        opened=False,
    )
