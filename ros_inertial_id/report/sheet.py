"""
Sheets: the page of a result that is a verdict and tables, in the look of the report.

``payload``, ``calibrate`` and ``check`` write them; each is one function from a result to a Sheet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TYPE_CHECKING

import numpy as np

from .digits import significant, with_error
from .drawings import Drawings
from ..checks.finding import Checkup, DO_NOT_USE, DOUBTFUL, GOOD, WRONG
from ..identification.model.files import write_text

if TYPE_CHECKING:  # scipy.signal behind them takes a third of the time to start
    from ..estimation.payload import Payload
    from ..rigs.calibration.calibrate import Calibration

AXES = ('x', 'y', 'z')
FREEDOMS = (*AXES, 'rx', 'ry', 'rz')
STIFFNESS_UNITS = ('N/m',) * 3 + ('N m/rad',) * 3


@dataclass(frozen=True)
class Card:
    """A number or word that stands large at the top; alarm : it must not be overlooked."""

    word: str
    text: str
    alarm: bool = False


@dataclass(frozen=True)
class Table:
    """
    A table of texts.

    title, heads : in words; rows : of texts, as many as heads; words : columns of words, which
    stand left; flagged : numbers of rows with something wrong; note : below it
    charts : by their numbers
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: Sequence[int] = ()
    flagged: Sequence[int] = ()
    note: str = ''
    charts: Sequence[str] = ()


@dataclass(frozen=True)
class Sheet:
    """
    What a page says.

    title, about : what it is of; cards : at the top; sentences : of the verdict
    tables : in their order
    """

    title: str
    about: str
    cards: Sequence[Card]
    sentences: Sequence[str]
    tables: Sequence[Table]


def write_sheet(sheet: Sheet, path: str | Path, words: Sequence[str],
                drawings: Drawings | None = None) -> str:
    """
    Write a ``sheet`` as one self-contained HTML file; return its path.

    path : of the file; words : of the command line that made it; drawings : charts of its tables
    """
    from .page import fill, provenance
    whole = replace(sheet, tables=[t for t in sheet.tables if t.rows or t.charts])
    write_text(path, fill('sheet.html', {'title': sheet.title, 'sheet': whole,
                                         **provenance(words)}, drawings))
    return str(path)


def payload_sheet(load: 'Payload', bare: str) -> Sheet:
    """
    Return the page of a payload.

    load : as identified; bare : the model of the arm without it, by its path
    """
    def vector(title: str, unit: str, values: Any, errors: Any) -> Table:
        rows = [(axis, *with_error(x, e)) for axis, x, e in values_of(values, errors)]
        return Table(title, ('component', f'value [{unit}]', f'standard error [{unit}]'), rows,
                     flagged=[k for k, row in enumerate(rows) if row[0] in negative])

    def values_of(values: Any, errors: Any) -> list[tuple[str, float, float]]:
        if np.ndim(values) == 1:
            return [*zip(AXES, values, errors)]
        return [(f'I{AXES[i]}{AXES[j]}', values[i, j], errors[i, j])
                for i in range(3) for j in range(i, 3)]

    mass, error = with_error(load.mass, load.mass_error)
    negative = [f'I{AXES[k]}{AXES[k]}' for k in range(3) if load.inertia[k, k] < 0.0]
    missing = [symbol for symbol, known in load.determined.items() if not known]
    sentences = [f'The mass carried by {load.link} is {mass} ± {error} kg.']
    if load.mass < 0.0:
        sentences.append('The mass is below zero, which is physically impossible: the loaded and '
                         'the bare recording differ by more than the load.')
    if negative:
        sentences.append(f'Below zero, which is physically impossible: {", ".join(negative)}. Do '
                         'not use the moments of inertia; faster motion shows them better.')
    if missing:
        sentences.append(f'Not determined by the data: {", ".join(missing)}.')
    return Sheet(
        f'Payload of {load.link}', f'Weighed with the bare arm of {bare}', (
            Card(f'{mass} ± {error} kg', 'mass with one standard error', load.mass < 0.0),
            Card(f'{significant(load.relative_percent)} %', 'relative residual of what the load '
                 'adds to the torque', load.relative_percent > 50.0)),
        sentences, (
            vector(f'Centre of mass in {load.frame}', 'm', load.center_of_mass,
                   load.center_of_mass_error),
            vector(f'Moments of inertia about the centre of mass, axes of {load.frame}',
                   'kg m^2', load.inertia, load.inertia_error)))


