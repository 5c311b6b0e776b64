"""
A robot driver as its maker's: simulated_driver.py PROFILE URDF [INACTIVE].

The arm of the URDF, moved by MuJoCo, under the names, rates, units and controllers of a profile
of driver_profiles.py.  INACTIVE : a controller that somebody has deactivated.  The service
controller_manager/list_controllers is there where controller_manager_msgs is installed.
"""

from array import array
import importlib
import math
from pathlib import Path
import sys
import tempfile

from controlled_robot import ControlledArmOptions, ControlledRobot
from driver_profiles import descriptions, FINGERS, PROFILES
import numpy as np
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String
from trajectory_msgs.msg import JointTrajectory

from ros_inertial_id.nodes.conversions import every, latched
from ros_inertial_id.nodes.running import run

TRAJECTORY = ('joint_trajectory_controller', 'arm_controller')  # how those that follow are called


class SimulatedDriver(ControlledRobot):
    """
    The simulated arm with all that is around it in a driver.

    profile : a Profile; urdf : of the arm; inactive : name of a controller, or ''
    """

    def __init__(self, profile, urdf, inactive=''):
        self._profile = profile
        published, simulated = descriptions(urdf, profile)
        self._order = [profile.joints.index(name) for name in profile.published]
        self._states = {**profile.controllers, **({inactive: 'inactive'} if inactive else {})}
        self._filtered = self._before = self._newest = None
        # What the simulated robot calls it -> what the driver calls it, once each.
        self._names = {
            'joint_states': profile.joint_states,
            'joint_trajectory_controller/joint_trajectory':
                f'{profile.controller}/joint_trajectory',
            'robot_description': '~/simulated_description',
            'speed_scaling_state_broadcaster/speed_scaling': '~/speed_scaling'}
        with tempfile.NamedTemporaryFile('w', suffix='.urdf') as file:
            file.write(simulated)
            file.flush()
            super().__init__(file.name, ControlledArmOptions(rate=profile.rate))
        self._published_names = tuple(profile.published)
        self._described = self.create_publisher(String, 'robot_description', latched())
        self._described.publish(String(data=published))
        for name in self._states:  # a controller listens from its configuration on
            if 'joint_trajectory' in name and name != profile.controller:
                self.create_subscription(
                    JointTrajectory, f'{name}/joint_trajectory', lambda _: None, 10)
        if profile.copy_rate:
            self._copies = self.create_publisher(JointState, 'joint_states', 10)
            every(self, 1 / profile.copy_rate, self._copy)
        if profile.scaling:
            self._speed = self.create_publisher(
                Float64, 'speed_scaling_state_broadcaster/speed_scaling', 10)
            every(self, 0.01, lambda: self._speed.publish(Float64(data=100.0)))
        self._list_controllers()

    def create_publisher(self, kind, topic, qos, **options):
        return super().create_publisher(kind, self._names.pop(topic, topic), qos, **options)

    def create_subscription(self, kind, topic, *rest, **options):
        return super().create_subscription(kind, self._names.pop(topic, topic), *rest, **options)

    def _list_controllers(self):
        try:
            service = importlib.import_module('controller_manager_msgs.srv').ListControllers
            state = importlib.import_module('controller_manager_msgs.msg').ControllerState
        except ImportError:
            return

        def answer(_, response):
            response.controller = [
                state(name=name, state=word, type='joint_trajectory_controller/'
                      'JointTrajectoryController' if name.endswith(TRAJECTORY) else name)
                for name, word in self._states.items()]
            return response

        self.create_service(service, 'controller_manager/list_controllers', answer)

    def _follow(self, trajectory):
        if self._states[self._profile.controller] == 'active':
            super()._follow(trajectory)

    def _send(self, publisher, stamp_ns, q, v, tau):
        """Publish as the driver does: its order, its unit and sign of effort, its filter."""
        profile = self._profile
        if publisher is self._joint_states:
            if profile.current:
                tau = tau * profile.current
            if profile.cutoff:
                v, tau = (np.array(x) for x in zip(*map(self._by_fri, q, tau)))
            if profile.negated:
                tau = -tau
            q, v, tau = (x[:, self._order] for x in (q, v, tau))
            self._newest = q[-1], v[-1], tau[-1]
        super()._send(publisher, stamp_ns, q, v, tau)

    def _by_fri(self, q, tau):
        """Return velocity (of the last step) and effort (filtered) as lbr_fri_ros2 has them."""
        wave = math.cos(2 * math.pi * self._profile.cutoff / self._profile.rate)
        share = wave - 1 + math.sqrt(wave ** 2 - 4 * wave + 3)
        if self._filtered is None:
            self._filtered, self._before = tau, q
        v = (q - self._before) * self._profile.rate
        self._filtered = share * tau + (1 - share) * self._filtered
        self._before = q
        return v, self._filtered

    def _copy(self):
        """Publish the newest of all sources, as joint_state_publisher does."""
        if self._newest is None:
            return
        still = np.zeros(len(FINGERS) if self._profile.fingers else 0)
        q, v, tau = (np.concatenate([x, still]) for x in self._newest)
        names = [*self._profile.published, *FINGERS[:len(still)]]
        copy = JointState(name=names, position=array('d', q), velocity=array('d', v),
                          effort=array('d', tau))
        copy.header.stamp = Time(nanoseconds=self._sim_clock.stamp_ns(self._arm.time)).to_msg()
        self._copies.publish(copy)


def main(name, urdf, inactive=''):
    """Run the driver of profile ``name`` with an arm until a signal comes."""
    profile = PROFILES[name]
    args = ['--ros-args', '-r', f'__ns:=/{profile.namespace}']
    return run(lambda: SimulatedDriver(profile, Path(urdf).read_text(), inactive), args)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
