"""check: what is wrong with recordings, which samples are left out, and what they are worth."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from .additions import rig_findings
from .channel_checks import channel_checks, merged, order_findings, signal_findings
from .checked import masks, UNCHECKED, without_bad
from .explains import without_effects
from .finding import (
    Checkup,
    DO_NOT_USE,
    Finding,
    MASKED,
    NATS,
    NOT_CHECKED,
    NOTE,
    of_severity,
    REMOVED,
    SEVERITIES,
    Verdict,
    WRONG,
)
from .finding_kinds import found
from .model_checks import model_checks, ModelChecks, not_prepared
from .moving_base import moving_base
from .signal_samples import BY_SHARE, TOO_MUCH_LOST
from .signals import raw_signals
from .velocity_kind import saying_what_is_used
from .verdicts import joint_verdicts, Judged, whole_verdict
from ..dynamics.robot_model import gravity_from_mounting
from ..errors import InertialIdError
from ..estimation.r_factors import one_thread
from ..identification.identified_model import IdentifiedModel
from ..identification.identify import aligned_columns, RowReader
from ..identification.prepare.dataset import Dataset, Progress, read_dataset
from ..identification.prepare.mounting import robot_of
from ..identification.reduce.model_columns import ModelColumns
from ..measurement.joints.sources import joint_sources
from ..measurement.recording import Recording
from ..methods import DEFAULT_METHOD, METHODS
from ..methods.capabilities import JointTorques

RESTING = 'joints at rest'
FITTED = NATS, REMOVED  # units of what a fit of all samples says
RMS = 'torque', 'nominal', 'residual', 'noise', 'best'  # of a Checkup
IN_ANGLES = ['rpy'], ['rho_phi']  # first word of a mounting

Checked = tuple[Checkup, Dataset | None, ModelColumns | None]


def check(recordings: Sequence[Recording], options: Any, **others: Any) -> Checkup:
    """
    Return the Checkup of ``recordings`` of one robot.

    options, others : see ``check_and_read``
    """
    return check_and_read(recordings, options, **others)[0]


def check_and_read(
    recordings: Sequence[Recording],
    options: Any,
    *,
    method: str = DEFAULT_METHOD,
    urdf: str = '',
    progress: Progress | None = None,
    model: IdentifiedModel | None = None,
) -> Checked:
    """
    Return the Checkup, and Dataset and columns of all samples that it does not mask, or None.

    They are what an identification with these options makes of these recordings.

    options : of the method, by its name; urdf : text of the description, '' for the recordings'
    progress : called with (stage, done, in all); model : instead of the description's inertias
    Of methods that see more than joints the channels, and what their observations doubt.
    RecordingError where no topic carries the joints.
    """
    if not isinstance(METHODS[method], JointTorques):
        return _of_rig(recordings, options, method, urdf, progress)
    if len(recordings) == 1:
        return _of_arm(recordings[0], (options, method, urdf), progress, model)
    each = check_each(
        recordings, options, method=method, urdf=urdf, progress=progress, model=model
    )
    return together(each), None, None


def check_each(recordings: Sequence[Recording], options: Any, **others: Any) -> list[Checkup]:
    """
    Return the Checkup of each of ``recordings``, as where they are read one after the other.

    options, others : see ``check_and_read``
    """
    return [check([recording], options, **others) for recording in recordings]


def _of_arm(
    recording: Recording,
    settings: tuple[Any, str, str],
    progress: Progress | None,
    model: IdentifiedModel | None,
) -> Checked:
    """Return the Checked of a recording of an arm; settings : options, method, description."""
    options, method, urdf = settings
    with one_thread():
        signals = _signals(recording, options, method, urdf)
        if progress:
            progress('check', 1, 1)
        by_model = ModelChecks((), {})
        if not of_severity(signals, WRONG):
            clean, _ = without_bad(recording, signals)
            by_model = model_checks(clean, settings, model, signals)
        findings = without_effects([*signals, *by_model.findings])
        findings = saying_what_is_used(findings, by_model.data)
        mounting = options.mounting or recording.mounting
        findings = [*_mounting_in_degrees(mounting), *findings]
        findings += _perhaps_damaged(recording, findings)
        _, masked = without_bad(recording, findings)
    checkup = checkup_of(findings, (masked,), **by_model.rms)
    if masks(findings) != masks(signals):  # other samples than those that were read
        return checkup, None, None
    return checkup, by_model.data, by_model.columns


def _of_rig(
    recordings: Sequence[Recording],
    options: Any,
    method: str,
    urdf: str,
    progress: Progress | None,
) -> Checked:
    """Return the Checked of a rig: by stamps, values, what observations doubt, and its rows."""
    each = []
    without_masked = []
    for recording in recordings:
        findings = channel_checks(recording)
        clean, _ = without_bad(recording, findings)
        each.append(findings)
        without_masked.append(clean)
    data = columns = None
    checked = False
    try:
        with one_thread():
            data = read_dataset(without_masked, options, method, urdf, progress)
            doubts = [o.summary.details.get('doubts', ()) for o in data.observations]
            for findings, doubted in zip(each, _strongest(doubts)):
                findings += doubted
            if not any(of_severity(findings, WRONG) for findings in each):  # which is mended first
                data, columns = aligned_columns(data, RowReader())
                by_rows, checked = rig_findings(data, columns)
                each[-1] += by_rows
    except InertialIdError as error:
        each[-1].append(not_prepared(error))
    for recording, findings in zip(recordings, each):
        findings += _perhaps_damaged(recording, findings)
    checkups = []
    for recording, findings in zip(recordings, each):
        _, masked = without_bad(recording, findings)
        checkups.append(checkup_of(findings, (masked,)))
    checkup = together(checkups)
    if checkup.verdict.word == DO_NOT_USE or checked:
        return checkup, data, columns
    reasons = (*checkup.verdict.reasons, f'{UNCHECKED} {method}')
    return replace(checkup, verdict=Verdict(NOT_CHECKED, reasons)), data, columns


def _strongest(doubts: Sequence[Sequence[Mapping[str, Any]]]) -> list[list[Finding]]:
    """Return the Findings of each recording's ``doubts``: what several show is said once."""
    each = [_findings_of(doubted) for doubted in doubts]
    evidence: dict[str, float] = {}
    for finding in chain.from_iterable(each):
        evidence[finding.tests] = max(finding.evidence, evidence.get(finding.tests, 0.0))
    out = []
    for findings in each:
        out.append([f for f in findings if f.evidence == evidence[f.tests]])
    return out


