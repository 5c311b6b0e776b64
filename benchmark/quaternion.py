"""
The quaternion method (Cheng, Bi, Yuan 2022) by the command line on bags, for published.py.

Six cylinders in the paper's motion (2 s, 30 deg/s^2), written by Newton and Euler alone as a bag,
rounded to seven significant digits as printed there, identified by ``inertial-id identify`` with
principal unknowns.  The seed turns the base.  Recorded are, as there, poses, wrenches, rates and
accelerations in 100 steps; or poses and wrenches alone, which are differentiated.
"""

from bag_identification import identified_bags
import cylinder_chain as chain
import numpy as np
from scipy.spatial.transform import Rotation
import yaml

from ros_inertial_id.measurement.recording import Channel, Recording

RATE, LONGEST = 50.0, 2.0
BODIES = [f'b{k}' for k in range(1, 7)]
TRUE = np.concatenate([[m, m, m, a, b, b] for m, a, b in zip(chain.MASS, chain.J11, chain.J22)])
NAMES = [f'{n}{k}' for k in range(1, 7) for n in ('mx', 'my', 'mz', 'Ixx', 'Iyy', 'Izz')]
OPTIONS = {
    'unknowns': 'principal',
    'sensor_bias': False,
    'mass': 1e4,
    'size': 1.0,
    'mounting': 'upright',
    'gravity_magnitude': chain.GRAVITY,
    'wrench_of': 'on_body',
}


def rounded(x, digits=7):
    """Return x with that many significant digits."""
    size = 10.0 ** (digits - 1 - np.floor(np.log10(np.maximum(np.abs(x), 1e-300))))
    return np.round(x * size) / size


def recording(seed, rate=RATE, rates=True):
    """Return the Recording of the paper's motion, its base turned by a random angle."""
    rng, t = np.random.default_rng(seed), np.arange(1, round(LONGEST * rate) + 1) / rate
    base = Rotation.from_euler('z', rng.uniform(-np.pi, np.pi))
    made = []
    for name, (p, q, omega, alpha, acc, load) in zip(BODIES, chain.samples(t)):
        turn = base * Rotation.from_quat(q)
        made += [
            (
                f'/{name}',
                'PoseStamped',
                {'position': base.apply(p), 'orientation_xyzw': turn.as_quat()},
            ),
            (
                f'/f{name}',
                'WrenchStamped',
                {'force': base.apply(load[:, :3]), 'torque': base.apply(load[:, 3:])},
            ),
        ]
        if rates:
            made += [
                (f'/v{name}', 'TwistStamped', {'angular_velocity': turn.apply(omega)}),
                (
                    f'/a{name}',
                    'AccelStamped',
                    {
                        'linear_acceleration': base.apply(acc),
                        'angular_acceleration': turn.apply(alpha),
                    },
                ),
            ]
    return Recording(
        {
            topic: channel(topic, f'geometry_msgs/msg/{kind}', t, fields)
            for topic, kind, fields in made
        },
        '',
        'upright',
        {'path': 'Newton and Euler'},
    )


def channel(topic, kind, t, fields):
    """Return the Channel of samples at times t [s], rounded as the paper prints them."""
    stamps = np.round(t * 1e9).astype(np.int64) + 10**9
    return Channel(
        topic,
        kind,
        stamps,
        stamps.copy(),
        {name: rounded(values) for name, values in fields.items()},
    )


def description(rates=True):
    """Return the YAML of the chain, a wrench on both sides of every cylinder."""
    return yaml.safe_dump(
        {
            'bodies': {
                n: {
                    'pose': f'/{n}',
                    **({'twist': f'/v{n}', 'accel': f'/a{n}', 'axes': 'world'} if rates else {}),
                }
                for n in BODIES
            },
            'wrenches': {
                f'/f{n}': {
                    'acts_on': n,
                    'from': BODIES[k - 1] if k else '',
                    'axes': 'world',
                    'point': [float(-chain.LENGTH[k] / 2), 0.0, 0.0],
                }
                for k, n in enumerate(BODIES)
            },
        },
        sort_keys=False,
    )


def identified(made, rates=True, **options):
    """Return (values (36,), standard errors) of the command line, NaN where not determined."""
    model, verdict = identified_bags(
        [made], description(rates), {'rigid_body': {**OPTIONS, **options}}
    )
    if model is None:
        raise SystemExit(verdict['reasons'])
    found = {e['name']: e for e in model['base']}
    return np.array(
        [
            [np.nan if found[n][key] is None else found[n][key] for n in NAMES]
            for key in ('value', 'standard_error')
        ]
    )


def worst_errors(value):
    """Return the largest errors of values (36,): [kg, kg m^2], and relative [%]."""
    off = np.abs(value - TRUE)
    return np.nanmax(off), 100.0 * np.nanmax(off / TRUE)
