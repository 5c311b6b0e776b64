"""
Torque from the topics of ``identification``: what a controller needs, without YAML.

    python3 identified_torque.py --ros-args -r __ns:=/arm

Reads latched robot_description and identification/base_parameters once each (layout and formulas:
doc/contract.md); then ``IdentifiedTorque.torque(q, v, a)`` costs one call of
pinocchio.  identified_torque.hpp beside this file is the same in C++.
"""

import numpy as np
import pinocchio
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.wait_for_message import wait_for_message
from std_msgs.msg import Float64MultiArray, String

STEP = 0.01  # [rad/s] of the sign function in stiction and Stribeck's laws
LAWS = {  # column(q, v, a, nonlinear) of a joint, by name
    'viscous': lambda q, v, a, c: v,
    'presliding': lambda q, v, a, c: np.sign(v),  # developed; c [rad] after a reversal it is less
    'coulomb': lambda q, v, a, c: np.tanh(v / c) if c else np.sign(v),
    'coulomb_atan': lambda q, v, a, c: 2 / np.pi * np.arctan(v / c) if c else np.sign(v),
    'asymmetric': lambda q, v, a, c: abs(np.tanh(v / c)),
    'stiction': lambda q, v, a, c: 2 / np.pi * np.arctan(v / STEP),
    'stribeck_atan': lambda q, v, a, c: (2 / np.pi) ** 2 * np.arctan(c * abs(v))
    * np.arctan(v / STEP),
    'stribeck': lambda q, v, a, c: np.exp(-(v / c) ** 2) * np.tanh(v / STEP),
    'power': lambda q, v, a, c: np.sign(v) * abs(v) ** c,
    'offset': lambda q, v, a, c: 1.0,
    'armature': lambda q, v, a, c: a,
    'spring': lambda q, v, a, c: q,
    'spring2': lambda q, v, a, c: q ** 2,
    'spring3': lambda q, v, a, c: q ** 3,
    'sine1': lambda q, v, a, c: np.sin(q),
    'cosine1': lambda q, v, a, c: np.cos(q),
    'sine2': lambda q, v, a, c: np.sin(2 * q),
    'cosine2': lambda q, v, a, c: np.cos(2 * q),
    'sine3': lambda q, v, a, c: np.sin(3 * q),
    'cosine3': lambda q, v, a, c: np.cos(3 * q),
    'coulomb_load': lambda q, v, a, c: np.tanh(v / c),  # times abs(n), see ``torque``
}


class IdentifiedTorque:
    """
    Joint torques of the identified robot.

    description : text of robot_description
    table : std_msgs/Float64MultiArray of identification/base_parameters
    """

    def __init__(self, description, table):
        names, columns, owners, laws, gravity = (d.label.split(',') for d in table.layout.dim)
        rows = np.array(table.data).reshape(len(names), len(columns))
        used, owner, element, law, nonlinear = (
            rows[:, columns.index(name)]
            for name in ('used', 'owner', 'element', 'law', 'nonlinear'))
        model = pinocchio.buildModelFromXML(description)
        moving = {model.frames[model.getFrameId(link)].parentJoint
                  for link in owners if model.existBodyName(link)}
        held = [k for k in range(1, model.njoints) if k not in moving]
        self.model = pinocchio.buildReducedModel(model, held, pinocchio.neutral(model))
        self.model.gravity.linear = np.array(gravity, dtype=float)
        self.data = self.model.createData()
        self.joint_names = list(self.model.names)[1:]
        self._pi = np.zeros(10 * (self.model.njoints - 1))
        self._terms = []  # (joint, law, coefficient, nonlinear constant)
        for k, name in enumerate(owners[int(o)] for o in owner):
            if element[k] >= 0:
                frame = self.model.frames[self.model.getFrameId(name, pinocchio.BODY)]
                self._pi[10 * (frame.parentJoint - 1) + int(element[k])] += used[k]
            else:
                self._terms.append((self.joint_names.index(name), LAWS[laws[int(law[k])]],
                                    used[k], nonlinear[k]))

    def torque(self, q, v, a):
        """Return the torques (n,) [N m] at q, v, a (n,), in the order of ``joint_names``."""
        tau = pinocchio.computeJointTorqueRegressor(self.model, self.data, q, v, a) @ self._pi
        n = pinocchio.rnea(self.model, self.data, q, v, a)  # by the bodies of the description
        for joint, law, coefficient, nonlinear in self._terms:
            load = abs(n[joint]) if law is LAWS['coulomb_load'] else 1.0
            tau[joint] += coefficient * load * law(q[joint], v[joint], a[joint], nonlinear)
        return tau


def main():
    """Wait for the two topics and print the torque that holds the robot at rest."""
    rclpy.init()
    node = rclpy.create_node('identified_torque')
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    texts = wait_for_message(String, node, 'robot_description', qos_profile=latched)
    tables = wait_for_message(Float64MultiArray, node, 'identification/base_parameters',
                              qos_profile=latched)
    robot = IdentifiedTorque(texts[1].data, tables[1])
    none = np.zeros(robot.model.nv)
    print(dict(zip(robot.joint_names, robot.torque(none, none, none).round(3).tolist())))
    node.destroy_node()
    rclpy.shutdown()


if __name__ == '__main__':
    main()
