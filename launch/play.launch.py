"""Play a designed motion through a joint_trajectory_controller: off until ~/play is called."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare


def generate_launch_description():
    """Return the player with its arguments in the user's words."""
    share = FindPackageShare('ros_inertial_id')
    config = [share, '/config/', LaunchConfiguration('robot'), '.yaml']
    return LaunchDescription([
        DeclareLaunchArgument('robot', default_value='generic_arm',
                              description='configuration: a name in config/ of this package'),
        DeclareLaunchArgument('motion', default_value='',
                              description='motion.yaml of inertial-id design or ~/design'),
        DeclareLaunchArgument('mounting', default_value='upright',
                              description='how the base is mounted'),
        DeclareLaunchArgument('speed', default_value='0.1',
                              description='share of the designed speed; raise it step by step'),
        DeclareLaunchArgument('periods', default_value='1', description='repetitions'),
        DeclareLaunchArgument('controller',
                              default_value='joint_trajectory_controller/joint_trajectory',
                              description='JointTrajectory topic of the controller'),
        DeclareLaunchArgument('namespace', default_value='', description='of the nodes'),
        Node(package='ros_inertial_id', executable='excitation', name='excitation',
             namespace=LaunchConfiguration('namespace'), output='screen',
             parameters=[{
                 'config': ParameterValue(config, value_type=str),
                 'design.mounting': ParameterValue(LaunchConfiguration('mounting'),
                                                   value_type=str),
                 'motion_file': ParameterValue(LaunchConfiguration('motion'), value_type=str),
                 'speed': ParameterValue(LaunchConfiguration('speed'), value_type=float),
                 'periods': ParameterValue(LaunchConfiguration('periods'), value_type=int),
                 'controller': ParameterValue(LaunchConfiguration('controller'),
                                              value_type=str)}]),
    ])
