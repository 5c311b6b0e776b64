"""
Findings of drift: which quantities of a robot changed, how, and in words.

A change counts when it is beyond chance among all robots and large enough to matter.  What the
last link carries is one finding, so is the direction of gravity.

False alarms over a fleet: the p-value of a robot is the smallest of its series times their number
(Bonferroni), since series of one robot depend on each other in unknown ways; one of a change too
small to matter is 1.  Robots are independent, so the procedure of Benjamini and Hochberg (1995)
over these p-values holds the false-discovery rate: of the robots that are named, the expected
share that did not change.  Within a robot that is named, series are tested at the rate times the
share of robots that are named (Benjamini and Bogomolov 2014).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from ..estimation.changes import Trend, trends_of

RATE = 0.01  # false-discovery rate over all robots
LIVE = 1e-4  # p-value of a change seen online, beside the number of series
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
    at_day : of a jump; days : of the whole series
    p_value : of the series alone, without a change
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
    p_value: float

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


@dataclass(frozen=True)
class Hypotheses:
    """
    What was tested of one robot.

    candidates : Findings, significant or not, of changes that are large enough to matter
    count : number of tests, also of what does not matter
    """

    candidates: tuple[Finding, ...]
    count: int

    @property
    def p_value(self) -> float:
        """Return the p-value of the robot without any change."""
        return min(1.0, self.count * min((f.p_value for f in self.candidates), default=1.0))


def hypotheses_of(series: Sequence[Series], days: np.ndarray,
                  temperature: np.ndarray | None) -> Hypotheses:
    """
    Return the Hypotheses of one robot.

    series : its quantities; days : (n,); temperature : (n,) [deg C] or None
    """
    trends = [(one, trend) for one in series
              for trend in trends_of(days, one.values, one.errors, temperature)]
    return Hypotheses(tuple(
        _finding(one, trend, float(days[-1] - days[0])) for one, trend in trends
        if _matters(one, trend, temperature, series)), len(trends))


def significant(robots: Sequence[Hypotheses], rate: float
                ) -> list[tuple[float, tuple[Finding, ...]]]:
    """
    Return (p-value adjusted for the number of robots, Findings, the surest first) of every robot.

    robots : their Hypotheses; rate : of false discoveries among the robots with Findings
    """
    from scipy.stats import false_discovery_control  # takes long to import: when needed
    adjusted = false_discovery_control([robot.p_value for robot in robots], method='bh')
    share = float(np.mean(adjusted <= rate))
    return [(float(q), _surest(robot.candidates, rate * share / max(1, robot.count)))
            for q, robot in zip(adjusted, robots)]


def findings_since(series: Sequence[Series], days: float) -> tuple[Finding, ...]:
    """
    Return the Findings of one change each, the surest first.

    series : with one value; days : that passed
    """
    found = []
    for one in series:
        size, error = float(one.values[0]), float(one.errors[0])
        trend = Trend('drift', size, error, None, float(2.0 * ndtr(-abs(size) / error)))
        if _matters(one, trend, None, series):
            found.append(_finding(one, trend, days))
    return _surest(found, LIVE / len(series))


def _surest(candidates: Sequence[Finding], limit: float) -> tuple[Finding, ...]:
    """Return the Findings whose p-value is at most a limit, one of every thing that changed."""
    found: dict[str, list[Finding]] = {}
    for finding in candidates:
        if finding.p_value <= limit:
            key = finding.what if finding.what != 'friction' else finding.name
            found.setdefault(key, []).append(finding)
    # Of what is carried the mass is the clearest number where it changed; what changed with time
    # beside the temperature is no effect of the temperature; else the surest one.
    best = [min(own, key=lambda f: (f.unit != 'kg', f.kind == 'temperature', -f.sigmas))
            for own in found.values()]
    return tuple(sorted(best, key=lambda f: (f.p_value, -f.sigmas)))


def _matters(one: Series, trend: Trend, temperature: np.ndarray | None,
             series: Sequence[Series]) -> bool:
    """Return whether a change is large enough to matter, friction by that of the ``series``."""
    size, what, unit = abs(trend.size), _what(one), 1.0
    if trend.kind == 'temperature' and temperature is not None:
        size *= float(np.ptp(temperature))
    if what == 'friction':
        unit = abs(one.usual) if one.law != 'offset' else next(
            (abs(s.usual) for s in series if s.law in DRY and s.joint == one.joint), 0.0)
    elif one.unit == 'kg m^2':
        return False
    elif one.unit == 'kg m':
        unit = LEVER
    return size > RELEVANT[what] * unit


def _what(one: Series) -> str:
    return one.law if one.law in ('payload', 'gravity') else 'friction'


def _finding(one: Series, trend: Trend, days: float) -> Finding:
    what = _what(one)
    before = one.usual + trend.before
    percent = (100.0 * trend.size / abs(before) if what == 'friction' and before
               and one.law != 'offset' else None)
    return Finding(what, one.name, one.joint, one.law, trend.kind, trend.size, trend.error,
                   one.unit, percent, trend.sigmas, trend.at, days, trend.p_value)
