"""
Observation of bodies and wrenches: which signals, which clock, which cutoff, which sign.

A payload behind a wrist sensor is observed live, too: joint states and wrench at a fixed lag.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from .rates import read_rates, state_of_rates
from .rig import BodyRig
from .sensor import force_sign, refuse_other_force, sensor_turn
from ..bodies.observation import (
    beyond_motion,
    BodiesObservation,
    BodiesState,
    clock_and_filter,
    doubt,
    marker_doubts,
)
from ..measurement.body_state import (
    BodyState,
    choose_pose_cutoff,
    on_clock,
    state_of_imu,
    state_of_pose,
)
from ..measurement.sources import (
    common_clock,
    noise_again,
    on_stretches,
    read_imu,
    read_pose,
    read_wrench,
    Series,
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
ANOTHER = 15.0  # [deg] that a sensor is turned: it measures in another frame than was said
UNFILTERED = 0.5  # of the sampling rate
STILL = 0.02  # [rad/s]: slower turning is drift and noise, not a motion


def observe_wrenches(recording: Recording, robot: BodyRig, options: Any) -> BodiesObservation:
    """
    Return the BodiesObservation of a BodyRig in a Recording.

    options : rigid_body's Options.  RecordingError says what is missing or does not fit.
    """
    origin = recording.origin_ns()
    wrenches = [read_wrench(recording, w.topic, origin) for w in robot.wrenches]
    sources, measured, raw, choose, states = _motion(recording, robot, options, wrenches, origin)
    clock = common_clock([*sources, *measured[len(sources) :], *wrenches], origin)
    wider = WIDER if len(robot.link_names) > 1 and not robot.rates else 1.0

    def chosen():
        cutoff, ends_at = choose(raw(clock), clock.period)
        return wider * cutoff, ends_at

    clock, kernel, summary = clock_and_filter(clock, sources[0].topic, options, chosen)
    notes = {s.topic: dict(s.note) for s in [*sources, *wrenches]}
    velocity = 'differentiated'
    if len(measured) > len(sources):
        velocity = 'measured'
    summary = replace(summary, velocity=velocity).with_details(
        wrench_topics=[w.topic for w in wrenches], sources=notes
    )
    gravity = np.asarray(robot.gravity_base)

    def motion(series, low_pass):
        return lambda t: states(t, low_pass, gravity, series)

    def noisy(rng):
        beyond = beyond_motion(clock, kernel)
        return motion([noise_again(s, clock, beyond, rng) for s in measured], kernel)

    out = BodiesObservation(
        clock,
        kernel,
        motion(measured, kernel),
        tuple(wrenches),
        summary,
        lambda low_pass: motion(measured, low_pass),
        noisy,
    )
    _check_moving(out, sources[0].topic)
    return _oriented(robot, options, out)


def _oriented(robot, options, observation):
    """Return the observation with the side and the turn of a single sensor as they are."""
    summary, wrench, series = observation.summary, robot.wrenches[0], observation.wrenches[0]
    found: dict[str, Any] = {'doubts': marker_doubts(summary.details['sources'])}
    alone = len(robot.wrenches) == len(robot.link_names) == 1
    turns = not any(s and s.kind == 'imu' for s in robot.sources)  # an IMU shows no attitude
    if alone and turns:
        refuse_other_force(observation, wrench, series.topic, np.asarray(robot.gravity_base))
    alone = alone and wrench.axes == 'body'
    turn = sensor_turn(observation, wrench) if alone and turns else None  # whatever its side is
    if turn is not None:
        R, found['sensor_turned'] = turn[0], {series.topic: turn[1]}
        values = np.hstack([part @ R.T for part in np.hsplit(series.values, 2)])
        observation = replace(observation, wrenches=(replace(series, values=values),))
        angle = float(np.linalg.norm(turn[1]['turn_deg']))
        if angle > ANOTHER:
            found['doubts'].append(
                doubt(
                    'sensor in another frame',
                    f'the force-torque sensor of {series.topic} measures '
                    f'along axes {angle:.1f} degrees off those of its frame; this was taken into '
                    'account',
                    'the direction of the force against the motion',
                    (angle, 'degrees'),
                    'name its frame in wrench_frame:, or rpy: in the description',
                    'doubtful',
                )
            )
    sign = {'on_body': 1.0, 'by_body': -1.0}.get(options.wrench_of)
    if sign is None:
        sign = 1.0 if len(robot.wrenches) > 1 else force_sign(observation, wrench)
    found['wrench_of'] = 'on_body' if sign > 0 else 'by_body'
    return replace(observation, sign=sign, summary=summary.with_details(**found))


def _check_moving(observation, topic):
    omega = [
        np.hstack([body.omega for body in state.bodies])
        for state in observation.states(training=True)
    ]
    turning_rate = float(np.sqrt((np.concatenate(omega) ** 2).mean(0).max())) if omega else 0.0
    if turning_rate < STILL:
        raise RecordingError(
            'the motion excites nothing',
            do='turn the body about several axes',
            expected=f'a turning rate of {STILL} rad/s',
            found=f'{turning_rate:.2g} rad/s in {topic}',
        )


def _motion(recording, robot, options, wrenches, origin):
    """
    Return (Series, measured, raw, choose, states) of what moves.

    measured : these Series, and those of their rates where they are used
    raw(clock) : what shows the motion, unfiltered (N, k) per stretch; choose : cutoff of it
    states(t, kernel, gravity, measured) : tuple of BodyState on a uniform stretch of time, from
        Series as they were ``measured`` or from others
    """
    if robot.arm is not None:
        return _arm_motion(recording, robot, options, wrenches, origin)
    imu = [s for s in robot.sources if s.kind == 'imu']
    if imu:
        return _imu_motion(recording, robot, imu[0], origin)
    poses = [read_pose(recording, source, origin) for source in robot.sources]
    rates = [read_rates(recording, own, pose, origin) for own, pose in zip(robot.rates, poses)]

    def states(t, kernel, gravity, measured):
        period = t[1] - t[0]
        values = [on_clock(s.t, s.values, t) for s in measured]
        if rates:
            smooth = [signals.smooth(x, kernel) for x in values]
            return tuple(
                state_of_rates(pose, rate, own.axes, gravity)
                for pose, rate, own in zip(smooth, smooth[len(poses) :], robot.rates)
            )
        return tuple(state_of_pose(v[:, :3], v[:, 3:], kernel, period, gravity) for v in values)

    def choose(pieces, period):
        # What was recorded needs no differentiating, and so no filter.
        return (UNFILTERED / period, None) if rates else choose_pose_cutoff(pieces, period)

    return poses, [*poses, *rates], lambda clock: on_stretches(poses, clock), choose, states


def _imu_motion(recording, robot, source, origin):
    if len(robot.sources) > 1:
        raise ConfigError(
            'a body with an IMU alone',
            expected='poses or markers of every body where there are several',
            found=source.name,
        )
    series = read_imu(recording, source, origin)

    def raw(clock):
        return on_stretches([replace(series, values=series.values[:, :3])], clock)

    def states(t, kernel, gravity, measured):
        values = on_clock(measured[0].t, measured[0].values, t)
        return (
            state_of_imu(
                values[:, :3], values[:, 3:], kernel, t[1] - t[0], source.position, source.rotation
            ),
        )

    return [series], [series], raw, signals.choose_cutoff, states


def _arm_motion(recording, robot, options, wrenches, origin):
    arm = robot.arm
    frame = robot.frame or frame_of(arm, wrenches[0].note['frame_id'])
    joints = observe_joints(
        recording,
        arm.joint_names,
        SignalOptions(
            joint_states_topic=options.joint_states_topic,
            velocity=options.velocity,
            cutoff=options.cutoff,
        ),
        actuated=(),
    )
    position = _together(joints.summary.topic, joints.position)
    velocity = (
        _together(joints.summary.topic, joints.velocity) if joints.measured_velocity else None
    )

    def raw(clock):
        if velocity is not None:
            return on_stretches([velocity], clock)
        return [signals.differentiate(q, clock.period) for q in on_stretches([position], clock)]

    def states(t, kernel, gravity, measured):
        period = t[1] - t[0]
        q, v, a = signals.smoothed_derivatives(
            on_clock(measured[0].t, measured[0].values, t), kernel, period
        )
        for rate in measured[1:]:
            v, a, _ = signals.smoothed_derivatives(
                on_clock(rate.t, rate.values, t), kernel, period
            )
        return (state_of_frame(arm, frame, q, v, a, gravity),)

    measured = [s for s in (position, velocity) if s is not None]
    return [position], measured, raw, signals.choose_cutoff, states


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
    return Series(
        topic,
        t,
        np.concatenate(
            [interpolate(stamps, values[:, None], t) for stamps, values in series.values()], axis=1
        ),
    )


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
        self._frame = robot.frame or frame_of(robot.arm, notes['sources'][topic]['frame_id'])
        self._sign = 1.0 if notes['wrench_of'] == 'on_body' else -1.0
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
