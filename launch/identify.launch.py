"""Identify from a bag, or from what the recorder finished last: call ~/identify."""

from ros_inertial_id.nodes.launching import launch_description


def generate_launch_description():
    """Return the identification; --show-args lists the arguments."""
    return launch_description('identify')
