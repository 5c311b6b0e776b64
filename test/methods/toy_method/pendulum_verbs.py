"""The verb of the toy: how long a small swing takes."""

import math

from ros_inertial_id.cli.arguments import argument, Verb

VERBS = {
    'swing': Verb(
        'pendulums',
        'say how long a small swing takes',
        '1.0',
        'pendulum_verbs:swing',
        (argument('length', 'of the pendulum [m]', type=float),),
        prints_json=False,
    )
}


def swing(options):
    """Print the period of small swings of a point mass [s]."""
    print(f'{2.0 * math.pi * math.sqrt(options.length / 9.81):.3f} s')
