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

from .validation import by_quantity, RANGE_MARGIN, TERMS
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
from ...representation import Line, plot_torques

TWO_SIGMA = 1.96  # half the width of a band of BAND_LEVEL, in standard deviations
RATES = ('v', 'a')  # quantities of a validity range whose excess concerns their joint alone
Motion = tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]  # t, q, v, a


def alarm_ratios(band: Mapping[str, Any], names: Sequence[str], per_hour: float) -> np.ndarray:
    """
    Return the ratios (g,) of residual to half width that the model alone exceeds so seldom.

    band : of ``band_of``; names : of g row groups; per_hour : how often all of them together do
    A stretch lasts SHORTEST_PIECE or longer.  NaN without a band.
    """
    chance = min(0.5, per_hour * SHORTEST_PIECE / 3600.0 / len(names))
    peak, scale = _band_terms(band, names, ('peak', 'peak_scale'))
    return np.maximum(1.0, peak - scale * np.log(-np.log1p(-chance)))


def _band_terms(band, names, terms):
    """Return the ``terms`` (k, g) of the row groups ``names`` of a band, NaN where it has none."""
    joints = band.get('joints', {})
    table = np.full((len(terms), len(names)), np.nan)
    for column, name in enumerate(names):
        entry = joints.get(name, {})
        table[:, column] = [entry.get(term, np.nan) for term in terms]
    return table


class Excess:
    """
    Excess of motions over ranges, of the quantity farthest beyond its own, in half ranges.

    names : of g row groups; ranges : {joint or body: {quantity: [smallest, largest]}}
    angles : joints for which a turn further is the same position
    Positions of all joints count, as they turn the weight; of velocities and accelerations those
    of the joint itself.
    """

    def __init__(
        self,
        names: Sequence[str],
        ranges: Mapping[str, Mapping[str, Any]],
        angles: Collection[str] = (),
    ) -> None:
        bounds = {
            column: ends
            for column, ends in by_quantity(ranges).items()
            if 0.0 < np.ptp(ends) < np.inf
        }
        self._columns = list(bounds)  # (joint or body, quantity)
        low, high = np.array(list(bounds.values()), float).reshape(-1, 2).T[:, :, None]
        self._middle, self._half = 0.5 * (low + high), 0.5 * (high - low)
        owners, quantities = np.array(self._columns, str).reshape(-1, 2).T
        is_rate = np.isin(quantities, RATES)
        self._positions = np.flatnonzero(~is_rate)
        self._angles = np.flatnonzero((quantities == 'q') & np.isin(owners, list(angles)))
        self._rates = []  # of each row group
        for name in names:
            rates_of_group = is_rate
            if name in ranges:  # a group that is no joint has the rates of all
                rates_of_group = is_rate & (owners == name)
            self._rates.append(np.flatnonzero(rates_of_group))

    def __call__(self, motion: Mapping[str, Mapping[str, np.ndarray]]) -> np.ndarray:
        """Return the excess (N, g) of a ``motion``, see Band.at; 0 inside and where unknown."""
        beyond = self._beyond(motion)
        position_excess = beyond[self._positions].max(axis=0, initial=0.0)
        excess = np.empty((len(self._rates), beyond.shape[1]))
        for group_excess, rates in zip(excess, self._rates):
            rate_excess = beyond[rates].max(axis=0, initial=0.0)
            np.maximum(position_excess, rate_excess, out=group_excess)
        return excess.T

    def _beyond(self, motion):
        """Return the excess (columns, N) of each quantity over its range, in half ranges."""
        beyond = np.full((len(self._columns), _sample_count(motion)), np.nan)
        for values, (owner, quantity) in zip(beyond, self._columns):
            values[:] = motion.get(owner, {}).get(quantity, np.nan)
        np.abs(beyond - self._middle, out=beyond)
        turned = beyond[self._angles] + np.pi
        beyond[self._angles] = np.abs(turned % (2.0 * np.pi) - np.pi)
        beyond /= self._half
        beyond -= 1.0
        beyond[~(beyond > 2.0 * RANGE_MARGIN)] = 0.0
        return beyond


