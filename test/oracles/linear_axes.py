"""Machines of slides alone, in closed form: three axes, and two motors on one beam."""

from mechanisms import inertial, joint, robot
import numpy as np
from pinocchio_loops import motion
from recordings import joint_states, of_rig

MASSES = 20.0, 8.0, 5.0  # [kg] of bridge, trolley and quill, each carries the next
DAMPING, DRY = np.array([30.0, 20.0, 15.0]), np.array([12.0, 8.0, 6.0])
BEAM, HEAD, CARRIAGES = 12.0, 3.0, (2.0, 2.2)  # [kg]
BEAM_DAMPING, BEAM_DRY, HEAD_DAMPING, HEAD_DRY = 57.0, 23.0, 7.0, 4.0  # of beam and motors: sums
AXES = (1, 0, 0), (0, 1, 0), (0, 0, 1)
NOISE = 1e-5, 0.01  # [m] of positions; of forces, share of their size


def three_axes(axes=AXES):
    """Return the URDF of slides x, y and z, one on the other, along ``axes``."""
    bridge, trolley, quill = MASSES
    return robot(
        'three_axes',
        joint(
            'x',
            'prismatic',
            'base',
            'bridge',
            axis=axes[0],
            body=inertial(bridge, (0.05, 0.3, 0.1), (0.2, 1.2, 0.2)),
        ),
        joint(
            'y',
            'prismatic',
            'bridge',
            'trolley',
            (0, 0, 0.2),
            axis=axes[1],
            body=inertial(trolley, (0.02, 0.0, 0.05), (0.2, 0.2, 0.3)),
        ),
        joint(
            'z',
            'prismatic',
            'trolley',
            'quill',
            (0.1, 0, 0),
            axis=axes[2],
            body=inertial(quill, (0.0, 0.01, -0.2), (0.1, 0.1, 0.6)),
        ),
    )


def of_three_axes(seed, urdf=None, times=(1.0, 1.0, 1.0)):
    """Return the Recording of three axes whose positions are said ``times`` as large."""
    t, z, rate, second = motion((0, 0, 0), (0.3, 0.25, 0.15), 20.0, 400.0, seed)
    carried = np.cumsum(MASSES[::-1])[::-1]
    force = carried * (second + np.array([0.0, 0.0, 9.81]))
    force += DAMPING * rate + DRY * np.sign(rate)
    rng = np.random.default_rng(seed)
    position = z * np.array(times) + NOISE[0] * rng.standard_normal(z.shape)
    effort = force + NOISE[1] * force.std(0) * rng.standard_normal(z.shape)
    states = joint_states(('x', 'y', 'z'), t, position=position, effort=effort)
    return of_rig(urdf or three_axes(), states, path='closed form')


def two_motors():
    """Return the URDF of a beam with a head, and of two carriages that belts tie to the beam."""
    left, right = CARRIAGES
    return robot(
        'gantry',
        joint(
            'left',
            'prismatic',
            'base',
            'left_carriage',
            (0, 0.5, 0),
            axis=(1, 0, 0),
            body=inertial(left, (0, 0, 0.02), (0.1, 0.1, 0.1)),
        ),
        joint(
            'right',
            'prismatic',
            'base',
            'right_carriage',
            (0, -0.5, 0),
            axis=(1, 0, 0),
            body=inertial(right, (0, 0, 0.02), (0.1, 0.1, 0.1)),
        ),
        joint(
            'beam',
            'prismatic',
            'base',
            'beam_link',
            (0, 0, 0.1),
            axis=(1, 0, 0),
            body=inertial(BEAM, (0, 0, 0), (0.1, 1.0, 0.1)),
        ),
        joint(
            'head',
            'prismatic',
            'beam_link',
            'head_link',
            axis=(0, 1, 0),
            body=inertial(HEAD, (0, 0, -0.1), (0.1, 0.1, 0.2)),
        ),
    )


def of_two_motors(seed):
    """Return the Recording of both motors, whose shares of the beam's force vary, and the head."""
    t, z, rate, second = motion((0, 0), (0.3, 0.25), 20.0, 400.0, seed)
    together = (BEAM + HEAD + sum(CARRIAGES)) * second[:, 0]
    together += BEAM_DAMPING * rate[:, 0] + BEAM_DRY * np.sign(rate[:, 0])
    head = HEAD * second[:, 1] + HEAD_DAMPING * rate[:, 1] + HEAD_DRY * np.sign(rate[:, 1])
    share = 0.5 + 0.1 * np.sin(2.0 * t)
    force = np.stack([share * together, (1.0 - share) * together, head], axis=1)
    rng = np.random.default_rng(seed)
    position = z[:, [0, 0, 1]] + NOISE[0] * rng.standard_normal(force.shape)
    effort = force + NOISE[1] * force.std(0) * rng.standard_normal(force.shape)
    states = joint_states(('left', 'right', 'head'), t, position=position, effort=effort)
    return of_rig(two_motors(), states, path='closed form')
