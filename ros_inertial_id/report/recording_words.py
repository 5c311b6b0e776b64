"""What was odd in the recordings and their signals, as sentences."""

from collections.abc import Iterator, Mapping, Sequence
import math
from typing import Any

import numpy as np

from ..checks.finding import Finding
from ..dynamics.robot_model import RIGHT_ANGLE, RobotModel, rounded_mounting
from ..identification.identified_model import IdentifiedModel
from ..measurement.summary import Summary

LISTED = 20  # recordings not used that are named
LOST = 0.5  # [s] a marker must be gone, or an IMU silent, before it is worth a word
TURNED = 3.0  # [deg] an IMU must be turned from its description
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
    return any(
        choice['what'] == 'gravity direction'
        and choice['chosen']
        and choice['candidate'] != 'as given'
        for choice in model.statistics.get('choices') or ()
    )


def mounting_words(model: IdentifiedModel) -> str:
    """Return how the base of a ``model`` was mounted by what was given."""
    given = '' if gravity_estimated(model) else model.options.get('mounting')
    return (
        given
        or ', '.join(filter(None, dict.fromkeys(model.mounting['text'])))
        or ('upright, as none was given')
    )


def force_unit(robot: Any) -> str:
    """Return the unit of what is measured on a ``robot``, over all row groups."""
    turning = isinstance(robot, RobotModel) and not any(robot.prismatic)
    return 'N m' if turning else 'N m or N'


def unit_of(robot: Any, name: str) -> str:
    """Return the unit of a quantity of the validity range of a ``robot`` by its ``name``."""
    unit = UNITS.get(name, '')
    sliding = isinstance(robot, RobotModel) and any(robot.prismatic) and name in 'qva'
    return f'{unit} or {unit.replace("rad", "m")}' if sliding else unit


def goes_round(model: IdentifiedModel) -> bool:
    """Return whether every joint made a whole turn: wider motion shows no more."""
    spans = [np.ptp(seen['q']) for seen in model.validity_range.values() if 'q' in seen]
    return bool(spans) and min(spans) >= WHOLE_TURN


def recording_sentences(model: IdentifiedModel) -> Iterator[str]:
    """Yield a sentence for all that was not right in the recordings of a ``model``."""
    unused = model.provenance.get('left_out', {})
    for path, why in list(unused.items())[:LISTED]:
        yield f'Recording not used: {path}: {why}'
    if len(unused) > LISTED:
        yield f'{len(unused) - LISTED} more recordings not used, see provenance of the model file.'
    given = model.options.get('mounting')
    for words in dict.fromkeys([given] if given else model.mounting['text']):
        if rounded_mounting(words):
            yield (
                f'The mounting "{words}" is read as {rounded_mounting(words)}: an angle within '
                f'{RIGHT_ANGLE:g} rad of a right one is that.'
            )
    several = len(model.preprocessing) > 1
    for entry in model.statistics.get('checks') or ():
        finding = Finding(**entry)
        text = finding.sentence()
        where = f' (recording {finding.recording + 1})' if several else ''
        yield f'{text[0].upper()}{text[1:]}{where}.'
    shares = model.statistics.get('masked_share') or ()
    if any(shares) and not model.statistics.get('keep_all'):
        yield (
            'Masked as bad: '
            + ', '.join(f'{100 * share:.2g} %' for share in shares)
            + ' of the samples of each recording.'
        )
    yield from signal_sentences([Summary.of(entry) for entry in model.preprocessing])


def signal_sentences(summaries: Sequence[Summary]) -> Iterator[str]:
    """Yield a sentence for what was not right in the signals of each recording."""
    for number, summary in enumerate(summaries, 1):
        where = ''
        if len(summaries) > 1:
            where = f' (recording {number})'
        seen = summary.details
        for sentence in (*_of_markers(seen), *_of_imus(seen), *_of_sensors(seen)):
            yield f'{sentence}{where}.'


def _of_markers(seen: Mapping[str, Any]) -> Iterator[str]:
    for source, note in (seen.get('sources') or {}).items():
        for marker, gone in (note.get('markers_missing') or {}).items():
            if gone['longest'] >= LOST:
                yield (
                    f'Marker {marker} of {source} was lost for {gone["longest"]:.2f} s, '
                    f'from {gone["from"]:.2f} s on'
                )


def _of_imus(seen: Mapping[str, Any]) -> Iterator[str]:
    for body, note in (seen.get('imus') or {}).items():
        if note.get('silent', 0.0) >= LOST:
            yield (
                f'The IMU on {body} was silent for {note["silent"]:.2f} s, from '
                f'{note["silent_from"]:.2f} s on; markers were used alone'
            )
        if (turned := math.hypot(*note.get('turned_degrees', ()))) > TURNED:
            yield (
                f'The IMU on {body} is turned {turned:.1f} degrees from its description; '
                'this was estimated from the motion and corrected'
            )


def _of_sensors(seen: Mapping[str, Any]) -> Iterator[str]:
    for topic, note in (seen.get('sensor_turned') or {}).items():
        x, y, z = note['turn_deg']
        yield (
            f'The force-torque sensor of {topic} is turned by {x:.2f}, {y:.2f}, {z:.2f} '
            'degrees about its x, y, z axes; this was estimated from the motion and corrected'
        )
