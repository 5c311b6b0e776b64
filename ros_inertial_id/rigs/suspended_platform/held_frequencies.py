"""
Frequency file: natural frequencies of a suspended platform with links held in postures, as YAML.

    postures:
    - links: {limb: {rpy: [0.3, 0.0, 0.0]}}      # as in a posture file
      frequencies: [1.071, 1.108, 1.747, 1.823]  # [Hz]; modes that were not seen are left out
      deviation: 0.001                           # [Hz] of each; default: 0.1 percent
    - links: {limb: {rpy: [0.0, 1.57, 0.0]}}
      bag: posture_2                             # of a free decay, from which they are found
      topic: /platform/imu                       # or of markers; label: of one of many
      start: 2.0                                 # [s] after the push, end: likewise

After a push every signal is a sum of decaying sines with the same few poles.  A matrix pencil of
the block Hankel matrix of all channels (Hua and Sarkar 1990) finds them; least squares in the
poles, the amplitudes eliminated (Golub and Pereyra 1973), refines them and says how sure they are.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import signal
from scipy.optimize import least_squares

from .postures import platform_poses, posture_entries
from .rig import PlatformRig
from ..bodies.description import vector
from ..measurement.body_state import choose_pose_cutoff, on_clock
from ..measurement.sources import channel_of, one_of
from ...errors import ConfigError, RecordingError
from ...measurement import signals
from ...measurement.bags.bag import read_bag
from ...measurement.recording import Recording

KEYS = ('links', 'frequencies', 'deviation', 'bag', 'topic', 'label', 'start', 'end')
MODES = 6
USUAL = 1e-3  # relative deviation of a frequency of which nothing is said
MODEL = 3e-4  # what damping, and swings that are not small, move a frequency by, relative
ABOVE = 1.3   # times the highest frequency in the spectrum: where modes are looked for
OVERSAMPLED = 8.0    # samples kept per period of the highest frequency
LARGEST_DAMPING = 0.3
SURE = 0.002         # relative error of a frequency beyond which it is none
AROUND = 2.0         # how far logarithms of rates may go from the pencil's
LONGEST = 400        # samples of a channel in the pencil: more only cost time


@dataclass(frozen=True)
class HeldFrequencies:
    """
    Natural frequencies of N held postures.

    rotations (N, n, 3, 3), positions (N, n, 3) : of the n links in the platform's frame [m]
    frequency, deviation : N arrays (m,) ascending, m at most six [Hz]
    """

    rotations: np.ndarray
    positions: np.ndarray
    frequency: tuple
    standard_deviation: tuple

    def __len__(self):
        return len(self.frequency)


def read_frequencies(text: str, robot: PlatformRig, folder: Path) -> HeldFrequencies:
    """Return the HeldFrequencies of a PlatformRig in a YAML text; bags relative to ``folder``."""
    poses, found = [], []
    for where, entry in posture_entries(text, KEYS):
        if ('bag' in entry) == ('frequencies' in entry):
            raise ConfigError(where, expected='frequencies: or bag:', found=list(entry))
        poses.append(platform_poses(robot, entry['links'], where))
        found.append(_of_bag(entry, where, folder) if 'bag' in entry else _given(entry, where))
    rotations, positions = zip(*poses)
    frequency, standard_deviation = zip(*found)
    return HeldFrequencies(np.array(rotations), np.array(positions), frequency, standard_deviation)


def _given(entry, where):
    values = entry['frequencies']
    count = len(values) if isinstance(values, list) else 0
    if not 1 <= count <= MODES:
        raise ConfigError(f'frequencies of {where}', expected='one to six numbers',
                          found=repr(values))
    frequency = np.sort(vector(values, f'frequencies of {where}', count))
    standard_deviation = entry.get('deviation')
    standard_deviation = (
        USUAL * frequency if standard_deviation is None else
        np.full(count, vector([standard_deviation], f'deviation of {where}', 1)[0]))
    if frequency[0] <= 0.0 or standard_deviation.min() <= 0.0:
        raise ConfigError(f'frequencies of {where}', expected='positive numbers')
    return frequency, standard_deviation


def _of_bag(entry, where, folder):
    if not entry.get('topic'):
        raise ConfigError(where, expected='topic: of an IMU or of markers')
    recording = read_bag(folder / str(entry['bag'])).window(entry.get('start'), entry.get('end'))
    return frequencies_of(recording, str(entry['topic']), str(entry.get('label', '')))


def frequencies_of(recording: Recording, topic: str,
                   label: str = '') -> tuple[np.ndarray, np.ndarray]:
    """
    Return (frequency (m,), deviation (m,)) [Hz] of the free decay in a Recording.

    topic : of an IMU, or of positions (label: of one of many, '' for all of them)
    """
    channel = channel_of(recording, topic)
    values = _signals(channel, label)
    t = (channel.stamp_ns - recording.origin_ns()) * 1e-9
    clock = signals.uniform_clock(channel.stamp_ns, recording.origin_ns(), topic)
    start, count = max(clock.segments, key=lambda segment: segment[1])
    y = on_clock(t, values, start + np.arange(count) * clock.period)
    _, end = choose_pose_cutoff([y], clock.period)
    found = decaying_modes(y, clock.period, MODES, ABOVE * end)
    return found.frequency, np.hypot(found.standard_deviation, MODEL * found.frequency)


def _signals(channel, label):
    """Return what a channel shows of the vibration (n, k); columns with gaps are left out."""
    if 'linear_acceleration' in channel.fields:
        values = np.hstack([channel.fields['angular_velocity'],
                            channel.fields['linear_acceleration']])
    elif 'position' in channel.fields:
        values = channel.fields['position']
        values = one_of(channel, label, values) if label else values.reshape(len(values), -1)
    else:
        raise RecordingError(f'{channel.topic} shows no vibration', found=channel.type,
                             expected='an IMU, or positions')
    whole = np.isfinite(values).all(0)
    if not whole.any():
        raise RecordingError(f'{channel.topic} has no signal without gaps')
    return values[:, whole]


@dataclass(frozen=True)
class Decay:
    """
    Modes, ascending.

    frequency (m,) : undamped [Hz]; damping (m,) : ratio
    standard_deviation (m,) : of the frequency [Hz]
    """

    frequency: np.ndarray
    damping: np.ndarray
    standard_deviation: np.ndarray


def decaying_modes(values: np.ndarray, period: float, count: int, highest: float) -> Decay:
    """
    Return the Decay of at most ``count`` modes below ``highest`` [Hz] in signals.

    values : (N, k) of k channels, which count by their own size; period : [s] of the uniform clock

    Raises RecordingError when nothing in them is a decaying sine.
    """
    factor = max(1, int(1.0 / (OVERSAMPLED * highest * period)))
    y = values - values.mean(0)
    while factor > 1:  # a long way in steps: one filter would be unstable
        step = min(factor, 8)
        y, period, factor = signal.decimate(y, step, axis=0, zero_phase=True), period * step, \
            factor // step
    size = y.std(0)
    y = (y / np.where(size > 0.0, size, 1.0))[1:-1]  # the filter guessed at the ends
    poles = _pencil(y, period, count, highest)
    if len(poles) == 0:
        raise RecordingError('no free vibration to be seen', found='no decaying sine below '
                             f'{highest:.2g} Hz', do='push the platform and let it swing')
    t = np.arange(len(y)) * period
    first = np.concatenate([np.log(-poles.real), np.log(poles.imag)])
    fit = least_squares(lambda x: _residual(x, t, y), first, x_scale='jac', max_nfev=60,
                        bounds=(first - AROUND, first + AROUND))
    rate, omega = np.exp(fit.x[:len(poles)]), np.exp(fit.x[len(poles):])
    free = max(1, y.size - (2 * len(poles) + 1) * y.shape[1] - len(fit.x))
    covariance = np.linalg.pinv(fit.jac.T @ fit.jac) * 2 * fit.cost / free
    natural = np.hypot(rate, omega)
    slope = np.hstack([np.diag(rate ** 2 / natural), np.diag(omega ** 2 / natural)])
    standard_deviation = np.sqrt(np.diag(slope @ covariance @ slope.T))
    order = np.argsort(natural)
    # A sine that dies at once or is anywhere was noise, or two that are too near to part.
    sure = (rate < LARGEST_DAMPING * natural) & (standard_deviation < SURE * natural)
    order = order[sure[order]]
    return Decay(natural[order] / (2 * np.pi), (rate / natural)[order],
                 standard_deviation[order] / (2 * np.pi))


def _pencil(y, period, count, highest):
    """Return the ``count`` strongest poles (complex, positive frequency) of signals (N, k)."""
    y = y[:LONGEST]
    rows = len(y) // 3
    H = np.concatenate([y[k:len(y) - rows + k] for k in range(rows)], axis=1)  # (N - r, r k)
    U, _, _ = np.linalg.svd(H, full_matrices=False)
    U = U[:, :min(4 * count + 2, U.shape[1] - 1)]  # twice as many as wanted: noise takes its share
    z = np.linalg.eigvals(np.linalg.lstsq(U[:-1], U[1:], rcond=None)[0])
    s = np.log(z[np.abs(z) > 1e-6]) / period
    natural = np.abs(s) / (2 * np.pi)
    good = ((s.imag > 0) & (natural < highest) & (natural > 1.0 / (len(y) * period))
            & (s.real < 0) & (-s.real < LARGEST_DAMPING * np.abs(s)))
    s = s[good]
    t = np.arange(len(y)) * period
    if not len(s):
        return s
    basis = np.exp(np.outer(t, s))
    columns = np.concatenate([basis.real, basis.imag, np.ones((len(t), 1))], axis=1)
    amplitude, *_ = np.linalg.lstsq(columns, y, rcond=None)
    pairs = amplitude[:-1].reshape(2, len(s), -1)
    energy = (pairs ** 2).sum((0, 2)) * (np.abs(basis) ** 2).sum(0)
    return s[np.sort(np.argsort(energy)[::-1][:count])]


def _residual(x, t, y):
    """Return what decaying sines with the logarithms x (2 m,) of rates leave of y (N, k)."""
    rate, omega = np.exp(x.reshape(2, -1))
    envelope, phase = np.exp(-np.outer(t, rate)), np.outer(t, omega)
    Q, _ = np.linalg.qr(np.concatenate([envelope * np.cos(phase), envelope * np.sin(phase),
                                        np.ones((len(t), 1))], axis=1))
    return (y - Q @ (Q.T @ y)).ravel()
