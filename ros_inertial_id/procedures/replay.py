"""
Replay: a model in a simulator gets what the robot got, and moves as the robot did, or not.

What was commanded moves the model in MuJoCo, open loop: no measurement corrects it but every
RESTART seconds, when it begins again where the robot was.  Its drift a tenth of a second, half a
second and two seconds later is what somebody sees who trains or tests a controller on it.  The
file that a simulator gets is what is judged, its delay included.

Of measured torques alone nothing brings a joint back: two seconds later any arm is radians off,
whatever its model.  So they are the feedforward of servos of TRACKING that follow the measured
motion, as the robot's own did.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..dynamics.friction import JOINT_TERMS, LAWS
from ..dynamics.robot_model import RobotModel
from ..dynamics.tree_description import mjcf_source
from ..errors import RecordingError
from ..given_files import given_text
from ..identification.identified_model import DESCRIBED, IdentifiedModel, MODEL, row_text
from ..identification.model.identified_description import (
    identified_mjcf,
    SERVO_GAINS,
    servos,
    tree_of,
)
from ..identification.prepare.dataset import name_of, read_dataset
from ..identification.settings import prediction_options, robot_of_model
from ..measurement.joints.kinematic_state import JointSpaceObservation
from ..measurement.recording import Recording
from ..simulation.driven_robot import Simulator

RESTART = 2.0  # [s]
SECONDS = (0.1, 0.5, RESTART)  # after a restart, when the drift is stated
STEP = 0.001  # [s] of the simulation
STEPS = round(RESTART / STEP)
STEPS_BETWEEN = 10  # steps between positions that are compared
MOST_WINDOWS = 60  # two minutes of a recording: more say the same
TRACKING = 2.0 * np.pi * 5.0  # [rad/s] of servos that follow the measured motion, well damped
DRAWN_WINDOWS, DRAWN_EVERY = 5, 2  # of the curves in a model file, and of their samples
RAN_AWAY = 1e3  # [rad, m]: a simulation that ran away


@dataclass(frozen=True)
class Track:
    """
    How one simulated robot moved beside the real one, over W windows of K samples of n joints.

    error : (W, K, n) simulated minus measured positions [rad, m]
    """

    error: np.ndarray

    @property
    def rms(self) -> np.ndarray:
        """Return the RMS (n,) of the error over all samples [rad, m]."""
        return np.asarray(np.sqrt((self.error**2).mean(axis=(0, 1))))

    def drift(self, seconds: float) -> np.ndarray:
        """Return the RMS (n,) over windows of the error ``seconds`` after a restart [rad, m]."""
        k = round(seconds / (STEP * STEPS_BETWEEN)) - 1
        return np.asarray(np.sqrt((self.error[:, k] ** 2).mean(axis=0)))


@dataclass(frozen=True)
class Replay:
    """
    A recording replayed by a model, and by the description as it came.

    recording : its name; commanded : whether commands were replayed, else measured torques
    joints, units : (n,); t : (W, K) [s] of the recording; measured : (W, K, n) positions
    tracks : {MODEL, DESCRIBED: Track}, MODEL alone where nothing is described
    """

    recording: str
    commanded: bool
    joints: tuple[str, ...]
    units: tuple[str, ...]
    t: np.ndarray
    measured: np.ndarray
    tracks: Mapping[str, Track]

    @property
    def motion(self) -> np.ndarray:
        """Return the RMS (n,) of the measured way since each restart [rad, m]."""
        way = self.measured - self.measured[:, :1]
        return np.asarray(np.sqrt((way**2).mean(axis=(0, 1))))

    @property
    def worst(self) -> int:
        """Return the number of the joint whose error is largest beside its motion."""
        return int(np.argmax(self.tracks[MODEL].rms / np.maximum(self.motion, 1e-9)))

    def entry(self) -> dict[str, Any]:
        """Return plain values for the model file, with the curves of the worst joint."""
        by_joint: dict[str, Any] = {}
        for j, joint in enumerate(self.joints):
            numbers = {'unit': self.units[j], 'motion': _number(self.motion[j])}
            by_joint[joint] = {**numbers, **self._errors(slice(j, j + 1))}
        entry = {
            'recording': self.recording,
            'of': 'torques',
            'windows': len(self.t),
            'restart': RESTART,
            'seconds': list(SECONDS),
            'joints': by_joint,
            'worst': self._worst_curves(),
        }
        if self.commanded:
            entry['of'] = 'commands'
        if len(set(self.units)) == 1:
            entry['all'] = {'unit': self.units[0], **self._errors(slice(None))}
        return entry

    def _errors(self, chosen: slice) -> dict[str, Any]:
        """Return {MODEL, DESCRIBED: {rms, drift: at SECONDS}} of the ``chosen`` joints."""
        out = {}
        for who, track in self.tracks.items():
            drifts = [_together(track.drift(seconds)[chosen]) for seconds in SECONDS]
            out[who] = {'rms': _together(track.rms[chosen]), 'drift': drifts}
        return out

    def _worst_curves(self) -> dict[str, str]:
        """Return times and positions of the worst joint as texts of numbers."""
        j = self.worst
        drawn = slice(DRAWN_WINDOWS), slice(None, None, DRAWN_EVERY)
        measured = self.measured[..., j]
        curves = {'t': self.t, 'measured': measured}
        for who, track in self.tracks.items():
            curves[who] = measured + track.error[..., j]
            curves[who][:, -DRAWN_EVERY:] = np.nan  # a line ends where it begins anew
        texts = {name: row_text(np.round(x[drawn].ravel(), 6)) for name, x in curves.items()}
        return {'joint': self.joints[j], **texts}


def replayed(model: IdentifiedModel, recordings: Sequence[Recording], mjcf: str) -> Replay:
    """
    Return the Replay of ``recordings`` by a ``model`` as MuJoCo gets it, text of an ``mjcf``.

    InertialIdError where MuJoCo is not installed, RecordingError for less than RESTART seconds,
    EstimationError where the robot is no tree.
    """
    tree = tree_of(robot_of_model(model))
    folder = Path(mjcf_source(tree.urdf)).parent
    data = read_dataset(recordings, prediction_options(model), model.method, model.robot['urdf'])
    windows = []
    for robot, observation in zip(data.robots, data.observations):
        windows += list(_windows(observation, robot.gravity_base))
    if not windows:
        raise RecordingError(
            'the recording is too short to replay', expected=f'{RESTART:g} s without a gap'
        )
    windows = windows[:: -(-len(windows) // MOST_WINDOWS)]
    commanded = data.first.effort_source.is_commanded
    simulator = Simulator(mjcf, folder, tree.joint_names, STEP)
    if commanded:
        drives = _own_drives(model, tree)
    else:
        drives = _following(simulator.inertia(windows[0].q))
        simulator = simulator.driven_by(drives.stiffness, drives.damping)
    tracks = {MODEL: Track(_errors(simulator, windows, drives))}
    if tree.inertias.any():
        as_it_came = Simulator(described_mjcf(model, tree), folder, tree.joint_names, STEP)
        as_it_came = as_it_came.driven_by(drives.stiffness, drives.damping)
        tracks[DESCRIBED] = Track(_errors(as_it_came, windows, drives))
    units = [{False: 'rad', True: 'm'}[bool(slides)] for slides in tree.prismatic]
    return Replay(
        ', '.join(map(name_of, recordings)),
        commanded,
        tuple(tree.joint_names),
        tuple(units),
        np.array([window.t for window in windows]),
        np.array([window.measured for window in windows]),
        tracks,
    )


@dataclass(frozen=True)
class Drives:
    """
    Servos of n joints.

    stiffness, damping : (n,) [N m/rad], [N m s/rad] (N/m, N s/m)
    follow : whether they are no part of the model and follow the measured motion
    """

    stiffness: np.ndarray
    damping: np.ndarray
    follow: bool


def _own_drives(model: IdentifiedModel, robot: RobotModel) -> Drives:
    """Return the Drives of a ``robot`` that was identified from its commands."""
    gains = servos(model, robot)
    stiffness, damping = (
        np.array([gains[joint][name] for joint in robot.joint_names]) for name in SERVO_GAINS
    )
    return Drives(stiffness, damping, False)


def _following(inertia: np.ndarray) -> Drives:
    """Return Drives of TRACKING for the ``inertia`` (n,) that they move."""
    return Drives(TRACKING**2 * inertia, 2.0 * TRACKING * inertia, True)


@dataclass(frozen=True)
class Window:
    """
    RESTART seconds of a recording.

    observation : that it is of; gravity : (3,) in the base frame then [m/s^2]
    start : [s]; q, v : (n,) measured then
    """

    observation: JointSpaceObservation
    gravity: np.ndarray
    start: float
    q: np.ndarray
    v: np.ndarray

    @property
    def t(self) -> np.ndarray:
        """Return the times (K,) of the positions that are compared [s]."""
        return self.start + STEP * STEPS_BETWEEN * np.arange(
            1, round(RESTART / (STEP * STEPS_BETWEEN)) + 1
        )

    @property
    def measured(self) -> np.ndarray:
        """Return the measured positions (K, n) at ``t``."""
        return self.observation.on_clock(self.observation.position, self.t)

    def driven(self, drives: 'Drives', delay: np.ndarray) -> np.ndarray:
        """
        Return what ``drives`` exert at q = v = 0 at every step (RESTART / STEP, n).

        delay : (n,) [s] of the effect of commands
        """
        observation, steps = self.observation, self.start + STEP * np.arange(STEPS)
        out, sent = np.empty((STEPS, len(delay))), delay
        if not drives.follow:  # their stamps are those of the effect
            sent = delay + observation.summary.time_offset
        for j, (stamps, values) in enumerate(observation.effort.values()):
            # From a step on, half a step late in the mean: by as much Euler's steps are early.
            last = np.searchsorted(stamps + sent[j], steps + 1e-9, side='right') - 1
            out[:, j] = values[last.clip(0)]
        if not drives.follow:
            return out
        q = observation.on_clock(observation.position, steps)
        v = np.gradient(q, STEP, axis=0)
        torques = observation.effort_source.torque(out)
        return torques + drives.stiffness * q + drives.damping * v


def _windows(observation: JointSpaceObservation, gravity: np.ndarray) -> Iterator[Window]:
    """Yield the Windows of an ``observation``, one after the other in each segment."""
    end: dict[int, float] = {}
    starts: dict[int, list[tuple[float, np.ndarray, np.ndarray]]] = {}
    for state in observation.states():
        of_segment = starts.setdefault(state.segment, [])
        for k in range(len(state.t)):
            due = not of_segment or state.t[k] >= of_segment[-1][0] + RESTART
            if due:
                of_segment.append((float(state.t[k]), state.q[k].copy(), state.v[k].copy()))
        end[state.segment] = float(state.t[-1])
    for segment, begun in starts.items():
        for start, q, v in begun:
            if start + RESTART <= end[segment]:
                yield Window(observation, gravity, start, q, v)


def _errors(simulator: Simulator, windows: Sequence[Window], drives: Drives) -> np.ndarray:
    """Return simulated minus measured positions (W, K, n) of ``windows``."""
    errors = []
    for window in windows:
        controls = window.driven(drives, simulator.delay) / drives.stiffness
        positions = simulator.moved(window.q, window.v, window.gravity, controls)
        error = positions[STEPS_BETWEEN - 1 :: STEPS_BETWEEN] - window.measured
        errors.append(np.clip(np.nan_to_num(error, nan=RAN_AWAY), -RAN_AWAY, RAN_AWAY))
    return np.array(errors)


def described_mjcf(model: IdentifiedModel, robot: RobotModel) -> str:
    """Return the MJCF text of a ``robot`` as described: its own file, if it came from one."""
    source = Path(mjcf_source(robot.urdf))
    if source.is_file():
        return given_text(source)
    values = np.zeros(len(model.parameters))
    for k, parameter in enumerate(model.parameters):
        meaning = ''
        if parameter.law:
            meaning = LAWS[parameter.law].in_urdf
        if not parameter.law:
            values[k] = parameter.nominal
        elif meaning in JOINT_TERMS and parameter.owner in robot.joint_names:
            index = robot.pin_model.joints[1 + robot.joint_names.index(parameter.owner)].idx_v
            values[k] = getattr(robot.pin_model, meaning)[index]
    return identified_mjcf(robot, replace(model, values=values), np.eye(len(values)))


def _together(numbers: np.ndarray) -> float | None:
    return _number(np.sqrt(np.mean(np.square(numbers))))


def _number(value: Any) -> float | None:
    """Return a number for a file, None for a simulation that ran away."""
    if not value < RAN_AWAY:
        return None
    return float(value)
