"""Rows weighed one by one."""

from collections.abc import Mapping

import numpy as np

from ..dynamics.regressor import RegressorBlock, RowGroup


def weigh(block: RegressorBlock, weights: Mapping[str, np.ndarray]) -> RegressorBlock:
    """
    Return a RegressorBlock with every row times the root of its weight, group -> (B,).

    block : any; weights : group -> (B,) above zero
    """
    groups = []
    for g in block.groups:
        root = np.sqrt(weights[g.name])
        # The transpose keeps samples last in memory, as the QR factorisation wants it.
        groups.append(RowGroup(g.name, g.unit, g.columns, (g.W.T * root).T, g.y * root,
                               g.y_raw * root))
    return RegressorBlock(block.t, block.segment, tuple(groups))
