"""What stamps say of their clock: wild ones, a clock set anew, a stream that falls behind."""

import re

import numpy as np
import pytest

from ros_inertial_id.measurement import stream_clock as module
from ros_inertial_id.measurement.stream_clock import StreamClock

START = 1_700_000_000_000_000_000


def stamps(count, period=0.002, start=START):
    return start + np.round(np.arange(count) * period * 1e9).astype(np.int64)


def batches(stamp_ns, size):
    return [stamp_ns[k : k + size] for k in range(0, len(stamp_ns), size)]


@pytest.mark.parametrize('wild', [-(10**9), 10**9, None], ids=['early', 'late', 'none'])
@pytest.mark.parametrize('size', [1, 10, 1000])
def test_one_stamp_in_fifty_costs_one_message_each(wild, size):
    clock, given = StreamClock(), stamps(1000)
    bad = np.arange(7, 1000, 50)
    given[bad] = 0 if wild is None else given[bad] + wild
    used = [clock.sound(batch) for batch in batches(given, size)]
    assert np.flatnonzero(~np.concatenate([mask for mask, _ in used])).tolist() == bad.tolist()
    assert not any(back for _, back in used)
    assert clock.left_out == len(bad) and clock.jumps == 0 and not clock.jumped


@pytest.mark.parametrize('size', [1, 10, 1000])
def test_a_bag_that_is_played_again_is_a_clock_that_went_back(size):
    clock = StreamClock()
    used, backs = [], 0
    for _ in range(4):
        for batch in batches(stamps(1000), size):
            mask, back = clock.sound(batch)
            backs += back
            used.append(mask)
    assert backs == clock.jumps == 3 and clock.jumped == 'its clock went back by 2 s'
    assert np.concatenate(used).sum() >= 4 * 1000 - 3 * module.CONFIRMED and not clock.left_out


def test_in_the_batch_in_which_time_went_back_nothing_of_before_is_used():
    clock = StreamClock()
    clock.sound(stamps(100))
    mask, back = clock.sound(
        np.concatenate([stamps(50, start=START + 200_000_000), stamps(50, start=START - 10**10)])
    )
    assert back and not mask[:50].any() and mask[50 + module.CONFIRMED :].all()


def test_a_pause_of_a_stream_is_gone_on_after():
    clock = StreamClock()
    clock.sound(stamps(100))
    mask, back = clock.sound(stamps(100, start=START + 60 * 10**9))
    assert not back and mask.sum() == 100 - module.CONFIRMED + 1 and clock.jumps == 0
    assert clock.jumped == 'its stamps leapt ahead by 59.8 s'


def test_a_slow_topic_is_no_series_of_wild_stamps():
    clock = StreamClock()
    masks = [clock.sound(batch)[0] for batch in batches(stamps(50, period=1.0), 1)]
    assert np.concatenate(masks)[module.CONFIRMED :].all()


def test_a_driver_that_stamps_nothing_is_left_to_its_reader():
    assert StreamClock().sound(np.zeros(10, dtype=np.int64))[0].all()
    begun = StreamClock()  # at the beginning of a simulated clock
    assert begun.sound(np.array([0, 2_000_000, 4_000_000]))[0].all()
    stopped = StreamClock()
    stopped.sound(stamps(10))
    assert stopped.sound(np.zeros(module.UNSTAMPED + 5, dtype=np.int64))[0].sum() == 5


@pytest.mark.parametrize(
    'share, waited, words',
    [
        (1.0, 0.0, ''),
        (0.97, 0.0, ''),
        (0.7, 0.0, r'^500 Hz by the stamps, 350 Hz arrive, 1.\d\d s old .*its driver is too slow'),
        (0.7, 1.0, r'^500 Hz by the stamps, 350 Hz arrive, .*this node reads too slowly'),
    ],
)
def test_a_stream_that_falls_behind_says_by_how_much_and_whose_it_is(
    monkeypatch, share, waited, words
):
    clock, wall = StreamClock(), [1000.0]
    monkeypatch.setattr(module.time, 'monotonic', lambda: wall[0])
    monkeypatch.setattr(module.time, 'time_ns', lambda: round(wall[0] * 1e9))
    for k in range(60):
        wall[0] += 0.1
        stamp = 1000.0 + share * (wall[0] - 1000.0)
        late = waited * (wall[0] - stamp)
        clock.look(round(stamp * 1e9), round((wall[0] - late) * 1e9), round(50 * share))
    assert re.search(words, clock.slow()) if words else clock.slow() == ''


def test_a_recording_that_is_played_slowly_is_no_slow_driver(monkeypatch):
    clock, wall = StreamClock(), [5000.0]
    monkeypatch.setattr(module.time, 'monotonic', lambda: wall[0])
    monkeypatch.setattr(module.time, 'time_ns', lambda: round(wall[0] * 1e9))
    for k in range(60):
        wall[0] += 0.1
        clock.look(round((1000.0 + 0.05 * k) * 1e9), 0, 25)
    assert clock.slow() == ''
