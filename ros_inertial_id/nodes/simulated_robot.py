"""
Node ``simulated_robot``: a robot to try everything on, moved by MuJoCo.

Owns the time, which it publishes on ``/clock``: run all other nodes with use_sim_time.  Publishes
``joint_states`` (uniform stamps, effort = motor torque on the link side), the same without noise
and faults as ``~/true_joint_states`` while somebody listens, and the latched
``robot_description`` (the nominal one).  Follows
``joint_trajectory_controller/joint_trajectory`` as that controller would, at the share of its
speed that ``speed_scaling`` says, which it publishes as UR's driver does.
"""

from collections.abc import Sequence
from dataclasses import asdict, fields
import json
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory
import yaml

from .conversions import DEPTH, diagnostics, latched
from .guarded import GuardedNode
from .parameters import declare_options
from .running import run
from .simulator_clock import BURST, NEXT_PIECE, SimulatorClock
from ..errors import ConfigError, InertialIdError
from ..measurement.bags.messages import encode, JOINT_STATE
from ..measurement.recording import Channel
from ..simulation.arm import ArmOptions, SimulatedArm

FAULTS = ('', 'joint_states_stop', 'joint_stuck', 'effort_offset', 'drop_trajectory',
          'controller_gone')  # which holds the arm when it comes back
TICK = 0.008   # [s] of wall time between steps, each of all samples that are due
SCALING = 'speed_scaling'  # the option that may be changed while the robot moves
FAULTY = 0     # index of the joint that joint_stuck and effort_offset strike
STILL = 1e-6   # [rad or m] by which a trajectory that rests moves at most


