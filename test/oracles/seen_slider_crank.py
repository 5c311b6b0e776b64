"""
Markers on the slider-crank by hand: points, a tag, occlusion, exchanges, outliers.

Shares no code with what sees them: places follow from two lengths, torques from the Lagrangian.
"""

import mujoco_arm
import numpy as np
from recordings import channel_of, joint_states, of_rig, stamps_of
from scipy.spatial.transform import Rotation
import slider_crank_lagrangian as oracle

from ros_inertial_id.identification.settings import options_class

URDF = mujoco_arm.description('slider_crank')
CRANK, SLIDER, TAG = '/crank_pin', '/slider_pin', '/rod_tag'
LINES = (f'{CRANK} rod_link', f'{SLIDER} slider_link', f'{TAG} rod_tag pose')
NOISE, TAG_NOISE = 3e-4, 5e-3  # [m], [rad]
OPTIONS = options_class('closed_loop')(
    closures=oracle.CLOSURES,
    independent=('crank',),
    start=oracle.START,
    estimator='ordinary',
    marker_noise=NOISE,
    tag_noise=TAG_NOISE,
    markers=LINES[:2],
    torques=('crank /torque',),
)
TAG_PLACE = 0.12, 0.01  # [m] along the rod and beside it, from urdf/slider_crank.urdf
UPRIGHT = Rotation.from_euler('x', np.pi / 2)  # the plane of the mechanism in its base
DURATION, RATE = 6.0, 240.0


def truth(t):
    """Return crank angle, rate and acceleration at times t (N,) [s]."""
    z, rate, second = oracle.lively(t)
    return z + 0.5, rate, second


def places(z):
    """Return topic -> positions (M, 3) by hand, and the rod's angle to the base (M,)."""
    pin = oracle.L1 * np.stack([np.cos(z), np.sin(z), 0.0 * z], axis=1)
    angle = -np.arcsin(oracle.L1 / oracle.L2 * np.sin(z))
    along = np.stack([np.cos(angle), np.sin(angle), 0.0 * z], axis=1)
    out = {
        CRANK: pin,
        SLIDER: pin + oracle.L2 * along,
        TAG: pin + TAG_PLACE[0] * along + [0, 0, TAG_PLACE[1]],
    }
    return {topic: UPRIGHT.apply(p) for topic, p in out.items()}, angle


def marker_channel(topic, stamps, position, turn=None):
    """Return the Channel of a point at ``position`` (M, 3) [m], of a tag with its Rotation."""
    fields, kind = {'position': position}, 'PointStamped'
    if turn is not None:
        fields['orientation_xyzw'], kind = turn.as_quat(), 'PoseStamped'
    return channel_of(topic, f'geometry_msgs/msg/{kind}', stamps, fields)


def noisy_tag(rng, angle):
    """Return the Rotation of the tag in the base as it is read, by the rod's angle (M,)."""
    turn = UPRIGHT * Rotation.from_euler('z', angle[:, None])
    return turn * Rotation.from_rotvec(TAG_NOISE * rng.standard_normal((len(angle), 3)))


def recording(seed, seen, wrong=0.0, camera=None, noise=NOISE, begin=0.0):
    """
    Return the Recording of DURATION.

    seen : topic -> (M,) of t (M,) in which it is seen; wrong : share of frames with the two pins
    exchanged, and of readings anywhere; camera : X Y Z ROLL PITCH YAW
    noise : of positions [m]; begin : the first frame [s]
    """
    rng, t = np.random.default_rng(seed), np.arange(begin, DURATION, 1 / RATE)
    points, angle = places(truth(t)[0])
    swapped = rng.random(len(t)) < wrong
    points[CRANK][swapped], points[SLIDER][swapped] = (
        points[SLIDER][swapped].copy(),
        points[CRANK][swapped].copy(),
    )
    stamps, channels = stamps_of(t), []
    view = Rotation.from_euler('xyz', (camera or np.zeros(6))[3:]).inv()
    for topic, chosen in seen.items():
        at = points[topic] + noise * rng.standard_normal((len(t), 3))
        astray = rng.random(len(t)) < wrong
        at[astray] += rng.uniform(-0.3, 0.3, (int(astray.sum()), 3))
        position, turn = view.apply(at - (camera or np.zeros(6))[:3]), None
        if topic == TAG:
            turn = view * noisy_tag(rng, angle)
        rows = chosen(t, rng)
        channels.append(marker_channel(topic, stamps, position, turn).rows(rows))
    t = np.arange(0.0, DURATION, 1e-3)
    tau = oracle.torque(*truth(t)) + 1e-2 * rng.standard_normal(len(t))
    channels.append(joint_states(('crank',), t, '/torque', effort=tau[:, None]))
    return of_rig(URDF, *channels)


def always(t, rng):
    return np.ones(len(t), dtype=bool)


def four_of_five(t, rng):
    return rng.random(len(t)) < 0.8
