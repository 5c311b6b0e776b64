"""
Node ``simulated_robot``: a robot to try everything on, moved by MuJoCo.

Owns the time, which it publishes on ``/clock``: run all other nodes with use_sim_time.  Publishes
``joint_states`` (uniform stamps, effort = motor torque on the link side), the same without noise
and faults as ``~/true_joint_states`` while somebody listens, and the latched
``robot_description`` (the nominal one).  Follows
``joint_trajectory_controller/joint_trajectory`` as that controller would, at the share of its
speed that ``speed_scaling`` says, which it publishes as UR's driver does.
"""

from dataclasses import asdict, dataclass
import json

import numpy as np
from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from trajectory_msgs.msg import JointTrajectory

from .controller_state import CONTINUES
from .conversions import DEPTH, every, publish_joint_states
from .parameters import declare_options
from .running import run
from .simulator_clock import NEXT_PIECE, Simulator, SimulatorOptions, TICK
from ..errors import ConfigError, InertialIdError
from ..identification.model.files import read_text
from ..options import option
from ..simulation.arm import ArmOptions, SimulatedArm
from ..simulation.trajectory_controller import DESIRED

FAULTS = ('', 'joint_states_stop', 'joint_stuck', 'effort_offset', 'drop_trajectory',
          'controller_gone')  # which holds the arm when it comes back
SCALING = 'speed_scaling'  # the option that may be changed while the robot moves
FAULTY = 0     # index of the joint that joint_stuck and effort_offset strike
STILL = 1e-6   # [rad or m] by which a trajectory that rests moves at most


@dataclass(frozen=True)
class SimulatedRobotOptions(SimulatorOptions):
    """Which robot, how it is mounted, and what goes wrong with it."""

    robot_description: str = option('', 'URDF text of the robot; or give urdf_file')
    urdf_file: str = option('', 'path of the URDF file; or give robot_description')
    gravity_base: tuple[float, ...] = option(
        (0.0, 0.0, -9.81), 'gravitational acceleration in the base frame: the mounting',
        unit='m/s^2')
    truth_every: int = option(1, 'of how many samples one goes to ~/true_joint_states',
                              at_least=1)
    fault: str = option('', 'fault to play; may be set at any time', choices=FAULTS)


class SimulatedRobot(Simulator):
    """Publishes one joint state for every tick of its clock."""

    def __init__(self, **node_options):
        super().__init__('simulated_robot', **node_options)
        own = declare_options(self, SimulatedRobotOptions, settable=('fault',))
        options = declare_options(self, ArmOptions, settable=(SCALING,))
        if bool(own.robot_description) == bool(own.urdf_file):
            raise ConfigError('robot to simulate', expected='one of the parameters '
                              'robot_description and urdf_file',
                              found='both' if own.urdf_file else 'none')
        urdf = own.robot_description or read_text(own.urdf_file)
        self._arm = SimulatedArm(urdf, options=options, gravity_base=list(own.gravity_base))
        self._fault, self._commands = '', self._listen()
        self._set_fault(own.fault)
        self._joint_states = self.create_publisher(JointState, 'joint_states', DEPTH)
        self._truth = self.create_publisher(JointState, '~/true_joint_states', DEPTH)
        self._scaling = self.create_publisher(
            Float64, 'speed_scaling_state_broadcaster/speed_scaling', 10)
        self.create_service(GetParameters, 'joint_trajectory_controller/get_parameters',
                            self._controller_parameters)
        self.offer('~/published', lambda: str(self._published))
        self.offer('~/largest_acceleration', self._largest_acceleration)
        self.add_post_set_parameters_callback(self._have_set)
        self._published_names = tuple(self._arm.joint_names)
        self._every = own.truth_every
        self._ticks = self._published = 0
        self._before = None  # true velocities of the last sample
        self._fastest = np.zeros(len(self._arm.joint_names))  # changes of them [rad/s^2]
        self.begin(own, urdf, self._true(own))
        every(self, 1 / options.rate if own.real_time else max(TICK, 1 / options.rate),
              self._tick)
        self.report(self._health)
        self.get_logger().info(f'simulating {", ".join(self._arm.joint_names)} '
                               f'at {options.rate:g} Hz, gravity {list(own.gravity_base)} m/s^2')

    def _tick(self):
        """Publish the samples that are due by now, unless time has to wait."""
        rate, samples, stamps = self._arm.options.rate, [], []
        due = self._sim_clock.due(self._ticks / rate)
        while self._ticks <= due * rate and not self._sim_clock.waits(self._ticks / rate):
            self._sim_clock.say(self._ticks / rate)
            sample = self._arm.step()
            self._note(sample.v)
            if self._arm.aborted:
                self.get_logger().error(f'trajectory: {self._arm.aborted}')
                self._arm.aborted = ''
            samples.append(sample)
            stamps.append(self._sim_clock.stamp_ns(self._ticks / rate))
            self._ticks += 1
        if samples and self._fault != 'joint_states_stop':
            self._publish(samples, np.array(stamps))

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
            rows = slice((len(samples) - self._ticks) % self._every, None, self._every)
            if len(samples[rows]):
                self._send(self._truth, stamps[rows], column('q', rows), column('v', rows),
                           column('tau', rows))

    def _send(self, publisher, stamp_ns, q, v, tau):
        """Publish joint states, stamped stamp_ns (k,) [ns]; q, v, tau : (k, n)."""
        publish_joint_states(publisher, stamp_ns, self._published_names, position=q, velocity=v,
                             effort=tau)

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

    def _controller_parameters(self, request, response):
        """Answer, as the controller would, whether it goes on from its command."""
        response.values = [ParameterValue(type=ParameterType.PARAMETER_BOOL,
                                          bool_value=self._arm.options.anchor == DESIRED)
                           if name == CONTINUES else ParameterValue() for name in request.names]
        return response

    def _largest_acceleration(self):
        """Return as JSON how fast velocities changed from sample to sample since the last time."""
        out = json.dumps(dict(zip(self._arm.joint_names, self._fastest.round(6).tolist())))
        self._fastest[:] = 0.0
        return out

    def _have_set(self, parameters):
        for parameter in parameters:
            if parameter.name == SCALING:
                self._arm.controller.speed_scaling = parameter.value
                self._say_scaling()
            if parameter.name == 'fault':
                self._set_fault(parameter.value)

    def _set_fault(self, fault):
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

    def _health(self):
        self._say_scaling()
        in_time, values = self.pace()
        level, words = (('ok', 'publishing') if in_time
                        else ('warn', 'the computer is too slow for this rate'))
        return level, words, {'published': self._published, 'fault': self._fault, **values}

    def _true(self, own):
        """Return what truth_file says."""
        arm, friction = self._arm, self._arm.true_friction
        return {'joint_names': list(arm.joint_names), 'gravity_base': list(own.gravity_base),
                'friction': {'law': friction.law, 'velocity_scale': friction.velocity_scale,
                             'viscous': friction.viscous.tolist(),
                             'coulomb': friction.coulomb.tolist()},
                'options': asdict(arm.options), 'true_urdf': arm.true_urdf}


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


def main() -> int:
    """Run the node; return the exit status of its process."""
    return run(SimulatedRobot)
