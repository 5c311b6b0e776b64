"""
Write doc/messages.md: what the package says, with meaning, cause and remedy.

    python doc/make_messages.py

Sentences of report and checks are explained in doc/sentences.yaml; each must stand in the code.
Errors are read from the syntax tree: each ``raise`` of an InertialIdError with what is wrong,
what was expected and what to do.  What is filled in at run time stands as its name in the code.
"""

import ast
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / 'ros_inertial_id'
PAGE = ROOT / 'doc' / 'messages.md'
SENTENCES = ROOT / 'doc' / 'sentences.yaml'
ERRORS = {'ConfigError', 'RecordingError', 'RobotModelError', 'EstimationError', 'MotionError'}
LONGEST = 30  # letters of an expression that is shown
HEAD = '''# Messages

First the sentences of terminal, report and checks that are said most often, what they mean, their
usual cause and the remedy; then every error for bad input, by package. Made by
`doc/make_messages.py` from the code and `doc/sentences.yaml`.
'''
ERRORS_HEAD = '''## Errors

`<name>` is filled in at run time. A message reads *what is wrong* (the meaning); expected *what
was needed*; found *what was there* (together the cause); there is *what could be chosen*; *what to
do* (the remedy). Where nothing stands under what to do, the remedy is to give what was expected,
or the message quotes the cause word for word. The command line exits with status 2, a service
returns the same text. What stands behind the common ones: [troubleshooting](troubleshooting.md);
all checks: [checkup](checkup.md).
'''


def text(node):
    """Return the text of an expression, with <name> for what is known at run time alone."""
    if isinstance(node, ast.FormattedValue):
        return text(node.value)
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return ''.join(text(part) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return text(node.left) + text(node.right)
    if isinstance(node, ast.IfExp):
        return f'{text(node.body)} / {text(node.orelse)}'
    if isinstance(node, (ast.Tuple, ast.List)):
        return ', '.join(map(text, node.elts))
    name = ast.unparse(node)
    return f'<{name}>' if len(name) < LONGEST and name.isprintable() else '<...>'


def messages(path):
    """Yield (what, expected, do) of every error that a file raises."""
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        call = node.exc if isinstance(node, ast.Raise) else (
            node.value if isinstance(node, ast.Return) else None)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and (
                call.func.id in ERRORS and call.args):
            more = {word.arg: text(word.value) for word in call.keywords}
            expected = more.get('expected') or ('one of what there is' * ('exists' in more))
            yield text(call.args[0]), expected, more.get('do', '')


def escaped(cell):
    """Return a text as the cell of a table."""
    return ' '.join(cell.replace('|', chr(92) + '|').replace('<', '&lt;').split())


def literals(path):
    """Return the texts in a file, as they are put together, with {expression} for the rest."""
    texts = []
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.JoinedStr):
            texts.append(''.join(part.value if isinstance(part, ast.Constant) else
                                 f'{{{ast.unparse(part.value)}}}' for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(node.value)
    return texts


def sentences():
    """Yield the lines of the sentences explained; ValueError for one that no code says."""
    said = '\n'.join(text for path in sorted(PACKAGE.rglob('*.py')) for text in literals(path))
    for heading, rows in yaml.safe_load(SENTENCES.read_text(encoding='utf-8')).items():
        yield from (f'## {heading}', '', '| says | meaning | cause | remedy |',
                    '|---|---|---|---|')
        for row in rows:
            if row['says'] not in said:
                raise ValueError(f"doc/sentences.yaml: no code says {row['says']!r}")
            cells = row.get('shown', row['says']), row['meaning'], row['cause'], row['remedy']
            yield f"| {' | '.join(map(escaped, cells))} |"
        yield ''


def page():
    """Return the text of the page."""
    rows = {}
    for path in sorted(PACKAGE.rglob('*.py')):
        package = path.relative_to(PACKAGE).parts[0].removesuffix('.py')
        rows.setdefault(package, set()).update(messages(path))
    lines = [HEAD, *sentences(), ERRORS_HEAD]
    for package, found in rows.items():
        if found:
            lines += [f'### {package}', '', '| what is wrong | expected | what to do |',
                      '|---|---|---|']
            lines += [f"| {' | '.join(escaped(cell) for cell in row)} |"
                      for row in sorted(found)]
            lines.append('')
    return '\n'.join(lines)


if __name__ == '__main__':
    PAGE.write_text(page(), encoding='utf-8')
