"""
Admission: recordings are checked before anything is computed from them.

Identification of several recordings, payload, drive gains, gravity, validation and comparison, and
the map over bags (many recordings, drift) take nothing from a recording whose verdict is "do not
use", and no sample that its checks mask.  Who asks for it by force gets the reason beside it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
import logging
from typing import Any

from .check import check_each, together
from .checked import cleaned, reason_not_to_use
from .finding import Checkup, of_severity, WRONG
from ..errors import RecordingError
from ..identification.identified_model import IdentifiedModel
from ..identification.prepare.dataset import name_of
from ..identification.settings import prediction_options
from ..measurement.recording import Recording

_logger = logging.getLogger(__name__)
# What only masses say, described or of a model: where that is judged they may be the wrong ones.
BY_MASSES = (
    'effort in another unit',
    'effort in percent',
    'effort is a current',
    'wrong mounting',
    'gravity compensated',
    'description of another robot',
)
# What efforts that are no torques yet look like.
BY_GAINS = (
    'effort in another unit',
    'effort in percent',
    'effort is a current',
    'gain of a joint',
    'description of another robot',
    'links without inertia',
)
# What torques of commands look like without the damping, which is found as viscous friction.
BY_DAMPING = ('effort clipped',)


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


def admission(
    recordings: Sequence[Recording], options: Any, *, but: Collection[str] = (), **others: Any
) -> Admission:
    """
    Return the Admission of ``recordings``, each checked by itself.

    options, others : see ``checks.check.check_and_read``
    but : names of findings for which no recording is refused; with some of them no residual is a
        reason either
    """
    checkups = check_each(recordings, options, **others)
    return Admission(
        tuple(
            CheckedRecording(recording, checkup, _reason(checkup, but))
            for recording, checkup in zip(recordings, checkups)
        )
    )


def _reason(checkup: Checkup, but: Collection[str]) -> str:
    """Return why a ``checkup`` refuses its recording, '' if not; ``but`` : see ``admission``."""
    if not but:
        return reason_not_to_use(checkup)
    wrong = [f for f in of_severity(checkup.checks, WRONG) if f.name not in but]
    # Beside what is wrong with a joint alone the others are used.
    return '; '.join([finding.sentence() for finding in wrong if not finding.alone][:2])


@dataclass(frozen=True)
class Usable:
    """
    Recordings that something is computed from, without what checks mask.

    forced : {name: why checks refuse it} of those that are used all the same
    """

    recordings: list[Recording]
    forced: dict[str, str]


def usable(
    recordings: Sequence[Recording],
    options: Any,
    *,
    but: Collection[str] = (),
    force: bool = False,
    **others: Any,
) -> Usable:
    """
    Return those of ``recordings`` that checks do not refuse, all of them by ``force``.

    options, but, others : see ``admission``
    A warning names the others; RecordingError where there are some, and all are refused.
    """
    if not recordings:
        return Usable([], {})
    admitted = admission(recordings, options, but=but, **others)
    refused = admitted.refused
    if force:
        return Usable(admitted.of_all().cleaned(), refused)
    if not admitted.recordings:
        raise unusable(refused)
    for name, reason in refused.items():
        _logger.warning('%s is left out: %s', name, reason)
    return Usable(admitted.cleaned(), {})


def unusable(refused: Mapping[str, str]) -> RecordingError:
    """Return the error that names the first of ``refused`` recordings {name: why}."""
    name, reason = next(iter(refused.items()))
    return RecordingError(
        f'{name} cannot be used',
        found=reason,
        do='inertial-id check says what to do; nothing is computed from it, but by --force',
    )


def usable_by(
    model: IdentifiedModel, recordings: Sequence[Recording], force: bool = False
) -> Usable:
    """
    Return those of ``recordings`` on which a ``model`` is to be judged; force : see ``usable``.

    What only its own masses say against them is no reason: they are what is judged.
    """
    return usable(
        recordings,
        prediction_options(model),
        but=BY_MASSES,
        force=force,
        method=model.method,
        urdf=model.robot['urdf'],
        model=model,
    )
