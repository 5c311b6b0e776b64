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
from ..identification.identify import Identification, identify, identify_data
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
        again = _of_recordings(model, terms)
        return Held(again, FROM_RECORDINGS, again)
    except InertialIdError as error:
        return Held(model, DROPPED.format(why=error), dropped=True)


def _of_recordings(model: IdentifiedModel, terms: Collection[str]) -> IdentifiedModel:
    """
    Return the model of the recordings of a ``model`` by the laws that ``terms`` hold.

    InertialIdError where they cannot be read, or are not of joints of a tree.
    """
    urdf, options, laws = (
        model.robot['urdf'],
        options_of(model),
        laws_held(model.parameters, terms),
    )
    entries = model.provenance.get('recordings', ())
    if not entries:
        raise RecordingError('the model names no recordings')
    recordings = [_recording(entry, urdf) for entry in entries]
    chosen_by_data = tuple(options.friction) == ('auto',)  # which has columns of all laws held
    if not chosen_by_data:
        options = replace(options, friction=laws, coulomb_width=0.0)
    again = _identified(recordings, options, model)
    if again.rows is not None:
        return identified_by(again.rows, model, terms)
    if chosen_by_data:
        raise RecordingError('the recordings are not of joints of a tree')
    return again.model  # of a base that moves, of which no rows are kept


def _identified(
    recordings: Sequence[Recording], options: Any, model: IdentifiedModel
) -> Identification:
    """Return what an identification of ``recordings`` with ``options`` finds."""
    words = {'method': model.method, 'urdf': model.robot['urdf']}
    found, data, columns = check_and_read(recordings, options, **words)
    if data:
        return identify_data(data, columns=columns)
    return identify(cleaned(recordings, found), options, **words)


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
