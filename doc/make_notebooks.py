"""
Run the notebooks of examples/notebooks and write what their cells print into them.

    python doc/make_notebooks.py [NOTEBOOK ...]

Needs no Jupyter: the cells are Python, run one after the other in an empty folder; what the last
expression of a cell is worth is its output, as text and as HTML where it has some.
"""

import ast
import contextlib
import io
import json
import os
from pathlib import Path
import sys
import tempfile

FOLDER = Path(__file__).resolve().parents[1] / 'examples' / 'notebooks'


@contextlib.contextmanager
def empty_folder():
    """Work in an empty folder, with examples/simulated_log.py to import."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, str(FOLDER.parent))
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
            sys.path.remove(str(FOLDER.parent))


def run(path):
    """Return (notebook with outputs, names that its cells defined); what a cell raises is ours."""
    notebook, names = json.loads(path.read_text(encoding='utf-8')), {'__name__': '__main__'}
    with empty_folder():
        cells = [cell for cell in notebook['cells'] if cell['cell_type'] == 'code']
        for number, cell in enumerate(cells, 1):
            cell.update(
                execution_count=number,
                outputs=outputs(''.join(cell['source']), names, f'{path.name}, cell {number}'),
            )
    return notebook, names


def outputs(source, names, where):
    """Return the outputs of the source of one cell, run with ``names``."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), where, 'exec'), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), where, 'eval'), names)
    out = []
    if printed.getvalue():
        out.append({'output_type': 'stream', 'name': 'stdout', 'text': lines(printed.getvalue())})
    if value is not None:
        data = {'text/plain': lines(repr(value))}
        if hasattr(value, '_repr_html_'):
            data['text/html'] = lines(value._repr_html_())
        out.append({'output_type': 'display_data', 'data': data, 'metadata': {}})
    return out


def lines(text):
    """Return a text as notebooks have it."""
    return text.splitlines(keepends=True)


def main():
    """Run and write the notebooks."""
    for path in map(Path, sys.argv[1:]) if sys.argv[1:] else sorted(FOLDER.glob('*.ipynb')):
        notebook, _ = run(path)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + '\n', 'utf-8')
        print(f'{path.name}: {path.stat().st_size / 1e3:.0f} kB')


if __name__ == '__main__':
    main()
