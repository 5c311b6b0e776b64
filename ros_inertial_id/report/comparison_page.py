"""The page of a comparison: residuals, base parameters, predictions and friction of each model."""

from collections.abc import Iterator

from .comparison import Comparison, estimates_of, minute, residuals_table, Row, SIGNIFICANCE
from .drawings import Drawings
from .knowledge import DIFFERENT, significant, typeset
from .sheet import Card, Cell, Section, Sheet, Table
from ..checks.finding import forced_lines


def head(comparison: Comparison, _: Drawings) -> Sheet:
    """Return title, how many parameters differ, and the residuals on one bag."""
    different = len(comparison.different)
    cards = [Card('by force', line, True) for line in forced_lines(comparison.forced)]
    cards.append(
        Card(
            f'{different} of {len(comparison.rows)}',
            f'base parameters differ from the first model by more than {DIFFERENT:.0f} '
            'standard errors',
            different > 0,
        )
    )
    for agreement, name in zip(comparison.together, comparison.names[1:]):
        differs = agreement.p_value < SIGNIFICANCE
        verdict = 'differ' if differs else 'agree'
        cards.append(Card(verdict, agreement.sentence(name), differs))
    for name, fit in comparison.fits.items():
        percent = significant(fit['relative_percent'])
        cards.append(Card(f'{percent} %', f'relative residual of {name} on the bag'))
    return Sheet(
        'Comparison of identified models',
        ', '.join(comparison.names),
        cards,
        numbers=comparison.to_dict(),
    )


def residuals(comparison: Comparison, _: Drawings) -> Iterator[Section]:
    """Yield the relative residuals of every model."""
    yield Section('Residuals', tables=[residuals_table(comparison)])


def base_parameters(comparison: Comparison, _: Drawings) -> Iterator[Section]:
    """Yield the estimates of every model, and the significance of their differences."""
    models = [
        f'{name}, {minute(created)}' for name, created in zip(comparison.names, comparison.created)
    ]
    different = {row['name'] for row in comparison.different}
    rows, grades = [], []
    for row in comparison.rows:
        grade = style = ''
        if row['name'] in different:
            grade, style = 'different', 'flag'
        estimates = zip(estimates_of(row, ' ± '), row['values'])
        rows.append(
            (
                row['name'],
                *(Cell(text, value, 'unit') for text, value in estimates),
                Cell(typeset(row['unit']), None, 'unit'),
                _difference(row, style),
                Cell(row['expression'], None, 'mono'),
            )
        )
        grades.append(grade)
    heads = ('name', *models, 'unit', 'difference [standard errors]', 'expression')
    words = (heads.index('unit'), heads.index('expression'))
    note = (
        'Difference: the largest from the first model over its standard error; '
        'recordings are taken as independent.'
    )
    yield Section('Base parameters', tables=[Table(heads, rows, words, grades=grades, note=note)])


def _difference(row: Row, style: str) -> Cell:
    score = row['z']
    if score is None:
        return Cell('', None, style)
    return Cell(f'{score:.1f}', score, style)


def on_one_bag(comparison: Comparison, _: Drawings) -> Iterator[Section]:
    """Yield the residuals of every model on the same recording, none without one."""
    if not comparison.fits:
        return
    rms = [fit['rms'] for fit in comparison.fits.values()]
    percents = [significant(fit['relative_percent']) for fit in comparison.fits.values()]
    rows = []
    for joint in rms[0]:
        rows.append((joint, *(significant(of_model[joint]) for of_model in rms)))
    rows.append(('relative', *(f'{percent} %' for percent in percents)))
    table = Table(('residual RMS [N m or N]', *comparison.fits), rows)
    yield Section('Predictions on one bag', tables=[table])


def friction_over_speed(comparison: Comparison, drawings: Drawings) -> Iterator[Section]:
    """Yield the friction curves of every model, joint by joint."""
    yield Section(
        'Friction over speed',
        note='The first model is the heavy line.',
        charts=[
            drawings.lines(
                joint,
                ('friction', 'N m, N'),
                ('speed', 'rad/s or m/s'),
                speed,
                dict(zip(comparison.names, torques)),
            )
            for joint, (speed, torques) in comparison.friction.items()
        ],
    )
