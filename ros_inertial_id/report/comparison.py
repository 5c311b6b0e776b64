"""
Comparison: identified models side by side, with the significance of their differences.

Base parameters of one robot under one mounting have the same names and groupings; only those with
equal expressions are compared.  The errors of separate recordings are taken as independent: the
difference of two estimates has the sum of their variances.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import math
from typing import Any

import numpy as np

from .curves import friction_columns, top_speed
from .drawings import Drawings
from .knowledge import DIFFERENT, fits, significant, typeset, WHERE, with_error
from .sheet import Card, Cell, Section, Sheet, Table
from ..errors import RobotModelError
from ..identification.identified_model import IdentifiedModel

Row = Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class Comparison:
    """
    Models side by side.

    names : of the models, as given; created : when each was made, ISO 8601
    rows : one mapping per base parameter: name, unit, expression, values, errors (None: not
        determined), z: largest difference from the first model in standard errors, or None
    fits : {model: relative residual [%] and per joint RMS on one bag}, empty without a bag
    relative : {'training', 'cross-validation', 'validation': relative residual [%] of each model
        on data of its own, None: has none}
    friction : {joint: (speeds (N,), torques (models, N) [N m])} of the friction curves
    """

    names: tuple[str, ...]
    created: tuple[str, ...]
    rows: tuple[Row, ...]
    fits: Mapping[str, Any]
    relative: Mapping[str, tuple[float | None, ...]]
    friction: Mapping[str, tuple[np.ndarray, np.ndarray]]

    @property
    def different(self) -> list[Row]:
        """Return the rows whose difference is significant, the largest first."""
        rows = [row for row in self.rows if row['z'] is not None and row['z'] > DIFFERENT]
        return sorted(rows, key=lambda row: -row['z'])

    def __repr__(self) -> str:
        return self.to_text()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            'models': list(self.names),
            'created': list(self.created),
            'base_parameters': [dict(row) for row in self.rows],
            'significantly_different': [row['name'] for row in self.different],
            'relative_percent': dict(self.relative),
            'on_one_bag': dict(self.fits),
        }

    def to_text(self) -> str:
        """Return a table for a terminal: what differs, and how well each predicts."""
        lines = [
            f'{len(self.different)} of {len(self.rows)} base parameters differ from '
            f'{self.names[0]} by more than {DIFFERENT:.0f} standard errors'
        ]
        for row in self.different:
            lines.append(
                f'{row["name"]:<8} {"  ".join(_shown(row, " +- "))} {row["unit"]}  '
                f'({row["z"]:.1f})'
            )
        return '\n'.join([*lines, *_residuals(self).lines()])


def compare_models(
    names: Sequence[str], models: Sequence[IdentifiedModel], on_bag: Mapping[str, Any]
) -> Comparison:
    """
    Return the Comparison of models of one robot.

    names, models : in the same order; on_bag : {name: filtered residual statistics on one bag}
    RobotModelError where they are of different kinematics.
    """
    first = models[0]
    for name, model in zip(names, models):
        if model.robot['kinematics_sha256'] != first.robot['kinematics_sha256']:
            raise RobotModelError(
                f'{name} is of another robot than {names[0]}',
                found=model.robot['name'],
                expected=first.robot['name'],
            )
    entries = [{(e['name'], e['expression']): e for e in model.base} for model in models]
    keys = dict.fromkeys(key for by_key in entries for key in by_key)
    parts = [fits(model) for model in models]
    return Comparison(
        tuple(names),
        tuple(str(m.provenance.get('created', '')) for m in models),
        tuple(_row(key, [by_key.get(key) for by_key in entries]) for key in keys),
        {name: {k: fit[k] for k in ('relative_percent', 'rms')} for name, fit in on_bag.items()},
        {
            part: tuple(
                own[part]['filtered']['relative_percent'] if part in own else None for own in parts
            )
            for part in WHERE
            if any(part in own for own in parts)
        },
        _friction(models),
    )


def _row(key: tuple[str, str], entries: Sequence[Row | None]) -> dict[str, Any]:
    """Return one row of a Comparison; an entry is None where a model lacks the parameter."""
    estimates = [e if e and e['determined'] else None for e in entries]
    values = [e['value'] if e else None for e in estimates]
    errors = [e['standard_error'] if e else None for e in estimates]
    first, *others = estimates
    scores = [_score(first, other) for other in others if first and other]
    return {
        'name': key[0],
        'expression': key[1],
        'unit': next(e['unit'] for e in entries if e),
        'values': values,
        'errors': errors,
        'z': max(scores, default=None),
    }


def _score(one: Row, other: Row) -> float:
    """Return how many standard errors two independent estimates differ by."""
    size = math.hypot(one['standard_error'], other['standard_error'])
    apart = float(abs(one['value'] - other['value']))
    return apart / size if size else (math.inf if apart else 0.0)


def _friction(models: Sequence[IdentifiedModel]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return {joint: (speeds, friction of every model)} where all have friction."""
    out = {}
    for joint in models[0].robot['joints']:
        tops = [top_speed(model, joint) for model in models]
        columns = [friction_columns(model, joint, max(tops)) for model in models]
        if min(tops) and all(columns):
            speed = next(iter(columns[0].values()))[0]
            out[joint] = (
                speed,
                np.array(
                    [
                        sum(model.values[k] * x for k, (_, x) in own.items())
                        for model, own in zip(models, columns)
                    ]
                ),
            )
    return out


