"""The whole chain on a robot: player, recorder, identification and prediction."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.substitutions import FindPackageShare

PARTS = {
    'play': ('robot', 'motion', 'mounting', 'speed', 'periods', 'controller', 'namespace'),
    'record': ('topics', 'out', 'mounting', 'namespace'),
    'identify': ('robot', 'out', 'online', 'namespace'),
    'predict': ('namespace',),
}


def generate_launch_description():
    """Return all parts with the arguments they share."""
    arguments = [
        DeclareLaunchArgument('robot', default_value='generic_arm',
                              description='configuration: a name in config/ of this package'),
        DeclareLaunchArgument('motion', default_value='',
                              description='motion.yaml of inertial-id design'),
        DeclareLaunchArgument('speed', default_value='0.1',
                              description='share of the designed speed; raise it step by step'),
        DeclareLaunchArgument('periods', default_value='1', description='repetitions'),
        DeclareLaunchArgument('controller',
                              default_value='joint_trajectory_controller/joint_trajectory',
                              description='JointTrajectory topic of the controller'),
        DeclareLaunchArgument('topics', default_value='[joint_states, excitation/periods]',
                              description='topics to record, as a YAML list'),
        DeclareLaunchArgument('mounting', default_value='upright',
                              description='how the base is mounted'),
        DeclareLaunchArgument('out', default_value='recordings',
                              description='folder of bags, model and report'),
        DeclareLaunchArgument('online', default_value='false',
                              description='estimate while the robot moves'),
        DeclareLaunchArgument('namespace', default_value='', description='of the nodes'),
    ]
    parts = [IncludeLaunchDescription(
        PythonLaunchDescriptionSource(
            [FindPackageShare('ros_inertial_id'), f'/launch/{part}.launch.py']),
        launch_arguments={name: LaunchConfiguration(name) for name in names}.items())
        for part, names in PARTS.items()]
    return LaunchDescription(arguments + parts)
