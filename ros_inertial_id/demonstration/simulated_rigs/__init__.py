"""
The simulated rigs under one contract, for the node that publishes them.

Each is an entry point of RIGS_GROUP (see plugins.py), made from the text of ``urdf`` and a seed of
everything random.  It has ``topics`` (topic: type), ``time`` [s] of its own clock, ``advance()``,
which moves on by ``step`` [s] and returns the Channels of what was measured in it (stamps from 0),
and ``truth`` : what an identification should find, name of the parameter -> value.  Topics named
``true_...`` are not measured: they hold what is to be predicted, without noise.
"""
