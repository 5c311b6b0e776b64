"""What was not right in the recordings and their signals, as sentences."""

from collections.abc import Sequence

from . import recording_facts
from .model_statistics import ModelStatistics
from .sentences import said
from ..identification.identified_model import IdentifiedModel
from ..measurement.summary import Summary


def recording_sentences(model: IdentifiedModel) -> list[str]:
    """Return a sentence for all that was not right in the recordings of a ``model``."""
    summaries = [Summary.of(entry) for entry in model.preprocessing]
    return [
        *said(*recording_facts.unused_facts(model)),
        *said(*recording_facts.rounded_mounting_facts(model)),
        *said(*recording_facts.finding_facts(model)),
        *said(recording_facts.MaskedFacts(ModelStatistics(model).masked_shares)),
        *signal_sentences(summaries),
    ]


def signal_sentences(summaries: Sequence[Summary]) -> list[str]:
    """Return a sentence for what was not right in the signals of each recording."""
    return said(*recording_facts.signal_facts(summaries))
