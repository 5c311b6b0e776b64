"""Recordings of the simulated rigs of the package, of which all is known."""

from dataclasses import replace

from ros_inertial_id.measurement.recording import Recording
from ros_inertial_id.rigs.simulation.slider_crank import SliderCrank, TRUE_TORQUE
from ros_inertial_id.rigs.simulation.wrist_sensor import TRUE_WRENCH, WristRig


def slider_crank(urdf, duration, seed=0):
    """Return the Recording of a slider-crank that is as its URDF says."""
    channels = SliderCrank(urdf, seed, mass_change=0.0).advance(duration)
    del channels[TRUE_TORQUE]
    return Recording(channels, urdf, 'upright', {'path': 'simulated slider-crank'})


def wrist(urdf, duration, gravity=(0.0, 0.0, -9.81)):
    """Return the Recording of the payload at the wrist of an arm; gravity : in its base frame."""
    rig = WristRig(urdf)
    rig.model.opt.gravity[:] = gravity
    channels = rig.advance(duration)
    del channels[TRUE_WRENCH]
    late = {
        topic: replace(c, stamp_ns=c.stamp_ns + 10**9, received_ns=c.received_ns + 10**9)
        for topic, c in channels.items()
    }
    return Recording(late, urdf, 'upright', {'path': 'simulated wrist rig'})
