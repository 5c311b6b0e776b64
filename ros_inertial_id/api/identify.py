"""Identify: recordings in, a model out; the one call that nodes, verbs and notebooks make."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
import html
import logging
from pathlib import Path
from typing import Any, NoReturn

from .model import Model, model_of
from .recordings import description_text, Recordings, several
from .table import Table
from ..checks import check as checkup
from ..checks.admission import admission
from ..checks.checked import checked_statistics, cleaned, judged
from ..checks.finding import Checkup, DO_NOT_USE, Finding, Verdict, verdicts_of, WRONG
from ..checks.velocity_kind import followed
from ..errors import EstimationError, InertialIdError, RecordingError
from ..identification import identify as spine
from ..identification.prepare.dataset import Dataset, each_once, name_of, Progress, seen_before
from ..identification.reduce.model_columns import ModelColumns
from ..identification.settings import load_options
from ..measurement.joints.drives import is_commanded
from ..measurement.recording import Recording
from ..methods import METHODS
from ..methods.capabilities import JointTorques
from ..report import summary, write_report
from ..report.curves import curves
from ..report.uses import Uses
from ..representation import brief, Line, plot_torques

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class Result:
    """
    A Model with what the report needs of the data.

    identification : model and thinned out rows of training and validation
    checkup : what the checks say of the training data
    """

    identification: spine.Identification
    checkup: Checkup

    @property
    def model(self) -> Model:
        """Return the identified Model."""
        return model_of(self.identification.model, self.identification.rows)

    @property
    def verdict(self) -> Verdict:
        """Return the verdict on the data and the model."""
        return self.model.verdict

    @property
    def joints(self) -> dict[str, Verdict]:
        """Return {joint: Verdict}."""
        return verdicts_of(self.model.statistics.get('verdict', {}).get('joints', {}))

    @property
    def uses(self) -> Uses:
        """Return what the model may be used for, joint by joint."""
        return self.model.uses

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return what the checks found in the training data, the worst first."""
        return self.checkup.checks

    @property
    def residuals(self) -> Table:
        """Return a row per joint: see ``Model.residuals``."""
        return self.model.residuals

    @property
    def validation(self) -> dict[str, Any] | None:
        """Return the {filtered, raw} residuals on validation data, None without any."""
        return self.model.statistics.get('validation')

    def __getattr__(self, name: str) -> NoReturn:
        advice = ''
        if name in dir(Model):
            advice = f'; its model has: result.model.{name}'
        raise AttributeError(f'a Result has no attribute {name!r}{advice}')

    def __repr__(self) -> str:
        return brief(self.summary())

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return (
            f'<p>{html.escape(f"Verdict: {self.verdict}")}</p>'
            + self.residuals._repr_html_()
            + self.model.base_parameters._repr_html_()
        )

    def summary(self) -> str:
        """Return what is known and how well it predicts, as text."""
        return summary(self.identification.model)

    def save(self, path: str | Path) -> None:
        """Write the model file (YAML) to ``path``, see ``Model.save``."""
        self.model.save(path)

    def plot(self) -> Any:
        """Return matplotlib axes (n,) with torques in validation, else training."""
        identification = self.identification
        blocks = identification.validation or identification.training
        drawn = curves(identification.model, blocks).values()
        return plot_torques([Line(c.name, c.unit, c.t, c.y, c.predicted) for c in drawn])

    def report(self, path: str | Path) -> str:
        """Write the page (HTML, complete in itself) to ``path``; return the path."""
        return str(write_report(self.identification, path))


def identify(
    recordings: Recordings,
    urdf: str | Path = '',
    *,
    validate: Recordings = (),
    config: str | Path = '',
    progress: Progress | None = None,
    **options: Any,
) -> Result:
    """
    Return the Result of identifying a robot from recordings.

    The recordings are checked first, each by itself: samples that the checks mask take no part,
    nor does one of several that cannot be used (``provenance['left_out']`` says why), and the
    model carries the verdict.  A robot that was identified from its commands is replayed on the
    validation recordings, where MuJoCo is installed (``Model.replay``).  A recording that is given
    twice (by its content) counts once, and a
    validation recording that was in the training is named in ``statistics['validation_seen']``.

    recordings, validate : to identify from and to validate on, one or several: Recordings, paths
        of bags or logs, tables (DataFrame, dict of arrays) with a time, positions and efforts
    urdf : description, a path or the text; '' for the recordings' own, logs and tables need it
    config : YAML file with a block of the method's name, '' for defaults
    progress : called with (stage, samples done, samples in all) on long work
    options : single options of the configuration by name (``mounting='rpy 0 1.57 0'``),
        ``method`` (serial_arm), and ``keep_all`` to use every sample
    ConfigError for options, RobotModelError for descriptions, RecordingError for data that
    cannot be used, EstimationError where they do not allow the estimate.
    """
    task = _task(config, options, urdf, progress)
    training, repeated = each_once(_some(recordings, task.urdf))
    for name in repeated:
        _logger.warning('%s is given twice (same content): it counts once', name)
    others = several(validate, task.urdf)
    seen = _seen_in_training(others, training)
    checked = _checked(training, task)
    for name, why in checked.left_out.items():
        _logger.warning('%s is left out: %s', name, why)
    result = _identified(checked, task, others)
    if checked.left_out:
        result.model.provenance['left_out'] = checked.left_out
    if repeated:
        result.model.provenance['repeated'] = repeated
    if seen:
        result.model.statistics['validation_seen'] = seen
    outcome = Result(result, checked.checkup)
    if others and is_commanded(getattr(task.options, 'effort_kind', '')):
        _replay(outcome, others)
    return outcome


