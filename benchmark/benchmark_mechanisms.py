"""The mechanisms of benchmark/machines.py that mechanisms.py has not, with friction."""

from mechanisms import inertial, joint, point, robot, Sample
import numpy as np

GRIPPER = """<mujoco model="gripper"><compiler angle="radian"/><worldbody>
<body name="screw" pos="0 0 0.3"><inertial pos="0 0.002 0.03" mass="0.4"
  diaginertia="4e-4 4e-4 1e-4"/><joint name="screw" type="slide" axis="0 0 1" damping="6"
  armature="0.5" ref="0"/></body>{}</worldbody><equality>{}</equality>
<actuator><motor joint="screw"/></actuator></mujoco>"""
FINGER = """<body name="finger{0}" pos="{1} 0 0.38"><inertial pos="{2} 0.001 0.06" mass="0.25"
  diaginertia="6e-4 6e-4 8e-5"/><joint name="finger{0}" axis="0 1 0" damping="0.01"/>
<body name="rod{0}" pos="{3} 0 0"><inertial pos="{4} 0 -0.02" mass="0.08"
  diaginertia="6e-5 6e-5 1e-5"/><joint name="rod{0}" axis="0 1 0"/></body></body>"""
CONNECT = '<connect body1="rod{0}" body2="screw" anchor="{1} 0 {2}"/>'


def gripper():
    """Return the MJCF text of two fingers that a slide opens by a rod each."""
    fingers, closed = '', ''
    for k, side in enumerate((-1, 1)):
        fingers += FINGER.format(k, 0.03 * side, 0.01 * side, 0.04 * side, -0.02 * side)
        # The pin of the screw is at (0.02 side, 0, 0.32) in the world.
        closed += CONNECT.format(k, -0.05 * side, -0.06)
    return GRIPPER.format(fingers, closed)


def pantograph():
    """Return a leg of two thighs on one axle, a long shank and a short one, with a spring."""
    parts = [
        joint(
            'thigh',
            'continuous',
            'base',
            'thigh_link',
            axis=(0, 1, 0),
            body=inertial(1.5, (0.01, 0.02, -0.14), (0.06, 0.05, 0.3)),
        ),
        joint(
            'knee',
            'continuous',
            'thigh_link',
            'shank_link',
            (0, 0, -0.3),
            axis=(0, 1, 0),
            body=inertial(0.8, (0.0, -0.01, -0.2), (0.05, 0.04, 0.4)),
        ),
        joint(
            'lever',
            'continuous',
            'base',
            'lever_link',
            (0, 0.05, 0),
            axis=(0, 1, 0),
            body=inertial(0.5, (0.0, 0.01, -0.06), (0.04, 0.03, 0.14)),
        ),
        joint(
            'stay',
            'continuous',
            'lever_link',
            'stay_link',
            (0, 0, -0.12),
            axis=(0, 1, 0),
            body=inertial(0.4, (0.005, 0.0, -0.15), (0.03, 0.03, 0.3)),
        ),
        point('stay_end', 'stay_link', (0, 0, -0.3)),
        point('pin', 'shank_link', (0, 0.05, -0.12)),
    ]
    start = ('thigh 0.5', 'knee -1.1', 'lever -0.6', 'stay 1.1')
    return Sample(
        robot('pantograph', *parts),
        ('point stay_end pin',),
        ('thigh', 'lever'),
        start,
        (0.5, -0.6),
        (0.4, 0.4),
        springs={'knee': (15.0, -1.0)},
        friction={'thigh': (0.4, 0.8), 'lever': (0.3, 0.5)},
    )


