"""Recordings of the simulated rigs of the package, of which all is known."""

from dataclasses import replace

import mujoco_arm
import slider_crank_lagrangian as oracle

from ros_inertial_id.demonstration.simulated_rigs.slider_crank import SliderCrank, TRUE_TORQUE
from ros_inertial_id.demonstration.simulated_rigs.wrist_sensor import TRUE_WRENCH, WristRig
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.measurement.recording import Recording

CRANK_URDF = mujoco_arm.description('slider_crank')
CRANK, SLIDER, TAG = '/markers/crank_pin', '/markers/slider_pin', '/markers/rod_tag'
CRANK_OPTIONS = options_class('closed_loop')(
    closures=oracle.CLOSURES,
    independent=('crank',),
    start=oracle.START,
    estimator='ordinary',
    markers=(f'{CRANK} rod_link', f'{SLIDER} slider_link', f'{TAG} rod_tag pose'),
    marker_noise=1e-4,
    tag_noise=2e-3,
    torques=('crank /crank/torque z',),
)


def slider_crank(duration, seed=0):
    """Return the Recording of a slider-crank that is as its URDF says, seen by a camera."""
    channels = SliderCrank(CRANK_URDF, seed, mass_change=0.0).advance(duration)
    del channels[TRUE_TORQUE]
    return Recording(channels, CRANK_URDF, 'upright', {'path': 'simulated slider-crank'})


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
