"""Identify from a bag, or from what the recorder finished last: call ~/identify."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare


def generate_launch_description():
    """Return the identification with its arguments in the user's words."""
    share = FindPackageShare('ros_inertial_id')
    config = [share, '/config/', LaunchConfiguration('robot'), '.yaml']
    return LaunchDescription([
        DeclareLaunchArgument('robot', default_value='generic_arm',
                              description='configuration: a name in config/ of this package'),
        DeclareLaunchArgument('method', default_value='serial_arm',
                              description='method of identification'),
        DeclareLaunchArgument('bag', default_value='',
                              description='bag to learn from; empty: what the recorder finished'),
        DeclareLaunchArgument('mounting', default_value='',
                              description='how the base is mounted; empty: as the bag says'),
        DeclareLaunchArgument('out', default_value='',
                              description='folder for model.yaml and report.html; empty: none'),
        DeclareLaunchArgument('online', default_value='false',
                              description='estimate while the robot moves'),
        DeclareLaunchArgument('namespace', default_value='', description='of the nodes'),
        Node(package='ros_inertial_id', executable='identification', name='identification',
             namespace=LaunchConfiguration('namespace'), output='screen',
             parameters=[{
                 'config': ParameterValue(config, value_type=str),
                 'method': ParameterValue(LaunchConfiguration('method'), value_type=str),
                 'recording': ParameterValue(LaunchConfiguration('bag'), value_type=str),
                 'mounting': ParameterValue(LaunchConfiguration('mounting'), value_type=str),
                 'out': ParameterValue(LaunchConfiguration('out'), value_type=str),
                 'online': ParameterValue(LaunchConfiguration('online'), value_type=bool)}]),
    ])
