"""The page of a checkup: verdict, what was recorded with the windows of findings, joints."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .curves import gaps
from .drawings import Drawings
from .finding_table import findings_table
from .knowledge import significant
from .next_steps import checked_steps
from .sheet import Card, Section, Sheet, Table
from ..checks.finding import Checkup, DO_NOT_USE, DOUBTFUL, GOOD, WRONG
from ..dynamics.description import joint_types
from ..measurement.joints.channels import JOINT_STATE
from ..measurement.recording import Channel, Recording

SPANS = 1000  # of a recording, each drawn with its extreme samples
ROTARY = {'effort': 'N m', 'position': 'rad'}  # units of the signals that are drawn
UNITS = {  # by the type of a joint; of all others ROTARY
    'prismatic': {'effort': 'N', 'position': 'm'},
    None: {'effort': 'N m, N', 'position': 'rad, m'},
}
JOINT_HEADS = (
    'joint',
    'verdict',
    'reasons',
    'measured torque, RMS',
    'residual of the description alone, RMS',
    'residual in cross-validation, RMS',
)


@dataclass(frozen=True)
class CheckedNumbers:
    """
    A ``checkup``.

    bags : paths of the ``recordings``, which are drawn
    urdf : text of the description, '' for those in the recordings
    options : that the checkup was given, as typed, and that an identification takes as well
    """

    checkup: Checkup
    bags: Sequence[str]
    recordings: Sequence[Recording] = ()
    urdf: str = ''
    options: Sequence[str] = ()

    @cached_property
    def types(self) -> Mapping[str, str]:
        """Return {joint: type} as the descriptions have them, {} where none is a URDF."""
        types = {}
        for urdf in [*(recording.robot_description for recording in self.recordings), self.urdf]:
            types.update(joint_types(urdf))
        return types

    def units(self, joint: str) -> Mapping[str, str]:
        """Return {signal: unit} of a ``joint``."""
        return UNITS.get(self.types.get(joint), ROTARY)


def head(numbers: CheckedNumbers, _: Drawings) -> Sheet:
    """Return title, verdict and what was found."""
    checkup = numbers.checkup
    reasons = '; '.join(dict.fromkeys(checkup.verdict.reasons)) or 'no finding is against it'
    alarming = any(finding.severity in (WRONG, DOUBTFUL) for finding in checkup.checks)
    masked = max(checkup.masked, default=0.0)
    return Sheet(
        'Checkup of recordings',
        ', '.join(numbers.bags),
        (
            Card(checkup.verdict.word, reasons, checkup.verdict.word != GOOD),
            Card(str(len(checkup.checks)), 'findings', alarming),
            Card(f'{100.0 * masked:.2g} %', 'of the samples masked as bad', masked > 0.0),
        ),
        [f'{finding.sentence()}.' for finding in checkup.checks],
        commands=checked_steps(checkup.verdict.word, numbers.bags, numbers.options),
        numbers=checkup.to_dict(),
    )


def recordings(numbers: CheckedNumbers, drawings: Drawings) -> Iterator[Section]:
    """Yield efforts and positions of each recording, the windows of its findings shaded."""
    for number, recording in enumerate(numbers.recordings):
        charts = []
        for channel in recording.of_type(JOINT_STATE).values():
            if 'effort' in channel.fields:
                charts += _charts(drawings, numbers, number, channel)
        yield Section(
            f'Recording {number + 1}',
            charts=charts,
            note='As recorded, extremes kept. '
            'Shaded: the windows of findings. Drag to zoom, double click for the whole.',
        )


def _charts(
    drawings: Drawings, numbers: CheckedNumbers, number: int, channel: Channel
) -> list[str]:
    """Return the numbers of charts of the joints of a ``channel``; ``number`` : of recording."""
    charts = []
    checkup, recording = numbers.checkup, numbers.recordings[number]
    recorded = [name for name in ROTARY if name in channel.fields]  # positions may be elsewhere
    for column, joint in enumerate(channel.names):
        signals = np.array([channel.fields[name][:, column] for name in recorded])
        finite = np.isfinite(signals).all(axis=0)
        unchecked = checkup.joints and joint not in checkup.joints
        if unchecked or not finite.any():
            continue
        t = (channel.stamp_ns[finite] - recording.origin_ns()) * 1e-9
        t, signals = thinned(t, signals[:, finite])
        units = numbers.units(joint)
        labels = [f'{name} [{units[name]}]' for name in recorded]
        charts.append(
            drawings.recorded(
                joint,
                t,
                dict(zip(labels, signals)),
                f'recording {number}',
                _windows(checkup, number, joint),
            )
        )
    return charts


def _windows(checkup: Checkup, number: int, joint: str) -> list[tuple[str, float, float]]:
    """Return (finding, start, end [s]) of those that concern a ``joint`` of a recording."""
    windows = []
    for finding in checkup.checks:
        concerned = not finding.joints or joint in finding.joints
        if concerned and finding.recording == number:
            windows += [(finding.name, start, end) for start, end in finding.windows]
    return windows


def thinned(t: np.ndarray, signals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return times (M,) and signals (k, M) that show extremes and gaps, NaN where a line breaks.

    t : (N,) [s]; signals : (k, N)
    """
    length, cuts = -(-len(t) // SPANS), gaps(t)  # samples of a span; the first after each gap
    padded = np.pad(signals, ((0, 0), (0, -len(t) % length)), 'edge')
    spans = padded.reshape(len(signals), -1, length)
    starts = length * np.arange(spans.shape[1])
    extremes = [starts + np.argmin(spans, axis=2), starts + np.argmax(spans, axis=2)]
    rows = np.concatenate([np.ravel(extremes), cuts, cuts - 1]).clip(0, len(t) - 1)
    rows = np.unique(rows)
    breaks = np.searchsorted(rows, cuts)
    return (
        np.insert(t[rows], breaks, t[cuts]),
        np.insert(signals[:, rows], breaks, np.nan, axis=1),
    )


def joints(numbers: CheckedNumbers, _: Drawings) -> Iterator[Section]:
    """Yield verdict, reasons and residuals of every joint."""
    checkup = numbers.checkup
    rows = []
    for joint, verdict in checkup.joints.items():
        # What holds for all stands in the verdict on the whole.
        reasons = [text for text in verdict.reasons if text not in checkup.verdict.reasons]
        rms = [
            significant(of_joints.get(joint))
            for of_joints in (checkup.torque, checkup.nominal, checkup.residual)
        ]
        rows.append((joint, verdict.word, '; '.join(dict.fromkeys(reasons)), *rms))
    flagged = [k for k, row in enumerate(rows) if row[1] == DO_NOT_USE]
    note = 'RMS in N m.'
    if any(numbers.units(joint) != ROTARY for joint in checkup.joints):
        note = 'RMS in N m, of prismatic joints in N.'
    yield Section('Joints', tables=[Table(JOINT_HEADS, rows, (1, 2), flagged, note=note)])


def findings(numbers: CheckedNumbers, _: Drawings) -> Iterator[Section]:
    """Yield the table of findings."""
    yield Section('Findings', tables=[findings_table(numbers.checkup.checks)])
