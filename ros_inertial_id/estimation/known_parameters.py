"""
Known parameters: values that need not be estimated, exact or with their uncertainty.

What is known replaces the robot description's prior: nominal value and prior standard deviation of
the Parameter.  The estimators that use priors (ridge, and the consistent estimate) then keep it,
and whatever is grouped with it gets the remainder: for an exact value that is the same as
subtracting its columns from the measured torque.
"""

from collections.abc import Sequence
from dataclasses import replace

from ..dynamics.description import HEAVIEST
from ..dynamics.friction import never_negative
from ..dynamics.inertial_parameters import Parameter
from ..errors import ConfigError

EXACT = 1e-6  # of the physical scale: the prior standard deviation of what is taken as exact


def with_known(parameters: Sequence[Parameter], lines: Sequence[str]) -> tuple[Parameter, ...]:
    """
    Return the Parameters (tuple) with what the ``lines`` say.

    Each line is ``NAME``, ``NAME VALUE`` or ``NAME VALUE STANDARD_DEVIATION``; NAME is a parameter
    (Izz3, fv2), a link (all ten as described) or a joint (its friction, none); without VALUE the
    description holds.
    parameters : (p,) before
    ConfigError where a line cannot be read or names nothing.
    """
    out = list(parameters)
    for line in lines:
        words = str(line).replace(',', ' ').split()
        try:
            numbers = [float(word) for word in words[1:]]
        except ValueError:
            numbers = None
        if (not words or numbers is None or len(numbers) > 2
                or not all(abs(x) < HEAVIEST for x in numbers) or not all(numbers[1:])
                or min(numbers[1:], default=1.0) < 0.0):
            raise ConfigError('option given', found=repr(line),
                              expected='NAME, NAME VALUE or NAME VALUE STANDARD_DEVIATION')
        single = [k for k, p in enumerate(out) if p.name == words[0]]
        owned = [k for k, p in enumerate(out) if p.owner == words[0]]
        if not single and not owned:
            raise ConfigError('option given', found=words[0], exists=sorted(
                {p.name for p in out} | {p.owner for p in out}))
        if owned and not single and numbers:
            raise ConfigError('option given', expected=f'{words[0]} without a value, or one of '
                              'its parameters', found=repr(line))
        for k in single or owned:
            value = numbers[0] if numbers else out[k].nominal
            if value < 0.0 and never_negative(out[k]):
                raise ConfigError('option given', expected=f'{words[0]} that is not negative',
                                  found=repr(line))
            prior_sd = numbers[1] if len(numbers) == 2 else EXACT * out[k].scale
            out[k] = replace(out[k], nominal=value, prior_sd=prior_sd)
    return tuple(out)


def is_known(parameter: Parameter) -> bool:
    """Return whether a Parameter is taken as exact."""
    return parameter.prior_sd <= 2.0 * EXACT * parameter.scale
