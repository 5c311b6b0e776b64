"""Model files: what the verbs that identify write, and what they print of a model."""

import pathlib
from typing import Any

from ..identification.model.identified_model import IdentifiedModel
from ..report import verdict

ENTRY_KEYS = ('name', 'expression', 'value', 'standard_error', 'unit', 'determined',
              'relative_percent', 'nominal', 'unconstrained')


def write_result(result: Any, options: Any) -> dict[str, Any]:
    """
    Write model, description, report and figures of a ``result``; return {what: path or paths}.

    options : of the command line
    """
    out = pathlib.Path(options.out)
    files: dict[str, Any] = {'model': str(out / 'model.yaml')}
    result.model.save(files['model'])
    if not options.no_report:
        files['report'] = result.report(out / 'report.html')
    if options.figures:
        from ..report.figures import write_figures
        files['figures'] = write_figures(result.identification, out / 'figures', options.figures)
    return files


def outline(model: IdentifiedModel) -> dict[str, Any]:
    """Return what --json promises: the numbers of a ``model`` without its description."""
    numbers = dict(model.statistics)
    if 'unconstrained' in numbers:
        numbers['unconstrained'] = {k: v for k, v in numbers['unconstrained'].items()
                                    if k != 'values'}
    known = {k: v for k, v in model.mounting.items() if k in ('known', 'missing')}
    return {'method': model.method, 'verdict': verdict(model), **numbers,
            'base_parameters': [{k: entry[k] for k in ENTRY_KEYS if k in entry}
                                for entry in model.base],
            'mounting_parameters': known, 'preprocessing': model.preprocessing,
            'mounting': {k: v for k, v in model.mounting.items() if k not in known}}
