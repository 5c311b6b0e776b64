"""
The choice of friction laws: a law stays where it predicts motion that the fit has not seen.

Viscous and Coulomb friction, offset and rotor inertia are there in every joint.  Springs, power
laws and the like describe what is left, and where the motion is short for them they describe it
there and nowhere else.  Each is left out in turn, of all joints: it stays if stretches of motion
that are left out of the fit are predicted better with it, by more than one standard error of the
difference over the stretches (Breiman, Friedman, Olshen and Stone 1984, Sec. 3.4.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .base_parameters import BaseParameters
from .cross_validation import without_each

PLAIN = ('viscous', 'coulomb', 'presliding', 'offset', 'armature')


@dataclass(frozen=True)
class FrictionChoice:
    """
    What speaks for a law, by the squared error of stretches left out.

    law : its name; places : of its base parameters
    change : of the squared error without it [share]; error : standard error of ``change``
    stays : whether it is kept
    """

    law: str
    places: tuple[int, ...]
    change: float
    error: float
    stays: bool

    def words(self) -> str:
        """Return the law, and what speaks for it, in words."""
        return (f'{self.law}; without it the squared error of stretches left out changes by '
                f'{100 * self.change:+.1f} +- {100 * self.error:.1f} %')


def choose_laws(systems: np.ndarray, base: BaseParameters, groups: Sequence[str]
                ) -> tuple[FrictionChoice, ...]:
    """
    Return a FrictionChoice for every law that is not PLAIN; a coefficient that is grouped stays.

    systems : (count, b + 1, b + 1) normal equations of stretches of motion, weighted, of [W, y]
    groups : names of the joints
    """
    places: dict[str, list[int]] = {}
    for i, (k, row) in enumerate(zip(base.independent, base.X)):
        own = base.parameters[k]
        if own.law and own.law not in PLAIN and own.owner in groups and not np.any(row):
            places.setdefault(own.law, []).append(i)
    scale = base.prior_sd
    systems = systems * np.outer(np.append(scale, 1.0), np.append(scale, 1.0))
    prior = np.linalg.inv(base.prior_covariance() / np.outer(scale, scale))
    target = prior @ (base.nominal() / scale)

    def errors(gone: Sequence[str]) -> np.ndarray:
        """Return the squared error (count,) of each stretch without the laws ``gone``."""
        out = [k for law in gone for k in places[law]]
        kept = np.setdiff1d(np.arange(len(base)), out)
        rows = np.append(kept, len(base))
        own = systems[:, rows[:, None], rows]
        beta = without_each(own[:, :-1, :-1], own[:, :-1, -1], prior[np.ix_(kept, kept)],
                            target[kept])
        beta = np.append(beta, np.full((len(own), 1), -1.0), axis=1)
        return np.einsum('ga,gab,gb->g', beta, own, beta)

    before = errors(())
    total = max(float(before.sum()), 1e-300)
    worse = {law: errors((law,)) - before for law in places}
    out = sorted((law for law, w in worse.items() if _as_good(w)), key=lambda x: worse[x].sum())
    while out and not _as_good(errors(out) - before):  # two laws that share their work
        out.pop()
    return tuple(FrictionChoice(law, tuple(places[law]), float(w.sum() / total),
                                float(_error(w) / total), law not in out)
                 for law, w in worse.items())


def _as_good(worse):
    """Return whether errors (count,) are larger by no more than one standard error."""
    return worse.sum() <= _error(worse)


def _error(values):
    """Return the standard error of the sum of independent ``values`` (count,)."""
    return np.sqrt(len(values)) * values.std(ddof=1)


def without(base: BaseParameters, place: int) -> BaseParameters:
    """
    Return the BaseParameters without the base parameter ``place``, grouped with no other.

    base : whose parameter ``place`` stands alone
    """
    k = base.independent[place]
    independent = np.delete(base.independent, place)
    return replace(
        base, parameters=base.parameters[:k] + base.parameters[k + 1:],
        independent=independent - (independent > k),
        dependent=base.dependent - (base.dependent > k), X=np.delete(base.X, place, axis=0))
