"""Demonstrations touch nobody: their domain, and that what the launch file starts can play."""

import json

from live_graph import LATCHED
import pytest
from stage import small_motion, write_motion
from std_msgs.msg import String

from ros_inertial_id.errors import ConfigError
from ros_inertial_id.nodes import isolation
from ros_inertial_id.nodes.launching import node_settings, PLANS


@pytest.mark.parametrize('heard', [False, True])
def test_a_domain_with_somebody_in_it_is_not_taken(graph, monkeypatch, heard):
    for name in ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_STATIC_PEERS'):
        monkeypatch.setenv(name, '0')  # and put back at the end
    monkeypatch.setattr(isolation, 'DOMAINS', (graph.domain,))
    if heard:  # as of a middleware that takes other ports than DDS does
        monkeypatch.setattr(isolation, '_ports_are_free', lambda domain: True)
    words = f'/observer in domain {graph.domain}' if heard else 'that UDP ports of each are in use'
    with pytest.raises(ConfigError, match=words):
        isolation.isolate()


def test_what_the_launch_file_of_the_demonstration_starts_plays_a_motion(graph, tmp_path):
    given = {
        'arm': 'arm2',
        'out': str(tmp_path),
        'motion': str(write_motion(tmp_path / 'motion.yaml', small_motion())),
    }
    space = isolation.NAMESPACE
    for node in node_settings(PLANS['demo'], given):
        words = ['--ros-args', '-r', f'__ns:={node["namespace"]}', *node['ros_arguments']]
        for own in node['parameters']:
            for name, value in own.items():
                words += ['-p', f'{name}:={json.dumps(value)}']
        graph.start(node['executable'], *words)
    said = graph.listen(String, f'{space}/excitation/status', LATCHED)
    graph.until(lambda: graph.call(f'{space}/excitation/check').success, 'the robot')
    answer = graph.call(f'{space}/excitation/play')
    assert answer.success, answer.message
    graph.until(lambda: any(m.data.startswith(('finished', 'stopped')) for m in said), 'the end')
    assert any(m.data.startswith('finished') for m in said), said[-1].data
    names = {topic for topic, _ in graph.node.get_topic_names_and_types()}
    assert all(
        topic.startswith((f'{space}/', '/observer'))
        or topic in ('/clock', '/diagnostics', '/rosout', '/parameter_events')
        for topic in names
    ), names
