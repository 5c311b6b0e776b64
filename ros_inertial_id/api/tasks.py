"""What is done beside identifying: weigh a payload, compare models, design a motion."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TYPE_CHECKING

from .identify import Result
from .model import load_model, Model
from .recordings import description_text, Recordings, several
from ..checks.admission import usable_by
from ..dynamics.robot_model import gravity_from_mounting, robot_from_options
from ..errors import ConfigError
from ..identification.identify import validation
from ..procedures.payload import Payload
from ..report.comparison import compare_models, Comparison

if TYPE_CHECKING:
    from ..excitation.design import Design, Progress

AnyModel = Model | Result | str | Path  # also the path of a model file


def payload(
    model: AnyModel,
    recordings: Recordings,
    *,
    empty: Recordings = None,
    link: str = '',
    frame: str = '',
    force: bool = False,
) -> Payload:
    """Return the Payload that the arm of a ``model`` carries, see ``Model.payload``."""
    return model_in(model).payload(recordings, empty=empty, link=link, frame=frame, force=force)


def validate(model: AnyModel, recordings: Recordings, *, force: bool = False) -> dict[str, Any]:
    """Return the residuals of a ``model`` on other recordings, see ``Model.validate``."""
    return model_in(model).validate(recordings, force=force)


def compare(
    models: AnyModel | Sequence[AnyModel],
    *more: Any,
    recording: Recordings = None,
    force: bool = False,
) -> Comparison:
    """
    Return the Comparison of two or more models of one robot, with significant differences.

    models, more : ``compare(first, second)``, or a list of models and the recording
    recording : on which all of them predict, see ``identify``; None: parameters alone
    force : also on one that checks refuse, which the Comparison says; else RecordingError
    ConfigError for fewer models, RobotModelError where they are of different kinematics.
    """
    compared: Sequence[AnyModel]
    if isinstance(models, Sequence) and not isinstance(models, str):
        compared = models
        if more:
            recording = more[0]
    else:
        compared = [models, *more]
    if len(compared) < 2:
        raise ConfigError('compare', found=f'{len(compared)} model', expected='two models or more')
    identified = [model_in(model).identified for model in compared]
    names = []
    for number, model in enumerate(compared, 1):
        path = isinstance(model, (str, Path))
        names.append(str(model) if path else f'model {number}')
    predicted = usable_by(identified[0], several(recording, identified[0].robot['urdf']), force)
    fits = {}
    if predicted.recordings:
        for name, each in zip(names, identified):
            fits[name] = validation(each, predicted.recordings)[0]['filtered']
    return replace(compare_models(names, identified, fits), forced=predicted.forced)


def design(
    urdf: str | Path,
    *,
    config: str | Path = '',
    out: str | Path = '',
    progress: 'Callable[[Progress], None] | None' = None,
    **options: Any,
) -> 'Design':
    """
    Return the Design of a motion that reveals the parameters of a robot and keeps its limits.

    urdf : description, a path or the text; config : YAML file with a block ``design``
    out : folder for motion.yaml, motion.csv and the page, '' : nothing is written
    progress : called with Progress a few times per second
    options : single options of the block by name (``mounting='rpy 0 1.57 0'``, ``seconds=20.0``)
    MotionError when a limit is missing or no motion keeps all of them.
    """
    from ..excitation.design import design as design_motion
    from ..excitation.design import load_design
    from ..report.design_files import write_design

    settings = load_design(str(config), options)
    gravity = gravity_from_mounting(
        settings.mounting or 'upright', magnitude=settings.gravity_magnitude
    )
    robot = robot_from_options(description_text(urdf), settings, gravity)
    result = design_motion(robot, settings, progress)
    if out:
        write_design(result, out)
    return result


def model_in(model: AnyModel) -> Model:
    """Return the Model that a ``model`` is, holds, or lies at."""
    if isinstance(model, Result):
        return model.model
    if isinstance(model, Model):
        return model
    return load_model(model)
