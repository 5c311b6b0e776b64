"""The topic of a controller, and its action where the messages of ros2_control are missing."""

from pathlib import Path
import sys
from types import SimpleNamespace

from motions import motion_within
import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import ConfigError, MotionError
from ros_inertial_id.excitation.limits import kinematic_limits
from ros_inertial_id.excitation.playback import LEAD, plan_course
from ros_inertial_id.excitation.problem import DesignOptions
from ros_inertial_id.nodes import course_sender
from ros_inertial_id.nodes.controller_link import controller_link
from ros_inertial_id.nodes.course_sender import (
    CourseSender,
    OLDEST_CLOCK,
    PIECE_PERIOD,
    SENT_AGAIN,
)

NAME = 'arm_controller/follow_joint_trajectory'


def test_without_the_interfaces_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, 'control_msgs', None)
    monkeypatch.setitem(sys.modules, 'control_msgs.action', None)
    with pytest.raises(ConfigError, match='needs control_msgs; install ros-'):
        controller_link(None, NAME, print)


@pytest.mark.parametrize(
    'controller, stays, simulated', [('arm', True, False), ('other', False, True)]
)
def test_topic_without_a_reader_is_refused(controller, stays, simulated):
    """A controller has a node of its name; of others nobody knows which of them moves the arm."""
    listeners, sent = [], []

    def ends(topic):
        assert topic == '/ns/arm/joint_trajectory'
        return [SimpleNamespace(node_name=name, node_namespace='/ns') for name in listeners]

    qualities = []
    node = SimpleNamespace(
        create_publisher=lambda *args, **_: (
            qualities.append(args[2]),
            SimpleNamespace(publish=sent.append),
        )[1],
        get_parameter=lambda _: SimpleNamespace(value=simulated),
        resolve_topic_name=lambda name: f'/ns/{name}',
        get_subscriptions_info_by_topic=ends,
    )
    link = controller_link(node, 'arm/joint_trajectory', print)
    with pytest.raises(MotionError, match='nobody listens to arm/joint_trajectory'):
        link.check_ready()
    listeners[:] = [controller, 'echo']
    link.check_ready()
    link.send(b'piece')
    link.check_ready()
    listeners.remove('echo')
    if stays:
        link.check_ready()
        listeners[:] = ['echo']
    with pytest.raises(MotionError, match='/ns/[a-z]* does not listen to arm/joint_trajectory'):
        link.check_ready()
    assert link.outcome(0.5, bool) == ''
    link.check_ready()
    assert sent == [b'piece'] and qualities[0].depth == 1
    # In simulated time the wall clock says nothing of how late a piece is.
    assert (qualities[0].lifespan.nanoseconds == 0) == simulated


def points_of(message):
    """Return the times [s] since time 0 and the positions of a trajectory's points."""
    began = message.header.stamp.sec + message.header.stamp.nanosec * 1e-9
    times = [
        began + p.time_from_start.sec + p.time_from_start.nanosec * 1e-9 for p in message.points
    ]
    return np.array(times), np.array([p.positions for p in message.points])


def planned():
    """Return a Course of a small arm, its Brakes and the names of its joints."""
    robot = load_robot_model((Path(__file__).parents[2] / 'urdf' / 'arm2.urdf').read_text())
    motion = motion_within(robot, seed=1, share=0.5)
    course = plan_course(motion, motion.start + 0.1, robot)
    return (
        course,
        course.brakes(robot, kinematic_limits(robot, DesignOptions())),
        (robot.joint_names),
    )


def test_a_controller_s_state_tells_which_piece_it_follows():
    """By the stamp of its trajectory, which some versions put off to the next point."""
    now, sent = [10.0], []

    def publish(message):
        if isinstance(message, bytes):
            message = deserialize_message(message, JointTrajectory)
        sent.append(message)

    node = SimpleNamespace(
        create_publisher=lambda *args, **_: SimpleNamespace(publish=publish),
        get_parameter=lambda _: SimpleNamespace(value=False),
        resolve_topic_name=lambda name: f'/{name}',
        get_subscriptions_info_by_topic=lambda topic: [],
    )
    link = controller_link(node, 'arm/joint_trajectory', print)
    sender = CourseSender(link, lambda: round(now[0] * 1e9))

    def follows(message, late=0):
        stamp = message.header.stamp
        sender.note_followed(stamp.sec * 10**9 + stamp.nanosec + late, round(now[0] * 1e9))

    sender.begin(*planned(), True, 0.1)
    for now[0] in 10.04 + 0.04 * np.arange(12):
        sender.send()
    assert link.arrived == 0 and not sender.arrival_unknown  # it does not say
    follows(sent[-2], late=-15_000_000)
    assert link.arrived == 12 and not sender.arrival_unknown
    sender.note_followed(0, 0)
    sender.note_followed(round(now[0] * 1e9), round(now[0] * 1e9))  # a trajectory of somebody else
    assert link.arrived == 12 and not sender.awaits_answers
    for now[0] in now[0] + 0.04 * np.arange(1, 4):
        sender.send()
    assert sender.awaits_answers and not sender.arrival_unknown  # its state may be late
    now[0] += 1.2
    assert sender.arrival_unknown  # but not for ever
    now[0] -= 1.2
    follows(sent[-5])
    assert sender.awaits_answers and sender.arrival_unknown  # it stalls, or pieces are lost
    follows(sent[-1])
    assert link.arrived == 16 and not sender.arrival_unknown
    followed = sent[-1]
    for _ in range(2):
        now[0] += 0.04
        sender.send()
    link.withdraw()  # what waits is replaced by what the arm follows, and ends after it
    assert sent[-1].header == followed.header and sent[-1].points[:-1] == followed.points
    before, last = sent[-1].points[-2:]
    assert last.positions == before.positions and not any(last.velocities)
    assert last.time_from_start.sec - before.time_from_start.sec == 3


