"""
Prediction of a recording or a running machine: torques of a model beside those measured, a band.

The band says how far the torque of a model is from that of the robot, as a function of the state:
see ``band_of``.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .validation import MARGIN, TERMS
from ..identified_model import IdentifiedModel
from ..prepare.dataset import read_dataset
from ..prepare.mounting import check_robot
from ..reduce.stretches import SHORTEST_PIECE
from ..settings import prediction_options
from ...errors import ConfigError
from ...estimation.r_factors import one_thread
from ...measurement.bags.messages import encodable, JOINT_STATE
from ...measurement.recording import Channel, nothing_left, Recording
from ...methods import METHODS, methods_of
from ...methods.capabilities import DirectTorques, JointMotion
from ...methods.contract import LiveTorques, Method

TWO_SIGMA = 1.96  # half the width of a band of LEVEL, in standard deviations
Motion = tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]  # t, q, v, a


def alarm_ratios(band: Mapping[str, Any], names: Sequence[str], per_hour: float) -> np.ndarray:
    """
    Return the ratios (g,) of residual to half width that the model alone exceeds so seldom.

    band : of ``band_of``; names : of g row groups; per_hour : how often all of them together do
    A stretch lasts SHORTEST_PIECE or longer.  NaN without a band.
    """
    chance = min(0.5, per_hour * SHORTEST_PIECE / 3600.0 / len(names))
    joints = [band.get('joints', {}).get(name, {}) for name in names]
    peak, scale = (
        np.array([terms.get(key, np.nan) for terms in joints]) for key in ('peak', 'peak_scale')
    )
    return np.maximum(1.0, peak - scale * np.log(-np.log1p(-chance)))


class Excess:
    """
    How far motions are beyond ranges, in half ranges of the farthest.

    names : of g row groups; ranges : {joint or body: {quantity: [smallest, largest]}}
    angles : joints whose position is one with that a turn further
    Positions of all joints count, as they turn the weight; velocity and acceleration its own.
    """

    def __init__(
        self,
        names: Sequence[str],
        ranges: Mapping[str, Mapping[str, Any]],
        angles: Collection[str] = (),
    ) -> None:
        bounds = {
            (where, name): ends
            for where, own in ranges.items()
            for name, ends in own.items()
            if np.isfinite(np.ptp(ends)) and np.ptp(ends)
        }
        self._columns = list(bounds)
        low, high = np.array(list(bounds.values()), float).reshape(-1, 2).T[:, :, None]
        self._middle, self._half = 0.5 * (low + high), 0.5 * (high - low)
        self._turning = [
            k for k, (where, name) in enumerate(self._columns) if where in angles and name == 'q'
        ]
        self._positions = [
            k for k, (_, name) in enumerate(self._columns) if name not in ('v', 'a')
        ]
        # A group that is no joint has the rates of all.
        rates = [
            [
                k
                for k, (where, name) in enumerate(self._columns)
                if name in ('v', 'a') and (where == group or group not in ranges)
            ]
            for group in names
        ]
        most = max(1, *map(len, rates))
        self._rates = np.array([own + [-1] * (most - len(own)) for own in rates])

    def __call__(self, seen: Mapping[str, Mapping[str, np.ndarray]]) -> np.ndarray:
        """Return how far beyond the motion ``seen`` is, (N, g); 0: inside, or not seen."""
        none = np.full(
            max((len(x) for own in seen.values() for x in own.values()), default=0), np.nan
        )
        away = np.zeros((len(self._columns) + 1, len(none)))  # the last one is never beyond
        if self._columns:
            way = away[:-1]
            way[:] = np.array(
                [seen.get(where, {}).get(name, none) for where, name in self._columns]
            )
            np.abs(way - self._middle, out=way)
            if self._turning:
                turns = way[self._turning] + np.pi
                way[self._turning] = np.abs(turns % (2.0 * np.pi) - np.pi)
            way /= self._half
            way -= 1.0
            way[~(way > 2.0 * MARGIN)] = 0.0
        return np.maximum(
            away[self._rates].max(axis=1), away[self._positions].max(axis=0, initial=0.0)
        ).T


class Band:
    """
    The band of g row groups, at the states of one motion after the other.

    entry : of ``band_of``, empty: the widths are not known (not a number); names : of the groups
    ranges : {joint or body: {quantity: [smallest, largest]}} of the training
    """

    def __init__(
        self,
        entry: Mapping[str, Any],
        names: Sequence[str],
        ranges: Mapping[str, Mapping[str, Any]],
    ) -> None:
        self._names, self._excess = names, Excess(names, ranges, entry.get('angles', ()))
        joints = [entry.get('joints', {}).get(name, {}) for name in names]
        *self._terms, slow = np.array(
            [[own.get(key, np.nan) for own in joints] for key in (*TERMS, 'slow')]
        )
        self._slow = np.where(slow > 0.0, slow, 1e-200)  # it divides

    def at(self, seen: Mapping[str, Mapping[str, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        """
        Return half the widths (N, g), and how far out of range it is (N, g) [half ranges].

        seen : {joint or body: {quantity: (N,)}} of the motion
        Beyond a range by d half ranges the band is (1 + d) times as wide: what a model lacks there
        is not known, and grows at first with the way.
        """
        away = self._excess(seen)
        none = np.zeros(len(away))
        v, a = (
            np.array([seen.get(name, {}).get(k, none) for name in self._names]).T for k in 'va'
        )
        constant, per_speed, per_acceleration, near_reversal = self._terms
        speed = np.abs(v)
        half = constant + per_speed * speed + per_acceleration * np.abs(a)
        half += near_reversal * np.maximum(0.0, 1.0 - speed / self._slow)
        return half * (1.0 + away), away


def band_for(model: IdentifiedModel, names: Sequence[str]) -> Band:
    """Return the Band of row groups (``names``) of a ``model``, of unknown width without one."""
    return Band(model.statistics.get('prediction_band') or {}, names, model.validity_range)


@dataclass(frozen=True, repr=False)
class Prediction:
    """
    Predicted torques over a motion of N samples and g row groups (joints).

    t : (N,) [s], of a recording since its start; names, units : of the groups
    torque, measured : (N, g) predicted and measured, filtered alike; raw : (N, g) as recorded
    Of a motion that is given nothing is filtered, and nothing measured: not a number.
    lower, upper : (N, g) of the band that holds 95 % of the samples of motion as in the training;
        not a number for models without one
    outside : (N, g) how far the motion is beyond the validity range, in half ranges; there the
        band is wider, by rule and not by data
    """

    t: np.ndarray
    names: tuple[str, ...]
    units: tuple[str, ...]
    torque: np.ndarray
    measured: np.ndarray
    raw: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    outside: np.ndarray

    def __repr__(self) -> str:
        left = self.relative_percent
        return f'Prediction({len(self.t)} samples of {", ".join(self.names)}' + (
            f'; relative residual {left:.3g} %)' if np.isfinite(left) else ')'
        )

    @property
    def residual(self) -> np.ndarray:
        """Return measured minus predicted (N, g), which is what a validation reports."""
        return self.measured - self.torque

    @property
    def rms(self) -> np.ndarray:
        """Return the RMS (g,) of the residual."""
        return np.sqrt(np.mean(self.residual**2, axis=0))

    @property
    def relative_percent(self) -> float:
        """Return the residual of all groups relative to what was measured [%]."""
        return float(100.0 * np.linalg.norm(self.residual) / np.linalg.norm(self.measured))

    def to_dataframe(self) -> Any:
        """Return a pandas.DataFrame over t [s]; columns are (quantity, joint)."""
        import pandas

        quantities = ('torque', 'measured', 'residual', 'lower', 'upper', 'outside')
        return pandas.concat(
            {
                name: pandas.DataFrame(getattr(self, name), self.t, self.names)
                for name in quantities
            },
            axis=1,
        ).rename_axis('t [s]')


def with_prediction(recording: Recording, found: Prediction) -> Recording:
    """
    Return a Recording with what was ``found`` of it, on the topics of the node torque_prediction.

    Topics that cannot be written to a bag again are left out.
    """
    stamp_ns = recording.origin_ns() + np.round(1e9 * found.t).astype(np.int64)
    topics = {
        'predicted': found.torque,
        'measured': found.measured,
        'residual': found.residual,
        'predicted_band/lower': found.lower,
        'predicted_band/upper': found.upper,
    }
    channels = {topic: c for topic, c in recording.channels.items() if encodable(c.type)}
    for name, torque in topics.items():
        topic = f'/torque_prediction/{name}'
        channels[topic] = Channel(
            topic, JOINT_STATE, stamp_ns, stamp_ns, {'effort': torque}, found.names
        )
    return replace(recording, channels=channels)


def predict(model: IdentifiedModel, recording: Recording) -> Prediction:
    """
    Return the Prediction of a model over a Recording of its robot.

    recording : mounted as the model knows it
    RobotModelError where it is of another robot, RecordingError where nothing is left.
    """
    with one_thread():
        data = read_dataset(
            [recording], prediction_options(model), model.method, model.robot['urdf']
        )
        check_robot(model, data.robot)
        states = list(data.states(training=False))
        if not states:
            raise nothing_left()
        return _by_rows(model, states)


def predict_motion(model: IdentifiedModel, robot: Any, motion: Motion) -> Prediction:
    """
    Return the Prediction of a ``motion`` that is given: (t (N,), q, v, a (N, n)).

    robot : of its method's ``build``, as it is mounted
    ConfigError where the shapes do not fit, or t does not increase.
    """
    t, q, v, a = (np.asarray(x, dtype=float) for x in motion)
    shape = t.size, len(robot.coordinates)
    if t.ndim != 1 or not t.size or {q.shape, v.shape, a.shape} != {shape}:
        raise ConfigError(
            't, q, v, a',
            expected=f'(N,) and three times (N, {shape[1]})',
            found=f'shapes {t.shape}, {q.shape}, {v.shape}, {a.shape}',
        )
    if not (np.diff(t) > 0.0).all():
        raise ConfigError('t', expected='increasing times [s]', found='others')
    method = of_joints(METHODS[model.method])
    found = _by_rows(model, [(robot, method.state_of(robot, q, v, a, t))])
    none = np.full_like(found.torque, np.nan)
    return replace(found, measured=none, raw=none)


def of_joints(method: Method) -> Any:
    """Return the ``method``; ConfigError where it is not of joints, whose motion can be given."""
    if not isinstance(method, JointMotion):
        raise ConfigError(
            'no joint coordinates', found=f'method {method.name}', exists=methods_of(JointMotion)
        )
    return method


def live_prediction(model: IdentifiedModel, robot: Any) -> Callable[[Any], LiveTorques]:
    """Return what turns states of a running ``robot``, one after the other, into LiveTorques."""
    method = METHODS[model.method]
    if isinstance(method, DirectTorques):
        return method.predictor(robot, model.parameters, model.values)
    return lambda state: _live(model, robot, state)


def _live(model, robot, state):
    """Return the LiveTorques of a state by the rows of its method; whoever listens gets a band."""
    blocks, (torque, measured, _) = _rows(model, [(robot, state)])
    return LiveTorques(
        tuple(g.name for g in blocks[0].groups), torque, measured - torque, measured
    )


def _rows(model, states):
    """Return the RegressorBlocks of (robot, state), and predicted, measured, raw (3, N, g)."""
    method = METHODS[model.method]
    blocks = [
        block
        for robot, state in states
        for block in method.regress(state, robot, model.parameters)
    ]
    columns = [
        [
            (predicted + g.known, g.y + g.known, g.y_raw + g.known)
            for g, predicted in zip(block.groups, model.predict(block).values())
        ]
        for block in blocks
    ]
    return blocks, np.concatenate(columns, axis=2).transpose(1, 2, 0)


def _by_rows(model: IdentifiedModel, states: Sequence[tuple[Any, Any]]) -> Prediction:
    """Return the Prediction of successive (robot, state), what is known beforehand included."""
    blocks, (torque, measured, raw) = _rows(model, states)
    groups = blocks[0].groups
    names = tuple(g.name for g in groups)
    band, method = band_for(model, names), METHODS[model.method]
    half, outside = map(
        np.concatenate,
        zip(*(band.at(method.validity_range(state, robot)) for robot, state in states)),
    )
    return Prediction(
        np.concatenate([b.t for b in blocks]),
        names,
        tuple(g.unit for g in groups),
        torque,
        measured,
        raw,
        torque - half,
        torque + half,
        outside,
    )
