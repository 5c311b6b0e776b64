"""The whole chain on a simulated robot: as robot.launch.py, with MuJoCo in the robot's place."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare


def generate_launch_description():
    """Return the simulated robot and all parts."""
    share = FindPackageShare('ros_inertial_id')
    urdf = [share, '/urdf/', LaunchConfiguration('arm'), '.urdf']
    return LaunchDescription([
        DeclareLaunchArgument('arm', default_value='franka', choices=['franka', 'arm2', 'arm3'],
                              description='simulated arm'),
        DeclareLaunchArgument('motion', default_value='',
                              description='motion.yaml of inertial-id design'),
        DeclareLaunchArgument('speed', default_value='1.0',
                              description='share of the designed speed'),
        DeclareLaunchArgument('out', default_value='demo',
                              description='folder of bags, model and report'),
        Node(package='ros_inertial_id', executable='simulated_robot', name='simulated_robot',
             output='screen', parameters=[{'urdf_file': ParameterValue(urdf, value_type=str)}]),
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource([share, '/launch/robot.launch.py']),
            launch_arguments={name: LaunchConfiguration(name)
                              for name in ('motion', 'speed', 'out')}.items()),
    ])
