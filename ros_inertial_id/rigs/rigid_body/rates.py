"""
Rates and accelerations of bodies that were recorded beside their poses.

Where a simulator or an estimator gives them, nothing is differentiated: every sample is six
equations by itself (Cheng, Bi, Yuan 2022, Eqs. 17 and 19), however few there are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ..bodies.description import axes_of
from ..measurement.body_state import BodyState, on_clock
from ..measurement.sources import channel_of, Series
from ...errors import ConfigError, RecordingError
from ...measurement.recording import Recording

OTHERWISE = 2.0  # times what is left along the other axes: the rates are along those
LEAST_SHOWN = 1e-6  # [rad/s, rad/s^2, m/s^2] beside the other axes: less is rounding
TWIST = ('angular_velocity',)
ACCEL = ('linear_acceleration', 'angular_acceleration')


@dataclass(frozen=True)
class Rates:
    """
    Topics of a body's rates and accelerations.

    twist : TwistStamped or Odometry; accel : AccelStamped, of the frame's origin, without gravity
    axes : 'body' or 'world', along which they are; linear_axes : the linear accelerations
    """

    twist: str
    accel: str
    axes: str
    linear_axes: str


def described_rates(name: str, entry: Mapping[str, Any]) -> list[Rates]:
    """Return the Rates that the ``entry`` of a body ``name`` describes, in a list, or none."""
    given = [key for key in ('imu', 'twist', 'accel') if entry.get(key)]
    if given in ([], ['imu']):
        return []
    if given != ['twist', 'accel']:
        raise ConfigError(
            f'body {name!r}',
            expected='twist: and accel: beside pose: or markers:',
            found=given,
        )
    what = f'body {name!r}'
    axes = axes_of(entry, what)
    linear_axes = axes_of(entry, what, 'linear_axes', axes)
    return [Rates(str(entry['twist']), str(entry['accel']), axes, linear_axes)]


def read_rates(recording: Recording, rates: Rates, pose: Series, origin_ns: int) -> Series:
    """
    Return the Series (n, 9) of angular velocity and of accelerations, linear and angular.

    pose : of the same body, position and quaternion (n, 7), by which it turns
    RecordingError for topics without them, and for rates along other axes than described.
    """
    t_twist, omega = _read(recording, rates.twist, TWIST, origin_ns)
    t, accelerations = _read(recording, rates.accel, ACCEL, origin_ns)
    for compared in _by_poses(rates, pose, t_twist, omega, t, accelerations):
        compared.check_axes()
    return Series(rates.accel, t, np.hstack([on_clock(t_twist, omega, t), accelerations]))


@dataclass(frozen=True)
class _Compared:
    """
    What was recorded along described ``axes``, beside what poses show of it.

    what : in words; option : that describes the axes; seen : (n, 3) along the body's
    turn : (n,) of the body; recorded : (n, 3) at the same time; unit : of both
    """

    what: str
    option: str
    axes: str
    seen: np.ndarray
    turn: Rotation
    recorded: np.ndarray
    unit: str

    def check_axes(self) -> None:
        """Raise RecordingError where it is surely along the other axes."""
        off = {}
        for axes, seen in (('body', self.seen), ('world', self.turn.apply(self.seen))):
            off[axes] = float(np.median(np.linalg.norm(seen - self.recorded, axis=1)))
        (other,) = set(off) - {self.axes}
        if off[self.axes] > max(OTHERWISE * off[other], LEAST_SHOWN):
            raise RecordingError(
                f'{self.what} are along other axes',
                expected=f'{self.option}: {self.axes}, as described',
                found=f'{off[self.axes]:.2g} {self.unit} beside the motion of the poses, '
                f'{off[other]:.2g} along those of the {other}',
                do=f'write {self.option}: {other}',
            )


def _by_poses(rates, pose, t_twist, recorded_rates, t_accel, accelerations):
    """Yield rates, linear and angular accelerations, each Compared with a ``pose``."""
    t, turn = pose.t, Rotation.from_quat(pose.values[:, 3:])
    steps = (turn[:-1].inv() * turn[1:]).as_rotvec() / np.diff(t)[:, None]
    between = 0.5 * (t[1:] + t[:-1])
    omega = on_clock(t_twist, recorded_rates, between)
    yield _Compared(
        f'the rates of {rates.twist}', 'axes', rates.axes, steps, turn[:-1], omega, 'rad/s'
    )
    linear, angular = np.split(on_clock(t_accel, accelerations, t[1:-1]), 2, axis=1)
    apart = np.diff(between)[:, None]
    velocity = np.diff(pose.values[:, :3], axis=0) / np.diff(t)[:, None]
    turn = turn[1:-1]
    seen = turn.inv().apply(np.diff(velocity, axis=0) / apart)
    what = f'the linear accelerations of {rates.accel}'
    yield _Compared(what, 'linear_axes', rates.linear_axes, seen, turn, linear, 'm/s^2')
    # Differences of rates along fixed and along moving axes are the angular acceleration alike.
    seen = np.diff(omega, axis=0) / apart
    if rates.axes == 'world':
        seen = turn.inv().apply(seen)
    what = f'the angular accelerations of {rates.accel}'
    yield _Compared(what, 'axes', rates.axes, seen, turn, angular, 'rad/s^2')


def _read(recording, topic, fields, origin_ns):
    """Return stamps (n,) [s] and ``fields`` (n, k) of a topic."""
    channel = channel_of(recording, topic)
    lacking = [field for field in fields if field not in channel.fields]
    if lacking:
        raise RecordingError(
            f'{channel.topic} holds no {lacking[0]}',
            found=channel.type,
            expected='TwistStamped for twist:, AccelStamped for accel:',
        )
    t = (channel.stamp_ns - origin_ns) * 1e-9
    return t, np.hstack([channel.fields[field] for field in fields])


def state_of_rates(
    pose: np.ndarray,
    rates: np.ndarray,
    described: Rates,
    gravity_world: Sequence[float] | np.ndarray,
) -> BodyState:
    """
    Return the BodyState of a pose (N, 7) and recorded rates (N, 9), see ``read_rates``.

    described : whose axes count; gravity_world : (3,) [m/s^2]
    """
    into = Rotation.from_quat(pose[:, 3:]).inv()
    omega, acc, alpha = np.split(rates, 3, axis=1)
    gravity = np.asarray(gravity_world)
    if described.axes == 'world':
        omega, alpha = into.apply(omega), into.apply(alpha)
    if described.linear_axes == 'world':
        acc = into.apply(acc)
    acc = acc - into.apply(gravity)
    return BodyState(pose[:, :3], into.inv().as_quat(), omega, alpha, acc)
