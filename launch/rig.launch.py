"""A simulated rig: markers, IMU, wrench or torque of a mechanism, from MuJoCo."""

from ros_inertial_id.nodes.launching import launch_description


def generate_launch_description():
    """Return the simulated rig; --show-args lists the arguments."""
    return launch_description('rig')