class SimulatedRobot(GuardedNode):
    """Publishes one joint state for every tick of its clock."""

    def __init__(self, **node_options):
        super().__init__('simulated_robot', **node_options)
        options = self._declare_parameters()
        self._fixed = {'robot_description', 'urdf_file', 'gravity_base', 'truth_file',
                       'truth_every', 'real_time',
                       *(spec.name for spec in fields(ArmOptions))} - {SCALING}
        urdf, gravity_base = self._description(), self.get_parameter('gravity_base').value
        self._arm = SimulatedArm(urdf, options=options, gravity_base=gravity_base)
        self._fault, self._commands = '', self._listen()
        self._set_fault(self.get_parameter('fault').value)
        self._write_truth(gravity_base)
        self._description_publisher = self.create_publisher(
            String, 'robot_description', latched())
        self._description_publisher.publish(String(data=urdf))
        self._joint_states = self.create_publisher(JointState, 'joint_states', DEPTH)
        self._truth = self.create_publisher(JointState, '~/true_joint_states', DEPTH)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._scaling = self.create_publisher(
            Float64, 'speed_scaling_state_broadcaster/speed_scaling', 10)
        self.create_service(Trigger, '~/published', self._answer_published)
        self.add_on_set_parameters_callback(self._on_parameters)
        self.create_service(Trigger, '~/largest_acceleration', self._answer_acceleration)
        self._published_names = tuple(self._arm.joint_names)
        self._every = self.get_parameter('truth_every').value
        real_time = self.get_parameter('real_time').value
        self._ticks = self._published = 0
        self._before = None  # true velocities of the last sample
        self._fastest = np.zeros(len(self._arm.joint_names))  # changes of them [rad/s^2]
        self._sim_clock = SimulatorClock(self, real_time)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1 / options.rate if real_time else max(TICK, 1 / options.rate),
                          self._tick, clock=steady)
        self.create_timer(1.0, self._diagnose, clock=steady)
        self.get_logger().info(f'simulating {", ".join(self._arm.joint_names)} '
                               f'at {options.rate:g} Hz, gravity {list(gravity_base)} m/s^2')

    def _tick(self):
        """Publish the samples that are due by now, unless time has to wait."""
        rate, samples, stamps = self._arm.options.rate, [], []
        due = self._sim_clock.due(self._ticks / rate)
        while self._ticks <= due * rate:
            if self._sim_clock.waits(self._ticks / rate):
                break
            try:
                self._sim_clock.say(self._ticks / rate)
            except rclpy_implementation.RCLError:
                break  # shut down between two samples
            sample = self._arm.step()
            self._note(sample.v)
            if self._arm.aborted:
                self.get_logger().error(f'trajectory: {self._arm.aborted}')
                self._arm.aborted = ''
            samples.append(sample)
            stamps.append(self._sim_clock.stamp_ns(self._ticks / rate))
            self._ticks += 1
        if samples and self._fault != 'joint_states_stop':
            try:
                self._publish(samples, np.array(stamps))
            except rclpy_implementation.RCLError:
                if self.context.ok():
                    raise

    def _note(self, v):
        """Note how fast true velocities change from one sample to the next."""
        if self._before is not None:
            np.maximum(self._fastest, np.abs(v - self._before) * self._arm.options.rate,
                       out=self._fastest)
        self._before = v

    def _publish(self, samples, stamps):
        def column(kind, rows=slice(None)):
            return np.array([getattr(sample, kind) for sample in samples[rows]])

        self._send(self._joint_states, stamps, column('measured_q'), column('measured_v'),
                   column('measured_tau') + self._offset)
        self._published += len(samples)
        if self._truth.get_subscription_count():
            first = (len(samples) - self._ticks) % self._every
            rows = slice(first, None, self._every)
            if len(samples[rows]):
                self._send(self._truth, stamps[rows], column('q', rows), column('v', rows),
                           column('tau', rows))

    def _send(self, publisher, stamp_ns, q, v, tau):
        """Publish joint states, stamped stamp_ns (k,) [ns]; q, v, tau : (k, n)."""
        fields = {'position': q, 'velocity': v, 'effort': tau}
        for message in encode(Channel('', JOINT_STATE, stamp_ns, stamp_ns, fields,
                                      self._published_names)):
            publisher.publish(message)

    def _listen(self):
        return self.create_subscription(
            JointTrajectory, 'joint_trajectory_controller/joint_trajectory', self._follow, 10)

    def _follow(self, trajectory):
        if self._fault == 'drop_trajectory':
            return
        try:
            times, positions, *rest = self._points(trajectory)
            self._arm.follow(times, positions, *rest)
            # A trajectory with a past is one of many: they are sent piece by piece.
            ahead = positions[times > NEXT_PIECE]
            moves = len(ahead) > 0 and bool(np.ptp(ahead, 0).max() > STILL)
            self._sim_clock.piece(self._arm.time, bool(times[0] < 0.0) and moves)
        except InertialIdError as error:
            self.get_logger().error(f'trajectory refused: {error}')

    def _points(self, trajectory):
        """Return times from now [s], positions, velocities, accelerations (None: not given)."""
        names, points = list(trajectory.joint_names), trajectory.points
        joints, partial = self._arm.joint_names, self._arm.options.allow_partial_joints_goal
        if sorted(names) != sorted(joints) and not (partial and set(names) < set(joints)):
            raise ConfigError('joint names of the trajectory', found=names, expected=joints)
        times = np.array([p.time_from_start.sec + p.time_from_start.nanosec * 1e-9
                          for p in points])
        start_ns = Time.from_msg(trajectory.header.stamp).nanoseconds
        if start_ns:  # 0 means now
            times += (start_ns - self._sim_clock.stamp_ns(self._arm.time)) * 1e-9
        there = self._arm.controller.command([self._arm.time])[0][0]
        return times, *(_column(kind, points, names, joints, rest) for kind, rest in (
            ('positions', there), ('velocities', 0.0 * there), ('accelerations', 0.0 * there)))

    def _answer_published(self, _, response):
        response.success, response.message = True, str(self._published)
        return response

    def _answer_acceleration(self, _, response):
        """Answer how fast velocities changed from sample to sample since the last time."""
        response.success, response.message = True, json.dumps(dict(zip(
            self._arm.joint_names, self._fastest.round(6).tolist())))
        self._fastest[:] = 0.0
        return response

    def _on_parameters(self, parameters):
        """Take a new fault; refuse to change what is fixed at the start."""
        for parameter in parameters:
            if parameter.name in self._fixed:
                return SetParametersResult(
                    successful=False, reason=f'{parameter.name} is fixed when the node starts')
            if parameter.name == SCALING:
                self._arm.controller.speed_scaling = parameter.value
                self._say_scaling()
            if parameter.name == 'fault':
                try:
                    self._set_fault(parameter.value)
                except ConfigError as error:
                    return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _set_fault(self, fault):
        if fault not in FAULTS:
            raise ConfigError('parameter fault', found=repr(fault),
                              exists=[repr(name) for name in FAULTS])
        self._arm.jam(FAULTY if fault == 'joint_stuck' else None)
        self._offset = np.zeros(len(self._arm.joint_names))
        if fault == 'effort_offset':  # whatever the torque was: at the limit or beyond
            self._offset[FAULTY] = 2 * self._arm.limits.effort[FAULTY]
        if fault in ('drop_trajectory', 'controller_gone'):
            self._arm.hold()
        if fault == 'controller_gone' != self._fault:
            self.destroy_subscription(self._commands)
        if self._fault == 'controller_gone' != fault:
            self._commands = self._listen()
        if fault != self._fault:
            self.get_logger().warning(f'fault: {fault or "none"}')
        self._fault = fault

    def _say_scaling(self):
        self._scaling.publish(Float64(data=100.0 * self._arm.controller.speed_scaling))

    def _diagnose(self):
        self._say_scaling()
        values = {'published': self._published, 'fault': self._fault,
                  'real_time_factor': round(self._sim_clock.factor(), 3)}
        level, words = 'ok', 'publishing'
        if self._sim_clock.real_time:
            lag = values['lag_s'] = round(self._sim_clock.lag(), 4)
            if lag > 10 * BURST:
                level, words = 'warn', 'the computer is too slow for this rate'
        self._diagnostics.publish(diagnostics(self, level, words, values))

    def _declare_parameters(self):
        """Declare all parameters; return the ArmOptions among them."""
        for name, default, description in (
                ('robot_description', '', 'URDF text of the robot; or give urdf_file'),
                ('urdf_file', '', 'path of the URDF file; or give robot_description'),
                ('gravity_base', [0.0, 0.0, -9.81],
                 'gravitational acceleration in the base frame [m/s^2]: the mounting'),
                ('truth_file', '', 'YAML file to write the true parameters to; empty: none'),
                ('truth_every', 1, 'of how many samples one goes to ~/true_joint_states'),
                ('real_time', False, 'true: follow the wall clock and publish no /clock; what is '
                 'late on a busy computer is made up for'),
                ('fault', '', f'fault to play, one of {FAULTS}; may be set at any time')):
            self.declare_parameter(name, default, ParameterDescriptor(description=description))
        return declare_options(self, ArmOptions)

    def _description(self):
        """Return the URDF text."""
        text = self.get_parameter('robot_description').value
        path = self.get_parameter('urdf_file').value
        if bool(text) == bool(path):
            raise ConfigError('robot to simulate', expected='one of the parameters '
                              'robot_description and urdf_file', found='both' if text else 'none')
        try:
            return text or Path(path).read_text(encoding='utf-8')
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f'urdf_file {path}', found=error) from error

    def _write_truth(self, gravity_base):
        path, arm = self.get_parameter('truth_file').value, self._arm
        if not path:
            return
        friction = arm.true_friction
        truth = {'joint_names': list(arm.joint_names), 'gravity_base': list(gravity_base),
                 'friction': {'law': friction.law, 'velocity_scale': friction.velocity_scale,
                              'viscous': friction.viscous.tolist(),
                              'coulomb': friction.coulomb.tolist()},
                 'options': asdict(arm.options), 'true_urdf': arm.true_urdf}
        try:
            Path(path).write_text(yaml.safe_dump(truth, sort_keys=False), encoding='utf-8')
        except OSError as error:
            raise ConfigError(f'truth_file {path}', found=error) from error


def _column(kind, points, names, joints, rest):
    """
    Return one kind of numbers of all points (m, n) in the order of ``joints``, None when absent.

    names : of the trajectory; rest : (n,) for joints that it leaves out
    """
    rows = [getattr(point, kind) for point in points]
    lengths = {len(row) for row in rows}
    if lengths == {0} and kind != 'positions':
        return None
    if rows and lengths != {len(names)}:
        raise ConfigError(f'{kind} of the trajectory', expected=f'{len(names)} in every point',
                          found=f'points with {sorted(lengths)}')
    out = np.tile(rest, (len(rows), 1))
    out[:, [joints.index(name) for name in names]] = np.array(rows).reshape(len(rows), len(names))
    return out


def main(args: Sequence[str] | None = None) -> int:
    """Run the node with the command line ``args``; return its exit code."""
    return run(SimulatedRobot, args)
