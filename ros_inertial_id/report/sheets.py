"""The Sheets of ``payload``, ``check`` and ``drift``."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .curves import gaps, trained_range
from .drawings import Drawings
from .knowledge import significant, with_error
from .load_data import load_lines
from .sheet import Card, Section, Sheet, Table
from ..checks.finding import Checkup, DO_NOT_USE, DOUBTFUL, Finding, GOOD, WRONG
from ..dynamics.friction import law_of
from ..dynamics.inertial_parameters import bodies
from ..identification.identified_model import IdentifiedModel
from ..identification.model.inverse_dynamics import InverseDynamics
from ..identification.settings import robot_of_model
from ..measurement.joints.channels import JOINT_STATE
from ..measurement.recording import Recording
from ..methods import METHODS

if TYPE_CHECKING:  # scipy.signal behind them takes a third of the time to start
    from ..procedures.drift_result import Drift, RobotDrift
    from ..procedures.payload import Payload

AXES = ('x', 'y', 'z')
POSTURES = 61  # of a joint over its range
SPANS = 1000  # of a recording, each drawn with its extreme samples
SIGNALS = {'effort': 'effort [N m, N]', 'position': 'position [rad, m]'}


def payload_sheet(load: 'Payload', model: IdentifiedModel, bare: str) -> Sheet:
    """Return the page of a ``load``; ``model``, ``bare`` : of the arm alone, and its path."""
    mass, error = with_error(load.mass, load.mass_error)
    numbers = [
        (axis, x, e, 'm')
        for axis, x, e in zip(AXES, load.center_of_mass, load.center_of_mass_error)
    ]
    numbers += [
        (f'I{AXES[i]}{AXES[j]}', load.inertia[i, j], load.inertia_error[i, j], 'kg m^2')
        for i in range(3)
        for j in range(i, 3)
    ]
    drawings = Drawings()
    return Sheet(
        f'Payload of {load.link}',
        f'Weighed with the bare arm of {bare}',
        (
            Card(f'{mass} ± {error} kg', 'mass with one standard error'),
            Card(
                f'{significant(load.relative_percent)} %',
                'relative residual of what the load adds to the torque',
                load.relative_percent > 50.0,
            ),
            Card(
                f'{100.0 * load.from_data["inertia"]:.0f} %',
                'of the inertia is from the data, else as of a ball of 0.3 kg/l',
                load.from_data['inertia'] < 0.5,
            ),
        ),
        (),
        (
            _holding(drawings, load, model),
            Section(
                'Centre of mass and inertia',
                tables=[
                    Table(
                        ('component', 'value', 'standard error', 'unit'),
                        [(name, *with_error(x, error), unit) for name, x, error, unit in numbers],
                        note=f'In {load.frame}; moments of inertia about the centre of mass.',
                    )
                ],
            ),
            Section('For controllers', code='\n'.join(load_lines(load))),
        ),
        numbers=load.to_dict(),
        drawings=drawings,
    )


def _holding(drawings: Drawings, load: 'Payload', model: IdentifiedModel) -> Section:
    """Return the torques that hold the arm of a ``model`` at rest, with and without a load."""
    robot, first = robot_of_model(model), bodies(model.parameters)[load.link]
    values = model.values.copy()
    values[first : first + 10] += load.parameters
    bare, loaded = (
        InverseDynamics(METHODS[model.method], robot, model.parameters, pi)
        for pi in (model.values, values)
    )
    low, high = trained_range(model)
    charts, rows = [], []
    for j, (name, limit) in enumerate(zip(robot.joint_names, robot.effort)):
        q = np.tile((low + high) / 2.0, (POSTURES, 1))
        q[:, j] = np.linspace(low[j], high[j], POSTURES)
        unit, turn = ('N', 'm') if robot.prismatic[j] else ('N m', 'rad')
        held = {
            words: np.round(arm.gravity(q)[:, j], 9)
            for words, arm in (('without load', bare), ('with load', loaded))
        }
        rows.append(
            (
                name,
                *(significant(abs(torque).max()) for torque in held.values()),
                significant(limit),
                unit,
            )
        )
        if any(map(np.any, held.values())):  # not of an axis along gravity
            charts.append(
                drawings.lines(name, ('holding torque', unit), ('position', turn), q[:, j], held)
            )
    return Section(
        'Holding torque',
        charts=charts,
        tables=[
            Table(
                (
                    'joint',
                    'largest without load',
                    'largest with load',
                    'limit of the description',
                    'unit',
                ),
                rows,
            )
        ],
        note='The heavy line is without the load. Over the trained range of each joint, '
        'the others in the middle of theirs; without friction.',
    )


def checkup_sheet(
    checkup: Checkup, bags: Sequence[str], recordings: Sequence[Recording] = ()
) -> Sheet:
    """Return the page of a ``checkup``; ``bags`` : paths of the ``recordings``, to be drawn."""

    def of_joint(joint: str) -> list[str]:
        columns: tuple[Mapping[str, float], ...] = (
            checkup.torque,
            checkup.nominal,
            checkup.residual,
        )
        return [significant(column.get(joint)) for column in columns]

    joints = [
        (
            name,
            own.word,
            '; '.join(
                dict.fromkeys(
                    words for words in own.reasons if words not in checkup.verdict.reasons
                )
            ),
            *of_joint(name),
        )
        for name, own in checkup.joints.items()
    ]
    share = max(checkup.masked, default=0.0)
    heads = (
        'joint',
        'verdict',
        'reasons',
        'measured torque, RMS',
        'residual of the description alone, RMS',
        'residual in cross-validation, RMS',
    )
    drawings = Drawings()
    return Sheet(
        'Checkup of recordings',
        ', '.join(bags),
        (
            Card(
                checkup.verdict.word,
                '; '.join(dict.fromkeys(checkup.verdict.reasons)) or 'no finding is against it',
                checkup.verdict.word != GOOD,
            ),
            Card(
                str(len(checkup.checks)),
                'findings',
                any(f.severity in (WRONG, DOUBTFUL) for f in checkup.checks),
            ),
            Card(f'{100.0 * share:.2g} %', 'of the samples masked as bad', share > 0.0),
        ),
        [f'{f.sentence()}.' for f in checkup.checks],
        (
            *(
                _recorded(drawings, checkup, number, recording)
                for number, recording in enumerate(recordings)
            ),
            Section(
                'Joints',
                tables=[
                    Table(
                        heads,
                        joints,
                        (1, 2),
                        [k for k, row in enumerate(joints) if row[1] == DO_NOT_USE],
                        note='RMS in N m, of prismatic joints in N.',
                    )
                ],
            ),
            Section('Findings', tables=[findings_table(checkup.checks)]),
        ),
        numbers=checkup.to_dict(),
        drawings=drawings,
    )


def _recorded(drawings: Drawings, checkup: Checkup, number: int, recording: Recording) -> Section:
    """Return efforts and positions of a ``recording``, the windows of its findings shaded."""
    charts, origin = [], recording.origin_ns()
    found = [finding for finding in checkup.checks if finding.recording == number]
    for channel in recording.of_type(JOINT_STATE).values():
        for column, joint in enumerate(channel.names if 'effort' in channel.fields else ()):
            if joint not in (checkup.joints or channel.names):
                continue
            signals = np.array([channel.fields[name][:, column] for name in SIGNALS])
            sound = np.isfinite(signals).all(axis=0)
            if sound.any():
                t, signals = _drawn((channel.stamp_ns[sound] - origin) * 1e-9, signals[:, sound])
                charts.append(
                    drawings.recorded(
                        joint,
                        t,
                        dict(zip(SIGNALS.values(), signals)),
                        f'recording {number}',
                        [
                            (f.name, *window)
                            for f in found
                            for window in f.windows
                            if joint in (f.joints or [joint])
                        ],
                    )
                )
    return Section(
        f'Recording {number + 1}',
        charts=charts,
        note='As recorded, extremes kept. '
        'Shaded: the windows of findings. Drag to zoom, double click for the whole.',
    )


def _drawn(t: np.ndarray, signals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return times (M,) and signals (k, M) of those (N,), (k, N) that show spans and gaps."""
    size, cuts = -(-len(t) // SPANS), gaps(t)
    spans = np.pad(signals, ((0, 0), (0, -len(t) % size)), 'edge').reshape(len(signals), -1, size)
    starts = size * np.arange(spans.shape[1])
    extremes = [starts + index(spans, axis=2) for index in (np.argmin, np.argmax)]
    rows = np.unique(np.concatenate([np.ravel(extremes), cuts, cuts - 1]).clip(0, len(t) - 1))
    breaks = np.searchsorted(rows, cuts)
    return (
        np.insert(t[rows], breaks, t[cuts]),
        np.insert(signals[:, rows], breaks, np.nan, axis=1),
    )


def findings_table(findings: Sequence[Finding]) -> Table:
    """Return the table of ``findings`` of checks."""
    rows = []
    for f in findings:
        windows = ', '.join(f'{a:.2f} to {b:.2f}' for a, b in f.windows)
        rows.append((f.severity, f.says, ', '.join(f.joints), windows, f.amount, f.do))
    return Table(
        ('severity', 'finding', 'joints', 'from, to [s]', 'evidence', 'what to do'),
        rows,
        (1, 2, 3, 4, 5),
        [k for k, row in enumerate(rows) if row[0] in (WRONG, DOUBTFUL)],
    )


def drift_sheet(drift: 'Drift') -> Sheet:
    """Return the page of a ``drift``: what changed in every robot, and the series behind it."""
    drawings = Drawings()
    changed = sum(bool(robot.significant) for robot in drift.robots)
    shown = drift.brief()
    return Sheet(
        'Drift of robots',
        f'{sum(len(robot.days) for robot in drift.robots)} bags',
        (
            Card(f'{changed} of {len(drift.robots)}', 'robots changed significantly', changed > 0),
            Card(str(len(drift.left_out)), 'bags left out', bool(drift.left_out)),
        ),
        sections=[
            *(_robot(drawings, robot) for robot in shown.robots),
            Section(
                'Bags left out', tables=[Table(('bag', 'reason'), [*drift.left_out.items()], (1,))]
            ),
        ],
        numbers=shown.to_dict(),
        drawings=drawings,
    )


def _robot(drawings: Drawings, robot: 'RobotDrift') -> Section:
    """Return the changes of one robot, with charts of the series that they are of."""
    named = {change.name for change in robot.significant}
    charts = [
        drawings.over_time(
            f'{series.name} of {series.joint}',
            series.unit,
            robot.days,
            series.usual + series.values,
            series.errors,
        )
        for series in robot.series
        if series.name in named or not named and series.law == law_of('damping')
    ]
    rows = [(c.name, c.joint, c.sentence(), significant(c.p_value)) for c in robot.significant]
    return Section(
        f'{robot.robot}, {len(robot.days)} bags',
        '' if named else 'no significant change',
        tables=[Table(('series', 'joint', 'change', 'p-value'), rows, (1, 2))],
        charts=charts,
        note='Base parameters of each day with two standard errors, all others '
        'held at their mean over the days; load and tilt of gravity as changes from their mean.',
    )
