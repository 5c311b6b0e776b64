"""The page of a payload: torques that hold it, its numbers, and what to paste for controllers."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from .curves import trained_range
from .drawings import Drawings
from .knowledge import significant, with_error
from .load_data import load_lines
from .sheet import Card, Section, Sheet, Table
from ..checks.finding import forced_lines
from ..dynamics.inertial_parameters import bodies
from ..identification.identified_model import IdentifiedModel
from ..identification.model.inverse_dynamics import InverseDynamics
from ..identification.settings import robot_of_model
from ..methods import METHODS

if TYPE_CHECKING:  # scipy.signal behind it takes a third of the time to start
    from ..procedures.payload import Payload

AXES = ('x', 'y', 'z')
INERTIA_PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
POSTURES_OF_RANGE = 61  # of a joint
POOR_PERCENT = 50.0  # relative residual of what the load adds
HALF_FROM_DATA = 0.5


class HoldingTorque(NamedTuple):
    """
    Torque that holds an arm at rest over one joint, the others in the middle of their ranges.

    q : (N,) [rad or m]; bare, loaded : (N,) [unit] without and with the load
    limit : of the description [unit]; sliding : whether the joint is prismatic
    """

    joint: str
    sliding: bool
    q: np.ndarray
    bare: np.ndarray
    loaded: np.ndarray
    limit: float

    @property
    def units(self) -> tuple[str, str]:
        """Return the units of torque and position."""
        if self.sliding:
            return 'N', 'm'
        return 'N m', 'rad'


@dataclass(frozen=True)
class WeighedNumbers:
    """A ``load``; ``model``, ``bare`` : of the arm alone, and its path."""

    load: 'Payload'
    model: IdentifiedModel
    bare: str

    @cached_property
    def holding(self) -> list[HoldingTorque]:
        """Return the torques that hold the arm, joint by joint over its trained range."""
        model, robot = self.model, robot_of_model(self.model)
        first = bodies(model.parameters)[self.load.link]
        with_load = model.values.copy()
        with_load[first : first + 10] += self.load.parameters
        method = METHODS[model.method]
        bare = InverseDynamics(method, robot, model.parameters, model.values)
        loaded = InverseDynamics(method, robot, model.parameters, with_load)
        low, high = trained_range(model)
        holding = []
        for j, name in enumerate(robot.joint_names):
            q = np.tile((low + high) / 2.0, (POSTURES_OF_RANGE, 1))
            q[:, j] = np.linspace(low[j], high[j], POSTURES_OF_RANGE)
            holding.append(
                HoldingTorque(
                    joint=name,
                    sliding=bool(robot.prismatic[j]),
                    q=q[:, j],
                    bare=np.round(bare.gravity(q)[:, j], 9),
                    loaded=np.round(loaded.gravity(q)[:, j], 9),
                    limit=robot.effort[j],
                )
            )
        return holding


def head(numbers: WeighedNumbers, _: Drawings) -> Sheet:
    """Return title, mass, and how much of the numbers is from the data."""
    load = numbers.load
    mass, error = with_error(load.mass, load.mass_error)
    from_data = load.from_data['inertia']
    by_force = [Card('by force', line, True) for line in forced_lines(load.forced)]
    return Sheet(
        f'Payload of {load.link}',
        f'Weighed with the bare arm of {numbers.bare}',
        (
            *by_force,
            Card(f'{mass} ± {error} kg', 'mass with one standard error'),
            Card(
                f'{significant(load.relative_percent)} %',
                'relative residual of what the load adds to the torque',
                load.relative_percent > POOR_PERCENT,
            ),
            Card(
                f'{100.0 * from_data:.0f} %',
                'of the inertia is measured, the rest assumed: a sphere of density 0.3 kg/l',
                from_data < HALF_FROM_DATA,
            ),
        ),
        numbers=load.to_dict(),
    )


def holding(numbers: WeighedNumbers, drawings: Drawings) -> Iterator[Section]:
    """Yield the torques that hold the arm at rest, with and without the load."""
    charts, rows = [], []
    for held in numbers.holding:
        unit, turn = held.units
        largest = [significant(abs(torque).max()) for torque in (held.bare, held.loaded)]
        rows.append((held.joint, *largest, significant(held.limit), unit))
        if np.any(held.bare) or np.any(held.loaded):  # not of an axis along gravity
            charts.append(
                drawings.lines(
                    held.joint,
                    ('holding torque', unit),
                    ('position', turn),
                    held.q,
                    {'without load': held.bare, 'with load': held.loaded},
                )
            )
    heads = (
        'joint',
        'largest without load',
        'largest with load',
        'limit of the description',
        'unit',
    )
    yield Section(
        'Holding torque',
        charts=charts,
        tables=[Table(heads, rows)],
        note='The heavy line is without the load. Over the trained range of each joint, '
        'the others in the middle of theirs; without friction.',
    )


def components(numbers: WeighedNumbers, _: Drawings) -> Iterator[Section]:
    """Yield centre of mass and inertia with their errors."""
    load = numbers.load
    rows = []
    for axis, value, error in zip(AXES, load.center_of_mass, load.center_of_mass_error):
        rows.append((axis, *with_error(value, error), 'm'))
    for i, j in INERTIA_PAIRS:
        moment = with_error(load.inertia[i, j], load.inertia_error[i, j])
        rows.append((f'I{AXES[i]}{AXES[j]}', *moment, 'kg m^2'))
    yield Section(
        'Centre of mass and inertia',
        tables=[
            Table(
                ('component', 'value', 'standard error', 'unit'),
                rows,
                note=f'In {load.frame}; moments of inertia about the centre of mass.',
            )
        ],
    )


def for_controllers(numbers: WeighedNumbers, _: Drawings) -> Iterator[Section]:
    """Yield the load in the words of controllers, to be pasted."""
    yield Section('For controllers', code='\n'.join(load_lines(numbers.load)))
