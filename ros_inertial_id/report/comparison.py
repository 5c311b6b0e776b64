"""
Comparison: identified models side by side, with the significance of their differences.

Base parameters of one robot under one mounting have the same names and groupings; only those with
equal expressions are compared.  The errors of separate recordings are taken as independent: the
difference of two estimates has the sum of their variances.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
import math
from typing import Any, NamedTuple

import numpy as np

from .curves import friction_columns, top_speed
from .knowledge import covariance_with_errors, DIFFERENT, fits, significant, WHERE, with_error
from .sheet import Table
from ..checks.finding import forced_lines
from ..errors import RobotModelError
from ..identification.identified_model import IdentifiedModel
from ..representation import brief

Row = Mapping[str, Any]
NOT_DETERMINED: Row = {'determined': False, 'value': None, 'standard_error': None}
ALIKE = 1.2  # times the smallest residual on one bag, up to which models predict alike
SIGNIFICANCE = 1e-3  # of so large differences without one, below which parameters differ together
LEAST_VARIANCE = 1e-9  # of the largest, of differences in units of their errors: smaller is none
NO_RESIDUALS: Row = {'filtered': {'relative_percent': None}}


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
    forced : {recording: why checks refuse it} of one that is used by force
    together : Agreement with the first model of each other one
    """

    names: tuple[str, ...]
    created: tuple[str, ...]
    rows: tuple[Row, ...]
    fits: Mapping[str, Any]
    relative: Mapping[str, tuple[float | None, ...]]
    friction: Mapping[str, tuple[np.ndarray, np.ndarray]]
    forced: Mapping[str, str] = field(default_factory=dict)
    together: tuple['Agreement', ...] = ()

    @property
    def different(self) -> list[Row]:
        """Return the rows whose difference is significant, the largest first."""
        rows = [row for row in self.rows if row['z'] is not None and row['z'] > DIFFERENT]
        return sorted(rows, key=lambda row: -row['z'])

    def __repr__(self) -> str:
        return brief(self.to_text())

    def __str__(self) -> str:
        return self.to_text()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        forced = {}
        if self.forced:
            forced['forced'] = dict(self.forced)
        return {
            **forced,
            'models': list(self.names),
            'created': list(self.created),
            'base_parameters': [dict(row) for row in self.rows],
            'significantly_different': [row['name'] for row in self.different],
            'together': [each._asdict() for each in self.together],
            'relative_percent': dict(self.relative),
            'on_one_bag': dict(self.fits),
        }

    def to_text(self) -> str:
        """Return a table for a terminal: what differs, and how well each predicts."""
        lines = [
            *forced_lines(self.forced),
            *self._on_the_bag(),
            f'{len(self.different)} of {len(self.rows)} base parameters differ from '
            f'{self.names[0]} by more than {DIFFERENT:.0f} standard errors',
            *(each.sentence(name) for each, name in zip(self.together, self.names[1:])),
        ]
        for row in self.different:
            lines.append(
                f'{row["name"]:<8} {"  ".join(estimates_of(row, " +- "))} {row["unit"]}  '
                f'({row["z"]:.1f})'
            )
        return '\n'.join([*lines, *residuals_table(self).lines()])

    def _on_the_bag(self) -> list[str]:
        """Return whether the models predict one bag alike."""
        if not self.fits:
            return ['which predicts better was not tested: give --bag, a recording of neither']
        percents = [fit['relative_percent'] for fit in self.fits.values()]
        said = ', '.join(f'{significant(p)} % {name}' for name, p in zip(self.fits, percents))
        if max(percents) <= ALIKE * min(percents):
            return [f'the models predict the bag alike: relative residual {said}']
        return [f'the models do NOT predict the bag alike: relative residual {said}']


class Agreement(NamedTuple):
    """Chi-squared of differences in so many ``directions`` together; p_value : of chance."""

    chi_squared: float
    directions: int
    p_value: float

    def sentence(self, name: str) -> str:
        """Return in words whether the parameters of model ``name`` differ, taken together."""
        numbers = f'chi-squared {significant(self.chi_squared)} of {self.directions}'
        if self.p_value < SIGNIFICANCE:
            return f'taken together, the parameters of {name} differ significantly ({numbers})'
        return (
            f'taken together, the parameters of {name} agree within their errors ({numbers}), '
            'which may be wide'
        )


def compare_models(
    names: Sequence[str], models: Sequence[IdentifiedModel], on_bag: Mapping[str, Any]
) -> Comparison:
    """
    Return the Comparison of models of one robot.

    names, models : in the same order; on_bag : {name: filtered residual statistics on one bag}
    RobotModelError where they are of different kinematics.
    """
    _assert_one_robot(names, models)
    return Comparison(
        names=tuple(names),
        created=tuple(str(model.provenance.get('created', '')) for model in models),
        rows=_rows(models),
        fits={name: _on_bag(fit) for name, fit in on_bag.items()},
        relative=_relative(models),
        friction=_friction(models),
        together=tuple(_agreement(models[0], model) for model in models[1:]),
    )


