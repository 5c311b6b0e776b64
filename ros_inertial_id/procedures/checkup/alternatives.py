"""
Alternatives: what could be wrong with the data of an arm, each a Hypothesis to be compared.

Every check takes an Evidence and yields Candidates; ``CHECKS`` lists them.  Those that cost more
are asked only when the data as recorded are not explained well.
"""

from collections.abc import Callable, Iterator

from .body_alternatives import drift, encoders, picked_up, tool
from .candidate import Candidate
from .effort_gains import gains
from .effort_order import delays, order, signs
from .evidence import Evidence
from .gravity_alternatives import gravity

CHECKS: dict[str, Callable[[Evidence], Iterator[Candidate]]] = {
    'signs': signs, 'order': order, 'gains': gains, 'delays': delays, 'gravity': gravity,
    'encoders': encoders, 'drift': drift, 'picked up': picked_up, 'tool': tool}
# What a small residual does not rule out.
ALWAYS = ('signs', 'gains', 'delays', 'gravity', 'encoders', 'tool')
