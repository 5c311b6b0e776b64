"""
Selection: which alternative, if any, becomes a finding.

An alternative is what could be wrong with the data of an arm, a Hypothesis to be compared.  Every
check takes an Evidence and yields Candidates; ``CHECKS`` lists them.  Those that cost more are
asked only when the data as recorded are not explained well.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from .contacts import long_pushes
from .efforts import delays, order, signs
from .encoders import encoders
from .evidence import ALIKE, BADLY, Evidence, SURELY, VISIBLE
from .finding import CERTAIN, Finding, HALF, NOTE
from .gains import gains
from .gravity import gravity, in_degrees, tool
from .hypothesis import Candidate
from .samples import Samples

CHECKS: dict[str, Callable[[Evidence], Iterator[Candidate]]] = {
    'signs': signs, 'order': order, 'gains': gains, 'delays': delays, 'gravity': gravity,
    'encoders': encoders, 'tool': tool, 'pushes': long_pushes, 'degrees': in_degrees}
# What a large residual alone makes worth asking for.
IF_DOUBTFUL = 'order', 'pushes', 'degrees'
LIMIT = 9.565     # nats: odds of a thousand to one, for each of a dozen that are tried
AS_LIKELY = 3.0   # nats: odds of twenty to one
OTHERS = '; or, as likely, '
SHRUNK = 0.8      # of a residual: residuals of a model are systematic, more may be that
THIRD = 1 / 3     # of a residual: no error of a model is so large beside what is left
NOTHING = 0.9     # relative residual: the efforts do not follow the motion


def best_of(evidence: Evidence, known: set[str],
            only: Collection[str] = CHECKS) -> tuple[Candidate, Finding] | None:
    """
    Return the best alternative and its Finding, or None.

    evidence : of the data; known : names that were found already; only : of the checks to ask
    """
    base = evidence.base
    doubtful = bool(base.relative > VISIBLE or np.any(base.residual > 5 * VISIBLE * base.torque))
    found = [c for name, one in CHECKS.items()
             if name in only and (doubtful or name not in IF_DOUBTFUL)
             for c in one(evidence)]

    def nats(c: Candidate) -> float:
        return float(c.fit.evidence - base.evidence - c.cost)

    def accepted(candidates: Sequence[Candidate]) -> list[Candidate]:
        return [c for c in candidates if c.severity != NOTE and c.name not in known
                and nats(c) > LIMIT and _worth_a_word(c, evidence)]

    chosen = accepted(found)
    if not chosen and base.relative < BADLY:
        chosen = [c for c in found if c.severity == NOTE and nats(c) > LIMIT]
    if not chosen:
        return None
    *others, c = sorted(chosen, key=nats)
    most = min(chosen, key=lambda one: one.fit.relative)
    if most.fit.relative < HALF * c.fit.relative:
        c, others = most, []  # what is left without it hides what contradicts the others
    alike = [one for one in others if one.name != c.name and nats(one) > nats(c) - AS_LIKELY][-1:]
    says = OTHERS.join(one.says for one in (c, *alike))
    return c, Finding(c.name, says, c.tests, nats(c), 'nats', c.joints, c.severity, c.do)


def hides(c: Candidate) -> bool:
    """Return whether the residual may stay: ``c`` scales all efforts, or says gravity lacks."""
    return c.hypothesis.scales_all or c.name == 'gravity compensated'


def _worth_a_word(c: Candidate, evidence: Evidence) -> bool:
    """Return whether an alternative removes a residual that matters, or changes all units."""
    before, after, h = evidence.base, c.fit, c.hypothesis
    left = np.linalg.norm(after.residual) / np.linalg.norm(before.torque)
    if after.relative > NOTHING or (h.added and left > NOTHING):
        return False
    if hides(c) or np.allclose(h.gravity, -evidence.samples.gravity):
        return True  # the description alone tells it
    overwhelming = after.evidence - before.evidence - c.cost > SURELY
    if c.surely and overwhelming:
        return True
    share = (before.residual / before.torque, after.residual / after.torque)
    count = len(before.torque)
    moved = (h.target != np.arange(count)) & (h.target < count) | (h.scale == -1.0)
    negated = np.flatnonzero(h.scale == -1.0)
    if overwhelming and negated.size and all(evidence.driving(int(j)) > CERTAIN for j in negated):
        return True  # friction that drives is none, though it explains as much
    # What is put right explains no joint worse, nor all of them.
    if np.any(moved) and (after.relative > ALIKE * before.relative
                          or np.any((share[1] > share[0] / HALF)[moved])):
        return False
    if overwhelming and (np.any(share[1] < THIRD * share[0]) or _changes_parameters(c, evidence)):
        return True
    if len(c.joints) == 1 and not np.any(moved):
        j = evidence.samples.robot.joint_names.index(c.joints[0])
        if share[1][j] < HALF * share[0][j]:  # most of what there is of this joint
            return True
    if np.any(moved):  # or what is small anyway is exchanged or turned
        return bool(np.log(share[1] / share[0])[moved].mean() < np.log(HALF))
    gone = np.sqrt(np.maximum(share[0] ** 2 - share[1] ** 2, 0.0))
    shrunk = share[1] < SHRUNK * share[0]
    if not np.any(shrunk) or after.relative >= before.relative:
        return False
    total = np.linalg.norm(gone * before.torque) / np.linalg.norm(before.torque)
    return bool(total > VISIBLE or np.any(gone[shrunk] > 5 * VISIBLE))


def _changes_parameters(c: Candidate, evidence: Evidence) -> bool:
    """Return whether free parameters hide most of an encoder's zero, and are wrong instead."""
    if c.name != 'encoder zero off':
        return False
    free = c.fit.values[len(evidence.samples.mean):]
    torque = np.array([np.sqrt(np.mean((X @ free) ** 2)) for X in c.hypothesis.extra])
    return bool(np.linalg.norm(torque) > 5 * VISIBLE * np.linalg.norm(c.fit.torque))


def mended(samples: Samples, cause: Candidate) -> Samples:
    """Return ``samples`` as if the ``cause`` that they were fitted to were not there."""
    if cause.mended is not None:
        return cause.mended
    h, motion, count = cause.hypothesis, samples.motion, len(samples.robot)
    free = cause.fit.values[len(samples.mean):]
    tau, late = motion.tau.copy(), motion.late.copy()
    for j, (k, scale) in enumerate(zip(h.target, h.scale)):
        known = h.extra[j] @ -free if h.extra else h.added[j] if h.added else np.zeros(len(tau))
        tau[:, j] = scale * samples.targets(j)[:, k] + known
        late[:, j] = scale * motion.late[:, k if k < count else j] + known[:, None]
    return replace(samples, gravity=h.gravity, motion=replace(motion, tau=tau, late=late))
