"""Springs of a mechanism against the slope of their energy, places by pinocchio."""

from machines import machine, text
import numpy as np
import pinocchio as pin
import pytest

from ros_inertial_id.errors import ConfigError
from ros_inertial_id.methods import METHODS

closed_loop = METHODS['closed_loop']


def lengths(mechanism, q):
    """Return the distance (N,) of two links of the four-bar, far from their joints."""
    model = pin.buildModelFromXML(text('four_bar'))
    data, out = model.createData(), []
    for posture in mechanism.pin_q(q):
        pin.framesForwardKinematics(model, data, posture)
        a, b = (
            data.oMf[model.getFrameId(name)].translation for name in ('coupler_end', 'base_link')
        )
        out.append(np.linalg.norm(a - b))
    return np.array(out)


@pytest.mark.parametrize(
    'line, force',
    [
        ('between coupler_end base_link 0.2', (lambda x: x - 0.2,)),
        ('between coupler_end base_link', (lambda x: x, np.ones_like)),
    ],
)
def test_a_spring_between_two_links_has_the_slope_of_its_energy(line, force):
    mechanism = machine('four_bar', springs=(line,))
    z, h = np.linspace(0.8, 2.0, 5)[:, None], 1e-5
    zero = np.zeros_like(z)
    length, above, below = (
        lengths(mechanism, closed_loop.state_of(mechanism, z + step, zero, zero).q)
        for step in (0.0, h, -h)
    )
    slope = (above - below) / (2 * h)
    state = closed_loop.state_of(mechanism, z, zero, zero)
    assert len(mechanism.forces) == len(force)
    for element, law in zip(mechanism.forces, force):
        np.testing.assert_allclose(
            element.column(mechanism.robot, state)[:, 0], law(length) * slope, atol=1e-8
        )


@pytest.mark.parametrize('line', ['between coupler_end', 'joint rocker soft', 'around rocker'])
def test_a_spring_that_cannot_be_read_is_told_how_it_is_written(line):
    with pytest.raises(ConfigError, match=r'between LINK LINK \[LENGTH\]'):
        machine('four_bar', springs=(line,))


def test_friction_of_a_joint_that_is_named_twice_is_refused():
    with pytest.raises(ConfigError, match='viscous of crank twice'):
        machine('four_bar', friction=('all viscous', 'crank viscous'))