def test_whether_the_arm_may_brake_already_as_goals_were_not_accepted():
    """A piece is the same path as the one 0.12 s before it, whenever it arrives within 0.06 s."""
    link, now = SimpleNamespace(arrived=3, sent=3, answers=True), [10.0]

    def send(message):
        link.sent += 1
        return link.sent

    link.send, link.message = send, lambda trajectory, tracking: trajectory
    sender = CourseSender(link, lambda: round(now[0] * 1e9))
    sender.begin(*planned(), True, 0.1)
    now[0] = 10.13  # it rests until 10.2
    assert not sender.arrival_unknown
    now[0] = 10.15
    assert sender.arrival_unknown
    link.arrived = 4
    assert not sender.arrival_unknown
    sender.send()
    now[0] = 10.26
    sender.send()
    assert sender.arrival_unknown
    link.arrived = 5
    assert not sender.arrival_unknown
    now[0] = 10.28
    assert sender.arrival_unknown
    assert link.sent == 6


def test_a_piece_is_sent_again_while_time_stands_and_none_for_a_time_that_has_passed(monkeypatch):
    """Simulated time waits for a piece that was lost; or goes on while a process is held up."""
    wall, now, age, sent = [0.0], [10.0], [0.0], []
    monkeypatch.setattr(course_sender, 'time', SimpleNamespace(monotonic=lambda: wall[0]))
    link = SimpleNamespace(
        send=lambda message: sent.append(message) or 0,
        message=lambda trajectory, tracking: trajectory,
        arrived=0,
        answers=False,
    )
    sender = CourseSender(link, lambda: round(now[0] * 1e9), lambda: age[0])
    sender.begin(*planned(), True, 0.1)
    assert not sender.due
    now[0] += PIECE_PERIOD
    assert sender.due
    age[0] = 1.1 * OLDEST_CLOCK
    assert not sender.send() and len(sent) == 1 and sender.due
    age[0] = 0.0
    sender.send()
    assert len(sent) == 2 and not sender.due
    wall[0] += SENT_AGAIN
    assert sender.due
    sender.send()
    assert len(sent) == 3 and points_of(sent[1])[0].tolist() == points_of(sent[2])[0].tolist()


def test_a_piece_with_which_the_process_was_held_up_is_made_anew():
    """The arm goes on from where the last piece that was sent has left it, and never leaps."""
    course, brakes, names = planned()
    now, leaps, sent = [10.0], [], []

    def now_ns():
        """Return the time [ns], which a preempted process sees leap from one look to the next."""
        if leaps:
            now[0] += leaps.pop(0)
        return round(now[0] * 1e9)

    def send(message):
        now[0] += sum(leaps[:2])
        sent.append(message)
        return 0

    sender = CourseSender(
        SimpleNamespace(
            send=send, message=lambda trajectory, tracking: trajectory, arrived=0, answers=False
        ),
        now_ns,
    )
    sender.begin(course, brakes, names, True, 0.1)
    for now[0] in np.arange(10.04, 10.0 + LEAD + course.approach + 2.0, 0.04):
        sender.send()
    count = len(sent)
    leaps[:] = [0.0, 0.0, 0.6]  # the first look only asks whether the motion has begun
    now[0] += 0.3  # late already: it goes on from where the arm eases to rest
    sender.send()
    promised, made = (points_of(message) for message in sent[-2:])
    was, goes_on = (
        [np.interp(now[0] + 0.005, times, q) for q in positions.T]
        for times, positions in (promised, made)
    )
    np.testing.assert_allclose(goes_on, was, atol=2e-3)
    sender.send()  # making it takes longer than it may be late: so it is made ahead
    assert len(sent) == count + 1  # and nothing before the moment for which it was made
    leaps[:] = [0.0, 0.0, 0.1, 0.0, 0.11]
    now[0] += 0.8
    sender.send()
    promised, made = (points_of(message) for message in sent[-2:])
    was, goes_on = (
        [np.interp(now[0] + 0.005, times, q) for q in positions.T]
        for times, positions in (promised, made)
    )
    np.testing.assert_allclose(goes_on, was, atol=2e-3)
    leaps[:] = [0.3, 0.6, 0.9, 1.5, 2.1, 3.0, 9.0]  # never in time: nothing is sent
    sender.send()
    assert len(sent) == count + 2
