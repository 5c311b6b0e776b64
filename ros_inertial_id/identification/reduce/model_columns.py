"""The columns of a model among those of a wide factor: what days of a robot are compared by."""

import numpy as np

from .plan import Plan
from .structure import at_constants, structure_of
from .wide_factor import WideFactor
from ..identified_model import IdentifiedModel
from ...estimation.base_parameters import BaseParameters
from ...estimation.gravity import across_gravity
from ...methods import METHODS


def model_columns(plan: Plan, model: IdentifiedModel, wide: WideFactor, gravity: np.ndarray
                  ) -> tuple[BaseParameters, np.ndarray]:
    """
    Return base parameters (b) of a ``model`` under ``gravity`` (3,), that the rows are under.

    And the columns (size, b + 2) of a ``wide`` factor for these and two tilts of gravity.
    """
    method, known = METHODS[plan.method], {p.name: p for p in model.parameters}
    robot = method.build(plan.urdf, plan.options, gravity)
    structure = structure_of(method, [robot], [p for p in plan.columns if p.name in known])
    base, T = at_constants(structure, known)
    beta = wide.at_places(model.parameters, model.values)
    columns = np.eye(wide.total.size)[:, structure.places_in(plan.structure)] @ T
    return base, np.hstack([columns, wide.tilts(beta, across_gravity(gravity)
                                                * np.linalg.norm(gravity))])
