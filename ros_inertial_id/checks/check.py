"""check: what is wrong with recordings, which samples are left out, and what they are worth."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .arm import Arm, arm_of, DESCRIPTION, LEFT_OUT
from .causes import causes
from .channel_checks import channel_checks, merged, signal_findings
from .checked import masks, UNCHECKED, without_bad
from .contacts import contacts
from .finding import (
    Checkup,
    DO_NOT_USE,
    DOUBTFUL,
    Finding,
    joint_verdicts,
    Judged,
    MASKED,
    NOT_CHECKED,
    NOTE,
    REMOVED,
    SEVERITIES,
    Verdict,
    whole_verdict,
    WRONG,
)
from .joint_kind import DEGREES, in_degrees, SLIDES, turning
from .joint_order import exchanged
from .signal_samples import BY_SHARE, TOO_MUCH_LOST
from .signals import raw_signals
from .thresholds import FIFTH, FOREIGN, HALF, LATE, NOTHING, RESTS, SLOW, TENTH, TOO_LATE, VISIBLE
from .velocity_kind import by_best_velocity, differentiated, saying_what_is_used
from ..dynamics.robot_model import gravity_from_mounting
from ..errors import EstimationError, InertialIdError, RecordingError
from ..estimation.r_factors import one_thread
from ..identification.choose.time_offset import aligned
from ..identification.identified_model import IdentifiedModel
from ..identification.prepare.dataset import Dataset, Progress, read_dataset
from ..identification.prepare.mounting import robot_of
from ..identification.reduce.systems import Systems
from ..identification.reduce.wide_factor import wide_factor
from ..measurement.recording import Recording
from ..methods import DEFAULT_METHOD, METHODS
from ..methods.capabilities import JointTorques

# Samples that by themselves explain why a model does not.
SAMPLED = ('samples held', 'stamps jitter', 'stamps repeat', 'messages lost')
ENOUGH = 1000  # samples that show causes, of velocities that are not those identified with
LATE_ALL = 'effort delayed'
EXPLAINED = ('description of another robot', LATE_ALL)
RESTING = 'joints at rest'
NEGATED = 'velocity or position negated'
NO_CAUSE = (
    'efforts do not follow the motion',
    'description of another robot',
    'arm at rest',
    'impossible inertia',
)

FITTED = 'nats', REMOVED  # units of what a fit of all samples says

Rms = dict[str, dict[str, float]]  # {'torque', ...: {joint: of it}}


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
) -> tuple[Checkup, Dataset | None, Systems | None]:
    """
    Return the Checkup, and Dataset and Systems of all samples that it does not mask, or None.

    They are what an identification with these options makes of these recordings.

    options : of the method, by its name; urdf : text of the description, '' for the recordings'
    progress : called with (stage, done, in all); model : instead of the description's inertias
    Of methods that see more than joints the channels, and what their observations doubt.
    RecordingError where no topic carries the joints.
    """
    if not isinstance(METHODS[method], JointTorques):
        return *_of_rig(recordings, options, method, urdf, progress), None
    if len(recordings) > 1:
        return (
            together(
                check_each(
                    recordings, options, method=method, urdf=urdf, progress=progress, model=model
                )
            ),
            None,
            None,
        )
    recording = recordings[0]
    with one_thread():
        findings = _signals(recording, options, method, urdf)
        if progress:
            progress('check', 1, 1)
        mounting = _mounting_in_degrees(options.mounting or recording.mounting)
        rms, data, systems, before = Rms(), None, None, masks(findings)
        if not any(f.severity == WRONG for f in findings):
            more, rms, data, systems = _models(
                without_bad(recording, findings)[0], options, method, urdf, model, findings
            )
            findings = saying_what_is_used(_without_echoes([*findings, *more]), data)
        findings = [*mounting, *findings]
        share = without_bad(recording, findings)[1]
    if masks(findings) != before:
        data = systems = None
    return checkup_of(findings, (share,), **rms), data, systems


def check_each(recordings: Sequence[Recording], options: Any, **others: Any) -> list[Checkup]:
    """
    Return the Checkup of each of ``recordings``, as where they are read one after the other.

    options, others : see ``check_and_read``
    """
    return [check([recording], options, **others) for recording in recordings]


def _of_rig(
    recordings: Sequence[Recording],
    options: Any,
    method: str,
    urdf: str,
    progress: Progress | None,
) -> tuple[Checkup, Dataset | None]:
    """Return the Checkup by stamps and values, and by what observations doubt, and the Dataset."""
    each = [channel_checks(r) for r in recordings]
    try:
        with one_thread():
            data = read_dataset(
                [without_bad(r, found)[0] for r, found in zip(recordings, each)],
                options,
                method,
                urdf,
                progress,
            )
    except InertialIdError as error:
        data = None
        each[-1].append(_unprepared(error))
    doubts = [o.summary.get('doubts') for o in data.observations] if data else [None]
    strongest: dict[str, float] = {}  # what several recordings show is said once
    for doubt in (doubt for own in doubts for doubt in own or ()):
        strongest[doubt['tests']] = max(doubt['evidence'], strongest.get(doubt['tests'], 0.0))
    for found, own in zip(each, doubts):
        found += [
            Finding(**{**doubt, 'joints': ()})
            for doubt in own or ()
            if doubt['evidence'] == strongest[doubt['tests']]
        ]
    whole = together(
        [checkup_of(found, (without_bad(r, found)[1],)) for r, found in zip(recordings, each)]
    )
    if whole.verdict.word == DO_NOT_USE or None not in doubts:
        return whole, data
    reasons = (*whole.verdict.reasons, f'{UNCHECKED} {method}')
    return replace(whole, verdict=Verdict(NOT_CHECKED, reasons)), data


def _unprepared(error: InertialIdError) -> Finding:
    return Finding(
        'cannot be prepared',
        str(error),
        'the preparation of the signals',
        1.0,
        'recordings',
        (),
        WRONG,
        'see the reason',
    )


def together(checkups: Sequence[Checkup]) -> Checkup:
    """Return the Checkup of several recordings by the ``checkups`` of each."""
    findings: list[Finding] = []
    moved = {joint for c in checkups for joint in c.torque}
    for number, checkup in enumerate(checkups):
        findings += [
            replace(f, recording=number)
            for f in checkup.checks
            if not any(
                f == replace(other, recording=f.recording) for other in findings if not f.windows
            )
        ]
    # What one recording does not move, another one may.
    findings = [
        replace(f, severity=NOTE) if f.name == RESTING and moved >= set(f.joints) else f
        for f in findings
    ]

    def over(parts: Sequence[Mapping[str, float]], combine: Callable) -> dict[str, float]:
        return {
            joint: float(combine([p[joint] for p in parts if joint in p]))
            for joint in dict.fromkeys(joint for p in parts for joint in p)
        }

    def mean(values: list[float]) -> float:  # [N m or N] RMS over the recordings
        return float(np.sqrt(np.mean(np.square(values))))

    return checkup_of(
        findings,
        tuple(share for c in checkups for share in c.masked),
        torque=over([c.torque for c in checkups], mean),
        nominal=over([c.nominal for c in checkups], mean),
        residual=over([c.residual for c in checkups], mean),
        noise=over([c.noise for c in checkups], mean),
    )


def checkup_of(
    findings: Sequence[Finding], masked: tuple[float, ...], **rms: Mapping[str, float]
) -> Checkup:
    """
    Return the Checkup of ``findings``, the worst first, with its verdicts.

    masked : share left out of each recording; rms : torque, nominal, residual and noise of the
        Checkup
    """
    # What the samples show by themselves comes before what a fit of all of them says.
    order = sorted(
        findings, key=lambda f: (-SEVERITIES.index(f.severity), f.unit in FITTED, -f.evidence)
    )
    fit = Judged(rms.get('residual', {}), rms.get('torque', {}), noise=rms.get('noise', {}))
    joints = joint_verdicts(fit, rms.get('nominal', {}), order)
    whole = whole_verdict(fit, joints, order)
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
    return [
        replace(f, severity=MASKED)
        if f.severity == WRONG
        and f.name.endswith(BY_SHARE)
        and sum(end - start for start, end in f.windows) < TOO_MUCH_LOST * sum(spans)
        else f
        for f in merged(found)
    ]  # what one stretch loses may be little of all


def _without_echoes(findings: Sequence[Finding]) -> list[Finding]:
    """Return ``findings`` without what a negated position makes look wrong with the efforts."""
    wrong = any(f.severity == WRONG for f in findings)  # of the model alone: it was asked last
    if not (wrong and any(f.name == NEGATED for f in findings)):
        return list(findings)
    return [
        replace(f, severity=WRONG) if f.name == NEGATED else f
        for f in findings
        if f.severity != WRONG
    ]


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
    return [
        Finding(
            'mounting in degrees',
            f'the mounting "{mounting}" is in degrees',
            'angles against one turn',
            float(sum(a > 2 * np.pi for a in angles)),
            'angles',
            (),
            WRONG,
            f'give mounting: {words[0]} {radians}',
        )
    ]


def _models(
    recording: Recording,
    options: Any,
    method: str,
    urdf: str,
    model: IdentifiedModel | None,
    signals: Sequence[Finding],
) -> tuple[list[Finding], Rms, Dataset | None, Systems | None]:
    """Return the Findings with a model, the numbers of a Checkup, Dataset and Systems."""
    try:
        data, other, used = by_best_velocity(
            read_dataset([recording], options, method, urdf), signals
        )
        # Velocities that lag make causes where there are none.
        lag = any(f.name.startswith('velocity') and not f.windows for f in signals)
        asked = differentiated(data, other) if lag else data
        every = 1 if asked is data else -(-asked.samples(training=True) // ENOUGH)
        arm = arm_of(asked, model, every)
        touched = contacts(asked, arm.systems, arm.places)
        if masks(touched):
            found, rms, read, systems = _models(
                without_bad(recording, touched)[0], options, method, urdf, model, signals
            )
            return [*found, *touched], rms, read, systems
        found, errors, change = causes(arm)
        if found:
            efforts = change.target[:, 1 : 1 + arm.count] + np.diag(change.target[:, 0])
            touched = masks(contacts(asked, arm.systems, arm.places, efforts.T))
        slides = turning(arm, model, every)
        found = slides or found or in_degrees(arm)
        order = [] if slides else exchanged(arm, errors, _noise(arm))
        left = [] if order else _large_residual(arm, found, arm.left(errors))
        if order:
            found = order
        elif any(f.name in NO_CAUSE and f.severity != NOTE for f in left):
            found = []  # what does not explain the efforts is no cause
        elif not found or found[0].name == LATE_ALL:
            found = _late(arm) or found
    except (RecordingError, EstimationError) as error:
        return [_unprepared(error)], {}, None, None
    if data.observations[0].measured_velocity and any(
        f.name == 'velocity delayed' and not f.windows for f in signals
    ):
        found = [f for f in found if f.name != LATE_ALL]  # of these velocities
    if any(f.name in SAMPLED and f.severity == DOUBTFUL for f in signals):
        left, found = ([f for f in own if f.name not in EXPLAINED] for own in (left, found))
    found += left + touched + used + _resting(arm, DOUBTFUL if model is None else NOTE)
    if getattr(data.robot, 'parents', ()).count(-1) > 1:  # the ground on legs is like any of these
        found = [
            replace(
                f,
                says=f'{f.says}, or legs are in contact with the ground',
                do=f'{f.do}; or hang the robot, or fix its base',
            )
            if f.severity == WRONG
            else f
            for f in found
        ]
    found += _impossible(data.robot)
    torque, residual, nominal = arm.rms()
    # What friction takes of a joint at rest says nothing of a model.
    rms = {
        name: {joint: float(x) for joint, x, moved in zip(arm.names, values, arm.moved) if moved}
        for name, values in (
            ('torque', torque),
            ('residual', residual),
            ('noise', _noise(arm)),
            ('nominal', nominal if arm.described else torque),
        )
        # Under a model that is given, friction alone would be fitted to these very data.
        if model is None or name != 'nominal'
    }
    return found, rms, data, arm.plainest if asked is data else None


def _noise(arm: Arm) -> np.ndarray:
    """
    Return (n,) what noise of the efforts leaves behind the filter [N m, N].

    It is as strong there, per band of frequencies, as what the filter takes away of the residual.
    """
    summary, systems = arm.data.observations[0].summary, arm.systems
    above = max(0.5 * summary['rate'] - summary['cutoff'], 1e-9)
    beta = np.zeros(arm.wide.total.size)
    beta[: systems.size] = systems.solution(systems.whole, arm.places)[: systems.size]
    raw, filtered = (
        np.array([arm.wide.total.groups[name].residual(beta, kind) for name in arm.names])
        for kind in (True, False)
    )
    rows = np.maximum(systems.rows.sum(0), 1.0)
    return np.sqrt(np.maximum(raw**2 - filtered**2, 0.0) / rows * summary['cutoff'] / above)


def _resting(arm: Arm, severity: str) -> list[Finding]:
    """Return a Finding of ``severity`` where some joints of an arm stand still."""
    names = tuple(name for name, moved in zip(arm.names, arm.moved) if not moved)
    if not names or not arm.moved.any():
        return []
    return [
        Finding(
            RESTING,
            f'{", ".join(names)} {"stands" if len(names) == 1 else "stand"} '
            'still: nothing is identified there',
            'the range of the positions',
            float(len(names)),
            'joints',
            names,
            severity,
            'move every joint',
        )
    ]


def _late(arm: Arm) -> list[Finding]:
    """Return a Finding where the identification reads the efforts at other times than stamped."""
    if arm.data.observations[0].control:  # commands act late
        return []
    data, _ = aligned(arm.data, arm.plainest, wide_factor)
    summary = data.observations[0].summary
    delay = summary.get('time_offset', 0.0) - arm.data.observations[0].summary.get(
        'time_offset', 0.0
    )
    if abs(delay) < LATE:
        return []
    return [
        Finding(
            LATE_ALL,
            f'the efforts are {1e3 * abs(delay):.1f} +- '
            f'{1e3 * summary["time_offset_error"]:.1g} ms '
            f'{"behind" if delay > 0 else "ahead of"} the motion',
            'rate of the efforts, by the residual of stretches left out',
            100.0 * (1.0 - summary['time_offset_residual_ratio']),
            REMOVED,
            arm.names,
            WRONG if abs(delay) > TOO_LATE else DOUBTFUL,
            'stamp both when they are measured',
        )
    ]


def _large_residual(arm: Arm, found: Sequence[Finding], residual: np.ndarray) -> list[Finding]:
    """
    Return a Finding where motion, or what is described, does not explain the efforts.

    found : causes; residual : (n,) rms left beside them [N m, N]
    """
    torque, _, nominal = (x[arm.moved] for x in arm.rms())
    states: Any = arm.data.states(training=True)
    speed = np.concatenate([np.abs(state.v) for _, state in states])
    moving, names = float((speed > SLOW).any(axis=1).mean()), arm.names
    total = max(float(np.linalg.norm(torque)), 1e-300)
    relative = float(np.linalg.norm(residual[arm.moved])) / total
    if (relative > TENTH and moving < RESTS) or not arm.moved.any():
        return [
            Finding(
                'arm at rest',
                f'the arm moves in {100 * moving:.1f} % of the samples: '
                'at rest the efforts show static friction and contact',
                f'speeds above {SLOW:g} rad/s',
                100.0 * (1.0 - moving),
                '% of the samples',
                names,
                DOUBTFUL if arm.moved.any() else WRONG,
                'record a motion',
            )
        ]
    if any(f.name in (DEGREES, SLIDES) for f in found):
        return []
    if relative > NOTHING and np.linalg.norm(arm.fitted()[arm.moved]) > NOTHING * total:
        return [
            Finding(
                'efforts do not follow the motion',
                'the efforts have nothing to do with '
                f'the motion ({100 * relative:.0f} % relative residual)',
                'residual against predicting zero',
                100.0 * relative,
                '% of the torque',
                names,
                WRONG,
                'look whether these efforts and this description are of this robot and '
                'this motion, in kg and m',
            )
        ]
    alone = float(np.linalg.norm(nominal)) / total
    by_it = f'{100 * alone:.0f} % relative residual by the description alone'
    if relative > FOREIGN or (arm.described and relative > VISIBLE and alone > HALF and not found):
        return [
            Finding(
                'description of another robot',
                'this description does not explain the '
                f'efforts: {by_it}, {100 * relative:.0f} % with any bodies',
                LEFT_OUT,
                100.0 * relative,
                '% of the torque',
                names,
                WRONG,
                'give the --urdf of this robot, with its joints in this order',
            )
        ]
    if found or not arm.described or alone < FIFTH:
        return []
    factor = float(np.median(np.diagonal(arm.factors[0])[arm.moved]))
    return [
        Finding(
            'bodies other than described',
            f'the torques are about {factor:.2g} times those that the description gives: {by_it}',
            DESCRIPTION,
            100.0 * alone,
            '% of the torque',
            names,
            DOUBTFUL if alone > HALF else NOTE,
            'no recording tells other masses from another unit of the efforts: weigh the robot',
        )
    ]


def _impossible(robot: Any) -> list[Finding]:
    """Return a Finding of described inertias that no body of the ``robot`` has."""
    doubts = getattr(robot, 'doubts', ())
    return (
        [
            Finding(
                'impossible inertia',
                f'the description has inertias that no body has: {", ".join(doubts)}',
                'triangle inequality and size',
                float(len(doubts)),
                'links',
                (),
                NOTE,
                'look for a decimal point, or for units other than kg, m and kg m^2',
            )
        ]
        if doubts
        else []
    )
