"""Whatever happens to the player of motions, its robot or its driver: the arm comes to rest."""

import signal

import numpy as np
import pytest
from stage import PERIOD, REST


@pytest.mark.parametrize(
    'fault, parameters, words',
    [
        ('joint_states_stop', {}, 'no joint states for'),
        ('joint_stuck', {}, 'joint1 is 0.'),
        ('effort_offset', {}, 'joint1: effort'),
        ('drop_trajectory', {'tracking': 0.15}, 'from where it should be (allowed 0.15)'),
    ],
)
def test_fault_stops_the_arm_closes_the_bag_and_is_named(stage, fault, parameters, words):
    bag = stage.move(speed=0.25, periods=20, **parameters)
    assert stage.graph.set('simulated_robot', fault=fault) == ''
    assert words in stage.ends(bag)
    stage.graph.spin(0.1)  # a piece may come after the word, on another topic
    count = len(stage.commands)
    assert stage.commands[-1].points[-1].velocities.tolist() == [0.0, 0.0]
    assert stage.graph.set('simulated_robot', fault='') == ''
    stage.rests()
    assert len(stage.commands) == count  # and nothing follows
    stage.graph.until(lambda: stage.graph.health('excitation')[0] == 'error', 'diagnostics')
    assert words in stage.graph.health('excitation')[1]
    stage.channels(bag)


@pytest.mark.parametrize(
    'share, seconds', [(0.3, 2.0), (0.0, 0.5)], ids=['speed slider', 'protective stop']
)
def test_driver_that_slows_trajectories_down_ends_the_motion_without_a_jump(stage, share, seconds):
    """As UR's: a new piece would make the arm skip what it was slowed down by, or stopped for."""
    bag = stage.move(speed=0.25, periods=20)
    assert stage.graph.set('simulated_robot', speed_scaling=share) == ''
    words = f'the driver runs trajectories at {100.0 * share:.0f} % of their speed'
    assert words in stage.ends(bag)
    stage.graph.spin(seconds)  # the rest of the piece takes three times as long, or waits
    refused = stage.graph.call('excitation/play')
    assert stage.graph.set('simulated_robot', speed_scaling=1.0) == ''
    assert not refused.success
    assert f'found {100.0 * share:.0f} % in speed_scaling' in refused.message
    stage.rests(1.0)  # what it was slowed down by
    stage.graph.until(lambda: stage.graph.call('excitation/check').success, 'full speed')
    limit = 0.25 * np.abs(stage.motion.at(np.linspace(0.0, PERIOD, 2000))[1]).max()
    assert np.abs([m.velocity for m in stage.truth[-500:]]).max() < 1.5 * limit


def test_controller_that_was_restarted_gets_no_more_pieces(stage):
    """It holds the arm, and the next piece would begin ahead of it; this test listens, too."""
    bag = stage.move(speed=0.25, periods=20)
    assert stage.graph.set('simulated_robot', fault='controller_gone') == ''
    assert 'does not listen to' in stage.ends(bag)
    count = len(stage.commands)
    assert stage.graph.set('simulated_robot', fault='') == ''
    stage.rests()
    assert len(stage.commands) == count
    stage.channels(bag)


def test_signal_in_mid_motion_stops_the_arm_and_closes_the_bag(stage):
    bag = stage.move(speed=0.25, periods=20)
    assert stage.player.end() == 0
    assert 'Traceback' not in stage.player.output
    stage.rests()
    stage.ends(bag, 'stopped: the player was shut down; ')
    stage.channels(bag)


def test_killed_player_leaves_the_arm_at_rest_by_its_last_piece(stage):
    bag = stage.move(speed=0.5, periods=20)
    stage.player.send(signal.SIGKILL)
    stage.player.wait()
    assert np.abs([m.velocity for m in stage.truth[-100:]]).max() > REST  # it moved
    stage.rests()
    assert stage.graph.call('recorder/stop').success
    stage.channels(bag)
