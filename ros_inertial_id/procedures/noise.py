"""The noise of a signal that changes slowly, while it comes in."""

from collections import deque

import numpy as np

MEMORY = 0.5  # [s] over which noise is averaged
BEFORE = 0.05  # [s] ago, up to when noise is taken: what begins only now may be no noise
WILD = 9.0  # times the variance of noise: more within a lag is no noise


def drop_before(samples: deque[tuple[float, np.ndarray]], time: float) -> None:
    """Drop the ``samples`` (time, value) that another one at or before a ``time`` follows."""
    while len(samples) > 1 and samples[1][0] <= time:
        samples.popleft()


class Noise:
    """
    Standard deviation of the noise of n signals, by what changes within a lag.

    lag : [s]; bandwidth : [rad/s] of the filter that made the noise, by which two values a time t
        apart are correlated as exp(-bandwidth t); infinite: not correlated after a lag
    """

    def __init__(self, count: int, lag: float, bandwidth: float = np.inf) -> None:
        self._lag, self._bandwidth = lag, bandwidth
        self._recent: deque[tuple[float, np.ndarray]] = deque()
        self._variance, self._began = np.zeros(count), 0.0
        self._variances: deque[tuple[float, np.ndarray]] = deque()

    def add(self, time: float, value: np.ndarray) -> np.ndarray:
        """
        Return the standard deviations (n,) as they were BEFORE, once they are known.

        time : [s] of one more sample, increasing; value : (n,)
        """
        if not self._recent:
            self._began = time
        self._average(time, value)
        self._variances.append((time, self._variance))
        begins = time - BEFORE
        if time - self._began < MEMORY:
            begins = time
        drop_before(self._variances, begins)
        return np.sqrt(self._variances[0][1])

    def _average(self, time, value):
        """Take the change within a lag into the mean."""
        self._recent.append((time, value))
        if len(self._recent) == 1:
            return
        step = time - self._recent[-2][0]
        drop_before(self._recent, time - self._lag)
        before, value_before = self._recent[0]
        passed = time - before
        if not step or passed < 0.5 * self._lag:
            return
        independent = 1.0 - np.exp(-self._bandwidth * passed)
        square = (value - value_before) ** 2 / (2.0 * independent)
        age = time - self._began
        if age > MEMORY:
            square = np.minimum(square, WILD * self._variance)
        self._variance = self._variance + min(step / min(MEMORY, age), 1.0) * (
            square - self._variance
        )
