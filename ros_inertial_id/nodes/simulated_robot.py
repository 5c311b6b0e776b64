"""
Node ``simulated_robot``: a robot to try everything on, moved by MuJoCo.

Owns the time, which it publishes on ``/clock``: run all other nodes with use_sim_time.  Publishes
``joint_states`` (uniform stamps, effort = motor torque on the link side), one in ten of
them without noise as ``~/true_joint_states`` while somebody listens, and the latched
``robot_description`` (the nominal one).  Follows
``joint_trajectory_controller/joint_trajectory`` as that controller would that goes on from its
command.
"""

from dataclasses import asdict, dataclass

import numpy as np
from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters
from rclpy.time import Time
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from .controller_state import CONTINUES
from .conversions import DEPTH, every, publish_joint_states
from .parameters import declare_options
from .running import main_of
from .simulator_clock import Simulator, SimulatorOptions, WALL_TICK
from ..errors import ConfigError, InertialIdError
from ..identification.files import read_text
from ..identification.identified_model import plain
from ..options import option
from ..simulation.arm import ArmOptions, SimulatedArm

TRAJECTORY_RESTS = 1e-6  # [rad or m] by which a trajectory that rests moves at most
COMMANDS = 'joint_trajectory_controller/joint_trajectory'


@dataclass(frozen=True)
class SimulatedRobotOptions(SimulatorOptions):
    """Which robot, how it is mounted and sampled."""

    urdf_file: str = option('', 'path of the URDF file')
    gravity_base: tuple[float, ...] = option(
        (0.0, 0.0, -9.81),
        'gravitational acceleration in the base frame: the mounting',
        unit='m/s^2',
    )
    rate: float = option(500.0, 'samples per second', unit='Hz', at_least=10.0, at_most=5000.0)
    seed: int = option(0, 'seed of everything random', at_least=0)


