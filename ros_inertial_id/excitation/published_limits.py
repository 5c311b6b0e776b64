"""
Figures that makers publish of their robots, each with its source.

Per robot: the endings of its joints' names, and a mark by which the names of robot or meshes tell
it from its family, both regular expressions; position [rad], velocity [rad/s], acceleration
[rad/s^2], jerk [rad/s^3], effort [N m], effort_rate [N m/s]; a number alone holds for every joint.
"""

from typing import Any

import numpy as np

UR_JOINTS = (
    'shoulder_pan_joint',
    'shoulder_lift_joint',
    'elbow_joint',
    'wrist_1_joint',
    'wrist_2_joint',
    'wrist_3_joint',
)
LBR_JOINTS = tuple(f'A{k}' for k in range(1, 8))
TURN = 2.0 * np.pi


def _degrees(*values):
    return tuple(np.radians(values))


# https://frankaemika.github.io/docs/control_parameters.html, libfranka 0.15 (155ddac)
# rate_limiting.h (computeUpperLimitsJointVelocity), franka_description (b299b39)
# robots/fr3/joint_limits.yaml and robots/fer/joint_limits.yaml
FRANKA_SOURCE = 'control parameters of its manual, franka_description, libfranka rate_limiting.h'
FR3 = {
    'name': 'Franka Research 3',
    'source': FRANKA_SOURCE,
    'mark': '',
    'joints': tuple(f'fr3_joint{k}' for k in range(1, 8)),
    'lower': (-2.7437, -1.7837, -2.9007, -3.0421, -2.8065, 0.5445, -3.0159),
    'upper': (2.7437, 1.7837, 2.9007, -0.1518, 2.8065, 4.5169, 3.0159),
    'velocity': (2.62, 2.62, 2.62, 2.62, 5.26, 4.18, 5.26),
    'acceleration': 10.0,
    'jerk': 5000.0,
    'effort_rate': 1000.0,
    'effort': (87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0),
    'offset': (0.30, 0.20, 0.20, 0.30, 0.35, 0.35, 0.35),
    'gain': (12.0, 5.17, 7.0, 8.0, 34.0, 11.0, 34.0),
    'low_end': (-2.7501, -1.7918, -2.9065, -3.0481, -2.8101, 0.54092, -3.0196),
    'high_end': (2.7501, 1.7918, 2.9065, -0.1458, 2.8101, 4.5205, 3.0196),
}
FER = {
    'name': 'Franka Emika Robot (Panda)',
    'source': FRANKA_SOURCE,
    'mark': '',
    'joints': tuple(f'(?:panda|fer)_joint{k}' for k in range(1, 8)),
    'lower': (-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973),
    'upper': (2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973),
    'velocity': (2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61),
    'acceleration': (15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0),
    'jerk': (7500.0, 3750.0, 5000.0, 6250.0, 7500.0, 10000.0, 10000.0),
    'effort_rate': 1000.0,
    'effort': (87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0),
}


def _ur(kind, velocity, effort):
    """Return the limits of a UR; velocity [deg/s] and effort of base, shoulder, elbow, wrists."""
    # Universal_Robots_ROS2_Description 2.4.5 (2221ec0), config/*/joint_limits.yaml, after the
    # user manuals and "Max. joint torques"; UR12e (49d2ca2) and UR18 (272bddd) of the same.  UR15
    # by ros-industrial/universal_robot (499e728).  UR7e: velocity and torque are those of the UR5e
    # in a copy of the maker's file.  UR publishes no accelerations: ur_moveit_config of
    # Universal_Robots_ROS2_Driver takes 5 rad/s^2.
    speeds, effort = _degrees(*velocity), (*effort, effort[-1], effort[-1])
    return {
        'name': kind,
        'source': 'joint_limits.yaml of ur_description; accelerations, which UR '
        'does not publish, as in ur_moveit_config',
        'joints': UR_JOINTS,
        'mark': rf'(?i)(?<![a-z]){kind}(?![0-9a-z])',
        'family': 'UR',
        'lower': (-TURN,) * 2 + (-np.pi,) + (-TURN,) * 3,
        'upper': (TURN,) * 2 + (np.pi,) + (TURN,) * 3,
        'velocity': (*speeds, speeds[-1], speeds[-1]),
        'acceleration': 5.0,
        'effort': effort,
    }


