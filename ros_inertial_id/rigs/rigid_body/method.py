"""
rigid_body: Newton and Euler of bodies whose motion and wrenches are measured.

Rows: three forces, three torques for every group of bodies between measured wrenches.  A payload
behind a wrist sensor is the special case of one body that moves with a link of an arm.  Attitudes
are quaternions throughout (Cheng, Bi, Yuan 2022; rows derived anew, Eq. 19 there is misprinted).
"""

from dataclasses import dataclass, replace
from typing import Any, Iterator, Mapping, Sequence

import numpy as np
from scipy.linalg import null_space

from .observation import LiveWrench, observe_wrenches
from .payload_link import urdf_with_payload
from .rig import body_rig, BodyRig, PAYLOAD, payload_rig
from ..bodies.method import BodiesMethod, BodiesOptions, dense_rows, mass_limits
from ..bodies.observation import BodiesObservation, BodiesState, with_earlier_wrenches
from ..dynamics.rigid_bodies import AXES, composite_rows, own_rows, ROW_UNITS, wrench_groups
from ...dynamics.inertial_parameters import Parameter, ten_of_body
from ...dynamics.regressor import BLOCK, RegressorBlock
from ...errors import ConfigError
from ...measurement.joints.kinematic_state import VelocityOptions
from ...measurement.recording import Recording
from ...measurement.summary import Summary
from ...methods.capabilities import Addition, LateEfforts, LearnsOnline, Limit, TimeOffsetOptions
from ...options import option, topic_option

BIAS_SCALE, BIAS_PRIOR_SD = (1.0,) * 3 + (0.1,) * 3, (200.0,) * 3 + (20.0,) * 3  # [N], [N m]
UNNOTICED_TILT = 2e-3  # [rad] by which gravity may be off what is described
PRINCIPAL = ('mx', 'my', 'mz', 'Ixx', 'Iyy', 'Izz')


@dataclass(frozen=True)
class RigidBodyOptions(BodiesOptions, VelocityOptions, TimeOffsetOptions):
    """All options of the method; the recorder and nodes declare them as parameters."""

    wrench_topic: str = topic_option('', 'topic of the sensor; empty: the only one there is')
    wrench_frame: str = option(
        '', 'link in whose frame the sensor measures; empty: the one that the messages name'
    )
    wrench_of: str = option(
        'auto',
        'what the sensor shows: the wrench on the body, its '
        'reaction, or decide by the sign of the mass',
        choices=('auto', 'on_body', 'by_body'),
    )
    sensor_bias: bool = option(True, 'identify the constant offset of every sensor')
    joint_states_topic: str = topic_option(
        '', 'topic of the joint states; empty: the one that carries the joints'
    )
    unknowns: str = option(
        'ten',
        'ten parameters of every body; or masses along the axes of '
        'the world and principal inertias, frames at the centres of mass',
        choices=('ten', 'principal'),
    )
    mass: float = option(
        10.0,
        'how heavy a body may be: errors beyond it mean "not determined"',
        unit='kg',
        at_least=1e-6,
    )
    size: float = option(0.3, 'how far from its frame its mass may be', unit='m', at_least=1e-4)


