"""
Thresholds of findings and verdicts: what each means, on one page.

The checks, the report, the nodes and the documentation read it; none has thresholds of its own.
"""

# Verdicts: of the residual of a joint relative to its torque, RMS over RMS, on data left out.
HALF = 0.5      # more is left: a model explains three quarters of the variance at least
FIFTH = 0.2     # more is left: the numbers are usable, not good
TENTH = 0.1     # more is left and lasts: something that the model lacks
LASTING = 0.3   # [s] for which a residual is correlated that no filter makes so
WORSE = 1.3     # times what the description alone leaves, whose friction is fitted as well

# Findings
CERTAIN = 7.0   # nats: odds of a thousand to one, below which no cause is named
VISIBLE = 0.02  # of all torques: less is not worth a word

# Contacts
CONTACT_WINDOW = 0.2     # [s] over which residuals are averaged
CONTACT_SHARE = 0.2      # of the samples: more is no event but how the data are
CONTACT_FAR = 3.0        # times the residual of the whole joint, that a contact leaves at least
CONTACT_SLOW = 0.2       # of a joint's usual speed: below it friction does what no law describes
CONTACT_MARGIN = 0.1     # [s] on either side that are left out as well
MOTION_BEGINS = 1.5      # [s] in which a motion begins or ends, as friction likes
PUSH_LESS = 0.9          # of its residual, that a long push leaves of a joint that is concerned

# Velocities, measured against differentiated positions
VELOCITY_SEEN = 0.005    # relative disagreement: less changes no torque
VELOCITY_FOREIGN = 0.5   # relative disagreement: more is no copy of the motion, but another thing
VELOCITY_BETTER = 1.05   # times the residual of the usual kind: noise that differs makes less
