"""
An identified model as messages: a table that a controller reads without a parser, and a URDF.

Layout and formulas are a contract with controllers and stand in doc/contract.md.
"""

import re
from typing import Any

from geometry_msgs.msg import InertiaStamped
import numpy as np
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from .conversions import table
from ..dynamics.friction import LAWS
from ..dynamics.inertial_parameters import SYMBOLS
from ..errors import InertialIdError
from ..identification.identified_model import IdentifiedModel
from ..identification.judge.validation import TERMS
from ..identification.model.identified_description import description_of
from ..identification.settings import robot_of_model
from ..procedures.payload import Payload


def base_table(model: IdentifiedModel) -> Float64MultiArray:
    """Return the table of the base parameters of a ``model``, laid out as doc/contract.md says."""
    values = {p.name: float(x) for p, x in zip(model.parameters, model.values)}
    parameters = {p.name: p for p in model.parameters}
    owners = list(dict.fromkeys(p.owner for p in model.parameters))
    laws = list(LAWS)
    # The first of a grouping is the one that stands for it.
    rows = [(entry, parameters[next(iter(entry['grouping']))]) for entry in model.base]
    message = table(
        [entry['name'] for entry in model.base],
        {'value': [e['value'] for e, _ in rows],
         'standard_error': [e['standard_error'] for e, _ in rows],
         'used': [sum(c * values[name] for name, c in e['grouping'].items()) for e, _ in rows],
         'owner': [owners.index(p.owner) for _, p in rows],
         'element': [_element(p) for _, p in rows],
         'law': [laws.index(p.law) if p.law in laws else -1 for _, p in rows],
         'nonlinear': [p.nonlinear for _, p in rows]})
    gravity = [f'{x:.17g}' for x in model.mounting['gravity_base'][0]]
    message.layout.dim += [MultiArrayDimension(label=','.join(labels), size=1, stride=1)
                           for labels in (owners, laws, gravity)]
    return message


def band_table(model: IdentifiedModel) -> Float64MultiArray:
    """Return the band of a model's predictions as a table, laid out as doc/contract.md says."""
    band = model.statistics.get('prediction_band') or {}
    joints = band.get('joints', {})
    unbounded = (-np.inf, np.inf)
    columns = {term: [joints[name][term] for name in joints] for term in (*TERMS, 'slow')}
    columns['turns'] = [float(name in band.get('angles', ())) for name in joints]
    for quantity in 'qva':
        for place, end in enumerate(('low', 'high')):
            columns[f'{quantity}_{end}'] = [
                model.validity_range.get(name, {}).get(quantity, unbounded)[place]
                for name in joints]
    return table(list(joints), columns)


def inertia_message(load: Payload) -> InertiaStamped:
    """Return a ``load`` as a message, not a number where the data do not determine it."""
    message = InertiaStamped()
    message.header.frame_id, message.inertia.m = load.frame, load.mass
    known = {symbol for symbol in ('mc', 'I') if all(
        sure for name, sure in load.determined.items() if name.startswith(symbol))}
    center = load.center_of_mass if 'mc' in known else np.full(3, np.nan)
    inertia = load.inertia if 'I' in known else np.full((3, 3), np.nan)
    message.inertia.com.x, message.inertia.com.y, message.inertia.com.z = center.tolist()
    for i, j in zip(*np.triu_indices(3)):
        setattr(message.inertia, f"i{'xyz'[i]}{'xyz'[j]}", float(inertia[i, j]))
    return message


def identified_urdf(model: IdentifiedModel) -> str:
    """Return the identified URDF of a ``model``, '' where none can be written."""
    try:
        return description_of(model, robot_of_model(model))[0]
    except InertialIdError:  # not physically consistent, or no tree
        return ''


def _element(parameter: Any) -> int:
    symbol = re.sub(r'\d+$', '', parameter.name)
    return SYMBOLS.index(symbol) if not parameter.law and symbol in SYMBOLS else -1
