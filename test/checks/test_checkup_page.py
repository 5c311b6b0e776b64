"""The page of the checks has a row of every cause, and names thresholds that there are."""

from pathlib import Path
import re

from ros_inertial_id.checks import thresholds
from ros_inertial_id.checks.causes import CHECKS

PAGE = (Path(__file__).parents[2] / 'doc' / 'checkup.md').read_text(encoding='utf-8')


def test_every_cause_has_a_row():
    rows = {line.split(' | ')[0].strip('| ') for line in PAGE.splitlines() if line.startswith('|')}
    assert {check.name for check in CHECKS} <= rows


def test_thresholds_that_are_named_exist():
    assert all(hasattr(thresholds, name) for name in re.findall(r'`([A-Z_]{3,})`', PAGE))
