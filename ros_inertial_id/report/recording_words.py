"""What was odd in the recordings and their signals, as sentences."""

from collections.abc import Iterator, Mapping, Sequence
import math
from typing import Any

import numpy as np

from .model_statistics import ModelStatistics
from ..dynamics.robot_model import RIGHT_ANGLE, RobotModel, rounded_mounting
from ..identification.identified_model import IdentifiedModel
from ..measurement.summary import Summary

NAMED_RECORDINGS = 20  # not used, that are named
LOST_SECONDS = 0.5  # a marker must be gone, or an IMU silent, before it is worth a word
TURNED_DEGREES = 3.0  # an IMU must be from its description
WHOLE_TURN = 0.99 * 2.0 * np.pi  # [rad] of samples that are not everywhere
UNITS = {
    'q': 'rad',
    'v': 'rad/s',
    'a': 'rad/s^2',
    'omega': 'rad/s',
    'alpha': 'rad/s^2',
    'acc': 'm/s^2',
}


def gravity_estimated(model: IdentifiedModel) -> bool:
    """Return whether gravity is as the torques show it, which then stands in the options."""
    directions = ModelStatistics(model).directions
    chosen = [direction['candidate'] for direction in directions if direction['chosen']]
    return any(candidate != 'as given' for candidate in chosen)


def mounting_words(model: IdentifiedModel) -> str:
    """Return the mounting of the base of a ``model`` as it was given, in words."""
    given = model.options.get('mounting')
    if given and not gravity_estimated(model):
        return given
    of_recordings = dict.fromkeys(model.mounting['text'])
    return ', '.join(filter(None, of_recordings)) or 'upright, as none was given'


def force_unit(robot: Any) -> str:
    """Return the unit of what is measured on a ``robot``, over all row groups."""
    if isinstance(robot, RobotModel) and not any(robot.prismatic):
        return 'N m'
    return 'N m or N'


def unit_of(robot: Any, name: str) -> str:
    """Return the unit of a quantity of the validity range of a ``robot`` by its ``name``."""
    unit = UNITS.get(name, '')
    if name in 'qva' and isinstance(robot, RobotModel) and any(robot.prismatic):
        sliding = unit.replace('rad', 'm')
        return f'{unit} or {sliding}'
    return unit


def goes_round(model: IdentifiedModel) -> bool:
    """Return whether every joint made a whole turn: wider motion shows no more."""
    positions = [ends['q'] for ends in model.validity_range.values() if 'q' in ends]
    if not positions:
        return False
    return bool(np.ptp(positions, axis=1).min() >= WHOLE_TURN)


def recording_sentences(model: IdentifiedModel) -> Iterator[str]:
    """Yield a sentence for all that was not right in the recordings of a ``model``."""
    yield from _of_unused(model.provenance.get('left_out', {}))
    yield from _of_mountings(model)
    yield from _of_findings(model)
    shares = ModelStatistics(model).masked_shares
    if any(shares):
        percents = ', '.join(f'{100 * share:.2g} %' for share in shares)
        yield f'Masked as bad: {percents} of the samples of each recording.'
    yield from signal_sentences([Summary.of(entry) for entry in model.preprocessing])


def _of_unused(reasons: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence per recording that was not used; ``reasons`` : {path: why}."""
    for path, why in list(reasons.items())[:NAMED_RECORDINGS]:
        yield f'Recording not used: {path}: {why}'
    more = len(reasons) - NAMED_RECORDINGS
    if more > 0:
        yield f'{more} more recordings not used, see provenance of the model file.'


def _of_mountings(model: IdentifiedModel) -> Iterator[str]:
    """Yield a sentence per mounting whose angles were rounded."""
    texts = model.mounting['text']
    given = model.options.get('mounting')
    if given:
        texts = [given]
    for text in dict.fromkeys(texts):
        rounded = rounded_mounting(text)
        if rounded:
            yield (
                f'The mounting "{text}" is read as {rounded}: an angle within '
                f'{RIGHT_ANGLE:g} rad of a right one is that.'
            )


def _of_findings(model: IdentifiedModel) -> Iterator[str]:
    """Yield a sentence per finding of the checks."""
    several = len(model.preprocessing) > 1
    for finding in ModelStatistics(model).findings:
        text = finding.sentence()
        where = ''
        if several:
            where = f' (recording {finding.recording + 1})'
        yield f'{text[0].upper()}{text[1:]}{where}.'


def signal_sentences(summaries: Sequence[Summary]) -> Iterator[str]:
    """Yield a sentence for what was not right in the signals of each recording."""
    for number, summary in enumerate(summaries, 1):
        where = ''
        if len(summaries) > 1:
            where = f' (recording {number})'
        details = summary.details
        for sentence in (*_of_markers(details), *_of_imus(details), *_of_sensors(details)):
            yield f'{sentence}{where}.'


def _of_markers(details: Mapping[str, Any]) -> Iterator[str]:
    for source, note in (details.get('sources') or {}).items():
        for marker, gone in (note.get('markers_missing') or {}).items():
            if gone['longest'] >= LOST_SECONDS:
                yield (
                    f'Marker {marker} of {source} was lost for {gone["longest"]:.2f} s, '
                    f'from {gone["from"]:.2f} s on'
                )


def _of_imus(details: Mapping[str, Any]) -> Iterator[str]:
    for body, note in (details.get('imus') or {}).items():
        if note.get('silent', 0.0) >= LOST_SECONDS:
            yield (
                f'The IMU on {body} was silent for {note["silent"]:.2f} s, from '
                f'{note["silent_from"]:.2f} s on; markers were used alone'
            )
        turned = math.hypot(*note.get('turned_degrees', ()))
        if turned > TURNED_DEGREES:
            yield (
                f'The IMU on {body} is turned {turned:.1f} degrees from its description; '
                'this was estimated from the motion and corrected'
            )


def _of_sensors(details: Mapping[str, Any]) -> Iterator[str]:
    for topic, note in (details.get('sensor_turned') or {}).items():
        x, y, z = note['turn_deg']
        yield (
            f'The force-torque sensor of {topic} is turned by {x:.2f}, {y:.2f}, {z:.2f} '
            'degrees about its x, y, z axes; this was estimated from the motion and corrected'
        )
