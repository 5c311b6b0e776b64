"""The page: everything of an identification in one HTML file that needs nothing else."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
import json
import shlex
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape, StrictUndefined

from . import tables
from .curves import curves, friction_curves
from .digits import ratio, significant, typeset
from .drawings import Drawings, forest
from .knowledge import evaluate, fits
from .reach import force_unit
from .words import chapters, worst_joint
from .. import __version__
from ..identification.identify import Identification
from ..identification.model.symbolic_groupings import symbolic_groupings
from ..identification.settings import robot_of_model


def render(identification: Identification) -> str:
    """Return the HTML text of an ``identification``."""
    model, drawings = identification.model, Drawings()
    known, robot = evaluate(model), robot_of_model(model)
    torque = _torque(drawings, identification)
    friction = tables.friction(known, model)
    drawn = friction_curves(model, identification.training) if friction else []
    cutoffs = [drawings.cutoff(number, summary['cutoff_curve'], summary['cutoff'])
               for number, summary in enumerate(model.preprocessing, 1)
               if 'cutoff_curve' in summary]
    return fill('report.html', {
        'model': model, 's': model.statistics, 'training': fits(model)['training'],
        'title': f"{model.robot['name']}: identified dynamics", 'verdict': chapters(model),
        'unit': force_unit(robot), 'worst': worst_joint(model), 'counts': tables.counts(known),
        'joints': tables.joint_rows(model), 'checks': tables.checks(model),
        'choices': tables.choices(model), 'signals': tables.signals(model), 'cutoffs': cutoffs,
        'bodies': tables.bodies(model), 'validity_range': tables.validity_range(model, robot),
        'fits': tables.fit_columns(model), 'torque': torque, 'friction': friction,
        'friction_charts': [drawings.friction(curve) for curve in drawn],
        'forest': forest(known), 'consistent': model.statistics.get('consistent'),
        'parameters': [tables.parameter_row(item) for item in known],
        'symbolic': symbolic_groupings(model),
        'options': tables.changed_options(model), 'recordings': tables.recordings(model),
        'command': tables.command(model), 'thinned': _thinned(identification)}, drawings)


def fill(template: str, values: Mapping[str, Any], drawings: Drawings | None = None) -> str:
    """
    Return the HTML text of a template of this room, with style and script inside.

    template : its file; values : of its variables; drawings : charts that it shows
    """
    environment = Environment(
        loader=PackageLoader('ros_inertial_id.report', ''), undefined=StrictUndefined,
        autoescape=select_autoescape(default=True), trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(significant=significant, ratio=ratio, typeset=typeset)
    data = json.dumps(drawings.to_dict() if drawings else Drawings().to_dict(),
                      separators=(',', ':'), allow_nan=False).replace('<', '\\u003c')
    return environment.get_template(template).render(**values, data=data)


def provenance(words: Sequence[str]) -> dict[str, str]:
    """Return what the provenance of a page says: the command line of ``words``, version, time."""
    now = datetime.now(timezone.utc).isoformat(timespec='seconds')
    return {'command': shlex.join(words), 'made': f'ros_inertial_id {__version__}, {now}'}


def _torque(drawings: Drawings, identification: Identification) -> list[tuple[str, list[str]]]:
    """Return (row group, numbers of its charts), validation before training."""
    model, errors = identification.model, fits(identification.model)
    parts = {'validation': curves(model, identification.validation),
             'training': curves(model, identification.training)}
    parts = {part: drawn for part, drawn in parts.items() if drawn}
    return [(name, [drawings.torque(part, drawn[name], errors[part]['filtered']['rms'][name])
                    for part, drawn in parts.items()])
            for name in next(iter(parts.values()), {})]


def _thinned(identification: Identification) -> int:
    """Return how many samples stand behind one that is drawn."""
    shown = sum(len(block.t) for block in identification.validation or identification.training)
    part = fits(identification.model)['validation' if identification.validation else 'training']
    return max(1, round(part['filtered']['samples'] / max(1, shown)))
