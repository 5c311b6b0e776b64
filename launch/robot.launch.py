"""The whole chain on a robot: player, recorder, identification and prediction."""

from ros_inertial_id.nodes.launching import launch_description


def generate_launch_description():
    """Return all parts; --show-args lists the arguments."""
    return launch_description('robot')
