"""
Reading the training data again, for estimators that reweigh samples or need instruments.
"""

from dataclasses import replace

from .errors import ConfigError
from .measurement.signals import zero_phase_kernel


def readers(rows, robots, observations):
    """Return ``read`` and ``instruments`` of Problem: the training data once more."""
    def read(parameters):
        for robot, observation in zip(robots, observations):
            for state in observation.states(training=True):
                yield from rows.regress(state, robot, parameters)

    def instruments(parameters):
        for robot, observation in zip(robots, observations):
            pairs = zip(observation.states(training=True),
                        _followed(observation).states(training=True))
            for state, other in pairs:
                yield from zip(rows.regress(state, robot, parameters),
                               rows.regress(other, robot, parameters))

    return read, instruments


def _followed(observation):
    """Return the observation of a motion that follows the measured one without its noise."""
    motion = getattr(observation, 'motion', None)
    if not hasattr(motion or observation, 'kernel'):
        raise ConfigError('estimator instrumental', expected='a motion of joints or markers',
                          found='one without a low-pass to lower',
                          do='use another estimator')
    # The cutoff is three times where the motion ends: a third of it leaves motion, no noise.
    kernel = zero_phase_kernel(observation.clock.period, observation.summary['cutoff'] / 3.0)
    if motion:
        return replace(observation, motion=motion.filtered(kernel))
    return replace(observation, kernel=kernel, measured_velocity=False)
