"""check: what is wrong with recordings, which samples are left out, and what they are worth."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .channel_checks import channel_checks, merged
from .contacts import without_contacts
from .evidence import Evidence
from .finding import (Checkup, DO_NOT_USE, DOUBTFUL, Finding, MASKED, NOTE, SEVERITIES, USABLE,
                      Verdict, WRONG)
from .gravity_alternatives import BADLY
from .hypothesis import Fitted
from .masking import without_bad
from .mending import mended
from .raw_signals import raw_signals
from .rows import motion_of, prior_of, rows_of, WIDTH
from .selection import all_scaled, best_of, NOTHING, VISIBLE
from .signal_findings import signal_findings
from .signal_samples import BY_SHARE, MOST
from .velocity_kind import by_best_velocity, saying_what_is_used
from .verdicts import HALF, joint_verdicts, Judged, whole_verdict
from ..dynamics.robot_model import gravity_from_mounting
from ..errors import EstimationError, RecordingError
from ..estimation.r_factors import one_thread
from ..identification.model.identified_model import IdentifiedModel
from ..identification.prepare.dataset import Dataset, Progress, read_dataset
from ..identification.prepare.robot import robot_of
from ..measurement.recording import Recording
from ..methods import DEFAULT_METHOD, METHODS

FOREIGN = 0.35    # relative residual that no alternative explains
RESTS = 0.1       # share of the samples in which an arm moves that is no motion
UNSEEN = ('signs', 'gains')  # what leaves no residual
CAUSES = 3        # that are mended one after the other
NO_CAUSE = ('efforts do not follow the motion', 'description of another robot', 'arm at rest')


def check(recordings: Sequence[Recording], options: Any, *, method: str = DEFAULT_METHOD,
          urdf: str = '', progress: Progress | None = None,
          model: IdentifiedModel | None = None) -> Checkup:
    """
    Return the Checkup of ``recordings`` of one robot.

    options : of the method, by its name; urdf : text of the description, '' for the recordings'
    progress : called with (stage, done, in all); model : instead of the description's inertias
    Of methods that see more than joints only the channels are checked: usable at best, and said.
    RecordingError where no topic carries the joints.
    """
    return check_and_read(recordings, options, method=method, urdf=urdf, progress=progress,
                          model=model)[0]


def check_and_read(recordings: Sequence[Recording], options: Any, *, method: str = DEFAULT_METHOD,
                   urdf: str = '', progress: Progress | None = None,
                   model: IdentifiedModel | None = None) -> tuple[Checkup, Dataset | None]:
    """
    Return the Checkup, and the Dataset that was read for it, None where none was.

    recordings, options, method, urdf, progress, model : see ``check``
    """
    if not METHODS[method].joints_alone:
        return _channels(recordings, method), None
    if len(recordings) > 1:
        return together(check_each(recordings, options, method=method, urdf=urdf,
                                   progress=progress, model=model)), None
    with one_thread():
        findings, masked = _signals(recordings, options, urdf, progress)
        mounting = _mounting_in_degrees(options.mounting or recordings[0].mounting)
        findings += mounting
        fits: dict[str, Any] = {}
        data = None
        if not any(f.severity == WRONG and f not in mounting for f in findings):
            more, fits, data = _models(masked, options, urdf, model, findings)
            findings = saying_what_is_used([*findings, *more], data)
        shares = tuple(without_bad(r, [f for f in findings if f.recording == k])[1]
                       for k, r in enumerate(recordings))
    return checkup_of(findings, shares, **fits), data


def check_each(recordings: Sequence[Recording], options: Any, **others: Any) -> list[Checkup]:
    """
    Return the Checkup of each of ``recordings``, as where they are read one after the other.

    options, others : see ``check``
    """
    return [check([recording], options, **others) for recording in recordings]


def _channels(recordings: Sequence[Recording], method: str) -> Checkup:
    """Return the Checkup of a method that has no model checks: of stamps and values alone."""
    found = [replace(f, recording=k) for k, r in enumerate(recordings) for f in channel_checks(r)]
    whole = checkup_of(found, tuple(without_bad(r, [f for f in found if f.recording == k])[1]
                                    for k, r in enumerate(recordings)))
    if whole.verdict.word == DO_NOT_USE:
        return whole
    reasons = (*whole.verdict.reasons, f'no model checks for method {method}')
    return replace(whole, verdict=Verdict(USABLE, reasons))


def together(checkups: Sequence[Checkup]) -> Checkup:
    """Return the Checkup of several recordings by the ``checkups`` of each."""
    findings: list[Finding] = []
    for number, checkup in enumerate(checkups):
        findings += [replace(f, recording=number) for f in checkup.checks if not any(
            f == replace(other, recording=f.recording) for other in findings if not f.windows)]

    def mean(name: str) -> dict[str, float]:  # [N m or N] RMS over the recordings
        parts = [getattr(c, name) for c in checkups]
        return {joint: float(np.sqrt(np.mean([p[joint] ** 2 for p in parts if joint in p])))
                for joint in dict.fromkeys(joint for p in parts for joint in p)}

    lasting: dict[str, float] = {}
    for checkup in checkups:
        lasting.update({joint: max(seconds, lasting.get(joint, 0.0))
                        for joint, seconds in checkup.lasting.items()})
    return checkup_of(findings, tuple(share for c in checkups for share in c.masked),
                      mean('torque'), mean('nominal'), mean('residual'), lasting)


def checkup_of(findings: Sequence[Finding], masked: tuple[float, ...],
               torque: Any = None, nominal: Any = None, residual: Any = None,
               lasting: Any = None) -> Checkup:
    """
    Return the Checkup of ``findings``, the worst first, with its verdicts.

    masked : share left out of each recording; torque, nominal, residual, lasting : see Checkup
    """
    torque, nominal, residual, lasting = (x or {} for x in (torque, nominal, residual, lasting))
    # What the samples show by themselves comes before what a fit of all of them says.
    order = sorted(findings, key=lambda f: (-SEVERITIES.index(f.severity), f.unit == 'nats',
                                            -f.evidence))
    fit = Judged(residual, torque)
    joints = joint_verdicts(fit, nominal, order, lasting)
    return Checkup(tuple(order), whole_verdict(fit, joints, order), joints, masked,
                   torque, nominal, residual, lasting)


def _signals(recordings: Sequence[Recording], options: Any, urdf: str,
             progress: Progress | None) -> tuple[list[Finding], list[Recording]]:
    """Return the Findings of the signal checks and the recordings without bad samples."""
    findings, masked = [], []
    for number, recording in enumerate(recordings):
        plain = replace(options, mounting='upright')  # which signals do not depend on
        robot = robot_of(recording, plain, urdf)
        own, spans = list[Finding](), list[float]()
        for signals in raw_signals(recording, robot, options):
            own += signal_findings(signals)
            spans.append(float(np.ptp(signals.position.t)) if len(signals.position.t) else 0.0)
        if len(spans) > 1:
            own = [_of_whole(f, sum(spans)) for f in merged(own)]
        findings += [replace(f, recording=number) for f in own]
        masked.append(without_bad(recording, own)[0])
        if progress:
            progress('check', number + 1, len(recordings))
    return findings, masked


def _of_whole(finding: Finding, seconds: float) -> Finding:
    """Return a ``finding`` of some stretches, masked where little of all ``seconds`` is lost."""
    lost = sum(end - start for start, end in finding.windows)
    little = finding.name.split()[-1] in BY_SHARE and lost < MOST * seconds
    return replace(finding, severity=MASKED) if little and finding.severity == WRONG else finding


def _trusted(options: Any, findings: Sequence[Finding]) -> Any:
    """Return ``options`` that do without velocities where these contradict the positions."""
    bad = any(f.name.startswith('velocity') and not f.windows for f in findings)
    return replace(options, velocity='differentiated') if bad else options


def _mounting_in_degrees(mounting: str) -> list[Finding]:
    """Return a Finding for angles of a mounting that are whole degrees, not radians."""
    words = mounting.replace(',', ' ').split()
    if not words or words[0] not in ('rpy', 'rho_phi'):
        return []
    gravity_from_mounting(mounting)  # says what is wrong with other words
    angles = [abs(float(x)) for x in words[1:]]
    if max(angles, default=0.0) <= 2 * np.pi:
        return []
    radians = ' '.join(f'{np.radians(float(x)):.4f}' for x in words[1:])
    return [Finding('mounting in degrees', f'the mounting "{mounting}" is in degrees',
                    'angles against one turn', float(sum(a > 2 * np.pi for a in angles)),
                    'angles', (), WRONG, f'give mounting: {words[0]} {radians}')]


def _models(recordings: Sequence[Recording], options: Any, urdf: str,
            model: IdentifiedModel | None, signals: Sequence[Finding]
            ) -> tuple[list[Finding], dict[str, Any], Dataset | None]:
    """Return the Findings of the model checks, what checkup_of takes of them, and the Dataset."""
    try:
        data, unused = by_best_velocity(read_dataset(recordings, options, DEFAULT_METHOD, urdf),
                                        urdf, signals, lambda read: _evidence(read, model))
        # Velocities that lag make causes where there are none.
        trusted = _trusted(options, signals)
        evidence = _evidence(data if trusted == options else read_dataset(
            recordings, trusted, DEFAULT_METHOD, urdf), model)
    except (RecordingError, EstimationError) as error:
        return [Finding('cannot be prepared', str(error), 'the preparation of the signals', 1.0,
                        'recordings', (), WRONG, 'see the reason')], {}, None
    findings, base = _causes(evidence)
    findings += unused
    findings += _resting(evidence, DOUBTFUL if model is None else NOTE)
    rms = evidence.nominal
    nominal = rms if evidence.rows.prior.nominal else base.torque
    t = evidence.rows.motion.t
    lasting = len(t) * float(np.median(np.diff(t))) / evidence.effective
    # What friction takes of a joint at rest says nothing of a model.
    moved = [(j, data.robot.joint_names[j]) for j in np.flatnonzero(~evidence.rows.still)]
    return findings, {name: {joint: float(values[j]) for j, joint in moved}
                      for name, values in (('torque', base.torque), ('nominal', nominal),
                                           ('residual', base.residual), ('lasting', lasting))
                      }, data


def _resting(evidence: Evidence, severity: str) -> list[Finding]:
    """Return a Finding of ``severity`` where some joints of ``evidence`` stand still."""
    still = evidence.rows.still
    names = tuple(n for n, rests in zip(evidence.rows.robot.joint_names, still) if rests)
    if not names or still.all():
        return []
    return [Finding('joints at rest', f'{", ".join(names)} stand still: of them there is nothing '
                    'to learn or to judge', 'the range of the positions',
                    float(len(names)), 'joints', names, severity, 'move every joint')]


def _causes(evidence: Evidence) -> tuple[list[Finding], Fitted]:
    """Return the Findings, the strongest cause mended before the next, and the first fit."""
    causes: list[Finding] = []
    contacts: list[Finding] = []  # what is mended is the rest, which shows them no more
    whole, first, described = evidence, None, True
    for _ in range(CAUSES):
        rest, seen = without_contacts(whole)
        contacts += seen
        first = first or rest.base
        best = best_of(rest, {f.name for f in causes})
        if best is None:
            break
        candidate, finding = best
        causes.append(finding)
        # What all causes leave together is the description's, if all of each could be mended.
        described &= finding.name != 'efforts permuted' and finding.severity != NOTE
        if finding.severity == NOTE:
            break
        whole = Evidence(mended(rest.rows, candidate))
        rest = whole
        if whole.base.relative < BADLY:  # what else there is shows once this is mended,
            rest, seen = without_contacts(whole)
            contacts += seen
            other = best_of(rest, {f.name for f in causes}, UNSEEN)
            if other and all_scaled(other[0]):  # or never would
                causes.append(other[1])
                described = False
            break
    assert first is not None
    left = _large_residual(rest, described)
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


def _large_residual(evidence: Evidence, described: bool) -> list[Finding]:
    """Return a Finding where motion, or what is ``described``, does not explain the efforts."""
    base, moves = evidence.base, ~evidence.rows.still
    relative = float(np.linalg.norm(base.residual[moves])
                     / max(np.linalg.norm(base.torque[moves]), 1e-300))
    nats = float((evidence.effective * np.abs(np.log(base.torque / base.residual))).sum())
    names = evidence.rows.robot.joint_names
    moving = float((np.abs(evidence.rows.motion.v) > WIDTH).any(axis=1).mean())
    if (relative > FOREIGN and moving < RESTS) or not moves.any():
        return [Finding('arm at rest', f'the arm moves in {100 * moving:.1f} % of the samples: '
                        'friction and contact decide what the efforts are', 'speeds above '
                        f'{WIDTH:g} rad/s', 100.0 * (1.0 - moving), '% of the samples', names,
                        DOUBTFUL if moves.any() else WRONG, 'record a motion')]
    if relative > NOTHING:
        return [Finding('efforts do not follow the motion', 'the efforts have nothing to do with '
                        f'the motion ({100 * relative:.0f} % relative residual)',
                        'left-out residual against predicting zero', nats, 'nats', names, WRONG,
                        'look whether these efforts are of this robot and this motion')]
    if relative > FOREIGN:
        return [_foreign(nats, names, f'{100 * relative:.0f} % relative residual')]
    rms = evidence.nominal
    alone = float(np.linalg.norm(rms[moves]) / np.linalg.norm(base.torque[moves]))
    if (described and evidence.rows.prior.nominal and relative > 2 * VISIBLE
            and alone > HALF):
        nats = float((evidence.effective * np.log(rms / base.residual)).sum())
        return [_foreign(nats, names, f'{100 * alone:.0f} % relative residual by it alone, '
                         f'{100 * relative:.0f} % with any bodies')]
    bad = tuple(n for n, r, t, m in zip(names, base.residual, base.torque, moves)
                if m and r > NOTHING * t)
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
