"""Numbers go into a description, and nothing else of it changes."""

import pathlib

import numpy as np
import pytest
import yaml

from ros_inertial_id.errors import ConfigError
from ros_inertial_id.rigs.bodies.description import with_entries, with_inertials

URDF = pathlib.Path(__file__).parents[3] / 'urdf'


@pytest.mark.parametrize('name', ['two_link_platform', 'two_bodies', 'payload_imu'])
def test_inertials_go_into_every_description(name):
    text = (URDF / f'{name}.yaml').read_text()
    data = yaml.safe_load(text)
    section = 'links' if 'links' in data else 'bodies'
    links = {link: np.arange(10.0) + k for k, link in enumerate(data[section])}
    found = yaml.safe_load(with_inertials(text, links))
    assert {k: v.pop('inertial') for k, v in found[section].items()} == {
        k: v.tolist() for k, v in links.items()
    }
    assert found == data


def test_matrices_and_texts_replace_what_was_there():
    text = (URDF / 'two_link_platform.yaml').read_text()
    new = {
        'stiffness': np.arange(36.0).reshape(6, 6),
        'inertial': np.ones(10),
        'covariance': ['1 2', '3 4'],
    }
    found, data = yaml.safe_load(with_entries(text, ('platform',), new)), yaml.safe_load(text)
    assert found == {
        **data,
        'platform': {**data['platform'], **{k: np.asarray(v).tolist() for k, v in new.items()}},
    }


@pytest.mark.parametrize('text', ['a: [', 'platform: 3', '[1]'])
def test_what_is_no_description_is_refused(text):
    with pytest.raises(ConfigError, match='description'):
        with_entries(text, ('platform',), {'mass': 1.0})
