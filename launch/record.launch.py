"""Record joint states (and more) into a bag: call ~/start and ~/stop of the recorder."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue


def generate_launch_description():
    """Return the recorder with its arguments in the user's words."""
    return LaunchDescription([
        DeclareLaunchArgument('topics', default_value='[joint_states]',
                              description='topics to record, as a YAML list'),
        DeclareLaunchArgument('out', default_value='recordings',
                              description='folder of the bags'),
        DeclareLaunchArgument('mounting', default_value='upright',
                              description='how the base is mounted: upright, rpy R P Y, '
                                          'gravity X Y Z, rho_phi RHO PHI, imu'),
        DeclareLaunchArgument('namespace', default_value='', description='of the nodes'),
        Node(package='ros_inertial_id', executable='recorder', name='recorder',
             namespace=LaunchConfiguration('namespace'), output='screen',
             parameters=[{
                 'topics': ParameterValue(LaunchConfiguration('topics')),
                 'out': ParameterValue(LaunchConfiguration('out'), value_type=str),
                 'mounting': ParameterValue(LaunchConfiguration('mounting'), value_type=str)}]),
    ])
