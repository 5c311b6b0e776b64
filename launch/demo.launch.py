"""The whole chain on a simulated robot: as robot.launch.py, with MuJoCo in the robot's place."""

from ros_inertial_id.nodes.launching import launch_description


def generate_launch_description():
    """Return the simulated robot and all parts; --show-args lists the arguments."""
    return launch_description('demo')
