"""The time of simulators waits for the pieces of a trajectory; for a lost sender not for ever."""

from types import SimpleNamespace

import pytest

from ros_inertial_id.nodes import simulator_clock
from ros_inertial_id.nodes.simulator_clock import (
    BURST,
    LOOKS_FOR_PIECE,
    NEXT_PIECE,
    SimulatorClock,
    WALL_TICK,
)

STEP = 0.01  # [s]


class Ticks:
    """A SimulatorClock on a wall clock of its own; ``at`` : its time [s]."""

    def __init__(self, monkeypatch):
        self.at = self._wall = 0.0
        wall = SimpleNamespace(time_ns=lambda: 0, monotonic=lambda: self._wall)
        monkeypatch.setattr(simulator_clock, 'time', wall)
        publisher = SimpleNamespace(publish=lambda message: None)
        self.clock = SimulatorClock(
            SimpleNamespace(
                create_publisher=lambda *args: publisher,
                create_timer=lambda *args, **named: None,
            )
        )

    def go(self, count):
        """Tick; return by how much its time went on [s]."""
        before = self.at
        for _ in range(count):
            self._wall += WALL_TICK
            self.at += STEP * len(list(self.clock.steps(self.at, STEP)))
        return self.at - before


@pytest.fixture
def ticks(monkeypatch):
    """Return Ticks whose time has begun."""
    out = Ticks(monkeypatch)
    out.go(10)
    return out


def test_time_that_waited_for_a_piece_in_vain_goes_on_slowly_until_the_trajectory_rests(ticks):
    """Whoever was held up may still send, and the arm brakes by then: it must not be far."""
    rests = ticks.at + 0.6
    ticks.clock.piece(ticks.at, rests)
    assert ticks.go(LOOKS_FOR_PIECE) <= NEXT_PIECE + 1.1 * STEP
    while ticks.at < rests - NEXT_PIECE:
        assert ticks.go(25) <= 0.5 * 25 * WALL_TICK + NEXT_PIECE
    ticks.go(50)
    assert ticks.go(100) == pytest.approx(100 * WALL_TICK, abs=BURST + 2 * STEP)


def test_time_waits_again_for_a_sender_that_was_held_up_and_not_for_a_trajectory_at_rest(ticks):
    ticks.clock.piece(ticks.at, ticks.at + 0.6)
    ticks.go(LOOKS_FOR_PIECE + 10)
    ticks.clock.piece(ticks.at, ticks.at + 0.6)
    assert ticks.go(LOOKS_FOR_PIECE) <= NEXT_PIECE + 1.1 * STEP
    ticks.clock.piece(ticks.at, ticks.at)
    assert ticks.go(100) == pytest.approx(100 * WALL_TICK, abs=BURST + 2 * STEP)
