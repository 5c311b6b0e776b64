"""
What the dependent standard parameters are taken to be, once the base parameters are known.

Any choice predicts the same: pi_independent = beta - X pi_dependent (closed-loop paper, Eq. 10).
"""

import numpy as np

from .base_parameters import BaseParameters

CHOICES = ('nominal', 'zero', 'minimum_norm')


def choose_dependent(base: BaseParameters, beta: np.ndarray,
                     choice: str = 'nominal') -> np.ndarray:
    """
    Return standard parameters (p,) with the base parameters beta (b,).

    base : BaseParameters of p columns
    choice : one of CHOICES; ``nominal`` keeps the dependent parameters as the description (CAD)
        says, ``zero`` sets them to zero, ``minimum_norm`` makes the vector shortest in units of
        the scales
    """
    if choice == 'nominal':
        return base.expand(beta, [p.nominal for p in base.parameters])
    if choice == 'zero':
        return base.expand(beta, np.zeros(len(base.parameters)))
    scales = np.array([p.scale for p in base.parameters])
    scaled, *_ = np.linalg.lstsq(base.matrix() * scales, np.asarray(beta), rcond=None)
    return base.expand(beta, scales * scaled)  # exact in beta to the last digit
