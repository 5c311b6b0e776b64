"""check: what is wrong with recordings, which samples are left out, and what they are worth."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .channel_checks import channel_checks, merged, signal_findings
from .checked import masks, UNCHECKED, without_bad
from .contacts import without_contacts
from .evidence import BADLY, Evidence, VISIBLE
from .finding import (Checkup, DO_NOT_USE, DOUBTFUL, Finding, HALF, joint_verdicts, Judged, MASKED,
                      NOT_CHECKED, NOTE, SEVERITIES, Verdict, whole_verdict, WRONG)
from .hypothesis import Fitted
from .samples import RESTS, samples_of, WIDTH
from .selection import best_of, hides, mended, NOTHING, OTHERS
from .signal_samples import BY_SHARE, MOST
from .signals import raw_signals
from .velocity_kind import by_best_velocity, differentiated, saying_what_is_used
from ..dynamics.robot_model import gravity_from_mounting
from ..errors import EstimationError, InertialIdError, RecordingError
from ..estimation.r_factors import one_thread
from ..identification.identified_model import IdentifiedModel
from ..identification.prepare.dataset import Dataset, Progress, read_dataset
from ..identification.prepare.robot import robot_of
from ..identification.prepare.time_offset import aligned
from ..identification.reduce.structure import structure_of
from ..measurement.recording import Recording
from ..methods import DEFAULT_METHOD, METHODS
from ..methods.capabilities import JointTorques

FOREIGN = 0.35    # relative residual that no alternative explains
UNSEEN = ('signs', 'gains')  # what leaves no residual
# Samples that by themselves explain why a model does not.
SAMPLED = ('samples held', 'stamps jitter', 'stamps repeat', 'messages lost')
LATE = 'effort delayed'  # of all joints
CAUSES = 3        # that are mended one after the other
RESTING = 'joints at rest'
NEGATED = 'velocity or position negated'
NO_CAUSE = ('efforts do not follow the motion', 'description of another robot', 'arm at rest')

Rms = dict[str, dict[str, float]]  # {'torque', ...: {joint: of it}}


def check(recordings: Sequence[Recording], options: Any, **others: Any) -> Checkup:
    """
    Return the Checkup of ``recordings`` of one robot.

    options, others : see ``check_and_read``
    """
    return check_and_read(recordings, options, **others)[0]


def check_and_read(recordings: Sequence[Recording], options: Any, *, method: str = DEFAULT_METHOD,
                   urdf: str = '', progress: Progress | None = None,
                   model: IdentifiedModel | None = None) -> tuple[Checkup, Dataset | None]:
    """
    Return the Checkup, and the Dataset of all samples that it does not mask, None without one.

    The Dataset is what an identification with these options reads of these recordings.

    options : of the method, by its name; urdf : text of the description, '' for the recordings'
    progress : called with (stage, done, in all); model : instead of the description's inertias
    Of methods that see more than joints the channels, and what their observations doubt.
    RecordingError where no topic carries the joints.
    """
    if not isinstance(METHODS[method], JointTorques):
        return _of_rig(recordings, options, method, urdf, progress)
    if len(recordings) > 1:
        return together(check_each(recordings, options, method=method, urdf=urdf,
                                   progress=progress, model=model)), None
    recording = recordings[0]
    with one_thread():
        findings = _signals(recording, options, method, urdf)
        if progress:
            progress('check', 1, 1)
        mounting = _mounting_in_degrees(options.mounting or recording.mounting)
        rms, data, before = Rms(), None, masks(findings)
        if not any(f.severity == WRONG for f in findings):
            more, rms, data = _models(without_bad(recording, findings)[0], options, method, urdf,
                                      model, findings)
            findings = saying_what_is_used(_without_echoes([*findings, *more]), data)
            findings = _saying_how_late(findings, data)
        findings = [*mounting, *findings]
        share = without_bad(recording, findings)[1]
    return checkup_of(findings, (share,), **rms), data if masks(findings) == before else None


def check_each(recordings: Sequence[Recording], options: Any, **others: Any) -> list[Checkup]:
    """
    Return the Checkup of each of ``recordings``, as where they are read one after the other.

    options, others : see ``check_and_read``
    """
    return [check([recording], options, **others) for recording in recordings]


def _of_rig(recordings: Sequence[Recording], options: Any, method: str, urdf: str,
            progress: Progress | None) -> tuple[Checkup, Dataset | None]:
    """Return the Checkup by stamps and values, and by what observations doubt, and the Dataset."""
    each = [channel_checks(r) for r in recordings]
    try:
        with one_thread():
            data = read_dataset([without_bad(r, found)[0] for r, found in zip(recordings, each)],
                                options, method, urdf, progress)
    except InertialIdError:  # which says the same where it is identified
        data = None
    doubts = [o.summary.get('doubts') for o in data.observations] if data else [None]
    strongest: dict[str, float] = {}  # what several recordings show is said once
    for doubt in (doubt for own in doubts for doubt in own or ()):
        strongest[doubt['tests']] = max(doubt['evidence'], strongest.get(doubt['tests'], 0.0))
    for found, own in zip(each, doubts):
        found += [Finding(**{**doubt, 'joints': ()}) for doubt in own or ()
                  if doubt['evidence'] == strongest[doubt['tests']]]
    whole = together([checkup_of(found, (without_bad(r, found)[1],))
                      for r, found in zip(recordings, each)])
    if whole.verdict.word == DO_NOT_USE or None not in doubts:
        return whole, data
    reasons = (*whole.verdict.reasons, f'{UNCHECKED} {method}')
    return replace(whole, verdict=Verdict(NOT_CHECKED, reasons)), data


def together(checkups: Sequence[Checkup]) -> Checkup:
    """Return the Checkup of several recordings by the ``checkups`` of each."""
    findings: list[Finding] = []
    moved = {joint for c in checkups for joint in c.torque}
    for number, checkup in enumerate(checkups):
        findings += [replace(f, recording=number) for f in checkup.checks if not any(
            f == replace(other, recording=f.recording) for other in findings if not f.windows)]
    # What one recording does not move, another one may.
    findings = [replace(f, severity=NOTE) if f.name == RESTING and moved >= set(f.joints) else f
                for f in findings]

    def over(parts: Sequence[Mapping[str, float]], combine: Callable) -> dict[str, float]:
        return {joint: float(combine([p[joint] for p in parts if joint in p]))
                for joint in dict.fromkeys(joint for p in parts for joint in p)}

    def mean(values: list[float]) -> float:  # [N m or N] RMS over the recordings
        return float(np.sqrt(np.mean(np.square(values))))

    return checkup_of(findings, tuple(share for c in checkups for share in c.masked),
                      torque=over([c.torque for c in checkups], mean),
                      nominal=over([c.nominal for c in checkups], mean),
                      residual=over([c.residual for c in checkups], mean),
                      lasting=over([c.lasting for c in checkups], max))


def checkup_of(findings: Sequence[Finding], masked: tuple[float, ...],
               **rms: Mapping[str, float]) -> Checkup:
    """
    Return the Checkup of ``findings``, the worst first, with its verdicts.

    masked : share left out of each recording; rms : torque, nominal, residual and lasting of the
        Checkup
    """
    # What the samples show by themselves comes before what a fit of all of them says.
    order = sorted(findings, key=lambda f: (-SEVERITIES.index(f.severity), f.unit == 'nats',
                                            -f.evidence))
    fit = Judged(rms.get('residual', {}), rms.get('torque', {}))
    lasting = rms.get('lasting', {})
    joints = joint_verdicts(fit, rms.get('nominal', {}), order, lasting)
    whole = whole_verdict(fit, joints, order, lasting)
    return Checkup(tuple(order), whole, joints, masked, **rms)


def _signals(recording: Recording, options: Any, method: str, urdf: str) -> list[Finding]:
    """Return the Findings of the signal checks of a ``recording``."""
    robot = robot_of(recording, replace(options, mounting='upright'), urdf, method)
    found, spans = list[Finding](), list[float]()
    for signals in raw_signals(recording, robot, options):
        found += signal_findings(signals)
        spans.append(float(np.ptp(signals.position.t)) if len(signals.position.t) else 0.0)
    if len(spans) < 2:
        return found
    return [replace(f, severity=MASKED) if f.severity == WRONG and f.name.endswith(BY_SHARE)
            and sum(end - start for start, end in f.windows) < MOST * sum(spans) else f
            for f in merged(found)]  # what one stretch loses may be little of all


def _without_echoes(findings: Sequence[Finding]) -> list[Finding]:
    """Return ``findings`` without what a negated position makes look wrong with the efforts."""
    wrong = any(f.severity == WRONG for f in findings)  # of the model alone: it was asked last
    if not (wrong and any(f.name == NEGATED for f in findings)):
        return list(findings)
    return [replace(f, severity=WRONG) if f.name == NEGATED else f
            for f in findings if f.severity != WRONG]


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


def _models(recording: Recording, options: Any, method: str, urdf: str,
            model: IdentifiedModel | None, signals: Sequence[Finding]
            ) -> tuple[list[Finding], Rms, Dataset | None]:
    """Return the Findings of the model checks, the numbers of a Checkup, and the Dataset."""
    try:
        data = read_dataset([recording], options, method, urdf)
        values = None if model is None else model.values[:10 * len(data.robot)]
        data, other, unused = by_best_velocity(data, signals, values)
        # Velocities that lag make causes where there are none.
        lag = any(f.name.startswith('velocity') and not f.windows for f in signals)
        evidence = Evidence(samples_of(differentiated(data, other) if lag else data, values))
    except (RecordingError, EstimationError) as error:
        return [Finding('cannot be prepared', str(error), 'the preparation of the signals', 1.0,
                        'recordings', (), WRONG, 'see the reason')], {}, None
    findings, base = _causes(evidence)
    if any(f.name in SAMPLED and f.severity == DOUBTFUL for f in signals):
        findings = [f for f in findings if f.name != 'description of another robot']
    findings += unused
    findings += _resting(evidence, DOUBTFUL if model is None else NOTE)
    nominal = evidence.nominal if evidence.samples.described else base.torque
    t = evidence.samples.motion.t
    lasting = len(t) * float(np.median(np.diff(t))) / evidence.effective
    # What friction takes of a joint at rest says nothing of a model.
    moved = [(j, data.robot.joint_names[j]) for j in np.flatnonzero(~evidence.samples.still)]
    return findings, {name: {joint: float(values[j]) for j, joint in moved}
                      for name, values in (('torque', base.torque), ('nominal', nominal),
                                           ('residual', base.residual), ('lasting', lasting))
                      }, data


def _saying_how_late(findings: Sequence[Finding], data: Dataset | None) -> list[Finding]:
    """Return the ``findings`` with the delay of all efforts as the identification finds it."""
    if data is None or not any(f.name == LATE for f in findings):
        return list(findings)
    columns = data.method.parameters(data.robot, data.options)
    before, after = (one.observations[0].summary for one in (
        data, aligned(data, structure_of(data.method, data.robots, columns))))
    if after.get('time_offset') == before.get('time_offset'):  # none is found
        return list(findings)
    delay, error = (1e3 * after[f'time_offset_{key}'] for key in ('found', 'error'))
    says = (f'the efforts are {abs(delay):.1f} +- {error:.1g} ms '
            f'{"behind" if delay > 0 else "ahead of"} the motion')
    return [replace(f, says=says + f.says[len(f.says.split(OTHERS)[0]):]) if f.name == LATE else f
            for f in findings]


def _resting(evidence: Evidence, severity: str) -> list[Finding]:
    """Return a Finding of ``severity`` where some joints of ``evidence`` stand still."""
    still = evidence.samples.still
    names = tuple(n for n, rests in zip(evidence.samples.robot.joint_names, still) if rests)
    if not names or still.all():
        return []
    return [Finding(RESTING, f'{", ".join(names)} stand still: nothing is identified '
                    'of them', 'the range of the positions',
                    float(len(names)), 'joints', names, severity, 'move every joint')]


def _causes(evidence: Evidence) -> tuple[list[Finding], Fitted]:
    """Return the Findings, the strongest cause mended before the next, and the first fit."""
    causes: list[Finding] = []
    rest, contacts = without_contacts(evidence)  # mended are the others, which show them no more
    first, described = rest.base, True
    for _ in range(CAUSES):
        best = best_of(rest, {f.name for f in causes})
        if best is None:
            break
        candidate, finding = best
        causes.append(finding)
        # What all causes leave together is the description's, if all of each could be mended.
        described &= finding.name != 'efforts permuted' and finding.severity != NOTE
        if finding.severity == NOTE:
            break
        whole = Evidence(mended(rest.samples, candidate))
        rest, seen = without_contacts(whole)
        contacts += seen
        if whole.base.relative < BADLY:  # what else there is shows once this is mended,
            other = best_of(rest, {f.name for f in causes}, UNSEEN)
            if other and hides(other[0]):  # or never would
                causes.append(other[1])
                described = False
            break
    left = _large_residual(rest, described)
    if any(f.name in NO_CAUSE for f in left):
        causes = []  # what does not explain the efforts is no cause
    return causes + left + contacts, first


def _large_residual(evidence: Evidence, described: bool) -> list[Finding]:
    """Return a Finding where motion, or what is ``described``, does not explain the efforts."""
    base, moves = evidence.base, ~evidence.samples.still
    names, speed = evidence.samples.robot.joint_names, np.abs(evidence.samples.motion.v)
    relative = float(np.linalg.norm(base.residual[moves])
                     / max(np.linalg.norm(base.torque[moves]), 1e-300))
    nats = float((evidence.effective * np.abs(np.log(base.torque / base.residual))).sum())
    moving = float((speed > WIDTH).any(axis=1).mean())
    if (relative > FOREIGN and moving < RESTS) or not moves.any():
        return [Finding('arm at rest', f'the arm moves in {100 * moving:.1f} % of the samples: '
                        'at rest the efforts show static friction and contact', 'speeds above '
                        f'{WIDTH:g} rad/s', 100.0 * (1.0 - moving), '% of the samples', names,
                        DOUBTFUL if moves.any() else WRONG, 'record a motion')]
    if relative > NOTHING:
        return [Finding('efforts do not follow the motion', 'the efforts have nothing to do with '
                        f'the motion ({100 * relative:.0f} % relative residual)',
                        'left-out residual against predicting zero', nats, 'nats', names, WRONG,
                        'look whether these efforts are of this robot and this motion')]
    if relative > FOREIGN:
        return [_foreign(nats, names, f'{100 * relative:.0f} % relative residual')]
    nominal = evidence.nominal
    alone = float(np.linalg.norm(nominal[moves]) / np.linalg.norm(base.torque[moves]))
    if described and evidence.samples.described and relative > 2 * VISIBLE and alone > HALF:
        nats = float((evidence.effective * np.log(nominal / base.residual)).sum())
        return [_foreign(nats, names, f'{100 * alone:.0f} % relative residual by it alone, '
                         f'{100 * relative:.0f} % with any bodies')]
    return []


def _foreign(nats: float, names: tuple[str, ...], why: str) -> Finding:
    return Finding('description of another robot', 'this description does not explain the '
                   f'efforts: {why}', 'left-out residual and description alone, no alternative is '
                   'better', nats, 'nats', names, WRONG,
                   'give the --urdf of this robot, with its joints in this order')
