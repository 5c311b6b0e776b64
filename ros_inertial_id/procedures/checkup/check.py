"""check: what is wrong with recordings, which samples are left out, and what they are worth."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .axes import turned_axes
from .candidate import Candidate
from .channel_checks import channel_checks
from .contacts import without_contacts
from .effort_order import swapped_efforts
from .evidence import Evidence
from .finding import (Checkup, DO_NOT_USE, DOUBTFUL, Finding, NOTE, SEVERITIES, USABLE, Verdict,
                      WRONG)
from .gravity_alternatives import BADLY
from .hypothesis import Fitted
from . import alternatives
from .masking import without_bad
from .mending import mended
from .raw_signals import raw_signals
from .rows import motion_of, prior_of, rows_of
from .signal_findings import signal_findings
from .verdicts import HALF, joint_verdicts, whole_verdict
from ...errors import EstimationError, RecordingError
from ...estimation.r_factors import one_thread
from ...identification.dataset import Dataset, Progress, read_dataset
from ...identification.model import IdentifiedModel
from ...identification.robot import robot_of
from ...measurement.recording import Recording

CERTAIN = 7.0     # nats: odds of a thousand to one
VISIBLE = 0.02    # of the torque, that an alternative must explain to be worth a word
SHRUNK = 0.8      # of a residual: residuals of a model are systematic, more may be that
THIRD = 1 / 3     # of a residual: no error of a model is so large beside what is left
OVERWHELMING = 30.0  # nats
NOTHING = 0.9     # relative residual: the efforts do not follow the motion
FOREIGN = 0.35    # relative residual that no alternative explains
UNSEEN = ('signs', 'gains')  # what leaves no residual
CAUSES = 3        # that are mended one after the other
METHOD = 'serial_arm'
NO_CAUSE = ('efforts do not follow the motion', 'description of another robot')


def check(recordings: Sequence[Recording], options: Any, *, method: str = METHOD,
          urdf: str = '', progress: Progress | None = None,
          model: IdentifiedModel | None = None) -> Checkup:
    """
    Return the Checkup of ``recordings`` of one robot.

    options : of the method, by its name; urdf : text of the description, '' for the recordings'
    progress : called with (stage, done, in all); model : instead of the description's inertias
    Of other methods than serial_arm the channels alone are checked: usable at best, and said so.
    RecordingError where no topic carries the joints.
    """
    if method != METHOD:
        return _channels(recordings, method)
    with one_thread():
        findings, masked = _signals(recordings, options, urdf, progress)
        mounting = _mounting_in_degrees(options.mounting or recordings[0].mounting)
        findings += mounting
        fits: dict[str, Any] = {}
        if not any(f.severity == WRONG and f not in mounting for f in findings):
            more, fits = _models(masked, _trusted(options, findings), urdf, model)
            findings += more
        shares = tuple(without_bad(r, [f for f in findings if f.recording == k])[1]
                       for k, r in enumerate(recordings))
    return checkup_of(findings, shares, **fits)


def _channels(recordings: Sequence[Recording], method: str) -> Checkup:
    """Return the Checkup of a method that has no model checks: of stamps and values alone."""
    found = [replace(f, recording=k) for k, r in enumerate(recordings) for f in channel_checks(r)]
    whole = checkup_of(found, tuple(without_bad(r, [f for f in found if f.recording == k])[1]
                                    for k, r in enumerate(recordings)))
    if whole.verdict.word == DO_NOT_USE:
        return whole
    reasons = (*whole.verdict.reasons, f'no model checks for method {method}')
    return replace(whole, verdict=Verdict(USABLE, reasons))


def checkup_of(findings: Sequence[Finding], masked: tuple[float, ...],
               torque: Any = None, nominal: Any = None, residual: Any = None) -> Checkup:
    """
    Return the Checkup of ``findings``, the worst first, with its verdicts.

    masked : share left out of each recording; torque, nominal, residual : see Checkup
    """
    torque, nominal, residual = torque or {}, nominal or {}, residual or {}
    # What the samples show by themselves comes before what a fit of all of them says.
    order = sorted(findings, key=lambda f: (f.severity == NOTE, f.unit == 'nats',
                                            -SEVERITIES.index(f.severity), -f.evidence))
    joints = joint_verdicts(residual, torque, nominal, order)
    return Checkup(tuple(order), whole_verdict(residual, torque, joints, order), joints, masked,
                   torque, nominal, residual)


def _signals(recordings: Sequence[Recording], options: Any, urdf: str,
             progress: Progress | None) -> tuple[list[Finding], list[Recording]]:
    """Return the Findings of the signal checks and the recordings without bad samples."""
    findings, masked = [], []
    for number, recording in enumerate(recordings):
        plain = replace(options, mounting='upright')  # which signals do not depend on
        robot = robot_of(recording, plain, urdf)
        signals = raw_signals(recording, robot, options)
        own = signal_findings(signals)
        findings += [replace(f, recording=number) for f in own]
        masked.append(without_bad(recording, own)[0])
        if progress:
            progress('check', number + 1, len(recordings))
    return findings, masked


def _trusted(options: Any, findings: Sequence[Finding]) -> Any:
    """Return ``options`` that do without velocities where these contradict the positions."""
    bad = any(f.name.startswith('velocity') and not f.windows for f in findings)
    return replace(options, velocity='differentiated') if bad else options


def _mounting_in_degrees(mounting: str) -> list[Finding]:
    """Return a Finding for angles of a mounting that are whole degrees, not radians."""
    words = mounting.replace(',', ' ').split()
    if not words or words[0] not in ('rpy', 'rho_phi'):
        return []
    angles = [abs(float(x)) for x in words[1:]]
    if max(angles, default=0.0) <= 2 * np.pi:
        return []
    radians = ' '.join(f'{np.radians(float(x)):.4f}' for x in words[1:])
    return [Finding('mounting in degrees', f'the mounting "{mounting}" is in degrees',
                    'angles against one turn', float(sum(a > 2 * np.pi for a in angles)),
                    'samples', (), WRONG, f'give mounting: {words[0]} {radians}')]


def _models(recordings: Sequence[Recording], options: Any, urdf: str,
            model: IdentifiedModel | None) -> tuple[list[Finding], dict[str, Any]]:
    """Return the Findings of the model checks and {torque, nominal, residual} of the joints."""
    try:
        data = read_dataset(recordings, options, METHOD, urdf)
        evidence = _evidence(data, model)
    except (RecordingError, EstimationError) as error:
        return [Finding('cannot be prepared', str(error), 'the preparation of the signals', 1.0,
                        'samples', (), WRONG, 'see the reason')], {}
    findings, base = _causes(evidence)
    names = data.robot.joint_names
    rms = evidence.nominal
    nominal = rms if evidence.rows.prior.nominal else base.torque
    return findings, {name: dict(zip(names, values.tolist())) for name, values in (
        ('torque', base.torque), ('nominal', nominal), ('residual', base.residual))}


def _causes(evidence: Evidence) -> tuple[list[Finding], Fitted]:
    """Return the Findings, the strongest cause mended before the next, and the first fit."""
    causes: list[Finding] = []
    whole, first = evidence, None
    for _ in range(CAUSES):
        rest, contacts = without_contacts(whole)
        first = first or rest.base
        best = _best(rest, {f.name for f in causes})
        if best is None:
            break
        candidate, finding = best
        causes.append(finding)
        if finding.severity == NOTE:
            break
        whole = Evidence(mended(rest.rows, candidate))
        rest = whole
        if whole.base.relative < BADLY:  # what else there is shows once this is mended,
            rest, contacts = without_contacts(whole)
            other = _best(rest, {f.name for f in causes}, UNSEEN)
            causes += [other[1]] if other and _all_scaled(other[0]) else []  # or never would
            break
    assert first is not None
    left = _large_residual(rest, described=not causes)
    if any(f.name in NO_CAUSE for f in left):
        causes = []  # what does not explain the efforts is no cause
    return causes + left + contacts, first


def _evidence(data: Dataset, model: IdentifiedModel | None) -> Evidence:
    """Return the Evidence of the recordings that share the first one's mounting."""
    same = [k for k, robot in enumerate(data.robots)
            if np.allclose(robot.gravity_base, data.robot.gravity_base)]
    data = replace(data, robots=tuple(data.robots[k] for k in same),
                   observations=tuple(data.observations[k] for k in same))
    values = None if model is None else model.values[:10 * len(data.robot)]
    return Evidence(rows_of(data.robot, motion_of(data),
                            prior_of(data.robot, data.options, values)))