def _agreement(first: IdentifiedModel, second: IdentifiedModel) -> Agreement:
    """Return how the base parameters that both determine agree, their correlations included."""
    places = [
        {(e['name'], e['expression']): k for k, e in enumerate(model.base) if e['determined']}
        for model in (first, second)
    ]
    shared = [key for key in places[0] if key in places[1]]
    difference, covariance = np.zeros(len(shared)), np.zeros((len(shared), len(shared)))
    for sign, model, place in zip((1.0, -1.0), (first, second), places):
        columns = [place[key] for key in shared]
        difference += sign * np.array([model.base[k]['value'] for k in columns])
        covariance += covariance_with_errors(model)[np.ix_(columns, columns)]
    errors = np.sqrt(np.diag(covariance))
    known = errors > 0.0
    unit = np.outer(errors[known], errors[known])
    variances, axes = np.linalg.eigh(covariance[np.ix_(known, known)] / unit)
    scores = axes.T @ (difference[known] / errors[known])
    used = variances > LEAST_VARIANCE * variances.max(initial=0.0)
    chi_squared, count = float(np.sum(scores[used] ** 2 / variances[used])), int(used.sum())
    from scipy.special import chdtrc  # takes long to import: when needed

    return Agreement(chi_squared, count, float(chdtrc(max(count, 1), chi_squared)))


def _assert_one_robot(names: Sequence[str], models: Sequence[IdentifiedModel]) -> None:
    first = models[0].robot
    for name, model in zip(names, models):
        if model.robot['kinematics_sha256'] != first['kinematics_sha256']:
            raise RobotModelError(
                f'{name} is of another robot than {names[0]}',
                found=model.robot['name'],
                expected=first['name'],
            )


def _on_bag(fit: Mapping[str, Any]) -> dict[str, Any]:
    """Return the relative residual and the RMS of each joint on one bag."""
    return {'relative_percent': fit['relative_percent'], 'rms': fit['rms']}


def _relative(models: Sequence[IdentifiedModel]) -> dict[str, tuple[float | None, ...]]:
    """Return {part of the data: relative residual [%] of each model}, of parts that some have."""
    relative = {}
    for part in WHERE:
        residuals = [fits(model).get(part, NO_RESIDUALS) for model in models]
        if any(fit is not NO_RESIDUALS for fit in residuals):
            relative[part] = tuple(fit['filtered']['relative_percent'] for fit in residuals)
    return relative


def _rows(models: Sequence[IdentifiedModel]) -> tuple[dict[str, Any], ...]:
    """Return one row per base parameter that some model has."""
    entries_of: dict[tuple[str, str], list[Row]] = {}
    for number, model in enumerate(models):
        for entry in model.base:
            key = entry['name'], entry['expression']
            entries = entries_of.setdefault(key, [NOT_DETERMINED] * len(models))
            entries[number] = entry
    return tuple(_row(*entries) for entries in entries_of.values())


def _row(*entries: Row) -> dict[str, Any]:
    """Return one row of a Comparison; ``entries`` : NOT_DETERMINED of a model that lacks it."""
    described = next(entry for entry in entries if entry is not NOT_DETERMINED)
    estimates = [_estimate(entry) for entry in entries]
    first, *others = estimates
    scores = []
    if first is not NOT_DETERMINED:
        scores = [_score(first, other) for other in others if other is not NOT_DETERMINED]
    return {
        'name': described['name'],
        'expression': described['expression'],
        'unit': described['unit'],
        'values': [estimate['value'] for estimate in estimates],
        'errors': [estimate['standard_error'] for estimate in estimates],
        'z': max(scores, default=None),
    }


def _estimate(entry: Row) -> Row:
    """Return an ``entry`` that the data determine, NOT_DETERMINED for another."""
    if entry['determined']:
        return entry
    return NOT_DETERMINED


def _score(first: Row, second: Row) -> float:
    """Return the difference of two independent estimates in standard errors."""
    difference = float(abs(first['value'] - second['value']))
    error = math.hypot(first['standard_error'], second['standard_error'])
    if error:
        return difference / error
    if difference:
        return math.inf
    return 0.0


def _friction(models: Sequence[IdentifiedModel]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return {joint: (speeds, friction of every model)} where all have friction."""
    curves = {}
    for joint in models[0].robot['joints']:
        tops = [top_speed(model, joint) for model in models]
        columns = [friction_columns(model, joint, max(tops)) for model in models]
        if not min(tops) or not all(columns):
            continue
        speed = next(iter(columns[0].values()))[0]
        torques = [_friction_torque(*of_model) for of_model in zip(models, columns)]
        curves[joint] = speed, np.array(torques)
    return curves


def _friction_torque(
    model: IdentifiedModel, columns: Mapping[int, tuple[np.ndarray, np.ndarray]]
) -> np.ndarray:
    """Return the friction (M,) of ``columns`` of a ``model``."""
    return np.sum([model.values[k] * column for k, (_, column) in columns.items()], axis=0)


def residuals_table(comparison: Comparison) -> Table:
    """Return the relative residuals of every model, like with like in a column."""
    columns: dict[str, Sequence[float | None]] = dict(comparison.relative)
    if comparison.fits:
        columns['on the bag'] = [
            comparison.fits[name]['relative_percent'] for name in comparison.names
        ]
    rows = [
        (name, minute(created), *map(significant, percents))
        for name, created, *percents in zip(
            comparison.names, comparison.created, *columns.values()
        )
    ]
    return Table(
        ('relative residual [%]', 'made', *columns),
        rows,
        note="Training, cross-validation and validation are of each model's own data; the same "
        'data for all are those of a --bag.',
    )


def minute(created: str) -> str:
    """Return when a model was ``created``, to the minute."""
    return created[:16].replace('T', ' ')


def estimates_of(row: Row, between: str) -> list[str]:
    """Return value and error of every model as texts; ``between`` : both."""
    texts = []
    for value, error in zip(row['values'], row['errors']):
        text = 'not determined'
        if value is not None:
            text = between.join(with_error(value, error))
        texts.append(text)
    return texts
