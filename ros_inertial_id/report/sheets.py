"""
Sheets: the pages of results as verbs ask for them, all their sections in the usual order.

The sections are imported when a page is made, so that verbs start without them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .sheet import Sheet

if TYPE_CHECKING:
    from .comparison import Comparison
    from ..auditing.audit import Audit
    from ..checks.finding import Checkup
    from ..identification.identified_model import IdentifiedModel
    from ..measurement.recording import Recording
    from ..procedures.drift_result import Drift
    from ..procedures.payload import Payload


def payload_sheet(load: 'Payload', model: 'IdentifiedModel', bare: str) -> Sheet:
    """Return the page of a ``load``; ``model``, ``bare`` : of the arm alone, and its path."""
    from .sections import PAYLOAD, WeighedNumbers

    return PAYLOAD.sheet(WeighedNumbers(load, model, bare))


def checkup_sheet(
    checkup: 'Checkup',
    bags: Sequence[str],
    recordings: 'Sequence[Recording]' = (),
    urdf: str = '',
    options: Sequence[str] = (),
) -> Sheet:
    """Return the page of a ``checkup``; arguments as those of CheckedNumbers."""
    from .sections import CheckedNumbers, CHECKUP

    return CHECKUP.sheet(CheckedNumbers(checkup, bags, recordings, urdf, options))


def audit_sheet(audit: 'Audit', source: str = '') -> Sheet:
    """Return the page of an ``audit``; ``source`` : path of the description."""
    from .sections import AUDIT, AuditedNumbers

    return AUDIT.sheet(AuditedNumbers(audit, source))


def drift_sheet(drift: 'Drift') -> Sheet:
    """Return the page of a ``drift``: what changed in every robot, and the series behind it."""
    from .sections import DRIFT

    return DRIFT.sheet(drift)


def comparison_sheet(comparison: 'Comparison') -> Sheet:
    """Return the page of a ``comparison``."""
    from .sections import COMPARISON

    return COMPARISON.sheet(comparison)
