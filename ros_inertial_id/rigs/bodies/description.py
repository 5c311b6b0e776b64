"""
Descriptions of rigs: a YAML text read with messages that name what is wrong, and written back.

Numbers are put into the text; all else stays as it was written.
"""

from copy import deepcopy
from dataclasses import replace
from functools import lru_cache
from typing import Any, Mapping, Sequence

import numpy as np
from scipy.spatial.transform import Rotation
import yaml

from ..measurement.sources import BodySource
from ...errors import ConfigError, RobotModelError
from ...options import yaml_content

BODIES = ('links', 'bodies')  # of a platform, of rigid_body
MOTIONS = ('pose', 'markers', 'imu')
LARGEST = 1e12  # of numbers in SI units: no stiffness and no inertia of a rig is beyond


def read_description(text: str, known: Sequence[str]) -> dict[str, Any]:
    """
    Return the mapping in a YAML text, unknown keys refused.

    text : the YAML; known : keys that may stand in it.  Raises ConfigError, RobotModelError.
    """
    data = deepcopy(_content(text))
    if not isinstance(data, dict):
        raise RobotModelError('the description is neither a URDF nor a YAML mapping',
                              found=repr(text[:40]))
    for key in data:
        if key not in known:
            raise ConfigError('unknown key in the description', found=key, exists=known)
    return data


@lru_cache(4)
def _content(text):
    """Return what the text holds: each recording asks for it, and reading YAML takes long."""
    return yaml_content(text, 'the description')


def read_source(name: str, entry: Mapping[str, Any]) -> BodySource:
    """Return the BodySource that a body's entry names; an IMU may be on a body also seen."""
    kinds = [kind for kind in MOTIONS if entry.get(kind)]
    imu = None
    if len(kinds) == 2 and kinds[1] == 'imu':
        imu = _source(name, 'imu', entry)
        kinds = kinds[:1]
    if len(kinds) != 1:
        raise ConfigError(f'body {name!r} needs one source of motion', found=kinds or 'none',
                          exists=MOTIONS, do='only an IMU may be there besides')
    return replace(_source(name, kinds[0], entry), imu=imu)


def _source(name, kind, entry):
    layout = entry.get('layout') or {}
    if kind == 'markers':
        layout = {str(label): vector(place, f'marker {label!r} of {name!r}')
                  for label, place in mapping(layout, f'layout of {name!r}').items()}
    rotation = rotation_of(entry.get('imu_rpy', (0, 0, 0)), f'imu_rpy of {name!r}')
    position = vector(entry.get('imu_position', (0, 0, 0)), f'imu_position of {name!r}')
    return BodySource(name, kind, str(entry[kind]), str(entry.get('label', '')), layout,
                      tuple(position), rotation)


def mapping(value: Any, what: str, empty: bool = False) -> dict[str, Any]:
    """Return ``value`` if it is a mapping, ``empty`` or not; ConfigError calls it ``what``."""
    value = {} if value is None else value
    if not isinstance(value, dict) or not (value or empty):
        raise ConfigError(what, expected='a mapping of names', found=repr(value))
    return value


def axes_of(entry: Mapping[str, Any], what: str) -> str:
    """Return along whose ``axes`` an entry's vectors are; ConfigError calls it ``what``."""
    axes = str(entry.get('axes', 'body'))
    if axes not in ('body', 'world'):
        raise ConfigError(f'axes of {what}', found=repr(axes), exists=('body', 'world'))
    return axes


def read_inertial(entry: Mapping[str, Any], name: str) -> np.ndarray:
    """Return the nominal standard parameters (10,) of a body's entry, zeros without any."""
    return vector(entry.get('inertial', [0.0] * 10), f'inertial of body {name!r}', 10)


def vector(value: Any, what: str, size: int = 3, nan: bool = False) -> np.ndarray:
    """
    Return a vector, (size,), from a description; ConfigError when it is none.

    value : list of ``size`` numbers; what : they are, for the message; nan : may be among them
    """
    try:
        out = np.asarray(value, dtype=float)
        good = out.shape == (size,) and bool(
            ((np.abs(out) < LARGEST) | (np.isnan(out) & nan)).all())
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ConfigError(what, expected=f'{size} numbers', found=repr(value))
    return out


def rotation_of(rpy: Any, what: str = 'rpy') -> np.ndarray:
    """
    Return the rotation (3, 3) of roll, pitch, yaw [rad] about fixed axes, as in URDF.

    rpy : list of three numbers; what : they are, for the message of ConfigError
    """
    return Rotation.from_euler('xyz', vector(rpy, what)).as_matrix()


def with_entries(text: str, path: Sequence[str], values: Mapping[str, Any]) -> str:
    """
    Return the YAML text with entries of the mapping at ``path`` (keys) set to ``values``.

    values : {key: number, array or list of texts}; what is there already is replaced, the rest
    comes last in the mapping; comments, order and style of everything else stay.
    """
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise ConfigError('the description is not YAML',
                          found=' '.join(str(error).split())) from None
    for key in path:
        pairs = {k.value: v for k, v in node.value} if isinstance(node, yaml.MappingNode) else {}
        if not isinstance(pairs.get(key), yaml.MappingNode):
            raise ConfigError('the description', expected=f"a mapping {': '.join(path)}",
                              found=f'no {key}')
        node = pairs[key]
    indent = ' ' * node.value[0][0].start_mark.column
    between = ', ' if node.flow_style else '\n' + indent
    present, last, edits = {k.value: (k, v) for k, v in node.value}, _end(text, node), []
    for key, value in values.items():
        words = ': ' + _flow(value, '' if node.flow_style else indent + '  ')
        if key in present:
            start, end = present[key][0].end_mark.index, present[key][1].end_mark.index
            # The end of a block is where the next key begins.
            edits.append((start, start + len(text[start:end].rstrip()), words))
        else:
            edits.append((last, last, between + key + words))
    # From the end; of those at one place the last one first.
    for start, end, words in sorted(edits[::-1], key=lambda edit: -edit[0]):  # noqa: C415
        text = text[:start] + words + text[end:]
    return text


def _end(text, node):
    """Return the index where a further entry of a mapping can be written."""
    if node.flow_style:
        return node.end_mark.index - 1
    while isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
        node = node.value[-1]
        node = node[1] if isinstance(node, tuple) else node
    end = node.start_mark.index + len(
        text[node.start_mark.index:node.end_mark.index].rstrip())
    line = text.find('\n', end)
    return line if line >= 0 else len(text)


def with_inertials(text: str, links: Mapping[str, Sequence[float]]) -> str:
    """Return the YAML text with ``inertial`` of ``links`` {link: (10,)} set."""
    section, = (key for key in BODIES if key in yaml.safe_load(text))
    for link, ten in links.items():
        text = with_entries(text, (section, link), {'inertial': ten})
    return text


def _flow(value, indent):
    """Return a number, text or list as YAML in flow style; rows of a matrix on their own lines."""
    if isinstance(value, str):
        return f"'{value}'"
    if np.ndim(value) == 0:
        return repr(float(value))
    rows = [_flow(x, '') for x in value]
    long = isinstance(value[0], str) or np.ndim(value) > 1
    return f"[{(',' + chr(10) + indent if long and indent else ', ').join(rows)}]"