def _findings_of(doubts: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Return the Findings of ``doubts``."""
    return [Finding(**{**doubt, 'joints': ()}) for doubt in doubts]


def together(checkups: Sequence[Checkup]) -> Checkup:
    """Return the Checkup of several recordings by the ``checkups`` of each."""
    findings: dict[Finding, Finding] = {}
    masked: list[float] = []
    moved: set[str] = set()
    for number, checkup in enumerate(checkups):
        masked += checkup.masked
        moved |= set(checkup.torque)
        for finding in checkup.checks:
            of_this = replace(finding, recording=number)
            findings.setdefault(_said_once(of_this), of_this)
    # What one recording does not move, another one may.
    noted = [_noted_if_moved(finding, moved) for finding in findings.values()]
    rms = {}
    for quantity in RMS:
        rms[quantity] = _over([getattr(checkup, quantity) for checkup in checkups])
    rms['independent'] = _sum_over([checkup.independent for checkup in checkups])
    return checkup_of(noted, tuple(masked), **rms)


def _said_once(finding: Finding) -> Finding:
    """Return a ``finding`` that equals that of another recording where both say the same."""
    if finding.windows:
        return finding
    return replace(finding, recording=0)


def _noted_if_moved(finding, moved):
    """Return a ``finding`` on joints at rest as a note where others moved all of them."""
    if finding.name == RESTING and moved >= set(finding.joints):
        return replace(finding, severity=NOTE)
    return finding


def _over(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return {joint: RMS over the recordings that have one} [N m or N]."""
    out = {}
    for joint in dict.fromkeys(chain.from_iterable(parts)):
        rms = [part[joint] for part in parts if joint in part]
        out[joint] = float(np.sqrt(np.mean(np.square(rms))))
    return out


def _sum_over(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return {joint: sum over the recordings that have one}."""
    return {
        joint: sum(part.get(joint, 0.0) for part in parts)
        for joint in dict.fromkeys(chain.from_iterable(parts))
    }


def checkup_of(
    findings: Sequence[Finding], masked: tuple[float, ...], **rms: Mapping[str, float]
) -> Checkup:
    """
    Return the Checkup of ``findings``, the worst first, with its verdicts.

    masked : share left out of each recording
    rms : torque, nominal, residual, noise, best and independent of the Checkup
    """
    order = sorted(findings, key=_rank)
    torque = rms.get('torque', {})
    residual = rms.get('residual', {})
    noise = rms.get('noise', {})
    fit = Judged(
        residual,
        torque,
        noise=noise,
        best=rms.get('best', {}),
        independent=rms.get('independent', {}),
    )
    joints = joint_verdicts(fit, rms.get('nominal', {}), order)
    verdict = whole_verdict(fit, joints, order)
    return Checkup(tuple(order), verdict, joints, masked, **rms)


def _rank(finding: Finding) -> tuple[int, bool, float]:
    """Return the sort key of a finding: those of samples come before those of a fit."""
    severity = -SEVERITIES.index(finding.severity)
    return severity, finding.unit in FITTED, -finding.evidence


def _signals(recording: Recording, options: Any, method: str, urdf: str) -> list[Finding]:
    """Return the Findings of the signal checks of a ``recording``."""
    robot = robot_of(recording, replace(options, mounting='upright'), urdf, method)
    findings = moving_base(recording, robot)
    seconds: list[float] = []
    for signals in raw_signals(recording, robot, options):
        findings += signal_findings(signals)
        seconds.append(signals.position.seconds)
    for topic in joint_sources(recording, robot.joint_names, options).topics:
        findings += order_findings(recording.channels[topic], recording.origin_ns())
    if len(seconds) < 2:
        return findings
    duration = sum(seconds)
    return [_masked_if_little(finding, duration) for finding in merged(findings)]


def _masked_if_little(finding, seconds):
    """Return a wrong ``finding`` as masked where it is of little of all ``seconds``."""
    lost = np.diff(finding.windows).sum()
    little = lost < TOO_MUCH_LOST * seconds and finding.name.endswith(BY_SHARE)
    if finding.severity == WRONG and little:
        return replace(finding, severity=MASKED)
    return finding


def _perhaps_damaged(recording: Recording, findings: Sequence[Finding]) -> list[Finding]:
    """Return a Finding for spikes where nothing would show that a bag was damaged."""
    storage = recording.provenance.get('unverified')
    has_spikes = any(finding.name.endswith('spikes') for finding in findings)
    if not storage or not has_spikes:
        return []
    return [found('no checksums', (), 1, storage=storage)]


def _mounting_in_degrees(mounting: str) -> list[Finding]:
    """Return a Finding for angles of a mounting that are whole degrees, not radians."""
    words = mounting.replace(',', ' ').split()
    if words[:1] not in IN_ANGLES:
        return []
    gravity_from_mounting(mounting)  # says what is wrong with other words
    angles = np.array(words[1:], dtype=float)
    beyond_a_turn = int(np.sum(np.abs(angles) > 2 * np.pi))
    if not beyond_a_turn:
        return []
    radians = [f'{angle:.4f}' for angle in np.radians(angles)]
    given = ' '.join([words[0], *radians])
    return [found('mounting in degrees', (), beyond_a_turn, mounting=mounting, radians=given)]
