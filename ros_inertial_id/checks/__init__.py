"""
Checkup: what is wrong with a recording, found before its numbers are trusted.

    recording -> signals -> signal checks -> masks -> wide factor -> contacts, causes -> verdict

*Signal checks* (``signal_values``, ``signal_samples``) need the channels and the limits of the
description: units, signs, stamps, repeated, frozen, clipped and isolated samples.  *Model checks*
ask the wide factor that the identification goes on with: ``causes`` is a table of what could be
wrong, as changed columns (``alternatives``), which two judges (``judges``) compare on stretches
left out; ``contacts`` looks at residuals over time, ``velocity_kind`` at which velocities predict.
What no cause explains stays in the residual, and the verdict (``finding``) says so.

A check is one function and one line in a table ``CHECKS``; all thresholds stand in ``thresholds``.
"""
