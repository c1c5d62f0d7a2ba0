"""Writes the imports of ops in `relex_dialects/relex/__init__.py`, by which programs find them: one for each class that
defines an op in a file beside it. Other names stand there by hand.

Run it after a new operator, before `tests/typing/operators.py`.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "relex_dialects" / "relex" / "__init__.py"

BEGIN, END = "\nif TYPE_CHECKING:\n", "else:\n"
"""The lines around the imports."""


def write_imports() -> str:
    """What the file should say, in any order."""
    head, _, rest = PACKAGE.read_text().partition(BEGIN)
    imports, _, tail = rest.partition(END)
    others = [line for line in imports.splitlines() if not line.endswith("Op")]
    ops = [
        f"    from relex.dialects.relex.{file.stem} import {name} as {name}"
        for file in sorted(PACKAGE.parent.glob("*.py"))
        for name in _ops(ast.parse(file.read_text()))
    ]
    return f"{head}{BEGIN}{chr(10).join([*others, *ops])}\n{END}{tail}"


def _ops(tree: ast.Module) -> Iterator[str]:
    """Return the names of the classes that define an op."""
    return (node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.name.endswith("Op"))


def main() -> None:
    PACKAGE.write_text(write_imports())
    sort = [sys.executable, "-m", "ruff", "check", "--quiet", "--select", "I", "--fix", str(PACKAGE)]
    subprocess.run(sort, check=True)


if __name__ == "__main__":
    main()