class RigidBody(BodiesMethod[BodyRig, RigidBodyOptions], LateEfforts, LearnsOnline):
    """Wrenches on bodies whose motion is measured: six rows per group of bodies."""

    name = 'rigid_body'
    Options = RigidBodyOptions

    def build(self, urdf: str, options: RigidBodyOptions, gravity_base: np.ndarray) -> BodyRig:
        """Return the BodyRig of a URDF or YAML text under gravity (3,) [m/s^2]."""
        if '<robot' in urdf:
            rig = payload_rig(urdf, options, gravity_base)
        else:
            rig = body_rig(urdf, gravity_base)
        rig = replace(rig, principal=options.unknowns == 'principal')
        if rig.principal and any(len(group) > 1 for group in rig.groups):
            raise ConfigError(
                'unknowns: principal',
                expected='a wrench on both sides of every body',
                found='bodies joined without a sensor',
                do='use unknowns: ten',
            )
        return rig

    def parameters(self, robot: BodyRig, options: RigidBodyOptions) -> tuple[Parameter, ...]:
        """Return the Parameters of all columns: those of every body, then six per sensor."""
        out = []
        largest = options.mass, options.size
        for k, link in enumerate(robot.link_names):
            if options.unknowns == 'principal':
                out += _principal(k + 1, link, largest)
            else:
                out += ten_of_body(k + 1, link, robot.inertias[k], largest)
        if options.sensor_bias:
            for number, wrench in enumerate(robot.wrenches, 1):
                out += _biases(number, wrench.topic or 'sensor')
        return tuple(out)

    def observe(
        self, recording: Recording, robot: BodyRig, options: RigidBodyOptions
    ) -> BodiesObservation:
        """Return the BodiesObservation of the bodies and wrenches in a Recording."""
        return observe_wrenches(recording, robot, options)

    def effort_rates(self, state: BodiesState, robot: BodyRig) -> np.ndarray:
        """Return the derivatives (N, groups) of the rows' wrenches with respect to their delay."""
        late = replace(state, wrench=np.gradient(state.wrench, state.t, axis=0))
        return np.hstack([_group_wrenches(late, robot, group)[0] for group in robot.groups])

    def with_time_offset(self, observation: BodiesObservation, offset: float) -> BodiesObservation:
        """Return an ``observation`` whose wrenches are ``offset`` [s] earlier than stamped."""
        return with_earlier_wrenches(observation, offset)

    def description_with(
        self,
        links: Mapping[str, Sequence[float]],
        robot: BodyRig,
        options: Mapping[str, Any],
        summary: Summary,
    ) -> str:
        """
        Return the text of a ``robot`` with identified ``links``; the payload as a link of its arm.

        options : of the model, of which ``wrench_frame`` counts; summary : where it is empty
        """
        if robot.arm is None:
            return super().description_with(links, robot, options, summary)
        frame = options.get('wrench_frame')
        if not frame:  # that of the messages
            topic = summary.details['wrench_topics'][0]
            frame = summary.details['sources'][topic]['frame_id']
        return urdf_with_payload(robot.urdf, frame, links[PAYLOAD])

    def limits(
        self,
        state: BodiesState,
        robot: BodyRig,
        parameters: Sequence[Parameter],
        options: RigidBodyOptions,
    ) -> Iterator[Limit]:
        """Yield the mass that a body may have by the ``options``."""
        yield from mass_limits(parameters, options.mass)

    def additions(self, robot: BodyRig, options: RigidBodyOptions) -> Sequence[Addition]:
        """Return what a BodyRig may have besides: gravity otherwise, where attitudes show it."""
        if not robot.shows_attitude:
            return ()
        return (self._gravity_tilted(robot, self.parameters(robot, options)),)

    def _gravity_tilted(self, robot, parameters):
        """Return the Addition that gravity points elsewhere than described."""
        g = np.asarray(robot.gravity_base)
        across = null_space(g[None])  # (3, 2)

        def rows(state, robot):
            return dense_rows(list(self.regress(state, robot, parameters)), len(parameters))[0]

        def columns(state, robot, values):
            W = rows(state, robot)
            changes = [(rows(_accelerated(state, e), robot) - W) @ values for e in across.T]
            return np.stack(changes, axis=2)

        def words(numbers, errors):
            shown = g + across @ numbers
            angle = np.degrees(np.arctan2(np.linalg.norm(numbers), np.linalg.norm(g)))
            listed = ' '.join(f'{x:.2f}' for x in shown / np.linalg.norm(shown) * 9.81)
            return (
                f'gravity is {angle:.1f} degrees off what is described: the wrenches '
                f'show gravity {listed}'
            )

        return Addition(
            'gravity tilted',
            columns,
            words,
            'give this mounting:',
            (UNNOTICED_TILT * np.linalg.norm(g),) * 2,
        )

    def regress(
        self,
        state: BodiesState,
        robot: BodyRig,
        parameters: Sequence[Parameter],
        wanted: np.ndarray | None = None,
    ) -> Iterator[RegressorBlock]:
        """Yield the RegressorBlocks of a BodiesState; columns as ``parameters``."""
        biased = any(p.law == 'sensor_bias' for p in parameters)
        for low in range(0, len(state.t), BLOCK):
            part = slice(low, low + BLOCK)
            piece = state.rows(part)
            groups = []
            for group in robot.groups:
                groups += _group_rows(piece, robot, group, biased)
            yield RegressorBlock(piece.t, state.segment, tuple(groups))

    def source(
        self, robot: BodyRig, options: RigidBodyOptions, lag: float, summary: Summary
    ) -> LiveWrench:
        """Return the LiveWrench of a payload while it moves; see Live."""
        return LiveWrench(robot, options, lag, summary)


def _principal(number, link, largest):
    """Return the six Parameters of a body with its frame at the centre of mass along its axes."""
    mass, size = largest
    kinds = {'m': ('kg', 1.0, mass), 'I': ('kg m^2', 0.01, mass * size**2)}
    out = []
    for symbol in PRINCIPAL:
        unit, scale, prior_sd = kinds[symbol[0]]
        out.append(Parameter(f'{symbol}{number}', unit, scale, 0.0, prior_sd, link))
    return out