class SimulatedRobot(Simulator):
    """Publishes one joint state for every tick of its clock."""

    goes_on = True  # from its command, to a first point ahead
    truth_every = 10  # of how many samples one goes to ~/true_joint_states

    def __init__(self, **node_options):
        super().__init__('simulated_robot', **node_options)
        settings = declare_options(self, SimulatedRobotOptions, settable=())
        if not settings.urdf_file:
            raise ConfigError(
                'robot to simulate', expected='the parameter urdf_file', found='none'
            )
        urdf = read_text(settings.urdf_file)
        self._arm = self._make_arm(urdf, settings)
        self._commands = self.create_subscription(JointTrajectory, COMMANDS, self._follow, 10)
        self._joint_states = self.create_publisher(JointState, 'joint_states', DEPTH)
        self._truth = self.create_publisher(JointState, '~/true_joint_states', DEPTH)
        self.create_service(
            GetParameters,
            'joint_trajectory_controller/get_parameters',
            self._controller_parameters,
        )
        self._published_names = tuple(self._arm.joint_names)
        self._ticks = 0
        self.begin(settings, urdf, self._true(settings))
        every(self, max(WALL_TICK, 1 / settings.rate), self._tick)
        self.report(self._health)
        self.get_logger().info(
            f'simulating {", ".join(self._arm.joint_names)} '
            f'at {settings.rate:g} Hz, gravity {list(settings.gravity_base)} m/s^2'
        )

    def _make_arm(self, urdf, settings):
        """Return the SimulatedArm of a ``urdf`` text as SimulatedRobotOptions ``settings`` say."""
        return SimulatedArm(
            urdf,
            options=ArmOptions(rate=settings.rate, seed=settings.seed),
            gravity_base=list(settings.gravity_base),
        )

    def _tick(self):
        """Publish the samples that are due by now, unless time has to wait."""
        samples, stamps = [], []
        step = 1 / self._arm.options.rate
        for stamp_ns in self._sim_clock.steps(self._ticks * step, step):
            samples.append(self._arm.step())
            stamps.append(stamp_ns)
        self._ticks += len(samples)
        if samples:
            self._publish(samples, np.array(stamps))

    def _publish(self, samples, stamps):
        def column(kind, rows=slice(None)):
            return np.array([getattr(sample, kind) for sample in samples[rows]])

        self._send(
            self._joint_states,
            stamps,
            column('measured_q'),
            column('measured_v'),
            column('measured_tau'),
        )
        if self._truth.get_subscription_count():
            every_few = self.truth_every
            rows = slice((len(samples) - self._ticks) % every_few, None, every_few)
            if len(samples[rows]):
                self._send(
                    self._truth,
                    stamps[rows],
                    column('q', rows),
                    column('v', rows),
                    column('tau', rows),
                )

    def _send(self, publisher, stamp_ns, q, v, tau):
        """Publish joint states, stamped stamp_ns (k,) [ns]; q, v, tau : (k, n)."""
        publish_joint_states(
            publisher, stamp_ns, self._published_names, position=q, velocity=v, effort=tau
        )

    def _follow(self, trajectory):
        try:
            times, positions, *rest = self._points(trajectory)
            self._arm.follow(times, positions, *rest)
            rests = 0.0
            if times[0] < 0.0:  # one of many with a past, which are sent piece by piece
                rests = _rests(times, positions)
            self._sim_clock.piece(self._arm.time, self._arm.time + rests)
        except InertialIdError as error:
            self.get_logger().error(f'trajectory refused: {error}')

    def _points(self, trajectory):
        """Return times from now [s], positions, velocities, accelerations (None: not given)."""
        names, points = list(trajectory.joint_names), trajectory.points
        joints = self._arm.joint_names
        if sorted(names) != sorted(joints):
            raise ConfigError('joint names of the trajectory', found=names, expected=joints)
        times = np.array(
            [p.time_from_start.sec + p.time_from_start.nanosec * 1e-9 for p in points]
        )
        start_ns = Time.from_msg(trajectory.header.stamp).nanoseconds
        if start_ns:  # 0 means now
            times += (start_ns - self._sim_clock.stamp_ns(self._arm.time)) * 1e-9
        order = [names.index(name) for name in joints]
        return times, *(
            _column(kind, points, order) for kind in ('positions', 'velocities', 'accelerations')
        )

    def _controller_parameters(self, request, response):
        """Answer, as the controller would, whether it goes on from its command."""
        parameters = {
            CONTINUES: ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=self.goes_on)
        }
        response.values = [parameters.get(name, ParameterValue()) for name in request.names]
        return response

    def _health(self):
        return 'ok', 'publishing', {'published': self._ticks}

    def _true(self, settings):
        """Return the content of truth_file."""
        arm, friction = self._arm, self._arm.true_friction
        return {
            'joint_names': list(arm.joint_names),
            'gravity_base': list(settings.gravity_base),
            'friction': {'law': friction.law, **plain(asdict(friction))},
            'options': asdict(arm.options),
            'true_urdf': arm.true_urdf,
        }


def _rests(times, positions):
    """Return the time [s] of the points (m,) from which on the positions (m, n) rest."""
    moves = np.abs(positions - positions[-1]).max(1) > TRAJECTORY_RESTS
    return float(times[1:][moves[:-1]].max(initial=times[0]))


def _column(kind, points, order):
    """Return one kind of numbers of all points (m, n) in the ``order`` (n,), None when absent."""
    rows = [getattr(point, kind) for point in points]
    lengths = {len(row) for row in rows}
    if lengths == {0} and kind != 'positions':
        return None
    if rows and lengths != {len(order)}:
        raise ConfigError(
            f'{kind} of the trajectory',
            expected=f'{len(order)} in every point',
            found=f'points with {sorted(lengths)}',
        )
    return np.array(rows).reshape(len(rows), len(order))[:, order]


main = main_of(SimulatedRobot, __name__)
