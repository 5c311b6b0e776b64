"""
The simulated rigs under one contract, for the node that publishes them.

Each is an entry point of RIGS_GROUP (see plugins.py), made from the text of its description and a
seed of everything random.  It has ``description`` (URDF or YAML text), ``topics`` (topic: type),
``time`` [s] of its own clock, ``ends`` [s] (inf for one that goes on), ``advance()``, which moves
on by at most ``step`` [s] and returns the Channels of what was measured in it (stamps from 0), and
``truth`` : what an identification should find, name of the parameter -> value.  Topics named
``true_...`` are not measured: they hold what is to be predicted, without noise.
"""

from .slider_crank import LiveSliderCrank, TRUE_TORQUE
from .two_link_platform import LivePlatform
from .wrist_sensor import LiveWrist, TRUE_WRENCH

__all__ = ['LivePlatform', 'LiveSliderCrank', 'LiveWrist', 'TRUE_TORQUE', 'TRUE_WRENCH']
