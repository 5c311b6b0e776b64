"""
What the dependent standard parameters are taken to be, once the base parameters are known.

Any choice predicts the same: pi_independent = beta - X pi_dependent (closed-loop paper, Eq. 10).
"""

import numpy as np

from ..errors import ConfigError

CHOICES = ('zero', 'prior', 'minimum_norm')


def choose_dependent(base, beta, choice='prior', prior=None):
    """
    Return standard parameters (p,) with the base parameters beta (b,).

    choice : ``zero`` sets the dependent parameters to zero, ``prior`` to ``prior`` (p,) (default
        the nominal values), ``minimum_norm`` makes the vector shortest in units of the scales
    """
    if choice == 'zero':
        return base.expand(beta, np.zeros(len(base.parameters)))
    if choice == 'prior':
        values = [p.nominal for p in base.parameters] if prior is None else prior
        return base.expand(beta, values)
    if choice == 'minimum_norm':
        scales = np.array([p.scale for p in base.parameters])
        K = np.zeros((len(base), len(scales)))
        K[np.arange(len(base)), base.independent] = 1.0
        K[:, base.dependent] = base.X
        scaled, *_ = np.linalg.lstsq(K * scales, np.asarray(beta), rcond=None)
        return base.expand(beta, scales * scaled)  # exact in beta to the last digit
    raise ConfigError('choice of dependent parameters', found=repr(choice), exists=CHOICES)
