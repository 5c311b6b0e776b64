"""Predict joint torques live with an identified model."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue


def generate_launch_description():
    """Return the prediction with its arguments in the user's words."""
    return LaunchDescription([
        DeclareLaunchArgument('model', default_value='',
                              description='model.yaml; empty: wait for the identification node'),
        DeclareLaunchArgument('mounting', default_value='',
                              description='how the base is mounted now; empty: as identified'),
        DeclareLaunchArgument('lag', default_value='0.1', description='of the predictions [s]'),
        DeclareLaunchArgument('namespace', default_value='', description='of the nodes'),
        Node(package='ros_inertial_id', executable='torque_prediction', name='torque_prediction',
             namespace=LaunchConfiguration('namespace'), output='screen',
             parameters=[{
                 'model_file': ParameterValue(LaunchConfiguration('model'), value_type=str),
                 'mounting': ParameterValue(LaunchConfiguration('mounting'), value_type=str),
                 'lag': ParameterValue(LaunchConfiguration('lag'), value_type=float)}]),
    ])
