"""The payload behind a wrist sensor as a further link of the arm's URDF."""

from collections.abc import Sequence
from xml.etree import ElementTree as xml

import numpy as np

from .rig import PAYLOAD
from ...dynamics.inertial_parameters import about_center, check_consistent
from ...errors import RobotModelError


def urdf_with_payload(urdf: str, frame: str, parameters: np.ndarray | Sequence[float]) -> str:
    """
    Return the URDF text with a link PAYLOAD fixed to the link ``frame``, and nothing else changed.

    parameters : (10,) of the payload about and along that frame
    EstimationError when no body has them; RobotModelError without such a link.
    urdf : text of the arm without the payload
    """
    links = [link.get('name') for link in xml.fromstring(urdf).findall('link')]
    if frame not in links:
        raise RobotModelError(
            'the payload cannot be put into the URDF',
            expected='the link in whose frame the sensor measures',
            found=repr(frame),
            exists=links,
        )
    if PAYLOAD in links:
        raise RobotModelError(
            f'the URDF has a link {PAYLOAD!r} already',
            do='give the URDF of the arm without its payload',
        )
    pi = np.asarray(parameters, dtype=float)
    check_consistent(pi, 'the payload')
    mass, centre, inertia = about_center(pi)
    places = {
        f'i{"xyz"[i]}{"xyz"[j]}': float(inertia[i, j]) for i in range(3) for j in range(i, 3)
    }
    tensor = ' '.join(f'{key}="{value!r}"' for key, value in places.items())
    new = f"""  <link name="{PAYLOAD}">
    <inertial>
      <origin xyz="{' '.join(repr(float(x)) for x in centre)}"/>
      <mass value="{mass!r}"/>
      <inertia {tensor}/>
    </inertial>
  </link>
  <joint name="{PAYLOAD}_joint" type="fixed">
    <parent link="{frame}"/>
    <child link="{PAYLOAD}"/>
  </joint>
"""
    end = urdf.rindex('</robot>')
    return urdf[:end] + new + urdf[end:]
