"""
Admission: recordings are checked before anything is computed from them.

Identification of several recordings, payload and the map over bags (many recordings, drift) take
nothing from a recording whose verdict is "do not use", and no sample that its checks mask.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import logging
from typing import Any

from ..checks.check import check_each, together
from ..checks.checked import cleaned, reason_not_to_use
from ..checks.finding import Checkup
from ..errors import RecordingError
from ..identification.prepare.dataset import name_of
from ..measurement.recording import Recording

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Admission:
    """
    Which of several recordings take part.

    recordings : that do, as they were recorded; checkups : of each of these
    refused : {name: why} of the others
    """

    recordings: list[Recording]
    checkups: list[Checkup]
    refused: dict[str, str]

    @property
    def checkup(self) -> Checkup:
        """Return the Checkup of the recordings that take part, together."""
        return together(self.checkups)

    def cleaned(self) -> list[Recording]:
        """Return the recordings that take part, without the samples that the checks mask."""
        return cleaned(self.recordings, self.checkup)


def admission(recordings: Sequence[Recording], options: Any, **others: Any) -> Admission:
    """
    Return the Admission of ``recordings``, each checked by itself.

    options, others : see ``checks.check.check_and_read``
    """
    admitted = Admission([], [], {})
    for recording, checkup in zip(recordings, check_each(recordings, options, **others)):
        reason = reason_not_to_use(checkup)
        if reason:
            admitted.refused[name_of(recording)] = reason
        else:
            admitted.recordings.append(recording)
            admitted.checkups.append(checkup)
    return admitted


def usable(recordings: Sequence[Recording], options: Any, **others: Any) -> list[Recording]:
    """
    Return those of ``recordings`` that checks do not refuse, without what they mask.

    options, others : see ``checks.check.check_and_read``
    A warning names the others, RecordingError where all of some recordings are refused.
    """
    if not recordings:
        return []
    admitted = admission(recordings, options, **others)
    if not admitted.recordings:
        name, reason = next(iter(admitted.refused.items()))
        raise RecordingError(
            f'{name} cannot be used',
            found=reason,
            do='inertial-id check says what to do; nothing is computed from it',
        )
    for name, reason in admitted.refused.items():
        _logger.warning('%s is left out: %s', name, reason)
    return admitted.cleaned()
