"""Play a designed motion through a joint_trajectory_controller: off until ~/play is called."""

from ros_inertial_id.nodes.launching import launch_description


def generate_launch_description():
    """Return the player; --show-args lists the arguments."""
    return launch_description('play')
