"""
Facts about recordings: what was not right in them and in their signals, one tuple each.

``where`` is ' (recording 2)', '' where there is only one.
"""

from collections.abc import Iterator, Mapping, Sequence
import math
from typing import Any, NamedTuple

from .model_statistics import ModelStatistics
from ..dynamics.robot_model import RIGHT_ANGLE, rounded_mounting
from ..identification.identified_model import IdentifiedModel
from ..measurement.summary import Summary

NAMED_RECORDINGS = 20  # not used, that are named
LOST_SECONDS = 0.5  # a marker must be gone, or an IMU silent, before it is worth a word
TURNED_DEGREES = 3.0  # an IMU must be from its description


class UnusedFacts(NamedTuple):
    """A recording that was not used, and why."""

    path: str
    reason: str


class ManyUnusedFacts(NamedTuple):
    """How many recordings that were not used are not named."""

    more: int

    @property
    def some(self) -> bool:
        """Whether there are some."""
        return self.more > 0


def unused_facts(model: IdentifiedModel) -> Iterator[UnusedFacts | ManyUnusedFacts]:
    """Yield the recordings that a ``model`` is not from though they were given."""
    reasons = model.provenance.get('left_out', {})
    for path, reason in list(reasons.items())[:NAMED_RECORDINGS]:
        yield UnusedFacts(path, reason)
    yield ManyUnusedFacts(len(reasons) - NAMED_RECORDINGS)


class RoundedMountingFacts(NamedTuple):
    """A mounting as it was given, and as it is read, None for the same."""

    given: str
    read: str | None
    tolerance: float = RIGHT_ANGLE


def rounded_mounting_facts(model: IdentifiedModel) -> Iterator[RoundedMountingFacts]:
    """Yield the mountings of the recordings of a ``model``."""
    texts = model.mounting['text']
    given = model.options.get('mounting')
    if given:
        texts = [given]
    for text in dict.fromkeys(texts):
        yield RoundedMountingFacts(text, rounded_mounting(text))


class FindingFacts(NamedTuple):
    """What a check found, as a sentence without its point."""

    sentence: str
    where: str


def finding_facts(model: IdentifiedModel) -> Iterator[FindingFacts]:
    """Yield the findings of the checks of a ``model``."""
    count = len(model.preprocessing)
    for finding in ModelStatistics(model).findings:
        text = finding.sentence()
        yield FindingFacts(text[0].upper() + text[1:], in_recording(finding.recording, count))


def in_recording(number: int, count: int) -> str:
    """Return where something was, '' where there is one recording; ``number`` : from 0."""
    if count == 1:
        return ''
    return f' (recording {number + 1})'


class MaskedFacts(NamedTuple):
    """Shares of the samples of each recording that were masked as bad (0 to 1)."""

    shares: Sequence[float]

    @property
    def some(self) -> bool:
        """Whether there are some."""
        return any(self.shares)

    @property
    def percents(self) -> str:
        """Return the shares in percent."""
        return ', '.join(f'{100 * share:.2g} %' for share in self.shares)


class MarkerFacts(NamedTuple):
    """The longest time [s] for which a marker was lost, and when that began."""

    marker: str
    source: str
    seconds: float
    since: float
    where: str

    @property
    def lost(self) -> bool:
        """Whether that was long."""
        return self.seconds >= LOST_SECONDS


class ImuFacts(NamedTuple):
    """
    An IMU on a body.

    silent, since : longest time without samples, and when that began [s]
    turned : angle from its description [deg]
    """

    body: str
    silent: float
    since: float
    turned: float
    where: str

    @property
    def fell_silent(self) -> bool:
        """Whether that was long."""
        return self.silent >= LOST_SECONDS

    @property
    def is_turned(self) -> bool:
        """Whether that is more than a mounting error."""
        return self.turned > TURNED_DEGREES


class WristSensorFacts(NamedTuple):
    """Angles [deg] about its axes by which a force-torque sensor is turned."""

    topic: str
    x: float
    y: float
    z: float
    where: str


def signal_facts(
    summaries: Sequence[Summary],
) -> Iterator[MarkerFacts | ImuFacts | WristSensorFacts]:
    """Yield what methods noted of the signals of each recording."""
    for number, summary in enumerate(summaries):
        where = in_recording(number, len(summaries))
        yield from _of_markers(summary.details, where)
        yield from _of_imus(summary.details, where)
        yield from _of_wrist_sensors(summary.details, where)


def _notes(details: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the notes under a ``key``, empty for none."""
    return details.get(key) or {}


def _of_markers(details: Mapping[str, Any], where: str) -> Iterator[MarkerFacts]:
    for source, note in _notes(details, 'sources').items():
        for marker, gone in _notes(note, 'markers_missing').items():
            yield MarkerFacts(marker, source, gone['longest'], gone['from'], where)


def _of_imus(details: Mapping[str, Any], where: str) -> Iterator[ImuFacts]:
    for body, note in _notes(details, 'imus').items():
        turned = math.hypot(*note.get('turned_degrees', ()))
        silent, since = note.get('silent', 0.0), note.get('silent_from', 0.0)
        yield ImuFacts(body, silent, since, turned, where)


def _of_wrist_sensors(details: Mapping[str, Any], where: str) -> Iterator[WristSensorFacts]:
    for topic, note in _notes(details, 'sensor_turned').items():
        x, y, z = note['turn_deg']
        yield WristSensorFacts(topic, x, y, z, where)
