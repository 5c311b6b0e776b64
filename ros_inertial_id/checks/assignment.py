"""Least assignment of columns to rows, without the second that scipy.optimize takes to import."""

import numpy as np


def least_assignment(cost: np.ndarray) -> tuple[int, ...]:
    """
    Return the column (n,) of each row of ``cost`` (n, n), all different, of the least sum.

    Shortest augmenting paths with potentials (Kuhn 1955; Jonker and Volgenant 1987).
    """
    count = len(cost)
    row_of = np.full(count + 1, -1)  # the last column stands for none
    row_price, column_price = np.zeros(count), np.zeros(count + 1)
    for row in range(count):
        row_of[count] = row
        column = count
        slack = np.full(count, np.inf)
        before = np.full(count, count)
        visited = np.zeros(count + 1, dtype=bool)
        while row_of[column] >= 0:
            visited[column] = True
            reduced = cost[row_of[column]] - row_price[row_of[column]] - column_price[:count]
            shorter = ~visited[:count] & (reduced < slack)
            slack[shorter] = reduced[shorter]
            before[shorter] = column
            nearest = int(np.argmin(np.where(visited[:count], np.inf, slack)))
            step = slack[nearest]
            row_price[row_of[visited]] += step
            column_price[visited] -= step
            slack[~visited[:count]] -= step
            column = nearest
        while column != count:
            row_of[column] = row_of[before[column]]
            column = int(before[column])
    out = np.empty(count, dtype=int)
    out[row_of[:count]] = np.arange(count)
    return tuple(out.tolist())
