"""Model: an identified robot that predicts, and writes itself in the formats of other tools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
import logging
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
import yaml

from .recordings import description_text, recording_of, Recordings, several, Source
from .table import LinkRow, Row, Table, table
from ..checks.admission import usable_by
from ..checks.finding import NOT_CHECKED, Verdict, verdict_of
from ..dynamics.inertial_parameters import about_origin, bodies, carrying_body
from ..dynamics.robot_model import (
    FloatingTree,
    gravity_from_mounting,
    RobotModel,
    STANDARD_GRAVITY,
)
from ..errors import ConfigError, EstimationError, file_errors
from ..identification.files import MODEL_FILE, read_model_text, read_text, write_text
from ..identification.identified_model import IdentifiedModel
from ..identification.identify import validation
from ..identification.judge.prediction import (
    Motion,
    of_joints,
    predict,
    predict_motion,
    Prediction,
)
from ..identification.model.identified_description import (
    description_of,
    mjcf_of,
    not_held,
    pinocchio_of,
)
from ..identification.model.inverse_dynamics import InverseDynamics, joint_array
from ..identification.model.outcome import described_model
from ..identification.model.targets import target_named
from ..identification.model.writers import WRITERS
from ..identification.prepare.mounting import check_robot
from ..identification.settings import robot_of_model
from ..methods import METHODS
from ..report.knowledge import evaluate, fits, lead_columns, posterior
from ..report.links import DECIDED, links_of, QUANTITIES
from ..report.uses import Uses, uses_of

if TYPE_CHECKING:
    from ..identification.model.held_laws import HeldRows
    from ..procedures.payload import Payload
    from ..procedures.replay import Replay

COLUMNS = ('name', 'value', 'standard_error', 'unit', 'relative_percent', 'nominal', 'expression')
MOTION = ('t', 'q', 'v', 'a')
BEYOND = 2.0 * np.pi  # [rad] over a limit: a turn, which is no overshoot
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False, eq=False)
class Model:
    """
    An identified robot under one mounting.

    identified : the content of model.yaml; gravity_base : (3,) in the base frame [m/s^2]
    rows : what is kept of the recordings' rows, or the file where it is

    Of a tree of n joints q, v, a are (..., n) positions [rad], velocities [rad/s] and
    accelerations [rad/s^2] in the order of ``joint_names`` ([m] and so on for sliders); of a
    closed loop they are those of its independent joints.
    """

    identified: IdentifiedModel
    gravity_base: np.ndarray
    rows: 'HeldRows | Path | None' = field(default=None, compare=False)

    def __repr__(self) -> str:
        verdict = 'as described'
        if self._judged:
            verdict = self.statistics.get('verdict', {}).get('word', 'not judged')
        return (
            f'Model of {self.identified.robot["name"]} ({self.identified.method}): '
            f'{len(self.identified.base)} base parameters, {verdict}'
        )

    def __eq__(self, other: object) -> bool:
        """Return whether both predict the same, with the same errors, of one robot as mounted."""
        if not isinstance(other, Model):
            return NotImplemented
        mine, theirs = self.identified, other.identified
        return (
            mine.robot['kinematics_sha256'] == theirs.robot['kinematics_sha256']
            and mine.parameters == theirs.parameters
            and np.array_equal(self.gravity_base, other.gravity_base)
            and np.array_equal(mine.values, theirs.values)
            and np.array_equal(mine.covariance, theirs.covariance)
        )

    __hash__ = None  # type: ignore[assignment]  # it holds arrays

    def __reduce__(self) -> tuple[Any, ...]:  # what is cached is made again
        return Model, (self.identified, self.gravity_base, self.rows)

    @classmethod
    def from_description(
        cls, urdf: str | Path, *, mounting: str = 'upright', **options: Any
    ) -> 'Model':
        """
        Return the Model that a description makes: its inertias, its damping and dry friction.

        It predicts and writes as an identified one does, to compare with; nothing was identified,
        so that it has no standard errors and no report, and is not saved.

        urdf : description, a path or the text; mounting : see ``mounted``
        options : single options of the configuration by name (``locked_joints=['*finger*']``)
        """
        return model_of(described_model(description_text(urdf), mounting, options))

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Return the names of the joints that q, v, a and torques are of."""
        return tuple(self._robot.coordinates)

    @property
    def statistics(self) -> dict[str, Any]:
        """Return rank, residuals, condition number, verdict: what model.yaml says of the fit."""
        return self.identified.statistics

    @cached_property
    def uses(self) -> Uses:
        """Return what the model may be used for, joint by joint, with the numbers that decide."""
        return uses_of(self.identified)

    @property
    def verdict(self) -> Verdict:
        """Return the verdict of the checks on training and validation data."""
        entry = self.statistics.get('verdict')
        if not entry:
            return Verdict(NOT_CHECKED, ('no data were checked',))
        return verdict_of(entry)

    @cached_property
    def residuals(self) -> Table:
        """
        Return a row per joint: RMS of what it is measured and of the residual, as filtered.

        ``training``, ``cross_validation`` and ``validation`` as far as they are there, [N m] or
        [N], and in percent of what was measured.
        """
        rows: dict[str, dict[str, Any]] = {}
        for part, fit in fits(self.identified).items():
            column, measured = part.replace('-', '_'), fit['filtered'].get('measured_rms', {})
            for joint, rms in fit['filtered']['rms'].items():
                row = rows.setdefault(joint, {'joint': joint})
                row[column], row[f'{column}_percent'] = rms, _percent(rms, measured.get(joint))
        return table('joint', list(rows.values()))

    @cached_property
    def base_parameters(self) -> Table:
        """Return the base parameters with standard errors and units, in the order of regressor."""
        rows = [_chosen(entry, COLUMNS) for entry in self.identified.base]
        return table('base parameter', rows)

    @property
    def bse(self) -> np.ndarray:
        """Return the standard errors (b,) of the base parameters, by what recordings show."""
        return _numbers_of(self.identified.base, 'standard_error')

    @property
    def standard_errors(self) -> dict[str, float]:
        """Return ``bse`` by the names of the base parameters, NaN where not determined."""
        return dict(zip(self.base_parameters.names, self.bse.tolist()))

    @property
    def combined(self) -> np.ndarray:
        """
        Return the combined standard errors (b,): with what no recording shows, see ``budget``.

        Of models of older files they are ``bse``.
        """
        combined = _numbers_of(self.identified.base, 'combined_error')
        return np.where(np.isnan(combined), self.bse, combined)

    @property
    def budget(self) -> dict[str, np.ndarray]:
        """
        Return {source: its contribution (b,) to ``combined``}; their squares add up.

        The sources: statistics, laws, delay, gains, scale, encoder zeros, tilt.
        """
        by_parameter = [entry.get('budget', {}) for entry in self.identified.base]
        sources = dict.fromkeys(source for budget in by_parameter for source in budget)
        return {source: _numbers_of(by_parameter, source) for source in sources}

    @cached_property
    def friction_parameters(self) -> Table:
        """Return the base parameters of joints: friction, rotor inertia, springs, offsets."""
        rows = []
        for item in evaluate(self.identified):
            if item.lead.law:
                whose = {'name': item.name, 'joint': item.lead.owner, 'law': item.lead.law}
                rows.append({**whose, **_chosen(item.entry, COLUMNS[1:4])})
        return table('base parameter', rows)

    @cached_property
    def links(self) -> Table:
        """
        Return a row per link: mass, centre of mass, inertia about it, with standard errors.

        In the axes of the link's joint.  ``determined`` names what the data decide; the others
        are as described, with the error of the description, and only their sums are known.
        """
        rows = []
        for link in links_of(self.identified):
            row: dict[str, Any] = {'link': link.name}
            for name, value, error in zip(QUANTITIES, link.values, link.errors):
                row[name], row[f'{name}_error'] = float(value), float(error)
            row['determined'] = tuple(compress(QUANTITIES, link.determined))
            rows.append(row)
        return table('link', rows, LinkRow)

    @cached_property
    def parameters(self) -> Table:
        """
        Return a row per standard parameter: name, owner, value, standard error, unit.

        About the frame of the link's joint.  Torque cannot split mass between neighbouring links:
        there the error is that of the description, see ``base_parameters`` for what is identified.
        """
        errors = np.sqrt(np.maximum(np.diag(self._errors), 0.0))
        rows = []
        for p, value, error in zip(self.identified.parameters, self.identified.values, errors):
            rows.append(
                {
                    'name': p.name,
                    'owner': p.owner,
                    'value': float(value),
                    'standard_error': float(error),
                    'unit': p.unit,
                }
            )
        return table('parameter', rows)

    @property
    def condition_number(self) -> float:
        """Return that of the weighted base regressor of the data, NaN where there are none."""
        if 'condition_number' not in self.statistics:
            return np.nan
        number = self.statistics['condition_number']
        return np.inf if number is None else float(number)

    @property
    def total_mass(self) -> Row:
        """
        Return ``value``, ``standard_error`` [kg] of all links, and whether data determine it.

        On a fixed base they do not: the first link's mass is as described.
        """
        masses = list(bodies(self.identified.parameters).values())
        variance = self._errors[np.ix_(masses, masses)].sum()
        before = sum(self.identified.parameters[k].prior_sd ** 2 for k in masses)
        return Row(
            value=float(self.identified.values[masses].sum()),
            standard_error=float(np.sqrt(max(variance, 0.0))),
            unit='kg',
            determined=bool(DECIDED * variance < before),
        )

    @property
    def link_names(self) -> tuple[str, ...]:
        """Return the names of the links with a mass."""
        return tuple(self.links.names)

    @property
    def covariance(self) -> np.ndarray:
        """
        Return the (b, b) covariance of the base parameters as they predict torque together.

        ``regressor @ covariance @ regressor.T`` is that of the torques.  What is not known of the
        laws' constants and of gravity is in the standard errors of ``base_parameters`` only, what
        no recording shows (gains, tilt, zeros) in ``combined`` only.
        """
        return self.identified.covariance.copy()

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> np.ndarray:
        """
        Return the rows (..., n, b) of the base parameters at states q, v, a (..., n).

        ``regressor @ base_parameters.value`` is ``torque`` where all parameters are determined.
        """
        return self._dynamics.regressor(self._radians(q), v, a)[..., lead_columns(self.identified)]

    def torque(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> np.ndarray:
        """
        Return the joint torques (..., n) [N m] of states q, v, a (..., n), each alone.

        Leaves out what a state does not tell: where a joint turned last.  Presliding friction is
        as developed in the direction of v, and nothing at v = 0.  Just after a reversal that is
        too much, by up to twice the Coulomb friction; ``predict`` of the motion knows the way.
        """
        return self._dynamics.torque(self._radians(q), v, a)

    inverse_dynamics = torque

    def gravity(self, q: ArrayLike) -> np.ndarray:
        """Return the torques (..., n) [N m] that hold the links at rest at q (..., n)."""
        return self._dynamics.gravity(self._radians(q))

    def coriolis(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the torques (..., n) C(q, v) v [N m] of Coriolis and centrifugal forces."""
        return self._dynamics.coriolis(self._radians(q), v)

    def mass_matrix(self, q: ArrayLike) -> np.ndarray:
        """Return the mass matrices (..., n, n) [kg m^2] at q (..., n), rotors included."""
        return self._dynamics.mass_matrix(self._radians(q))

    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> np.ndarray:
        """Return the accelerations (..., n) at states q, v under torques tau (..., n) [N m]."""
        return self._dynamics.forward_dynamics(self._radians(q), v, tau)

    def friction(self, v: ArrayLike) -> np.ndarray:
        """Return the friction torques (..., n) [N m] at v (..., n), offsets included."""
        return self._dynamics.friction(v)

    def mounted(self, mounting: str) -> 'Model':
        """
        Return the model of the same robot mounted another way.

        mounting : ``upright``, ``rpy R P Y`` [rad], ``gravity X Y Z`` [m/s^2], ...
        RobotModelError names the parameters that would be needed and were not identified.
        """
        magnitude = self.identified.options.get('gravity_magnitude', STANDARD_GRAVITY)
        gravity = gravity_from_mounting(mounting, magnitude=magnitude)
        mounted = Model(self.identified, gravity, self.rows)
        check_robot(self.identified, mounted._robot)
        return mounted

    def with_payload(
        self,
        mass: 'float | Payload',
        center_of_mass: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike = 0.0,
        link: str = '',
    ) -> 'Model':
        """
        Return the model with a known load fixed to a link; its error is taken as zero.

        mass : [kg], or a Payload; center_of_mass : (3,) [m] in the frame of the link's joint
        inertia : (3, 3) about it [kg m^2], 0 of a point; link : its name, '' for the last
        """
        model = self.identified
        if isinstance(mass, (int, float)):
            centre = joint_array('center_of_mass', center_of_mass, 3)
            about = joint_array('inertia', inertia, 3) * np.ones((3, 3))
            ten = about_origin(float(mass), centre, about)
        else:
            ten, link = mass.parameters, mass.link
        _, first = carrying_body(model.parameters, link)
        added = dict(zip([p.name for p in model.parameters[first : first + 10]], ten))
        base = [_with_added(entry, added) for entry in model.base]
        values = model.values.copy()
        values[first : first + 10] += ten
        return Model(replace(model, values=values, base=base), self.gravity_base)

    def predict(self, motion: Source | Motion) -> Prediction:
        """
        Return the predicted torques of a motion, presliding friction with its memory.

        motion : a recording (see ``identify``), mounted as it says, whose torques stand beside
            those predicted and filtered alike, as in a validation; or (t, q, v, a) of successive
            samples of the robot as this Model is mounted: t (N,) [s], q, v, a (N, n), whose
            torques are not filtered
        Friction begins as unknown: zero until a joint has moved by its presliding distance.
        """
        if isinstance(motion, (list, tuple)):
            if len(motion) != len(MOTION):
                raise ConfigError(
                    'motion', expected='(t, q, v, a), or a recording', found=f'{len(motion)} parts'
                )
            t, q, v, a = motion
            return predict_motion(self.identified, self._robot, (t, self._radians(q), v, a))
        return predict(self.identified, recording_of(motion, self.identified.robot['urdf']))

    def validate(self, recordings: Recordings, *, force: bool = False) -> dict[str, Any]:
        """
        Return the {filtered, raw} residuals on other ``recordings``, see ``identify``.

        force : also on what checks refuse, else RecordingError
        """
        others = several(recordings, self.identified.robot['urdf'])
        return validation(self.identified, usable_by(self.identified, others, force).recordings)[0]

    def payload(
        self,
        recordings: Recordings,
        *,
        empty: Recordings = None,
        link: str = '',
        frame: str = '',
        force: bool = False,
    ) -> 'Payload':
        """
        Return the Payload that the identified arm carries in other recordings.

        recordings : with the load; link : that carries it, the last one by default
        empty : of the same motion without it, best before and after: friction cancels
        frame : link of the URDF in whose frame centre and inertia are given, ``link`` by default
        force : also from what checks refuse, which the Payload says
        """
        from ..procedures.payload import identify_payload

        loaded, bare = (
            several(each, self.identified.robot['urdf']) for each in (recordings, empty)
        )
        return identify_payload(
            self.identified, loaded, empty=bare, link=link, frame=frame, force=force
        )

    def export(self, target: str, path: str | Path, **words: Any) -> 'Export':
        """
        Write the robot for a simulator or library to ``path``; return the Export.

        target : name of TARGETS, ``mujoco`` or ``urdf`` for example; ``usd`` writes a layer over
            the USD of the robot, given as ``usd='robot.usd'``
        What is written is this model where the target holds all of it, else one that is identified
        again by the laws that it holds: from the rows kept beside the model, or from the
        recordings.  What is not held stands in the Export and in the file.
        ConfigError for another target, EstimationError where the model is not physically
        consistent, or not of a tree.
        """
        from ..procedures.held_again import AS_IT_IS, Held, held_again

        terms, held = target_named(target).holds, Held(self.identified, AS_IT_IS)
        if isinstance(self._robot, RobotModel | FloatingTree):
            held = held_again(self.identified, self.held_rows, terms)
        model = replace(self, identified=held.model)
        lines = not_held(self.identified, terms, held.again)
        write = WRITERS[target]
        write_text(path, write(held.model, model._robot, model._errors, lines, **words))
        return Export(str(path), target, model, held.how, lines, held.dropped)

    def replay(self, recordings: Recordings, *, force: bool = False) -> 'Replay':
        """
        Return the Replay of other ``recordings`` by the robot as ``export`` writes it for MuJoCo.

        Commands drive it open loop, restarted every 2 s where it was measured: ``entry()`` says
        how far it drifts, beside the description as it came; see procedures/replay.py.
        force : see ``validate``; InertialIdError where MuJoCo is not installed
        """
        from ..procedures.held_again import held_again
        from ..procedures.replay import replayed
        from ..simulation.driven_robot import check_mujoco

        check_mujoco()
        others = several(recordings, self.identified.robot['urdf'])
        usable = usable_by(self.identified, others, force).recordings
        held = held_again(self.identified, self.held_rows, target_named('mujoco').holds).model
        text = mjcf_of(held, self._robot, np.eye(len(held.parameters)), ())
        return replayed(held, usable, text)

    def to_urdf(self, path: str | Path) -> list[str]:
        """
        Write the description with the identified numbers to ``path``: links as ``links`` says.

        Return in words what a URDF cannot hold; the same stands in the file as a comment.  What
        predicts best without that is what ``export`` writes.
        EstimationError where the model is not physically consistent.
        """
        return _write(path, *description_of(self.identified, self._robot))

    def to_mjcf(self, path: str | Path) -> list[str]:
        """
        Write the robot for MuJoCo: no shapes, gravity as mounted; return what it does not hold.

        A robot identified from its commands has position actuators with their gains and delay.
        """
        return self.export('mujoco', path).not_held

    def to_isaaclab(self, path: str | Path = '', *, physics_dt: float = 0.005) -> dict[str, Any]:
        """
        Return the joints in the fields of Isaac Lab's actuators; with a ``path`` written as YAML.

        ``ImplicitActuatorCfg(**out['ImplicitActuatorCfg'])``, or with the delay of the commands
        ``DelayedPDActuatorCfg(**out['ImplicitActuatorCfg'], **out['DelayedPDActuatorCfg'])``.
        Friction as Isaac Sim 5 has it [N m], gains of a robot identified from its commands.
        ``not_held`` says what has no field there.  EstimationError where it is not a tree.

        physics_dt : step of the simulation [s], in which Isaac Lab counts the delay
        """
        with TemporaryDirectory() as folder:
            file = Path(path or Path(folder) / 'actuators.yaml')
            self.export('isaaclab', file, physics_dt=physics_dt)
            return yaml.safe_load(read_text(file))

    def to_pinocchio(self) -> Any:
        """
        Return a pinocchio.Model with identified inertias, armature, damping and friction.

        EstimationError where the model is not physically consistent, or not of a tree.
        """
        return pinocchio_of(self.identified, self._robot)

    def save(self, path: str | Path) -> None:
        """Write the model file (YAML) to ``path``; EstimationError of what was not identified."""
        if not self._judged:
            raise EstimationError(
                'the model is that of a description and was not identified',
                do='identify from a recording first: rid.identify(recording)',
            )
        write_text(path, self.identified.to_yaml())
        rows = self.held_rows
        if rows is not None:
            from ..procedures.bag_factors import write_rows

            with file_errors(rows_path(path), 'written'):
                write_rows(rows_path(path), self.identified, rows)

    @cached_property
    def held_rows(self) -> 'HeldRows | None':
        """Return what is kept of the recordings' rows, None where nothing is."""
        if not isinstance(self.rows, Path):
            return self.rows
        from ..procedures.bag_factors import read_rows

        try:
            return read_rows(self.rows, self.identified)
        except ValueError as error:
            _logger.info('%s', error)
            return None

    @property
    def _judged(self) -> bool:
        return 'training' in self.statistics

    @cached_property
    def _errors(self) -> np.ndarray:
        return posterior(self.identified, alone=True)

    def _radians(self, q: ArrayLike) -> np.ndarray:
        """Return positions ``q``; ConfigError far beyond a joint's limits, as degrees are."""
        positions = joint_array('q', q, len(self.joint_names))
        if not isinstance(self._robot, RobotModel):
            return positions
        limits = np.fmax(np.abs(self._robot.lower), np.abs(self._robot.upper))
        turned = ~np.array(self._robot.prismatic) & (np.abs(positions) > limits + BEYOND)
        if turned.any():
            joint = int(np.argmax(turned.reshape(-1, len(limits)).any(axis=0)))
            found = float(np.abs(positions[..., joint]).max())
            raise ConfigError(
                f'q of {self.joint_names[joint]}',
                expected=f'radians, up to {limits[joint]:.3g} by its limits',
                found=f'{found:.4g}',
                do='numpy.radians(q), if these are degrees',
            )
        return positions

    @cached_property
    def _robot(self) -> Any:
        return robot_of_model(self.identified, self.gravity_base)

    @cached_property
    def _dynamics(self) -> InverseDynamics:
        model = self.identified
        return InverseDynamics(
            of_joints(METHODS[model.method]), self._robot, model.parameters, model.values
        )


@dataclass(frozen=True, repr=False)
class Export:
    """
    What was written for whom.

    path : of the file; target : see ``Model.export``; how : it came about, in words
    model : that the file holds, of a ``dropped`` one but for what is not held
    not_held : a line per term of the joints that the target has no place for, with its torque
    """

    path: str
    target: str
    model: Model
    how: str
    not_held: list[str]
    dropped: bool = False

    @property
    def residual_percent(self) -> float | None:
        """Return the relative residual in cross-validation [%], None of one that drops terms."""
        crossed = self.model.statistics.get('cross_validation')
        if self.dropped or not crossed:
            return None
        return float(crossed['relative_percent'])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            'file': self.path,
            'target': self.target,
            'how': self.how,
            'residual_percent': self.residual_percent,
            'not_held': self.not_held,
        }

    def __repr__(self) -> str:
        lines = [f'{self.path} for {target_named(self.target).title}: {self.how}']
        if self.residual_percent is not None:
            lines.append(f'relative residual in cross-validation: {self.residual_percent:.3g} %')
        return '\n'.join([*lines, *(f'not held: {line}' for line in self.not_held)])


def model_of(identified: IdentifiedModel, rows: 'HeldRows | Path | None' = None) -> Model:
    """Return the Model of an ``identified`` one, mounted as its first recording was."""
    return Model(identified, np.array(identified.mounting['gravity_base'][0]), rows)


def rows_path(path: str | Path) -> Path:
    """Return where the rows of the model in the file ``path`` are kept."""
    return Path(path).with_suffix('.rows')


def load_model(path: str | Path) -> Model:
    """Return the Model in a model file; ConfigError when ``path`` holds none."""
    identified = IdentifiedModel.from_yaml(read_model_text(path), str(path))
    file = Path(path)
    if file.is_dir():
        file = file / MODEL_FILE
    return model_of(identified, rows_path(file))


def _with_added(entry: dict[str, Any], added: Mapping[str, float]) -> dict[str, Any]:
    """Return an ``entry`` of a base parameter with standard parameters ``added`` to its sum."""
    if entry['value'] is None:
        return entry
    shares = entry['grouping'].items()
    change = sum(coefficient * added.get(name, 0.0) for name, coefficient in shares)
    return {**entry, 'value': entry['value'] + float(change)}


def _percent(rms: float, measured: float | None) -> float | None:
    """Return a residual in percent of what was ``measured``, None where nothing was."""
    if not measured:
        return None
    return 100.0 * rms / measured


def _numbers_of(entries: Sequence[Mapping[str, Any]], key: str) -> np.ndarray:
    """Return what ``entries`` hold under a ``key``, NaN where they hold nothing."""
    return np.array([entry.get(key) for entry in entries], dtype=float)  # None becomes NaN


def _chosen(entry: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return what an ``entry`` holds under these ``names``."""
    return {name: entry[name] for name in names}


def _write(path: str | Path, text: str, lines: list[str]) -> list[str]:
    write_text(path, text)
    if lines:
        terms = ', '.join(line.split(' = ')[0] for line in lines)
        _logger.warning(
            '%s cannot hold %d of the joint terms, which are listed in it: %s',
            path,
            len(lines),
            terms,
        )
    return lines
