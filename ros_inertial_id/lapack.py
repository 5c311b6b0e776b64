"""
LAPACK: that of scipy.linalg.lapack, without what imports beside it.

scipy.linalg imports numpy.testing, numpy.f2py and more, which takes as long as all checks of a
recording.  Its extension module needs none of that and is loaded by itself.

lapack : the routines, see scipy.linalg.lapack
"""

from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any

import numpy as np


def _lapack() -> Any:
    """Return the extension module, or scipy.linalg.lapack where scipy keeps it elsewhere."""
    spec = find_spec('scipy')
    folders = spec.submodule_search_locations if spec else None
    spec = PathFinder.find_spec(f'{__package__}._flapack', [f'{f}/linalg' for f in folders or ()])
    if spec is None or spec.loader is None:
        from scipy.linalg import lapack

        return lapack
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


lapack = _lapack()


def solve_triangular(
    R: np.ndarray,
    b: np.ndarray,
    trans: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> np.ndarray:
    """
    Return the solution of R x = b, or of R' x = b with ``trans``; R (n, n), b (n,) or (n, m).

    lower : R is a lower triangle; check_finite : ValueError where a number is none
    LinAlgError where R is singular.
    """
    if check_finite:
        R, b = np.asarray_chkfinite(R), np.asarray_chkfinite(b)
    if not np.size(b):
        return np.zeros(np.shape(b))
    x, status = lapack.dtrtrs(R, b, lower=lower, trans=trans)
    if status:
        raise np.linalg.LinAlgError(f'singular matrix: resolution failed at diagonal {status - 1}')
    return np.asarray(x)
