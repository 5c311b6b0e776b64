"""
Logs of other programs become bags.

An import loses and repairs nothing: stamps, order and NaN stay as the log has them, and what
cannot be used is refused later by the analysis.  The accepted files stand in log_files.py.
"""

from collections.abc import Sequence
import logging
import os
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from .bag import write_recording
from .log_files import nanoseconds, read_csv, read_npz
from .messages import JOINT_STATE
from ..recording import Channel, Recording
from ...errors import RecordingError, RobotModelError

_logger = logging.getLogger(__name__)


def import_log(log_path: str | Path, urdf_text: str, out_path: str | Path,
               joint_names: Sequence[str] | None = None, rate: float | None = None,
               columns: str = '') -> Channel:
    """
    Write a log to a new bag with /joint_states and /robot_description; return the Channel.

    out_path : of the bag; log_path, urdf_text, joint_names, rate, columns : see ``read_log``
    Raises RecordingError, before anything is written, for a log whose columns do not make a
    recording, and for an ``out_path`` that exists.
    """
    recording = read_log(log_path, urdf_text, joint_names, rate, columns)
    write_recording(out_path, recording)
    return next(iter(recording.channels.values()))


def read_log(log_path: str | Path, urdf_text: str, joint_names: Sequence[str] | None = None,
             rate: float | None = None, columns: str = '') -> Recording:
    """
    Return the Recording in a log: one channel of joint states, with the robot description.

    log_path : of the .npz or .csv; urdf_text : description of the robot
    joint_names : names of the joints in the order of the log; without them those in the log, or
        else the moving joints of the URDF in the order of its tree
    rate : sampling rate [Hz] of a log without time, whose first stamp is then 0
    columns : names of the columns of a .csv without a header line, see log_files.read_csv
    Raises RecordingError for a log whose columns do not make a recording.
    """
    path = Path(log_path)
    kind = path.suffix.lower()
    if kind not in ('.npz', '.csv') or not os.path.isfile(path):
        raise RecordingError(f'log {path}', expected='an existing file of type .npz or .csv')
    if columns and kind != '.csv':
        raise RecordingError(f'columns are named for {path}', expected='a .csv', found=kind)
    log = read_csv(path, columns) if kind == '.csv' else read_npz(path)
    _check_shapes(path, log)
    names = _joint_names(path, log, joint_names, urdf_text)
    stamp_ns = _stamps(path, log, rate)
    # Players sort by reception, which therefore must not run back where the stamps do.
    received_ns = np.maximum.accumulate(np.maximum(stamp_ns, 0))
    channel = Channel('/joint_states', JOINT_STATE, stamp_ns, received_ns, log.fields, names)
    return Recording({channel.topic: channel}, urdf_text)


def moving_joints(urdf_text: str) -> tuple[str, ...]:
    """
    Return the names of the moving joints, from the root down, in document order.

    urdf_text : the robot description

    Raises RobotModelError for a text that is no XML.
    """
    try:
        robot = ElementTree.fromstring(urdf_text)
    except ElementTree.ParseError as error:
        raise RobotModelError('the robot description is no XML', found=error) from error
    joints = [joint for joint in robot.findall('joint')
              if None not in (joint.find('parent'), joint.find('child'))]
    child = {joint: _link(joint, 'child') for joint in joints}
    below: dict[str | None, list[ElementTree.Element]] = {}
    for joint in joints:
        below.setdefault(_link(joint, 'parent'), []).append(joint)
    names = []
    waiting = [joint for link in below if link not in child.values() for joint in below[link]]
    while waiting:
        joint = waiting.pop(0)
        if joint.get('type') in ('revolute', 'continuous', 'prismatic') \
                and joint.find('mimic') is None:
            names.append(joint.get('name') or '')
        waiting = below.pop(child[joint], []) + waiting
    return tuple(names)


def _link(joint, end):
    return joint.find(end).get('link')


def _joint_names(path, log, given, urdf_text):
    k, known = log.fields['position'].shape[1], moving_joints(urdf_text)
    names = given if given is not None else log.names
    if names is None and len(known) != k:
        raise RecordingError(f'{path} names no joints', expected=f'{len(known)}: '
                             + ', '.join(known), found=f'{k} columns of positions',
                             do='name them in the order of the log: --joints A,B,...')
    names = known if names is None else tuple(map(str, names))
    if len(names) != k or len(set(names)) != k:
        raise RecordingError(f'joint names for {path}', expected=f'{k} different ones',
                             found=names, exists=known)
    if not set(names) <= set(known):
        _logger.warning('%s: not among the moving joints of the URDF (%s): %s', path,
                        ', '.join(known), ', '.join(n for n in names if n not in known))
    return names


def _stamps(path, log, rate):
    if log.stamp_ns is None and not (rate and rate > 0):
        raise RecordingError(f'{path} has no time column', found=f'rate {rate}',
                             do='give the sampling rate [Hz]: --rate')
    if log.stamp_ns is not None and rate is not None:
        raise RecordingError(f'{path} has a time column', found=f'rate {rate} Hz as well',
                             do='leave the rate out')
    if log.stamp_ns is None:
        return nanoseconds(path, np.arange(len(log.fields['position'])) / rate)
    return log.stamp_ns


def _check_shapes(path, log):
    shapes = {name: values.shape for name, values in log.fields.items()}
    shape = shapes.get('position', ())
    fit = len(shape) == 2 and 0 not in shape and set(shapes.values()) == {shape}
    if log.stamp_ns is not None:
        shapes['time'] = log.stamp_ns.shape
        fit = fit and shapes['time'] == shape[:1]
    if not fit:
        raise RecordingError(
            f'{path}: no samples that belong together', found=[f'{k} {v}' for k, v in
                                                               shapes.items()],
            expected='time (n,), position (n, joints), velocity and effort like position')
