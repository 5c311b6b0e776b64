"""Effort source: what recorded efforts are, and how they become joint torques."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .commands import position_control, PositionControl
from .drives import COMMAND, DriveOptions, motor_turns, per_joint
from ...errors import ConfigError

RATE_SPAN = 5  # training samples to both sides, of ten to a period of the cutoff
# Of efforts that are torques of the joints already: of a sensor, and of what a drive makes of its
# commands.
LINK_SIGN = {'link': 1.0, 'link_negated': -1.0, COMMAND: 1.0}
# Relative standard error of the scale that a user should assume where nothing else is known.
SCALE_ERRORS = {
    'link': 0.01,  # calibration of a joint torque sensor
    'link_negated': 0.01,  # the same sensor
    'motor': 0.01,  # torque constant that the drive calculates with
    'current': 0.01,  # a drive_gain that was measured, as by inertial-id drive-gains
    COMMAND: 0.01,  # a stiffness that was measured, or is set in the controller
}
DESCRIBED_SCALE = 0.15  # standard deviation of a described body's mass, and of all alike
FOUND_TOGETHER = 'current', COMMAND  # kinds whose gains are found in one go, by drive-gains


def scale_errors(options: Any, kind: str, count: int) -> np.ndarray:
    """
    Return the relative standard errors (count,) of the scales of the joints' efforts.

    Each is the joint's own, beside the error that all share.

    options : with ``calibration``, by which they are known; kind : of effort, where they are not
    """
    usual = SCALE_ERRORS[kind]
    if not options.calibration:
        return np.full(count, usual)
    known = per_joint(options.calibration, 'calibration', count)
    shared = shared_scale_error(options, kind)
    if not shared:
        return np.array(known)
    return np.sqrt(np.maximum(known**2 - shared**2, usual**2))


def shared_scale_error(options: Any, kind: str) -> float:
    """
    Return the relative standard error of a scale that the efforts of all joints share, 0 for none.

    Gains that were found together, by a load or by the described masses, are as wrong as these:
    none of them is known better than their common scale.

    options, kind : see ``scale_errors``
    """
    if kind not in FOUND_TOGETHER or not options.calibration:
        return 0.0
    return float(min(options.calibration))


@dataclass(frozen=True)
class EffortSource:
    """
    What recorded efforts are.

    kind : link, link_negated, motor, current or command, as DriveOptions.effort_kind
    to_joint : (n, m) matrix that turns recorded efforts into joint torques
    control : law of commanded drives, whose efforts are what they were commanded; None: measured
    """

    kind: str
    to_joint: np.ndarray
    control: PositionControl | None = None

    @classmethod
    def of(
        cls, options: DriveOptions, count: int, limit: np.ndarray | None = None
    ) -> 'EffortSource':
        """
        Return the EffortSource of ``count`` drives by ``options``.

        limit : (n,) of the efforts of an arm's joints, 0 where it is unknown
        ConfigError for options that are missing or contradict one another.
        """
        control = None
        if count:
            control = position_control(options, limit)
        return cls(options.effort_kind, _to_joint(options, count), control)

    @property
    def is_commanded(self) -> bool:
        """Return whether efforts follow from the commands of a position controller."""
        return self.control is not None

    @property
    def may_be_late(self) -> bool:
        """Return whether a delay is a fault of the stamps; commands always act late."""
        return not self.is_commanded

    @property
    def brakes_only(self) -> bool:
        """Return whether damping is unknown: it passes for friction, which brakes then."""
        return self.control is not None and not self.control.damping.any()

    def torque(
        self, recorded: np.ndarray, q: np.ndarray | None = None, v: np.ndarray | None = None
    ) -> np.ndarray:
        """
        Return joint torques (N, n) [N m, N].

        recorded : (N, m) efforts as measured, or what was commanded
        q, v : (N, n) measured positions and velocities, of commanded drives
        """
        if self.control is None:
            return np.asarray(recorded @ self.to_joint.T)
        if q is None or v is None:
            raise ValueError('torques by commands need the motion')
        return self.control.torques(recorded, q, v)

    @staticmethod
    def rate(state: Any) -> np.ndarray:
        """
        Return the derivative (N, n) of torques with respect to their delay [N m/s, N/s].

        state : JointSpaceState

        Of measured efforts it is the rate over about a period of the cutoff: motion ends at a
        third of the cutoff, so that little of its rate is lost and most of the noise, which would
        make an estimated delay too small.  Of commanded drives it is that of the commanded part,
        which has no noise: measured positions and velocities are not late.
        """
        t = state.t
        if state.late is not None:
            return np.asarray(np.gradient(state.late, t, axis=0))
        sample = np.arange(len(t))
        first = np.maximum(sample - RATE_SPAN, 0)
        last = np.minimum(sample + RATE_SPAN, len(t) - 1)
        seconds = np.maximum(t[last] - t[first], 1e-9)
        return np.asarray((state.tau[last] - state.tau[first]) / seconds[:, None])


def _to_joint(options: DriveOptions, count: int) -> np.ndarray:
    """
    Return the matrix (n, n) that turns recorded efforts into joint torques: G C' drive gains.

    ConfigError for a current without gains, or gears that are given and not used.
    """
    turns = motor_turns(options, count)
    if options.effort_kind in LINK_SIGN:
        _refuse_unused_gears(options)
        return LINK_SIGN[options.effort_kind] * np.eye(count)
    gains = np.ones(count)
    if options.effort_kind == 'current':
        if not len(options.drive_gain):
            raise ConfigError(
                'effort_kind: current needs drive_gain',
                expected=f'{count} values',
                do='take them from the datasheet, or find them with a known load: '
                'inertial-id drive-gains',
            )
        gains = per_joint(options.drive_gain, 'drive_gain', count)
    return np.asarray(turns.T @ np.diag(gains))


def _refuse_unused_gears(options: DriveOptions) -> None:
    """Raise ConfigError where neither efforts nor positions are those of motors."""
    gears = options.gear_ratio or options.coupling
    if options.drive_gain or (gears and options.position_kind == 'link'):
        raise ConfigError(
            'gear_ratio, drive_gain or coupling are given',
            expected='effort_kind: motor or current, or position_kind: motor',
            found=options.effort_kind,
        )
