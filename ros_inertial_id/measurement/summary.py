"""Summary: what was understood of one recording, as a model file keeps it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

ALWAYS_WRITTEN = frozenset({'cutoff', 'velocity', 'decimate'})
DETAILS = 'details'


@dataclass(frozen=True)
class Summary:
    """
    What was understood of one recording; what is not known stands at its default.

    topic, effort_topic : of the motion, and of the efforts or commands
    rate : of the clock [Hz]; samples : on it, of which ``missing`` were interpolated
    gaps : how many the clock leaves out; segments : between gaps, long enough for the filter
    duration : of all segments [s]
    cutoff : of the low-pass [Hz]; cutoff_chosen : from the data, not by an option
    motion_ends_at : [Hz] where the motion sinks into noise; None where a cutoff was given
    decimate : training takes every that many sample
    velocity : measured or differentiated
    velocity_disagreement : largest relative difference of both, at the joint ``velocity_of``
    effort_kind, position_kind : as in DriveOptions; '' where no joint is observed
    not_finite : messages left out, as they hold values that are no numbers
    unwrapped : {joint: how often its position wrapped}
    time_offset : [s] by which efforts are read later than stamped
    time_offset_found, time_offset_error : [s] estimate and its standard error
    details : {name: value} of a method's own, plain values
    """

    topic: str = ''
    effort_topic: str = ''
    not_finite: int = 0
    unwrapped: Mapping[str, int] = field(default_factory=dict)
    rate: float = 0.0
    samples: int | None = None
    missing: int | None = None
    gaps: int | None = None
    cutoff_chosen: bool | None = None
    motion_ends_at: float | None = None
    velocity: str = ''
    velocity_disagreement: float | None = None
    velocity_of: str | None = None
    effort_kind: str = ''
    position_kind: str = ''
    cutoff: float = 0.0
    decimate: int = 1
    segments: int | None = None
    duration: float = 0.0
    time_offset: float = 0.0
    time_offset_found: float | None = None
    time_offset_error: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> 'Summary':
        """Return the Summary that was written as ``entry``."""
        names = {f.name for f in fields(cls)} - {DETAILS}
        of_fields = {name: value for name, value in entry.items() if name in names}
        details = {name: value for name, value in entry.items() if name not in names}
        return cls(**of_fields, details=details)

    def entry(self) -> dict[str, Any]:
        """Return the plain dict of a model file: what is known, and ``details`` beside it."""
        written = set(ALWAYS_WRITTEN)
        if self.cutoff_chosen is not None:
            written.add('motion_ends_at')
        if self.effort_kind:
            written |= {'velocity_disagreement', 'velocity_of'}
        out: dict[str, Any] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name in written or value != getattr(UNKNOWN, f.name):
                out[f.name] = value
        out.pop(DETAILS, None)
        return {**out, **self.details}

    def with_details(self, **details: Any) -> 'Summary':
        """Return the Summary with further ``details``."""
        return replace(self, details={**self.details, **details})


UNKNOWN = Summary()
