"""Facts about the uncertainty of a model: its sources, gains that the recording shows or not."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .knowledge import Knowledge, shortened, significant
from .model_statistics import ModelStatistics
from ..estimation.estimators import DESCRIPTION, MOTION
from ..identification.choose.nuisances import CONTRADICTED, GAIN_OF_JOINT
from ..identification.fit.budget import FORCES, GAINS, LINKS, SCALE, SOURCES, TILT, ZEROS
from ..identification.fit.model_errors import DELAY, LAWS, STATISTICS
from ..identification.identified_model import IdentifiedModel

# {unit of a body's base parameter: the group it stands in}
GROUPS = {'kg': 'masses', 'kg m': 'first moments', 'kg m^2': 'moments of inertia'}
FRICTION = 'friction'  # and all else of joints
GIVEN = 1e-3  # of the combined error: a parameter with less by the data was taken as exact
HARDLY_SHOWN = 0.9  # of the prior's error is left: the recording says nothing
# {source: what it is, and what makes it smaller}
SOURCE_WORDS = {
    STATISTICS: ('noise and model error', 'move longer or faster'),
    MOTION: ('noise of the measured motion', 'measure positions finer, or move faster'),
    DESCRIPTION: ('the described bodies, which decide', 'weigh parts, or move more joints'),
    LAWS: ('the choice of friction laws', 'move at more and at slower speeds'),
    DELAY: ('the delay of the efforts', 'stamp efforts and positions by one clock'),
    GAINS: ("the scale of each joint's efforts", 'calibrate the efforts (calibration:)'),
    SCALE: ('the common scale of drive gains', 'weigh a load: inertial-id drive-gains --loaded'),
    ZEROS: ('the zeros of the encoders', 'reference the encoders'),
    LINKS: ('the links taken as described', 'identify them as well'),
    FORCES: ('the scale of the measured forces', 'calibrate them with a weighed load'),
    TILT: ('the tilt of the base', 'level the base, or measure it (mounting: imu)'),
}


class Group(NamedTuple):
    """
    Base parameters of one kind.

    shares : {source: mean share of the squared combined error, 0 to 1}
    combined, statistics : median relative errors, combined and by what recordings show [%]
    """

    name: str
    parameters: int
    shares: dict[str, float]
    combined: float
    statistics: float


def budget_groups(evaluated: Sequence[Knowledge]) -> list[Group]:
    """Return the Groups of base parameters, ``evaluated``, that have a budget."""
    by_group: dict[str, list[Mapping[str, Any]]] = {}
    for item in evaluated:
        if not item.entry.get('budget') or not item.entry['combined_error']:
            continue
        name = FRICTION
        if not item.lead.law:
            name = GROUPS.get(item.entry['unit'], FRICTION)
        by_group.setdefault(name, []).append(item.entry)
    names = [name for name in (*GROUPS.values(), FRICTION) if name in by_group]
    return [_group(name, by_group[name]) for name in names]


def _group(name: str, entries: Sequence[Mapping[str, Any]]) -> Group:
    """Return the Group of base parameters' ``entries``."""
    sources = [source for source in SOURCES if source in entries[0]['budget']]
    combined = np.array([entry['combined_error'] for entry in entries])
    size = np.array([max(abs(entry['value']), 1e-300) for entry in entries])
    errors = np.array([entry['standard_error'] for entry in entries])
    shares = {}
    for source in sources:
        contributions = np.array([entry['budget'][source] for entry in entries])
        shares[source] = float(np.mean((contributions / combined) ** 2))
    return Group(
        name,
        len(entries),
        shares,
        float(100.0 * np.median(combined / size)),
        float(100.0 * np.median(errors / size)),
    )


class BudgetFacts(NamedTuple):
    """
    What dominates the combined errors of all base parameters.

    what, remedy : of the largest source, in words; percent : of the squared error
    wider : median ratio of combined to standard errors
    off : joints whose efforts are not scaled as their calibration says, with factor, in words
    unseen : joints whose scale the recording does not show, in words
    uncertain : by how much that is at most [%]
    """

    what: str
    remedy: str
    percent: float
    wider: float
    off: str
    unseen: str
    uncertain: str


def budget_facts(
    model: IdentifiedModel, evaluated: Sequence[Knowledge], listed: int
) -> BudgetFacts | None:
    """
    Return what dominates the errors of a ``model``, None where its file has no budget.

    evaluated : its base parameters; listed : names in a sentence at most
    """
    groups = budget_groups(evaluated)
    if not groups:
        return None
    source, share = _dominant(groups)
    gains = [n for n in ModelStatistics(model).nuisances if n['what'] == GAIN_OF_JOINT]
    off = [entry for entry in gains if abs(entry['value']) > CONTRADICTED * entry['prior']]
    unseen = [e for e in gains if e['standard_error'] > HARDLY_SHOWN * e['prior'] and e not in off]
    errors = [100.0 * entry['standard_error'] for entry in unseen]
    return BudgetFacts(
        *SOURCE_WORDS[source],
        percent=100.0 * share,
        wider=_widening(evaluated),
        off=shortened(map(_factor, off), listed),
        unseen=shortened([entry['joint'] for entry in unseen], listed),
        uncertain=significant(max(errors, default=0.0), 2),
    )


def _dominant(groups):
    """Return the source that has the largest share of all variances of ``groups``, and it."""
    count = sum(group.parameters for group in groups)
    shares = {
        source: sum(group.parameters * group.shares[source] for group in groups) / count
        for source in groups[0].shares
    }
    largest = max(shares, key=lambda source: shares[source])
    return largest, shares[largest]


def _widening(evaluated: Sequence[Knowledge]) -> float:
    """Return the median ratio of combined to standard errors of base parameters."""
    ratios = []
    for item in evaluated:
        combined, by_data = item.entry.get('combined_error'), item.entry['standard_error']
        if combined and by_data and by_data > GIVEN * combined:
            ratios.append(combined / by_data)
    return float(np.median(ratios or [1.0]))


def _factor(entry: Mapping[str, Any]) -> str:
    """Return joint, factor and its error of the ``entry`` of a gain, in words."""
    factor, error = 1.0 + entry['value'], entry['standard_error']
    return f'{entry["joint"]} seems scaled by {factor:.3f} ± {error:.3f}'
