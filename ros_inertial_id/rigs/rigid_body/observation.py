"""
Observation of bodies and wrenches: which signals, which clock, which cutoff, which sign.

A payload behind a wrist sensor is observed live, too: joint states and wrench at a fixed lag.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from .rates import read_rates, state_of_rates
from .rig import BodyRig
from .sensor import force_sign, refuse_other_force, rough_delay, sensor_turn
from ..bodies.motion import BodiesMotion, PosedBodies
from ..bodies.observation import (
    BodiesObservation,
    BodiesState,
    clock_and_filter,
    doubt,
    marker_doubts,
    with_earlier_wrenches,
)
from ..measurement.body_motion import BodyMotion
from ..measurement.body_state import BodyState, choose_pose_cutoff, on_clock, state_of_imu
from ..measurement.sources import (
    common_clock,
    NoisySeries,
    on_stretches,
    read_imu,
    read_pose,
    read_wrench,
    Series,
    stretch_times,
)
from ...dynamics.body_motion import apply, body_motions, Frame, frame_of, twists
from ...dynamics.robot_model import RobotModel
from ...errors import ConfigError, RecordingError
from ...measurement import signals
from ...measurement.joints.drives import DriveOptions
from ...measurement.joints.kinematic_state import JointSpaceState, SignalOptions
from ...measurement.joints.observation import observe_joints
from ...measurement.live import listen_to_joints, LiveMotion
from ...measurement.recording import Recording
from ...measurement.sampling import interpolate
from ...measurement.summary import Summary

# Of the cutoff where poses sink into noise: products of what several bodies do reach higher, and
# what is cut of them biases, while noise that is let through is made good (W'W - G).
WIDER = 1.25
ANOTHER_FRAME = 15.0  # [deg] that a sensor is turned: it measures in another frame than was said
NYQUIST = 0.5  # of the sampling rate: a cutoff that filters nothing
SIGNS = {'on_body': 1.0, 'by_body': -1.0}  # of what the sensor shows; auto: by the mass
TURNING_STILL = 0.02  # [rad/s]: slower turning is drift and noise, not a motion


def observe_wrenches(recording: Recording, robot: BodyRig, options: Any) -> BodiesObservation:
    """
    Return the BodiesObservation of a BodyRig in a Recording.

    options : rigid_body's Options.  RecordingError says what is missing or does not fit.
    """
    origin = recording.origin_ns()
    wrenches = [read_wrench(recording, w.topic, origin) for w in robot.wrenches]
    sensors = _sensors(recording, robot, options, wrenches, origin)
    clock = common_clock([*sensors.seen, *sensors.rates, *wrenches], origin)
    clock, kernel, summary = clock_and_filter(
        clock, sensors.seen[0].topic, options, partial(sensors.cutoff, clock)
    )
    velocity = 'differentiated'
    if sensors.rates:
        velocity = 'measured'
    motion, imus = sensors.motion(clock, kernel)
    summary = replace(summary, velocity=velocity).with_details(
        wrench_topics=[w.topic for w in wrenches],
        sources={s.topic: dict(s.note) for s in [*sensors.seen, *wrenches]},
        imus=imus,
    )
    observation = BodiesObservation(clock, kernel, motion, tuple(wrenches), summary)
    _check_moving(observation, sensors.seen[0].topic)
    observation = _punctual(robot, options, observation)
    return _oriented(robot, options, observation)


def _punctual(robot, options, observation):
    """Return the observation with wrenches about where the motion is, a single one if late."""
    observation = with_earlier_wrenches(observation, options.time_offset)
    if not options.find_time_offset or not _is_single(robot):
        return observation
    delay = rough_delay(observation, robot.wrenches[0])
    return with_earlier_wrenches(observation, delay)


def _is_single(robot):
    return len(robot.wrenches) == len(robot.link_names) == 1


def _oriented(robot, options, observation):
    """Return the observation with the side and the turn of a single sensor as they are."""
    details: dict[str, Any] = {'doubts': marker_doubts(observation.summary.details['sources'])}
    if _is_single(robot) and robot.shows_attitude:
        topic = observation.wrenches[0].topic
        observation, turn = _turned_back(robot, observation)
        if turn:
            details['sensor_turned'] = {topic: turn}
            details['doubts'] += _frame_doubts(topic, turn)
    sign = _sign(robot, options, observation)
    details['wrench_of'] = 'by_body'
    if sign > 0:
        details['wrench_of'] = 'on_body'
    summary = observation.summary.with_details(**details)
    return replace(observation, sign=sign, summary=summary)


def _turned_back(robot, observation):
    """
    Return the observation with the wrench along the axes it is said to have, and how it was.

    The turn that ``sensor_turn`` notes, whatever the sensor's side is; None where it has none.
    RecordingError for a force that is another one than described.
    """
    wrench, series = robot.wrenches[0], observation.wrenches[0]
    refuse_other_force(observation, wrench, series.topic, np.asarray(robot.gravity_base))
    if wrench.axes != 'body':
        return observation, None
    turn = sensor_turn(observation, wrench)
    if turn is None:
        return observation, None
    R, note = turn
    values = np.hstack([part @ R.T for part in np.hsplit(series.values, 2)])
    return replace(observation, wrenches=(replace(series, values=values),)), note


def _frame_doubts(topic, turn):
    """Return the doubt about a sensor turned so far that it measures in another frame."""
    angle = float(np.linalg.norm(turn['turn_deg']))
    if angle <= ANOTHER_FRAME:
        return []
    return [
        doubt(
            'sensor in another frame',
            f'the force-torque sensor of {topic} measures '
            f'along axes {angle:.1f} degrees off those of its frame; this was taken into '
            'account',
            'the direction of the force against the motion',
            (angle, 'degrees'),
            'name its frame in wrench_frame:, or rpy: in the description',
            'doubtful',
        )
    ]


def _sign(robot, options, observation):
    """Return 1 where sensors show the wrench on a body, -1 where its reaction."""
    if options.wrench_of in SIGNS:
        return SIGNS[options.wrench_of]
    if len(robot.wrenches) > 1:
        return 1.0
    return force_sign(observation, robot.wrenches[0])


def _turning(state):
    """Return the angular velocities (N, 3 n) [rad/s] of the bodies of a state."""
    return np.hstack([body.omega for body in state.bodies])


def _check_moving(observation, topic):
    rates = [_turning(state) for state in observation.states(training=True)]
    turning_rate = 0.0
    if rates:
        turning_rate = float(np.sqrt((np.concatenate(rates) ** 2).mean(0).max()))
    if turning_rate < TURNING_STILL:
        raise RecordingError(
            'the motion excites nothing',
            do='turn the body about several axes',
            expected=f'a turning rate of {TURNING_STILL} rad/s',
            found=f'{turning_rate:.2g} rad/s in {topic}',
        )


def _sensors(recording, robot, options, wrenches, origin):
    """Return the _Sensors of what moves."""
    if robot.arm is not None:
        return _ArmSensors(recording, robot, options, wrenches[0])
    if not robot.shows_attitude:
        return _ImuAlone(recording, robot, origin)
    if robot.rates:
        return _RecordedRates(recording, robot, origin)
    return _Poses(recording, robot, options, origin)


class _Sensors:
    """
    What shows how bodies move.

    seen : Series of it; rates : Series of its rates, where they are recorded and used
    """

    seen: list[Series]
    rates: list[Series]

    def cutoff(self, clock: signals.Clock) -> tuple[float, float | None]:
        """Return the cutoff [Hz] on a clock, and where the motion ends [Hz] or None."""
        raise NotImplementedError

    def motion(
        self, clock: signals.Clock, kernel: np.ndarray
    ) -> tuple[BodiesMotion, dict[str, Any]]:
        """Return the BodiesMotion on a clock behind a low-pass, and {body: notes on its IMU}."""
        return _SensedMotion(self, clock, kernel, [*self.seen, *self.rates]), {}

    def states(
        self, t: np.ndarray, kernel: np.ndarray, measured: Sequence[Series]
    ) -> tuple[BodyState, ...]:
        """
        Return a BodyState per body on uniform t (N,) [s] behind a low-pass ``kernel``.

        measured : Series as seen, then as those of the rates, or with more noise
        """
        raise NotImplementedError


class _SensedMotion(BodiesMotion):
    """Bodies as ``sensors`` that nothing is fused with show them by ``measured`` Series."""

    def __init__(self, sensors, clock, kernel, measured):
        self.sensors, self.clock, self.kernel, self.measured = sensors, clock, kernel, measured

    def __call__(self, t):
        return self.sensors.states(t, self.kernel, self.measured)

    def noisy(self, count, rng):
        noises = [NoisySeries(s, self.clock, self.kernel) for s in self.measured]
        for _ in range(count):
            again = [noise.again(rng) for noise in noises]
            yield _SensedMotion(self.sensors, self.clock, self.kernel, again)


class _Poses(_Sensors):
    """Bodies by their poses, differentiated, and the IMUs on them."""

    def __init__(self, recording, robot, options, origin):
        self.recording, self.robot = recording, robot
        self.limit = options.largest_clock_offset
        self.seen = [read_pose(recording, source, origin) for source in robot.sources]
        self.rates = []

    def cutoff(self, clock):
        cutoff, ends_at = choose_pose_cutoff(on_stretches(self.seen, clock), clock.period)
        if len(self.seen) > 1:
            cutoff *= WIDER
        return cutoff, ends_at

    def motion(self, clock, kernel):
        bodies = [BodyMotion(s, clock, kernel, self.robot.gravity_base) for s in self.seen]
        return PosedBodies(bodies).fused(
            self.recording, self.robot, lambda body: stretch_times(clock), self.limit
        )


class _RecordedRates(_Sensors):
    """Bodies whose rates and accelerations were recorded beside their poses."""

    def __init__(self, recording, robot, origin):
        self.robot = robot
        self.seen = [read_pose(recording, source, origin) for source in robot.sources]
        self.rates = [
            read_rates(recording, rates, pose, origin)
            for rates, pose in zip(robot.rates, self.seen)
        ]

    def cutoff(self, clock):
        return NYQUIST / clock.period, None  # nothing is differentiated

    def states(self, t, kernel, measured):
        smooth = [signals.smooth(on_clock(s.t, s.values, t), kernel) for s in measured]
        poses, rates = smooth[: len(self.seen)], smooth[len(self.seen) :]
        return tuple(
            state_of_rates(pose, rate, described, self.robot.gravity_base)
            for pose, rate, described in zip(poses, rates, self.robot.rates)
        )


class _ImuAlone(_Sensors):
    """One body by the IMU on it, which shows no attitude."""

    def __init__(self, recording, robot, origin):
        self.source = next(source for source in robot.sources if source.kind == 'imu')
        if len(robot.sources) > 1:
            raise ConfigError(
                'a body with an IMU alone',
                expected='poses or markers of every body where there are several',
                found=self.source.name,
            )
        self.seen, self.rates = [read_imu(recording, self.source, origin)], []

    def cutoff(self, clock):
        (series,) = self.seen
        turning = replace(series, values=series.values[:, :3])
        return signals.choose_cutoff(on_stretches([turning], clock), clock.period)

    def states(self, t, kernel, measured):
        omega, force = np.hsplit(on_clock(measured[0].t, measured[0].values, t), 2)
        source = self.source
        return (state_of_imu(omega, force, kernel, t[1] - t[0], source.position, source.rotation),)


class _ArmSensors(_Sensors):
    """A payload that moves with a frame of an arm, by joint states."""

    def __init__(self, recording, robot, options, wrench):
        self.arm, self.gravity = robot.arm, np.asarray(robot.gravity_base)
        self.frame = robot.frame
        if self.frame is None:
            self.frame = frame_of(
                robot.arm,
                wrench.note['frame_id'],
                f'{wrench.topic} is stamped so: name the link that its sensor measures along in '
                'wrench_frame:, or add the frame to the description',
            )
        joints = observe_joints(
            recording,
            self.arm.joint_names,
            SignalOptions(
                joint_states_topic=options.joint_states_topic,
                velocity=options.velocity,
                cutoff=options.cutoff,
            ),
            actuated=(),
        )
        self.seen = [_together(joints.summary.topic, joints.position)]
        self.rates = []
        if joints.measured_velocity:
            self.rates = [_together(joints.summary.topic, joints.velocity)]

    def cutoff(self, clock):
        if self.rates:
            velocities = on_stretches(self.rates, clock)
        else:
            positions = on_stretches(self.seen, clock)
            velocities = [signals.differentiate(q, clock.period) for q in positions]
        return signals.choose_cutoff(velocities, clock.period)

    def states(self, t, kernel, measured):
        period = t[1] - t[0]
        position, *rates = [on_clock(series.t, series.values, t) for series in measured]
        q, v, a = signals.smoothed_derivatives(position, kernel, period)
        for rate in rates:
            v, a, _ = signals.smoothed_derivatives(rate, kernel, period)
        return (state_of_frame(self.arm, self.frame, q, v, a, self.gravity),)


def state_of_frame(
    robot: RobotModel,
    frame: Frame,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    gravity_base: np.ndarray,
) -> BodyState:
    """
    Return the BodyState of a Frame on a RobotModel that moves with q, v, a (N, n).

    robot : RobotModel; frame : fixed to one of its bodies; q, v, a : joint motion [rad, m, s]
    gravity_base : (3,) in the base frame [m/s^2]
    """
    motions = body_motions(robot, q, v)
    at = motions[frame.body + 1].at(frame)
    alpha, acc = np.array(at.alpha), at.a - np.asarray(gravity_base)[:, None]
    for j, u, w in twists(robot, motions, frame.body, at.p):
        acc += u * a[:, j]
        if w is not None:
            alpha += w * a[:, j]
    into = at.R.transpose(1, 0, 2)
    return BodyState(
        at.p.T,
        Rotation.from_matrix(at.R.transpose(2, 0, 1)).as_quat(),
        *(apply(into, x).T for x in (at.omega, alpha, acc)),
    )


def _together(topic, series):
    """Return one Series (n, k) of {joint: (stamps, values)} on the stamps of the first joint."""
    t, _ = next(iter(series.values()))
    columns = [interpolate(stamps, values[:, None], t) for stamps, values in series.values()]
    return Series(topic, t, np.concatenate(columns, axis=1))


class LiveWrench(LiveMotion):
    """The motion of the payload and the wrench on it, see LiveSource."""

    def __init__(self, robot: BodyRig, options: Any, lag: float, summary: Summary):
        if robot.arm is None:
            raise ConfigError(
                'nothing to predict live',
                found='bodies measured on their own',
                expected='a payload on an arm with joint states',
            )
        super().__init__(options.cutoff, options.velocity == 'measured', lag, np.eye(6))
        notes = summary.details
        (topic,) = notes['wrench_topics']
        self._arm = robot.arm
        frame = robot.frame
        if frame is None:
            frame = frame_of(robot.arm, notes['sources'][topic]['frame_id'])
        self._frame = frame
        self._sign = SIGNS[notes['wrench_of']]
        turn = notes.get('sensor_turned', {}).get(topic, {}).get('turn_deg', np.zeros(3))
        self._mounted = Rotation.from_rotvec(turn, degrees=True).as_matrix()
        self._gravity = np.asarray(robot.gravity_base)
        listen_to_joints(
            self,
            options.joint_states_topic or summary.topic,
            robot.arm.joint_names,
            DriveOptions(),
        )
        self.listen(topic, self._load_wrench)

    def _load_wrench(self, channel):
        along = [channel.fields[kind] @ self._mounted.T for kind in ('force', 'torque')]
        self.load(0, self.seconds(channel.stamp_ns), np.hstack(along))

    def _state(self, stamps: np.ndarray, state: JointSpaceState) -> BodiesState:
        """Return the BodiesState of the body on the sensor."""
        body = state_of_frame(self._arm, self._frame, state.q, state.v, state.a, self._gravity)
        return BodiesState(state.t, state.segment, (body,), state.tau, state.tau_raw, self._sign)
