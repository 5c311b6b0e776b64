"""The verb ``check``, and what ``identify`` and ``validate`` print of a checkup."""

from collections.abc import Mapping, Sequence
from typing import Any

from .console import Progress, read_recording, show, written
from ..api import identify as api
from ..checks.check import check
from ..checks.checked import residual_verdict
from ..checks.finding import Checkup, DO_NOT_USE
from ..checks.verdicts import VALIDATION
from ..identification.model.files import read_description
from ..identification.model.identified_model import IdentifiedModel
from ..identification.settings import prediction_options
from ..measurement.recording import Recording
from ..report.sheets import checkup_sheet

STRICT_STATUS = 3


def check_(options: Any) -> int:
    """
    Say what is wrong with recordings; return the exit status.

    options : of the command line
    """
    changes = {'mounting': options.mounting} if options.mounting is not None else {}
    urdf = read_description(options.urdf) if options.urdf else ''
    bags = [read_recording(bag) for bag in options.bags]
    with Progress('bag') as progress:
        found = api.check(bags, urdf=urdf, config=options.config, method=options.method,
                          progress=progress, **changes)
    files = written(options, lambda: checkup_sheet(found, options.bags))
    show(options, {**found.to_dict(), **files}, '\n'.join([found.text(), *files.values()]))
    return status(options, found.verdict.word)


def status(options: Any, word: str) -> int:
    """
    Return the exit status of a verdict.

    options : of the command line; word : of the verdict
    """
    return STRICT_STATUS if options.strict and word == DO_NOT_USE else 0


def verdict_lines(verdict: Mapping[str, Any], checkup: Checkup) -> list[str]:
    """
    Return the verdict and the findings of a ``checkup`` as lines, the verdict first.

    verdict : as the model's statistics have it
    """
    reasons = '; '.join(verdict['reasons'])
    lines = [f"Verdict: {verdict['word']}" + (f' ({reasons}).' if reasons else '.')]
    lines += [f"{joint}: {own['word']} ({'; '.join(own['reasons'])})"
              for joint, own in verdict['joints'].items()
              if own['reasons'] and own['reasons'] != verdict['reasons']]
    lines += [f'{f.severity}: {f.sentence()}' for f in checkup.checks]
    if any(checkup.masked):
        shares = ', '.join(f'{100 * share:.2g} %' for share in checkup.masked)
        lines.append(f'Left out as bad: {shares} of the samples of each recording.')
    return lines


def validation_verdict(model: IdentifiedModel, recordings: Sequence[Recording],
                       fit: Mapping[str, Any]) -> tuple[dict[str, Any], Checkup]:
    """
    Return (verdict, Checkup) of a model on other recordings.

    model : validated; recordings : it is validated on; fit : what ``validation`` says of them
    """
    checkup = check(recordings, prediction_options(model), method=model.method,
                    urdf=model.robot['urdf'], model=model)
    outside = {joint: rms['outside'] for joint, rms in fit['outside'].get('rms', {}).items()}
    return residual_verdict(fit['filtered'], VALIDATION, checkup, outside), checkup
