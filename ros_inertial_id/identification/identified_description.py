"""
The description with what was identified in it: a URDF, or the YAML of a rig.
"""

from .robot import robot_of
from ..errors import EstimationError
from ..estimation.corrected_urdf import corrected_urdf
from ..estimation.payload_urdf import urdf_with_payload
from ..methods.bodies.body_rig import PAYLOAD
from ..methods.bodies.description_text import with_inertials

WRENCH = 'geometry_msgs/msg/WrenchStamped'


def identified_description(model, recording, options, urdf=''):
    """
    Return the text of the robot's description with consistent parameters of a model.

    recording : one that the model is of; urdf : text, '' for the recording's own
    A URDF keeps all but its inertial and friction numbers; one whose arm carries a payload behind
    a sensor gets that payload as a further link; a rig's YAML gets ``inertial`` of its bodies.
    """
    links = model.statistics.get('consistent', {}).get('links')
    if links is None:
        raise EstimationError('the model has no consistent parameters',
                              do='identify with --consistent')
    robot = robot_of(recording, options, urdf, model.method)
    if '<robot' not in robot.urdf:
        return with_inertials(robot.urdf, links)
    if tuple(links) == (PAYLOAD,) and model.method == 'rigid_body':
        frame = options.wrench_frame or _stamped_frame(recording, options.wrench_topic)
        return urdf_with_payload(robot.urdf, frame, links[PAYLOAD])
    return corrected_urdf(robot, model.parameters, model.values, model.validity_range)


def _stamped_frame(recording, topic):
    channels = recording.of_type(WRENCH)
    return (channels[topic] if topic else next(iter(channels.values()))).frame_id
