"""Oddities of recordings as sentences: lost markers, joints that were not held, impacts."""

from collections.abc import Iterator, Mapping, Sequence
import math
from typing import Any

from ..checks.finding import Finding

LOST = 0.5  # [s] a marker must be gone, or an IMU silent, before it is worth a word
IMU_AXES = ('gyro x', 'gyro y', 'gyro z', 'accelerometer x', 'accelerometer y',
            'accelerometer z')
TURNED = 3.0  # [deg] an IMU must be turned from its description
LISTED = 20  # recordings left out that are named


def oddities(model: Any) -> Iterator[str]:
    """Yield a sentence for all that was not right in the recordings of an identified ``model``."""
    left_out = model.provenance.get('left_out', {})
    for path, why in list(left_out.items())[:LISTED]:
        yield f'Left out: {path}: {why}'
    if len(left_out) > LISTED:
        yield f'Left out: {len(left_out) - LISTED} more, see provenance of the model file.'
    yield from _checks(model)
    yield from signal_oddities(model.preprocessing)


def signal_oddities(preprocessing: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a sentence for what was not right in the signals; ``preprocessing`` : of each."""
    for number, seen in enumerate(preprocessing, 1):
        where = f' (recording {number})' if len(preprocessing) > 1 else ''
        for source, note in (seen.get('sources') or {}).items():
            for marker, gone in (note.get('markers_missing') or {}).items():
                if gone['longest'] >= LOST:
                    yield (f"Marker {marker} of {source} was lost for {gone['longest']:.2f} s, "
                           f"from {gone['from']:.2f} s on{where}.")
            for a, b, count, first in note.get('markers_swapped') or ():
                yield (f'Markers {a} and {b} of {source} were exchanged in {count} frames, '
                       f'first at {first:.2f} s{where}.')
        for pair, count in (seen.get('marker_exchanged') or {}).items():
            yield f'Markers {pair} were exchanged in {count} frames{where}.'
        for body, note in (seen.get('imus') or {}).items():
            if note.get('silent', 0.0) >= LOST:
                yield (f"The IMU on {body} was silent for {note['silent']:.2f} s, from "
                       f"{note['silent_from']:.2f} s on; the poses were used alone{where}.")
            if (turned := math.hypot(*note.get('turned_degrees', ()))) > TURNED:
                yield (f'The IMU on {body} is turned {turned:.1f} degrees from its description; '
                       f'the motion shows it and it was taken into account{where}.')
            if drift := note.get('clock_drift'):
                yield (f'The clock of the IMU on {body} drifts by {1e6 * drift:+.0f} ppm against '
                       f'that of the markers; this was taken into account{where}.')
            for axis, error in zip(IMU_AXES, note.get('scale_corrected') or ()):
                if error is not None:
                    yield (f'The IMU on {body} reads {100 * error:+.1f} % too much by its {axis}; '
                           f'the markers show it and it was taken into account{where}.')
        if drift := seen.get('torque_clock_drift'):
            yield (f"The clock of {seen['torque']} drifts by {1e6 * drift:+.0f} ppm against that "
                   f'of the motion; this was taken into account{where}.')
        for topic, drift in (seen.get('sensor_drift') or {}).items():
            force, torque = max(drift[:3]), max(drift[3:])
            yield (f'The offset of the force-torque sensor of {topic} drifted by up to '
                   f'{force:.2g} N and {torque:.2g} N m; the drift was taken out{where}.')
        for topic, note in (seen.get('sensor_turned') or {}).items():
            x, y, z = note['turn_deg']
            yield (f'The force-torque sensor of {topic} is turned by {x:.2f}, {y:.2f}, {z:.2f} '
                   f'degrees about its x, y, z axes; the motion shows it and it was taken into '
                   f'account{where}.')
        for entry in seen.get('not_still') or ():
            yield (f"Link {entry['link']} was not still from {entry['from']:.1f} to "
                   f"{entry['to']:.1f} s: it turned {entry['degrees']} degrees (rms){where}.")
        for start, end in seen.get('impacts') or ():
            yield (f'Impact from {start:.2f} to {end:.2f} s: the residual jumps as in no free '
                   f'vibration (a stop, a hand, a slipping bolt){where}.')


def _checks(model):
    """Yield what the checkup of the recordings found, and how much was left out for it."""
    several = len(model.preprocessing) > 1
    for entry in model.statistics.get('checks') or ():
        finding = Finding(**entry)
        text = finding.sentence()
        where = f' (recording {finding.recording + 1})' if several else ''
        yield f'{text[0].upper()}{text[1:]}{where}.'
    shares = model.statistics.get('masked_share') or ()
    if any(shares) and not model.statistics.get('keep_all'):
        yield ('Left out as bad: ' + ', '.join(f'{100 * share:.2g} %' for share in shares)
               + ' of the samples of each recording.')
