"""
An identified model as messages: tables of names and values that a controller reads, and a URDF.

Tables and formulas are a contract with controllers and stand in doc/contract.md.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import InertiaStamped
import numpy as np
from numpy.typing import ArrayLike

from .conversions import row
from ..dynamics.inertial_parameters import Parameter, SYMBOLS
from ..errors import InertialIdError
from ..identification.identified_model import IdentifiedModel
from ..identification.judge.validation import TERMS
from ..identification.model.identified_description import description_of
from ..identification.settings import robot_of_model
from ..procedures.payload import Payload


def base_rows(
    base: Sequence[Mapping[str, Any]],
    parameters: Sequence[Parameter],
    values: np.ndarray,
    gravity: ArrayLike,
) -> list[DiagnosticStatus]:
    """
    Return the table of base parameters as doc/contract.md has it.

    base : entries as in IdentifiedModel.base; parameters, values : (p,) standard ones behind them
    gravity : (3,) in the base frame [m/s^2]
    """
    standard = {p.name: (p, float(x)) for p, x in zip(parameters, values)}
    rows = []
    for entry in base:
        parts = [(c, *standard[name]) for name, c in entry['grouping'].items()]
        numbers = {
            'value': entry['value'],
            'standard_error': entry['standard_error'],
            'used': sum(c * x for c, _, x in parts),
        }
        _, parameter, _ = parts[0]  # the first of a grouping stands for it
        symbol = parameter.name.rstrip('0123456789')
        if parameter.law:
            numbers['law'] = parameter.law
            if parameter.nonlinear is not None:
                numbers['c'] = parameter.nonlinear
        elif symbol in SYMBOLS:
            numbers['element'] = symbol
        rows.append(
            row(
                entry['name'],
                numbers,
                'ok' if entry['determined'] else 'warn',
                entry['unit'],
                parameter.owner,
            )
        )
    return rows + [row('gravity_base', dict(zip('xyz', np.asarray(gravity))), words='m/s^2')]


def band_rows(model: IdentifiedModel) -> list[DiagnosticStatus]:
    """Return the band of a model's predictions as a table, as doc/contract.md has it."""
    band = model.statistics.get('prediction_band') or {}
    rows = []
    for joint, terms in band.get('joints', {}).items():
        numbers = {term: terms[term] for term in (*TERMS, 'slow')}
        numbers['turns'] = float(joint in band.get('angles', ()))
        for quantity in 'qva':
            numbers[f'{quantity}_low'], numbers[f'{quantity}_high'] = model.validity_range.get(
                joint, {}
            ).get(quantity, (-np.inf, np.inf))
        rows.append(row(joint, numbers))
    return rows


def inertia_message(load: Payload) -> InertiaStamped:
    """Return a ``load`` as a message: centre and axes of its frame, inertia about the centre."""
    message = InertiaStamped()
    message.header.frame_id, message.inertia.m = load.frame, load.mass
    com = message.inertia.com
    com.x, com.y, com.z = load.center_of_mass.tolist()
    for i, j in zip(*np.triu_indices(3)):
        setattr(message.inertia, f'i{"xyz"[i]}{"xyz"[j]}', float(load.inertia[i, j]))
    return message


def identified_urdf(model: IdentifiedModel) -> str:
    """Return the identified URDF of a ``model``, '' where none can be written."""
    try:
        return description_of(model, robot_of_model(model))[0]
    except InertialIdError:  # not physically consistent, or no tree
        return ''
