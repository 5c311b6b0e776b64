"""Tables of parameters: every base parameter, friction joint by joint, what names stand for."""

from collections.abc import Callable, Iterable, Mapping, Sequence
import re
from typing import Any

from .budget_facts import budget_groups
from .knowledge import (
    CORRELATED,
    evaluate,
    Knowledge,
    NOT,
    percent,
    significant,
    typeset,
    with_error,
)
from .sheet import Cell, Table
from ..dynamics.friction import LAWS, nonlinear_unit
from ..identification.identified_model import IdentifiedModel
from ..identification.prepare.measured_drives import drives_of_joints

MISSING = 'not determined by the data'
NOT_MODELLED = '-'  # a law that this joint does not have
COV_TYPES = {
    'segments': ' Standard errors are cluster-robust, by segments of distinct motion (cov_type: '
    'segments).',
    'rows': ' Standard errors allow for the autocorrelation of the residuals (cov_type: rows).',
}


def _value(item: Knowledge) -> Cell:
    if not item.entry['determined']:
        return Cell(MISSING, '', 'missing')
    return _with_error(item, 'unit')


def _with_error(item: Knowledge, style: str) -> Cell:
    """Return value and error, flagged where the value is negative; style : of others."""
    value = item.entry['value']
    text = ' ± '.join(with_error(value, item.entry['standard_error']))
    if item.negative:
        return Cell(f'{text} !', value, 'flag')
    return Cell(text, value, style)


def _relative_error(item: Knowledge) -> Cell:
    relative = item.entry['relative_percent']
    if not item.entry['determined']:
        return Cell('', relative)
    return Cell(percent(relative), relative)


def _unit(item: Knowledge) -> Cell:
    return Cell(typeset(item.entry['unit']), None, 'unit')


def _nominal(item: Knowledge) -> Cell:
    if not item.has_nominal:
        return Cell('', '')
    return Cell(f'{item.entry["nominal"]:.4g}', item.entry['nominal'])


def _deviation(item: Knowledge) -> Cell:
    """Return the difference from the description, which the page draws as a whisker."""
    deviation = item.deviation
    if deviation is None:
        return Cell('', None, 'whisker')
    return Cell(f'{abs(deviation):.1f}', deviation, 'whisker')


def _partner(item: Knowledge) -> str:
    if item.inflation <= CORRELATED:
        return ''
    return f'{item.partner} ({item.correlation:+.2f})'


def _expression(item: Knowledge) -> Cell:
    return Cell(item.entry['expression'], None, 'mono')


# {head: cell of a base parameter}
PARAMETER_COLUMNS: Mapping[str, Callable[[Knowledge], Cell | str]] = {
    'name': lambda item: item.name,
    'value': _value,
    'relative error [%]': _relative_error,
    'unit': _unit,
    'description': _nominal,
    'difference [standard errors]': _deviation,
    'strongly correlated with': _partner,
    'expression': _expression,
}


def parameter_table(model: IdentifiedModel) -> Table:
    """Return the base parameters of a ``model``: what they are worth, and the description's."""
    cov_type = model.statistics.get('cov_type', '')
    rows, grades = [], []
    for item in evaluate(model):
        rows.append([cell(item) for cell in PARAMETER_COLUMNS.values()])
        grades.append(item.grade)
    return Table(
        [*PARAMETER_COLUMNS],
        rows,
        (3, 6, 7),
        grades=grades,
        note='The number that ends a name is that of the link or joint; R marks a sum. Moments of '
        "inertia are about the origin of the link's joint frame, products are tensor elements. "
        '! is negative, which is physically impossible. Bars: two standard errors about the '
        'value; diamond: the description, at most eight standard errors away.'
        + COV_TYPES.get(cov_type, ''),
    )


def budget_table(model: IdentifiedModel) -> Table:
    """Return a row per group of base parameters: shares of their squared errors by source."""
    groups = budget_groups(evaluate(model))
    sources = dict.fromkeys(source for group in groups for source in group.shares)
    rows: list[Sequence[Cell | str]] = []
    for group in groups:
        shares = ' '.join(f'{share:.3f}' for share in group.shares.values())
        percents = [f'{100.0 * share:.0f}' for share in group.shares.values()]
        errors = percent(group.combined), percent(group.statistics)
        rows.append((group.name, *errors, Cell('', shares, 'shares'), *percents))
    heads = [f'{source} [%]' for source in sources]
    return Table(
        ('parameters', 'combined error [%]', 'standard error [%]', 'budget', *heads),
        rows,
        (3,),
        note='Errors relative to the value, median of the group. The budget is the share of each '
        'source in the squared combined error, in the order of the columns behind. Efforts are '
        'taken to be scaled right within 1 % (calibration:), encoders to be referenced to 0.1 '
        'degrees, the base to be levelled to 0.2, as far as the recording does not know better.',
    )


