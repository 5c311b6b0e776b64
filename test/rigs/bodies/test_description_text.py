"""Numbers go into a description, and nothing else of it changes."""

import pathlib

import numpy as np
import pytest
import yaml

from ros_inertial_id.errors import ConfigError
from ros_inertial_id.rigs.bodies.description import with_entries, with_inertials

URDF = pathlib.Path(__file__).parents[3] / 'urdf'


@pytest.mark.parametrize('name', ['two_link_platform', 'two_bodies', 'payload_imu'])
def test_inertials_go_into_every_description_and_its_comments_stay(name):
    text = (URDF / f'{name}.yaml').read_text()
    data = yaml.safe_load(text)
    section = 'links' if 'links' in data else 'bodies'
    links = {link: np.arange(10.0) + k for k, link in enumerate(data[section])}
    for written in (with_inertials(text, links), with_inertials(yaml.safe_dump(data), links),
                    with_inertials(with_inertials(text, {k: np.zeros(10) for k in links}), links)):
        found = yaml.safe_load(written)
        assert {k: v.pop('inertial') for k, v in found[section].items()} == {
            k: v.tolist() for k, v in links.items()}
        assert found == data
    comments = [line[line.index('#'):] for line in text.splitlines() if '#' in line]
    assert all(comment in with_inertials(text, links) for comment in comments)


def test_matrices_and_texts_replace_what_was_there():
    text = (URDF / 'two_link_platform.yaml').read_text()
    data = yaml.safe_load(text)
    new = {'stiffness': np.arange(36.0).reshape(6, 6).tolist(), 'inertial': [1.0] * 10,
           'covariance': ['1 2', '3 4']}
    for source in (text, yaml.safe_dump(data), 'platform: {pose: /p, stiffness: [1]}'):
        found = yaml.safe_load(with_entries(source, ('platform',), new))
        assert found['platform'] == {**yaml.safe_load(source)['platform'], **new}
        assert [k for k in found if k != 'platform'] == [
            k for k in yaml.safe_load(source) if k != 'platform']


def test_a_text_without_line_end_is_continued():
    found = with_entries('platform:\n  pose: /p', ('platform',), {'mass': 1.0})
    assert yaml.safe_load(found) == {'platform': {'pose': '/p', 'mass': 1.0}}


@pytest.mark.parametrize('text', ['a: [', 'platform: 3', '[1]'])
def test_what_is_no_description_is_refused(text):
    with pytest.raises(ConfigError, match='description'):
        with_entries(text, ('platform',), {'mass': 1.0})
