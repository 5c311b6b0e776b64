"""Descriptions of rigs: YAML read with messages that name what is wrong, and written back."""

from dataclasses import replace
from typing import Any, Mapping, Sequence

import numpy as np
from scipy.spatial.transform import Rotation
import yaml

from ..measurement.sources import BodySource
from ...errors import ConfigError, RobotModelError
from ...options import yaml_content

BODIES = ('links', 'bodies')  # of a platform, of rigid_body
MOTIONS = ('pose', 'markers', 'imu')
LARGEST_NUMBER = 1e12  # of numbers in SI units: no stiffness and no inertia of a rig is beyond


def read_description(text: str, known: Sequence[str]) -> dict[str, Any]:
    """
    Return the mapping in a YAML text, unknown keys refused.

    text : the YAML; known : keys that may stand in it.  Raises ConfigError, RobotModelError.
    """
    data = yaml_content(text, 'the description')
    if not isinstance(data, dict):
        raise RobotModelError(
            'the description is neither a URDF nor a YAML mapping', found=repr(text[:40])
        )
    unknown = [key for key in data if key not in known]
    if unknown:
        raise ConfigError('unknown key in the description', found=unknown[0], exists=known)
    return data


def read_source(name: str, entry: Mapping[str, Any]) -> BodySource:
    """Return the BodySource that a body's entry names; an IMU may be on a body also seen."""
    kinds = tuple(kind for kind in MOTIONS if entry.get(kind))
    if kinds in (('pose', 'imu'), ('markers', 'imu')):
        return replace(_source(name, kinds[0], entry), imu=_source(name, 'imu', entry))
    if len(kinds) != 1:
        raise ConfigError(
            f'body {name!r} needs one source of motion',
            found=kinds or 'none',
            exists=MOTIONS,
            do='only an IMU may be there besides',
        )
    return _source(name, kinds[0], entry)


def _source(name, kind, entry):
    layout = entry.get('layout') or {}
    if kind == 'markers':
        layout = {
            str(label): vector(place, f'marker {label!r} of {name!r}')
            for label, place in mapping(layout, f'layout of {name!r}').items()
        }
    rotation = rotation_of(entry.get('imu_rpy', (0, 0, 0)), f'imu_rpy of {name!r}')
    position = vector(entry.get('imu_position', (0, 0, 0)), f'imu_position of {name!r}')
    return BodySource(
        name,
        kind,
        str(entry[kind]),
        str(entry.get('label', '')),
        layout,
        tuple(position),
        rotation,
    )


def mapping(value: Any, what: str, empty: bool = False) -> dict[str, Any]:
    """Return ``value`` if it is a mapping, ``empty`` or not; ConfigError calls it ``what``."""
    if value is None:
        value = {}
    lacking = not value and not empty
    if lacking or not isinstance(value, dict):
        raise ConfigError(what, expected='a mapping of names', found=repr(value))
    return value


def axes_of(entry: Mapping[str, Any], what: str, key: str = 'axes', usual: str = 'body') -> str:
    """
    Return along whose axes an entry's vectors are; ConfigError calls it ``what``.

    key : that says it; usual : where it does not
    """
    axes = str(entry.get(key, usual))
    if axes not in ('body', 'world'):
        raise ConfigError(f'{key} of {what}', found=repr(axes), exists=('body', 'world'))
    return axes


def read_inertial(entry: Mapping[str, Any], name: str) -> np.ndarray:
    """Return the nominal standard parameters (10,) of a body's entry, zeros without any."""
    return vector(entry.get('inertial', [0.0] * 10), f'inertial of body {name!r}', 10)


def vector(value: Any, what: str, size: int = 3, nan: bool = False) -> np.ndarray:
    """
    Return a vector, (size,), from a description; ConfigError when it is none.

    value : list of ``size`` numbers; what : they are, for the message; nan : may be among them
    """
    out = _numbers(value)
    good = np.abs(out) < LARGEST_NUMBER
    if nan:
        good |= np.isnan(out)
    if out.shape != (size,) or not good.all():
        raise ConfigError(what, expected=f'{size} numbers', found=repr(value))
    return out


def matrix(value: Any, what: str) -> np.ndarray:
    """
    Return a symmetric matrix, (6, 6), from six diagonal numbers or six rows; nothing becomes NaN.

    value : as read from YAML, None: calibration has yet to find it
    what : it is, for the message of ConfigError
    """
    if value is None:
        return np.full((6, 6), np.nan)
    out = _numbers(value)
    if out.shape == (6,):
        out = np.diag(out)
    if out.shape != (6, 6) or not _is_symmetric(out):
        raise ConfigError(
            what,
            expected='6 rows of 6 numbers of a symmetric matrix, or the 6 of its diagonal',
            found=repr(value),
        )
    return out


def _is_symmetric(square):
    """Return whether a matrix (k, k) of numbers in SI units is symmetric but for rounding."""
    largest = np.abs(square).max()
    if not largest < LARGEST_NUMBER:
        return False
    return np.allclose(square, square.T, rtol=1e-6, atol=1e-9 * largest)


def _numbers(value):
    """Return an array of what are numbers, an empty one of anything else."""
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return np.zeros(0)


def rotation_of(rpy: Any, what: str = 'rpy') -> np.ndarray:
    """
    Return the rotation (3, 3) of roll, pitch, yaw [rad] about fixed axes, as in URDF.

    rpy : list of three numbers; what : they are, for the message of ConfigError
    """
    return Rotation.from_euler('xyz', vector(rpy, what)).as_matrix()


def with_entries(text: str, path: Sequence[str], values: Mapping[str, Any]) -> str:
    """
    Return the YAML text with entries of the mapping at ``path`` (keys) set to ``values``.

    values : {key: number, array or list of texts}; comments in the text are not kept
    """
    data = yaml_content(text, 'the description')
    node = data
    for key in path:
        if isinstance(node, dict):
            node = node.get(key)
        if not isinstance(node, dict):
            raise ConfigError(
                'the description', expected=f'a mapping {": ".join(path)}', found=f'no {key}'
            )
    node.update({key: np.asarray(value).tolist() for key, value in values.items()})
    return str(yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=99))


def with_inertials(text: str, links: Mapping[str, Sequence[float]]) -> str:
    """Return the YAML text with ``inertial`` of ``links`` {link: (10,)} set."""
    (section,) = (key for key in BODIES if key in yaml_content(text, 'the description'))
    for link, ten in links.items():
        text = with_entries(text, (section, link), {'inertial': ten})
    return text
