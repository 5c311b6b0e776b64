"""Directions of gravity: unit vectors, and the two angles by which one is turned."""

import numpy as np

DIRECTIONS = 60  # all around: 15 degrees apart


def tangent(direction: np.ndarray) -> np.ndarray:
    """
    Return two orthonormal vectors (3, 2) across a unit vector.

    direction : (3,)
    """
    Q, _ = np.linalg.qr(np.column_stack([direction, np.eye(3)[:, np.argsort(np.abs(direction))]]))
    return Q[:, 1:3]


def turned(direction: np.ndarray, across: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """
    Return a unit vector turned by small angles.

    direction : (3,) unit vector; across : (3, 2) two across it; angles : (2,) towards these [rad]
    """
    moved = direction + across @ angles
    return np.asarray(moved / np.linalg.norm(moved))


def across_gravity(gravity: np.ndarray) -> np.ndarray:
    """Return unit vectors (3, 2) across ``gravity`` (3,), their cross product along it."""
    direction = gravity / np.linalg.norm(gravity)
    across = tangent(direction)
    return across if np.cross(*across.T) @ direction > 0.0 else across[:, ::-1]


def sphere(count: int) -> np.ndarray:
    """Return directions (count, 3) evenly spread (Fibonacci spiral)."""
    k = np.arange(count) + 0.5
    z, turn = 1.0 - 2.0 * k / count, np.pi * (1.0 + 5 ** 0.5) * k
    across = np.sqrt(1.0 - z ** 2)
    return np.column_stack([across * np.cos(turn), across * np.sin(turn), z])
