"""Print how large each package of the source is, and how its files import each other.

Code is lines without docstrings, comments and blank lines. Floors is the length of the longest chain of imports inside
the package; arrows are the pairs of its files of which one imports the other when it is loaded:

    python tests/unit/project/source_shape.py               # each folder of files
    python tests/unit/project/source_shape.py --depth 1     # each layer
"""

import ast
import io
import tokenize
from argparse import ArgumentParser
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

from test_layers import EXTRAS, FLOORS, imports

ROOT = Path(__file__).resolve().parents[3]
SPACE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def code_lines(text: str) -> int:
    """Return how many lines hold more than a docstring or a comment. A string alone on its lines is a docstring."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SPACE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def modules() -> dict[str, Path]:
    """Return the files of all layers and extras by the names that import them."""
    found: dict[str, Path] = {}
    for floor, folder in FLOORS.items():
        for file in sorted((ROOT / folder).rglob("*.py")):
            parts = ("relex", floor, *file.relative_to(ROOT / folder).with_suffix("").parts)
            found[".".join(part for part in parts if part not in ("", "__init__"))] = file
    for package, folder in EXTRAS.items():
        for file in sorted((ROOT / folder).rglob("*.py")):
            parts = (package, *file.relative_to(ROOT / folder).with_suffix("").parts)
            found[".".join(part for part in parts if part != "__init__")] = file
    return found


class _WithoutTypes(ast.NodeTransformer):
    """Removes what only type checkers import."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        return None if ast.unparse(node.test) == "TYPE_CHECKING" else node


def arrows(names: dict[str, Path]) -> Iterator[tuple[str, str]]:
    """Yield each module with each one of ours that it imports when it is loaded."""
    for name, file in names.items():
        for _, target in imports(_WithoutTypes().visit(ast.parse(file.read_text()))):
            if target in names and target != name:
                yield name, target


def floors(files: set[str], edges: set[tuple[str, str]]) -> int:
    """Return how many files are on the longest chain of imports. No file imports itself, not even by way of others."""
    order = TopologicalSorter({name: [target for source, target in edges if source == name] for name in files})
    heights: dict[str, int] = {}
    for name in order.static_order():
        heights[name] = 1 + max((heights[target] for source, target in edges if source == name), default=0)
    return max(heights.values(), default=0)


def main() -> None:
    parser = ArgumentParser(description="lines of code, files, floors and arrows of each package")
    parser.add_argument("--depth", type=int, default=9, help="how many folders deep packages are told apart")
    depth = parser.parse_args().depth
    names = modules()
    edges = set(arrows(names))
    packages: dict[str, set[str]] = {}
    for name, file in names.items():
        folder = file.parent.relative_to(ROOT).parts[:depth]
        packages.setdefault("/".join(folder), set()).add(name)
    print(f"{'package':40} {'code':>6} {'files':>5} {'floors':>6} {'arrows':>6}")
    total = 0
    for package, files in sorted(packages.items()):
        inside = {edge for edge in edges if files.issuperset(edge)}
        code = sum(code_lines(names[name].read_text()) for name in files)
        total += code
        print(f"{package:40} {code:6} {len(files):5} {floors(files, inside):6} {len(inside):6}")
    print(f"{'all':40} {total:6} {len(names):5} {floors(set(names), edges):6} {len(edges):6}")


if __name__ == "__main__":
    main()
