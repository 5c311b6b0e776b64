"""
Checkup: what is wrong with a recording, found before its numbers are trusted.

    recordings -> signals -> signal checks -> masks -> samples -> causes -> findings -> verdict

Two families.  *Signal checks* (``signal_values``, ``signal_samples``) need the channels and the
limits of the description: units, signs, stamps, repeated, frozen, clipped and isolated samples.
*Model checks* (``efforts``, ``gains``, ``gravity``, ``encoders``, ``contacts``) combine columns of
the products of ``samples`` and compare evidence in cross-validation: every alternative changes
the targets (sign, order, gain, delay of the efforts), gravity (none, another direction) or adds
columns (encoder zero, a long push), and its evidence is

    sum over joints of  n_j log(sigma_j(as recorded) / sigma_j(alternative))  +  prior     [nats]

with sigma_j the cross-validation residual, n_j the effective samples (integrated autocorrelation
time) and the prior the distance of the parameters from the description (which decides the sign of
masses) and friction that must brake.  So parameters that explain nothing cost evidence, and
correlated residuals do not count as many.

An alternative becomes a finding when its evidence exceeds ``LIMIT`` (odds of a thousand to one for
each that is tried), and the residual it removes is worth a remark.  The best one is reported: the
others are mostly its shadows, and are asked again once it is corrected.  Two causes that explain
alike are both named.  What no alternative explains stays in the residual, and the verdict says so.

A check is one function and one line in the table ``CHECKS`` of its module.
"""
