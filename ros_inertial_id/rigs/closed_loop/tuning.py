"""
What a closed loop's signals need from its equations: cutoff and torque clock.

The cutoff is raised until the error between measured and predicted torque grows (closed-loop
paper, Sec. 3.2): too low and the motion is cut, too high and noise enters the acceleration.  The
torque's clock offset is where the torque lies closest to what any parameters could predict
(variable projection, Golub and Pereyra 1973): no torque model is needed to align it.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from .doubts import doubts_of
from .state import all_parameters, close, equations, Observation
from ..dynamics.continuation import Continuation
from ..measurement.sources import guessed
from ...errors import RecordingError
from ...estimation.least_squares import (
    left_out,
    pseudo_inverse,
    solved_sums,
    span,
    standard_errors,
)
from ...measurement import signals
from ...measurement.joints.observation import observe_joints, with_cutoff
from ...measurement.recording import nothing_left

TUNING_SAMPLES = 6000  # of a recording are looked at
ROWS_PER_PARAMETER = 20  # rows per parameter, if that is more
CANDIDATES = 13  # cutoffs tried
EDGE = 0.1  # share of the samples left out at both ends, where any filter guesses
NO_CUTOFF = 1e9  # [Hz] a cutoff that filters nothing
GROWTH_SIGNIFICANT = 4.0  # of a chi-squared: two standard deviations
FASTER = 1.5  # times the rate of the motion: a torque that is low-passed before it is read
BAND = 0.4  # of the rate of the motion that is kept of it
ALIGNING_CUTOFF = 0.1  # cutoff of the torque, share of its rate, while its clock is sought
BROADER = 1.25  # a motion that is cut a little shifts the offset; noise in it does not
OFFSET_ROUNDS = 3  # Gauss-Newton steps from the best of a grid of offsets
OFFSET_STRETCHES = 20  # of the residual, longer than it is correlated
RESIDUAL_WITH_CAUSE = 1e-3  # over torque: of a smaller residual nobody looks for a cause
OTHER_UNIT = 1.25  # between torques and those of the described bodies: more is no error of CAD
DESCRIBED_RESIDUAL = 0.5  # of the torque: more, and the described bodies say nothing of it
INERTIA_NEGATIVE = 6.0  # standard errors below zero of an inertia before the sign is called wrong


class Trial:
    """
    A recording under different cutoffs and torque clocks; ``at`` gives its Observation.

    Torques are stamped late by ``shift`` [s].
    """

    def __init__(self, recording, robot, options):
        self._robot, self._decimate = robot, options.decimate or 1
        self._continuation = Continuation(robot)
        self._free = [p for p in all_parameters(robot) if p.name not in robot.known]
        self._scales = np.array([p.scale for p in self._free])
        self.shift = 0.0
        joints = observe_joints(
            recording,
            robot.coordinates,
            replace(options, cutoff=NO_CUTOFF, decimate=1),
            robot.motor_names,
        )
        self._joints = replace(joints, effort=_on_slower_clock(joints.effort, joints.clock.period))

    def at(self, cutoff: float) -> Observation:
        """Return the Observation filtered with ``cutoff`` [Hz], torques shifted."""
        joints = with_cutoff(self._joints, cutoff, self._decimate)
        effort = {name: (t - self.shift, x) for name, (t, x) in joints.effort.items()}
        joints = replace(
            joints, effort=effort, trim=guessed(joints.clock, joints.kernel, joints.trim)
        )
        return Observation(self._robot, joints, self._continuation, joints.summary)

    def choose_cutoff(self) -> tuple[float, list[tuple[float, float]]]:
        """
        Return (cutoff [Hz], curve [(cutoff, error rms relative to the torque's)]).

        The cutoff is above where the error begins to grow.  There a motion that is cut and noise
        that is let through make residuals of one size, but noise averages out over the N samples
        of a recording and a cut motion biases the parameters: it has to be smaller by sqrt(N),
        and falls with the eighth power of the cutoff.
        """
        clock = self._joints.clock
        wider = self.at(NO_CUTOFF).samples() ** (1.0 / 16.0)
        longest = min(TUNING_SAMPLES, max(count for _, count in clock.segments)) * clock.period
        low = max(2.0, 6.0 / longest)
        high = max(2.0 * low, min(0.2 / clock.period, 100.0))
        curve = []
        for cutoff in np.geomspace(low, high, CANDIDATES):
            try:
                W, y = self._equations(self._state(self.at(float(cutoff))))
            except RecordingError:  # the filter is longer than the recording
                continue
            curve.append((float(cutoff), _left(span(W), y)))
        if not curve:
            raise RecordingError(
                f'{self._joints.summary.topic} is too short to choose a cutoff',
                expected='at least 6 periods of the lowest, 2 Hz',
                found=f'longest stretch without a gap {longest:.3f} s',
                do='record longer, or give cutoff:',
            )
        top = signals.HIGHEST / clock.period
        return min(wider * _before_growth(curve, len(y)), top), curve

    def torque_offset(self, cutoff: float, limit: float, topic: str) -> tuple[float, float]:
        """
        Return (offset [s] that the torque is stamped late, its standard error).

        cutoff : of the motion [Hz]; limit : the largest offset believed [s]
        """
        observation = self.at(BROADER * cutoff)
        state = self._state(observation)
        Q = span(self._equations(state)[0])
        # Interpolation halves white noise midway between samples: smooth it before, or the
        # offset is drawn there.
        kernel = signals.zero_phase_kernel(1.0, ALIGNING_CUTOFF)
        effort = []
        for name in self._robot.motor_names:
            t, torque = observation.joints.effort[name]
            effort.append((t, signals.smooth(torque[:, None], kernel)[:, 0]))
        source = observation.joints.effort_source

        def force(offset):
            tau = np.stack([np.interp(state.t + offset, *series) for series in effort], axis=1)
            return _stack(state.force(self._robot.actuated, source.torque(tau)))

        grid = np.linspace(-limit, limit, 41)
        k = int(np.argmin([_left(Q, force(x)) for x in grid]))
        if k in (0, len(grid) - 1):
            raise RecordingError(
                f'{topic} and the motion are not on one clock',
                expected=f'an offset within +-{limit} s',
                found='none that fits',
                do='raise largest_clock_offset:, or stamp both alike',
            )
        offset, step = float(grid[k]), 0.1 / cutoff
        for _ in range(OFFSET_ROUNDS):
            slope = (force(offset + step) - force(offset - step)) / (2.0 * step)
            change, error = offset_change(Q, slope, force(offset), len(self._robot))
            offset += float(np.clip(change, grid[0] - grid[1], grid[1] - grid[0]))
        return self.shift + offset, error

    def doubts(self, observation: Observation) -> list[dict[str, Any]] | None:
        """
        Return doubts about the mechanism of an ``observation``, as the fields of Findings.

        None where nothing was found, no parameter is known and the described bodies do not explain
        the torques: a factor of all torques is one of all bodies then.
        RecordingError when its torques need negative inertia.
        """
        state = self._state(observation)
        W, y = self._equations(state)
        solve = pseudo_inverse(W)
        x = solve @ y
        noise = np.linalg.norm(y - W @ x) / np.sqrt(max(1, len(y) - len(x)))
        self._check_inertia(state.rows(slice(None, None, 10)), x, noise * solve)
        residual = (y - W @ x).reshape(len(self._robot), -1)
        doubts = []
        if np.linalg.norm(residual) > RESIDUAL_WITH_CAUSE * np.linalg.norm(y):
            weights = np.repeat(1.0 / np.maximum(residual.std(axis=1), 1e-300), residual.shape[1])
            doubts = doubts_of(self._robot, state, span(W * weights[:, None]), y, weights)
        if doubts or self._robot.has_scale or self._is_as_described(W, y):
            return doubts
        return None

    def _is_as_described(self, W, y):
        """
        Return whether torques y (k N,) are about those of the described bodies.

        W : (k N, p) scaled rows of the free parameters; friction and springs are free.
        """
        laws = np.array([bool(p.law) for p in self._free])
        described = np.array([p.nominal for p in self._free]) / self._scales
        torque = W[:, ~laws] @ described[~laws]
        if laws.any():
            explained = span(W[:, laws])
            torque = torque - explained @ (explained.T @ torque)
            y = y - explained @ (explained.T @ y)
        square = float(torque @ torque)
        if not square:
            return False
        factor = float(torque @ y) / square
        residual = np.linalg.norm(y - factor * torque)
        in_unit = 1.0 / OTHER_UNIT < factor < OTHER_UNIT
        return in_unit and residual < DESCRIBED_RESIDUAL * np.linalg.norm(y)

    def _check_inertia(self, state, x, errors):
        """Raise RecordingError where parameters x (p,), errors (p, N), make inertia negative."""
        for name, row, known in self._inertia(state):
            inertia, error = row @ x + known, np.linalg.norm(row @ errors)
            if inertia < -INERTIA_NEGATIVE * error:
                raise RecordingError(
                    f'the torque of {name} has the wrong sign',
                    expected='positive inertia',
                    found=f'{inertia:.4g} +- {error:.2g} on average',
                    do='reverse the torque sensor (effort_kind: link_negated) or the axis of the '
                    'joint',
                )

    def _inertia(self, state):
        """Yield (coordinate, row (p,), known share) of the mean diagonal of R' M R."""
        still = replace(state, v=np.zeros_like(state.v), a=np.zeros_like(state.a))
        at_rest, _, known_at_rest = equations(self._robot, still, self._free)
        for i, name in enumerate(self._robot.coordinates):
            W, _, known = equations(self._robot, replace(still, a=state.R[:, :, i]), self._free)
            yield (
                name,
                (W[i] - at_rest[i]).mean(-1) * self._scales,
                float((known - known_at_rest)[:, i].mean()),
            )

    def _state(self, observation):
        """Return one MechanismState of the stretch of most motion."""
        joints = observation.joints
        clock = joints.clock
        start, count = _longest_way(joints)
        if count <= len(joints.kernel) + 3:  # the filter is longer than the stretch
            raise RecordingError(
                'the recording is too short to filter',
                found=f'{count * clock.period:.3f} s',
                do='record longer, or raise cutoff:',
            )
        joints = replace(joints, clock=replace(clock, segments=((start, count),)))
        rows = count * len(self._robot)
        thin = slice(
            None, None, max(1, rows // max(TUNING_SAMPLES, ROWS_PER_PARAMETER * len(self._scales)))
        )
        observation.continuation.restart()
        for joint_state in joints.states():
            state = close(self._robot, joint_state.rows(thin), observation.continuation)
            edge = int(EDGE * len(state.t))
            return state.rows(slice(edge, len(state.t) - edge))
        raise nothing_left()

    def _equations(self, state):
        """Return scaled rows (k N, p) of the free parameters and raw torques (k N,)."""
        W, force, known = equations(self._robot, state, self._free)
        return np.concatenate([w.T for w in W * self._scales[:, None]]), _stack(force - known)


def _stack(tau):
    return tau.T.ravel()


def _on_slower_clock(effort, period):
    """
    Return {joint: (stamps, values)} of which samples ``period`` [s] apart hold all below the band.

    Read at slower stamps as they are, most samples of a fast torque would be lost and its noise
    folded into the band of the motion.
    """
    out = {}
    for name, (t, x) in effort.items():
        step = float(np.median(np.diff(t)))
        kernel = signals.zero_phase_kernel(step, BAND / period)
        if FASTER * step < period and len(t) > len(kernel):
            even = np.arange(t[0], t[-1] + 0.5 * step, step)
            t, x = even, signals.smooth(np.interp(even, t, x)[:, None], kernel)[:, 0]
        out[name] = t, x
    return out


def _longest_way(joints):
    """Return (start [s], samples) of TUNING_SAMPLES at most with the longest way."""

    def way(window):
        start, size = window
        # A hundred points: the way of the motion, not of the noise.
        t = start + np.arange(0, size, max(1, size // 100)) * joints.clock.period
        moved = [np.diff(np.interp(t, *series)) for series in joints.position.values()]
        return np.abs(moved).sum()

    return max(_windows(joints.clock), key=way)


def _windows(clock):
    """Yield (start [s], samples) of halfway overlapping windows of TUNING_SAMPLES at most."""
    for start, count in clock.segments:
        for low in range(0, max(1, count - TUNING_SAMPLES // 2), TUNING_SAMPLES // 2):
            yield float(start + low * clock.period), min(TUNING_SAMPLES, count - low)


def _left(Q, y):
    """Return the share (0 to 1) of the norm of y (N,) that is outside the range of Q."""
    return float(np.linalg.norm(y - Q @ (Q.T @ y)) / max(np.linalg.norm(y), 1e-300))


def offset_change(
    Q: np.ndarray, slope: np.ndarray, force: np.ndarray, groups: int
) -> tuple[float, float]:
    """
    Return the error [s] of an offset that moves torques by ``slope`` (k N,), and its deviation.

    The error by stretches of time left out, from all columns anew: they too have followed the
    torque.  Q : (k N, r) orthonormal columns; force : (k N,) torques of ``groups`` k coordinates
    """
    size = np.linalg.norm(slope)
    rows = np.column_stack([Q, slope / size, force]).reshape(groups, len(slope) // groups, -1)
    parts = [
        np.einsum('gni,gnj->ij', part, part)
        for part in np.array_split(rows, OFFSET_STRETCHES, axis=1)
    ]
    number, without = left_out(parts, lambda sums: solved_sums(sums[:-1])[-1:])
    return -float(number[0] / size), float(standard_errors(without)[0] / size)


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
