"""
Measured drives: what the library knows of the friction and rotors of a make, as priors of joints.

A drive is a file of ``config/drives``, or of the user.  Its numbers are of other units than those
at hand: another one differs by ANOTHER_UNIT of them, by wear, grease and warmth.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
import math
from pathlib import Path
from typing import Any

from ...dynamics.friction import LAWS
from ...dynamics.inertial_parameters import Parameter
from ...errors import ConfigError
from ...methods.contract import Method, Robot
from ...options import read_yaml
from ...share import config_file

ANOTHER_UNIT = 0.3  # of a number: standard deviation between units of one make
ORIGIN = ('what', 'source', 'date', 'method')  # texts that every drive has


@dataclass(frozen=True)
class MeasuredDrive:
    """
    A drive of the library.

    what, source, date, method : of its numbers; joints : whose it is by default, with wildcards
    terms : {law: (value, standard error)} in the units of the laws of joints that turn
    """

    what: str
    source: str
    date: str
    method: str
    joints: str
    terms: Mapping[str, tuple[float, float]]

    def prior(self, law: str) -> tuple[float, float]:
        """Return (value, standard deviation) of a ``law`` of another unit of the same make."""
        value, error = self.terms[law]
        return value, math.hypot(error, ANOTHER_UNIT * value)


def measured_drive(name: str) -> MeasuredDrive:
    """
    Return the MeasuredDrive of that ``name`` of the library, or of a YAML file at that path.

    ConfigError where there is none, or where it is not of this form.
    """
    what = f'drive {name}'
    content = read_yaml(config_file(name, 'config/drives'))
    if not isinstance(content, dict):
        raise ConfigError(what, expected=f'a mapping of {", ".join(ORIGIN)} and terms')
    missing = [key for key in (*ORIGIN, 'terms') if not content.get(key)]
    if missing:
        raise ConfigError(
            what, expected=f'{", ".join((*ORIGIN, "terms"))}', do=f'add {missing[0]}'
        )
    terms = content['terms']
    if not isinstance(terms, dict):
        raise ConfigError(what, expected='terms: {law: [value, standard error]}', found=terms)
    numbers = {law: _value_and_error(what, law, term) for law, term in terms.items()}
    origin = {key: str(content[key]) for key in ORIGIN}
    return MeasuredDrive(**origin, joints=str(content.get('joints', '*')), terms=numbers)


def _value_and_error(what: str, law: str, term: Any) -> tuple[float, float]:
    """Return the two numbers of a ``term`` of a ``law``."""
    if law not in LAWS:
        raise ConfigError(what, found=law, exists=tuple(LAWS))
    try:
        value, error = (float(number) for number in term)
    except (TypeError, ValueError):
        value = error = math.nan
    if not (value > 0.0 and 0.0 < error < math.inf):
        expected = f'{law}: [value, standard error], both positive'
        raise ConfigError(what, expected=expected, found=term)
    return value, error


def with_measured_drives(options: Any, method: Method, robot: Robot) -> Any:
    """
    Return ``options`` with the numbers of its drives among what is given, and whose they are.

    Each drive is NAME, or NAME:JOINTS with wildcards; what the user gives himself stands above.
    ConfigError where a drive or its joints are not there, or nothing of it is identified.
    """
    if not options.drive:
        return options
    columns = method.parameters(robot, options)
    lines, drives = [], []
    for text in options.drive:
        name, _, pattern = text.partition(':')
        drive = measured_drive(name)
        for joint in _joints(columns, pattern or drive.joints, text):
            lines += _lines(drive, text, [p for p in columns if p.owner == joint])
            drives.append(f'{name}:{joint}')
    return replace(
        options,
        given=tuple(dict.fromkeys([*lines, *options.given])),
        drive=tuple(dict.fromkeys(drives)),
    )


def _joints(columns: Sequence[Parameter], pattern: str, text: str) -> list[str]:
    """Return the joints with friction of a ``pattern``."""
    joints = list(dict.fromkeys(p.owner for p in columns if p.law in LAWS))
    matches = [joint for joint in joints if fnmatchcase(joint, pattern)]
    if not matches:
        raise ConfigError(f'option drive {text!r}', found=f'joints {pattern!r}', exists=joints)
    return matches


def _lines(drive: MeasuredDrive, text: str, of_joint: Sequence[Parameter]) -> list[str]:
    """Return the lines of what is given of a joint, whose parameters are ``of_joint``."""
    law_of_symbol = {LAWS[law].symbol: law for law in drive.terms}
    lines = []
    for parameter in of_joint:
        law = law_of_symbol.get(LAWS[parameter.law].symbol)
        if law is None:
            continue
        if parameter.unit != LAWS[law].unit:
            raise ConfigError(
                f'option drive {text!r}', expected='joints that turn', found=parameter.owner
            )
        value, deviation = drive.prior(law)
        lines.append(f'{parameter.name} {value:.6g} {deviation:.6g}')
    if not lines:
        raise ConfigError(
            f'option drive {text!r}',
            expected=f'friction: one of {", ".join(drive.terms)}',
            found=sorted({p.law for p in of_joint}),
        )
    return lines


def drives_of_joints(options: Mapping[str, Any]) -> dict[str, str]:
    """Return {joint: name of its drive} by the ``options`` of an identified model."""
    out = {}
    for text in options.get('drive', ()):
        name, _, joint = text.partition(':')
        out[joint] = Path(name).stem
    return out