def _replay(outcome: Result, others: Sequence[Recording]) -> None:
    """Put the replay of ``others`` into the statistics, where MuJoCo is installed."""
    if outcome.verdict.word == DO_NOT_USE:
        return
    try:
        replay = outcome.model.replay(others, force=True)
    except InertialIdError as error:
        _logger.info('no replay: %s', error)
    else:
        outcome.model.statistics['replay'] = replay.entry()


def _seen_in_training(others: Sequence[Recording], training: Sequence[Recording]) -> list[str]:
    """Return the names of validation recordings that are among those to identify from."""
    provenances = [recording.provenance for recording in training]
    names = []
    for recording in others:
        by_content = seen_before(provenances, [recording])
        if not by_content and any(recording is trained for trained in training):
            by_content = [name_of(recording)]
        names += by_content
    return names


@dataclass(frozen=True)
class _Task:
    """method : its name; options : of it; urdf : text; progress, keep_all : see ``identify``."""

    method: str
    options: Any
    urdf: str
    progress: Progress | None
    keep_all: bool

    @property
    def words(self) -> dict[str, Any]:
        """Return what checks and identification both take, beside the options."""
        return {'method': self.method, 'urdf': self.urdf, 'progress': self.progress}


def _task(
    config: str | Path, options: dict[str, Any], urdf: str | Path, progress: Progress | None
) -> _Task:
    keep_all = options.pop('keep_all', False)
    text = description_text(urdf)
    method, settings = load_options(str(config), options.pop('method', ''), options, text)
    return _Task(method, settings, text, progress, keep_all)


@dataclass(frozen=True)
class _Checked:
    """
    Recordings to identify from.

    recordings : that take part; checkup : of these together; left_out : {name: why} of others
    data, columns : what checks read and wrote already of all samples that they do not mask
    """

    recordings: Sequence[Recording]
    checkup: Checkup
    left_out: dict[str, str] = field(default_factory=dict)
    data: Dataset | None = None
    columns: ModelColumns | None = None


def _identified(
    checked: _Checked, task: _Task, others: Sequence[Recording] = ()
) -> spine.Identification:
    """Return the Identification of recordings, with the verdict on it."""
    try:
        result = _estimated(checked, task, others)
    except EstimationError as error:
        causes = [f.sentence() for f in checked.checkup.checks if f.severity == WRONG]
        if not causes:
            raise
        raise EstimationError(causes[0], found=f'no estimate: {error}') from None
    statistics = result.model.statistics
    statistics.update(checked_statistics(statistics, checked.checkup), keep_all=task.keep_all)
    return result


def _estimated(
    checked: _Checked, task: _Task, others: Sequence[Recording]
) -> spine.Identification:
    """Return the Identification by what the checks read, where that is what is to be used."""
    uses_masked = task.keep_all and any(checked.checkup.masked)
    if checked.data and not uses_masked:
        data = replace(checked.data, progress=task.progress)
        return spine.identify_data(data, others, columns=checked.columns)
    training = list(checked.recordings)
    if not task.keep_all:
        training = cleaned(training, checked.checkup)
    options = followed(task.options, checked.checkup.checks)
    return spine.identify(training, options, validate=others, **task.words)


def _checked(recordings: list[Recording], task: _Task) -> _Checked:
    """
    Return what takes part of ``recordings``.

    Where none can be used all take part: the verdict says so.
    """
    if len(recordings) == 1 or not isinstance(METHODS[task.method], JointTorques):
        found, data, columns = checkup.check_and_read(recordings, task.options, **task.words)
        return _Checked(recordings, found, {}, data, columns)
    admitted = admission(recordings, task.options, **task.words)
    if task.keep_all or not admitted.recordings:
        admitted = admitted.of_all()
    return _Checked(admitted.recordings, admitted.checkup, admitted.refused)


def check(
    recordings: Recordings,
    urdf: str | Path = '',
    *,
    config: str | Path = '',
    progress: Progress | None = None,
    **options: Any,
) -> Checkup:
    """
    Return the Checkup of recordings: what is wrong with them, with evidence, and a verdict.

    The numbers of the verdict are those of the model that ``identify`` finds, and so is the
    verdict; where there is no estimate, or of several recordings one cannot be used, it is that
    of the checks alone.

    recordings, urdf, config, progress, options : see ``identify``
    """
    task = _task(config, options, urdf, progress)
    training = _some(recordings, task.urdf)
    found, data, columns = checkup.check_and_read(training, task.options, **task.words)
    if not isinstance(METHODS[task.method], JointTorques):
        return found
    if len(training) > 1 and found.verdict.word == DO_NOT_USE:
        return found
    checked = _Checked(training, found, {}, data, columns)
    try:
        return judged(found, _identified(checked, task).model.statistics)
    except InertialIdError:
        return found


def _some(recordings: Recordings, urdf: str) -> list[Recording]:
    some = several(recordings, urdf)
    if not some:
        raise RecordingError('recordings', expected='one or more', found='none')
    return some
