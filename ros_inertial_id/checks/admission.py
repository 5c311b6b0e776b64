"""
Admission: recordings are checked before anything is computed from them.

Identification of several recordings, payload and the map over bags (many recordings, drift) take
nothing from a recording whose verdict is "do not use", and no sample that its checks mask.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
import logging
from typing import Any

from .check import check_each, together
from .checked import cleaned, reason_not_to_use
from .finding import Checkup
from ..errors import RecordingError
from ..identification.prepare.dataset import name_of
from ..measurement.recording import Recording

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class CheckedRecording:
    """A Recording with the Checkup of it alone; refused : why it takes no part, '' if it does."""

    recording: Recording
    checkup: Checkup
    refused: str


@dataclass(frozen=True)
class Admission:
    """Which of several recordings take part; checked : all of them, in their order."""

    checked: tuple[CheckedRecording, ...]

    @property
    def recordings(self) -> list[Recording]:
        """Return the recordings that take part, as they were recorded."""
        return [one.recording for one in self.checked if not one.refused]

    @property
    def refused(self) -> dict[str, str]:
        """Return {name: why} of the recordings that take no part."""
        return {name_of(one.recording): one.refused for one in self.checked if one.refused}

    @property
    def checkup(self) -> Checkup:
        """Return the Checkup of the recordings that take part, together."""
        return together([one.checkup for one in self.checked if not one.refused])

    def cleaned(self) -> list[Recording]:
        """Return the recordings that take part, without the samples that the checks mask."""
        return cleaned(self.recordings, self.checkup)

    def of_all(self) -> 'Admission':
        """Return the Admission of all, whatever checks say."""
        return Admission(tuple(replace(one, refused='') for one in self.checked))


def admission(recordings: Sequence[Recording], options: Any, **others: Any) -> Admission:
    """
    Return the Admission of ``recordings``, each checked by itself.

    options, others : see ``checks.check.check_and_read``
    """
    checkups = check_each(recordings, options, **others)
    return Admission(
        tuple(
            CheckedRecording(recording, checkup, reason_not_to_use(checkup))
            for recording, checkup in zip(recordings, checkups)
        )
    )


def usable(recordings: Sequence[Recording], options: Any, **others: Any) -> list[Recording]:
    """
    Return those of ``recordings`` that checks do not refuse, without what they mask.

    options, others : see ``checks.check.check_and_read``
    A warning names the others; RecordingError where there are some, and all are refused.
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
