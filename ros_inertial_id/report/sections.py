"""
Sections: what the pages consist of. Copy a list, reorder it, leave some out, add your own.

A section is a function of the numbers of a result and the Drawings of the page that yields its
Section: heading, sentences, tables, charts. Where there is nothing to show it yields none.

    from dataclasses import replace
    from ros_inertial_id.report.sections import friction, IDENTIFICATION, IdentifiedNumbers, links
    from ros_inertial_id.report.sections import Section, Table

    def masses(numbers, drawings):
        rows = [(link.name, f'{link.values[0]:.2f}') for link in numbers.links]
        yield Section('Masses', tables=[Table(('link', 'mass [kg]'), rows)])

    page = replace(IDENTIFICATION, sections=(masses, links, friction))
    page.write(IdentifiedNumbers(result.identification), 'mine.html')

The attributes of the numbers are documented at their class; ``numbers.model`` is all that was
identified. Methods of Drawings make charts and return their numbers, for ``Section.charts``. A
cell of a Table is a text, or a Cell with a number to sort by. A page of another head is
``Page(head, sections)``.

===================  ==================================  =======================================
section              heading                             reads
===================  ==================================  =======================================
of IdentifiedNumbers
prediction           How well it predicts                residuals, curves, uses, sentences
replay               Replay in a simulator               drift of a replay, the worst joint
links                What the links weigh                links, bodies of the model
friction             Friction                            friction curves of the training
decisions            What was decided, and why           choices, findings, sensors, settings
uncertainty          Uncertainty                         budget of errors by source
parameters           Parameters                          base parameters and their errors
provenance           Provenance                          recordings, versions, the command
of CheckedNumbers
recordings           Recording 1, 2, ...                 recorded signals, windows of findings
joints               Joints                              verdicts and residuals of joints
findings             Findings                            findings of the checks
of WeighedNumbers
components           Centre of mass and inertia          numbers of the load with their errors
for_controllers      For controllers                     the load in the words of controllers
holding              Holding torque                      the arm with and without the load
of a Drift
robots               name of the robot, number of bags   changes and series of each robot
bags_left_out        Bags left out                       paths and reasons
of AuditedNumbers
robot_in_space       The robot at zero positions         hulls and inertias of links
what_is_wrong        Findings                            findings, the worst first
every_link           Links                               mass, density, size of each link
of a Design
moving_arm           The moving arm                      the motion, its limits and torques
limits_used          Share of each limit used            use of limits, errors of torque
of a Comparison
residuals            Residuals                           relative residuals of all models
base_parameters      Base parameters                     estimates and their differences
on_one_bag           Predictions on one bag              residuals on the same recording
friction_over_speed  Friction over speed                 friction curves of all models
===================  ==================================  =======================================
"""

from typing import TYPE_CHECKING

from . import (
    audit_page,
    checkup_page,
    comparison_page,
    design_page,
    drift_page,
    identified_page,
    payload_page,
)
from .audit_page import AuditedNumbers, every_link, robot_in_space, what_is_wrong
from .checkup_page import CheckedNumbers, findings, joints, recordings
from .comparison import Comparison
from .comparison_page import base_parameters, friction_over_speed, on_one_bag, residuals
from .design_page import limits_used, moving_arm
from .drawings import Drawings
from .drift_page import bags_left_out, robots
from .identified_page import (
    decisions,
    friction,
    IdentifiedNumbers,
    links,
    parameters,
    prediction,
    provenance,
    replay,
    uncertainty,
)
from .page import Page
from .payload_page import components, for_controllers, holding, WeighedNumbers
from .sheet import Card, Cell, Section, Sheet, Table

__all__ = [
    'AUDIT',
    'AuditedNumbers',
    'bags_left_out',
    'base_parameters',
    'Card',
    'Cell',
    'CheckedNumbers',
    'CHECKUP',
    'COMPARISON',
    'components',
    'decisions',
    'DESIGN',
    'Drawings',
    'DRIFT',
    'every_link',
    'findings',
    'for_controllers',
    'friction',
    'friction_over_speed',
    'holding',
    'IDENTIFICATION',
    'IdentifiedNumbers',
    'joints',
    'limits_used',
    'links',
    'moving_arm',
    'on_one_bag',
    'Page',
    'parameters',
    'PAYLOAD',
    'prediction',
    'provenance',
    'recordings',
    'replay',
    'residuals',
    'robot_in_space',
    'robots',
    'Section',
    'Sheet',
    'Table',
    'uncertainty',
    'WeighedNumbers',
    'what_is_wrong',
]

if TYPE_CHECKING:  # scipy behind them takes a third of the time to start
    from ..excitation.design import Design
    from ..procedures.drift_result import Drift

IDENTIFICATION: Page[IdentifiedNumbers] = Page(
    identified_page.head,
    (prediction, replay, links, friction, decisions, uncertainty, parameters, provenance),
)
CHECKUP: Page[CheckedNumbers] = Page(checkup_page.head, (recordings, joints, findings))
AUDIT: Page[AuditedNumbers] = Page(audit_page.head, (robot_in_space, what_is_wrong, every_link))
PAYLOAD: Page[WeighedNumbers] = Page(payload_page.head, (components, for_controllers, holding))
DRIFT: 'Page[Drift]' = Page(drift_page.head, (robots, bags_left_out))
DESIGN: 'Page[Design]' = Page(design_page.head, (moving_arm, limits_used))
COMPARISON: Page[Comparison] = Page(
    comparison_page.head,
    (residuals, base_parameters, on_one_bag, friction_over_speed),
)
