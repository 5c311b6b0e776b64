"""Many recordings through the public API: folders of bags in, one model out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .model import load_model, Model, model_of
from .recordings import description_text, recording_of, Recordings, several
from ..checks.check import together
from ..checks.checked import checked_statistics
from ..errors import ConfigError
from ..identification.identify import Identification, validation
from ..identification.prepare.dataset import Progress, seen_before
from ..identification.settings import load_options
from ..procedures.bag_map import Engine
from ..procedures.bag_paths import find_bags
from ..procedures.drift import drift as drift_of
from ..procedures.drift_result import Drift
from ..procedures.many_recordings import identify_many as identify_bags
from ..procedures.many_recordings import Many
from ..report import summary, write_report

ENGINE = ('jobs', 'scheduler', 'cache', 'keep_all')


@dataclass(frozen=True, repr=False)
class ManyResult:
    """
    A Model of many bags.

    many : with ``bags`` that take part, ``left_out`` {path: why} and the ``identification``: model
    and thinned out rows of validation
    """

    many: Many

    @property
    def model(self) -> Model:
        """Return the identified Model."""
        return model_of(self.many.model, self.many.identification.rows)

    @property
    def left_out(self) -> dict[str, str]:
        """Return {path: why} of the bags that take no part."""
        return dict(self.many.left_out)

    def __repr__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """Return what is known and how well it predicts, as text."""
        return summary(self.many.model)

    def report(self, path: str | Path) -> str:
        """
        Write the page (HTML, complete in itself) to ``path``; return the path.

        Its curves are of the validation, else of the first bag, which is read for them.
        """
        identification = self.many.identification
        if not identification.validation:
            model = identification.model
            first = recording_of(self.many.bags[0].path, model.robot['urdf'])
            _, curves = validation(model, [first])
            identification = Identification(model, curves)
        return str(write_report(identification, path))


def identify_many(
    paths: Sequence[str | Path] | str | Path,
    *,
    validate: Recordings = (),
    urdf: str | Path = '',
    config: str | Path = '',
    progress: Progress | None = None,
    **options: Any,
) -> ManyResult:
    """
    Return the ManyResult of bags, each accumulated once and kept as R factors.

    paths : bags, patterns, or folders with bags at any depth
    validate : Recordings to validate on; urdf, config : see ``identify``
    progress : called with (stage, bags done, bags in all)
    options : single options of the configuration by name; ``jobs`` (processes, 1),
        ``scheduler`` (address of a Dask scheduler), ``cache`` (folder of the factors, the user's
        cache by default), ``keep_all``
    A bag that cannot be used is left out and named.  RecordingError where none can be used.
    """
    engine = Engine(progress=progress, **{k: options.pop(k) for k in ENGINE if k in options})
    if engine.jobs < 1:
        raise ConfigError('jobs', expected='1 or more processes', found=engine.jobs)
    description = description_text(urdf)
    method, settings = load_options(str(config), options.pop('method', ''), options, description)
    others = several(validate, description)
    many = identify_bags(
        find_bags(paths), settings, method=method, urdf=description, engine=engine, validate=others
    )
    model = many.model
    model.statistics.update(
        checked_statistics(model.statistics, together([bag.checkup for bag in many.bags])),
        keep_all=engine.keep_all,
    )
    seen = seen_before(model.provenance['recordings'], others)
    if seen:
        model.statistics['validation_seen'] = seen
    return ManyResult(many)


def drift(
    model: Model | str | Path,
    paths: Sequence[str | Path] | str | Path,
    *,
    progress: Progress | None = None,
    **engine: Any,
) -> Drift:
    """
    Return the Drift of the robots of a model from day to day.

    model : of this kind of robot, or the path of its file
    paths : bags, patterns, or folders; bags in one folder are of one robot
    progress : called with (stage, done, in all)
    engine : ``jobs``, ``scheduler``, ``cache``, ``keep_all``, see ``identify_many``
    RecordingError where no bag can be used, RobotModelError where the model is of other robots.
    """
    if not isinstance(model, Model):
        model = load_model(model)
    return drift_of(model.identified, find_bags(paths), Engine(progress=progress, **engine))
