"""
identify: the spine.  read -> check -> align -> reduce -> choose -> fit -> judge -> model.

Every step is one call into a room of its own: ``prepare`` reads recordings and aligns efforts with
the motion, ``reduce`` turns rows into R factors, ``choose`` decides between models, ``fit`` gives
numbers with errors, ``judge`` says how well they predict, ``model`` writes it down.  The same page
serves the public API, the command line, the node and many bags; nothing here knows ROS.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .choose.choice import choose
from .choose.nuisances import nuisances, sensor_errors
from .choose.time_offset import aligned
from .fit.budget import budget_of
from .fit.fitting import fit
from .identified_model import IdentifiedModel
from .judge.statistics import cross_validated, judge
from .judge.validation import explained, Folds, Outside, ResidualPass
from .model.held_laws import held_rows, HeldRows, ratios_in_simulators
from .model.outcome import model_of
from .prepare.dataset import Dataset, lack_of_inertias, Progress, read_dataset
from .prepare.mounting import check_robot, with_sums
from .reduce.model_columns import ModelColumns
from .reduce.structure import Structure
from .reduce.wide_factor import wide_factor, wide_structure, WideFactor, without_unheld_harmonics
from .settings import prediction_options
from ..dynamics.inertial_parameters import Parameter
from ..dynamics.regressor import RegressorBlock
from ..errors import ConfigError, RecordingError
from ..estimation.base_parameters import with_known
from ..estimation.r_factors import one_thread
from ..estimation.residuals import Residuals
from ..measurement.recording import Recording
from ..methods import DEFAULT_METHOD
from ..options import check_ranges

FIXED = 10.0  # [Hz], the cutoff behind which other tools state their residuals


class RowReader:
    """
    The passes over a Dataset, in this process: all that is asked of recordings.

    One writes rows as a wide factor, one explains them by the model that predicts.
    procedures/many_recordings.py has them in other processes.
    """

    def columns(self, data: Dataset, parameters: Sequence[Parameter]) -> Sequence[Parameter]:
        """Return those of ``parameters`` that rows are written about."""
        return without_unheld_harmonics(data, parameters)

    def reduced(self, data: Dataset, structure: Structure) -> WideFactor:
        """Return the WideFactor of all recordings; see there."""
        return wide_factor(data, structure)

    def explained(
        self,
        data: Dataset,
        parameters: Sequence[Parameter],
        values: np.ndarray,
        folds: Folds | None = None,
    ) -> ResidualPass:
        """Return the training rows as standard parameters ``values`` (p,) explain them."""
        return explained(data, parameters, values, data.samples(training=True), folds=folds)

    def residuals(
        self, data: Dataset, parameters: Sequence[Parameter], values: np.ndarray
    ) -> Residuals:
        """Return the Residuals of standard parameters ``values`` (p,), for their correlation."""
        return self.explained(data, parameters, values).residuals


@dataclass(frozen=True, repr=False)
class Identification:
    """
    A model, and thinned out RegressorBlocks of its data for the report's curves.

    rows : HeldRows of a tree's joints, by which the model is identified again for a simulator
    """

    model: IdentifiedModel
    training: tuple[RegressorBlock, ...]
    validation: tuple[RegressorBlock, ...] = ()
    rows: HeldRows | None = None

    def __repr__(self) -> str:
        return f'Identification of {self.model.robot["name"]} ({self.model.method})'


def identify(
    recordings: Sequence[Recording],
    options: Any,
    *,
    method: str = DEFAULT_METHOD,
    urdf: str = '',
    validate: Sequence[Recording] = (),
    progress: Progress | None = None,
) -> Identification:
    """
    Return the Identification of a robot from Recordings.

    recordings, validate : to identify from, and to validate on
    urdf : text of the description, '' for the recordings' own
    progress : called with (stage, samples done, samples in all) on long work
    InertialIdError of all kinds for bad input: see the steps.
    """
    check_ranges(options)
    with one_thread():
        options = with_sums(recordings, options, method, urdf)
        data = read_dataset(recordings, options, method, urdf, progress)
    return identify_data(data, validate)


def identify_data(
    data: Dataset,
    validate: Sequence[Recording] = (),
    passes: RowReader | None = None,
    columns: ModelColumns | None = None,
) -> Identification:
    """
    Return the Identification of a robot from a Dataset.

    data : with the recordings that it is of; validate : Recordings to validate on
    passes : over the data, in this process by default
    columns : of ``data``, where checks have aligned both already
    """
    passes = passes or RowReader()
    with one_thread():
        data, columns = aligned_columns(data, passes, columns)
        choice = choose(data, columns)
        solution = fit(data, choice, passes.residuals)
        crossed = cross_validated(solution)
        folds = None
        if crossed:
            folds = crossed.folds
        parameters = solution.problem.base.parameters
        rows = passes.explained(solution.data, parameters, solution.values, folds)
        statistics = judge(solution, crossed, rows)
        sensors = sensor_errors(data, columns)
        statistics['nuisances'] = [n.entry() for n in nuisances(data, columns, sensors)]
        statistics['ratios_in_simulators'] = ratios_in_simulators(solution)
        model = model_of(solution, statistics, budget_of(solution, sensors))
        held = held_rows(solution)
    curves: tuple[RegressorBlock, ...] = ()
    if validate:
        curves = _validate(model, validate, data.progress)
    return Identification(model, rows.curves, curves, held)


def aligned_columns(
    data: Dataset, passes: RowReader, columns: ModelColumns | None = None
) -> tuple[Dataset, ModelColumns]:
    """
    Return a Dataset with efforts read where the motion is, and the ModelColumns of its rows.

    columns : of ``data``, where checks have aligned both already
    """
    parameters = _checked_parameters(data)
    if columns is not None:
        return data, columns
    wide = passes.reduced(data, wide_structure(data, passes.columns(data, parameters)))
    return aligned(data, ModelColumns(wide, data.robot.gravity_base), passes.reduced)


def validation(
    model: IdentifiedModel, recordings: Sequence[Recording], *, progress: Progress | None = None
) -> tuple[dict[str, Any], tuple[RegressorBlock, ...]]:
    """
    Return ({filtered, raw, ...} of a model on Recordings, blocks for the report's curves).

    The signals are prepared as they were for the identification (same cutoff, same velocity).
    ``range`` says what they hold, ``outside`` what of it left the training data's range, and the
    residual there; ``fixed_cutoff`` is the residual behind a filter of FIXED, as figures of other
    tools are.
    """
    return _validated(model, recordings, progress)[1:]


def _validated(
    model: IdentifiedModel, recordings: Sequence[Recording], progress: Progress | None
) -> tuple[Dataset, dict[str, Any], tuple[RegressorBlock, ...]]:
    """Return the Dataset that was read, and what ``validation`` returns."""
    with one_thread():
        data = read_dataset(
            recordings, prediction_options(model), model.method, model.robot['urdf'], progress
        )
        for robot in data.robots:
            check_robot(model, robot)
        outside = Outside(model.validity_range)
        rows = explained(data, model.parameters, model.values, 0, outside=outside)
        statistics = {
            **rows.residuals.summary(),
            'outside': outside.summary(),
            'range': rows.ranges,
        }
        fixed = _at_fixed_cutoff(data)
        if fixed:
            behind = explained(fixed, model.parameters, model.values, 0).residuals
            statistics['fixed_cutoff'] = {'cutoff': FIXED, **behind.summary()['filtered']}
    return data, statistics, rows.curves


def _at_fixed_cutoff(data: Dataset) -> Dataset | None:
    """Return the Dataset behind a filter of FIXED [Hz], None where that means nothing."""
    try:
        filtered = [data.method.behind(o, FIXED) for o in data.observations]
    except RecordingError:  # too short for this filter
        return None
    if any(observation is None for observation in filtered):
        return None
    return data.observed(filtered)


def _checked_parameters(data: Dataset) -> tuple[Parameter, ...]:
    """Return the Parameters with what is given; refuse what an estimator cannot do without."""
    lacking = lack_of_inertias(data)
    if lacking:
        raise lacking
    options, robot = data.options, data.robot
    if options.given and options.estimator != 'ridge':
        raise ConfigError(
            'given parameters',
            expected='estimator: ridge, which keeps them',
            found=options.estimator,
        )
    return with_known(data.method.parameters(robot, options), options.given)


def _validate(
    model: IdentifiedModel, recordings: Sequence[Recording], progress: Progress | None
) -> tuple[RegressorBlock, ...]:
    """Put the validation into the statistics of a model; return blocks for the curves."""
    data, statistics, curves = _validated(model, recordings, progress)
    model.statistics['validation'] = statistics
    model.provenance['validation'] = [dict(r.provenance) for r in recordings]
    free = model.statistics.get('unconstrained')
    if free:
        free['validation'] = explained(
            data, model.parameters, np.array(free['values']), 0
        ).residuals.summary()
    return curves
