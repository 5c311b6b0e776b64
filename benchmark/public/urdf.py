"""Descriptions as every entry gets them: the recorded joints move, the others are fixed."""

import xml.etree.ElementTree as ElementTree


def of_joints(urdf: str, joints: tuple[str, ...]) -> str:
    """Return a URDF without meshes whose joints beside ``joints`` are fixed."""
    root = ElementTree.fromstring(urdf)
    for joint in root.findall('joint'):
        if joint.get('name') not in joints:
            joint.set('type', 'fixed')
            for mimic in joint.findall('mimic'):
                joint.remove(mimic)
    for link in root.findall('link'):
        for tag in ('visual', 'collision'):
            for shape in link.findall(tag):
                link.remove(shape)
    return ElementTree.tostring(root, encoding='unicode')
