"""
Friction laws as columns of the regressor: tau_friction = sum coefficient * column(q, v, a).

A law is one function and one entry of ``LAWS``, which says all that others ask of it: nobody else
names a law.  A law may hold one constant that is not linear (the width of Coulomb's step, the
speed of Stribeck's); the constants tried for it become columns of their own, of which an
identification keeps one per joint.

Sources: the static model with stiction, Stribeck (atan) and viscous friction of
static_friction_3dof; Armstrong-Helouvry, Dupont and Canudas de Wit 1994 for the exponential;
Palmgren 1957 for the drag of lubricants; Bittencourt and Gunnarsson 2012 for the load.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
import re
from typing import Any, Callable

import numpy as np

from .inertial_parameters import Parameter
from ..errors import ConfigError
from ..options import option

JOINT_TERMS = ('damping', 'friction', 'armature')  # attributes of a joint that pinocchio has
FORGOTTEN = -40.0  # logarithm of what is left of a number that rounding cannot tell from none
# Of the torque that a gear passes on.  Lifting a load takes 1 + loss times its torque, lowering it
# 1 - loss times: a gear that loses more locks itself, and its motor has to push the load down.
LARGEST_LOSS = 1.0
LARGEST_STICTION = 3.0  # times the friction at speed: of joints up to two is reported
STRIBECK_STEP = 0.01  # [rad/s] over which S(v), the sign of the speed, changes in its laws


@dataclass(frozen=True)
class WidthOptions:
    """How steep dry friction is at standstill."""

    coulomb_width: float = option(
        -1.0,
        'speed over which Coulomb friction changes sign; 0: a step, below 0: found from the data',
        unit='rad/s or m/s',
    )


@dataclass(frozen=True)
class Law:
    """
    column(q, v, a, nonlinear) -> (...,) for one joint.

    symbol, unit, scale : of the coefficient;
    nonlinear_values : constants tried, in ``nonlinear_unit``
    signed : the coefficient may be negative; others are >= 0 in a passive joint
    brakes : part of the friction curve, which as a whole never drives a passive joint
    position : a torque that depends on the position
    loaded : times the torque [N m] that the gear passes on, by the nominal model; the coefficient
        stays below LARGEST_LOSS
    bends : bends the curve between a step and a line, as another width does
    dry : with the sign of the speed, as large at any: at rest it is anything up to that
    memory : goes on from sample to sample, by ``presliding_step``
    wears : what wear and grease move, in words; drift watches it
    in_urdf : attribute of a joint that means the same: damping and friction of URDF, armature
        and stiffness of MJCF and pinocchio
    always : of every joint by default
    tried : by default, with one of its constants, or another such law of the same symbol
    optional : by default where it predicts better
    harmonic : of a turn of the joint, by default in each joint that it predicts better
    """

    symbol: str
    unit: str
    scale: float
    column: Callable[..., Any]
    nonlinear_values: tuple[float | None, ...] = (None,)
    nonlinear_unit: str = ''
    signed: bool = False
    brakes: bool = True
    position: bool = False
    loaded: bool = False
    bends: bool = False
    dry: bool = False
    memory: bool = False
    wears: str = ''
    in_urdf: str = ''
    always: bool = False
    tried: bool = False
    optional: bool = False
    harmonic: int = 0

    @property
    def by_default(self) -> bool:
        """Return whether an identification has or tries it where no laws are named."""
        return self.always or self.tried or self.by_need

    @property
    def by_need(self) -> bool:
        """Return whether it takes part only where it predicts better."""
        return self.optional or bool(self.harmonic)

    @property
    def nonlinear(self) -> bool:
        """Return whether it holds a constant."""
        return self.nonlinear_values != (None,)

    @property
    def has_width(self) -> bool:
        """Return whether its constant is the speed over which dry friction changes sign."""
        return self.nonlinear and self.in_urdf == 'friction'

    @property
    def inertial(self) -> bool:
        """Return whether it is an inertia, whose torque is linear in the acceleration."""
        return self.unit == 'kg m^2'

    @property
    def constant(self) -> bool:
        """Return whether it is the same torque at any motion."""
        return self.signed and not (self.brakes or self.position)

    @property
    def elastic(self) -> bool:
        """Return whether it grows with the position: a turn further it is another torque."""
        return self.unit.startswith('N m/rad')

    @property
    def switches(self) -> bool:
        """Return whether it jumps where the speed changes sign."""
        return self.brakes and self.unit == 'N m'


def _viscous(q, v, a, nonlinear):
    """Return the column of fv [N m s/rad]: v."""
    return v


def _coulomb(q, v, a, nonlinear):
    """Return the column of fc [N m]: tanh(v / width), sign(v) for a width of zero."""
    if not nonlinear:
        return np.sign(v)
    return np.tanh(v / nonlinear)


def _presliding(q, v, a, nonlinear):
    """
    Return the column of fc [N m]: Dahl's state z, d z / d s = (sign(d s) - z) / distance.

    Between -1 and 1: at a reversal the teeth or bristles of a joint yield over a distance [rad]
    before it slides (Dahl 1968), and at rest the friction stays where the motion left it.  It
    starts from zero, as unknown.  q and v (N,) in order of time: the way is q's, the direction at
    the end of each step v's; rows where neither turns may be left out.  Of a q that never
    changes (v given alone) the developed friction.
    """
    return _presliding_columns(q, v, (nonlinear,))[0]


def _presliding_columns(q, v, distances):
    """Return (k, N) the ``_presliding`` of each of ``distances`` (k,)."""
    towards = np.sign(v)
    step = np.diff(q, prepend=q[:1])
    if not step.any():
        return np.tile(towards, (len(distances), 1))
    np.sign(step, out=towards, where=v == 0.0)
    starts = np.concatenate([[0], np.flatnonzero(towards[1:] != towards[:-1]) + 1])
    sizes = np.diff(starts, append=len(q))
    way = np.cumsum(np.abs(step))
    done = np.concatenate([[0.0], way[starts[1:] - 1]])  # at the beginning of every stretch
    length, gone = done - np.append(done[1:], way[-1]), np.repeat(done, sizes) - way
    out, signs = np.empty((len(distances), len(q))), towards[starts]
    for column, distance in zip(out, distances):
        away, state = [], 0.0
        for sign, share in zip(signs.tolist(), np.exp(length / distance).tolist()):
            away.append(state - sign)
            state = sign + (state - sign) * share
        np.divide(gone, distance, out=column)
        # What underflows takes ten times as long, and is nothing beside one.
        np.exp(np.maximum(column, FORGOTTEN, out=column), out=column)
        column *= np.repeat(away, sizes)
        column += towards
    return out


def presliding_step(
    z: np.ndarray, step: np.ndarray, v: np.ndarray, distance: np.ndarray
) -> np.ndarray:
    """
    Return Dahl's states (k,) after one more step, by which presliding friction goes on live.

    z : (k,) before it, 0: unknown; step : (k,) of the positions [rad, m]
    v : (k,) velocities at its end; distance : (k,) [rad, m]
    """
    towards = np.where(v == 0.0, np.sign(step), np.sign(v))
    return towards + (z - towards) * np.exp(-np.abs(step) / distance)


def _coulomb_atan(q, v, a, nonlinear):
    """Return the column of fca [N m]: (2 / pi) atan(v / width), sign(v) for a width of zero."""
    if not nonlinear:
        return np.sign(v)
    return 2.0 / np.pi * np.arctan(v / nonlinear)


def _asymmetric(q, v, a, nonlinear):
    """
    Return the column of fd [N m]: |tanh(v / width)|.

    Coulomb friction is fc + fd forwards, fc - fd backwards.  But for the reversals it is the
    column of ``offset``: ask for one of the two.
    """
    return np.abs(_coulomb(q, v, a, nonlinear))


def _stiction(q, v, a, nonlinear):
    """Return the column of fs [N m]: S(v) = (2 / pi) atan(v / width)."""
    return _coulomb_atan(q, v, a, nonlinear)


def _stribeck_atan(q, v, a, nonlinear):
    """
    Return the column of Coulomb minus stiction [N m]: (2 / pi) atan(delta |v|) S(v).

    S(v) of STRIBECK_STEP, whatever that of stiction is: where they differ the first factor is
    nearly zero.
    """
    return 2.0 / np.pi * np.arctan(nonlinear * np.abs(v)) * _stiction(q, v, a, STRIBECK_STEP)


def _stribeck(q, v, a, nonlinear):
    """Return the column of stiction minus Coulomb [N m]: exp(-(v / vs)^2) tanh(v / step)."""
    return np.exp(-((v / nonlinear) ** 2)) * np.tanh(v / STRIBECK_STEP)


def _power(q, v, a, nonlinear):
    """
    Return the column of fp [N m (s/rad)^n]: sign(v) |v|^n, n between a step and a line.

    Bends the curve between Coulomb's step and the viscous line: upwards like the drag of a
    lubricant (n = 2/3, Palmgren 1957), downwards (fp < 0) like Stribeck's.
    """
    return np.sign(v) * np.abs(v) ** nonlinear


def _offset(q, v, a, nonlinear):
    """Return the column of a constant torque or sensor offset [N m]: 1."""
    return np.ones_like(v)


def _armature(q, v, a, nonlinear):
    """Return the column of the reflected rotor inertia Ia [kg m^2]: a."""
    return a


def _spring(q, v, a, nonlinear):
    """Return the column of ks [N m/rad]: q; with ``offset`` a spring of any rest position."""
    return q


def _bent_spring(symbol, n):
    """Return the Law of ksq, ksc [N m/rad^n]: q^n, what bends a spring."""

    def column(q, v, a, nonlinear):
        return q**n

    unit = f'N m/rad^{n}'
    return Law(symbol, unit, 1.0, column, signed=True, brakes=False, position=True)


def _ripple(symbol, wave, n):
    """Return the Law of a torque [N m] that repeats n times per turn: wave(n q)."""

    def column(q, v, a, nonlinear):
        return wave(n * q)

    return Law(symbol, 'N m', 1.0, column, signed=True, brakes=False, position=True, harmonic=n)


# Distances [rad]: below the first a step as far as an encoder shows, beyond the last a spring.
PRESLIDING_DISTANCES = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
# Widths [rad/s] from a step to "as fast as most motions": a torque that was filtered by the
# robot, and a velocity whose noise has another sign than the motion, show a wider step than the
# friction itself has, and teeth and bearings of a geared joint go from mixed to full lubrication
# at tenths of a rad/s (Armstrong-Helouvry et al. 1994).
COULOMB_WIDTHS = (0.0, 0.001, 0.003, 0.008, 0.02, 0.04, 0.08, 0.15, 0.3)
ATAN_WIDTHS = (0.001, 0.003, 0.01, 0.03, 0.1)
# Stiction and Stribeck's curve differ by their widths alone: steps of a fifth tell them apart.
STICTION_WIDTHS = (0.0, *(0.01 * 10.0 ** (k / 10) for k in range(-10, 11)))
STRIBECK_DELTAS = tuple(2.0 ** (k / 4) for k in range(25))
STRIBECK_SPEEDS = tuple(0.02 * 2.0 ** (k / 4) for k in range(23))

FADED = 1e-6  # of a column: a law that has died out at a speed says nothing there
SPEEDS = tuple(10.0 ** (k / 4) for k in range(-8, 5))  # [rad/s] where the curve is watched

LAWS = {
    'viscous': Law(
        'fv', 'N m s/rad', 1.0, _viscous, always=True, wears='viscous friction', in_urdf='damping'
    ),
    'presliding': Law(
        'fc',
        'N m',
        1.0,
        _presliding,
        PRESLIDING_DISTANCES,
        'rad',
        dry=True,
        memory=True,
        wears='Coulomb friction',
        tried=True,
    ),
    'coulomb': Law(
        'fc',
        'N m',
        1.0,
        _coulomb,
        COULOMB_WIDTHS,
        'rad/s',
        dry=True,
        wears='Coulomb friction',
        in_urdf='friction',
        tried=True,
    ),
    'coulomb_atan': Law(
        'fca',
        'N m',
        1.0,
        _coulomb_atan,
        ATAN_WIDTHS,
        'rad/s',
        dry=True,
        wears='Coulomb friction',
        in_urdf='friction',
    ),
    'asymmetric': Law('fd', 'N m', 1.0, _asymmetric, (0.01,), 'rad/s', signed=True, dry=True),
    'stiction': Law(
        'fs', 'N m', 1.0, _stiction, STICTION_WIDTHS, 'rad/s', dry=True, in_urdf='friction'
    ),
    'stribeck_atan': Law('fcs', 'N m', 1.0, _stribeck_atan, STRIBECK_DELTAS, 's/rad', signed=True),
    'stribeck': Law('fsc', 'N m', 1.0, _stribeck, STRIBECK_SPEEDS, 'rad/s', signed=True),
    'offset': Law(
        'off', 'N m', 1.0, _offset, signed=True, brakes=False, always=True, wears='friction offset'
    ),
    'armature': Law(
        'Ia', 'kg m^2', 0.01, _armature, brakes=False, always=True, in_urdf='armature'
    ),
    'spring': Law(
        'ks',
        'N m/rad',
        1.0,
        _spring,
        signed=True,
        brakes=False,
        position=True,
        in_urdf='stiffness',
        optional=True,
    ),
    # Gas springs and cables, by name; eccentric gears and ripple as a Fourier series of the turn.
    'spring2': _bent_spring('ksq', 2),
    'spring3': _bent_spring('ksc', 3),
    'sine1': _ripple('tsa', np.sin, 1),
    'cosine1': _ripple('tca', np.cos, 1),
    'sine2': _ripple('tsb', np.sin, 2),
    'cosine2': _ripple('tcb', np.cos, 2),
    'sine3': _ripple('tsc', np.sin, 3),
    'cosine3': _ripple('tcc', np.cos, 3),
    'sine4': _ripple('tsd', np.sin, 4),
    'cosine4': _ripple('tcd', np.cos, 4),
    'power': Law(
        'fp', 'N m (s/rad)^n', 1.0, _power, (2.0 / 3.0,), signed=True, bends=True, optional=True
    ),
    # Teeth are pressed together by what they pass on, whose position-dependent part is gravity.
    'coulomb_load': Law(
        'fl',
        '1',
        0.1,
        _coulomb,
        (0.01,),
        'rad/s',
        brakes=False,
        position=True,
        loaded=True,
        dry=True,
        optional=True,
    ),
}
# That stay unless data surely show others; in model files of when they were not searched.
USUAL_CONSTANTS = {'stiction': STRIBECK_STEP}
STICTION_AND_DIP = 'stiction', 'stribeck_atan'  # laws of which the sum is left at speed
# What takes the place of a law for a parameter of a body, which no curve of friction has.
OF_A_BODY = Law('', '', 1.0, _offset, signed=True, brakes=False)


def laws_by_default() -> tuple[str, ...]:
    """Return the names of the laws that an identification has or tries by default."""
    return tuple(name for name, law in LAWS.items() if law.by_default)


def law_of(attribute: str) -> str:
    """Return the name of the law that an attribute of a described joint means."""
    return next(name for name, law in LAWS.items() if law.in_urdf == attribute)


def given_widths(width: float) -> dict[str, tuple[float, ...]]:
    """Return {law: width [rad/s]} of dry friction; none where a ``width`` below 0 gives none."""
    return {name: (width,) for name, law in LAWS.items() if law.has_width and width >= 0.0}


def as_step(parameter: Parameter) -> Parameter:
    """Return a Parameter whose dry friction changes sign at once, others as they are."""
    if parameter.law in LAWS and LAWS[parameter.law].has_width:
        return replace(parameter, nonlinear=0.0)
    return parameter


def check_laws(names: Sequence[str], loads: bool = False) -> None:
    """
    Raise ConfigError when a friction law of ``names`` does not exist or is there twice.

    loads : whether the torque through each joint is known
    """
    for name in names:
        if name not in LAWS:
            raise ConfigError('friction law', found=repr(name), exists=tuple(LAWS))
        if LAWS[name].loaded and not loads:
            raise ConfigError(
                f'friction law {name}',
                expected='a serial arm that is identified, '
                'where the torque through each joint is known',
                do='leave it out',
            )
    if len(set(names)) != len(names):
        raise ConfigError('friction laws are named twice', found=names, do='name each once')


def friction_parameters(
    number: int,
    joint: str,
    laws: Sequence[str],
    effort_limit: float,
    nonlinear_values: Mapping[str, Sequence[float]] | None = None,
    slides: bool = False,
) -> list[Parameter]:
    """
    Return the Parameters of joint ``number`` (counted from 1), one per column.

    effort_limit : of the joint [N m, N]; the prior before data is zero +- that limit, of what
        the load is multiplied by zero +- half of LARGEST_LOSS.
    nonlinear_values : {law: values} to use instead of its own.  Columns of one name with
        different values are alternatives: at most one of them takes part in an estimate.
    """
    parameters = []
    for name in laws:
        law = LAWS[name]
        values: Sequence[float | None] = law.nonlinear_values
        if nonlinear_values is not None:
            values = nonlinear_values.get(name, values)
        unit, prior_sd = law.unit, effort_limit
        if slides:
            unit = of_slide(unit)
        if law.loaded:
            prior_sd = 0.5 * LARGEST_LOSS
        for value in values:
            parameters.append(
                Parameter(
                    name=f'{law.symbol}{number}',
                    unit=unit,
                    scale=law.scale,
                    prior_sd=prior_sd,
                    owner=joint,
                    law=name,
                    nonlinear=value,
                )
            )
    return parameters


def of_slide(unit: str) -> str:
    """Return the unit for a prismatic joint of what has a ``unit`` at a revolute one."""
    return unit.replace('kg m^2', 'kg').replace('N m', 'N').replace('rad', 'm')


def nonlinear_unit(law: str, unit: str) -> str:
    """Return the unit of the constant inside a law whose coefficient has a ``unit``."""
    if unit == LAWS[law].unit:
        return LAWS[law].nonlinear_unit
    return of_slide(LAWS[law].nonlinear_unit)


def friction_column(
    parameter: Parameter,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    load: np.ndarray | float = 0.0,
) -> np.ndarray:
    """
    Return the column (N,) of a friction Parameter for the samples (N,) of its joint.

    parameter : of ``friction_parameters``; q [rad], v [rad/s], a [rad/s^2] (m for sliders)
    load : (N,) torque that the joint's gear passes on [N m, N], of laws that are ``loaded``
    """
    law = LAWS[parameter.law]
    column = law.column(q, v, a, parameter.nonlinear)
    if law.loaded:
        column = np.abs(load) * column
    return column


def friction_columns(
    parameters: Sequence[Parameter], q: np.ndarray, v: np.ndarray, a: np.ndarray, load: np.ndarray
) -> np.ndarray:
    """
    Return the columns (k, N) of friction ``parameters`` of one joint, each a ``friction_column``.

    q, v, a, load : (N,), see there
    """
    out = np.empty((len(parameters), len(q)))
    preslides = []
    for k, parameter in enumerate(parameters):
        if LAWS[parameter.law].memory:
            preslides.append(k)
        else:
            out[k] = friction_column(parameter, q, v, a, load)
    if preslides:  # of one law: what it has of the way is alike for all distances
        distances = [parameters[k].nonlinear for k in preslides]
        out[preslides] = _presliding_columns(q, v, distances)
    return out


def never_negative(parameter: Parameter) -> bool:
    """Return whether no body and no drive has a ``parameter`` below zero."""
    if parameter.law:
        return not LAWS.get(parameter.law, OF_A_BODY).signed
    return re.fullmatch(r'(m|Ixx|Iyy|Izz)\d+', parameter.name) is not None


def passive_rows(parameters: Sequence[Parameter]) -> np.ndarray:
    """
    Return C (m, p) with C x >= 0 for passive joints.

    Coefficients that cannot be negative, and, where a joint has others, its friction against the
    motion at SPEEDS forwards and backwards.
    """
    laws = [LAWS.get(parameter.law, OF_A_BODY) for parameter in parameters]
    signed = np.array([law.signed for law in laws], dtype=bool)
    rows = list(np.eye(len(parameters))[~signed])
    brakes = np.array([law.brakes for law in laws], dtype=bool)
    owners = np.array([parameter.owner for parameter in parameters])
    for joint in np.unique(owners[brakes & signed]):
        of_joint = np.flatnonzero(brakes & (owners == joint))
        rows.extend(_braking_rows(parameters, of_joint))
    return np.array(rows).reshape(len(rows), len(parameters))


def largest_losses(parameters: Sequence[Parameter]) -> tuple[np.ndarray, np.ndarray]:
    """Return C (m, p), c (m,) with C x < c for gears that lose less than they pass on."""
    loaded = [parameter.law in LAWS and LAWS[parameter.law].loaded for parameter in parameters]
    C = np.eye(len(parameters))[np.array(loaded, dtype=bool)]
    return C, np.full(len(C), LARGEST_LOSS)


def _braking_rows(parameters: Sequence[Parameter], of_joint: np.ndarray) -> np.ndarray:
    """
    Return the torques (k, p) against the motion at SPEEDS of the parameters of a joint.

    parameters : (p,); of_joint : indices of those of its friction curve
    """
    speeds = np.concatenate([SPEEDS, -np.array(SPEEDS)])
    zeros = np.zeros_like(speeds)
    curve = np.zeros((len(speeds), len(parameters)))
    for k in of_joint:
        curve[:, k] = np.sign(speeds) * friction_column(parameters[k], zeros, speeds, zeros)
    return curve[np.abs(curve).max(axis=1) > FADED]