def three_rrr():
    """Return a platform that three cranks move in a horizontal plane that is tilted."""
    parts, closures, start = [], [], []
    elbows = {}
    for k in range(3):
        way = 2 * np.pi * k / 3 + np.pi / 2
        foot, pin = (r * np.array([np.cos(way), np.sin(way)]) for r in (0.4, 0.12))
        gap = pin - foot
        length, along = np.hypot(*gap), np.arctan2(gap[1], gap[0])
        inner = np.arccos((0.2**2 + length**2 - 0.25**2) / (2 * 0.2 * length))
        first = along + inner
        tip = gap - 0.2 * np.array([np.cos(first), np.sin(first)])
        second = np.arctan2(tip[1], tip[0])
        parts += [
            joint(
                f'crank{k}',
                'continuous',
                'base',
                f'crank{k}_link',
                (*foot, 0),
                rpy=(0.0, 0.0, 0.0),
                body=inertial(0.5 + 0.1 * k, (0.1, 0.004, 0.0), (0.2, 0.03, 0.03)),
            ),
            joint(
                f'rod{k}',
                'continuous',
                f'crank{k}_link',
                f'rod{k}_link',
                (0.2, 0, 0),
                body=inertial(0.3, (0.12, -0.003, 0.0), (0.25, 0.02, 0.02)),
            ),
            point(f'end{k}', f'rod{k}_link', (0.25, 0, 0)),
            point(f'pin{k}', 'platform', (*pin, 0)),
        ]
        closures.append(f'point pin{k} end{k}')
        elbows[k] = first
        start += [f'crank{k} {first:.12g}', f'rod{k} {second - first:.12g}']
    parts = [
        joint('x', 'prismatic', 'base', 'slide_x', axis=(1, 0, 0)),
        joint('y', 'prismatic', 'slide_x', 'slide_y', axis=(0, 1, 0)),
        joint(
            'yaw',
            'continuous',
            'slide_y',
            'platform',
            body=inertial(1.0, (0.01, -0.02, 0.0), (0.25, 0.25, 0.03)),
        ),
        *parts,
    ]
    return Sample(
        robot('three_rrr', *parts),
        tuple(closures),
        ('crank0', 'crank1', 'crank2'),
        tuple(start),
        tuple(elbows.values()),
        (0.12,) * 3,
        ('x', 'y'),
        friction={f'crank{k}': (0.1 + 0.02 * k, 0.2 + 0.1 * k) for k in range(3)},
    )


def six_bar():
    """Return Watt's chain: a four-bar whose coupler drives a second loop to the base."""
    parts = [
        joint(
            'crank',
            'continuous',
            'base',
            'crank_link',
            axis=(0, 0, 1),
            body=inertial(0.8, (0.05, 0.003, 0.0), (0.12, 0.03, 0.03)),
        ),
        joint(
            'coupler',
            'continuous',
            'crank_link',
            'coupler_link',
            (0.1, 0, 0),
            body=inertial(0.7, (0.14, 0.04, 0.0), (0.3, 0.03, 0.03)),
        ),
        joint(
            'rocker',
            'continuous',
            'base',
            'rocker_link',
            (0.32, 0, 0),
            body=inertial(0.9, (0.1, 0.01, 0.0), (0.25, 0.03, 0.03)),
        ),
        joint(
            'bar',
            'continuous',
            'coupler_link',
            'bar_link',
            (0.15, 0.12, 0),
            body=inertial(0.5, (0.13, 0.0, 0.0), (0.28, 0.02, 0.02)),
        ),
        joint(
            'output',
            'continuous',
            'base',
            'output_link',
            (0.45, 0.1, 0),
            body=inertial(1.2, (0.09, -0.01, 0.0), (0.2, 0.04, 0.04)),
        ),
        point('coupler_end', 'coupler_link', (0.3, 0, 0)),
        point('rocker_pin', 'rocker_link', (0.22, 0, 0)),
        point('bar_end', 'bar_link', (0.28, 0, 0)),
        point('output_pin', 'output_link', (0.2, 0, 0)),
    ]
    start = ('crank 1.0', 'coupler -0.4', 'rocker 1.6', 'bar -0.4', 'output 1.9')
    text = robot('six_bar', *parts).replace(
        '<link name="base"/>',
        (
            '<link name="base0"/><link name="base"/><joint name="stand" type="fixed">'
            '<parent link="base0"/><child link="base"/><origin rpy="1.5707963 0 0"/></joint>'
        ),
    )
    return Sample(
        text,
        ('point rocker_pin coupler_end', 'point output_pin bar_end'),
        ('crank',),
        start,
        (1.0,),
        (0.8,),
        friction={'crank': (0.05, 0.2)},
    )


def rssr():
    """Return a crank that moves a rocker about a skew axis by a rod between two balls."""
    tilt = 0.9
    parts = [
        joint(
            'crank',
            'continuous',
            'base',
            'crank_link',
            rpy=(1.5707963, 0, 0),
            body=inertial(1.0, (0.04, 0.01, 0.02), (0.1, 0.03, 0.03)),
        ),
        joint('swing', 'continuous', 'crank_link', 'cross', (0.08, 0, 0.03), axis=(0, 1, 0)),
        joint(
            'lean',
            'continuous',
            'cross',
            'rod_link',
            axis=(0, 0, 1),
            body=inertial(0.6, (0.15, 0.004, -0.006), (0.3, 0.02, 0.02)),
        ),
        joint(
            'rocker',
            'continuous',
            'base',
            'rocker_link',
            (0.3, 0.15, -0.1),
            rpy=(tilt, 0.3, 0.0),
            body=inertial(1.3, (0.08, -0.02, 0.01), (0.2, 0.04, 0.04)),
        ),
        point('rod_end', 'rod_link', (0.32, 0, 0)),
        point('pin', 'rocker_link', (0.18, 0, 0.02)),
    ]
    return Sample(
        robot('rssr', *parts),
        ('point pin rod_end',),
        ('crank',),
        ('crank 0.5', 'rocker 1.9'),
        (0.5,),
        (1.5,),
        ('swing',),
        friction={'crank': (0.05, 0.2), 'rocker': (0.1, 0.15)},
    )


