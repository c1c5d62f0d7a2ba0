"""Writes the imports of ops in `relex_dialects/relex/__init__.pyi`, by which programs find them: one for each class
that defines an op in a file beside it, and the classes that `for_ranks` defines. Other names stand there by hand.

Run it after a new operator, before `tests/typing/operators.py`.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "relex_dialects" / "relex" / "__init__.pyi"


def write_imports() -> str:
    """What the file should say, in any order of the imports."""
    others = [line for line in PACKAGE.read_text().splitlines() if line.startswith("from") and not line.endswith("Op")]
    trees = {file.stem: ast.parse(file.read_text()) for file in sorted(PACKAGE.parent.glob("*.py"))}
    home = "from relex.dialects.relex"
    ops = [f"{home}.{file} import {name} as {name}" for file, tree in trees.items() for name in _classes(tree)]
    classes = [f"\nclass {name}({base}): ..." for tree in trees.values() for name, base in _classes_for_ranks(tree)]
    return "\n".join([*others, *ops, *classes, ""])


def _classes(tree: ast.Module) -> list[str]:
    """Return the names of the classes that define an op."""
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.name.endswith("Op")]


def _classes_for_ranks(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names of the classes that `for_ranks` defines, and of their base classes."""
    for node in tree.body:
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=names)], value=ast.Call(func=ast.Name("for_ranks"), args=[base, _])
            ):
                yield from ((ast.unparse(name), ast.unparse(base)) for name in names)
            case _:
                pass


def main() -> None:
    PACKAGE.write_text(write_imports())
    sort = [sys.executable, "-m", "ruff", "check", "--quiet", "--select", "I", "--fix", str(PACKAGE)]
    subprocess.run(sort, check=True)


if __name__ == "__main__":
    main()
