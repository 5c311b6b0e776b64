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
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .posture_file import platform_poses, posture_entries
from .rig import PlatformRig
from ..bodies.link_tree import vector
from ..measurement.body_state import choose_pose_cutoff, on_clock
from ..measurement.decay import decaying_modes
from ..measurement.sources import channel_of
from ...errors import ConfigError, RecordingError
from ...measurement import signals
from ...measurement.bags.bag import read_bag
from ...measurement.recording import Recording

KEYS = ('links', 'frequencies', 'deviation', 'bag', 'topic', 'label', 'start', 'end')
MODES = 6
USUAL = 1e-3  # relative deviation of a frequency of which nothing is said
MODEL = 3e-4  # what damping, and swings that are not small, move a frequency by, relative
ABOVE = 1.3   # times the highest frequency in the spectrum: where modes are looked for


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
    """
    Return the HeldFrequencies of a PlatformRig in a YAML text; bags relative to ``folder``.

    text : see the head of this module; robot : PlatformRig with the links
    """
    poses, found = [], []
    for where, entry in posture_entries(text, KEYS):
        if ('bag' in entry) == ('frequencies' in entry):
            raise ConfigError(where, expected='frequencies: or bag:', found=list(entry))
        poses.append(platform_poses(robot, entry.get('links') or {}, where))
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
    recording : of a free decay
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
        if values.ndim == 3:
            names = channel.names or tuple(str(k) for k in range(values.shape[1]))
            if label and label not in names:
                raise RecordingError(f'{channel.topic} holds no {label!r}', exists=names)
            values = values[:, [names.index(label)] if label else slice(None)]
            values = values.reshape(len(values), -1)
    else:
        raise RecordingError(f'{channel.topic} shows no vibration', found=channel.type,
                             expected='an IMU, or positions')
    whole = np.isfinite(values).all(0)
    if not whole.any():
        raise RecordingError(f'{channel.topic} has no signal without gaps')
    return values[:, whole]
