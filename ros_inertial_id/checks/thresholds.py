"""
Thresholds of verdicts, contacts, velocities and causes: what each means, on one page.

The checks, the report, the nodes and the documentation read it.  Numbers that say what a sample of
a signal looks like stand with the signal checks.
"""

# Verdicts: of the residual of a joint relative to its torque, RMS over RMS, on data left out.
UNUSABLE_RESIDUAL = 0.5  # more: a model explains three quarters of the variance at least
GOOD_RESIDUAL = 0.2  # more: the numbers are usable, not good
SYSTEMATIC_RESIDUAL = 0.1  # more that is no noise: something that the model of the joint lacks
SYSTEMATIC_OF_ALL = 0.0125  # of all torques: another motion may show four times as much, 5 %
FAR_ABOVE = 3.0  # times the residual in training, on a validation: it shows what the model lacks
BEYOND_NOISE = 3.0  # times what noise of the efforts leaves: systematic, no sensor explains it
BOTH_SIDES = 2.0  # standard errors of what is systematic: 95 %
ROUNDED = 1e-6  # of the largest of other rows: what a row that measures less says is rounding
WORSE_THAN_DESCRIBED = 1.3  # times what the description leaves, whose friction is fitted as well

# Findings
STRONG_EVIDENCE = 3.0  # log odds of 20 to 1, for a note on a link (Kass and Raftery 1995)
CERTAIN_FINDING = 7.0  # log-likelihood difference of odds of a thousand to one: less is no finding

# Contacts
CONTACT_CERTAIN = 9.2  # log-likelihood difference, odds of ten thousand to one: windows are many
CONTACT_WINDOW = 0.2  # [s] over which residuals are averaged
CONTACT_SHARE = 0.2  # of the samples: more is no event but how the data are
CONTACT_FAR = 3.0  # times the residual of the whole joint, that a contact leaves at least
CONTACT_RESIDUAL = 0.2  # of a joint's torque, that a contact leaves at least
CONTACT_SLOW = 0.2  # of a joint's usual speed: below it friction does what no law describes
CONTACT_MARGIN = 0.1  # [s] on either side that are left out as well
MOTION_BEGINS = 1.5  # [s] in which a motion begins or ends, as friction likes
CONTACT_LOAD = 0.02  # of all torques, that what touches the arm takes at least

# Velocities, measured against differentiated positions
VELOCITY_DISAGREES = 0.005  # relative disagreement: less changes no torque
VELOCITY_FOREIGN = 0.5  # relative disagreement: more is no copy of the motion, but another thing
VELOCITY_BETTER = 1.05  # times the residual of the usual kind: noise that differs makes less

# Causes, by errors of stretches that are left out
SURE_OF_CAUSE = 4.0  # standard errors over stretches by which a cause predicts better than none
ASKED = 2.0  # the same of linear solutions, from which consistent ones are asked
RESIDUAL_FLOOR = 0.01  # of a joint's torque: no model is better, and what is below is no evidence
ALIKE_RESIDUALS = 1.1  # factor between two residuals that says nothing

# Causes, by their size: less is no fault, or what friction and elasticity do
LEAST_GAIN = 1.1  # factor of one joint; below its square doubtful: friction that grows with load
UNIT = 1.5  # factor between most joints and the middle one, or of percent of a limit
GAIN_OF_ALL = 2.7  # factor of one joint; of n joints alike its sqrt(n)-th root: bodies may be so
LATE_OF_ALL = 0.004  # [s] of all joints
LATE_ALONE = 0.012  # [s] of one joint
UNUSABLE_DELAY = 0.02  # [s]: mend it first
DELAY_BY_LOAD = 0.5  # of a delay: friction that grows with the load explains the rest of it
ENCODER_ZERO = 0.02  # [rad, m] of an encoder
TURNED_GRAVITY = 0.087  # [rad] of gravity, 5 degrees
LEAST_LOAD = 0.1  # [kg] at the last link
LOAD_OF_LINK = 0.3  # of the described mass of the last link: less is how descriptions are wrong
MASSES_OF_GAINS = 0.02  # by which each described torque is off where gains were found by them

# What no cause explains, of all torques
VISIBLE = 0.04  # is left by any bodies where by those described UNUSABLE_RESIDUAL is: foreign
FOREIGN_RESIDUAL = 0.35  # is left by any bodies: another robot
UNRELATED_RESIDUAL = 0.9  # is left: the efforts have nothing to do with the motion
MOVING_SHARE = 0.1  # of the samples: an arm that moves in less is at rest
RESTING_SPEED = 0.03  # [rad/s]: an arm that moves less is at rest
