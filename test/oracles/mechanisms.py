"""Mechanisms with loops as URDF with cuts, and where they are regular."""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.spatial.transform import Rotation


@dataclass(frozen=True)
class Sample:
    """
    A mechanism to be identified.

    closures, independent, start : as in the options; centre, size (k,) : of a regular motion
    massless : joints whose links are virtual; springs : {joint: (stiffness, rest)}
    friction : {joint: (viscous, Coulomb)}
    """

    urdf: str
    closures: tuple
    independent: tuple
    start: tuple
    centre: tuple
    size: tuple
    massless: tuple = ()
    springs: dict = field(default_factory=dict)
    friction: dict = field(default_factory=dict)


def inertial(mass, center, size):
    """Return <inertial> of a box of sides ``size`` [m] at ``center``, its axes a little turned."""
    x, y, z = (mass / 12 * (sum(s * s for s in size) - size[k] ** 2) for k in range(3))
    place = ' '.join(f'{c:.6g}' for c in center)
    return (
        f'<inertial><origin xyz="{place}" rpy="0.2 -0.1 0.3"/><mass value="{mass}"/>'
        f'<inertia ixx="{x:.6g}" ixy="0" ixz="0" iyy="{y:.6g}" iyz="0" izz="{z:.6g}"/>'
        '</inertial>'
    )


def joint(name, kind, parent, child, xyz=(0, 0, 0), rpy=(0, 0, 0), axis=(0, 0, 1), body=''):
    """Return a joint and its child link; slides have limits of 3 m, as drawings do."""
    place, turn, along = (' '.join(f'{x:.12g}' for x in v) for v in (xyz, rpy, axis))
    limit = (
        '<limit lower="-3" upper="3" effort="1000" velocity="10"/>' if kind == 'prismatic' else ''
    )
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{place}" rpy="{turn}"/>'
        + ('' if kind == 'fixed' else f'<axis xyz="{along}"/>{limit}')
        + f'</joint><link name="{child}">{body}</link>'
    )


def point(name, parent, xyz):
    """Return a frame (a fixed link) at a place of a body."""
    return joint(f'{name}_fixed', 'fixed', parent, name, xyz)


def robot(name, *parts):
    """Return the URDF text."""
    return f'<robot name="{name}"><link name="base"/>' + ''.join(parts) + '</robot>'


def delta():
    """
    Return a delta robot: three arms, two rods each, a platform that three slides keep upright.

    Rods hang by universal joints; their lower ends are cut.  Links between the two axes of a
    universal joint and between slides are virtual.
    """
    arm, rod, outer, inner, half = 0.2, 0.5, 0.12, 0.05, 0.04
    parts, closures, start, massless = [], [], [], []
    angle = 0.35
    drop = np.sqrt(rod**2 - (outer + arm * np.cos(angle) - inner) ** 2) + arm * np.sin(angle)
    for k in range(3):
        turn = 2 * np.pi * k / 3
        c, s = np.cos(turn), np.sin(turn)
        parts.append(
            joint(
                f'arm{k}',
                'revolute',
                'base',
                f'arm{k}_link',
                (outer * c, outer * s, 0),
                (0, 0, turn),
                (0, 1, 0),
                inertial(0.4, (0.09, 0.004, 0.006), (0.2, 0.03, 0.04)),
            ).replace(
                '<axis xyz="0 1 0"/>',
                '<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="50" velocity="20"/>',
            )
        )
        tilt = np.arccos(np.clip((outer + arm * np.cos(angle) - inner) / rod, -1, 1))
        for side in (-1, 1):
            name = f'rod{k}{"ab"[side > 0]}'
            parts += [
                joint(
                    f'{name}_swing',
                    'continuous',
                    f'arm{k}_link',
                    f'{name}_cross',
                    (arm, side * half, 0),
                    (0, 0, 0),
                    (0, 1, 0),
                ),
                joint(
                    f'{name}_tilt',
                    'continuous',
                    f'{name}_cross',
                    f'{name}_link',
                    (0, 0, 0),
                    (0, 0, 0),
                    (0, 0, 1),
                    inertial(0.1, (-rod / 2, 0.003, -0.002), (rod, 0.012, 0.014)),
                ),
                point(f'{name}_end', f'{name}_link', (-rod, 0, 0)),
                point(
                    f'{name}_pin',
                    'platform',
                    (inner * c - side * half * s, inner * s + side * half * c, 0),
                ),
            ]
            closures.append(f'point {name}_pin {name}_end')
            massless.append(f'{name}_swing')
            # Along -x of the rod to the pin: turned about y by the angle below the horizontal.
            start += [f'{name}_swing {-(tilt) - angle:.12g}', f'{name}_tilt 0.0']
        start.append(f'arm{k} {angle}')
    parts = [
        joint('x', 'prismatic', 'base', 'slide_x', axis=(1, 0, 0)),
        joint('y', 'prismatic', 'slide_x', 'slide_y', axis=(0, 1, 0)),
        joint(
            'z',
            'prismatic',
            'slide_y',
            'platform',
            axis=(0, 0, 1),
            body=inertial(0.3, (0.01, -0.006, 0.01), (0.1, 0.12, 0.02)),
        ),
        *parts,
    ]
    start.append(f'z {-drop:.12g}')
    return Sample(
        robot('delta', *parts),
        tuple(closures),
        ('arm0', 'arm1', 'arm2'),
        tuple(start),
        (angle,) * 3,
        (0.45,) * 3,
        ('x', 'y', *massless),
    )


