"""
Words: what a model says, what it does not and what would help, as sentences.

Every sentence is made by ``sentences.SENTENCES`` of numbers that ``facts`` computes from the
model's statistics, base entries and validity range.
"""

from .knowledge import evaluate
from ..identification.identified_model import IdentifiedModel


def verdict(model: IdentifiedModel, listed: int = 10) -> list[str]:
    """Return the verdict on a ``model``, by sentences; ``listed`` : names in one at most."""
    return [text for texts in chapters(model, listed).values() for text in texts]


def chapters(model: IdentifiedModel, listed: int = 10) -> dict[str, list[str]]:
    """Return {heading: sentences} of the verdict on a ``model``, see ``verdict``."""
    from . import facts as of  # dataclasses take long to make: when needed
    from .recording_words import recording_sentences
    from .sentences import concluded, said

    evaluated = evaluate(model)
    return {
        'Prediction': said(
            of.verdict_facts(model),
            of.gravity_facts(model),
            of.fit_facts(model, concluded),
            of.range_facts(model),
            of.cutoff_facts(model),
            of.worst_facts(model),
            of.consistency_facts(model),
            of.noise_facts(model, listed),
        ),
        'Recordings': [*said(of.structure_facts(model)), *recording_sentences(model)],
        'Parameters': said(of.parameter_facts(model, evaluated, listed)),
        'What would help': said(
            of.motion_facts(model, evaluated), of.mounting_facts(model, listed)
        ),
    }
