"""Sheets: the pages of results as verbs ask for them, all their sections in the usual order."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import sections
from .comparison import Comparison
from .sheet import Sheet
from ..checks.finding import Checkup
from ..identification.identified_model import IdentifiedModel
from ..measurement.recording import Recording

if TYPE_CHECKING:  # scipy.signal behind them takes a third of the time to start
    from ..procedures.drift_result import Drift
    from ..procedures.payload import Payload


def payload_sheet(load: 'Payload', model: IdentifiedModel, bare: str) -> Sheet:
    """Return the page of a ``load``; ``model``, ``bare`` : of the arm alone, and its path."""
    return sections.PAYLOAD.sheet(sections.WeighedNumbers(load, model, bare))


def checkup_sheet(
    checkup: Checkup, bags: Sequence[str], recordings: Sequence[Recording] = ()
) -> Sheet:
    """Return the page of a ``checkup``; ``bags`` : paths of the ``recordings``, to be drawn."""
    return sections.CHECKUP.sheet(sections.CheckedNumbers(checkup, bags, recordings))


def drift_sheet(drift: 'Drift') -> Sheet:
    """Return the page of a ``drift``: what changed in every robot, and the series behind it."""
    return sections.DRIFT.sheet(drift)


def comparison_sheet(comparison: Comparison) -> Sheet:
    """Return the page of a ``comparison``."""
    return sections.COMPARISON.sheet(comparison)
