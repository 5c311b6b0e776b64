"""
Identify: recordings in, a model out; the one call that nodes, verbs and notebooks make.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .model import Model, model_of
from ..identification import identify as spine
from ..identification.dataset import Progress
from ..identification.files import read_description
from ..identification.settings import load_options
from ..measurement.bags.log import read_log as read_log_text
from ..measurement.recording import Recording
from ..report import summary, write_report

Recordings = Recording | Sequence[Recording]


@dataclass(frozen=True)
class Result:
    """
    A Model with what the report needs of the data.

    identification : model and thinned out rows of training and validation
    """

    identification: spine.Identification

    @property
    def model(self) -> Model:
        """Return the identified Model."""
        return model_of(self.identification.model)

    def summary(self) -> str:
        """Return what is known and how well it predicts, as text."""
        return summary(self.identification.model)

    def report(self, path: str | Path) -> None:
        """Write the report (HTML, complete in itself) to ``path``."""
        write_report(self.identification, path)


def identify(recordings: Recordings, *, validate: Recordings = (), urdf: str | Path = '',
             config: str | Path = '', progress: Progress | None = None,
             **options: Any) -> Result:
    """
    Return the Result of identifying a robot from recordings.

    recordings, validate : Recordings to identify from and to validate on, one or several
    urdf : description, a path or the text; '' for the recordings' own
    config : YAML file with a block of the method's name, '' for defaults
    progress : called with (stage, samples done, samples in all) on long work
    options : single options of the configuration by name (``mounting='rpy 0 1.57 0'``), and
        ``method`` (serial_arm)
    ConfigError for options, RobotModelError for descriptions, RecordingError for data that
    cannot be used, EstimationError where they do not allow the estimate.
    """
    method, settings = load_options(str(config), options.pop('method', ''), options)
    return Result(spine.identify(_several(recordings), settings, method=method,
                                 urdf=description_text(urdf), validate=_several(validate),
                                 progress=progress))


def read_log(log: str | Path, *, urdf: str | Path, joints: Sequence[str] | None = None,
             rate: float | None = None, columns: str = '') -> Recording:
    """
    Return the Recording in a log of another program (.npz or .csv).

    log : its path; urdf : description, a path or the text
    joints : names in the order of the columns; rate : [Hz] of a log without time
    columns : names of the columns of a .csv without a header line
    """
    return read_log_text(log, description_text(urdf), joint_names=joints, rate=rate,
                         columns=columns)


def description_text(urdf: str | Path) -> str:
    """Return the text of a description ``urdf``, given as its text or as the path of its file."""
    text = str(urdf)
    return text if not text or '\n' in text or '<' in text else read_description(urdf)


def _several(recordings: Recordings) -> list[Recording]:
    return [recordings] if isinstance(recordings, Recording) else list(recordings)
