"""A simulated rig: markers, IMU, wrench or torque of a mechanism, from MuJoCo."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue


def generate_launch_description():
    """Return the simulated rig."""
    return LaunchDescription([
        DeclareLaunchArgument('rig', default_value='slider_crank',
                              choices=['slider_crank', 'suspended_platform', 'wrist_sensor'],
                              description='what is simulated'),
        Node(package='ros_inertial_id', executable='simulated_rig', name='simulated_rig',
             output='screen', parameters=[{
                 'rig': ParameterValue(LaunchConfiguration('rig'), value_type=str)}]),
    ])
