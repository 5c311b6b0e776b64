"""What next: the commands that the pages of model, audit, checkup and motion offer, as tables."""

from collections.abc import Iterable, Sequence
from pathlib import Path
import shlex
from typing import NamedTuple

from .model_statistics import ModelStatistics
from ..checks.finding import DO_NOT_USE
from ..identification.identified_model import IdentifiedModel
from ..methods import METHODS
from ..methods.capabilities import JointTorques, Live

# (attribute of _Situation that must be true, what for, command)
STEPS = (
    (
        'refused',
        'What is wrong with a recording',
        'inertial-id check BAG --report check.html',
    ),
    ('to_validate', 'Validate it', 'inertial-id validate {file} OTHER_BAG'),
    ('consistent', 'URDF', 'inertial-id export {file} --for urdf --out identified.urdf'),
    ('consistent_arm', 'MuJoCo', 'inertial-id export {file} --for mujoco --out identified.xml'),
    ('consistent_arm', 'Gazebo', 'inertial-id export {file} --for gazebo --out identified.sdf'),
    (
        'consistent_arm',
        'Isaac Lab',
        'inertial-id export {file} --for isaaclab --out actuators.yaml',
    ),
    (
        'consistent_arm',
        'Better motion',
        'inertial-id design identified.urdf --model {file} --out motion',
    ),
    ('live', 'Live prediction', 'ros2 launch ros_inertial_id predict.launch.py {argument}'),
)
# {whether the checks refuse the recordings: (what for, command)}
CHECKED_STEPS = {
    False: (
        ('Identify', 'inertial-id identify {bags} --out result'),
        ('Identify and validate', 'inertial-id identify {bags} --validate OTHER_BAG --out result'),
    ),
    True: (
        ('Check the next recording', 'inertial-id check OTHER_BAG{options} --report check.html'),
    ),
}
# (what for, command), the first only of a description with findings that --fix mends
AUDITED_STEPS = (
    ('Write plausible inertias', 'inertial-id audit {file} --fix plausible{suffix}'),
    ('Check a recording', 'inertial-id check BAG --urdf {file}'),
)
MOTION_STEPS = (
    ('Start the nodes', 'ros2 launch ros_inertial_id robot.launch.py {argument}'),
    ('What would happen', 'ros2 service call /excitation/check std_srvs/srv/Trigger'),
    (
        'Play at a tenth of its speed, and record',
        'ros2 service call /excitation/play std_srvs/srv/Trigger',
    ),
    ('Check what was recorded', 'inertial-id check BAG --report check.html'),
    ('Identify', 'inertial-id identify BAG --out result'),
)


class _Situation(NamedTuple):
    """What can be done next with a model; of one that is refused only ``refused`` is true."""

    refused: bool
    to_validate: bool
    consistent: bool
    consistent_arm: bool
    live: bool


def _situation(model: IdentifiedModel) -> _Situation:
    if ModelStatistics(model).refused:
        return _Situation(True, False, False, False, False)
    method = METHODS[model.method]
    consistent = 'consistent' in model.statistics
    return _Situation(
        refused=False,
        to_validate='validation' not in model.statistics,
        consistent=consistent,
        consistent_arm=consistent and isinstance(method, JointTorques),
        live=isinstance(method, Live),
    )


def next_steps(model: IdentifiedModel, file: str) -> list[tuple[str, str]]:
    """Return [(what for, command)] of what to do with a ``model`` in a ``file``."""
    situation = _situation(model)
    names = {
        'file': shlex.quote(file),  # in a shell
        'argument': shlex.quote(f'model:={Path(file).absolute()}'),
    }
    steps = [step for attribute, *step in STEPS if getattr(situation, attribute)]
    return _filled(steps, **names)


def _filled(steps: Iterable[Sequence[str]], **names: str) -> list[tuple[str, str]]:
    """Return (what for, command) of ``steps``, ``names`` put into the commands."""
    return [(what_for, command.format(**names)) for what_for, command in steps]


def checked_steps(word: str, bags: Sequence[str], options: Sequence[str]) -> list[tuple[str, str]]:
    """
    Return [(what for, command)] of what to do after a checkup.

    word : of its verdict; bags : paths; options : that the checkup was given, as typed
    """
    given = ''.join(f' {shlex.quote(option)}' for option in options)
    return _filled(
        CHECKED_STEPS[word == DO_NOT_USE], bags=f'{shlex.join(bags)}{given}', options=given
    )


def audited_steps(file: str, mends: bool) -> list[tuple[str, str]]:
    """
    Return [(what for, command)] of what to do after an audit of a description in a ``file``.

    mends : whether there is something wrong that --fix mends
    """
    steps = _filled(AUDITED_STEPS, file=shlex.quote(file), suffix=Path(file).suffix)
    if mends:
        return steps
    return steps[1:]


def motion_steps(file: str) -> list[tuple[str, str]]:
    """Return [(what for, command)] of what to do with a motion in a ``file``."""
    return _filled(MOTION_STEPS, argument=shlex.quote(f'motion:={Path(file).absolute()}'))