def _biases(number, topic):
    """Return the six Parameters of the constant offset of a sensor."""
    out = []
    for axis, unit, scale, prior_sd in zip(AXES, ROW_UNITS, BIAS_SCALE, BIAS_PRIOR_SD):
        name = f'bias_{axis}{number}'
        out.append(Parameter(name, unit, scale, 0.0, prior_sd, topic, 'sensor_bias'))
    return out


def _accelerated(state, e):
    """Return a BodiesState as if gravity had 1 m/s^2 more along e (3,) in the world."""
    bodies = [replace(b, acc=b.acc - b.rotation().transpose(0, 2, 1) @ e) for b in state.bodies]
    return replace(state, bodies=tuple(bodies))


def _group_rows(state, robot, group, biased):
    """
    Return the six RowGroups of bodies between measured wrenches.

    Rows of a single body are along its own axes at its origin (force along the world's where
    unknowns are principal); those of several along the world's at the origin of the first.
    """
    W = _rows_of_bodies([state.bodies[k] for k in group], robot.principal)
    per_body = W.shape[1] // len(group)
    rows = [W.transpose(0, 2, 1)]
    columns = [np.arange(per_body * k, per_body * (k + 1)) for k in group]
    if biased:
        for k, T in _wrench_maps(state, robot, group):
            rows.append(T.transpose(1, 0, 2))
            columns.append(per_body * len(robot.link_names) + 6 * k + np.arange(6))
    name = '+'.join(robot.link_names[k] for k in group)
    y, y_raw = _group_wrenches(state, robot, group)
    return wrench_groups(name, np.concatenate(columns), np.concatenate(rows, axis=2), y, y_raw)


def _group_wrenches(state, robot, group):
    """Return the measured wrench (N, 6) on a group of bodies, as in its rows; filtered, raw."""
    y, y_raw = np.zeros((2, len(state.t), 6))
    for k, T in _wrench_maps(state, robot, group):
        of_sensor = slice(6 * k, 6 * k + 6)
        y = y + np.einsum('nij,nj->ni', T, state.wrench[:, of_sensor])
        y_raw = y_raw + np.einsum('nij,nj->ni', T, state.wrench_raw[:, of_sensor])
    return y, y_raw


def _wrench_maps(state, robot, group):
    """Yield (number, T (N, 6, 6)) of the sensors at a group: as measured -> as in its rows."""
    bodies = [state.bodies[k] for k in group]
    along = _axes_of_rows(bodies, robot.principal)
    for k, wrench in enumerate(robot.wrenches):
        sign = state.sign * _sign(robot, wrench, group)
        if sign:
            yield k, sign * _wrench_map(state, robot, wrench, bodies[0].position, along)


def _rows_of_bodies(bodies, principal):
    """Return rows (6, k, N) of bodies about their ten or ``principal`` unknowns."""
    if principal:
        return _principal_rows(bodies[0])
    if len(bodies) == 1:
        return own_rows(bodies[0])
    return composite_rows(bodies, bodies[0].position)


def _axes_of_rows(bodies, principal):
    """Return the axes (N, 3, 3) or (3, 3) of force and of torque in the rows of bodies."""
    own, still = bodies[0].rotation(), np.eye(3)
    if principal:
        return still, own
    if len(bodies) == 1:
        return own, own
    return still, still


def _principal_rows(body):
    """Return rows (6, 6, N): force along the world's axes, torque along the body's own."""
    ten = own_rows(body)
    out = np.zeros((6, 6, ten.shape[-1]))
    out[range(3), range(3)] = np.einsum('nij,nj->in', body.rotation(), body.acc)
    out[3:, 3:] = ten[3:, [4, 6, 9]]
    return out


def _sign(robot, wrench, group):
    names = {robot.link_names[k] for k in group}
    return int(wrench.on in names) - int(wrench.reaction in names)


def _wrench_map(state, robot, wrench, origin, along):
    """
    Return (N, 6, 6): a wrench as measured -> force and torque of the rows.

    origin : (N, 3) of the rows; along : axes (N, 3, 3) or (3, 3) of force and of torque
    """
    on = state.bodies[robot.link_names.index(wrench.on)]
    R = on.rotation()
    turn = np.eye(3)
    if wrench.axes == 'body':
        turn = R @ wrench.rotation
    arm = R @ wrench.point + on.position - origin
    force, torque = (np.swapaxes(axes, -1, -2) for axes in along)
    T = np.zeros((len(arm), 6, 6))
    T[:, :3, :3], T[:, 3:, 3:] = force @ turn, torque @ turn
    T[:, 3:, :3] = torque @ np.cross(arm[:, :, None], turn, axisa=1, axisb=-2, axisc=1)
    return T
