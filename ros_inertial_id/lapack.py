"""
LAPACK: that of scipy.linalg.lapack, without what imports beside it.

scipy.linalg imports numpy.testing, numpy.f2py and more, which takes as long as all checks of a
recording, scipy itself a tenth of that.  The extension module needs none of that and is loaded by
itself; so is the file with scipy's version.

lapack : the routines, see scipy.linalg.lapack
"""

from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any

import numpy as np


def _alone(name: str, folder: str = '') -> Any:
    """Return a module in a ``folder`` of scipy, loaded by itself, None where there is none."""
    scipy = find_spec('scipy')
    if scipy is None:
        return None
    folders = [f'{location}/{folder}' for location in scipy.submodule_search_locations or ()]
    spec = PathFinder.find_spec(f'{__package__}.{name}', folders)
    if spec is None or spec.loader is None:
        return None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _lapack() -> Any:
    """Return the extension module, or scipy.linalg.lapack where scipy keeps it elsewhere."""
    module = _alone('_flapack', 'linalg')
    if module is not None:
        return module
    from scipy.linalg import lapack

    return lapack


def scipy_version() -> str:
    """Return the version of scipy."""
    module = _alone('version')
    if module is not None:
        return str(module.version)
    import scipy

    return str(scipy.__version__)


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
