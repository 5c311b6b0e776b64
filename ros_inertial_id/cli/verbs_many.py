"""The verbs on many bags: ``identify`` of several, and ``drift``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .console import identified, page, Progress, read_recordings, show
from ..api.many import drift, identify_many
from ..errors import ConfigError
from ..identification.model.files import make_folder, read_description
from ..procedures.many_recordings import Many

CONTRADICTING = 2.0  # times the residual of each alone; short bags of one robot leave 1.5 times
LISTED = 20  # bags that count, named on a terminal


def identify_many_(options: Any, changes: dict[str, Any]) -> int:
    """Identify a model from many bags, with ``changes`` of options; return the exit status."""
    if options.identify_gravity:
        raise ConfigError('--identify-gravity', found='many recordings',
                          do='find gravity from one bag, and give the --mounting')
    urdf = read_description(options.urdf) if options.urdf else ''
    others = read_recordings(options.validate)
    make_folder(options.out)
    with Progress('bag') as progress:
        result = identify_many(options.bags, validate=others, urdf=urdf, config=options.config,
                               progress=progress, method=options.method, jobs=options.jobs or 1,
                               scheduler=options.scheduler, cache=options.cache,
                               keep_all=options.keep_all, count_once=options.count_once,
                               budget=options.budget, **changes)
    many, unused = result.many, result.left_out
    lines = [f'{len(many.bags)} bags, {sum(b.cached for b in many.bags)} of them from the cache; '
             f'{len(unused)} not used', *contradiction(many)]
    if options.count_once or options.budget:
        lines.append(_counted(many.seconds, sum(b.notes['span_s'] for b in many.bags)))
    return identified(options, result, {
        'bags': [b.path for b in many.bags], 'seconds': many.seconds, 'left_out': unused,
        'alone_percent': many.alone_percent}, lines)


def drift_(options: Any) -> None:
    """Say what changed in the robots of a model over their bags."""
    with Progress('bag') as progress:
        found = drift(options.model, options.bags, jobs=options.jobs, cache=options.cache,
                      scheduler=options.scheduler, progress=progress)
    from ..report.sheets import drift_sheet
    files = page(options, options.out and Path(options.out) / 'drift.html',
                 lambda: drift_sheet(found))
    show(options, {**found.to_dict(), **files}, '\n'.join([found.to_text(), *files.values()]))


def contradiction(many: Many) -> list[str]:
    """Return in words that the bags of ``many`` contradict each other, if they do."""
    together = many.model.statistics['training']['filtered']['relative_percent']
    if together < CONTRADICTING * many.alone_percent:
        return []
    return [f'The bags contradict each other: relative residual {many.alone_percent:.3g} % with '
            f'an estimate for each, {together:.3g} % with one for all. Was a load, a mounting or '
            'the robot changed? inertial-id drift MODEL BAG... compares them']


def _counted(seconds: Mapping[str, float], whole: float) -> str:
    """Return in words how much of which bag counts."""
    most = sorted(seconds.items(), key=lambda item: -item[1])
    words = [f'{path} {span:.0f} s' for path, span in most[:LISTED] if span >= 0.5]
    return f"{sum(seconds.values()):.0f} of {whole:.0f} s count: {', '.join(words)}"
