"""
Cached factors: BagFactors beside their bag, found again by content and plan.

A file holds one header (JSON) and one array: the upper triangles of all R factors, in double
precision, so that what is read is what was computed to the last bit.  A bag that was left out
has a header alone, with the reason.
"""

import hashlib
import json
import os
from pathlib import Path
import tempfile
from typing import Any

import numpy as np

from .bag_factors import BagFactors
from .stretches import Motion
from ..model.identified_model import plain
from ...estimation.r_factors import GroupFactor, RFactors
from ...estimation.residuals import Fit, Residuals

FOLDER = '.inertial_id'
MAGIC = b'inertial-id factors 2\n'


def key_of(content: str, window: tuple[float | None, float | None], plan: str) -> str:
    """
    Return the name under which factors are kept.

    content : hash of the bag; window : its start and end [s] or None; plan : key of the Plan
    """
    return hashlib.sha256(json.dumps([content, window, plan]).encode()).hexdigest()[:40]


def folders(bag: Path, cache: str = '') -> list[Path]:
    """
    Return where factors of a ``bag`` may be kept, the first choice first.

    cache : folder given by the user, '' for beside the bag, else in the user's cache
    """
    if cache:
        return [Path(cache)]
    home = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache')
    return [bag.resolve().parent / FOLDER, home / 'ros_inertial_id',
            Path(tempfile.gettempdir()) / f'ros_inertial_id_{os.getuid()}']


def write_factors(key: str, places: list[Path], factors: BagFactors | None,
                  header: dict[str, Any]) -> str:
    """
    Write factors under a ``key`` into the first of ``places`` that takes them; return the path.

    factors : None for a bag that is left out; header : further plain values kept beside them
    OSError where no place takes them.
    """
    arrays, text = _packed(factors)
    head = json.dumps(plain({**header, **text})).encode()
    failure: OSError | None = None
    for place in places:
        try:
            place.mkdir(parents=True, exist_ok=True)
            path = place / f'{key}.factors'
            # Beside its place, then moved: who reads meanwhile sees all of it or nothing.
            handle, beside = tempfile.mkstemp(dir=place, prefix=f'.{key[:8]}')
            try:
                with os.fdopen(handle, 'wb') as stream:
                    stream.write(MAGIC + len(head).to_bytes(8, 'little') + head)
                    stream.write(arrays.astype('<f8').tobytes())
                os.chmod(beside, 0o666 & ~_umask())
                os.replace(beside, path)
            except BaseException:
                os.unlink(beside)
                raise
            return str(path)
        except OSError as error:
            failure = error
    raise failure or OSError('no folder for cached factors')


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def find_factors(key: str, places: list[Path]) -> tuple[str, dict[str, Any]] | None:
    """
    Return (path, header) of factors kept under a ``key`` in one of ``places``, None without.

    A file that is damaged or cut short counts as none.
    """
    for place in places:
        path = place / f'{key}.factors'
        try:
            with path.open('rb') as stream:
                header = _header(stream)
                if path.stat().st_size == stream.tell() + 8 * header['doubles']:
                    return str(path), header
        except (OSError, ValueError, KeyError):
            continue
    return None


def read_factors(path: str) -> BagFactors:
    """Return the BagFactors in the file ``path``; ValueError where it holds none."""
    with open(path, 'rb') as stream:
        header = _header(stream)
        values = np.frombuffer(stream.read(), '<f8')
    if not header.get('stretches') or len(values) != header['doubles']:
        raise ValueError(f'{path} holds no factors')
    take = _taken(values)
    stretches = []
    for stretch in header['stretches']:
        groups = {}
        for name, unit, columns, rows in stretch['groups']:
            k = len(columns) + 2
            R = np.zeros((k, k), order='F')
            R[np.triu_indices(k)] = take(k * (k + 1) // 2)
            groups[name] = GroupFactor(unit, np.array(columns, dtype=int), R, rows)
        stretches.append(RFactors(stretch['size'], groups))
    kinds = header['residuals']
    residuals = Residuals(Fit(**kinds['filtered']), Fit(**kinds['raw']))
    for name, count in header['lags']:
        residuals.covariances[name] = take(count), take(count)
    samples, joints, counts = header['motion']
    motion = Motion(take(samples * joints).reshape(samples, joints),
                    take(samples * joints).reshape(samples, joints), take(samples), tuple(counts))
    return BagFactors(tuple(stretches), residuals, header['ranges'], motion, header['notes'])


def _taken(values: np.ndarray) -> Any:
    """Return a function that takes the next n of ``values``."""
    place = 0

    def take(count: int) -> np.ndarray:
        nonlocal place
        place += count
        return values[place - count:place]

    return take


def _header(stream: Any) -> dict[str, Any]:
    if stream.read(len(MAGIC)) != MAGIC:
        raise ValueError('no cached factors')
    size = int.from_bytes(stream.read(8), 'little')
    if size > 1 << 30:
        raise ValueError('a damaged header')
    header = json.loads(stream.read(size))
    if not isinstance(header, dict):
        raise ValueError('a damaged header')
    return header


def _packed(factors: BagFactors | None) -> tuple[np.ndarray, dict[str, Any]]:
    """Return all numbers as one array, and what the header says of them."""
    if factors is None:
        return np.zeros(0), {'doubles': 0}
    arrays, stretches = [], []
    for stretch in factors.stretches:
        groups = []
        for name, g in stretch.groups.items():
            arrays.append(g.R[np.triu_indices(len(g.R))])
            groups.append([name, g.unit, g.columns.tolist(), g.rows])
        stretches.append({'size': stretch.size, 'groups': groups})
    lags = []
    for name, (total, pairs) in factors.residuals.covariances.items():
        arrays += [total, np.asarray(pairs, dtype=float)]
        lags.append([name, len(total)])
    motion = factors.motion
    arrays += [motion.q.ravel(), motion.v.ravel(), motion.t]
    flat = np.concatenate(arrays)
    kinds = {kind: vars(getattr(factors.residuals, kind)) for kind in ('filtered', 'raw')}
    return flat, {'doubles': len(flat), 'stretches': stretches, 'lags': lags,
                  'motion': [*motion.q.shape, motion.counts], 'residuals': kinds,
                  'ranges': factors.ranges, 'notes': factors.notes}
