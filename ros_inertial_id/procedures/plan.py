"""
Plan: what is decided once, before the bags of a year are accumulated one by one.

R factors merge only where their columns mean the same, so what shapes the columns beyond the
data of one bag is held: the filter's cutoff, the kind of velocity, the time offset of efforts,
the description.  What is linear in the factors (friction laws and their constants, of which all
that are tried have columns, and base parameters under the mountings that occur) is left open and
chosen from the merged factors.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
import hashlib
import json
from typing import Any

import numpy as np

from ..dynamics.inertial_parameters import Parameter
from ..errors import ConfigError
from ..estimation.base_parameters import BaseParameters, with_known
from ..identification.identified_model import IdentifiedModel, plain
from ..identification.prepare.mounting import across_gravity, any_mounting
from ..identification.reduce.structure import at_constants, Structure, structure_of
from ..identification.reduce.wide_factor import WideFactor
from ..identification.settings import prediction_options
from ..methods import METHODS, methods_of
from ..methods.capabilities import JointTorques

FORMAT = 11  # of what is cached: counts up when rows, preparation or files change their meaning


@dataclass(frozen=True)
class Plan:
    """
    What is held for all recordings of a kind of robot.

    method : its name; options : of it with EstimationOptions; cutoff, velocity and time offset
    given
    urdf : text of the description
    asked : the options as given, with which every recording is checked by itself
    """

    method: str
    options: Any
    urdf: str
    asked: Any

    @cached_property
    def key(self) -> str:
        """Return a hash of all that factors depend on beside the recording."""
        of_method = {f.name for f in fields(METHODS[self.method].Options)}
        held, asked = _some_of(self.options, of_method), _some_of(self.asked, of_method)
        text = json.dumps([FORMAT, self.method, plain(held), self.urdf, plain(asked)])
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def columns(self) -> tuple[Parameter, ...]:
        """Return the Parameters of the rows: all friction laws and constants that are tried."""
        method = METHODS[self.method]
        robot = any_mounting(method, self.urdf, self.options)[0]
        return with_known(method.parameters(robot, self.options), self.options.given)

    @cached_property
    def structure(self) -> Structure:
        """Return the Structure under any mounting: columns of it hold those of each mounting."""
        method = METHODS[self.method]
        return structure_of(method, any_mounting(method, self.urdf, self.options), self.columns)

    def to_dict(self) -> dict[str, Any]:
        """Return what a model file remembers, so that its caches serve again."""
        return {'options': plain(asdict(self.options)), 'asked': plain(asdict(self.asked))}


def _some_of(options: Any, names: Collection[str]) -> dict[str, Any]:
    """Return {name: value} of the options of these ``names``."""
    return {name: value for name, value in asdict(options).items() if name in names}


def check_options(method: str, options: Any) -> None:
    """Raise ConfigError for what many recordings cannot be identified with."""
    # Rows of JointTorques need nothing of other recordings.
    if not isinstance(METHODS[method], JointTorques):
        raise ConfigError(
            'many recordings',
            found=f'method {method}',
            exists=methods_of(JointTorques),
            do='identify these bags without --jobs and --scheduler',
        )
    if options.given and options.estimator != 'ridge':
        raise ConfigError(
            'given parameters',
            expected='estimator: ridge, which keeps them',
            found=options.estimator,
        )


def plan_of(model: IdentifiedModel) -> Plan:
    """Return the Plan by which a ``model`` was identified, or that it stands for."""
    known = prediction_options(model)
    remembered: Mapping[str, Any] = model.provenance.get('plan', {})
    held = _remembered(remembered, 'options', known)
    asked = _remembered(remembered, 'asked', known)
    return Plan(model.method, held, model.robot['urdf'], asked)


def _remembered(plan: Mapping[str, Any], name: str, known: Any) -> Any:
    """Return options ``known`` with those that a ``plan`` remembers under a ``name``."""
    names = {f.name for f in fields(known)}
    remembered = {k: v for k, v in plan.get(name, {}).items() if k in names}
    return replace(known, **with_tuples(remembered))


def with_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return option ``values`` that were plain, lists among them as the tuples of options."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}


def model_columns(
    plan: Plan, model: IdentifiedModel, wide: WideFactor, gravity: np.ndarray
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
    return base, np.hstack(
        [columns, wide.tilts(beta, across_gravity(gravity) * np.linalg.norm(gravity))]
    )
