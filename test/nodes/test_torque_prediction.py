"""The node torque_prediction: what it predicts, when, and when it refuses."""

from array import array
from dataclasses import replace

from arm_recordings import ARM, ORIGIN_NS, random_arm_motion, RATE, simulated
from diagnostic_msgs.msg import DiagnosticArray
from live_graph import LATCHED, ROOT
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from ros_inertial_id.identification.judge.prediction import predict
from ros_inertial_id.nodes.model_topics import base_rows

NODE = 'torque_prediction'
LAG = 0.1  # [s] the node's default
PERIOD_NS = round(1e9 / RATE)
HOUR_NS = 3600 * 10**9
COUNT = 1500  # samples: three seconds


class Driver:
    """Publishes joint states, a model and a description; hears the predictions."""

    def __init__(self, graph):
        self.graph, node = graph, graph.node
        self._publishers = {
            topic: node.create_publisher(JointState, topic, 5000)
            for topic in ('joint_states', 'joint_commands')
        }
        self._models = node.create_publisher(String, 'identification/identified_model', LATCHED)
        self._descriptions = node.create_publisher(String, 'robot_description', LATCHED)
        self._predicted = graph.listen(JointState, f'{NODE}/predicted')
        self._residual = graph.listen(JointState, f'{NODE}/residual')
        self._band = [
            graph.listen(JointState, f'{NODE}/predicted_band/{name}')
            for name in ('lower', 'upper', 'standard_deviation')
        ]
        self._began = self._mark = 0

    @property
    def predicted(self):
        """Return the predictions since the last model; every model has an hour of its own."""
        return [m for m in self._predicted if stamp_ns(m) >= self._began]

    @property
    def residual(self):
        return [m for m in self._residual if stamp_ns(m) >= self._began]

    def band(self, last):
        """Return lower and upper bounds and standard deviations of this model up to a stamp."""
        # Looked at between any two messages: all messages each time took minutes under load.
        self.graph.until(
            lambda: all(part and stamp_ns(part[-1]) >= last for part in self._band), 'the band'
        )
        return [[m for m in part if stamp_ns(m) >= self._began] for part in self._band]

    def give_model(self, text):
        """Publish a model and wait until it is used or refused."""
        before, self._mark = self._told(), len(self.graph.healths(NODE))
        self._models.publish(String(data=text))
        self.graph.until(lambda: self._told() > before, 'word of the model')
        self._began = max(self._began, ORIGIN_NS) + HOUR_NS

    def describe(self, urdf):
        """Publish a robot description and wait until the model was compared with it."""
        before, self._mark = self._told(), len(self.graph.healths(NODE))
        self._descriptions.publish(String(data=urdf))
        self.graph.until(lambda: self._told() > before, 'word of the description')

    def _told(self):
        text = self.graph.processes[0].output
        return text.count('predicting ') + text.count('no prediction: ')

    def move(self, recording, rows=slice(0, COUNT), joints=(0, 1)):
        """Publish rows of a recording; return those of the joint states."""
        channels = {
            topic.strip('/'): channel.rows(rows) for topic, channel in recording.channels.items()
        }
        for topic, channel in channels.items():
            channels[topic] = replace(channel, stamp_ns=channel.stamp_ns - ORIGIN_NS + self._began)
            self.graph.until(self._publishers[topic].get_subscription_count, 'the reader')
        for k in range(len(channels['joint_states'])):
            for topic, channel in channels.items():
                stamp = divmod(int(channel.stamp_ns[k]), 10**9)
                message = JointState(name=[channel.names[j] for j in joints])
                message.header.stamp.sec, message.header.stamp.nanosec = stamp
                for name, values in channel.fields.items():
                    setattr(message, name, array('d', [values[k, j] for j in joints]))
                self._publishers[topic].publish(message)
            if k % 100 == 99:  # still many times faster than real time
                self.graph.spin(0.01)
        return channels['joint_states']

    def hear(self, channel):
        """Return (stamps, effort predicted, residual) of all samples that can be predicted."""
        last = channel.stamp_ns[-1] - LAG * 1e9 - PERIOD_NS
        self.graph.until(
            lambda: (
                self._residual
                and stamp_ns(self._residual[-1]) >= last
                and len(self._predicted) == len(self._residual)
            ),
            'the predictions',
        )
        stamps = np.array([stamp_ns(m) for m in self.predicted])
        assert stamps.tolist() == [stamp_ns(m) for m in self.residual]
        return stamps, *(
            np.array([m.effort for m in received]) for received in (self.predicted, self.residual)
        )

    def health(self, level, words):
        """Wait for a level and words in the diagnostics; return its values."""

        def seen():
            return [
                values
                for grade, message, values in self.graph.healths(NODE)[self._mark :]
                if grade == level and words in message
            ]

        self.graph.until(seen, f'{level}: {words}')
        return seen()[-1]

    def kept_promise(self):
        """
        Wait for diagnostics that count all predictions; return their values.

        Once the motion ends they say 'nothing received', maybe before any of them said 'ok';
        during it they may speak of the stream, which is faster than any robot's.
        """

        def counted():
            healths, count = self.graph.healths(NODE)[self._mark :], str(len(self.residual))
            return [
                (message, values)
                for _, message, values in healths
                if values.get('predicted') == count
            ]

        self.graph.until(counted, 'the count')  # one more prediction may have come since
        message, values = counted()[-1]
        assert not message.startswith(('residual', 'outside')), message
        for name in ('joint1', 'joint2'):
            assert float(values[f'{name} rms']) < 2 * float(values[f'{name} rms expected'])
        return values


