"""Tables: what a model is good for and how well it predicts, as texts with numbers to sort by."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .knowledge import fits, significant, with_error
from .links import Link
from .links import UNITS as LINK_UNITS
from .mounting import unit_of
from .sheet import Cell, Table
from .uses import CONTACT, FEEDFORWARD, GRAVITY, JointUse, PAYLOAD, SIMULATION, Uses
from ..identification.identified_model import IdentifiedModel

# {use: head of its column}
USES_OF_A_JOINT = {
    GRAVITY: 'gravity compensation, error of holding',
    FEEDFORWARD: 'feedforward, residual',
    CONTACT: 'contact, above',
    SIMULATION: 'simulation',
}
LINK_HEADS = (
    'mass',
    'centre x',
    'centre y',
    'centre z',
    'inertia 1',
    'inertia 2',
    'inertia 3',
)


def uses_table(uses: Uses) -> Table:
    """Return one row per use: its grade, the numbers that decide it, what the grades mean."""
    rows: list[list[Cell | str]] = []
    for use, grade, numbers, *meaning in uses.rows():
        dimmed = [Cell(text, None, 'dim') for text in meaning]
        rows.append([use.capitalize(), _graded(grade, grade), numbers, *dimmed])
    return Table(
        ('use', 'grade', 'numbers', 'graded by the ratio of', 'good up to', 'no above'),
        rows,
        range(1, 4),
    )


def _graded(grade: str, text: str) -> Cell:
    """Return a ``text`` in the colour of a ``grade``."""
    colour = grade.split()[0]
    return Cell(text, None, f'grade-{colour}')


def joints_table(joints: Sequence[JointUse]) -> Table:
    """Return one row per joint: the grade of every use, with the number that decides it."""
    graded = {use for joint in joints for use in joint.uses}
    uses = [use for use in USES_OF_A_JOINT if use in graded]
    units = list(dict.fromkeys(joint.unit for joint in joints))
    in_head, behind = '', ' {unit}'
    if len(units) == 1:
        in_head, behind = f' [{units[0]}]', ''
    rows = []
    for joint in joints:
        grades = [_grade_of_joint(joint, use) for use in uses]
        unit = behind.format(unit=joint.unit)
        rms = [significant(value) + unit for value in (joint.residual, joint.torque)]
        rows.append((joint.name, *grades, *rms))
    heads = [USES_OF_A_JOINT[use] for use in uses]
    return Table(
        ('joint', *heads, f'residual RMS{in_head}', f'measured RMS{in_head}'),
        rows,
        range(1, 1 + len(heads)),
    )


def uses_grid(uses: Uses) -> Table:
    """Return a row per joint with the grade of every use, below that of the whole: the worst."""
    named = list(uses.grades)
    whole = []
    for use, grade in uses.grades.items():
        text = grade
        if use == PAYLOAD:
            text = f'{grade}, {significant(uses.payload, 2)} kg'
        whole.append(_graded(grade, text))
    rows: list[list[Cell | str]] = [['whole arm', *whole]]
    for joint in uses.joints:
        rows.append([joint.name, *(_grade_of_joint(joint, use) for use in named)])
    heads = [use.capitalize() for use in named]
    return Table(('', *heads), rows, range(1, 1 + len(heads)))


def _grade_of_joint(joint: JointUse, use: str) -> Cell | str:
    """Return the grade of a ``use`` of a ``joint`` with its number, '-' where it has none."""
    grade = joint.uses.get(use)
    if grade is None:
        return '-'
    number = ''
    if use != SIMULATION:  # whose number is that of feedforward
        number = joint.number(use)
    return _graded(grade, ', '.join(filter(None, (grade, number))))


def links_table(links: Sequence[Link]) -> Table:
    """Return mass, centre of mass and principal moments of inertia of ``links``, and the prior."""
    rows: list[list[Cell | str]] = []
    for link in links:
        cells = [_link_cell(link, k) for k in range(len(LINK_HEADS))]
        rows.append([link.name, *cells])
    heads = [f'{head} [{unit}]' for head, unit in zip(LINK_HEADS, LINK_UNITS)]
    return Table(
        ('link', *heads),
        rows,
        note='Value of the model ± standard error (robot description). Centre of mass in the '
        "frame of the link's joint, principal moments of inertia about the centre of mass. Grey: "
        'the data determine only sums with other links (see the base parameters); the error is '
        'then that of the prior, and other values predict the same torques.',
    )


def _link_cell(link: Link, k: int) -> Cell:
    """Return quantity number ``k`` of a ``link``: value, error, that of the description."""
    value, error = float(link.values[k]), float(link.errors[k])
    numbers = f'{value:.2g}', f'{error:.2g}'
    if error < abs(value):
        numbers = with_error(value, error)
    text = ' ± '.join(numbers)
    if link.nominal is not None:
        text += f' ({link.nominal[k]:.3g})'
    if link.determined[k]:
        return Cell(text, value)
    return Cell(text, value, 'dim')


def residuals_table(model: IdentifiedModel, unit: str) -> Table:
    """Return the residuals of every joint in every part of the data; ``unit`` : of all."""
    columns = _residual_columns(model)

    def row(head: str, text_of: Callable[[Mapping[str, Any]], str]) -> tuple[str, ...]:
        return (head, *map(text_of, columns.values()))

    rows = [row('samples', lambda fit: str(fit['samples']))]
    for name in columns['training, filtered']['rms']:
        rows.append(row(name, lambda fit: significant(fit['rms'][name])))
    if ' or ' not in unit:
        rows.append(row('all', lambda fit: significant(fit['rms_all'])))
    rows.append(row('relative', lambda fit: f'{significant(fit["relative_percent"])} %'))
    return Table(
        (f'RMS [{unit}]', *columns),
        rows,
        title='Residuals',
        note='Relative: residual over measured torque (RMS), all joints together. Filtered: '
        'against the measured torque behind the filter of the positions; raw: as recorded. '
        'Cross-validation: five parts of the training data, each predicted by an estimate from '
        'the others with the same friction laws and direction of gravity.',
    )


def _residual_columns(model: IdentifiedModel) -> dict[str, Mapping[str, Any]]:
    """Return {head: residuals} of every part of the data, behind the filter and as recorded."""
    columns = {}
    for part, fit in fits(model).items():
        for kind in ('filtered', 'raw'):
            if kind in fit:
                columns[f'{part}, {kind}'] = fit[kind]
    return columns


def validity_table(model: IdentifiedModel, robot: Any) -> Table:
    """Return the ranges of the training data per joint or body of a ``robot``."""
    ranges = model.validity_range
    quantities: dict[str, None] = {}
    for by_quantity in ranges.values():
        quantities.update(dict.fromkeys(by_quantity))
    rows = []
    for where, by_quantity in ranges.items():
        ends = [map(significant, by_quantity.get(quantity, ())) for quantity in quantities]
        rows.append((where, *map(' to '.join, ends)))
    heads = [f'{quantity} [{unit_of(robot, quantity)}]' for quantity in quantities]
    return Table(
        ('joint or body', *heads),
        rows,
        title='Validity range: what the training data cover',
    )