def _lbr(kind, velocity, effort):
    """Return the limits of an LBR iiwa or med; velocity [deg/s] and effort (7,) [N m]."""
    # KUKA brochure "Sensitive robotics. LBR iiwa", p. 30 (velocity, torque), as quoted for the 14
    # by drake manipulation/models/iiwa_description/README.md, for both by iiwa_ros (9d2b99f)
    # iiwa_description/urdf/iiwa7.xacro, iiwa14.xacro; lbr_fri_ros2_stack (218d723) lbr_description
    # joint_limits.yaml: position, velocity; lbr_moveit_config: acceleration, which KUKA does not
    # publish
    range_ = np.array(_degrees(170, 120, 170, 120, 170, 120, 175))
    return {
        'name': f'KUKA LBR {kind}',
        'source': "KUKA's specification; accelerations, which "
        'KUKA does not publish, as in lbr_moveit_config',
        'joints': LBR_JOINTS,
        'mark': rf'(?i)(?:iiwa|med)_?{kind.split()[1]}(?![0-9])',
        'lower': tuple(-range_),
        'upper': tuple(range_),
        'velocity': _degrees(*velocity),
        'acceleration': 10.0,
        'effort': effort,
    }


def _gen3(joints, large, ranges):
    """Return the limits of a Kinova Gen3 whose first ``large`` joints are large actuators."""
    # ros2_kortex (1fdbef3), kortex_description/arms/gen3/*: gen3_macro.xacro (position, velocity,
    # effort), config/joint_limits.yaml (acceleration)
    small = joints - large
    upper = tuple(ranges.get(k, np.inf) for k in range(1, joints + 1))
    return {
        'name': f'Kinova Gen3, {joints} joints',
        'source': 'kortex_description of ros2_kortex',
        'joints': tuple(f'joint_{k}' for k in range(1, joints + 1)),
        'mark': r'(?i)gen3(?!_lite)',
        'lower': tuple(-x for x in upper),
        'upper': upper,
        'velocity': (1.3963,) * large + (1.2218,) * small,
        'acceleration': (1.0,) * large + (10.0,) * small,
        'effort': (39.0,) * large + (9.0,) * small,
    }


IIWA_7 = ((98, 98, 100, 130, 140, 180, 180), (176.0, 176.0, 110.0, 110.0, 110.0, 40.0, 40.0))
IIWA_14 = ((85, 85, 100, 75, 130, 135, 135), (320.0, 320.0, 176.0, 176.0, 110.0, 40.0, 40.0))
ROBOTS: dict[str, dict[str, Any]] = {
    'fr3': FR3,
    'fer': FER,
    'ur3e': _ur('UR3e', (180, 180, 180, 360), (54.0, 54.0, 28.0, 9.0)),
    'ur5e': _ur('UR5e', (180, 180, 180, 180), (150.0, 150.0, 150.0, 28.0)),
    'ur10e': _ur('UR10e', (120, 120, 180, 180), (330.0, 330.0, 150.0, 54.0)),
    'ur16e': _ur('UR16e', (120, 120, 180, 180), (330.0, 330.0, 150.0, 54.0)),
    'ur7e': _ur('UR7e', (180, 180, 180, 180), (150.0, 150.0, 150.0, 28.0)),
    'ur12e': _ur('UR12e', (120, 120, 180, 180), (330.0, 330.0, 150.0, 54.0)),
    'ur15': _ur('UR15', (180, 180, 240, 300), (433.0, 433.0, 204.0, 70.0)),
    'ur18': _ur('UR18', (180, 180, 240, 300), (433.0, 433.0, 204.0, 70.0)),
    'ur20': _ur('UR20', (120, 120, 150, 210), (738.0, 738.0, 433.0, 107.0)),
    'ur30': _ur('UR30', (120, 120, 150, 210), (738.0, 738.0, 433.0, 107.0)),
    'iiwa7': _lbr('iiwa 7 R800', *IIWA_7),
    'iiwa14': _lbr('iiwa 14 R820', *IIWA_14),
    'gen3': _gen3(7, 4, {2: 2.24, 4: 2.57, 6: 2.09}),
    'gen3_6dof': _gen3(6, 3, {2: 2.24, 3: 2.57, 5: 2.09}),
}
