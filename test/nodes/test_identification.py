"""The node identification: answers, refusals, and what it publishes."""

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped
from live_graph import LATCHED, read_table, ROOT
import numpy as np
import pytest
from recordings import EPOCH_NS, joint_states, recording_of
from std_msgs.msg import String
from std_srvs.srv import Trigger

from ros_inertial_id.identification.identified_model import IdentifiedModel
from ros_inertial_id.measurement.bags.writing import write_recording
from ros_inertial_id.nodes.model_topics import inertia_message
from ros_inertial_id.procedures.payload import Payload

FRANKA = ROOT / 'urdf' / 'franka.urdf'
LONG = 30_000  # samples; even a fast machine computes for longer than two calls take
MODEL, TABLE, BAND = (
    f'identification/{name}' for name in ('identified_model', 'base_parameters', 'prediction_band')
)


@pytest.fixture(scope='module')
def bag(arm_recording, tmp_path_factory):
    """Return the path of a bag of the two-joint arm."""
    path = tmp_path_factory.mktemp('bags') / 'arm2'
    write_recording(path, arm_recording)
    return path


@pytest.fixture(scope='module')
def long_bag(tmp_path_factory):
    """Return the path of a long bag of seven joints; what they do does not matter."""
    t = np.arange(LONG) * 1e-3
    phase = 2 * np.pi * (0.1 + 0.05 * np.arange(7)) * t[:, None]
    noise = np.random.default_rng(0).standard_normal((LONG, 7))
    names = [f'fr3_joint{i + 1}' for i in range(7)]
    states = joint_states(names, t, begin_ns=EPOCH_NS, position=np.sin(phase), effort=noise)
    path = tmp_path_factory.mktemp('bags') / 'long'
    urdf = FRANKA.read_text()
    write_recording(path, recording_of(states, robot_description=urdf, mounting='upright'))
    return path


@pytest.fixture
def node(shared_graph):
    """Yield the graph with an identification node that lives through all tests."""
    if not shared_graph.processes:
        shared_graph.start('identification')
    assert (
        shared_graph.set('identification', recording='', urdf_file='', out='', validation='') == ''
    )
    yield shared_graph
    assert shared_graph.processes[0].alive()


def refusal(graph, **parameters):
    """Return the words with which ~/identify refuses with these parameters."""
    assert graph.set('identification', **parameters) == ''
    response = graph.call('identification/identify')
    assert not response.success
    graph.until(
        lambda: graph.health('identification')[:2] == ('error', response.message),
        'the refusal in the diagnostics',
    )
    return response.message


def test_what_cannot_be_identified_is_refused_in_words(node, bag, tmp_path):
    assert refusal(node) == (
        'no recording to identify from; record one, or set the parameter recording'
    )
    assert 'does not exist' in refusal(node, recording='/nowhere')
    words = refusal(node, recording=str(bag), urdf_file=str(FRANKA))
    assert '/joint_states lacks joints; expected fr3_joint1, fr3_joint2' in words
    assert 'there is: joint1, joint2' in words
    words = refusal(node, urdf_file='/nowhere.urdf')
    assert words == '/nowhere.urdf cannot be read; found No such file or directory'
    (tmp_path / 'file').write_text('')
    words = refusal(node, urdf_file='', out=str(tmp_path / 'file'))
    assert words == f'folder {tmp_path / "file"} cannot be made; found File exists'


