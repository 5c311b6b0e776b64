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
    _check_axes(rates, pose, t_twist, omega)
    return Series(rates.accel, t, np.hstack([on_clock(t_twist, omega, t), accelerations]))


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


def _check_axes(rates, pose, t, omega):
    """Raise RecordingError where a body turns along other axes than its rates are said to."""
    turn, between = Rotation.from_quat(pose.values[:, 3:]), 0.5 * (pose.t[1:] + pose.t[:-1])
    steps = (turn[:-1].inv() * turn[1:]).as_rotvec() / np.diff(pose.t)[:, None]
    said = on_clock(t, omega, between)
    off = {
        axes: float(np.median(np.linalg.norm(x - said, axis=1)))
        for axes, x in (('body', steps), ('world', turn[:-1].apply(steps)))
    }
    (other,) = set(off) - {rates.axes}
    if off[rates.axes] > OTHERWISE * off[other]:
        raise RecordingError(
            f'the rates of {rates.twist} are along other axes',
            expected=f'axes: {rates.axes}, as described',
            found=f'{off[rates.axes]:.2g} rad/s beside the turning of '
            f'{pose.topic}, {off[other]:.2g} with axes: {other}',
        )


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
