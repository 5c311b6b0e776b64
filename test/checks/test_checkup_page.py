"""The page of the checks has a row of every cause, and names thresholds that there are."""

from pathlib import Path
import re

from ros_inertial_id.checks import thresholds
from ros_inertial_id.checks.finding import REMOVED
from ros_inertial_id.checks.finding_kinds import MODEL_KINDS

PAGE = (Path(__file__).parents[2] / 'doc' / 'checkup.md').read_text(encoding='utf-8')


def test_every_cause_has_a_row():
    rows = {line.split(' | ')[0].strip('| ') for line in PAGE.splitlines() if line.startswith('|')}
    causes = {kind.name or name for name, kind in MODEL_KINDS.items() if kind.unit == REMOVED}
    assert causes <= rows


def test_thresholds_that_are_named_exist():
    assert all(hasattr(thresholds, name) for name in re.findall(r'`([A-Z_]{3,})`', PAGE))