def _best(evidence: Evidence, known: set[str],
          only: Collection[str] = alternatives.CHECKS) -> tuple[Candidate, Finding] | None:
    """Return the best alternative, of another name than those known, and its Finding, or None."""
    base = evidence.base
    doubtful = bool(base.relative > VISIBLE or np.any(base.residual > 5 * VISIBLE * base.torque))
    found = [c for name, one in alternatives.CHECKS.items()
             if name in only and (doubtful or name in alternatives.ALWAYS)
             for c in one(evidence)]
    limit = CERTAIN + np.log(len(alternatives.CHECKS))

    def nats(c: Any) -> float:
        return float(c.fit.evidence - base.evidence - c.cost)

    def accepted(candidates: Sequence[Candidate]) -> list[Candidate]:
        return [c for c in candidates if c.severity != NOTE and c.name not in known
                and nats(c) > limit and _worth_a_word(c, evidence)]

    chosen = accepted(found)
    if min([base.relative, *(c.fit.relative for c in chosen)]) > BADLY:
        chosen += accepted([*swapped_efforts(evidence), *turned_axes(evidence)])
    chosen = sorted(chosen, key=nats)[-1:]
    notes = [c for c in found if c.severity == NOTE]
    if not chosen and base.relative < BADLY:
        chosen = [c for c in notes if nats(c) > limit]
    if not chosen:
        return None
    c = chosen[0]
    return c, Finding(c.name, c.says, c.tests, nats(c), 'nats', c.joints, c.severity, c.do,
                      c.windows, c.recording)


