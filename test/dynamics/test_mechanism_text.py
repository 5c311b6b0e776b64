"""Mechanisms in YAML: the hexapod of a page against the one that was drawn joint by joint."""

import mechanisms
import numpy as np
import pinocchio as pin
import pytest

from ros_inertial_id.dynamics.mechanism_text import mechanism_description
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import ConfigError
from ros_inertial_id.identification.settings import load_options
from ros_inertial_id.methods import METHODS
from ros_inertial_id.rigs.closed_loop.state import projected_torque

GRAVITY = np.array([0.0, 0.0, -9.81])


def hexapod():
    """Return the YAML of ``mechanisms.stewart``, whose bodies and places are its own."""
    drawn = mechanisms.stewart()
    robot = load_robot_model(drawn.urdf)
    of = dict(zip(robot.link_names, robot.inertias))

    def body(name, words):
        inertia = pin.Inertia.FromDynamicParameters(of[name])
        I = inertia.inertia  # noqa: E741
        tensor = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
        return (
            f'  {name}: {{{words}, mass: {inertia.mass}, center: {inertia.lever.tolist()}, '
            f'inertia: {[float(x) for x in tensor]}}}'
        )

    lines = ['mechanism: hexapod', 'bodies:', body('platform', 'joint: free, at: [0, 0, 0]')]
    closures = []
    for k in range(6):
        below, above = (np.deg2rad(120 * (k // 2) + (-turn, turn)[k % 2]) for turn in (12, 48))
        x, y = 0.5 * np.cos(below), 0.5 * np.sin(below)
        lines += [
            body(
                f'cylinder{k}',
                f"joint: universal foot{k}, at: [{x}, {y}, 0], axes: ['0 1 0', '1 0 0']",
            ),
            body(f'piston{k}', f'parent: cylinder{k}, joint: slide leg{k}'),
        ]
        closures.append(
            f'  - point platform {0.3 * np.cos(above)} {0.3 * np.sin(above)} 0 piston{k}'
        )
    start = [s.replace('swing', 'foot').replace('tilt', 'foot') for s in drawn.start]
    start = [
        s.replace(' ', '_1 ' if old.startswith('swing') else '_2 ')
        if s.startswith('foot')
        else s.replace('z ', 'platform_z ')
        for s, old in zip(start, drawn.start)
    ]
    return drawn, '\n'.join(
        [*lines, 'closures:', *closures, f'independent: {[*drawn.independent]}', f'start: {start}']
    )


def test_hexapod_in_yaml_is_the_one_drawn_joint_by_joint():
    drawn, text = hexapod()
    urdf = mechanism_description(text)
    method, options = load_options(description=urdf)
    closed = METHODS[method]
    short = closed.build(urdf, options, GRAVITY)
    _, other = load_options(
        '',
        method,
        {'closures': drawn.closures, 'independent': drawn.independent, 'start': drawn.start},
    )
    long = closed.build(drawn.urdf, other, GRAVITY)
    assert short.coordinates == long.coordinates == drawn.independent
    assert len(text.splitlines()) == 24 and len(drawn.urdf) > 8_000
    rng = np.random.default_rng(1)
    z = np.array(drawn.centre) + 0.02 * rng.uniform(-1, 1, (4, 6))
    v, a = rng.uniform(-1, 1, (2, 4, 6))
    torques = [
        projected_torque(robot, closed.state_of(robot, z, v, a), robot.inertias.ravel())
        for robot in (short, long)
    ]
    np.testing.assert_allclose(*torques, rtol=1e-6, atol=1e-6)
    # The pieces between the axes are no bodies: nothing of them is estimated.
    crosses = [name for name in short.link_names if name.endswith('_cross')]
    assert len(crosses) == 6 + 5
    numbers = {f'm{short.link_names.index(name) + 1}' for name in crosses}
    assert not numbers & {p.name for p in closed.parameters(short, options)}


@pytest.mark.parametrize(
    'text, words',
    [
        ('mechanism: m\nbodies:\n  a: {joint: univeral}', 'universal'),
        ('mechanism: m\nbodies:\n  a: {joint: hinge, parent: b}', 'on no body before it'),
        (
            'mechanism: m\nbodies:\n  a: {joint: universal, axes: [0 0 1]}',
            '2 of a joint universal',
        ),
        ('mechanism: m\nbodies:\n  a: {joint: hinge, masse: 1}', 'mass'),
        ('mechanism: m\nbodies:\n  a: {joint: hinge, mass: abc}', 'mass of body a'),
        ('mechanism: m\nbodies:\n  a: {joint: hinge, limits: 5}', '0 or 2 or 3 numbers'),
        ('mechanism: m\nbodies:\n  a: {joint: hinge, axes: [0 0 0]}', 'a direction'),
        ('mechanism: m\nbodies:\n  a: {joint: hinge}\nclosures: point a b', 'a list'),
        ('mechanism: m\nbodies: 3', 'bodies:'),
        ('mechanism: m\nbodies:\n  a:', 'body a; expected .joint'),
        ('mechanism: m\nbodies:\n  a: {joint: hinge a b}', 'KIND NAME'),
        ('mechanism: m\nbodies:\n  a: {joint: ""}', 'KIND NAME'),
        ('- mechanism', 'the mechanism; expected bodies'),
    ],
)
def test_what_cannot_be_read_is_said(text, words):
    with pytest.raises(ConfigError, match=words):
        mechanism_description(text)
