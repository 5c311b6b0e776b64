"""The page of an audit: verdict, the robot in 3D with what is wrong in red, findings, links."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .drawings import Drawings
from .knowledge import significant
from .next_steps import audited_steps
from .sheet import Card, Cell, Section, Sheet, Table
from .viewer import ellipsoid
from ..auditing.audit import Audit
from ..auditing.checks_of_links import audited_links, AuditedLink
from ..auditing.described import DescribedInertia
from ..auditing.finding import AuditFinding, DOUBTFUL, NOTE, WRONG
from ..auditing.fix import replaced
from ..auditing.hulls import DRAWN_DIRECTIONS, Hull
from ..dynamics.inertial_parameters import about_origin

DESCRIBED = 'nominal'  # style of links with which nothing is wrong
ROBOT = 'robot'  # in the column of links, of what concerns all of it
LARGEST_DRAWN = 2.0  # times the robot: an ellipsoid farther out would make the rest a dot
VIEW_NOTE = (
    'Thin: hulls of the shapes. Ellipsoids: solid bodies of uniform density with mass, centre and '
    'inertia of each link as described; one that is much larger than its hull cannot be.'
)
WHY = {WRONG: 'no robot has it', DOUBTFUL: 'look at it', NOTE: 'good to know'}
LINK_HEADS = (
    'link',
    'verdict',
    'mass [kg]',
    'density [kg/m^3]',
    'radius of gyration [m]',
    'of a solid hull [m]',
    'centre outside [m]',
)

Shape = tuple[list[float], list[list[float]]]  # centre (3,), half axes (3, 3; columns) [m]


class AuditedNumbers(NamedTuple):
    """An ``audit``, and the path of its description, '' for none."""

    audit: Audit
    source: str


def findings_rows(audit: Audit) -> list[dict[str, Any]]:
    """Return one row per finding of an ``audit``, as plain values."""
    rows = []
    for finding in audit.findings:
        row = finding.to_dict()
        torque = row.pop('torque', {})
        row.update(torque=torque.get('value'), unit=torque.get('unit'), joint=torque.get('joint'))
        rows.append(row)
    return rows


def findings_table(findings: Sequence[AuditFinding], advice: bool = False) -> Table:
    """Return one row per finding, with ``advice`` why it cannot be and what to do."""
    columns = dict(COLUMNS)
    if advice:
        columns |= ADVICE
    rows = [[cell(finding) for cell in columns.values()] for finding in findings]
    flagged = [k for k, finding in enumerate(findings) if finding.severity == WRONG]
    return Table([*columns], rows, WORDS, flagged)


def _torque(finding: AuditFinding) -> Cell | str:
    """Return the torque that the error of a ``finding`` makes, '' where none is known."""
    if not finding.joint:
        return ''
    return Cell(f'{significant(finding.torque, 2)} {finding.unit}', finding.torque, 'unit')


# {head: cell of a finding}
COLUMNS: Mapping[str, Callable[[AuditFinding], Cell | str]] = {
    'severity': lambda finding: finding.severity,
    'link or joint': lambda finding: finding.part or ROBOT,
    'finding': lambda finding: finding.name,
    'found': lambda finding: finding.found,
    'plausible': lambda finding: finding.plausible,
    'torque': _torque,
    'at joint': lambda finding: finding.joint,
}
ADVICE: Mapping[str, Callable[[AuditFinding], Cell | str]] = {
    'why': lambda finding: finding.why,
    'what to do': lambda finding: finding.do,
}
WORDS = (1, 2, 3, 4, 6, 7, 8)  # columns of words


def verdict_line(audit: Audit) -> str:
    """Return the verdict of an ``audit`` in a line, with what was looked at."""
    counts = Counter(finding.severity for finding in audit.findings)
    parts = [f'{counts[severity]} {severity}' for severity in (WRONG, DOUBTFUL, NOTE)]
    robot = audit.robot
    absent = sum(len(link.without_mesh) for link in robot.links.values())
    line = (
        f'Verdict: {audit.word} ({", ".join(parts)}); {robot.name}, {len(robot.links)} links, '
        f'{len(robot.driven)} joints, {robot.mass:.4g} kg'
    )
    if absent:
        line += f'; {absent} meshes not read: there sizes are judged by the joints'
    return line


def audit_text(audit: Audit) -> str:
    """Return the verdict, the table of findings, and what to do about each kind, as lines."""
    lines = [verdict_line(audit)]
    if not audit.findings:
        return '\n'.join([*lines, 'nothing was found'])
    lines += findings_table(audit.findings).lines()
    advice: dict[str, AuditFinding] = {}
    for finding in audit.findings:
        advice.setdefault(finding.name, finding)
    lines += [f'{finding.name}: {finding.why}; {finding.do}' for finding in advice.values()]
    return '\n'.join(lines)


def head(numbers: AuditedNumbers, _: Drawings) -> Sheet:
    """Return title, verdict and counts."""
    audit = numbers.audit
    counts = Counter(finding.severity for finding in audit.findings)
    cards = [Card(audit.word, audit.robot.name, audit.status > 0)]
    for severity in (WRONG, DOUBTFUL, NOTE):
        alarm = severity != NOTE and counts[severity] > 0
        cards.append(Card(str(counts[severity]), f'{severity}: {WHY[severity]}', alarm))
    cards.append(Card(f'{audit.robot.mass:.4g} kg', 'mass of all links'))
    commands = []
    if numbers.source and audit.robot.kind != 'SDF':  # others read no SDF
        commands = audited_steps(numbers.source, bool(replaced(audit.findings)))
    return Sheet(
        'Audit of a description',
        numbers.source,
        cards,
        commands=commands,
        numbers=audit.to_dict(),
    )


def robot_in_space(numbers: AuditedNumbers, _: Drawings) -> Iterator[Section]:
    """Yield the robot with the hulls of its links and their ellipsoids of inertia."""
    robot = numbers.audit.robot
    names = list(robot.in_order())
    number = {name: k for k, name in enumerate(names)}
    points = np.array([robot.placements[name][:3, 3] for name in names])
    styles = _styles(numbers.audit)
    hulls, corners = [], [points]
    for name, hull in robot.hulls.items():
        placed = hull.placed(robot.placements[name])
        corners.append(placed.points)
        hulls.append((f'hull {styles.get(name, DESCRIBED)}', drawn_edges(placed)))
    size = float(np.linalg.norm(np.ptp(np.concatenate(corners), axis=0)))
    ellipsoids, beyond = [], []
    for name, shape in _ellipsoids(numbers.audit):
        style = styles.get(name, DESCRIBED)
        if _reach(shape, points[0]) <= LARGEST_DRAWN * size:
            ellipsoids.append((style, *shape))
            continue
        beyond.append(name)
        hulls.append((f'hull {style}', [_towards(points[number[name]], shape[0], size)]))
    view = {
        'frames': [{'parent': -1, 'p': point} for point in points.tolist()],
        'links': [(number[j.parent], number[j.child], 's-raw') for j in robot.joints],
        'gravity': [0.0, 0.0, -1.0],
        'joints': [('as described', DESCRIBED), (DOUBTFUL, DOUBTFUL), (WRONG, WRONG)],
        'ellipsoids': ellipsoids,
        'hulls': hulls,
    }
    note = VIEW_NOTE
    if beyond:
        note += f' Too large or too far away to be drawn: {", ".join(beyond)}.'
    yield Section('The robot at zero positions', view=view, note=note)


def _styles(audit: Audit) -> dict[str, str]:
    """Return {link: style in which it is drawn} of those that something is wrong with."""
    styles = {}
    for severity in (DOUBTFUL, WRONG):
        styles.update({finding.part: severity for finding in audit.of_severity(severity)})
    return styles


def _ellipsoids(audit: Audit) -> Iterator[tuple[str, Shape]]:
    """Yield (link, its ellipsoid) of the links with a mass."""
    for name, inertia in audit.robot.weighed.items():
        T = audit.robot.placements[name]
        ten = about_origin(inertia.mass, inertia.centre, inertia.tensor)
        yield name, ellipsoid(ten, T[:3, :3], T[:3, 3])


def _reach(shape: Shape, root: np.ndarray) -> float:
    """Return how far an ellipsoid is from the ``root`` (3,), at most [m]."""
    centre, half_axes = shape
    return float(np.linalg.norm(centre - root) + np.linalg.norm(half_axes, axis=0).max())


def _towards(start: np.ndarray, centre: Sequence[float], length: float) -> list[list[float]]:
    """Return a line [start, end] towards a ``centre`` (3,) which is at most so long [m]."""
    way = np.array(centre) - start
    way *= min(1.0, length / max(float(np.linalg.norm(way)), 1e-9))
    return np.round([start, start + way], 4).tolist()


def drawn_edges(hull: Hull) -> list[list[list[float]]]:
    """Return edges [[point, point], ...] of a ``hull``, of its outermost corners alone."""
    kept = np.unique(np.argmax(hull.points @ DRAWN_DIRECTIONS.T, axis=0))
    coarse = Hull.of(hull.points[kept])
    if coarse is None:
        return []
    return np.round(coarse.points[coarse.edges], 4).tolist()


def what_is_wrong(numbers: AuditedNumbers, _: Drawings) -> Iterator[Section]:
    """Yield the table of findings."""
    yield Section(
        'Findings',
        'the worst first, then by torque',
        tables=[findings_table(numbers.audit.findings, advice=True)],
        note='Torque: largest change of a joint torque between what is described and what is '
        'plausible, over the range of the joints, at rest and at up to 2 rad/s and 5 rad/s^2, '
        'the root held upright.',
    )


def every_link(numbers: AuditedNumbers, _: Drawings) -> Iterator[Section]:
    """Yield what was looked at: one row per link with a mass."""
    audit = numbers.audit
    worst: dict[str, str] = {}
    for finding in audit.findings:
        worst.setdefault(finding.part, finding.severity)
    links = [link for link in audited_links(audit.robot) if link.mass > 0.0]
    rows = [[link.name, worst.get(link.name, 'good'), *_numbers(link)] for link in links]
    flagged = [k for k, link in enumerate(links) if worst.get(link.name) == WRONG]
    yield Section('Links', tables=[Table(LINK_HEADS, rows, (1,), flagged)], opened=False)


def _numbers(link: AuditedLink) -> list[Cell | str]:
    """Return what LINK_HEADS say of a ``link`` behind its verdict."""
    hull, solid = link.room.own_hull, link.room.solid(link.mass)
    gyration = _cell(_gyration(link.inertia))
    if hull is None or solid is None:
        return [_cell(link.mass), '', gyration, '', '']
    return [
        _cell(link.mass),
        _cell(link.mass / hull.volume),
        gyration,
        _cell(_gyration(solid)),
        _cell(max(hull.beyond(link.inertia.centre), 0.0)),
    ]


def _gyration(inertia: DescribedInertia) -> float:
    """Return the largest radius of gyration [m]."""
    return float(np.sqrt(max(inertia.moments[2], 0.0) / inertia.mass))


def _cell(value: float) -> Cell:
    return Cell(significant(value), value)