class _Friction:
    """
    What a ``model`` says of the friction of joints.

    of : {(joint, law): the coefficient that stands first in a base parameter}
    units, nonlinear_units : {law: in words}, of coefficients and of constants that are determined
    """

    def __init__(self, model: IdentifiedModel) -> None:
        items = [item for item in evaluate(model) if item.lead.law in LAWS]
        self.of = {(item.lead.owner, item.lead.law): item for item in items}
        self.units = _by_law((item.lead.law, item.entry['unit']) for item in items)
        self.nonlinear_units = _by_law(
            (item.lead.law, nonlinear_unit(item.lead.law, item.entry['unit']))
            for item in items
            if item.lead.nonlinear is not None and item.entry['determined']
        )
        self._constants = model.statistics.get('nonlinear_parameters', {})
        self._drives = drives_of_joints(model.options)
        self._modelled = {(parameter.owner, parameter.law) for parameter in model.parameters}

    def row(self, joint: str) -> list[Cell | str]:
        """Return the coefficients, and then the constants, of a ``joint``."""
        drive = self._drives.get(joint, '')
        coefficients = [
            _coefficient(self.of.get((joint, law)), drive, (joint, law) in self._modelled)
            for law in self.units
        ]
        constants = [
            _nonlinear(self.of.get((joint, law)), self._constants) for law in self.nonlinear_units
        ]
        return [joint, *coefficients, *constants]


def friction_table(model: IdentifiedModel) -> Table:
    """Return the friction coefficients per joint and law, and their nonlinear parameters."""
    friction = _Friction(model)
    joints = dict.fromkeys(joint for joint, _ in friction.of)
    heads = [f'{law} [{unit}]' for law, unit in friction.units.items()]
    heads += [f'{law}, nonlinear [{unit}]' for law, unit in friction.nonlinear_units.items()]
    return Table(('joint', *heads), [friction.row(joint) for joint in joints])


def _by_law(units: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return {law: its ``units`` in words}, of turning and of sliding joints."""
    by_law: dict[str, dict[str, None]] = {}
    for law, unit in units:
        by_law.setdefault(law, {})[unit] = None
    return {law: ' or '.join(of_law) for law, of_law in by_law.items()}


def _coefficient(item: Knowledge | None, drive: str, modelled: bool) -> Cell:
    """
    Return a friction coefficient; None is identified only in a sum with others.

    drive : of the library, from which its prior may be; '' for none
    modelled : the joint has this law
    """
    if not modelled:
        return Cell(NOT_MODELLED)
    if item is None:
        return Cell('only in a sum', None, 'dim')
    if item.grade == NOT and drive and item.lead.nominal:
        return Cell(f'from {drive}, not determined', None, 'missing')
    if item.grade == NOT:
        return Cell(MISSING, None, 'missing')
    return _with_error(item, '')._replace(sort=None)


def _nonlinear(item: Knowledge | None, constants: Mapping[str, Any]) -> str:
    """Return the constant in a law, or the end of those tried that it lies at: none is known."""
    if item is None:
        return ''
    ends = constants.get(item.name, {})
    if 'least' not in ends:
        return significant(item.lead.nonlinear)
    least, greatest = ends['least'], ends['greatest']
    if least is None and greatest is None:
        return 'not determined'
    if greatest is None:
        return f'at least {least:.3g}'
    if least is None:
        return f'at most {greatest:.3g}'
    return significant(item.lead.nonlinear)


def names_table(model: IdentifiedModel) -> Table:
    """Return (number, link, joint) of a ``model``: what numbers in parameter names stand for."""
    links: dict[str, str] = {}
    joints: dict[str, str] = {}
    for parameter in model.parameters:
        number = re.search(r'\d+$', parameter.name)
        if not number or not parameter.owner:
            continue
        owners = links
        if parameter.law:
            owners = joints
        owners.setdefault(number[0], parameter.owner)
    carriers = model.robot['joints']
    if len(carriers) == len(links):  # every link is carried by a joint of its own
        joints = {**dict(zip(links, carriers)), **joints}
    rows = [
        (number, links.get(number, ''), joints.get(number, '')) for number in {**links, **joints}
    ]
    return Table(('number', 'link', 'joint'), rows, (1, 2), title='Numbers in the names')