def palletiser():
    """Return a palletiser: a column, two arms, three parallelograms that keep the hand level."""
    lower, fore, crank, stay = 0.5, 0.6, 0.15, 0.12
    q1, q2 = 0.2, 0.3  # of the lower arm from the vertical, of the lever from the horizontal

    def pin(x, z):
        return (x, 0.0, z)

    parts = [
        joint(
            'column',
            'continuous',
            'base',
            'column_link',
            (0, 0, 0.3),
            axis=(0, 0, 1),
            body=inertial(8.0, (0.05, 0.01, 0.1), (0.2, 0.2, 0.3)),
        ),
        joint(
            'shoulder',
            'continuous',
            'column_link',
            'lower_link',
            (0.1, 0, 0.3),
            axis=(0, 1, 0),
            body=inertial(4.0, (0.01, 0.03, 0.26), (0.1, 0.08, lower)),
        ),
        joint(
            'elbow',
            'continuous',
            'lower_link',
            'fore_link',
            (0, 0, lower),
            axis=(0, 1, 0),
            body=inertial(3.0, (0.2, -0.02, 0.02), (fore, 0.08, 0.1)),
        ),
        joint(
            'lever',
            'continuous',
            'column_link',
            'lever_link',
            (0.1, 0.08, 0.3),
            axis=(0, 1, 0),
            body=inertial(1.2, (-0.08, 0.01, 0.01), (crank, 0.03, 0.05)),
        ),
        joint(
            'rod',
            'continuous',
            'lever_link',
            'rod_link',
            pin(-crank, 0),
            axis=(0, 1, 0),
            body=inertial(0.8, (0.01, 0.0, 0.24), (0.04, 0.03, lower)),
        ),
        joint(
            'stay',
            'continuous',
            'column_link',
            'stay_link',
            (0.1 - stay, -0.08, 0.3),
            axis=(0, 1, 0),
            body=inertial(0.6, (0.0, 0.01, 0.25), (0.03, 0.03, lower)),
        ),
        joint(
            'plate',
            'continuous',
            'lower_link',
            'plate_link',
            (0, -0.08, lower),
            axis=(0, 1, 0),
            body=inertial(0.5, (-0.03, 0.0, 0.05), (0.12, 0.02, 0.12)),
        ),
        joint(
            'level',
            'continuous',
            'plate_link',
            'level_link',
            pin(0, stay),
            axis=(0, 1, 0),
            body=inertial(0.7, (0.3, 0.01, 0.0), (fore, 0.03, 0.03)),
        ),
        joint(
            'wrist',
            'continuous',
            'fore_link',
            'hand_link',
            pin(fore, 0),
            axis=(0, 1, 0),
            body=inertial(1.5, (0.05, -0.01, -0.08), (0.1, 0.1, 0.15)),
        ),
        point('rod_end', 'rod_link', pin(0, lower)),
        point('fore_pin', 'fore_link', (-crank, 0.08, 0)),
        point('stay_end', 'stay_link', pin(0, lower)),
        point('plate_pin', 'plate_link', pin(-stay, 0)),
        point('level_end', 'level_link', pin(fore, 0)),
        point('hand_pin', 'hand_link', (0, -0.08, stay)),
    ]
    closures = ('point fore_pin rod_end', 'point plate_pin stay_end', 'point hand_pin level_end')
    start = (
        f'shoulder {q1}',
        f'lever {q2}',
        f'elbow {q2 - q1}',
        f'rod {q1 - q2}',
        f'stay {q1}',
        f'plate {-q1}',
        f'level {q2}',
        f'wrist {-q2}',
    )
    return Sample(
        robot('palletiser', *parts),
        closures,
        ('column', 'shoulder', 'lever'),
        start,
        (0.0, q1, q2),
        (0.8, 0.5, 0.4),
        springs={'shoulder': (60.0, 0.1), 'lever': (25.0, -0.2)},
    )


