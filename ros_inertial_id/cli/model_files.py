"""Model files: what the verbs that identify write, and what they print of a model."""

import pathlib
from typing import Any



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
