"""
Mechanisms with joints that nothing drives: free swings, and a series-elastic joint.

Motions and torques by closed forms (test/oracles); rows of bodies.py.
"""

import numpy as np
import series_elastic
import slider_crank_lagrangian as crank
import slider_crank_runs

from ros_inertial_id.identification.settings import options_class

OPTIONS = options_class('closed_loop')


def gravity(seeds, rate):
    """Yield a slider-crank that swings freely; the first base parameter is known."""
    options = OPTIONS(closures=crank.CLOSURES, independent=('crank',), start=crank.START,
                      estimator='ordinary', actuated=('none',),
                      known=(f"mcxR1 {crank.BASE['mcxR1']}",))
    for seed in range(seeds):
        rng, t = np.random.default_rng(seed), np.arange(0.0, 20.0, 1.0 / rate)
        z = crank.free_motion(t, (rng.uniform(0.0, 6.0), rng.uniform(3.0, 8.0)))
        z += 1e-4 * rng.standard_normal(len(t))
        recording = crank.encoder_recording(t, z, np.full_like(t, np.nan), slider_crank_runs.URDF)
        yield [recording], options, 'closed_loop', '', crank.BASE


def elastic(seeds, estimator):
    """Yield the series-elastic joint, whose link has an encoder and no motor."""
    options = OPTIONS(estimator=estimator, **series_elastic.PASSIVE)
    for seed in range(seeds):
        yield [series_elastic.recording(seed)], options, 'closed_loop', '', series_elastic.TRUE
