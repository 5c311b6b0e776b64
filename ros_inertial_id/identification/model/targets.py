"""
Targets: what simulators and libraries hold of a joint, as data.

A target holds terms of a joint, not laws: viscous and dry friction as a line and a step, the
rotor's inertia, a spring, a constant torque.  ``laws_held`` says by which laws a model is to be
identified again so that the target holds all of it; what is left to hold of a model that was not
is in ``not_held``.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from ...dynamics.friction import as_step, law_of, LAWS
from ...dynamics.inertial_parameters import Parameter
from ...errors import ConfigError

DAMPING, FRICTION, ARMATURE, STIFFNESS, OFFSET = TERMS = (
    'damping',
    'friction',
    'armature',
    'stiffness',
    'offset',
)
GAINS, DELAY = 'gains', 'delay'  # of the drive of a robot that was identified from its commands
WORDS = {
    DAMPING: 'viscous friction',
    FRICTION: 'dry friction',
    ARMATURE: 'rotor inertia',
    STIFFNESS: 'springs',
    OFFSET: 'constant torque',
    GAINS: 'gains',
    DELAY: 'delay',
}
# What a joint term is identified by where a target holds it.
LAW_OF_TERM = {
    **{term: law_of(term) for term in (DAMPING, FRICTION, ARMATURE, STIFFNESS)},
    OFFSET: 'offset',
}


@dataclass(frozen=True)
class Target:
    """
    A program that reads a model.

    title : in words; file : what is written, in words; suffix : of its name
    holds : of TERMS, GAINS and DELAY.  Of who holds no OFFSET, a spring that pulls back has a
        reference, which holds that of its joint.
    """

    title: str
    file: str
    suffix: str
    holds: frozenset[str]


TARGETS = {
    'mujoco': Target('MuJoCo', 'MJCF', '.xml', frozenset([*TERMS, GAINS, DELAY])),
    'isaaclab': Target(
        'Isaac Lab',
        'YAML of actuators',
        '.yaml',
        frozenset([DAMPING, FRICTION, ARMATURE, GAINS, DELAY]),
    ),
    'newton': Target(
        'Newton', 'MJCF', '.xml', frozenset([DAMPING, FRICTION, ARMATURE, STIFFNESS, GAINS])
    ),
    'gazebo': Target('Gazebo', 'SDF', '.sdf', frozenset([DAMPING, FRICTION, STIFFNESS])),
    'urdf': Target('readers of a URDF', 'URDF', '.urdf', frozenset([DAMPING, FRICTION])),
    'drake': Target('Drake', 'URDF', '.urdf', frozenset([DAMPING, ARMATURE, GAINS])),
    'pinocchio': Target(
        'pinocchio', 'XML of its model', '.xml', frozenset([DAMPING, FRICTION, ARMATURE])
    ),
    'usd': Target(
        'Isaac Sim',
        'layer over your USD',
        '.usda',
        frozenset([DAMPING, FRICTION, ARMATURE, GAINS]),
    ),
}


def target_named(name: str) -> Target:
    """Return the Target of a ``name``; ConfigError where there is none."""
    if name not in TARGETS:
        raise ConfigError('export for', found=repr(name), exists=tuple(TARGETS))
    return TARGETS[name]


def target_table() -> str:
    """Return the table of what is written for whom, as the documentation has it."""
    lines = [f'| `--for` | file | {" | ".join(WORDS.values())} |']
    lines.append('|---|---|' + len(WORDS) * '---|')
    for name, target in TARGETS.items():
        cells = [_cell(target, term) for term in WORDS]
        lines.append(f'| `{name}` | {target.file} | {" | ".join(cells)} |')
    return '\n'.join(lines)


def _cell(target: Target, term: str) -> str:
    """Return in a word whether a ``target`` holds a ``term``."""
    if term in target.holds:
        return 'yes'
    if term == OFFSET and STIFFNESS in target.holds:
        return 'of springs'
    return 'no'


def file_name(target: str) -> str:
    """Return the name of the file of a ``target`` in the folder of a result."""
    return target + target_named(target).suffix


def term_of(parameter: Parameter) -> str:
    """Return which of TERMS a parameter is, '' of a body's and of what is none of them."""
    if not parameter.law:
        return ''
    law = LAWS[parameter.law]
    if law.constant:
        return OFFSET
    return law.in_urdf


def is_held(parameter: Parameter, terms: Collection[str]) -> bool:
    """Return whether who holds ``terms`` holds a joint's ``parameter`` exactly as it is."""
    return term_of(parameter) in terms and as_step(parameter) == parameter


def laws_held(parameters: Iterable[Parameter], terms: Collection[str]) -> tuple[str, ...]:
    """Return the laws by which a model like one of ``parameters`` is one that ``terms`` hold."""
    like = {_like(parameter) for parameter in parameters if parameter.law}
    return tuple(law for term, law in LAW_OF_TERM.items() if term in terms and term in like)


def _like(parameter):
    """Return the term that comes closest to a parameter of a joint, '' for none."""
    law = LAWS[parameter.law]
    if law.dry and law.brakes:
        return FRICTION
    return term_of(parameter)