def test_model_and_table_reach_a_late_joiner_and_agree(node, bag, tmp_path):
    assert node.set('identification', recording=str(bag), out=str(tmp_path / 'out')) == ''
    response = node.call('identification/identify')
    assert response.success, response.message
    texts = node.listen(String, MODEL, LATCHED)
    tables = node.listen(DiagnosticArray, TABLE, LATCHED)
    bands = node.listen(DiagnosticArray, BAND, LATCHED)
    node.until(lambda: texts and tables and bands, 'the latched model')
    model = IdentifiedModel.from_yaml(texts[-1].data)
    band = model.statistics['prediction_band']['joints']
    band_rows, rows = read_table(bands[-1]), read_table(tables[-1])
    assert list(band_rows) == list(band)
    assert float(band_rows['joint1']['constant']) == band['joint1']['constant']
    assert list(rows) == [*(b['name'] for b in model.base), 'gravity_base']
    for status, entry in zip(tables[-1].status, model.base):
        numbers = [float(rows[status.name][key]) for key in ('value', 'standard_error', 'used')]
        assert (status.level == status.OK) == entry['determined']
        assert status.message == entry['unit']
        assert np.isfinite(numbers[2]) and (
            numbers[:2] == [entry['value'], entry['standard_error']] or not entry['determined']
        )
    owners = {p.name: p.owner for p in model.parameters}
    assert {s.hardware_id for s in tables[-1].status[:-1]} <= set(owners.values())
    assert (tmp_path / 'out' / 'model.yaml').read_text() == texts[-1].data
    assert (tmp_path / 'out' / 'report.html').stat().st_size > 1000
    node.until(
        lambda: node.health('identification')[1].startswith('model published, verdict: '),
        'diagnostics',
    )
    level, _, values = node.health('identification')
    assert level == 'ok' and values['base parameters'] == str(len(model.base))


def test_a_client_goes_on_meanwhile_sees_the_progress_and_cancels_it(node, bag, long_bag):
    def told():
        return [values for *_, values in node.healths('identification') if 'work' in values]

    assert node.set('identification', recording=str(long_bag)) == ''
    node.healths('identification').clear()
    answer = node.ask(Trigger, 'identification/identify', Trigger.Request())
    node.until(lambda: any(float(v['fraction']) > 0.0 for v in told()), 'progress')
    assert {v['work'] for v in told()} == {'identify'}
    refused = node.call('identification/payload')  # answered meanwhile
    assert (refused.success, refused.message) == (
        False,
        'identify is under way; wait for its end, or call ~/cancel',
    )
    assert not answer.done() and node.call('identification/cancel').success
    node.until(answer.done, 'its end')
    assert (answer.result().success, answer.result().message) == (False, 'cancelled')
    assert not node.call('identification/cancel').success  # nothing is under way
    assert node.set('identification', recording=str(bag)) == ''
    assert node.call('identification/identify').success


def test_a_load_that_the_motion_does_not_show_is_not_published(node, bag):
    assert node.set('identification', recording=str(bag)) == ''
    assert node.call('identification/identify').success
    loads = node.listen(InertiaStamped, 'identification/payload', LATCHED)
    refused = node.call('identification/payload')
    assert not refused.success and 'does not show the mass' in refused.message and not loads


def test_a_load_is_an_inertia_about_its_centre():
    inertia = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]])
    message = inertia_message(
        Payload(
            'hand',
            'flange',
            2.0,
            np.array([0.1, 0.2, 0.3]),
            inertia,
            0.1,
            np.zeros(3),
            inertia,
            np.zeros(10),
            {},
            1.0,
        )
    )
    assert (message.header.frame_id, message.inertia.m) == ('flange', 2.0)
    com, tensor = message.inertia.com, message.inertia
    assert (com.x, com.y, com.z) == (0.1, 0.2, 0.3)
    assert [tensor.ixx, tensor.ixy, tensor.ixz, tensor.iyy, tensor.iyz, tensor.izz] == [
        1.0,
        2.0,
        3.0,
        4.0,
        5.0,
        6.0,
    ]


def test_a_signal_ends_it_in_the_middle_of_a_computation(graph, long_bag):
    process = graph.start('identification', recording=long_bag)
    graph.ask(Trigger, 'identification/identify', Trigger.Request())
    graph.until(lambda: 'identifying from' in process.output, 'the computation')
    assert process.end() == 0
    assert 'Traceback' not in process.output
    assert 'identify: the node was shut down' in process.output
