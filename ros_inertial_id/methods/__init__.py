"""
Methods: peers that turn what was measured into linear equations.

A method is a module with ``NAME``, ``Options`` and the functions ``parameters(robot, options)``,
``observe(recording, robot, options)``, ``regress(state, robot, parameters)``,
``row_names(robot)`` and ``random_state(robot, samples, rng)``; one line here makes it known.
"""

from . import serial_arm

METHODS = {module.NAME: module for module in (serial_arm,)}
