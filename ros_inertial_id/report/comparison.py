"""
Comparison: identified models side by side, with the significance of their differences.

Base parameters of one robot under one mounting have the same names and groupings; only those with
equal expressions are compared.  The errors of separate recordings are taken as independent: the
difference of two estimates has the sum of their variances.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
import math
from pathlib import Path
from typing import Any

import numpy as np

from .curves import SPEEDS
from .digits import significant, typeset, with_error
from .drawings import Drawings
from .knowledge import fits, SURE
from ..dynamics.friction import friction_column, LAWS
from ..errors import RobotModelError
from ..identification.model.files import write_text
from ..identification.model.identified_model import IdentifiedModel

FRICTION = ('fv', 'fc', 'off')  # symbols of what is drawn over time
DAY_S = 86400.0  # between the first and the last model: friction is drawn over time then


@dataclass(frozen=True)
class Comparison:
    """
    Models side by side.

    names : of the models, as given; created : when each was made, ISO 8601
    rows : one mapping per base parameter: name, unit, expression, values, errors (None: not
        determined), z: largest difference from the first model in standard errors, or None
    fits : {model: relative residual [%] and per joint RMS on one bag}, empty without a bag
    relative : relative residual [%] of each model on its own validation or training data
    friction : {joint: (speeds (N,), torques (models, N), unit)} of the friction curves
    """

    names: tuple[str, ...]
    created: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    fits: Mapping[str, Any]
    relative: tuple[float | None, ...]
    friction: Mapping[str, tuple[np.ndarray, np.ndarray, str]]

    @property
    def different(self) -> list[Mapping[str, Any]]:
        """Return the rows whose difference is significant, the largest first."""
        rows = [row for row in self.rows if row['z'] is not None and row['z'] > SURE]
        return sorted(rows, key=lambda row: -row['z'])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {'models': list(self.names), 'created': list(self.created),
                'base_parameters': [dict(row) for row in self.rows],
                'significantly_different': [row['name'] for row in self.different],
                'relative_percent': list(self.relative), 'on_one_bag': dict(self.fits)}

    def to_text(self) -> str:
        """Return a table for a terminal: what differs, and how well each predicts."""
        lines = [f'{len(self.different)} of {len(self.rows)} base parameters differ from '
                 f'{self.names[0]} by more than {SURE:.0f} standard errors']
        for row in self.different:
            shown = '  '.join(self._shown(row, k) for k in range(len(self.names)))
            lines.append(f"{row['name']:<8} {shown} {row['unit']}  ({row['z']:.1f})")
        for name, share, made in zip(self.names, self.relative, self.created):
            one = self.fits.get(name)
            more = f", on the bag {significant(one['relative_percent'])} %" if one else ''
            lines.append(f'{name} ({made}): relative residual {significant(share)} %{more}')
        return '\n'.join(lines)

    def _shown(self, row: Mapping[str, Any], k: int) -> str:
        if row['values'][k] is None:
            return 'not determined'
        return ' +- '.join(with_error(row['values'][k], row['errors'][k]))


def compare_models(names: Sequence[str], models: Sequence[IdentifiedModel],
                   on_bag: Mapping[str, Any]) -> Comparison:
    """
    Return the Comparison of models of one robot.

    names, models : in the same order; on_bag : {name: filtered residual statistics on one bag}
    RobotModelError where they are of different kinematics.
    """
    first = models[0]
    for name, model in zip(names, models):
        if model.robot['kinematics_sha256'] != first.robot['kinematics_sha256']:
            raise RobotModelError(f'{name} is of another robot than {names[0]}',
                                  found=model.robot['name'], expected=first.robot['name'])
    entries = [{(e['name'], e['expression']): e for e in model.base} for model in models]
    keys = dict.fromkeys(key for own in entries for key in own)
    rows = tuple(_row(key, [own.get(key) for own in entries]) for key in keys)
    parts = [fits(model) for model in models]
    return Comparison(
        tuple(names), tuple(str(m.provenance.get('created', '')) for m in models), rows,
        {name: {k: fit[k] for k in ('relative_percent', 'rms')} for name, fit in on_bag.items()},
        tuple(part.get('validation', part['training'])['filtered']['relative_percent']
              for part in parts), _friction(models))


def _row(key: tuple[str, str], entries: Sequence[Mapping[str, Any] | None]) -> dict[str, Any]:
    known = [e if e and e['determined'] else None for e in entries]
    values = [e['value'] if e else None for e in known]
    errors = [e['standard_error'] if e else None for e in known]
    unit = next(e['unit'] for e in entries if e)
    scores = [_score(values[0], errors[0], value, error)
              for value, error in zip(values[1:], errors[1:])]
    known_scores = [z for z in scores if z is not None]
    return {'name': key[0], 'expression': key[1], 'unit': unit, 'values': values,
            'errors': errors, 'z': max(known_scores) if known_scores else None}


def _score(value: float | None, error: float | None, other: float | None,
           other_error: float | None) -> float | None:
    """Return how many standard errors two independent estimates are apart."""
    if value is None or other is None or error is None or other_error is None:
        return None
    size = math.hypot(error, other_error)
    return abs(value - other) / size if size else (0.0 if value == other else math.inf)


def _friction(models: Sequence[IdentifiedModel]
              ) -> dict[str, tuple[np.ndarray, np.ndarray, str]]:
    """Return {joint: (speeds, friction of every model, unit)} where all have friction."""
    out = {}
    for joint in models[0].robot['joints']:
        tops = [max(map(abs, m.validity_range.get(joint, {}).get('v', (0.0,)))) for m in models]
        if not min(tops):
            continue
        speed = max(tops) * np.linspace(-1.0, 1.0, SPEEDS)
        curves = [_friction_torque(model, joint, speed) for model in models]
        if all(curve is not None for curve in curves):
            out[joint] = speed, np.array(curves), 'N m'
    return out


def _friction_torque(model: IdentifiedModel, joint: str, speed: np.ndarray) -> np.ndarray | None:
    zero, total, found = np.zeros_like(speed), np.zeros_like(speed), False
    for p, value in zip(model.parameters, model.values):
        if p.owner == joint and p.law in LAWS and p.law != 'armature' \
                and not LAWS[p.law].position:
            total, found = total + value * friction_column(p, zero, speed, zero), True
    return total if found else None


def write_comparison(comparison: Comparison, path: str | Path, words: Sequence[str]) -> str:
    """
    Write a ``comparison`` as one self-contained HTML file; return its path.

    path : of the file; words : of the command line that made it
    """
    from .page import fill, provenance
    drawings = Drawings()
    charts = [drawings.compared(joint, speed, curves, comparison.names, unit)
              for joint, (speed, curves, unit) in comparison.friction.items()]
    times = _times(comparison.created)
    over_time = []
    if times is not None:
        for row in comparison.rows:
            if row['name'].startswith(FRICTION) and None not in row['values']:
                over_time.append(drawings.over_time(row, times))
    write_text(path, fill('comparison.html', {
        'c': comparison, 'title': 'Comparison of identified models', 'sure': SURE,
        'rows': [_texts(row) for row in comparison.rows], 'charts': charts,
        'over_time': over_time, **provenance(words)}, drawings))
    return str(path)


def _times(created: Sequence[str]) -> np.ndarray | None:
    """Return when models were made [days since the first], None where all are of one day."""
    try:
        stamps = np.array([datetime.fromisoformat(words).timestamp() for words in created])
    except ValueError:
        return None
    return (stamps - stamps.min()) / DAY_S if np.ptp(stamps) > DAY_S else None


def _texts(row: Mapping[str, Any]) -> dict[str, Any]:
    shown = ['not determined' if value is None else ' ± '.join(with_error(value, error))
             for value, error in zip(row['values'], row['errors'])]
    return {**row, 'unit': typeset(row['unit']), 'shown': shown,
            'apart': '' if row['z'] is None else f"{row['z']:.1f}",
            'surely': row['z'] is not None and row['z'] > SURE}