def stewart():
    """Return a Stewart platform: six legs on universal joints, free body by six virtual joints."""
    parts, closures, start, massless = [], [], [], ['x', 'y', 'z', 'yaw', 'pitch']
    height, low, high = 0.7, 0.5, 0.3
    virtual = [
        ('x', 'prismatic', (1, 0, 0)),
        ('y', 'prismatic', (0, 1, 0)),
        ('z', 'prismatic', (0, 0, 1)),
        ('yaw', 'continuous', (0, 0, 1)),
        ('pitch', 'continuous', (0, 1, 0)),
        ('roll', 'continuous', (1, 0, 0)),
    ]
    parent = 'base'
    for name, kind, axis in virtual:
        child = 'platform' if name == 'roll' else f'virtual_{name}'
        body = inertial(6.0, (0.02, -0.015, 0.04), (0.5, 0.45, 0.08)) if name == 'roll' else ''
        parts.append(joint(name, kind, parent, child, axis=axis, body=body))
        parent = child
    lengths = []
    for k in range(6):
        below = np.deg2rad(120 * (k // 2) + (-12, 12)[k % 2])
        above = np.deg2rad(120 * (k // 2) + (-48, 48)[k % 2])
        foot = np.array([low * np.cos(below), low * np.sin(below), 0.0])
        head = np.array([high * np.cos(above), high * np.sin(above), 0.0])
        along = head + [0.0, 0.0, height] - foot
        length = np.linalg.norm(along)
        lengths.append(length)
        # Leg along z of its own frame: turned about y, then about the new x.
        tilt_y = np.arctan2(along[0], along[2])
        tilt_x = -np.arctan2(along[1], np.hypot(along[0], along[2]))
        parts += [
            joint(f'swing{k}', 'continuous', 'base', f'cross{k}', foot, axis=(0, 1, 0)),
            joint(
                f'tilt{k}',
                'continuous',
                f'cross{k}',
                f'cylinder{k}',
                axis=(1, 0, 0),
                body=inertial(1.1 + 0.1 * k, (0.01, -0.006, 0.2), (0.06, 0.07, 0.4)),
            ),
            joint(
                f'leg{k}',
                'prismatic',
                f'cylinder{k}',
                f'piston{k}',
                axis=(0, 0, 1),
                body=inertial(0.5, (0.004, 0.005, -0.2), (0.03, 0.03, 0.45)),
            ),
            point(f'pin{k}', 'platform', head),
        ]
        closures.append(f'point pin{k} piston{k}')
        massless.append(f'swing{k}')
        start += [f'swing{k} {tilt_y:.12g}', f'tilt{k} {tilt_x:.12g}', f'leg{k} {length:.12g}']
    start.append(f'z {height}')
    return Sample(
        robot('stewart', *parts),
        tuple(closures),
        tuple(f'leg{k}' for k in range(6)),
        tuple(start),
        tuple(lengths),
        (0.07,) * 6,
        tuple(massless),
    )


def hexapod():
    """Return the Stewart platform with friction in its legs, ball screws that differ."""
    return replace(stewart(), friction={f'leg{k}': (60.0 + 10.0 * k, 8.0 - k) for k in range(6)})


def four_bar():
    """Return a parallelogram arm: two motors at the base, the forearm driven through a rod."""
    lower, fore, crank = 0.4, 0.45, 0.12
    parts = [
        joint(
            'shoulder',
            'continuous',
            'base',
            'lower_link',
            axis=(0, 1, 0),
            body=inertial(3.0, (0.01, 0.02, 0.21), (0.08, 0.06, lower)),
        ),
        joint(
            'elbow',
            'continuous',
            'lower_link',
            'fore_link',
            (0, 0, lower),
            axis=(0, 1, 0),
            body=inertial(2.0, (0.16, -0.02, 0.02), (fore, 0.06, 0.06)),
        ),
        joint(
            'lever',
            'continuous',
            'base',
            'lever_link',
            (0, 0.06, 0),
            axis=(0, 1, 0),
            body=inertial(0.8, (-0.05, 0.01, 0.01), (crank, 0.03, 0.04)),
        ),
        joint(
            'rod',
            'continuous',
            'lever_link',
            'rod_link',
            (-crank, 0, 0),
            axis=(0, 1, 0),
            body=inertial(0.5, (0.01, 0.0, 0.19), (0.03, 0.03, lower)),
        ),
        point('rod_end', 'rod_link', (0, 0, lower)),
        point('fore_pin', 'fore_link', (-crank, 0.06, 0)),
    ]
    return Sample(
        robot('four_bar', *parts),
        ('point fore_pin rod_end',),
        ('shoulder', 'lever'),
        ('shoulder 0.2', 'lever 0.3', 'elbow 0.1', 'rod -0.1'),
        (0.2, 0.3),
        (0.6, 0.5),
        friction={'shoulder': (0.8, 1.5), 'lever': (0.5, 1.0)},
    )


def excavator():
    """Return boom and stick in one plane, on a cylinder each, with friction in these."""
    below, eye, back = (0.5, 0.0, -0.3), (1.2, 0.0, 0.25), (-0.35, 0.0, 0.25)
    parts = [
        joint(
            'boom',
            'continuous',
            'base',
            'boom_link',
            axis=(0, -1, 0),
            body=inertial(120.0, (1.1, 0.02, 0.2), (2.4, 0.3, 0.4)),
        ),
        joint(
            'stick',
            'continuous',
            'boom_link',
            'stick_link',
            (2.4, 0, 0),
            axis=(0, -1, 0),
            body=inertial(60.0, (0.5, -0.01, 0.05), (1.6, 0.2, 0.3)),
        ),
        joint(
            'foot',
            'continuous',
            'base',
            'barrel',
            below,
            axis=(0, -1, 0),
            body=inertial(14.0, (0.4, 0.0, 0.01), (0.8, 0.12, 0.12)),
        ),
        joint(
            'lift',
            'prismatic',
            'barrel',
            'rod',
            axis=(1, 0, 0),
            body=inertial(8.0, (-0.4, 0.01, 0.0), (0.8, 0.06, 0.06)),
        ),
        joint(
            'head',
            'continuous',
            'boom_link',
            'upper_barrel',
            eye,
            axis=(0, -1, 0),
            body=inertial(10.0, (0.35, 0.0, 0.02), (0.7, 0.1, 0.1)),
        ),
        joint(
            'reach',
            'prismatic',
            'upper_barrel',
            'upper_rod',
            axis=(1, 0, 0),
            body=inertial(6.0, (-0.35, -0.01, 0.0), (0.7, 0.05, 0.05)),
        ),
        point('boom_eye', 'boom_link', (1.2, 0.0, -0.1)),
        point('stick_eye', 'stick_link', back),
    ]
    boom, stick = 0.6, -1.2  # up is positive

    def turned(angle, place):
        return np.array(
            [
                np.cos(angle) * place[0] - np.sin(angle) * place[2],
                np.sin(angle) * place[0] + np.cos(angle) * place[2],
            ]
        )

    lift = turned(boom, (1.2, 0.0, -0.1)) - [below[0], below[2]]
    reach = [2.4 - eye[0], -eye[2]] + turned(stick, back)
    start = (
        f'boom {boom}',
        f'stick {stick}',
        f'foot {np.arctan2(lift[1], lift[0]):.6g}',
        f'lift {np.hypot(*lift):.6g}',
        f'head {np.arctan2(reach[1], reach[0]):.6g}',
        f'reach {np.hypot(*reach):.6g}',
    )
    return Sample(
        robot('excavator', *parts),
        ('point boom_eye rod', 'point stick_eye upper_rod'),
        ('lift', 'reach'),
        start,
        (np.hypot(*lift), np.hypot(*reach)),
        (0.12, 0.12),
        friction={'lift': (900.0, 120.0), 'reach': (700.0, 90.0)},
    )


def five_bar():
    """Return two cranks on the base that carry one pin in a vertical plane."""
    parts, start = [], []
    for k, (x, a, b) in enumerate(((0.0, 2.0, -1.35), (0.3, 1.1416, 1.35))):
        parts += [
            joint(
                f'crank{k}',
                'continuous',
                'base',
                f'crank{k}_link',
                (x, 0, 0),
                axis=(0, -1, 0),
                body=inertial(1.0 + 0.2 * k, (0.12, 0.01, 0.01), (0.25, 0.04, 0.05)),
            ),
            joint(
                f'arm{k}',
                'continuous',
                f'crank{k}_link',
                f'arm{k}_link',
                (0.25, 0, 0),
                axis=(0, -1, 0),
                body=inertial(0.6 + 0.1 * k, (0.18, 0.0, -0.01), (0.35, 0.03, 0.04)),
            ),
            point(f'end{k}', f'arm{k}_link', (0.35, 0, 0)),
        ]
        start += [f'crank{k} {a}', f'arm{k} {b}']
    return Sample(
        robot('five_bar', *parts),
        ('point end0 end1',),
        ('crank0', 'crank1'),
        tuple(start),
        (2.0, 1.1416),
        (0.4, 0.4),
        friction={'crank0': (0.3, 0.6), 'crank1': (0.2, 0.4)},
    )


def wishbone():
    """Return a double wishbone suspension: two arms, an upright between balls, a rod, a spring."""
    parts = [
        joint(
            'lower',
            'continuous',
            'base',
            'lower_link',
            (0, 0.25, 0.15),
            axis=(1, 0, 0),
            body=inertial(2.5, (0.01, 0.18, 0.0), (0.25, 0.35, 0.03)),
        ),
        joint('caster', 'continuous', 'lower_link', 'ball1', (0, 0.38, 0), axis=(0, 1, 0)),
        joint('camber', 'continuous', 'ball1', 'ball2', axis=(1, 0, 0)),
        joint(
            'steer',
            'continuous',
            'ball2',
            'upright',
            body=inertial(14.0, (0.005, 0.06, 0.12), (0.5, 0.2, 0.5)),
        ),
        joint(
            'upper',
            'continuous',
            'base',
            'upper_link',
            (-0.02, 0.3, 0.42),
            axis=(1, 0, 0),
            body=inertial(1.5, (0.0, 0.14, 0.005), (0.2, 0.28, 0.03)),
        ),
        joint('swing', 'continuous', 'base', 'cross', (-0.12, 0.28, 0.2), axis=(1, 0, 0)),
        joint(
            'lean',
            'continuous',
            'cross',
            'rod_link',
            body=inertial(0.6, (0.0, 0.17, 0.0), (0.02, 0.35, 0.02)),
        ),
        point('top', 'upright', (-0.02, -0.05, 0.27)),
        point('upper_end', 'upper_link', (0, 0.28, 0)),
        point('steering_arm', 'upright', (-0.12, -0.02, 0.05)),
        point('rod_end', 'rod_link', (0, 0.33, 0)),
    ]
    return Sample(
        robot('wishbone', *parts),
        ('point top upper_end', 'point steering_arm rod_end'),
        ('lower',),
        ('lower 0', 'upper 0'),
        (0.0,),
        (0.2,),
        ('caster', 'camber', 'swing'),
        springs={'lower': (1500.0, -0.08)},
        friction={'lower': (4.0, 3.0)},
    )


def random_mechanism(seed):
    """
    Return a random mechanism, closed at zero: planar or spatial, one to three loops.

    Every loop is a new chain from the base or a body to another body; chains have a joint or two
    more than their closure takes away, some of them slides.
    """
    rng = np.random.default_rng(seed)
    planar, parts, placed = bool(rng.integers(2)), [], [('base', np.zeros(3), np.eye(3))]
    taken = 2 if planar else 3
    closures = []

    def grow(count, origin):
        name, place, R = placed[origin]
        for _ in range(count):
            k = len(placed)
            slide = rng.random() < 0.25
            offset = rng.uniform(-0.4, 0.4, 3) + (0.2 if name == 'base' else 0.0)
            axis = rng.standard_normal(3)
            if planar:
                offset[2] = 0.02 * k
                axis = np.append(axis[:2], 0.0) if slide else np.array([0.0, 0.0, 1.0])
            turn = rng.uniform(-np.pi, np.pi, 3) * ([0, 0, 1] if planar else [1, 1, 1])
            child = f'link{k}'
            parts.append(
                joint(
                    f'joint{k}',
                    'prismatic' if slide else 'continuous',
                    name,
                    child,
                    offset,
                    turn,
                    axis / np.linalg.norm(axis),
                    inertial(
                        rng.uniform(0.3, 3.0),
                        rng.uniform(-0.15, 0.15, 3),
                        rng.uniform(0.05, 0.3, 3),
                    ),
                )
            )
            place, R = place + R @ offset, R @ Rotation.from_euler('xyz', turn).as_matrix()
            placed.append((child, place, R))
            name = child
        return len(placed) - 1

    for loop in range(int(rng.integers(1, 4))):
        before = len(placed)
        other = grow(int(rng.integers(1, 3)), 0) if loop == 0 else int(rng.integers(1, before))
        end = grow(taken + int(rng.integers(0, 2)), int(rng.integers(0, 2)) and other)
        meeting = placed[end][1] + rng.uniform(-0.3, 0.3, 3)
        for side, index in (('a', other), ('b', end)):
            name, place, R = placed[index]
            parts.append(point(f'cut{loop}{side}', name, R.T @ (meeting - place)))
        closures.append(f'point cut{loop}a cut{loop}b')
    return Sample(robot(f'random{seed}', *parts), tuple(closures), (), (), (), ())
