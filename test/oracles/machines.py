"""The mechanisms of urdf/ with their closures, and a four-bar that is sawn through and welded."""

import mujoco_arm
import slider_crank_lagrangian as oracle

from ros_inertial_id.methods import METHODS

closed_loop = METHODS['closed_loop']
GRAVITY = (0.0, 0.0, -9.81)
MACHINES = {
    'slider_crank': (oracle.CLOSURES, ('crank',), oracle.START),
    'four_bar': (
        ('point rocker_pin coupler_end',),
        ('crank',),
        ('crank 1.0', 'coupler -0.4', 'rocker 1.6'),
    ),
    'parallelogram_arm': (
        ('point forearm_pin rod_end',),
        ('column', 'shoulder', 'lever'),
        ('shoulder 1.5', 'elbow -1.5', 'rod 1.5'),
    ),
    'welded_four_bar': (
        ('weld rocker_half other_half',),
        ('crank',),
        ('crank 1.0', 'coupler -0.4', 'rocker 1.6', 'pin 1.0'),
    ),
}
# The four-bar with its pin as a joint and its rocker sawn through: halves are welded together.
# The frames welded lie off the plane and are turned, so all six rows are at work.
SAWN = """
  <joint name="pin" type="continuous">
    <parent link="coupler_link"/><child link="coupler_end"/>
    <origin xyz="0.28 0 0"/><axis xyz="0 0 1"/>
  </joint>
  <link name="coupler_end"><inertial>
    <origin xyz="-0.04 0.01 0"/><mass value="0.3"/>
    <inertia ixx="1e-4" ixy="0" ixz="0" iyy="4e-4" iyz="0" izz="4.5e-4"/>
  </inertial></link>
  <joint name="other_half_joint" type="fixed">
    <parent link="coupler_end"/><child link="other_half"/>
    <origin xyz="-0.1 0.02 0.03" rpy="0.3 -0.5 0.8"/>
  </joint>
  <link name="other_half"/>
  <joint name="rocker_half_joint" type="fixed">
    <parent link="rocker_link"/><child link="rocker_half"/>
    <origin xyz="0.15 0.02 0.03" rpy="0.3 -0.5 0.8"/>
  </joint>
  <link name="rocker_half"/>
</robot>"""


def text(name):
    if name != 'welded_four_bar':
        return mujoco_arm.description(name)
    whole = mujoco_arm.description('four_bar')
    cut = whole.index('  <joint name="coupler_end_joint"')
    after = '<link name="coupler_end"/>'
    return (whole[:cut] + whole[whole.index(after) + len(after) :]).replace('</robot>', SAWN)


def machine(name, **changes):
    closures, independent, start = MACHINES[name]
    options = closed_loop.Options(
        **{**dict(closures=closures, independent=independent, start=start), **changes}
    )
    return closed_loop.build(text(name), options, GRAVITY)
