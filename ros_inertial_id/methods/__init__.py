"""
Methods: peers that turn what was measured into linear equations.

A method is a module with ``NAME``, ``Options`` and six functions; one line here makes it known.

build(urdf, options, gravity_base) -> robot : what mechanics knows of it, with ``name, urdf,
    base_link, joint_names, link_names, inertias, gravity_base, kinematics_sha256()``
parameters(robot, options) -> tuple of Parameter : one per column
observe(recording, robot, options) -> observation : with ``samples(training)``,
    ``states(training)`` (an iterator of states, each call anew, memory of one piece) and
    ``summary`` (what was understood; ``cutoff`` and ``velocity`` as chosen)
regress(state, robot, parameters) -> iterator of RegressorBlock
random_state(robot, samples, rng) -> state : what the structure alone can show
region(state, robot) -> {where: {quantity: (N,)}} : what bounds the validity of a model

A method may offer a seventh, and is then predicted live:

live(robot, options, lag, found) -> object with ``topics``, ``origin_ns`` (zero of its seconds),
    ``gaps`` and ``heard`` (counts), ``add(channel)`` for new samples of a topic, ``take()`` ->
    (stamps [s], state on a uniform clock around them) or None; lag : [s] of the newest state;
    found : ``summary`` of the observation that the model comes from.  It may have ``deviation``:
    joint -> standard deviations of its newest position, velocity, acceleration

One whose robot is calibrated, with errors of its own, offers two more:

calibrated(state, robot) -> iterator of RegressorBlock about the numbers whose covariance is
    ``robot.covariance``, beside those of ``regress``: both together are zero; its observations
    have a ``motion`` with ``slips()``, see platform_motion.Slip
links(robot, options) -> tuple of Parameter : all ten of every link, also of the first whose mass
    ``parameters`` leaves out as the rest of ``robot.mass``

And one that computes its rows from a filtered motion, where the torque is as recorded:

noise(observation, robot, parameters, values) -> iterator of (RegressorBlock, {group: errors
    (B, R)}, how many times it counts): R draws of what the motion's noise does to the rows
"""

from . import closed_loop, rigid_body, serial_arm, suspended_platform

METHODS = {module.NAME: module
           for module in (serial_arm, closed_loop, rigid_body, suspended_platform)}
