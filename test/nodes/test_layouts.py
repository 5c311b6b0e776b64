"""The layouts for PlotJuggler and Foxglove name topics that the nodes publish."""

import json
from pathlib import Path
import re
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]


def published():
    """Return the topics that the nodes' sources say they publish."""
    found = set()
    for node, names in (('torque_prediction', ('torque_prediction',)),
                        ('identification', ('identification', 'online'))):
        for name in names:
            text = (ROOT / 'ros_inertial_id' / 'nodes' / f'{name}.py').read_text()
            found |= {f'/{node}/{topic}' for topic in re.findall(
                r"(?:create_publisher\(|advertise\(self, )\w+,\s+'~/(\w+)'", text)}
    return found


def test_plotjuggler_shows_curves_of_topics_there_are():
    root = ElementTree.parse(ROOT / 'config' / 'plotjuggler_franka.xml').getroot()
    curves = [curve.get('name') for curve in root.iter('curve')]
    assert len(curves) == len(set(curves)) == 7 * 3 + 2 * 7
    assert {re.match(r'(/\w+/\w+)/\w+/(effort|position|velocity)$', name)[1]
            for name in curves} <= published()
    for splitter in root.iter('DockSplitter'):
        assert len(splitter.findall('DockArea')) == int(splitter.get('count'))


def test_foxglove_places_every_panel_and_shows_topics_there_are():
    layout = json.loads((ROOT / 'config' / 'foxglove.json').read_text())

    def panels(part):
        return [part] if isinstance(part, str) else panels(part['first']) + panels(part['second'])

    assert sorted(panels(layout['layout'])) == sorted(layout['configById'])
    paths = [path['value'] for panel in layout['configById'].values()
             for path in panel.get('paths', ())]
    assert len(paths) == 3 * 7 and {p.split('.')[0] for p in paths} <= published()
