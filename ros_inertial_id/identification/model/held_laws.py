"""
Held laws: the same recordings identified again, by the laws of friction that a target holds.

A model whose offset, spring or presliding friction is left out is another robot than the one that
was measured; one that was fitted without them is the closest of its kind.  The rows of the
recordings are kept for that, as the triangles of their stretches (``HeldRows``): columns of
bodies, of the terms that some target holds, and of efforts, under gravity as it was used.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from .outcome import base_entries
from .targets import is_held, LAW_OF_TERM, laws_held, OFFSET, STIFFNESS, TARGETS, term_of, TERMS
from ..choose.choice import choose, log_ratio
from ..choose.time_offset import aligned_by_laws, TimeOffset
from ..fit.fitting import fit, Solution
from ..identified_model import IdentifiedModel
from ..judge.statistics import cross_validated
from ..judge.validation import fits
from ..prepare.dataset import Dataset
from ..reduce.model_columns import ModelColumns, resting_columns
from ..reduce.structure import Structure
from ..reduce.wide_factor import wide_structure, WideFactor
from ..settings import options_class
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.robot_model import RobotModel
from ...errors import EstimationError
from ...estimation.base_parameters import with_known
from ...estimation.r_factors import one_thread
from ...estimation.residuals import FEWEST_BLOCKS
from ...measurement.joints.drives import is_commanded
from ...measurement.recording import Recording
from ...measurement.summary import Summary
from ...methods import METHODS
from ...options import options_from

# [s] of the error of a delay that is taken as it was found, a step of a simulator: behind the
# filter of the rows noise of the positions moves it by as much.
KNOWN_DELAY = 0.001


@dataclass(frozen=True)
class HeldRows:
    """wide : WideFactor about the columns of ``rows_structure`` of a model."""

    wide: WideFactor


def held_rows(solution: Solution) -> HeldRows | None:
    """Return what is kept of the rows of a ``solution``, None of what is no tree of joints."""
    data, model_columns = solution.data, solution.choice.model_columns
    wide = model_columns.wide
    if not (wide.joints and isinstance(data.robot, RobotModel)):
        return None
    structure = held_structure(data, wide.structure.columns)
    return HeldRows(_with_columns(wide, structure, data.robot.gravity_base - model_columns.given))


def ratios_in_simulators(solution: Solution) -> dict[str, float]:
    """
    Return {joint: how much larger residuals of the motion left out are by laws of simulators}.

    They are those that MuJoCo holds, which holds most.  {} of what is no tree of joints.
    """
    choice = solution.choice
    model_columns = choice.model_columns
    wide = model_columns.wide
    is_tree = wide.joints and isinstance(solution.data.robot, RobotModel)
    if not is_tree or model_columns.count < FEWEST_BLOCKS:
        return {}
    chosen = np.flatnonzero(choice.best.params)
    parameters = [model_columns.parameters[k] for k in chosen if k < model_columns.size]
    terms = TARGETS['mujoco'].holds
    held, shown = _HeldColumns.of(parameters, terms), resting_columns(wide)
    taken = [
        k
        for k, p in enumerate(model_columns.parameters)
        if held.takes_part(p) and p.name not in shown and (not p.law or is_held(p, terms))
    ]
    tilts = chosen[chosen >= model_columns.size]
    errors = model_columns.left_out_of_groups(np.append(taken, tilts).astype(int))
    by_itself = model_columns.left_out_of_groups(chosen)
    return {
        joint: float(np.exp(0.5 * log_ratio(error, own)[0]))
        for joint, error, own in zip(model_columns.names, errors, by_itself)
    }


def held_structure(data: Dataset, columns: Collection[Parameter]) -> Structure:
    """Return the Structure of bodies, and of those ``columns`` that some target holds exactly."""
    held = [p for p in columns if not p.law or is_held(p, TERMS)]
    return wide_structure(data, held)


def _with_columns(wide: WideFactor, structure: Structure, change: np.ndarray) -> WideFactor:
    """Return the WideFactor of a ``structure`` of some columns, gravity changed by ``change``."""
    places = structure.places_in(wide.structure)
    efforts = np.arange(wide.efforts, wide.size)
    T = np.hstack([wide.columns_under_gravity(change)[:, places], np.eye(wide.size)[:, efforts]])
    return replace(
        wide,
        structure=structure,
        by_number=tuple(factors.combine(T) for factors in wide.by_number),
        gravity_columns=np.zeros(0, dtype=int),
    )


def dataset_without_rows(model: IdentifiedModel) -> Dataset:
    """Return the Dataset that a ``model`` was identified from, without its samples."""
    method, options = METHODS[model.method], options_of(model)
    gravities = np.array(model.mounting['gravity_base'])
    recordings = tuple(
        Recording({}, mounting=text, provenance=entry)
        for text, entry in zip(model.mounting['text'], model.provenance['recordings'])
    )
    observations = tuple(
        SimpleNamespace(summary=Summary.of(entry)) for entry in model.preprocessing
    )
    robots = tuple(method.build(model.robot['urdf'], options, gravity) for gravity in gravities)
    return Dataset(method, robots, observations, options, recordings=recordings)


def options_of(model: IdentifiedModel) -> Any:
    """Return the options of a ``model`` as they were asked for."""
    kind = options_class(model.method)
    names = kind.__dataclass_fields__
    given = {name: value for name, value in model.options.items() if name in names}
    return options_from(kind, given, 'the model')


def rows_structure(model: IdentifiedModel) -> Structure:
    """Return the Structure of the rows that are kept of a ``model``."""
    data = dataset_without_rows(model)
    columns = with_known(data.method.parameters(data.robot, data.options), data.options.given)
    return held_structure(data, columns)


def is_all_held(model: IdentifiedModel, terms: Collection[str]) -> bool:
    """Return whether who holds ``terms`` holds a ``model`` as it is."""
    return all(is_held(p, terms) for p in model.parameters if p.law)


def identified_by(
    rows: HeldRows, model: IdentifiedModel, terms: Collection[str]
) -> IdentifiedModel:
    """
    Return the IdentifiedModel of the same recordings by laws that ``terms`` hold.

    rows : kept of ``model``
    EstimationError where they have no column of such a law.
    """
    held = _HeldColumns.of(model.parameters, terms)
    missing = set(held.laws) - {p.law for p in rows.wide.structure.columns}
    if missing:
        raise EstimationError('the kept rows have no such friction', found=sorted(missing))
    data = dataset_without_rows(model)
    data = replace(data, options=replace(data.options, friction=held.laws, coulomb_width=0.0))
    with one_thread():
        model_columns, late = _model_columns(rows, data, held)
        solution = fit(data, choose(data, model_columns), _no_residuals)
        while held.without_pushing(solution) != held:
            held = held.without_pushing(solution)
            model_columns, late = _model_columns(rows, data, held)
            solution = fit(data, choose(data, model_columns), _no_residuals)
        return _as_identified(_delayed(model, late), solution)


def _delayed(model: IdentifiedModel, late: TimeOffset | None) -> IdentifiedModel:
    """Return a ``model`` whose commands act so much ``late``, None for as it was identified."""
    if late is None:
        return model
    preprocessing = []
    for summary in model.preprocessing:
        noted = {
            'time_offset': summary.get('time_offset', 0.0) + late.value,
            'time_offset_error': late.standard_error,
        }
        preprocessing.append({**summary, **noted})
    return replace(model, preprocessing=preprocessing)


@dataclass(frozen=True)
class _HeldColumns:
    """
    Which columns take part in a model that a target holds.

    laws : that it holds of every joint
    sprung : joints with a spring; in_reference : whether these alone have an offset
    """

    laws: tuple[str, ...]
    sprung: frozenset[str]
    in_reference: bool

    @classmethod
    def of(cls, parameters: Sequence[Parameter], terms: Collection[str]) -> '_HeldColumns':
        """Return those for who holds ``terms``, of a model's ``parameters``: springs as it has."""
        laws = laws_held(parameters, terms)
        in_reference = STIFFNESS in terms and OFFSET not in terms
        if in_reference and LAW_OF_TERM[STIFFNESS] in laws:
            laws = (*laws, LAW_OF_TERM[OFFSET])
        springs = [p.owner for p in parameters if term_of(p) == STIFFNESS]
        return cls(laws, frozenset(springs), in_reference)

    def takes_part(self, parameter: Parameter) -> bool:
        """Return whether a column is one of them."""
        if not parameter.law:
            return True
        if parameter.law not in self.laws:
            return False
        term = term_of(parameter)
        if term == STIFFNESS or (term == OFFSET and self.in_reference):
            return parameter.owner in self.sprung
        return True

    def without_pushing(self, solution: Solution) -> '_HeldColumns':
        """Return those without springs that push, where a spring has to hold the offset."""
        if not self.in_reference:
            return self
        parameters = solution.problem.base.parameters
        pushing = {
            p.owner
            for p, value in zip(parameters, solution.values)
            if term_of(p) == STIFFNESS and value <= 0.0
        }
        return replace(self, sprung=self.sprung - pushing)


