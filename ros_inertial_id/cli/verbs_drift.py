"""The verb ``drift``: what changed in robots from day to day."""

import pathlib
from typing import Any

from .console import Progress, show
from ..api.many import drift
from ..identification.files import make_folder


def drift_(options: Any) -> None:
    """
    Say what changed in the robots of a model over their bags.

    options : of the command line
    """
    with Progress('bag') as progress:
        found = drift(options.model, options.bags, jobs=options.jobs, cache=options.cache,
                      scheduler=options.scheduler, progress=progress)
    files = {}
    if options.out:
        from ..report.drift import write_drift
        make_folder(options.out)
        files['report'] = write_drift(found, pathlib.Path(options.out) / 'drift.html',
                                      ['inertial-id', *options.words])
    show(options, {**found.to_dict(), **files}, '\n'.join([found.to_text(), *files.values()]))
