"""
The cutoff of a closed loop's motion, whose torque stays as recorded, and roughly its delay.

It is raised until the error between measured and predicted torque grows (closed-loop paper,
Sec. 3.2): too low and the motion is cut, too high and noise enters the acceleration.  A torque
that is late would blur that: its rate is a column beside those of the mechanism.  Where its clock
is another one, the delay is sought on a grid first: no step from zero finds one that is longer
than the motion lasts (variable projection, Golub and Pereyra 1973).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .state import close, equations, MechanismState
from ..dynamics.continuation import Continuation
from ..dynamics.mechanism import Mechanism
from ..measurement.delays import before_reading, delay_of_least
from ...dynamics.inertial_parameters import Parameter
from ...errors import RecordingError
from ...estimation.least_squares import relative_residuals
from ...measurement import signals
from ...measurement.joints.kinematic_state import JointSpaceObservation
from ...measurement.joints.observation import with_cutoff
from ...measurement.recording import nothing_left

LOOKED_SAMPLES = 6000  # of a recording are looked at
ROWS_PER_PARAMETER = 20  # rows per parameter, if that is more
CANDIDATES = 13  # cutoffs tried
EDGE = 0.1  # share of the samples left out at both ends, where any filter guesses
DELAYS = 41  # tried
GROWTH_SIGNIFICANT = 4.0  # of a chi-squared: two standard deviations


def chosen_cutoff(
    robot: Mechanism,
    joints: JointSpaceObservation,
    parameters: Sequence[Parameter],
    is_late: bool,
) -> float:
    """
    Return the cutoff [Hz] above which the error of the torque begins to grow.

    joints : unfiltered; parameters : of the columns; is_late : whether the torque may be

    There a motion that is cut and noise that
    is let through make residuals of one size, but noise averages out over the N samples of a
    recording and a cut motion biases the parameters: it has to be smaller by sqrt(N), and falls
    with the eighth power of the cutoff.
    """
    clock = joints.clock
    wider = joints.samples() ** (1.0 / 16.0)
    longest = min(LOOKED_SAMPLES, max(count for _, count in clock.segments)) * clock.period
    low = max(2.0, 6.0 / longest)
    high = max(2.0 * low, min(0.2 / clock.period, 100.0))
    continuation, curve, rows = Continuation(robot), [], 0
    for cutoff in np.geomspace(low, high, CANDIDATES):
        try:
            state = _state(robot, with_cutoff(joints, float(cutoff), 1), continuation, parameters)
        except RecordingError:  # the filter is longer than the recording
            continue
        error, rows = _error(robot, state, parameters, is_late)
        curve.append((float(cutoff), error))
    if not curve:
        raise RecordingError(
            f'{joints.summary.topic} is too short to choose a cutoff',
            expected='at least 6 periods of the lowest, 2 Hz',
            found=f'longest stretch without a gap {longest:.3f} s',
            do='record longer, or give cutoff:',
        )
    top = signals.HIGHEST / clock.period
    return min(wider * _before_growth(curve, rows), top)


def rough_delay(
    robot: Mechanism,
    joints: JointSpaceObservation,
    parameters: Sequence[Parameter],
    limit: float,
) -> float:
    """
    Return about by how much the torque of ``joints`` is late [s]: where it is explained best.

    joints : filtered; parameters : of the columns; limit : the largest delay believed [s]
    """
    state = _state(robot, joints, Continuation(robot), parameters)
    W, _, known = equations(robot, state, parameters)
    efforts = []
    for name in robot.motor_names:
        t, torque = joints.effort[name]
        efforts.append((t, before_reading(torque[:, None])[:, 0]))
    delays, late = np.linspace(-limit, limit, DELAYS), []
    for delay in delays:
        read = np.stack([np.interp(state.t + delay, *series) for series in efforts], axis=1)
        tau = joints.effort_source.torque(read)
        late.append((state.force(robot.actuated, tau) - known).T.ravel())
    columns = np.concatenate(W.transpose(0, 2, 1))
    found = delay_of_least(delays, relative_residuals(columns, np.array(late)))
    if found is None:
        raise RecordingError(
            f'{joints.summary.effort_topic} and the motion are not on one clock',
            expected=f'a delay within +-{limit} s',
            found='none that fits',
            do='stamp both alike, or give time_offset: roughly',
        )
    return found


def late_rates(robot: Mechanism, state: MechanismState) -> np.ndarray:
    """Return the derivatives (N, k) of R' tau of a ``state`` with respect to its delay."""
    if state.late is None or len(state.t) < 2:
        return np.zeros((len(state.t), len(robot)))
    return state.force(robot.actuated, np.gradient(state.late, state.t, axis=0))


def _error(robot, state, parameters, is_late):
    """Return the share (0 to 1) of the torque that no parameters explain, and its rows."""
    W, force, known = equations(robot, state, parameters)
    y, columns = (force - known).T.ravel(), np.concatenate(W.transpose(0, 2, 1))
    if is_late:
        columns = np.column_stack([columns, late_rates(robot, state).T.ravel()])
    R = np.asarray(np.linalg.qr(np.column_stack([columns, y]), mode='r'))
    (share,) = relative_residuals(R[:, :-1], R[None, :, -1])
    return float(share), len(y)


def _state(robot, joints, continuation, parameters):
    """Return one MechanismState of the stretch of most motion."""
    clock = joints.clock
    start, count = _longest_way(joints)
    if count <= len(joints.kernel) + 3:  # the filter is longer than the stretch
        raise nothing_left()
    joints = replace(joints, clock=replace(clock, segments=((start, count),)))
    most = max(LOOKED_SAMPLES, ROWS_PER_PARAMETER * len(parameters))
    thin = slice(None, None, max(1, count * len(robot) // most))
    continuation.restart()
    for joint_state in joints.states():
        state = close(robot, joint_state.rows(thin), continuation)
        edge = int(EDGE * len(state.t))
        return state.rows(slice(edge, len(state.t) - edge))
    raise nothing_left()


def _longest_way(joints):
    """Return (start [s], samples) of LOOKED_SAMPLES at most with the longest way."""

    def way(window):
        start, size = window
        # A hundred points: the way of the motion, not of the noise.
        t = start + np.arange(0, size, max(1, size // 100)) * joints.clock.period
        moved = [np.diff(np.interp(t, *series)) for series in joints.position.values()]
        return np.abs(moved).sum()

    return max(_windows(joints.clock), key=way)


def _windows(clock):
    """Yield (start [s], samples) of halfway overlapping windows of LOOKED_SAMPLES at most."""
    for start, count in clock.segments:
        for low in range(0, max(1, count - LOOKED_SAMPLES // 2), LOOKED_SAMPLES // 2):
            yield float(start + low * clock.period), min(LOOKED_SAMPLES, count - low)


def _before_growth(curve, rows):
    """
    Return the highest cutoff of a curve before the error grows.

    Growth is what chance does not give: N times the relative change of the error variance is
    chi-squared, so beyond 1 + GROWTH_SIGNIFICANT / (2 N) of the lowest error.
    """
    errors = np.array([e for _, e in curve])
    k = int(errors.argmin())
    allowed = errors[k] * (1.0 + GROWTH_SIGNIFICANT / (2.0 * rows))
    while k + 1 < len(curve) and errors[k + 1] <= allowed:
        k += 1
    return curve[k][0]
