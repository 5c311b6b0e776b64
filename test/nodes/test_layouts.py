"""The layouts for PlotJuggler and Foxglove name topics that the nodes publish."""

import json
from pathlib import Path
import re
from xml.etree import ElementTree

from ros_inertial_id.nodes.torque_prediction import OUTPUTS

ROOT = Path(__file__).parents[2]


def published():
    """Return the topics that the nodes' sources say they publish."""
    online = (ROOT / 'ros_inertial_id' / 'nodes' / 'online.py').read_text()
    return {f'/torque_prediction/{topic}' for topic in OUTPUTS} | {
        f'/identification/{topic}'
        for topic in re.findall(r"create_publisher\(\w+, '~/(\w+)'", online)
    }


def test_plotjuggler_shows_curves_of_topics_there_are():
    root = ElementTree.parse(ROOT / 'config' / 'plotjuggler_franka.xml').getroot()
    curves = [curve.get('name') for curve in root.iter('curve')]
    assert len(curves) == len(set(curves)) == 7 * 3 + 2 * 7
    # A JointState is topic/joint/effort, a DiagnosticArray topic/hardware_id/name/key.
    assert {
        re.match(r'(/\w+/\w+)/fr3_joint\d/(effort|fv\d/(value|standard_error))$', name)[1]
        for name in curves
    } == published()
    for splitter in root.iter('DockSplitter'):
        assert len(splitter.findall('DockArea')) == int(splitter.get('count'))


def test_foxglove_places_every_panel_and_shows_topics_there_are():
    layout = json.loads((ROOT / 'config' / 'foxglove.json').read_text())

    def panels(part):
        return [part] if isinstance(part, str) else panels(part['first']) + panels(part['second'])

    assert sorted(panels(layout['layout'])) == sorted(layout['configById'])
    paths = [
        path['value'] for panel in layout['configById'].values() for path in panel.get('paths', ())
    ]
    assert len(paths) == 4 * 7 and {p.split('.')[0] for p in paths} == published()
