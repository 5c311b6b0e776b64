"""Predict joint torques live with an identified model."""

from ros_inertial_id.nodes.launching import launch_description


def generate_launch_description():
    """Return the prediction; --show-args lists the arguments."""
    return launch_description('predict')
