"""
What findings say: per name the sentence, the advice, what was compared and how bad it is.

Checks yield a name, joints, an amount and windows; everything that people read stands here.
``says`` and ``do`` are templates of ``str.format``: the check gives what stands in braces, and
``{joints}`` are the names of the joints.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .finding import Finding, Window

SAMPLES = 'samples'  # unit


@dataclass(frozen=True)
class FindingKind:
    """
    What is said of every finding of one name.

    says : the sentence; do : advice; tests : what is compared with what
    unit : of the amount; a unit of one word is a plural
    severity : note, masked (left out), doubtful (numbers suffer) or wrong (mend it first); a
        check may say another one
    """

    says: str
    do: str
    tests: str
    unit: str
    severity: str


SIGNAL_KINDS: dict[str, FindingKind] = {}

MODEL_KINDS: dict[str, FindingKind] = {}

KINDS = {**SIGNAL_KINDS, **MODEL_KINDS}


def found(
    name: str,
    joints: Sequence[str],
    amount: float,
    windows: tuple[Window, ...] = (),
    severity: str = '',
    **words: Any,
) -> Finding:
    """
    Return the Finding of a ``name`` of KINDS.

    joints : concerned; amount : in the unit of its kind; windows : (start, end) [s]
    severity : where it is not that of its kind; words : what its sentences have in braces
    """
    kind, words = KINDS[name], {'joints': ', '.join(joints), **words}
    return Finding(
        name,
        kind.says.format(**words),
        kind.tests,
        float(amount),
        kind.unit,
        tuple(joints),
        severity or kind.severity,
        kind.do.format(**words),
        windows,
    )
