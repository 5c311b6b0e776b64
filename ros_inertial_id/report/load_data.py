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


def load_data(load: 'Payload') -> dict[str, str]:
    """Return {for what: text} of a ``load``, whose frame is taken for the flange."""
    mass, center = round(load.mass, 4), np.round(load.center_of_mass, 5)
    tensor = np.round(load.inertia, 7)
    moments, axes = np.linalg.eigh(load.inertia)  # principal ones, next to those of the flange
    order = max(map(list, permutations(range(3))), key=lambda p: np.abs(axes[:, p]).trace())
    moments, axes = moments[order], axes[:, order]
    axes = axes * np.where(axes.diagonal() < 0.0, -1.0, 1.0)
    axes[:, 0] *= np.linalg.det(axes)  # a rotation
    m, c, nine = written(mass), listed(center), listed(tensor.ravel())
    six = [written(tensor[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    named = ' '.join(f'i{pair}="{x}"' for pair, x in zip('xx yy zz xy xz yz'.split(), six))
    from scipy.spatial.transform import Rotation  # takes long to import: when needed

    angles = Rotation.from_matrix(axes).as_euler('ZYX', degrees=True)
    pose = (*np.round(1e3 * center, 2), *np.round(angles, 3))
    krl_center, krl_moments = krl('XYZABC', pose), krl('XYZ', np.round(moments, 7))
    desk = {
        'mass': mass,
        'centerOfMass': center.tolist(),
        'inertia': tensor.ravel().tolist(),
        'transformation': np.eye(4).ravel().tolist(),
    }
    return {
        'UR': f'set_target_payload({m}, [{c}], [{", ".join(six)}])',
        'Franka': f'robot.setLoad({m}, {{{{{c}}}}}, {{{{{nine}}}}})',
        'Franka Desk': json.dumps(desk),
        'KUKA': f'LOAD_DATA[1]={{M {m},CM {{{krl_center}}},J {{{krl_moments}}}}}',
        'URDF': f'<link name="load"><inertial><origin xyz="{c.replace(",", "")}"/><mass '
        f'value="{m}"/><inertia {named}/></inertial></link><joint name="load_joint" '
        f'type="fixed"><parent link="{load.frame}"/><child link="load"/></joint>',
    }


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
