"""Facts about the candidates of a choice: the numbers that speak for each, and what none had."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from .knowledge import shortened, significant, with_error
from .model_statistics import ModelStatistics
from ..checks.finding import odds
from ..dynamics.friction import LAWS
from ..identification.choose.choice import LAW_LEFT_OUT
from ..identification.identified_model import IdentifiedModel


class CandidateFacts(NamedTuple):
    """
    The numbers that speak for a candidate of a choice or against it, None where not known.

    error : cross-validated residual [%]; chosen : whether it was taken
    worse_percent, spread : by how much that is above the chosen one's [%], and standard error
    evidence : log-likelihood difference
    own_percent : of its column, outside of those of every model [%]
    """

    error: float | None
    chosen: bool
    worse_percent: float
    spread: float | None
    evidence: float
    own_percent: float | None

    @property
    def confounded(self) -> bool:
        """Whether the motion does not tell it from what every model has."""
        return self.own_percent is not None

    @property
    def crossed(self) -> bool:
        """Whether it was cross-validated."""
        return self.error is not None

    @property
    def left_out_error(self) -> str:
        """Return the residual as text."""
        return significant(self.error)

    @property
    def worse(self) -> bool:
        """Whether its residual is larger than the chosen one's."""
        return self.worse_percent > 0.0 and not self.chosen

    @property
    def better(self) -> bool:
        """Whether it is smaller."""
        return self.worse_percent < 0.0 and not self.chosen

    @property
    def difference(self) -> str:
        """Return the difference [%] with its standard error."""
        return ' ± '.join(with_error(abs(self.worse_percent), self.spread))

    @property
    def more_likely(self) -> bool:
        """Whether the evidence is for it."""
        return self.evidence > 0.0

    @property
    def less_likely(self) -> bool:
        """Whether the evidence is against it."""
        return self.evidence < 0.0

    @property
    def amount(self) -> float:
        """Return the size of the evidence."""
        return abs(self.evidence)

    @property
    def odds(self) -> str:
        """Return the evidence as odds."""
        return odds(self.amount)


def candidate_facts(candidate: Mapping[str, Any]) -> CandidateFacts:
    """Return the numbers of a ``candidate`` of a choice."""
    return CandidateFacts(
        error=candidate.get('left_out_error'),
        chosen=candidate['chosen'],
        worse_percent=candidate.get('worse_percent') or 0.0,
        spread=candidate.get('worse_error_percent'),
        evidence=candidate.get('evidence') or 0.0,
        own_percent=candidate.get('own_percent'),
    )


class ConfoundedFacts(NamedTuple):
    """
    A friction ``law`` that the motion does not tell from those of every model.

    joints : of which it is left out, in words; loaded : whether it is in proportion to the load
    """

    law: str
    joints: str
    loaded: bool

    @property
    def elastic(self) -> bool:
        """Whether it is a torque of the position alone."""
        return not self.loaded


def confounded_facts(model: IdentifiedModel, listed: int) -> list[ConfoundedFacts]:
    """Return the laws that no candidate of a ``model`` had; listed : joints named at most."""
    facts = []
    for choice in ModelStatistics(model).choices:
        if choice['what'] == LAW_LEFT_OUT:
            law, joints = choice['law'], shortened(choice['joints'], listed)
            facts.append(ConfoundedFacts(law, joints, LAWS[law].loaded))
    return facts
