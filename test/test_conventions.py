"""
What every public function owes its reader: types, named parameters, a size that can be read.

Public: no underscore in its own name, its class's or its module's.  Docstrings name every
parameter that is an array or a float as a word of its own, with shape, unit and frame beside it
for the reader to judge; of others name and type may say all.
"""

import ast
from pathlib import Path
import re

ROOT = Path(__file__).parents[1] / 'ros_inertial_id'
FILES = sorted(ROOT.rglob('*.py'))
LONGEST = 60  # lines of a function
MOST = 6  # parameters, without self
# Whose subclasses need not repeat them.
CONTRACTS = ('methods/contract.py', 'methods/capabilities.py', 'identification/identify.py')


def functions(tree, owner=''):
    """Yield (qualified name, node, public?) of all functions of a module or class."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            name = f'{owner}{node.name}'
            yield name, node, not any(part.startswith('_') for part in name.split('.'))
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f'{owner}{node.name}.')


def parameters(node):
    """Return the ast.arg of a function's parameters, without self and cls."""
    a = node.args
    every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    return [p for p in every if p.arg not in ('self', 'cls')]


def contract_names():
    """Return the names of the methods that CONTRACTS document in full."""
    return {
        f.name
        for name in CONTRACTS
        for _, f, _ in functions(ast.parse((ROOT / name).read_text(encoding='utf-8')))
    }


def findings(path, contract):
    """Return one line per breach in a file; contract : names that CONTRACTS document."""
    tree = ast.parse(path.read_text(encoding='utf-8'))
    out = []
    for name, node, public in functions(tree):
        where = f'{path.relative_to(ROOT.parent)}:{node.lineno} {name}'
        size = node.end_lineno - node.lineno + 1
        if size > LONGEST:
            out.append(f'{where}: {size} lines')
        if len(parameters(node)) > MOST:
            out.append(f'{where}: {len(parameters(node))} parameters')
        if not public:
            continue
        lacking = [p.arg for p in parameters(node) if p.annotation is None]
        if lacking or node.returns is None:
            out.append(f'{where}: not annotated: {", ".join(lacking) or "the result"}')
        text = ast.get_docstring(node) or ''
        if not text:
            out.append(f'{where}: no docstring')
        own = path.relative_to(ROOT).as_posix()
        if '.' in name and node.name in contract and own not in CONTRACTS:
            continue  # documented there, in full
        unnamed = [
            p.arg
            for p in parameters(node)
            if p.annotation
            and re.search(r'\b(ndarray|float)\b', ast.unparse(p.annotation))
            and not re.search(rf'\b{p.arg}\b', text)
        ]
        if unnamed:
            out.append(f'{where}: the docstring does not name {", ".join(unnamed)}')
    return out


def test_public_functions_are_annotated_documented_and_short():
    contract = contract_names()
    found = [line for path in FILES for line in findings(path, contract)]
    assert not found, '\n'.join(found)


def test_nothing_asks_for_attributes_instead_of_a_contract():
    asking = [
        f'{path.relative_to(ROOT)}:{node.lineno}'
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8')))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == 'hasattr'
    ]
    assert not asking


if __name__ == '__main__':  # python test/test_conventions.py [ROOM]: all findings, for a person
    import sys

    for found in (line for p in FILES for line in findings(p, contract_names())):
        if len(sys.argv) < 2 or sys.argv[1] in found:
            print(found)
