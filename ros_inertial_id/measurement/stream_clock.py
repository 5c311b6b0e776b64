"""
Stream clock: what the stamps of one topic say of its clock, while they come.

A single stamp far from its neighbours is left out; several in a row are a clock that was set
anew: whoever reads the topic begins anew.  Stamps that grow older and older are of a driver, or a
reader, that is too slow.
"""

from collections import deque
import time

import numpy as np

FAR = 0.5  # [s] between stamps of neighbours, at least, ...
FAR_STEPS = 3.0  # ... and in steps of a topic that is slower than that
CONFIRMED = 3  # stamps in a row that are a clock set anew
UNSTAMPED = 50  # messages in a row without a stamp that are a driver which does not stamp
SECONDS = 2.0  # [s] of wall time by which a rate is known
KEEPS_UP = 0.95  # share of a second that stamps advance in one, below which a stream falls behind
OLD = 0.1  # [s] by which the newest stamp has to be late for that
PLAYED_BACK = 300.0  # [s] between the clocks beyond which it is a recording that is played


class StreamClock:
    """
    The stamps of one topic.

    left_out : how many single stamps were far from their neighbours
    jumps : how often the clock was set anew; jumped : how it was the last time, in words, or ''
    """

    def __init__(self) -> None:
        self._last: int | None = None
        self._new: list[int] = []
        self._far, self._unstamped = FAR, 0
        self._looks: deque[tuple[float, float, float, float, int]] = deque()
        self.left_out, self.jumps, self.jumped = 0, 0, ''

    def sound(self, stamp_ns: np.ndarray) -> tuple[np.ndarray, bool]:
        """
        Return (N,) which of the stamps (N,) [ns] are to be used, and whether time went back.

        stamp_ns : in the order of their messages; 0 says that there is none
        Of those before time went back none is to be used.
        """
        if not len(stamp_ns):
            return np.ones(0, dtype=bool), False
        if self._last is None:
            self._last = int(stamp_ns[0])
        if self._all_near(stamp_ns):
            self._last = int(stamp_ns[-1])
            return np.ones(len(stamp_ns), dtype=bool), False
        jumps_before, used = self.jumps, np.zeros(len(stamp_ns), dtype=bool)
        for k, stamp in enumerate(stamp_ns.tolist()):
            jumps = self.jumps
            used[k] = self._take(stamp)
            if self.jumps > jumps:
                used[:k] = False
        return used, self.jumps > jumps_before

    def _all_near(self, stamp_ns: np.ndarray) -> bool:
        """Return whether ``stamp_ns`` (N,) go on from the last one, none of them in doubt."""
        if not self._last or self._new:
            return False
        steps = np.diff(stamp_ns, prepend=self._last)
        return bool((np.abs(steps) <= 1e9 * self._far).all())

    def _take(self, stamp: int) -> bool:
        """Return whether a ``stamp`` [ns] is to be used: of a neighbour, or a clock set anew."""
        if not stamp:
            return self._take_unstamped()
        self._unstamped = 0
        if not self._last or abs(stamp - self._last) <= 1e9 * self._far:
            self._last = stamp
            self._new.clear()
            return True
        if self._new and stamp < self._new[-1]:
            self._new.clear()
        self._new.append(stamp)
        self.left_out += 1
        if len(self._new) < CONFIRMED:
            return False
        self._set_anew(stamp, self._last)
        return True

    def _take_unstamped(self) -> bool:
        """Return whether a message without a stamp is to be used."""
        self._unstamped += 1
        if self._unstamped > UNSTAMPED:
            return True  # whoever reads it says so
        if not self._last:
            self._last = 0
            self._new.clear()
            return True
        self.left_out += 1
        return False

    def _set_anew(self, stamp: int, last: int) -> None:
        """Go on from a ``stamp`` of a clock that was set anew, after the ``last`` of before."""
        away, steps = (self._new[0] - last) * 1e-9, np.diff(self._new) * 1e-9
        self._far = max(FAR, FAR_STEPS * float(steps.max()))
        self._last = stamp
        self._new.clear()
        self._looks.clear()
        self.left_out -= CONFIRMED
        if away < 0.0:
            self.jumps, self.jumped = self.jumps + 1, f'its clock went back by {-away:.3g} s'
        elif away > self._far:
            self.jumped = f'its stamps leapt ahead by {away:.3g} s'

    def look(self, stamp: int, received_ns: int, count: int) -> None:
        """
        Note that messages were read just now.

        stamp : of the newest of them [ns]
        received_ns : when that one came, by the computer's clock; count : of messages
        """
        now, wall = time.time_ns(), time.monotonic()
        waited = max(0.0, (now - received_ns) * 1e-9)
        self._looks.append((wall, stamp * 1e-9, (stamp - now) * 1e-9, waited, count))
        while len(self._looks) > 2 and self._looks[1][0] <= wall - SECONDS:
            self._looks.popleft()

    def slow(self) -> str:
        """Return in words how the stream falls behind, '' when it does not."""
        if len(self._looks) < 2:
            return ''
        walls, stamps, ahead, waited, counts = map(np.array, zip(*self._looks))
        wall, passed = walls[-1] - walls[0], stamps[-1] - stamps[0]
        is_measured = wall >= SECONDS and 0.0 < passed < KEEPS_UP * wall
        is_late = -PLAYED_BACK < ahead[-1] < -OLD and ahead[-1] <= ahead[0]
        if not (is_measured and is_late):
            return ''
        messages = counts[1:].sum()
        reason = 'its driver is too slow for its rate: lower it, or give its computer less to do'
        if waited[-1] > 0.5 * -ahead[-1]:
            reason = 'this node reads too slowly: give its computer less to do'
        return (
            f'{messages / passed:.0f} Hz by the stamps, {messages / wall:.0f} Hz arrive, '
            f'{-ahead[-1]:.2f} s old and later and later; {reason}'
        )
