"""Audit a robot description: what is wrong with it, without a recording."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
import os
from pathlib import Path
from typing import Any

from ..auditing.audit import Audit, audited
from ..auditing.described import Described
from ..auditing.finding import AuditFinding
from ..auditing.fix import fixed_urdf, replaced
from ..auditing.mjcf import described_mjcf
from ..auditing.sdf import described_sdf
from ..auditing.urdf import described_urdf
from ..dynamics.inertial_parameters import about_origin
from ..dynamics.mjcf_compiled import compiled_model
from ..errors import ConfigError
from ..identification.files import description_kind, read_description, write_text
from ..identification.model.patched_mjcf import with_inertias
from ..report.audit_page import audit_text, findings_rows
from ..report.sheet import write_sheet
from ..report.sheets import audit_sheet


@dataclass(frozen=True)
class AuditResult:
    """
    What is wrong with a description.

    audit : Audit; urdf : the text, '' of an MJCF or SDF; source : path, '' of a text
    """

    audit: Audit
    urdf: str
    source: str

    @property
    def findings(self) -> tuple[AuditFinding, ...]:
        """Return the findings: the worst first, of equal severity by torque."""
        return self.audit.findings

    @property
    def status(self) -> int:
        """Return 0 for a good description, 1 for a doubtful, 2 for a wrong one."""
        return self.audit.status

    @property
    def word(self) -> str:
        """Return good, doubtful or wrong."""
        return self.audit.word

    def __iter__(self) -> Iterator[AuditFinding]:
        return iter(self.findings)

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        """Return the verdict and the table of findings as lines."""
        return audit_text(self.audit)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as --json has them."""
        return self.audit.to_dict()

    def to_pandas(self) -> Any:
        """Return a DataFrame, one row per finding."""
        import pandas

        return pandas.DataFrame(findings_rows(self.audit))

    def page(self, path: str | Path) -> Path:
        """Write a page with the robot in 3D to ``path``; return that."""
        return Path(write_sheet(audit_sheet(self.audit, self.source), path, ()))

    def fix(self, path: str | Path) -> list[str]:
        """
        Write the description with plausible inertias for those that are wrong; return their links.

        path : a new file; ConfigError for that of the description, and for an SDF
        """
        if self.source and os.path.exists(path) and os.path.samefile(path, self.source):
            raise ConfigError(
                f'{path} is the description itself', expected='another file, to compare both'
            )
        if self.urdf:
            text, links = fixed_urdf(self.urdf, self.findings)
        elif self.audit.robot.kind == 'MJCF':
            text, links = _fixed_mjcf(Path(self.source), self.findings)
        else:
            raise ConfigError('an SDF is not fixed', expected='a URDF or MJCF')
        write_text(path, text)
        return links


def audit(
    description: str | Path, *, mass: float | None = None, meshes: bool = True
) -> AuditResult:
    """
    Return what is wrong with a robot description, as an AuditResult.

    description : path of a URDF, xacro file, MJCF or SDF, or the text of a URDF
    mass : of the robot, on scales or from its data sheet [kg]; None: not compared
    meshes : whether shapes are read from meshes, where their files are there
    ConfigError, RobotModelError where it cannot be read.
    """
    if mass is not None and not 0.0 < mass < 1e9:
        raise ConfigError('the mass of the robot', expected='above 0 kg', found=mass)
    if isinstance(description, str) and '<' in description:
        return AuditResult(audited(described_urdf(description), mass), description, '')
    path = Path(description)
    folder = ''
    if meshes:
        folder = str(path.resolve().parent)
    robot, urdf = _described(path, folder)
    return AuditResult(audited(robot, mass), urdf, str(path))


def _fixed_mjcf(path: Path, findings: Sequence[AuditFinding]) -> tuple[str, list[str]]:
    """Return the text of the MJCF at ``path`` with plausible inertias, and their bodies."""
    inertias = {}
    for body, finding in replaced(findings).items():
        if finding.better is not None:
            better = finding.better
            ten = about_origin(better.mass, better.centre, better.tensor)
            inertias[body] = ten, f'{finding.name}: {finding.found}'
    return with_inertias(description_kind(path)[1], inertias), list(inertias)


def _described(path: Path, folder: str) -> tuple[Described, str]:
    """Return the robot in a file, and its URDF text where it is one; folder : of its meshes."""
    kind, text = description_kind(path)
    if kind == 'SDF':
        return described_sdf(text, folder), ''
    if kind == 'MJCF':
        model = compiled_model(path)
        if model is not None:
            return described_mjcf(model, path.stem), ''
        return described_urdf(read_description(path)), ''
    urdf = read_description(path)
    return described_urdf(urdf, folder), urdf
