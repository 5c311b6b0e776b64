"""Export: an identified robot for a simulator or library, by the laws that it holds."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
import logging
from pathlib import Path
from typing import Any, TYPE_CHECKING

from .recordings import recording_of
from ..checks.check import check_and_read
from ..checks.checked import cleaned
from ..errors import ConfigError, InertialIdError
from ..identification.files import write_text
from ..identification.identified_model import IdentifiedModel
from ..identification.identify import identify, identify_data
from ..identification.model.held_laws import HeldRows, identified_by, is_all_held, options_of
from ..identification.model.targets import laws_held, target_named
from ..identification.model.writers import WRITERS
from ..measurement.recording import Recording

if TYPE_CHECKING:
    from .model import Model

AS_IT_IS = 'as identified: all that the model has is held'
FROM_ROWS = 'identified again by the laws that are held, from the rows kept beside the model'
FROM_RECORDINGS = 'identified again by the laws that are held, from the recordings'
DROPPED = (
    'not identified again: no rows are beside the model, and {why}; what is not held is dropped'
)
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class Export:
    """
    What was written for whom.

    path : of the file; target : see ``Model.export``
    model : that the file holds, identified again by its laws where it could be; how : in words
    not_held : one line per joint term of ``model`` that the file does not hold, with its torque
    """

    path: str
    target: str
    model: 'Model'
    how: str
    not_held: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            'file': self.path,
            'target': self.target,
            'how': self.how,
            'not_held': self.not_held,
            'residual_percent': self.residual_percent,
        }

    @property
    def residual_percent(self) -> float | None:
        """Return the residual of recordings left out, else of the training [%], by the file."""
        return _residual(self.model.identified)

    def __repr__(self) -> str:
        lines = [f'{self.path}, for {target_named(self.target).title}: {self.how}']
        if self.residual_percent is not None:
            lines.append(f'residual of its laws, left out in turn: {self.residual_percent:.3g} %')
        return '\n'.join([*lines, *(f'not held: {line}' for line in self.not_held)])


def export(model: 'Model', target: str, path: str | Path, **words: Any) -> Export:
    """Write a ``model`` for a ``target``; see ``Model.export``."""
    terms = target_named(target).holds
    held, how = with_laws_held(model, terms)
    text, not_held = WRITERS[target](held.identified, held._robot, held._errors, **words)
    write_text(path, text)
    return Export(str(path), target, held, how, not_held)


def with_laws_held(model: 'Model', terms: Collection[str]) -> tuple['Model', str]:
    """Return the Model of the same recordings by laws that ``terms`` hold, and how it was made."""
    identified = model.identified
    if is_all_held(identified, terms):
        return model, AS_IT_IS
    rows, how = model.held_rows, FROM_ROWS
    held = _identified(rows, identified, terms)
    why = ''
    if held is None:
        rows, why = _rows_of_recordings(identified, terms)
        held, how = _identified(rows, identified, terms), FROM_RECORDINGS
    if held is None:
        return model, DROPPED.format(why=why)
    return replace(model, identified=held), how


def _identified(
    rows: HeldRows | None, model: IdentifiedModel, terms: Collection[str]
) -> IdentifiedModel | None:
    """Return a ``model`` identified again from ``rows``, None where they cannot show it."""
    if rows is None:
        return None
    try:
        return identified_by(rows, model, terms)
    except InertialIdError as error:
        _logger.info('the kept rows do not serve: %s', error)
        return None


def _rows_of_recordings(
    model: IdentifiedModel, terms: Collection[str]
) -> tuple[HeldRows | None, str]:
    """Return the rows of the recordings that a ``model`` is of, or None and why not."""
    entries = model.provenance.get('recordings', ())
    if not entries:
        return None, 'it names no recording'
    try:
        recordings = [_recording(entry, model.robot['urdf']) for entry in entries]
        laws = laws_held(model, terms)
        options = replace(options_of(model), friction=laws, coulomb_width=0.0)
        return _rows_of(recordings, options, model), ''
    except InertialIdError as error:
        return None, str(error)


def _rows_of(
    recordings: Sequence[Recording], options: Any, model: IdentifiedModel
) -> HeldRows | None:
    """Return the rows of ``recordings`` as an identification with ``options`` reads them."""
    words = {'method': model.method, 'urdf': model.robot['urdf']}
    found, data, columns = check_and_read(recordings, options, **words)
    if data:
        return identify_data(data, columns=columns).rows
    return identify(cleaned(recordings, found), options, **words).rows


def _recording(entry: dict[str, Any], urdf: str) -> Recording:
    """Return the Recording that an ``entry`` of a provenance names; ConfigError if it changed."""
    path = entry.get('path', '')
    if not path:
        raise ConfigError('a recording came from no file')
    recording = recording_of(path, urdf)
    if recording.provenance.get('sha256') != entry.get('sha256'):
        raise ConfigError(f'{path} is not what it was')
    if entry.get('start_s') is not None or entry.get('end_s') is not None:
        recording = recording.window(entry.get('start_s') or 0.0, entry.get('end_s'))
    return recording


def _residual(model: IdentifiedModel) -> float | None:
    statistics = model.statistics
    crossed = statistics.get('cross_validation')
    if crossed:
        return crossed['relative_percent']
    if 'training' not in statistics:
        return None
    return statistics['training']['filtered']['relative_percent']
