"""A model file of another robot, or nested too deeply, is refused where it is used."""

import copy

import numpy as np
import pytest
import yaml

from ros_inertial_id.errors import InertialIdError
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.model.identified_model import IdentifiedModel
from ros_inertial_id.identification.prepare.robot import check_robot
from ros_inertial_id.identification.settings import options_class, robot_of_model


def test_a_model_of_other_columns_than_its_robot_is_refused(arm3, arm3_recording):
    text = identify([arm3_recording], options_class('serial_arm')(), urdf=arm3[0]).model.to_yaml()
    data = yaml.load(text, Loader=yaml.CSafeLoader)
    for spoil, said in ((lambda d: None, ''),
                        (lambda d: d['parameters'][0].update(owner='link9'), 'not those of its'),
                        (lambda d: d['validity_range'].popitem(), 'lacks joint3')):
        other = copy.deepcopy(data)
        spoil(other)
        model = IdentifiedModel.from_content(other)
        robot = robot_of_model(model, np.array([0.0, 0.0, -9.81]))
        if not said:
            check_robot(model, robot)
            continue
        with pytest.raises(InertialIdError, match=said):
            check_robot(model, robot)


@pytest.mark.parametrize('nest', ['[', '{a: ', '- '])
def test_a_text_that_is_nested_too_deeply_is_refused(nest):
    with pytest.raises(InertialIdError, match='at most 100 brackets'):
        IdentifiedModel.from_yaml('a:\n  ' + nest * 100000)
