"""
Torque from the topics of ``identification``: what a controller needs, without YAML.

    python3 identified_torque.py --ros-args -r __ns:=/arm

Reads latched robot_description, identification/base_parameters and identification/prediction_band
once each (keys and formulas: doc/contract.md); then ``IdentifiedTorque.torque(q, v, a)`` costs
one call of pinocchio, and ``PredictionBand.half_width(q, v, a)`` says how far it may be wrong: a
larger difference to the measured torque is not the model's.  identified_torque.hpp beside this
file is both in C++.
"""

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import pinocchio
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.wait_for_message import wait_for_message
from std_msgs.msg import String

STEP = 0.01  # [rad/s] of the sign function in Stribeck's laws
LAWS = {  # f(q, v, a, c) of a joint, by name
    'viscous': lambda q, v, a, c: v,
    'presliding': lambda q, v, a, c: np.sign(v),  # developed; c [rad] after a reversal it is less
    'coulomb': lambda q, v, a, c: np.tanh(v / c) if c else np.sign(v),
    'coulomb_atan': lambda q, v, a, c: 2 / np.pi * np.arctan(v / c) if c else np.sign(v),
    'asymmetric': lambda q, v, a, c: abs(np.tanh(v / c)),
    'stiction': lambda q, v, a, c: 2 / np.pi * np.arctan(v / c) if c else np.sign(v),
    'stribeck_atan': lambda q, v, a, c: (
        (2 / np.pi) ** 2 * np.arctan(c * abs(v)) * np.arctan(v / STEP)
    ),
    'stribeck': lambda q, v, a, c: np.exp(-((v / c) ** 2)) * np.tanh(v / STEP),
    'power': lambda q, v, a, c: np.sign(v) * abs(v) ** c,
    'offset': lambda q, v, a, c: 1.0,
    'armature': lambda q, v, a, c: a,
    'spring': lambda q, v, a, c: q,
    'spring2': lambda q, v, a, c: q**2,
    'spring3': lambda q, v, a, c: q**3,
    'sine1': lambda q, v, a, c: np.sin(q),
    'cosine1': lambda q, v, a, c: np.cos(q),
    'sine2': lambda q, v, a, c: np.sin(2 * q),
    'cosine2': lambda q, v, a, c: np.cos(2 * q),
    'sine3': lambda q, v, a, c: np.sin(3 * q),
    'cosine3': lambda q, v, a, c: np.cos(3 * q),
    'sine4': lambda q, v, a, c: np.sin(4 * q),
    'cosine4': lambda q, v, a, c: np.cos(4 * q),
    'coulomb_load': lambda q, v, a, c: np.tanh(v / c),  # times abs(n), see ``torque``
}


ELEMENTS = ('m', 'mcx', 'mcy', 'mcz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')  # as in pinocchio


def rows_of(message):
    """Return [(name, owner, {key: text})] of a diagnostic_msgs/DiagnosticArray."""
    return [
        (row.name, row.hardware_id, {pair.key: pair.value for pair in row.values})
        for row in message.status
    ]


def joint_of(model, owner, values):
    """Return the number in a pinocchio model of the joint that owns a row, or carries its link."""
    if 'element' in values:
        return model.frames[model.getFrameId(owner, pinocchio.BODY)].parentJoint
    return model.getJointId(owner)


