"""Sphinx (and rosdoc2): the pages of this folder and the public API from its docstrings."""

from importlib.util import find_spec

project = 'ros_inertial_id'
copyright = 'ros_inertial_id maintainers'
extensions = ['myst_parser', 'sphinx.ext.autodoc']
myst_enable_extensions = ['dollarmath']
myst_heading_anchors = 3
smartquotes = False  # --option is two hyphens
autodoc_typehints = 'signature'
html_theme = 'furo' if find_spec('furo') else 'alabaster'  # no rosdep key
exclude_patterns = ['_build']
html_copy_source = False


def as_written(app, what, name, obj, options, lines):
    """Keep the lines of a docstring: ``name : meaning`` lists are no reStructuredText."""
    indents = [len(line) - len(line.lstrip()) for line in lines]
    lines[:] = [
        f'{"| " + " " * indent}{line.lstrip()}' if line.strip() else ''
        for indent, line in zip(indents, lines)
    ]


def setup(app):
    """Connect what is above."""
    app.connect('autodoc-process-docstring', as_written)