def calibration_sheet(found: 'Calibration', rig: str) -> Sheet:
    """
    Return the page of calibrated springs.

    found : Calibration; rig : its description, by its path
    """
    stiffness, errors = np.diag(found.stiffness), np.diag(found.stiffness_error)
    rows = [(axis, *with_error(k, e), unit) for axis, k, e, unit in
            zip(FREEDOMS, stiffness, errors, STIFFNESS_UNITS)]
    soft = [k for k in range(6) if stiffness[k] <= 0.0]
    sentences = [f'The spring of {FREEDOMS[k]} is not positive: the rig cannot rest; look at the '
                 'recordings and their loads.' for k in soft]
    mass, error = with_error(found.platform[0], found.platform_error[0])
    worst = max(range(6), key=lambda k: errors[k] / abs(stiffness[k]))
    share = 100.0 * errors[worst] / abs(stiffness[worst])
    imu = [(f'{name} {axis}', *with_error(x, e), unit)
           for name, unit in (('position', 'm'), ('rpy', 'rad'))
           for axis, x, e in zip(AXES, found.imu.get(name, ()),
                                 found.imu.get(f'{name}_error', ()))]
    heads = ('component', 'value', 'standard error', 'unit')
    return Sheet(
        'Calibrated platform', f'Springs and platform of {rig}', (
            Card(f'{significant(share, 2)} %', f'largest relative standard error of a spring, '
                 f'{FREEDOMS[worst]}', share > 10.0),
            Card(f'{mass} ± {error} kg', 'mass of the platform', found.platform[0] <= 0.0)),
        [*sentences, f'{found.verdict}.',
         f'The worst known spring is {FREEDOMS[worst]}, to {significant(share, 2)} %.'],
        (Table('Stiffness', heads, rows, (3,), soft),
         Table('IMU', heads, imu, (3,)),
         Table('Residuals', ('row', 'RMS (N or N m)'), [
             (name, significant(x)) for name, x in found.residual.items()])))


def checkup_sheet(found: Checkup, bags: Sequence[str]) -> Sheet:
    """
    Return the page of a checkup.

    found : Checkup; bags : the recordings, by their paths
    """
    findings = [(f.severity, f.says, ', '.join(f.joints),
                 ', '.join(f'{a:.2f} to {b:.2f}' for a, b in f.windows),
                 f.amount, f.do) for f in found.checks]
    numbers: Sequence[tuple[str, Mapping[str, float]]] = (
        ('torque', found.torque), ('nominal', found.nominal), ('residual', found.residual))
    joints = [(name, own.word, '; '.join(
        words for words in dict.fromkeys(own.reasons) if words not in found.verdict.reasons), *(
        significant(values.get(name)) for _, values in numbers))
        for name, own in found.joints.items()]
    share = max(found.masked, default=0.0)
    return Sheet(
        'Checkup of recordings', ', '.join(bags), (
            Card(found.verdict.word, '; '.join(dict.fromkeys(found.verdict.reasons))
                 or 'nothing was found', found.verdict.word != GOOD),
            Card(str(len(found.checks)), 'findings', any(
                f.severity in (WRONG, DOUBTFUL) for f in found.checks)),
            Card(f'{100.0 * share:.2g} %', 'of the samples left out as bad', share > 0.0)),
        [f'{f.sentence()}.' for f in found.checks], (
            Table('Joints', ('joint', 'verdict', 'reasons', 'measured torque, RMS',
                             'description alone leaves, RMS', 'residual in cross-validation, RMS'),
                  joints, (1, 2), [k for k, row in enumerate(joints) if row[1] == DO_NOT_USE],
                  'RMS in N m, of prismatic joints in N.'),
            Table('Findings', ('severity', 'finding', 'joints', 'from, to [s]', 'evidence',
                               'what to do'), findings, (1, 2, 3, 4, 5),
                  [k for k, row in enumerate(findings) if row[0] in (WRONG, DOUBTFUL)])))
