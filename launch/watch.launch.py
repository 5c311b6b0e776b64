"""The live page in the browser, for nodes that run already."""

from ros_inertial_id.nodes.launching import launch_description


def generate_launch_description():
    """Return all parts; --show-args lists the arguments."""
    return launch_description('watch')
