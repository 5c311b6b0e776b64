"""
Load data: a payload in the words of controllers and descriptions, to be pasted.

All give the inertia about the centre of mass, along the axes of the controller's flange:

- UR: ``set_target_payload`` of URScript; ``set_payload`` is deprecated and knows no inertia
- Franka: ``franka::Robot::setLoad`` of libfranka, beside the end effector; of that itself,
  ``endeffector-config.json``, which Desk imports, with the identity from the flange to its tip
- KUKA: ``LOAD_DATA`` of KRL, mm and degrees, principal axes turned by A about Z, then B about Y,
  then C about X
- URDF, for MoveIt, ros2_control and simulators
"""

from collections.abc import Sequence
from itertools import permutations
import json
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..procedures.payload import Payload

MILLIMETRES = 1000.0  # in a metre
INERTIA = ('ixx', 'iyy', 'izz', 'ixy', 'ixz', 'iyz')  # elements as UR and URDF have them


def load_data(load: 'Payload') -> dict[str, str]:
    """Return {for what: text} of a ``load``, whose frame is taken for the flange."""
    mass, center, tensor = _rounded(load)
    kilograms, metres = written(mass), listed(center)
    matrix = listed(tensor.ravel())
    diagonal = [tensor[0, 0], tensor[1, 1], tensor[2, 2]]
    elements = np.array([*diagonal, tensor[0, 1], tensor[0, 2], tensor[1, 2]])
    return {
        'UR': f'set_target_payload({kilograms}, [{metres}], [{listed(elements)}])',
        'Franka': f'robot.setLoad({kilograms}, {{{{{metres}}}}}, {{{{{matrix}}}}})',
        'Franka Desk': _for_desk(load),
        'KUKA': _for_kuka(load),
        'URDF': _for_urdf(load, elements),
    }


def _rounded(load: 'Payload') -> tuple[float, np.ndarray, np.ndarray]:
    """Return mass [kg], centre (3,) [m] and inertia (3, 3) [kg m^2], as they are written."""
    return round(load.mass, 4), np.round(load.center_of_mass, 5), np.round(load.inertia, 7)


def _for_desk(load: 'Payload') -> str:
    mass, center, tensor = _rounded(load)
    content = {
        'mass': mass,
        'centerOfMass': center.tolist(),
        'inertia': tensor.ravel().tolist(),
        'transformation': np.eye(4).ravel().tolist(),
    }
    return json.dumps(content)


def _for_kuka(load: 'Payload') -> str:
    from scipy.spatial.transform import Rotation  # takes long to import: when needed

    mass, center, _ = _rounded(load)
    moments, axes = _principal(load.inertia)
    angles = Rotation.from_matrix(axes).as_euler('ZYX', degrees=True)
    pose = krl('XYZABC', (*np.round(MILLIMETRES * center, 2), *np.round(angles, 3)))
    inertia = krl('XYZ', np.round(moments, 7))
    return f'LOAD_DATA[1]={{M {written(mass)},CM {{{pose}}},J {{{inertia}}}}}'


def _principal(inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return principal moments (3,) and their axes (3, 3; columns), next to the flange's axes."""
    moments, axes = np.linalg.eigh(inertia)
    order = max(map(list, permutations(range(3))), key=lambda p: np.abs(axes[:, p]).trace())
    axes = axes[:, order]
    axes = axes * np.where(axes.diagonal() < 0.0, -1.0, 1.0)
    axes[:, 0] *= np.linalg.det(axes)  # a rotation
    return moments[order], axes


def _for_urdf(load: 'Payload', elements: np.ndarray) -> str:
    """Return a link and its joint; elements : (6,) of the inertia, in the order of INERTIA."""
    mass, center, _ = _rounded(load)
    place = listed(center).replace(',', '')
    inertia = ' '.join(f'{name}="{written(x)}"' for name, x in zip(INERTIA, elements))
    return (
        f'<link name="load"><inertial><origin xyz="{place}"/><mass value="{written(mass)}"/>'
        f'<inertia {inertia}/></inertial></link><joint name="load_joint" type="fixed">'
        f'<parent link="{load.frame}"/><child link="load"/></joint>'
    )


def load_lines(load: 'Payload') -> list[str]:
    """Return the lines of ``load_data`` below a heading that says what they take for granted."""
    return [
        f'To paste, without what the model has already; {load.frame} is taken for the flange '
        '(UR, KUKA: tool0; Franka: fr3_link8), another by --frame:',
        *(f'{name}: {text}' for name, text in load_data(load).items()),
    ]


def written(x: float) -> str:
    """Return a number ``x`` without an exponent, which not every controller reads."""
    return np.format_float_positional(x + 0.0, trim='-')


def krl(names: str, numbers: Sequence[float] | np.ndarray) -> str:
    """Return ``numbers`` by their ``names``, a letter each, as KRL has them."""
    return ','.join(f'{name} {written(x)}' for name, x in zip(names, numbers))


def listed(numbers: np.ndarray) -> str:
    """Return ``numbers`` with commas."""
    return ', '.join(map(written, numbers))
