"""The table of findings of checks, on the pages of a checkup and of an identification."""

from collections.abc import Sequence

from .sheet import Table
from ..checks.finding import DOUBTFUL, Finding, WRONG


def findings_table(findings: Sequence[Finding]) -> Table:
    """Return the table of ``findings`` of checks."""
    rows = []
    for finding in findings:
        windows = ', '.join(f'{start:.2f} to {end:.2f}' for start, end in finding.windows)
        joints = ', '.join(finding.joints)
        rows.append((finding.severity, finding.says, joints, windows, finding.amount, finding.do))
    return Table(
        ('severity', 'finding', 'joints', 'from, to [s]', 'evidence', 'what to do'),
        rows,
        (1, 2, 3, 4, 5),
        [k for k, finding in enumerate(findings) if finding.severity in (WRONG, DOUBTFUL)],
    )
