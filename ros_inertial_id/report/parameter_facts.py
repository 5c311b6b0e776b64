"""Facts about base parameters: their number, what they are worth, which motion they lack."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from .knowledge import CORRELATED, DIFFERENT, Knowledge, NOT, ratio, ROUGH, shortened, WELL, ZERO
from .mounting import goes_round
from ..identification.identified_model import IdentifiedModel
from ..methods import DEFAULT_METHOD

MANY = 1 / 3  # share of the parameters of a kind that makes advice worth giving


class StructureFacts(NamedTuple):
    """Base parameters of the bodies of a mechanism: by the torques and by the energy."""

    by_torque: int | None
    by_energy: int | None

    @property
    def uncertain(self) -> bool:
        """Whether both numbers differ."""
        return self.by_energy != self.by_torque


def structure_facts(model: IdentifiedModel) -> StructureFacts:
    """Return the numbers of base parameters of the bodies of a ``model``."""
    s = model.statistics
    return StructureFacts(s.get('rank_of_bodies'), s.get('rank_by_energy'))


class ParameterFacts(NamedTuple):
    """
    What base parameters are worth; names in words, '' for none.

    grades : how many have which; missing : not determined; described : how many the robot
    description has; far : of these, different from it
    corrected, uncorrected : negative with significance, with another value in the model or not
    chance : negative without significance
    """

    grades: str
    missing: str
    described: int
    far: str
    corrected: str
    uncorrected: str
    chance: str


def parameter_facts(
    model: IdentifiedModel, evaluated: Sequence[Knowledge], listed: int
) -> ParameterFacts:
    """Return the grades of the parameters of a ``model``; evaluated : each of them."""
    impossible = shortened(_impossible(evaluated), listed)
    corrected = uncorrected = ''
    if 'unconstrained' in model.statistics:
        corrected = impossible
    else:
        uncorrected = impossible
    missing = [item.name for item in evaluated if item.undetermined]
    chance = [item.name for item in evaluated if item.negative and not item.impossible]
    return ParameterFacts(
        grades=_counted_grades(evaluated),
        missing=shortened(missing, listed),
        described=sum(item.described for item in evaluated),
        far=shortened(_far_from_description(evaluated), listed) or 'none',
        corrected=corrected,
        uncorrected=uncorrected,
        chance=shortened(chance, listed),
    )


def _counted_grades(evaluated: Sequence[Knowledge]) -> str:
    counts = Counter(item.grade for item in evaluated)
    in_order = (WELL, ROUGH, ZERO, NOT)
    return ', '.join(f'{counts[grade]} {grade}' for grade in in_order if counts[grade])


def _far_from_description(evaluated: Sequence[Knowledge]) -> list[str]:
    """Return names with differences in standard errors, the largest first."""
    far = [item for item in evaluated if item.difference > DIFFERENT]
    far.sort(key=lambda item: -item.difference)
    return [f'{item.name} ({item.difference:.0f})' for item in far]


def _impossible(evaluated: Sequence[Knowledge]) -> list[str]:
    """Return names with values by the data alone."""
    return [f'{item.name} = {item.unconstrained[0]:.2g}' for item in evaluated if item.impossible]


class MotionFacts(NamedTuple):
    """
    The parameters that another motion would determine; kinds in words, '' for none.

    poor : how many are not significant; faster, wider : kinds that need such motion
    correlated : how many of the poor are strongly correlated with others; condition : number
    designed : whether motions of this method are designed
    """

    poor: int
    faster: str
    wider: str
    correlated: int
    condition: str
    designed: bool

    @property
    def enough(self) -> bool:
        """Whether no other motion would determine more."""
        return not self.poor

    @property
    def mixed(self) -> bool:
        """Whether correlation is why so many are poor."""
        return self.correlated > MANY * self.poor

    @property
    def mixed_of_arm(self) -> bool:
        """Whether it is, and a designed motion would help."""
        return self.mixed and self.designed

    @property
    def mixed_of_rig(self) -> bool:
        """Whether it is, and motions are not designed."""
        return self.mixed and not self.designed


def motion_facts(model: IdentifiedModel, evaluated: Sequence[Knowledge]) -> MotionFacts:
    """Return which motion a ``model`` lacks; evaluated : its base parameters."""
    poor = [item for item in evaluated if item.grade in (ZERO, NOT)]
    wider = ''
    if not goes_round(model):
        wider = _lacking(('gravity', 'offset'), poor, evaluated)
    return MotionFacts(
        poor=len(poor),
        faster=_lacking(('inertia', 'friction'), poor, evaluated),
        wider=wider,
        correlated=sum(item.inflation > CORRELATED for item in poor),
        condition=ratio(model.statistics['condition_number']),
        designed=model.method == DEFAULT_METHOD,
    )


def _lacking(
    kinds: Sequence[str], poor: Sequence[Knowledge], evaluated: Sequence[Knowledge]
) -> str:
    """Return those of ``kinds`` of which many parameters are ``poor``, with their numbers."""
    lacking = []
    for kind in kinds:
        poor_ones = sum(item.kind == kind for item in poor)
        all_of_kind = sum(item.kind == kind for item in evaluated)
        if poor_ones > MANY * all_of_kind:
            lacking.append(f'{poor_ones} of {all_of_kind} {kind}')
    return ' and '.join(lacking)


class MountingFacts(NamedTuple):
    """missing : parameters that only other mountings excite, in words."""

    missing: str


def mounting_facts(model: IdentifiedModel, listed: int) -> MountingFacts:
    """Return the parameters that the recorded mountings of a ``model`` do not excite."""
    return MountingFacts(shortened(model.mounting.get('missing') or (), listed))