def comparison_sheet(comparison: Comparison) -> Sheet:
    """Return the page of a ``comparison``."""
    names, drawings = comparison.names, Drawings()
    cards = [
        Card(
            f'{len(comparison.different)} of {len(comparison.rows)}',
            f'base parameters differ from the first model by more than {DIFFERENT:.0f} '
            'standard errors',
            bool(comparison.different),
        )
    ]
    cards += [
        Card(
            f'{significant(fit["relative_percent"])} %', f'relative residual of {name} on the bag'
        )
        for name, fit in comparison.fits.items()
    ]
    return Sheet(
        'Comparison of identified models',
        ', '.join(names),
        cards,
        sections=(
            Section('Residuals', tables=[_residuals(comparison)]),
            Section('Base parameters', tables=[_parameters(comparison)]),
            Section('Predictions on one bag', tables=[_on_one_bag(comparison)]),
            Section(
                'Friction over speed',
                note='The first model is the heavy line.',
                charts=[
                    drawings.lines(
                        joint,
                        ('friction', 'N m, N'),
                        ('speed', 'rad/s or m/s'),
                        speed,
                        dict(zip(names, torques)),
                    )
                    for joint, (speed, torques) in comparison.friction.items()
                ],
            ),
        ),
        numbers=comparison.to_dict(),
        drawings=drawings,
    )


def _residuals(comparison: Comparison) -> Table:
    """Return the relative residuals of every model, like with like in a column."""
    columns = {
        **comparison.relative,
        'on the bag': [comparison.fits[name]['relative_percent'] for name in comparison.fits],
    }
    columns = {head: column for head, column in columns.items() if column}
    rows = [
        (name, made[:16].replace('T', ' '), *map(significant, shares))
        for name, made, *shares in zip(comparison.names, comparison.created, *columns.values())
    ]
    return Table(
        ('relative residual [%]', 'made', *columns),
        rows,
        note='Training, '
        "cross-validation and validation are of each model's own data; the same data "
        'for all are those of a --bag.',
    )


def _parameters(comparison: Comparison) -> Table:
    different = {row['name'] for row in comparison.different}
    made = [
        f'{name}, {created[:16].replace("T", " ")}'
        for name, created in zip(comparison.names, comparison.created)
    ]
    rows = [
        (
            row['name'],
            *(Cell(text, value, 'unit') for text, value in zip(_shown(row, ' ± '), row['values'])),
            Cell(typeset(row['unit']), None, 'unit'),
            Cell(
                '' if row['z'] is None else f'{row["z"]:.1f}',
                row['z'],
                'flag' * (row['name'] in different),
            ),
            Cell(row['expression'], None, 'mono'),
        )
        for row in comparison.rows
    ]
    return Table(
        ('name', *made, 'unit', 'difference [standard errors]', 'expression'),
        rows,
        (len(made) + 1, len(made) + 3),
        grades=['different' * (row['name'] in different) for row in comparison.rows],
        note='Difference: the largest from the first model over its standard error; '
        'recordings are taken as independent.',
    )


def _on_one_bag(comparison: Comparison) -> Table:
    fits = comparison.fits
    joints = next(iter(fits.values()))['rms'] if fits else ()
    rows = [(joint, *(significant(fits[name]['rms'][joint]) for name in fits)) for joint in joints]
    rows += [
        ('relative', *(f'{significant(fits[name]["relative_percent"])} %' for name in fits))
    ] * bool(fits)
    return Table(('residual RMS [N m or N]', *fits), rows)


def _shown(row: Row, between: str) -> list[str]:
    """Return value and error of every model as texts."""
    return [
        'not determined' if value is None else between.join(with_error(value, error))
        for value, error in zip(row['values'], row['errors'])
    ]
