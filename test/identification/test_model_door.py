"""Every change of one leaf of a good model file is refused with words, or predicts in peace."""

import copy
from dataclasses import replace
import warnings

import numpy as np
from one_leaf import changes
import pytest
from ros_inertial_id.api.model import model_of
from ros_inertial_id.errors import InertialIdError
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.judge.prediction import live_prediction
from ros_inertial_id.identification.model.identified_model import IdentifiedModel
from ros_inertial_id.identification.prepare.robot import check_robot
from ros_inertial_id.identification.settings import options_class, prediction_options
from ros_inertial_id.methods import METHODS
from ros_inertial_id.nodes.prediction_health import PredictionHealth
from ros_inertial_id.report import outline
from ros_inertial_id.report.knowledge import evaluate
import yaml

CASES = 600


@pytest.fixture
def model(arm3, arm3_recording):
    return identify([arm3_recording], options_class('serial_arm')(consistent=True), urdf=arm3[0]
                    ).model.to_yaml()


def used(data, recording):
    """Read a model's content and do with it what torque_prediction, reports and Model do."""
    model = IdentifiedModel.from_content(data)
    method, options = METHODS[model.method], prediction_options(model)
    options = replace(options, joint_states_topic='/joint_states')
    robot = method.build(model.robot['urdf'], options, model.mounting['gravity_base'][0])
    check_robot(model, robot)
    live = method.live(robot, options, 0.08, model.preprocessing[0])
    for channel in recording.channels.values():
        live.add(channel)
    stamps, state = live.take()
    torques = live_prediction(model, robot)(state).at(stamps, state.t)
    assert np.isfinite(torques.predicted).all()
    health = PredictionHealth(model)
    health.watch(method.validity_range(state, robot))
    health.account(torques, stamps)
    health.report()
    outline(model)
    evaluate(model)
    still = np.zeros(len(robot))
    assert np.isfinite(model_of(model).torque(still, still, still)).all()


def test_one_leaf_changes_are_refused_with_words_or_work(model, arm3_recording):
    recording = arm3_recording.window(0.0, 1.0)
    data = yaml.load(model, Loader=yaml.CSafeLoader)
    used(copy.deepcopy(data), recording)
    broken, refused = [], 0
    warnings.simplefilter('error')
    for path, value, content in changes(data, CASES):
        try:
            used(content, recording)
        except InertialIdError as error:
            refused += 1
            assert '\n' not in str(error)
        except Exception as error:
            broken.append((path, value, error))
    assert not broken
    assert refused > CASES / 2


def test_a_model_of_other_columns_than_its_robot_is_refused(model, arm3_recording):
    data = yaml.load(model, Loader=yaml.CSafeLoader)
    for spoil, said in ((lambda d: d['parameters'][0].update(owner='link9'), 'not those of its'),
                        (lambda d: d['validity_range'].popitem(), 'lacks joint3'),
                        (lambda d: d['validity_range'].clear(), 'at least 1')):
        other = copy.deepcopy(data)
        spoil(other)
        with pytest.raises(InertialIdError, match=said):
            used(other, arm3_recording)


@pytest.mark.parametrize('nest', ['[', '{a: ', '- '])
def test_a_text_that_is_nested_too_deeply_is_refused(nest):
    with pytest.raises(InertialIdError, match='at most 100 brackets'):
        IdentifiedModel.from_yaml('a:\n  ' + nest * 100000)
