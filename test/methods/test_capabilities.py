"""What a method cannot do is refused by those who ask for it, naming the methods that can."""

import pytest

from ros_inertial_id.errors import ConfigError
from ros_inertial_id.identification.judge.prediction import of_joints
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.methods import METHODS
from ros_inertial_id.procedures.gravity import identify_gravity
from ros_inertial_id.procedures.online import OnlineIdentification
from ros_inertial_id.procedures.plan import check_options

PLATFORM = 'suspended_platform'


@pytest.mark.parametrize(
    'ask, able',
    [
        (
            lambda options: OnlineIdentification('', options, PLATFORM),
            {'serial_arm', 'closed_loop', 'rigid_body'},
        ),
        (lambda options: identify_gravity([], options, method=PLATFORM), {'serial_arm'}),
        (lambda options: check_options(PLATFORM, options), {'serial_arm'}),
        (
            lambda options: of_joints(METHODS[PLATFORM]),
            {'serial_arm', 'closed_loop', 'floating_base'},
        ),
    ],
)
def test_what_a_platform_cannot_do_is_refused_with_the_methods_that_can(ask, able):
    with pytest.raises(ConfigError) as refused:
        ask(options_class(PLATFORM)())
    words = str(refused.value)
    assert f'method {PLATFORM}' in words
    assert {name for name in METHODS if name in words} - {PLATFORM} == able
