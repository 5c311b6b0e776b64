"""What tests in a browser share."""

from pathlib import Path

import pytest

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.excitation import search
from ros_inertial_id.excitation.design import design, DesignOptions
from ros_inertial_id.report.design_files import motion_page


@pytest.fixture(scope='session')
def motion_text():
    """Return the HTML text of the page of a motion that was not searched for long."""
    robot = load_robot_model((Path(__file__).parents[2] / 'urdf' / 'arm3.urdf').read_text())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, 'RUNS', search.RUNS[:1])
        return motion_page(design(robot, DesignOptions(restarts=1, sphere=0.1)))
