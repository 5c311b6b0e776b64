"""
What the live page knows: the last seconds of every curve, and facts by name.

The node writes, every browser that looks on reads what has changed since it asked last.
"""

from collections import deque
from collections.abc import Sequence
import math
import threading
from typing import Any

STEP = 0.02  # [s] between samples of a curve that are kept: 50 Hz are enough for eyes
KEPT = 1500  # samples of a curve: 30 s of them


class WatchState:
    """Curves and facts with a running number each; safe for threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._number = 0
        self._names: dict[str, tuple[str, ...]] = {}
        self._curves: dict[str, deque[tuple[int, float, list[float | None]]]] = {}
        self._facts: dict[str, tuple[int, Any]] = {}
        self.closed = False

    def add(self, curve: str, stamp: float, names: Sequence[str], values: Sequence[float]) -> None:
        """
        Take a sample of a curve, unless one was taken less than STEP before.

        curve : its name; stamp : [s]; names : of the joints; values : (joints,) [N m, N]
        Other joints or a stamp that runs back begin the curve anew.
        """
        with self._changed:
            kept = self._curves.setdefault(curve, deque(maxlen=KEPT))
            if self._names.get(curve) != tuple(names) or kept and stamp < kept[-1][1]:
                kept.clear()
                self._names[curve] = tuple(names)
            if kept and stamp < kept[-1][1] + STEP:
                return
            self._number += 1
            kept.append((self._number, stamp, [_plain(x) for x in values]))
            self._changed.notify_all()

    def set(self, fact: str, value: Any) -> None:  # noqa: A003
        """
        Remember a fact, if it is another than before.

        fact : its name; value : what JSON can hold
        """
        with self._changed:
            if fact not in self._facts or self._facts[fact][1] != value:
                self._number += 1
                self._facts[fact] = self._number, value
                self._changed.notify_all()

    def close(self) -> None:
        """Let everybody who waits go on, to find ``closed`` true."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()

    def since(self, number: int, patience: float) -> tuple[int, dict[str, Any]]:
        """
        Return (the newest number, what has changed since).

        number : up to which the reader knows all, 0 at first
        patience : [s] to wait for a change where there is none yet
        {curves: {name: {joints, t (N,), y (N, joints)}}, facts: {name: value}}
        """
        with self._changed:
            if self._number <= number and not self.closed:
                self._changed.wait(patience)
            curves = {}
            for name, kept in self._curves.items():
                newer = [(t, y) for k, t, y in kept if k > number]
                if newer:
                    curves[name] = {'joints': list(self._names[name]), 't': [t for t, _ in newer],
                                    'y': [y for _, y in newer]}
            facts = {name: value for name, (k, value) in self._facts.items() if k > number}
            return self._number, {'curves': curves, 'facts': facts}


def _plain(value: float) -> float | None:
    """Return a number as JSON has them: five digits, None for what is not finite."""
    return float(f'{value:.5g}') if math.isfinite(value) else None