def _model_columns(
    rows: HeldRows, data: Dataset, held: _HeldColumns
) -> tuple[ModelColumns, TimeOffset | None]:
    """Return the columns that are ``held`` of the kept ``rows``, and how late commands act."""
    columns = [p for p in rows.wide.structure.columns if held.takes_part(p)]
    wide = _with_columns(rows.wide, wide_structure(data, columns), np.zeros(3))
    model_columns = ModelColumns(wide, data.robot.gravity_base)
    error = data.first.summary.time_offset_error
    is_known = error is None or error < KNOWN_DELAY
    if is_known or not is_commanded(data.options.effort_kind):
        return model_columns, None
    late, model_columns = aligned_by_laws(model_columns)
    return model_columns, late


def _no_residuals(*_):
    raise NotImplementedError  # rows of joints are correlated as their stretches show


def _as_identified(model: IdentifiedModel, solution: Solution) -> IdentifiedModel:
    """Return a ``solution`` with what a ``model`` says of recordings, robot and verdict."""
    base = solution.problem.base
    statistics = {'training': fits(solution.problem.factors, solution.estimate.params)}
    crossed = cross_validated(solution)
    if crossed:
        statistics['cross_validation'] = crossed.crossed.summary()
    if solution.consistent:
        statistics['consistent'] = solution.consistent.entry
    if 'verdict' in model.statistics:
        statistics['verdict'] = model.statistics['verdict']
    return replace(
        model,
        options=asdict(solution.data.options),
        parameters=base.parameters,
        values=solution.values,
        base=base_entries(base, solution.estimate),
        covariance=solution.estimate.cov_params,
        statistics=statistics,
    )
