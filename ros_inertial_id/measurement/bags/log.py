"""
Logs of other programs become bags.

An import loses and repairs nothing: stamps, order and NaN stay as the log has them, and what
cannot be used is refused later by the analysis.  The accepted files stand in log_files.py.
"""

from collections.abc import Sequence
import logging
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from .log_files import nanoseconds
from .log_formats import joined, read_file
from .messages import JOINT_STATE
from .writing import write_recording
from ..recording import Channel, Recording
from ...errors import RecordingError, RobotModelError

EFFORTS = '/efforts'  # topic of efforts that come from a file with a clock of its own
LogPath = str | Path | Sequence[str | Path]
_logger = logging.getLogger(__name__)


def import_log(log_path: LogPath, urdf_text: str, out_path: str | Path,
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


def read_log(log_path: LogPath, urdf_text: str, joint_names: Sequence[str] | None = None,
             rate: float | None = None, columns: str = '') -> Recording:
    """
    Return the Recording in a log: one channel of joint states, with the robot description.

    log_path : of a .npz, .mat, .csv or .parquet, or of several that make one log: efforts with
        stamps of their own then become the topic /efforts
    urdf_text : description of the robot
    joint_names : names of the joints in the order of the log; without them those in the log, or
        else the moving joints of the URDF in the order of its tree
    rate : sampling rate [Hz] of a log without time, whose first stamp is then 0
    columns : names of the columns of files that do not name them, see log_files.read_csv; those
        of several files with ; between
    Raises RecordingError for a log whose columns do not make a recording.
    """
    paths = [Path(log_path)] if isinstance(log_path, (str, Path)) else [*map(Path, log_path)]
    if not paths:
        raise RecordingError('no log', expected='a file or several')
    log, apart = joined(paths, [read_file(path, own) for path, own in
                                zip(paths, _columns_of_each(paths, columns))])
    path = paths[0]
    for kind, part in (('position', log), ('effort', apart)):
        if part is not None:
            _check_shapes(path, part, kind)
    names = _joint_names(path, log, joint_names, urdf_text)
    stamp_ns = _stamps(path, log, rate)
    recording = Recording({'/joint_states': _channel('/joint_states', stamp_ns, log, names)},
                          urdf_text)
    if apart is not None and apart.stamp_ns is not None:
        channel = _channel(EFFORTS, apart.stamp_ns, apart, names)
        recording = Recording({**recording.channels, EFFORTS: channel}, urdf_text)
        _logger.warning('efforts have stamps of their own: identify with effort_topic: %s',
                        EFFORTS)
    return recording


def _columns_of_each(paths, columns):
    own = [part.strip() for part in columns.split(';')] if columns else [''] * len(paths)
    if len(own) != len(paths):
        raise RecordingError('columns of several files', found=columns,
                             expected=f'{len(paths)} lists, in the order of the files, with ; '
                             'between, for example "time q1..q6; tau1..tau6"')
    return own


def _channel(topic, stamp_ns, log, names):
    # Players sort by reception, which therefore must not run back where the stamps do.
    received_ns = np.maximum.accumulate(np.maximum(stamp_ns, 0))
    return Channel(topic, JOINT_STATE, stamp_ns, received_ns, log.fields, names)


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


def _check_shapes(path, log, kind):
    shapes = {name: values.shape for name, values in log.fields.items()}
    shape = shapes.get(kind, ())
    fit = len(shape) == 2 and 0 not in shape and set(shapes.values()) == {shape}
    if log.stamp_ns is not None:
        shapes['time'] = log.stamp_ns.shape
        fit = fit and shapes['time'] == shape[:1]
    if not fit:
        raise RecordingError(
            f'{path}: no samples that belong together', found=[f'{k} {v}' for k, v in
                                                               shapes.items()],
            expected='time (n,), position (n, joints), velocity and effort like position')