def _sample_count(motion):
    """Return the number of samples N of {joint or body: {quantity: (N,)}}."""
    return max(map(len, by_quantity(motion).values()), default=0)


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
        *self._terms, slow = _band_terms(entry, names, (*TERMS, 'slow'))
        self._slow = np.where(slow > 0.0, slow, 1e-200)  # it divides

    def at(self, motion: Mapping[str, Mapping[str, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        """
        Return half the widths (N, g), and the excess over the ranges (N, g) [half ranges].

        motion : {joint or body: {quantity: (N,)}}, of ``Method.validity_range``
        Beyond a range by d half ranges the band is (1 + d) times as wide: what a model lacks there
        is not known, and grows at first with the distance.
        """
        excess = self._excess(motion)
        speed = np.abs(self._rate('v', motion, excess.shape))
        acceleration = np.abs(self._rate('a', motion, excess.shape))
        constant, per_speed, per_acceleration, near_reversal = self._terms
        half = constant + per_speed * speed + per_acceleration * acceleration
        half += near_reversal * np.maximum(0.0, 1.0 - speed / self._slow)
        return half * (1.0 + excess), excess

    def _rate(self, quantity, motion, shape):
        """Return the velocity or acceleration (N, g) of the row groups, 0 where it is unknown."""
        rates = np.zeros(shape)
        for column, name in zip(rates.T, self._names):
            column[:] = motion.get(name, {}).get(quantity, 0.0)
        return rates


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
    outside : (N, g) excess of the motion over the validity range, in half ranges; there the
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
        text = f'{len(self.t)} samples of {", ".join(self.names)}'
        if np.isfinite(self.relative_percent):
            text += f'; relative residual {self.relative_percent:.3g} %'
        return f'Prediction({text})'

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

    def plot(self) -> Any:
        """Return matplotlib axes (g,) with measured and predicted torques."""
        columns = zip(self.names, self.units, self.measured.T, self.torque.T)
        return plot_torques(
            [
                Line(name, unit, self.t, measured, torque)
                for name, unit, measured, torque in columns
            ]
        )

    def to_dataframe(self) -> Any:
        """Return a pandas.DataFrame over t [s]; columns are (quantity, joint)."""
        import pandas

        quantities = ('torque', 'measured', 'residual', 'lower', 'upper', 'outside')
        frames = [pandas.DataFrame(getattr(self, name), self.t, self.names) for name in quantities]
        return pandas.concat(frames, axis=1, keys=quantities).rename_axis('t [s]')


def with_prediction(recording: Recording, prediction: Prediction) -> Recording:
    """
    Return a Recording with the ``prediction`` of it, on the topics of the node torque_prediction.

    Topics that cannot be written to a bag again are left out.
    """
    stamp_ns = recording.origin_ns() + np.round(1e9 * prediction.t).astype(np.int64)
    topics = {
        'predicted': prediction.torque,
        'measured': prediction.measured,
        'residual': prediction.residual,
        'predicted_band/lower': prediction.lower,
        'predicted_band/upper': prediction.upper,
    }
    channels = {topic: c for topic, c in recording.channels.items() if encodable(c.type)}
    for name, torque in topics.items():
        topic = f'/torque_prediction/{name}'
        channels[topic] = Channel(
            topic, JOINT_STATE, stamp_ns, stamp_ns, {'effort': torque}, prediction.names
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
    _check_motion(t, q, v, a, len(robot.coordinates))
    method = of_joints(METHODS[model.method])
    prediction = _by_rows(model, [(robot, method.state_of(robot, q, v, a, t))])
    not_measured = np.full_like(prediction.torque, np.nan)
    return replace(prediction, measured=not_measured, raw=not_measured)


def _check_motion(t, q, v, a, joint_count):
    """Raise ConfigError where the shapes of a motion do not fit, or t does not increase."""
    shapes = [x.shape for x in (t, q, v, a)]
    expected = [(t.size,)] + 3 * [(t.size, joint_count)]
    if not t.size or shapes != expected:
        raise ConfigError(
            't, q, v, a',
            expected=f'(N,) and three times (N, {joint_count})',
            found=f'shapes {t.shape}, {q.shape}, {v.shape}, {a.shape}',
        )
    if not (np.diff(t) > 0.0).all():
        raise ConfigError('t', expected='increasing times [s]', found='others')


def of_joints(method: Method) -> Any:
    """Return the ``method``; ConfigError where it is not of joints, whose motion can be given."""
    if not isinstance(method, JointMotion):
        raise ConfigError(
            'no joint coordinates', found=f'method {method.name}', exists=methods_of(JointMotion)
        )
    return method


def live_prediction(model: IdentifiedModel, robot: Any) -> Callable[[Any], LiveTorques]:
    """Return the function of successive states of a running ``robot`` to LiveTorques."""
    method = METHODS[model.method]
    if isinstance(method, DirectTorques):
        return method.predictor(robot, model.parameters, model.values)
    return lambda state: _live(model, robot, state)


def _live(model, robot, state):
    """Return the LiveTorques of a state by the rows of its method; whoever listens gets a band."""
    blocks, (torque, measured, _) = _rows(model, [(robot, state)])
    names = tuple(group.name for group in blocks[0].groups)
    return LiveTorques(names, torque, measured - torque, measured)


def _rows(model, states):
    """Return the RegressorBlocks of (robot, state), and predicted, measured, raw (3, N, g)."""
    method = METHODS[model.method]
    blocks, torques = [], []
    for robot, state in states:
        for block in method.regress(state, robot, model.parameters):
            blocks.append(block)
            torques.append(_torques_of(block, model.predict(block)))
    return blocks, np.concatenate(torques, axis=2).transpose(1, 2, 0)


def _torques_of(block, predicted):
    """Return predicted, measured and raw torques (g, 3, B), what is known beforehand included."""
    return [
        (predicted[group.name] + group.known, group.y + group.known, group.y_raw + group.known)
        for group in block.groups
    ]


def _by_rows(model: IdentifiedModel, states: Sequence[tuple[Any, Any]]) -> Prediction:
    """Return the Prediction of successive (robot, state), what is known beforehand included."""
    blocks, (torque, measured, raw) = _rows(model, states)
    groups = blocks[0].groups
    names = tuple(group.name for group in groups)
    half_width, excess = _band_at(model, names, states)
    return Prediction(
        t=np.concatenate([block.t for block in blocks]),
        names=names,
        units=tuple(group.unit for group in groups),
        torque=torque,
        measured=measured,
        raw=raw,
        lower=torque - half_width,
        upper=torque + half_width,
        outside=excess,
    )


def _band_at(model, names, states):
    """Return half the widths of the band and the excess (N, g) of successive (robot, state)."""
    band, method = band_for(model, names), METHODS[model.method]
    half_widths, excesses = [], []
    for robot, state in states:
        half_width, excess = band.at(method.validity_range(state, robot))
        half_widths.append(half_width)
        excesses.append(excess)
    return np.concatenate(half_widths), np.concatenate(excesses)
