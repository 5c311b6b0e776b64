"""
Checkup: what is wrong with a recording, found before its numbers are trusted.

    recording -> signals -> masks -> wide factor -> contacts -> verdict -> causes -> findings

*Signal checks* (``signal_values``, ``signal_samples``) need the channels and the limits of the
description.  *Model checks* (``model_checks``) ask the wide factor that the identification goes on
with: ``contacts`` looks at residuals over time, ``velocity_kind`` at which velocities predict, and
``causes``, a table, at what could be wrong, where the verdict is not good anyway.  Free bodies and
those described compare each alternative on stretches left out (``recording_under_test``).

Findings are data: ``finding_kinds`` has their words, ``explains`` what explains what, ``verdicts``
the rules, ``thresholds`` all numbers.  What no cause explains stays in the residual, and the
verdict says so.
"""
