"""
Findings of drift: which quantities of a robot changed, how, and in words.

A change counts when its evidence is beyond chance among all series of the robot and it is large
enough to matter.  What the last link carries is one finding, so is the direction of gravity.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..estimation.changes import CERTAIN, Trend, trend_of

RELEVANT = {'friction': 0.03, 'payload': 0.03, 'gravity': 0.002}  # share, kg (kg m), rad
SHOWN = {'viscous': 'viscous friction', 'coulomb': 'Coulomb friction',
         'presliding': 'Coulomb friction', 'coulomb_atan': 'Coulomb friction',
         'offset': 'friction offset'}
DRY = ('coulomb', 'presliding', 'coulomb_atan')  # friction against which an offset counts
LEVER = 0.3  # [m]: kg m of a first moment that count as a kg carried


@dataclass(frozen=True)
class Series:
    """
    One quantity of a robot over its days.

    name : with the joint's number, carried_m ... or tilt_1; joint : its owner
    law : of friction, or payload or gravity; unit
    values, errors : (n,) changes from their mean and standard errors; usual : the value of all
    days together, 0 where there is none
    """

    name: str
    joint: str
    law: str
    unit: str
    values: np.ndarray
    errors: np.ndarray
    usual: float


@dataclass(frozen=True)
class Finding:
    """
    One thing that changed.

    what : friction, payload or gravity; name : of the series; joint : concerned, or the last link
    kind : drift, jump or temperature; size, error : see Trend, in ``unit``
    percent : of the value before, None where it means nothing; sigmas : size over error
    at_day : of a jump; days : of the whole series; evidence : nats
    """

    what: str
    name: str
    joint: str
    law: str
    kind: str
    size: float
    error: float
    unit: str
    percent: float | None
    sigmas: float
    at_day: float | None
    days: float
    evidence: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, with the sentence."""
        return {**asdict(self), 'says': self.sentence()}

    def sentence(self) -> str:
        """Return what changed in words: by how much, when, how surely."""
        what = {'payload': f'carried by {self.joint}, {self.name.removeprefix("carried ")}',
                'gravity': 'direction of gravity'}.get(
                    self.what, f'{self.joint} {SHOWN.get(self.law, self.law)}')
        size = (f'{self.percent:+.0f} %' if self.percent is not None else
                f'{np.degrees(self.size):+.2f} deg' if self.what == 'gravity' else
                f'{self.size:+.3g} {self.unit}')
        span = f'{self.days:.0f} days' if self.days >= 1.0 else f'{24.0 * self.days:.0f} hours'
        when = {'drift': f'in {span}', 'temperature': 'per degree C'}.get(
            self.kind, f'at day {self.at_day:.0f}' if self.at_day is not None else '')
        return f'{what} {size} {when} ({self.sigmas:.1f} sigma)'


def findings_of(series: Sequence[Series], days: np.ndarray,
                temperature: np.ndarray | None) -> tuple[Finding, ...]:
    """
    Return the Findings of one robot, the surest first.

    series : its quantities; days : (n,); temperature : (n,) [deg C] or None
    """
    return _surest(series, [trend_of(days, s.values, s.errors, temperature, len(series))
                            for s in series], float(days[-1] - days[0]), temperature)


def findings_since(series: Sequence[Series], days: float) -> tuple[Finding, ...]:
    """
    Return the Findings of one change each, the surest first.

    series : with one value; days : that passed
    """
    trends = []
    for one in series:
        size, error = float(one.values[0]), float(one.errors[0])
        evidence = 0.5 * (size / error) ** 2
        kind = 'drift' if evidence > CERTAIN + np.log(len(series)) else 'constant'
        trends.append(Trend(kind, size, error, None, evidence, 1.0))
    return _surest(series, trends, days, None)


def _surest(series: Sequence[Series], trends: Sequence[Trend], days: float,
            temperature: np.ndarray | None) -> tuple[Finding, ...]:
    """Return the Findings of certain trends that are large enough to matter."""
    found: dict[str, list[Finding]] = {}
    dry = {s.joint: abs(s.usual) for s in series if s.law in DRY}
    for one, trend in zip(series, trends):
        usual = dry.get(one.joint, 0.0) if one.law == 'offset' else abs(one.usual)
        if trend.kind != 'constant' and _relevance(one, trend, temperature, usual) > 1.0:
            finding = _finding(one, trend, days)
            key = finding.what if finding.what != 'friction' else one.name
            found.setdefault(key, []).append(finding)
    # Of what is carried the mass is the clearest number where it changed, else the surest one.
    best = [next((f for f in own if f.unit == 'kg'), max(own, key=lambda f: f.evidence))
            for own in found.values()]
    return tuple(sorted(best, key=lambda f: -f.evidence))


def _what(one: Series) -> str:
    return one.law if one.law in ('payload', 'gravity') else 'friction'


def _relevance(one: Series, trend: Trend, temperature: np.ndarray | None, usual: float) -> float:
    """Return how many times as large as what matters a change is, friction by a usual value."""
    size, what = abs(trend.size), _what(one)
    if trend.kind == 'temperature' and temperature is not None:
        size *= float(np.ptp(temperature))
    if one.unit == 'kg m^2' and what == 'payload':
        return 0.0
    unit = usual if what == 'friction' else LEVER if one.unit == 'kg m' else 1.0
    return size / max(RELEVANT[what] * unit, 1e-300)


def _finding(one: Series, trend: Trend, days: float) -> Finding:
    what = _what(one)
    before = one.usual + trend.before
    percent = (100.0 * trend.size / abs(before) if what == 'friction' and before
               and one.law != 'offset' else None)
    return Finding(what, one.name, one.joint, one.law, trend.kind, trend.size, trend.error,
                   one.unit, percent, trend.sigmas, trend.at, days, trend.evidence)