def _all_scaled(c: Candidate) -> bool:
    """Return whether the residual may stay: all efforts change unit or sign, or lack gravity."""
    return bool(np.all(c.hypothesis.scale != 1.0)) or c.name == 'gravity compensated'


def _worth_a_word(c: Candidate, evidence: Evidence) -> bool:
    """Return whether an alternative removes a residual that matters, or changes all units."""
    before, after = evidence.base, c.fit
    left = np.linalg.norm(after.residual) / np.linalg.norm(before.torque)
    if after.relative > NOTHING or (c.hypothesis.added and left > NOTHING):
        return False
    if _all_scaled(c):
        return True
    overwhelming = after.evidence - before.evidence - c.cost > OVERWHELMING
    share = (before.residual / before.torque, after.residual / after.torque)
    moved = (c.hypothesis.target != evidence.as_recorded.target) | (c.hypothesis.scale == -1.0)
    moved &= c.axes is None
    if np.any((share[1] > share[0] / HALF)[moved]):  # what is put right explains no joint worse
        return False
    if overwhelming and (np.any(share[1] < THIRD * share[0]) or _changes_parameters(c, evidence)):
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
    free = c.fit.values[len(evidence.rows.prior.mean):]
    torque = np.array([np.sqrt(np.mean((X @ free) ** 2)) for X in c.hypothesis.extra])
    return bool(np.linalg.norm(torque) > 5 * VISIBLE * np.linalg.norm(c.fit.torque))


def _large_residual(evidence: Evidence, described: bool) -> list[Finding]:
    """Return a Finding where motion, or what is ``described``, does not explain the efforts."""
    base = evidence.base
    nats = float((evidence.effective * np.abs(np.log(base.torque / base.residual))).sum())
    names = evidence.rows.robot.joint_names
    if base.relative > NOTHING:
        return [Finding('efforts do not follow the motion', 'the efforts have nothing to do with '
                        f'the motion ({100 * base.relative:.0f} % of them is left)',
                        'left-out residual against predicting zero', nats, 'nats', names, WRONG,
                        'look whether these efforts are of this robot and this motion')]
    if base.relative > FOREIGN:
        return [_foreign(nats, names, f'{100 * base.relative:.0f} % of them is left')]
    rms = evidence.nominal
    alone = float(np.linalg.norm(rms) / np.linalg.norm(base.torque))
    if (described and evidence.rows.prior.nominal and base.relative > 2 * VISIBLE
            and alone > HALF):
        nats = float((evidence.effective * np.log(rms / base.residual)).sum())
        return [_foreign(nats, names, f'it alone leaves {100 * alone:.0f} % of them and its '
                         f'joints, with any bodies, {100 * base.relative:.0f} %')]
    bad = tuple(n for n, r, t in zip(names, base.residual, base.torque) if r > NOTHING * t)
    if bad:
        return [Finding('efforts of a joint do not follow the motion', f'the efforts of '
                        f'{", ".join(bad)} are predicted no better than by zero',
                        'left-out residual against predicting zero', nats, 'nats', bad, DOUBTFUL,
                        'look whether they are noise alone')]
    return []


def _foreign(nats: float, names: tuple[str, ...], why: str) -> Finding:
    return Finding('description of another robot', 'this description does not explain the '
                   f'efforts: {why}', 'left-out residual and description alone, no alternative is '
                   'better', nats, 'nats', names, WRONG,
                   'give the --urdf of this robot, with its joints in this order')