class IdentifiedTorque:
    """
    Joint torques of the identified robot.

    description : text of robot_description
    message : diagnostic_msgs/DiagnosticArray of identification/base_parameters
    """

    def __init__(self, description, message):
        rows = rows_of(message)
        model = pinocchio.buildModelFromXML(description)
        moving = {joint_of(model, owner, values) for _, owner, values in rows if owner}
        held = [k for k in range(1, model.njoints) if k not in moving]
        self.model = pinocchio.buildReducedModel(model, held, pinocchio.neutral(model))
        self.data = self.model.createData()
        self.joint_names = list(self.model.names)[1:]
        self._pi = np.zeros(10 * (self.model.njoints - 1))
        self._terms = []  # (joint, law, used, its constant)
        for name, owner, values in rows:
            if name == 'gravity_base':
                self.model.gravity.linear = np.array([float(values[axis]) for axis in 'xyz'])
                continue
            joint, used = joint_of(self.model, owner, values) - 1, float(values['used'])
            if 'element' in values:
                self._pi[10 * joint + ELEMENTS.index(values['element'])] += used
            else:
                self._terms.append((joint, LAWS[values['law']], used, float(values.get('c', 0))))

    def torque(self, q, v, a):
        """Return the torques (n,) [N m] at q, v, a (n,), in the order of ``joint_names``."""
        tau = pinocchio.computeJointTorqueRegressor(self.model, self.data, q, v, a) @ self._pi
        n = pinocchio.rnea(self.model, self.data, q, v, a)  # by the bodies of the description
        for joint, law, used, c in self._terms:
            load = abs(n[joint]) if law is LAWS['coulomb_load'] else 1.0
            tau[joint] += used * load * law(q[joint], v[joint], a[joint], c)
        return tau


class PredictionBand:
    """
    How far the identified torque may be from the robot's: 95 % of motion like the training.

    message : diagnostic_msgs/DiagnosticArray of identification/prediction_band
    joint_names : in whose order states are given
    """

    def __init__(self, message, joint_names):
        terms = {name: values for name, _, values in rows_of(message)}
        self._terms = {
            key: np.array([float(terms[joint][key]) for joint in joint_names])
            for key in terms[joint_names[0]]
        }

    def half_width(self, q, v, a):
        """Return half the width (n,) [N m] at q, v, a (n,), and how far out of range it is."""
        t, away = self._terms, []
        for name, x in (('q', q), ('v', v), ('a', a)):
            low, high = t[f'{name}_low'], t[f'{name}_high']
            way = abs(np.asarray(x) - (low + high) / 2)
            if name == 'q':  # a joint that turns is where it was, a turn further
                way = np.where(t['turns'] > 0, abs((way + np.pi) % (2 * np.pi) - np.pi), way)
            with np.errstate(divide='ignore', invalid='ignore'):
                beyond = 2 * way / (high - low) - 1
            beyond = np.where((high > low) & (beyond > 0.04), beyond, 0.0)
            # Positions of all joints count, as they turn the weight.
            away.append(np.full_like(beyond, beyond.max()) if name == 'q' else beyond)
        away, speed = np.max(away, axis=0), abs(np.asarray(v))
        near = np.where(t['slow'] > 0, 1 - speed / np.maximum(t['slow'], 1e-200), 0)
        half = (
            t['constant']
            + t['per_speed'] * speed
            + t['per_acceleration'] * abs(np.asarray(a))
            + t['near_reversal'] * np.maximum(near, 0)
        )
        return half * (1 + away), away


def main():
    """Wait for the topics and print the torque that holds the robot at rest, with its band."""
    rclpy.init()
    node = rclpy.create_node('identified_torque')
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    texts = wait_for_message(String, node, 'robot_description', qos_profile=latched)
    tables = wait_for_message(
        DiagnosticArray, node, 'identification/base_parameters', qos_profile=latched
    )
    bands = wait_for_message(
        DiagnosticArray, node, 'identification/prediction_band', qos_profile=latched
    )
    robot = IdentifiedTorque(texts[1].data, tables[1])
    band = PredictionBand(bands[1], robot.joint_names)
    none = np.zeros(robot.model.nv)
    torque, (half, _) = robot.torque(none, none, none), band.half_width(none, none, none)
    print(
        {
            joint: f'{x:.3f} +- {error:.3f}'
            for joint, x, error in zip(robot.joint_names, torque, half)
        }
    )
    node.destroy_node()
    rclpy.shutdown()


if __name__ == '__main__':
    main()
