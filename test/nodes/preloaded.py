"""
What the server loads once of whose forks our nodes are made, see live_graph.py.

Two thirds of the CPU time of a node's start are imports that rclpy does with the first message of
each package, and the search of all modules for the source of its first log line.
"""

import gc
from importlib import import_module
from importlib.util import find_spec
import inspect
import sys

from rosidl_generator_py import import_type_support

from ros_inertial_id.measurement.bags.definitions import typestore

NODES = (
    'recorder',
    'identification',
    'torque_prediction',
    'excitation',
    'simulated_robot',
    'simulated_rig',
    'watch',
)
WHEN_NEEDED = ('live_graph', 'mujoco', 'service_msgs.msg', 'type_description_interfaces.srv')
MESSAGES = (
    'builtin_interfaces',
    'diagnostic_msgs',
    'geometry_msgs',
    'rcl_interfaces',
    'rosgraph_msgs',
    'sensor_msgs',
    'service_msgs',
    'std_msgs',
    'std_srvs',
    'trajectory_msgs',
    'type_description_interfaces',
)

for module in (*(f'ros_inertial_id.nodes.{name}' for name in NODES), *WHEN_NEEDED):
    if find_spec(module.partition('.')[0]):
        import_module(module)
for package in MESSAGES:
    import_type_support(package)
typestore()
inspect.getmodule(sys._getframe())  # keeps what it finds
gc.freeze()  # a collection in a fork would copy all of this
