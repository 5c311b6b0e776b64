"""The names of the joints of a log: in its cells, as given, by number, or those of the URDF."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
import logging
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np

from .log_pieces import PIECE
from ..recording import page_out
from ...errors import RecordingError, RobotModelError

ORDERED = 'joints in the order of the URDF'
MOVING_TYPES = ('revolute', 'continuous', 'prismatic')
_logger = logging.getLogger(__name__)


def are_numbers(joints: Iterable[str]) -> bool:
    """Return whether ``joints`` of columns are numbers, or nothing, and no names."""
    return not ''.join(joints).strip('0123456789')


def joints_in_cells(
    where: str, cells: Mapping[str, Any], rows: np.ndarray, fields: Mapping[str, np.ndarray]
) -> list[str]:
    """
    Return the joints that ``cells`` of a log name, none where these are of another number.

    where : of the log, for messages
    cells : column -> joints in the order of the columns, once, or of every row: a column for each
        joint, or a list of them in every cell
    rows : (N,) bool, which rows of the log the fields are
    fields : quantity -> (n, k): put in the order that is returned, in place, in rows whose cells
        have another
    """
    texts = list(map(_texts, cells.values()))
    if len(texts) == 1 and len(texts[0]) != len(rows):
        orders, order_of_row = [texts[0].ravel().tolist()], rows[:0]  # named once
    else:
        orders, order_of_row = _orders_in_rows(texts, rows)
    count = next(iter(fields.values())).shape[1]
    if not orders or len(orders[0]) != count:
        return []
    first, *others = orders
    for number, order in enumerate(others, 1):
        _refuse_changed(where, first, order)
        column_indices = list(map(order.index, first))
        of_order = order_of_row == number
        for values in fields.values():
            values[of_order] = values[of_order][:, column_indices]
    return first


def _orders_in_rows(
    texts: list[np.ndarray], rows: np.ndarray
) -> tuple[list[list[str]], np.ndarray]:
    """Return the orders of joints that ``texts`` (N, ...) have, and which that of each row is."""
    if {len(text) for text in texts} != {len(rows)}:
        return [], np.zeros(0, int)
    numbers: dict[tuple[str, ...], int] = {}
    order_of_row = np.zeros(len(rows), int)
    for begin in range(0, len(rows), PIECE):
        piece = slice(begin, begin + PIECE)
        names = np.column_stack([text[piece] for text in texts]).tolist()
        order_of_row[piece] = [numbers.setdefault(tuple(row), len(numbers)) for row in names]
        page_out()
    used, order_of_row = np.unique(order_of_row[rows], return_inverse=True)
    every = list(map(list, numbers))
    orders = [every[number] for number in used.tolist()]
    if len(texts) == 1 and texts[0].ndim == 1:
        orders = [_listed(cell) for (cell,) in orders]
    return orders, order_of_row


def _refuse_changed(where: str, first: list[str], order: list[str]) -> None:
    """Raise RecordingError where a row names other joints than the first of them."""
    if sorted(order) != sorted(first):
        raise RecordingError(
            f'{where}: the joints change',
            expected='the same in every row',
            found=[' '.join(names) for names in (first, order)],
        )


def _texts(values: Any) -> np.ndarray:
    """Return cells as texts, bytes decoded."""
    if values.dtype.kind == 'S':
        return np.char.decode(values, errors='replace')
    return values.astype(str, copy=False)


def _listed(cell: str) -> list[str]:
    """Return the names in a cell such as "['a', 'b']"."""
    return re.findall(r'[^\s\'",\[\]()]+', cell)


def moving_joints(urdf_text: str) -> tuple[str, ...]:
    """Return the names of the moving joints of a URDF, from the root down, in document order."""
    try:
        robot = ElementTree.fromstring(urdf_text)
    except ElementTree.ParseError as error:
        raise RobotModelError('the robot description is no XML', found=error) from error
    joints_on: dict[str, list[ElementTree.Element]] = {}
    for joint in robot.iterfind('joint[parent][child]'):
        joints_on.setdefault(_link_at(joint, 'parent'), []).append(joint)
    children = {_link_at(joint, 'child') for joints in joints_on.values() for joint in joints}
    roots = [link for link in joints_on if link not in children]
    outwards = chain.from_iterable(_outwards(root, joints_on) for root in roots)
    return tuple(joint.get('name', '') for joint in outwards if _is_driven(joint))


def _link_at(joint: ElementTree.Element, end: str) -> str:
    """Return the link at an ``end`` of a ``joint``: parent or child."""
    links = {part.tag: part.get('link', '') for part in joint}
    return links[end]


def _outwards(
    link: str, joints_on: dict[str, list[ElementTree.Element]]
) -> Iterator[ElementTree.Element]:
    """Yield the joints from a ``link`` outwards, those of a branch together, each once."""
    waiting = joints_on.pop(link, [])[::-1]
    while waiting:
        joint = waiting.pop()
        yield joint
        waiting += reversed(joints_on.pop(_link_at(joint, 'child'), []))


def _is_driven(joint: ElementTree.Element) -> bool:
    """Return whether a ``joint`` moves by itself."""
    return joint.get('type') in MOVING_TYPES and joint.find('mimic') is None


def names_of_joints(
    where: str, joints: Sequence[str], given: Sequence[str] | None, urdf_text: str
) -> tuple[tuple[str, ...], str]:
    """
    Return the names of the joints of a log's columns, and in words where they come from.

    where : of the log, for messages; joints : as its columns or cells name them, or numbers
    given : names in the order of the columns, None for those in the log
    """
    moving = moving_joints(urdf_text)
    if given is not None:
        names, source = tuple(map(str, given)), 'joints as given'
    elif not are_numbers(joints):
        names, source = tuple(joints), 'joints as the log names them'
    else:
        return _in_order_of_urdf(where, joints, moving), f'{ORDERED}, as the log names none'
    if len(names) != len(joints) or len(set(names)) != len(names):
        raise RecordingError(
            f'joint names for {where}',
            expected=f'{len(joints)} different ones',
            found=names,
            exists=moving,
        )
    by_number = _by_number(names, moving)
    if by_number:
        return by_number, 'joints by their numbers'
    unknown = [name for name in names if name not in moving]
    if unknown:
        _logger.warning(
            '%s: not among the moving joints of the URDF (%s): %s',
            where,
            ', '.join(moving),
            ', '.join(unknown),
        )
    return names, source


def _in_order_of_urdf(
    where: str, joints: Sequence[str], moving: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the ``moving`` joints of the URDF where the log has as many without names."""
    if len(moving) != len(joints):
        raise RecordingError(
            f'{where} names no joints',
            found=f'{len(joints)} columns of positions',
            expected=f'{len(moving)}: ' + ', '.join(moving),
            do='name them in the order of the log: --joints A,B,...',
        )
    return moving


def _by_number(names: tuple[str, ...], moving: tuple[str, ...]) -> tuple[str, ...]:
    """Return the ``moving`` joints of names such as Axis 1, Axis 2; () for other names."""
    if len(names) != len(moving) or set(names) & set(moving):
        return ()
    matches = [re.fullmatch(r'\w*[^\W\d_] ?_?(\d+)', name) for name in names]
    numbers = [int(match[1]) for match in matches if match]
    if len(set(numbers)) != len(names):
        return ()
    joint_of = dict(zip(sorted(numbers), moving))
    return tuple(map(joint_of.__getitem__, numbers))