def stamp_ns(message):
    """Return the header stamp [ns]."""
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec


def by_stamp(messages, stamps):
    """Return the efforts (N, n) at stamps (N,) [ns]."""
    efforts = {stamp_ns(m): m.effort for m in messages}
    return np.array([efforts[stamp] for stamp in stamps.tolist()])


@pytest.fixture(scope='module')
def driver(shared_graph):
    """Return the driver of a torque_prediction node that lives through all tests."""
    shared_graph.start(NODE)
    driver = Driver(shared_graph)
    shared_graph.until(lambda: 'waiting for a model' in shared_graph.processes[0].output, 'it')
    return driver


@pytest.fixture(autouse=True)
def still_alive(request):
    """Check that nothing that was refused ended the node."""
    yield
    if 'driver' in request.fixturenames:
        assert request.getfixturevalue('driver').graph.processes[0].alive()


def test_without_a_model_it_says_so_and_publishes_nothing(driver, arm_recording):
    driver.health('warn', 'no model yet')
    driver.move(arm_recording)
    driver.graph.spin(0.5)
    assert not driver.predicted
    driver.health('warn', 'no model yet')


def test_every_sample_is_predicted_once_at_its_stamp(driver, arm_recording, arm_model):
    driver.give_model(arm_model.to_yaml())
    channel = driver.move(arm_recording)
    stamps, predicted, residual = driver.hear(channel)
    assert (np.diff(stamps) == PERIOD_NS).all()  # each once, in order
    assert stamps[0] <= channel.stamp_ns[0] + LAG * 1e9 + PERIOD_NS  # the first with a past
    assert stamps[-1] >= channel.stamp_ns[-1] - LAG * 1e9 - PERIOD_NS
    assert set(stamps) <= set(channel.stamp_ns)
    assert list(driver.predicted[0].name) == ['joint1', 'joint2']
    rows = np.searchsorted(channel.stamp_ns, stamps)
    measured = channel.fields['effort'][rows]
    assert (predicted - measured).std(0) == pytest.approx(0.1, rel=0.1)  # the noise [N m]
    assert np.abs((predicted - measured).mean(0)).max() < 0.01


def test_a_band_comes_with_every_prediction(driver, arm_recording, arm_model):
    driver.give_model(arm_model.to_yaml())
    stamps, predicted, residual = driver.hear(driver.move(arm_recording))
    lower, upper, deviation = (by_stamp(part, stamps) for part in driver.band(stamps[-1]))
    np.testing.assert_allclose(lower + upper, 2.0 * predicted, atol=1e-9)
    np.testing.assert_allclose(upper - lower, 2.0 * 1.96 * deviation, atol=1e-9)
    inside = np.abs(residual) <= upper - predicted
    assert 0.9 < inside.mean()  # 95 % of motion as in the training, which this is
    assert np.all((upper - lower).mean(0) < 10.0 * residual.std(0))


def test_prediction_is_the_torque_of_the_true_arm_in_another_motion(
    driver, arm_model, controller_example
):
    driver.give_model(arm_model.to_yaml())
    recording, truth = simulated(random_arm_motion(seed=7, share=0.6), seconds=3.0)
    channel = driver.move(recording)
    stamps, predicted, _ = driver.hear(channel)
    tau = truth.tau[np.searchsorted(channel.stamp_ns, stamps)]
    # Base parameters from 10 s with 0.1 N m of noise; 0.2 % in the motion they come from.
    assert np.linalg.norm(predicted - tau) < 0.02 * np.linalg.norm(tau)
    # A controller that reads the table alone computes the same, but for the motion's noise.
    robot = controller_example.IdentifiedTorque(
        ARM.read_text(),
        DiagnosticArray(
            status=base_rows(
                arm_model.base,
                arm_model.parameters,
                arm_model.values,
                arm_model.mounting['gravity_base'][0],
            )
        ),
    )
    rows = np.searchsorted(channel.stamp_ns, stamps)
    torque = [robot.torque(truth.q[k], truth.v[k], truth.a[k]) for k in rows]
    assert np.linalg.norm(predicted - torque) < 0.02 * np.linalg.norm(tau)


