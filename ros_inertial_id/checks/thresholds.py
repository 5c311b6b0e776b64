"""
Thresholds of findings and verdicts: what each means, on one page.

The checks, the report, the nodes and the documentation read it; none has thresholds of its own.
"""

# Causes, by errors of stretches that are left out
SURE = 4.0      # standard errors over stretches by which a cause predicts better than none
ASKED = 2.0     # the same of linear solutions, from which consistent ones are asked
BEST = 0.01     # of a joint's torque: no model is better, and what is below is no evidence
ALIKE = 1.1     # factor between two residuals that says nothing

# Causes, by their size: less is no fault, or what friction and elasticity do
GAIN = 1.1         # factor of one joint
UNIT = 1.5         # factor between most joints and the middle one, or of percent of a limit
DESCRIBED = 2.7    # factor of one joint; of n joints alike its sqrt(n)-th root: bodies may be so
LATE = 0.004       # [s] of all joints
LATE_ALONE = 0.012  # [s] of one joint
TOO_LATE = 0.02    # [s]: mend it first
ZERO = 0.02        # [rad, m] of an encoder
TURNED = 0.087     # [rad] of gravity, 5 degrees
LOAD = 0.1         # [kg] at the last link

# What no cause explains, of all torques
VISIBLE = 0.02  # is left at least where a description alone is bad
FOREIGN = 0.35  # is left by any bodies: another robot
NOTHING = 0.9   # is left: the efforts have nothing to do with the motion
RESTS = 0.1     # of the samples: an arm that moves in less is at rest
SLOW = 0.03     # [rad/s]: an arm that moves less is at rest

# Contacts
CONTACT_MARGIN = 0.1  # [s] on either side that are left out as well
