"""
Checkup: what is wrong with a recording, found before its numbers are trusted.

    recordings -> signals -> signal checks -> masks -> wide factor -> causes -> findings -> verdict

Two families.  *Signal checks* (``signal_values``, ``signal_samples``) need the channels and the
limits of the description: units, signs, stamps, repeated, frozen, clipped and isolated samples.
*Causes* are rows of the table ``CHECKS`` in ``causes``: every alternative is another combination
of the columns of the wide factor that the identification uses, too, and is judged by stretches of
the motion that are left out (``judges``).  What no alternative explains stays in the residual, and
the verdict says so.  All thresholds stand in ``thresholds``.

A check is one function and one line in the table.
"""
