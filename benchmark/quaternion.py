"""
The quaternion method (Cheng, Bi, Yuan 2022) by the command line on bags, for published.py.

Six cylinders in the paper's motion (2 s, 30 deg/s^2), written by Newton and Euler alone as a bag
of poses and wrenches at 1 kHz, rounded to seven significant digits as printed there, identified by
``inertial-id identify`` with principal unknowns.  The seed turns the base.
"""

from bag_identification import identified_bags
import cylinder_chain as chain
import numpy as np
from scipy.spatial.transform import Rotation
import yaml

from ros_inertial_id.measurement.recording import Channel, Recording

RATE, LONGEST = 1000.0, 2.0
BODIES = [f'b{k}' for k in range(1, 7)]
TRUE = np.concatenate([[m, m, m, a, b, b] for m, a, b in zip(chain.MASS, chain.J11, chain.J22)])
NAMES = [f'{n}{k}' for k in range(1, 7) for n in ('mx', 'my', 'mz', 'Ixx', 'Iyy', 'Izz')]
OPTIONS = {
    'unknowns': 'principal', 'sensor_bias': False, 'mass': 1e4, 'size': 1.0, 'mounting': 'upright',
    'gravity_magnitude': chain.GRAVITY, 'wrench_of': 'on_body', 'decimate': 1, 'cutoff': 40.0}


def rounded(x, digits=7):
    """Return x with that many significant digits."""
    size = 10.0 ** (digits - 1 - np.floor(np.log10(np.maximum(np.abs(x), 1e-300))))
    return np.round(x * size) / size


def recording(seed):
    """Return the Recording of the paper's motion, its base turned by a random angle."""
    rng, t = np.random.default_rng(seed), np.arange(0.0, LONGEST, 1.0 / RATE)
    base = Rotation.from_euler('z', rng.uniform(-np.pi, np.pi))
    channels = {}
    for name, (p, q, _, _, _, load) in zip(BODIES, chain.samples(t)):
        turn = base * Rotation.from_quat(q)
        channels[f'/{name}'] = channel(f'/{name}', 'geometry_msgs/msg/PoseStamped', t, {
            'position': base.apply(p), 'orientation_xyzw': turn.as_quat()})
        channels[f'/f{name}'] = channel(f'/f{name}', 'geometry_msgs/msg/WrenchStamped', t, {
            'force': base.apply(load[:, :3]), 'torque': base.apply(load[:, 3:])})
    return Recording(channels, '', 'upright', {'path': 'Newton and Euler'})


def channel(topic, kind, t, fields):
    """Return the Channel of samples at times t [s], rounded as the paper prints them."""
    stamps = np.round(t * 1e9).astype(np.int64) + 10 ** 9
    return Channel(topic, kind, stamps, stamps.copy(),
                   {name: rounded(values) for name, values in fields.items()})


def description():
    """Return the YAML of the chain, a wrench on both sides of every cylinder."""
    return yaml.safe_dump({
        'bodies': {n: {'pose': f'/{n}'} for n in BODIES},
        'wrenches': {f'/f{n}': {'acts_on': n, 'from': BODIES[k - 1] if k else '', 'axes': 'world',
                                'point': [float(-chain.LENGTH[k] / 2), 0.0, 0.0]}
                     for k, n in enumerate(BODIES)}}, sort_keys=False)


def identified(made):
    """Return (values (36,), standard errors) of the command line, NaN where not determined."""
    model, verdict = identified_bags([made], description(), {'rigid_body': OPTIONS})
    if model is None:
        raise SystemExit(verdict['reasons'])
    found = {e['name']: e for e in model['base']}
    return np.array([[np.nan if found[n][key] is None else found[n][key] for n in NAMES]
                     for key in ('value', 'standard_error')])


def worst_errors(value):
    """Return the largest errors of values (36,): [kg, kg m^2], and relative [%]."""
    off = np.abs(value - TRUE)
    return np.nanmax(off), 100.0 * np.nanmax(off / TRUE)
