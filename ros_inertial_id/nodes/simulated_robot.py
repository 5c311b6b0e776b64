"""
Node ``simulated_robot``: a robot to try everything on, moved by MuJoCo.

Publishes ``joint_states`` (uniform stamps, effort = motor torque on the link side), the same
without noise and faults as ``~/true_joint_states`` while somebody listens, and the latched
``robot_description`` (the nominal one).  Follows
``joint_trajectory_controller/joint_trajectory`` as that controller would, at the share of its
speed that ``speed_scaling`` says, which it publishes as UR's driver does.
"""

from array import array
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
import sys
import time

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory
import yaml

from .conversions import diagnostics, latched
from .parameters import declare_options
from .running import run
from ..errors import ConfigError, InertialIdError
from ..simulation.arm import ArmOptions, SimulatedArm

FAULTS = ('', 'joint_states_stop', 'joint_stuck', 'effort_offset', 'drop_trajectory',
          'controller_gone')  # which holds the arm when it comes back
BURST = 0.02   # [s] of samples published at once when late, so that other callbacks get a turn
SCALING = 'speed_scaling'  # the option that may be changed while the robot moves
FAULTY = 0     # index of the joint that joint_stuck and effort_offset strike


class SimulatedRobot(Node):
    """Publishes one joint state for every tick of its clock; late ticks are made up for."""

    def __init__(self, **node_options):
        super().__init__('simulated_robot', **node_options)
        options = self._declare_parameters()
        self._fixed = {'robot_description', 'urdf_file', 'gravity_base', 'truth_file',
                       *(spec.name for spec in fields(ArmOptions))} - {SCALING}
        urdf, gravity_base = self._description(), self.get_parameter('gravity_base').value
        self._arm = SimulatedArm(urdf, options=options, gravity_base=gravity_base)
        self._fault, self._commands = '', self._listen()
        self._set_fault(self.get_parameter('fault').value)
        self._write_truth(gravity_base)
        self._description_publisher = self.create_publisher(
            String, 'robot_description', latched())
        self._description_publisher.publish(String(data=urdf))
        self._joint_states = self.create_publisher(JointState, 'joint_states', 1000)
        self._truth = self.create_publisher(JointState, '~/true_joint_states', 1000)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._scaling = self.create_publisher(
            Float64, 'speed_scaling_state_broadcaster/speed_scaling', 10)
        self.create_service(Trigger, '~/published', self._answer_published)
        self.add_on_set_parameters_callback(self._on_parameters)
        self._message = JointState(name=list(self._arm.joint_names))
        self._ticks = self._published = self._late = 0
        self._origin_ns = self.get_clock().now().nanoseconds
        self._started_ns = time.monotonic_ns()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1 / options.rate, self._tick, clock=steady)
        self.create_timer(1.0, self._diagnose, clock=steady)
        self.get_logger().info(f'simulating {", ".join(self._arm.joint_names)} '
                               f'at {options.rate:g} Hz, gravity {list(gravity_base)} m/s^2')

    def _tick(self):
        """Publish the samples that are due by now, at most BURST of them."""
        rate = self._arm.options.rate
        due = int((time.monotonic_ns() - self._started_ns) * rate / 1e9) + 1 - self._ticks
        self._late += due > 1
        for _ in range(min(due, max(1, int(BURST * rate)))):
            sample = self._arm.step()
            if self._arm.aborted:
                self.get_logger().error(f'trajectory: {self._arm.aborted}')
                self._arm.aborted = ''
            stamp_ns = self._stamp_ns(self._ticks)
            self._ticks += 1
            if self._fault == 'joint_states_stop':
                continue
            try:
                self._publish(sample, stamp_ns)
            except rclpy_implementation.RCLError:
                if self.context.ok():
                    raise
                return  # shut down between two samples

    def _publish(self, sample, stamp_ns):
        if self._truth.get_subscription_count():
            self._send(self._truth, stamp_ns, sample.q, sample.v, sample.tau)
        self._send(self._joint_states, stamp_ns, sample.measured_q, sample.measured_v,
                   sample.measured_tau + self._offset)
        self._published += 1

    def _send(self, publisher, stamp_ns, q, v, tau):
        message = self._message
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 10**9)
        message.position = array('d', q.tobytes())
        message.velocity = array('d', v.tobytes())
        message.effort = array('d', tau.tobytes())
        publisher.publish(message)

    def _stamp_ns(self, tick):
        return self._origin_ns + round(tick * 1e9 / self._arm.options.rate)

    def _listen(self):
        return self.create_subscription(
            JointTrajectory, 'joint_trajectory_controller/joint_trajectory', self._follow, 10)

    def _follow(self, trajectory):
        if self._fault == 'drop_trajectory':
            return
        try:
            self._arm.follow(*self._points(trajectory))
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
            times += (start_ns - self._stamp_ns(self._ticks)) * 1e-9
        there = self._arm.controller.command([self._arm.time])[0][0]
        return times, *(_column(kind, points, names, joints, rest) for kind, rest in (
            ('positions', there), ('velocities', 0.0 * there), ('accelerations', 0.0 * there)))

    def _answer_published(self, _, response):
        response.success, response.message = True, str(self._published)
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
        lag = (time.monotonic_ns() - self._started_ns) / 1e9 - self._arm.time
        level, words = (('warn', 'the computer is too slow for this rate') if lag > 10 * BURST
                        else ('ok', 'publishing'))
        self._diagnostics.publish(diagnostics(self, level, words, {
            'published': self._published, 'late_ticks': self._late, 'lag_s': round(lag, 4),
            'fault': self._fault}))

    def _declare_parameters(self):
        """Declare all parameters; return the ArmOptions among them."""
        for name, default, description in (
                ('robot_description', '', 'URDF text of the robot; or give urdf_file'),
                ('urdf_file', '', 'path of the URDF file; or give robot_description'),
                ('gravity_base', [0.0, 0.0, -9.81],
                 'gravitational acceleration in the base frame [m/s^2]: the mounting'),
                ('truth_file', '', 'YAML file to write the true parameters to; empty: none'),
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


if __name__ == '__main__':
    sys.exit(main())
