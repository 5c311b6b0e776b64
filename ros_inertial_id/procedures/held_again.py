"""
Held again: a model identified anew by the laws that a target holds, from what is left of its data.

That is the rows kept beside the model, or the recordings that its provenance names.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
import logging
from typing import Any

from ..checks.check import check_and_read
from ..checks.checked import cleaned
from ..errors import InertialIdError, RecordingError
from ..identification.identified_model import IdentifiedModel
from ..identification.identify import identify, identify_data
from ..identification.model.held_laws import HeldRows, identified_by, is_all_held, options_of
from ..identification.model.targets import laws_held
from ..measurement.bags.log import read_recording
from ..measurement.recording import Recording

AS_IT_IS = 'as identified, all of it is held'
FROM_ROWS = 'identified again by the laws that are held, from the rows beside the model'
FROM_RECORDINGS = 'identified again by the laws that are held, from the recordings'
DROPPED = (
    'what is not held is dropped, as no rows are beside the model ({why}); friction is the '
    'closest of damping and friction'
)
_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Held:
    """
    A ``model`` for a target, and ``how`` it was made in words.

    again : the same where it was identified again, else None
    dropped : whether it has terms that are not held
    """

    model: IdentifiedModel
    how: str
    again: IdentifiedModel | None = None
    dropped: bool = False


def held_again(model: IdentifiedModel, rows: HeldRows | None, terms: Collection[str]) -> Held:
    """
    Return the Held of a ``model`` by laws that ``terms`` hold.

    rows : kept of it, if any; else its recordings are read, as far as they are what they were
    """
    if is_all_held(model, terms):
        return Held(model, AS_IT_IS)
    if rows is not None:
        try:
            again = identified_by(rows, model, terms)
            return Held(again, FROM_ROWS, again)
        except InertialIdError as error:
            _logger.info('the kept rows do not serve: %s', error)
    try:
        rows = _rows_of_recordings(model, terms)
        again = identified_by(rows, model, terms)
        return Held(again, FROM_RECORDINGS, again)
    except InertialIdError as error:
        return Held(model, DROPPED.format(why=error), dropped=True)


def _rows_of_recordings(model: IdentifiedModel, terms: Collection[str]) -> HeldRows:
    """Return the rows of the recordings that a ``model`` is of; InertialIdError where none are."""
    urdf, options, laws = (
        model.robot['urdf'],
        options_of(model),
        laws_held(model.parameters, terms),
    )
    entries = model.provenance.get('recordings', ())
    if not entries:
        raise RecordingError('the model names no recordings')
    recordings = [_recording(entry, urdf) for entry in entries]
    if tuple(options.friction) != ('auto',):  # which has columns of all laws that are held
        options = replace(options, friction=laws, coulomb_width=0.0)
    rows = _rows_of(recordings, options, model)
    if rows is None:
        raise RecordingError('the recordings are not of joints of a tree')
    return rows


def _rows_of(
    recordings: Sequence[Recording], options: Any, model: IdentifiedModel
) -> HeldRows | None:
    """Return the rows of ``recordings`` as an identification with ``options`` reads them."""
    words = {'method': model.method, 'urdf': model.robot['urdf']}
    found, data, columns = check_and_read(recordings, options, **words)
    if data:
        return identify_data(data, columns=columns).rows
    return identify(cleaned(recordings, found), options, **words).rows


def _recording(entry: Mapping[str, Any], urdf: str) -> Recording:
    """Return the Recording that an ``entry`` names; RecordingError if it changed."""
    path = entry.get('path', '')
    if not path:
        raise RecordingError('a recording of the model came from no file')
    recording = read_recording(path, urdf)
    if recording.provenance.get('sha256') != entry.get('sha256'):
        raise RecordingError(f'{path} is not what it was when the model was identified')
    start, end = entry.get('start_s'), entry.get('end_s')
    if start is None and end is None:
        return recording
    return recording.window(start or 0.0, end)