def linear_delta():
    """Return three vertical slides that carry a platform by two rods each."""
    rod, outer, inner, half, middle = 0.5, 0.35, 0.05, 0.04, 0.6
    parts, closures, start, massless = [], [], [], []
    tilt = np.arccos((outer - inner) / rod)
    for k in range(3):
        turn = 2 * np.pi * k / 3
        c, s = np.cos(turn), np.sin(turn)
        parts.append(
            joint(
                f'slide{k}',
                'prismatic',
                'base',
                f'carriage{k}',
                (outer * c, outer * s, 0),
                (0, 0, turn),
                (0, 0, 1),
                inertial(1.0 + 0.1 * k, (0.02, 0.004, 0.01), (0.1, 0.08, 0.1)),
            )
        )
        for side in (-1, 1):
            name = f'rod{k}{"ab"[side > 0]}'
            parts += [
                joint(
                    f'{name}_swing',
                    'continuous',
                    f'carriage{k}',
                    f'{name}_cross',
                    (0, side * half, 0),
                    axis=(0, 1, 0),
                ),
                joint(
                    f'{name}_tilt',
                    'continuous',
                    f'{name}_cross',
                    f'{name}_link',
                    body=inertial(0.1, (-rod / 2, 0.003, -0.002), (rod, 0.012, 0.014)),
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
            start += [f'{name}_swing {-tilt:.12g}', f'{name}_tilt 0.0']
        start.append(f'slide{k} {middle}')
    parts = [
        *parts,
        joint('x', 'prismatic', 'base', 'slide_x', axis=(1, 0, 0)),
        joint('y', 'prismatic', 'slide_x', 'slide_y', axis=(0, 1, 0)),
        joint(
            'z',
            'prismatic',
            'slide_y',
            'platform',
            axis=(0, 0, 1),
            body=inertial(0.5, (0.01, -0.006, 0.01), (0.1, 0.12, 0.02)),
        ),
    ]
    start.append(f'z {middle - rod * np.sin(tilt):.12g}')
    return Sample(
        robot('linear_delta', *parts),
        tuple(closures),
        ('slide0', 'slide1', 'slide2'),
        tuple(start),
        (middle,) * 3,
        (0.12,) * 3,
        ('x', 'y', *massless),
        friction={f'slide{k}': (12.0 + 4 * k, 5.0 - k) for k in range(3)},
    )


def corexy():
    """Return a carriage on a gantry that two motors move by two crossed belts."""
    radius = 0.02
    rotor = inertial(0.3, (0.001, 0.0005, 0.0), (0.04, 0.04, 0.05))
    parts = [
        joint(
            'gantry',
            'prismatic',
            'base',
            'gantry_link',
            axis=(0, 1, 0),
            body=inertial(2.0, (0.01, 0.02, 0.0), (0.6, 0.05, 0.05)),
        ),
        joint(
            'carriage',
            'prismatic',
            'gantry_link',
            'carriage_link',
            axis=(1, 0, 0),
            body=inertial(0.8, (0.0, 0.01, 0.03), (0.1, 0.1, 0.1)),
        ),
        *(
            joint(
                f'idler{k}',
                'continuous',
                'base',
                f'idler{k}_link',
                (0.3, 0.1 * k, 0),
                body=inertial(0.05, (0.0, 0.0, 0.0), (0.03, 0.03, 0.02)),
            )
            for k in (0, 1)
        ),
        *(
            joint(
                f'motor{k}', 'continuous', 'base', f'motor{k}_link', (-0.3, 0.1 * k, 0), body=rotor
            )
            for k in (0, 1)
        ),
    ]
    a, b = 1.0 / radius, 1.0 / radius
    closures = (
        f'coupling motor0 carriage {a} gantry {b}',
        f'coupling motor1 carriage {a} gantry {-b}',
        f'coupling idler0 carriage {a} gantry {b}',
        f'coupling idler1 carriage {a} gantry {-b}',
    )
    return Sample(
        robot('corexy', *parts),
        closures,
        ('motor0', 'motor1'),
        (),
        (0.0, 0.0),
        (8.0, 8.0),
        friction={
            'gantry': (8.0, 3.0),
            'carriage': (5.0, 2.0),
            'motor0': (0.002, 0.04),
            'motor1': (0.0015, 0.03),
        },
    )
