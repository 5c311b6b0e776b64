"""
Words: what a model says, what it does not and what would help, as sentences.

Every sentence is made by ``sentences.SENTENCES`` of numbers that modules of facts compute from the
model's statistics, base entries and validity range.
"""

from .knowledge import evaluate
from ..identification.identified_model import IdentifiedModel


def verdict(model: IdentifiedModel, listed: int = 10) -> list[str]:
    """Return the verdict on a ``model``, by sentences; ``listed`` : names in one at most."""
    return [text for texts in chapters(model, listed).values() for text in texts]


def chapters(model: IdentifiedModel, listed: int = 10) -> dict[str, list[str]]:
    """Return {heading: sentences} of the verdict on a ``model``, see ``verdict``."""
    from . import (
        budget_facts,
        choice_facts,
        parameter_facts,
        prediction_facts,
        replay_facts,
        whole,
    )  # and all their tuples: when something is said
    from .recording_words import recording_sentences
    from .sentences import said

    evaluated = evaluate(model)
    return {
        'Prediction': said(
            prediction_facts.verdict_facts(model),
            prediction_facts.gravity_facts(model),
            prediction_facts.fit_facts(model),
            prediction_facts.range_facts(model),
            prediction_facts.cutoff_facts(model),
            prediction_facts.worst_facts(model),
            prediction_facts.consistency_facts(model),
            prediction_facts.noise_facts(model, listed),
        ),
        'Replay': said(replay_facts.replay_facts(model)),
        'Recordings': [*said(parameter_facts.structure_facts(model)), *recording_sentences(model)],
        'Whole robot': said(whole.whole_facts(whole.whole_of(model))),
        'Parameters': said(parameter_facts.parameter_facts(model, evaluated, listed)),
        'Uncertainty': said(budget_facts.budget_facts(model, evaluated, listed)),
        'What would help': said(
            parameter_facts.motion_facts(model, evaluated),
            parameter_facts.mounting_facts(model, listed),
            *choice_facts.confounded_facts(model, listed),
        ),
    }