def test_commanded_drives_have_the_residual_of_the_recording(driver, arm_recording, arm_model):
    states, delay = arm_recording.channels['/joint_states'].rows(slice(0, COUNT)), 0.004
    q, v, effort = (states.fields[name] for name in ('position', 'velocity', 'effort'))
    recording = replace(
        arm_recording,
        channels={
            '/joint_states': replace(states, fields={'position': q, 'velocity': v}),
            '/joint_commands': replace(  # by which drives of 200 N m/rad make these torques
                states,
                topic='/joint_commands',
                stamp_ns=states.stamp_ns - round(1e9 * delay),
                fields={'position': q + effort / 200.0 + v / 50.0},
            ),
        },
    )
    model = replace(
        arm_model,
        options={
            **arm_model.options,
            'effort_kind': 'command',
            'effort_topic': 'joint_commands',
            'stiffness': [200.0, 200.0],
            'damping': [4.0, 4.0],
        },
        preprocessing=[{**arm_model.preprocessing[0], 'time_offset': -delay}],
    )
    expected = predict(model, recording)
    driver.give_model(model.to_yaml())
    channel = driver.move(recording)
    stamps, _, residual = driver.hear(channel)
    at = np.round((stamps - channel.stamp_ns[0]) * 1e-9 * RATE).astype(int)
    offline = {int(round(t * RATE)): row for t, row in zip(expected.t, expected.residual)}
    inside = (at > 0.2 * RATE) & (at < COUNT - 0.2 * RATE)
    difference = residual[inside] - [offline[k] for k in at[inside]]
    # Measured torques differ by 0.02 N m: the live filter ends where its lag does.
    assert inside.sum() > 1000 and np.abs(difference).max() < 0.04 < 0.2 * residual[inside].std()
    values = driver.health('warn', 'nothing received')  # the motion is over; nothing else is said
    assert values['gaps'] == '0'


def test_joint_missing_in_the_messages_is_named_and_forgiven(driver, arm_recording, arm_model):
    driver.give_model(arm_model.to_yaml())
    driver.move(arm_recording, slice(0, 100), joints=(0,))
    driver.health('error', 'joint_states lack joints; expected joint2; there is: joint1')
    assert not driver.predicted
    channel = driver.move(arm_recording, slice(100, COUNT), joints=(1, 0))  # in another order
    driver.hear(channel)
    driver.kept_promise()


def test_gap_starts_anew_and_nothing_is_predicted_across_it(driver, arm_recording, arm_model):
    driver.give_model(arm_model.to_yaml())
    before = driver.move(arm_recording, slice(0, 700))
    after = driver.move(arm_recording, slice(1100, 2200))
    stamps, _, residual = driver.hear(after)
    assert len(set(stamps)) == len(stamps)
    assert set(stamps) <= set(before.stamp_ns) | set(after.stamp_ns)
    assert stamps[stamps > before.stamp_ns[-1]][0] >= after.stamp_ns[0]
    promised = arm_model.statistics['training']['filtered']['rms']
    assert np.sqrt(np.mean(residual[:, 1] ** 2)) < 1.3 * promised['joint2']
    assert driver.kept_promise()['gaps'] == '1'


def test_motion_outside_the_validity_range_is_warned_of(driver, arm_model):
    driver.give_model(arm_model.to_yaml())
    wild, _ = simulated(
        random_arm_motion(seed=3, period=4.0, share=0.99, acceleration=30.0), seconds=4.0
    )
    driver.hear(driver.move(wild, slice(0, 2000)))
    values = driver.health('warn', 'outside the validity range')
    assert any(' outside ' in value for value in values.values())


def test_what_is_no_model_is_refused_and_the_next_one_taken(driver, arm_recording, arm_model):
    text = arm_model.to_yaml()
    for bad, words in (
        ('{a: [b', 'is not YAML'),
        (text[: text.index('statistics:')], 'is incomplete'),
        (text.replace('method: serial_arm', 'method: crystal_ball'), 'crystal_ball'),
        (text.replace('version: 1', 'version: 99', 1), 'is of another version'),
    ):
        driver.give_model(bad)
        driver.health('error', words)
        driver.move(arm_recording, slice(0, 200))
        driver.health('error', words)
        assert not driver.predicted
    driver.give_model(text)
    driver.hear(driver.move(arm_recording))


def test_model_of_another_robot_is_refused_naming_the_difference(driver, arm_recording, arm_model):
    driver.give_model(arm_model.to_yaml())
    driver.describe((ROOT / 'urdf' / 'franka.urdf').read_text())
    driver.health(
        'error',
        'the model is of another robot; expected joint1, joint2; found fr3_joint1, fr3_joint2',
    )
    longer = ARM.read_text().replace(
        '<origin xyz="0 0 0" rpy="-1.5707963267948966 0 0"/>',
        '<origin xyz="0.1 0 0" rpy="-1.5707963267948966 0 0"/>',
    )
    assert longer != ARM.read_text()
    driver.describe(longer)
    driver.health('error', "the model is of robot 'arm2' with other kinematics")
    driver.move(arm_recording, slice(0, 300))
    driver.graph.spin(0.5)
    assert not driver.predicted
    driver.describe(ARM.read_text())
    driver.hear(driver.move(arm_recording))


def test_mounting_that_was_not_identified_is_refused(graph, arm_model, tmp_path):
    (tmp_path / 'model.yaml').write_text(arm_model.to_yaml())
    process = graph.start(NODE, model_file=tmp_path / 'model.yaml', mounting="'rpy 1.2 0 0'")
    assert process.wait() == 2
    assert 'this mounting needs parameters that were not identified' in process.output
    assert process.output.count('\n') <= 2
