"""
A body of two links on a suspended platform: the example of Homma and Yamaura (Table 1).

A trunk is bolted to the platform, a limb hangs on it in a ball joint.  Markers are numbered as in
a PoseArray: those of the platform, then those of the limb.  An IMU is mounted on the platform, two
millimetres and half a degree from where its user believes it to be.
"""

import numpy as np
from scipy.spatial.transform import Rotation
from swinging_platform import Link, MARKERS, SimulatedImu, Springs
import yaml


def _turned(sequence, *degrees):
    # One angle is one rotation: older SciPy makes a stack of one of it.
    return Rotation.from_euler(sequence, degrees, degrees=True).as_matrix().reshape(3, 3)


def _numbered(first, places):
    return {str(first + k): np.array(place, dtype=float) for k, place in enumerate(places)}


def _stiffness():
    K = np.diag([5000.0, 5500.0, 16000.0, 700.0, 800.0, 600.0])
    for i, j, value in ((0, 4, 150.0), (1, 3, -120.0), (2, 3, 80.0)):
        K[i, j] = K[j, i] = value
    return K


IMU = SimulatedImu(
    '/platform/imu', np.array([0.201, -0.1515, 0.0305]), _turned('xyz', 0.3, -0.3, 90.3)
)
SPRINGS = Springs(
    _stiffness(),
    np.diag([12.0, 12.0, 25.0, 2.0, 2.0, 2.0]),
    np.array([0.0, 0.0, 25.0 * 9.81, 0.0, 0.0, 0.0]),
)
PLATFORM = Link(
    'platform',
    25.0,
    np.array([0.01, -0.005, -0.02]),
    np.diag([1.6, 1.5, 2.9]),
    layout=_numbered(
        0,
        [
            [0.5, 0, 0],
            [0.35, 0.35, 0.03],
            [0, 0.5, 0],
            [-0.35, 0.35, 0.03],
            [-0.5, 0, 0],
            [-0.35, -0.35, 0.03],
            [0, -0.5, 0],
            [0.35, -0.35, 0.03],
            [0.2, 0.1, 0.6],
            [-0.25, -0.1, 0.55],
            [0.1, -0.3, 0.5],
            [-0.1, 0.2, 0.62],
        ],
    ),
    imu=IMU,
)
TRUNK = Link(
    'trunk',
    65.921,
    np.array([0.0, -0.3072, -0.1152]),
    np.array([[1.8506, -0.0081, -0.0024], [-0.0081, 1.4892, -0.1659], [-0.0024, -0.1659, 1.4157]]),
    position=np.array([0.0, 0.25, 0.25]),
)
LIMB = Link(
    'limb',
    14.896,
    np.array([0.0, 0.0217, -0.1747]),
    np.array([[0.0774, 0, 0], [0, 0.1020, 0.0041], [0, 0.0041, 0.0458]]),
    layout=_numbered(
        12,
        [
            [0.1, 0.1, -0.05],
            [-0.1, 0.1, -0.05],
            [0.1, -0.1, -0.05],
            [-0.1, -0.1, -0.05],
            [0.1, 0.08, -0.3],
            [-0.1, 0.08, -0.32],
            [0.09, -0.1, -0.35],
            [-0.1, -0.1, -0.3],
        ],
    ),
)
LINKS = (PLATFORM, TRUNK, LIMB)
HELD = tuple(
    [None, turn]
    for turn in (np.eye(3), _turned('x', -35), _turned('y', -90), _turned('xz', 30, 90))
)
LOOSE = tuple([None, turn] for turn in (_turned('x', 50), _turned('y', 50)))


def description():
    """Return the YAML description of the rig as its user knows it."""

    def places(link):
        return {'markers': MARKERS, 'layout': {k: v.tolist() for k, v in link.layout.items()}}

    mounted = {
        'imu': IMU.topic,
        'imu_position': [0.2, -0.15, 0.03],
        'imu_rpy': [0.0, 0.0, np.pi / 2],
    }
    return yaml.safe_dump(
        {
            'name': 'two links on a platform',
            'platform': {
                **places(PLATFORM),
                **mounted,
                'stiffness': SPRINGS.stiffness.tolist(),
                'preload': SPRINGS.preload.tolist(),
                'inertial': PLATFORM.parameters.tolist(),
            },
            'links': {
                'trunk': {
                    'parent': 'platform',
                    'joint': 'fixed',
                    'position': TRUNK.position.tolist(),
                },
                'limb': {
                    'parent': 'trunk',
                    'joint': 'spherical',
                    'position': LIMB.position.tolist(),
                    **places(LIMB),
                },
            },
            'mass': TRUNK.mass + LIMB.mass,
        },
        sort_keys=False,
    )
