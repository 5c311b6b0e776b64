"""Fix: a URDF in which wrong inertias are plausible ones; what was there is in a comment."""

from collections.abc import Sequence
import re
from xml.etree import ElementTree

import numpy as np

from .described import DescribedInertia
from .finding import AuditFinding, WRONG
from ..dynamics.description import INERTIA


def fixed_urdf(urdf: str, findings: Sequence[AuditFinding]) -> tuple[str, list[str]]:
    """
    Return a ``urdf`` text with plausible inertias for those that are wrong, and their links.

    findings : of its Audit; a link of which no hull is known stays as it is
    """
    better = replaced(findings)
    parser = ElementTree.XMLParser(
        target=ElementTree.TreeBuilder(insert_comments=True), encoding='utf-8'
    )
    robot = ElementTree.fromstring(urdf.encode('utf-8', 'replace'), parser)
    fixed = []
    for link in robot.iterfind('link'):
        finding_of_link = better.get(link.get('name', ''))
        inertial = link.find('inertial')
        if finding_of_link is None or inertial is None:
            continue
        _replace(link, inertial, finding_of_link)
        fixed.append(link.get('name', ''))
    return ElementTree.tostring(robot, encoding='unicode') + '\n', fixed


def replaced(findings: Sequence[AuditFinding]) -> dict[str, AuditFinding]:
    """Return {link: the finding whose plausible inertia replaces what is wrong with it}."""
    better: dict[str, AuditFinding] = {}
    for finding in findings:
        if finding.severity == WRONG and finding.better is not None:
            better.setdefault(finding.part, finding)
    return better


def _replace(
    link: ElementTree.Element, inertial: ElementTree.Element, finding: AuditFinding
) -> None:
    """Put a plausible inertia in the place of ``inertial``, which becomes a comment."""
    assert finding.better is not None
    was = ElementTree.tostring(inertial, encoding='unicode')
    said = f' {finding.name}: {finding.found}. It was: {" ".join(was.split())} '
    comment = ElementTree.Comment(re.sub('-(?=-)', '- ', said))
    comment.tail = inertial.tail
    place = list(link).index(inertial)
    link.remove(inertial)
    link.insert(place, comment)
    link.insert(place + 1, inertial_element(finding.better))


def inertial_element(inertia: DescribedInertia) -> ElementTree.Element:
    """Return an ``inertia`` as the inertial of a URDF."""
    inertial = ElementTree.Element('inertial')
    ElementTree.SubElement(inertial, 'origin', xyz=_words(inertia.centre), rpy='0 0 0')
    ElementTree.SubElement(inertial, 'mass', value=f'{inertia.mass:.9g}')
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.tensor
    numbers = {name: f'{x:.9g}' for name, x in zip(INERTIA, (xx, xy, xz, yy, yz, zz))}
    ElementTree.SubElement(inertial, 'inertia', numbers)
    return inertial


def _words(values: np.ndarray) -> str:
    return ' '.join(f'{value:.9g}' for value in values)
