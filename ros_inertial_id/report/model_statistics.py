"""The statistics of a model as the report reads them: typed, empty where its file has none."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..checks.finding import DO_NOT_USE, Finding, of_severity, WRONG
from ..identification.identified_model import IdentifiedModel

Entry = Mapping[str, Any]


class ModelStatistics:
    """What the file of a model says of its identification."""

    def __init__(self, model: IdentifiedModel) -> None:
        self._statistics = model.statistics

    def _entry(self, name: str) -> Entry:
        return self._statistics.get(name) or {}

    def _entries(self, name: str) -> Sequence[Any]:
        return self._statistics.get(name) or ()

    @property
    def verdict(self) -> Entry:
        """Return word and reasons of the verdict."""
        return self._entry('verdict')

    @property
    def refused(self) -> bool:
        """Whether the verdict is "do not use"."""
        return self.verdict.get('word') == DO_NOT_USE

    @property
    def findings(self) -> list[Finding]:
        """Return the findings of the checks."""
        return [Finding(**entry) for entry in self._entries('checks')]

    @property
    def wrong(self) -> list[Finding]:
        """Return the findings that call data wrong."""
        return of_severity(self.findings, WRONG)

    @property
    def masked_shares(self) -> Sequence[float]:
        """Return the share of the samples of each recording that is left out (0 to 1)."""
        if self._statistics.get('keep_all'):
            return ()
        return self._entries('masked_share')

    @property
    def choices(self) -> Sequence[Entry]:
        """Return the candidates of every choice."""
        return self._entries('choices')

    @property
    def directions(self) -> list[Entry]:
        """Return the candidates for the direction of gravity: as given, by the torques."""
        return [choice for choice in self.choices if choice['what'] == 'gravity direction']

    @property
    def nuisances(self) -> Sequence[Entry]:
        """Return the errors of sensors that were estimated."""
        return self._entries('nuisances')

    @property
    def validation(self) -> Entry:
        """Return the residuals of the validation."""
        return self._entry('validation')

    @property
    def outside(self) -> Entry:
        """Return the part of the validation outside of the validity range."""
        return self.validation.get('outside') or {}

    @property
    def cross_validation(self) -> Entry:
        """Return the residuals of cross-validation."""
        return self._entry('cross_validation')

    @property
    def seen_in_training(self) -> Sequence[str]:
        """Return the recordings of the validation that the model was estimated from."""
        return self._entries('validation_seen')

    @property
    def band(self) -> Entry:
        """Return the band of the prediction: level and terms of joints."""
        return self._entry('prediction_band')

    @property
    def consistent(self) -> Entry:
        """Return the loss by physical consistency."""
        return self._entry('consistent')
