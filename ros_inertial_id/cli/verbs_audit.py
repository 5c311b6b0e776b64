"""The verb audit: what is wrong with a robot description."""

from typing import Any

from .console import page, show
from ..api.audit import audit


def audit_(options: Any) -> int:
    """Say what is wrong with a description; return 0, 1 where it is doubtful, 2 where wrong."""
    from ..report.sheets import audit_sheet

    result = audit(options.urdf, mass=options.mass, meshes=not options.no_meshes)
    files = page(options, options.page, lambda: audit_sheet(result.audit, options.urdf))
    text = result.text()
    data = result.to_dict()
    if options.fix:
        links = result.fix(options.fix)
        data['fixed_links'] = links
        text += f'\nfixed {len(links)} links: {", ".join(links) or "none"}'
        files = {**files, 'fixed': options.fix}
    show(options, data, text, files)
    return result.status
