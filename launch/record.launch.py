"""Record joint states (and more) into a bag: call ~/start and ~/stop of the recorder."""

from ros_inertial_id.nodes.launching import launch_description


def generate_launch_description():
    """Return the recorder; --show-args lists the arguments."""
    return launch_description('record')
