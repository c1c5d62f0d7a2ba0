"""Good scripts with a mistake in them: the reader says what is wrong and where, or takes them; it never stumbles."""

from __future__ import annotations

import ast
import copy
import os
import random
from pathlib import Path
from typing import Any, cast

import pytest
from test_script_loops import EXPRESSIONS, PROGRAMS, SYMBOLIC, elementwise
from test_script_programs import CONSTANTS, FOLDER

from relex.dialects import CompileError
from relex.dialects.errors import InternalError
from relex.frontend.script import parse_script, print_script

COUNT = int(os.environ.get("RELEX_MUTATIONS", "400"))
SEED = int(os.environ.get("RELEX_MUTATION_SEED", "0"))

STRANGE = [
    "None", "-1", "1.5", "'x'", "(1, 2)", "[1]", "{}", "x.y.z", "f(x)", "T.foo", "T.int64()", "1e400", "10**30",
    "-(2**63)", "float('nan')", "T.float32('nan')", "T.bool(True)", "X[0:1]", "...", "b''", "1j", "lambda: 0",
    "[i for i in X]", "X if X else X", "f'{x}'", "X[...]", "X[()]", "metadata['a'][0]", "R.const(1.0)",
    "R.const([[1, 2], [3]], 'int32')", "R.shape([1, 2])", "T.axis.spatial(8, 0)", "R.Tensor((1,), 'float32')", "cls",
    "main", "T", "R.nn", "range", "True", "'float32'", "-0.0", "2147483648", "n", "'n'", "()", "[]",
]  # fmt: skip
"""Expressions that few places take."""


ERRORS = Path(__file__).parents[3] / "tests" / "errors"


def scripts() -> list[ast.Module]:
    files = [file.read_text() for file in sorted(FOLDER.glob("*.py"))]
    wrong = [text for file in sorted(ERRORS.glob("*.py")) for text in parts(file)]
    loops = [*(text for text, _, _ in PROGRAMS.values()), SYMBOLIC, *(elementwise(text) for text, _, _ in EXPRESSIONS)]
    return [tree for text in (*files, *wrong, *loops) if (tree := parse(text)) is not None]


def parts(file: Path) -> list[str]:
    return file.read_text().split("# -----\n")


def parse(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except SyntaxError:
        return None


ImportedNode = tuple[ast.AST, str, int | None]
"""A node, a field of it, and a position in that field, if it holds a list."""


def sites(tree: ast.Module) -> list[ImportedNode]:
    """Where expressions and statements stand."""
    found: list[ImportedNode] = []
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            many: list[object] = cast("list[object]", value) if isinstance(value, list) else [value]
            found += [(node, name, i if many is value else None) for i, part in enumerate(many) if is_part(part)]
    return found


def is_part(node: object) -> bool:
    is_target = isinstance(getattr(node, "ctx", None), ast.Store)
    return isinstance(node, ast.stmt) or (isinstance(node, ast.expr) and not is_target)


class Mutator:
    """Changes a script at random, in a way that keeps it Python."""

    def __init__(self, trees: list[ast.Module], rng: random.Random):
        self._rng = rng
        nodes = [node for tree in trees for node in ast.walk(tree)]
        self._expressions = [n for n in nodes if isinstance(n, ast.expr) and not isinstance(n, ast.Starred | ast.Slice)]
        self._statements = [n for n in nodes if isinstance(n, ast.stmt)]
        self._strange = [ast.parse(text, mode="eval").body for text in STRANGE]

    def mutate(self, tree: ast.Module) -> str:
        tree = copy.deepcopy(tree)
        for _ in range(self._rng.choice([1, 1, 1, 2, 3])):
            self._change(*self._rng.choice(sites(tree)))
        return ast.unparse(ast.fix_missing_locations(tree))

    def _change(self, node: ast.AST, name: str, place: int | None) -> None:
        field: Any = getattr(node, name)
        if place is None:
            setattr(node, name, self._other(field))
            return
        kind = self._rng.choice(["drop", "double", "other", "other", "other"])
        if kind == "drop" and (len(field) > 1 or name in ("args", "elts")):
            del field[place]
        elif kind == "double":
            field.insert(self._rng.randrange(len(field) + 1), copy.deepcopy(field[place]))
        else:
            field[place] = self._other(field[place])

    def _other(self, old: ast.AST) -> ast.AST:
        pool = self._statements if isinstance(old, ast.stmt) else self._rng.choice([self._strange, self._expressions])
        return copy.deepcopy(self._rng.choice(pool))


def problem(text: str) -> str | None:
    """What the reader or the printer should not have done."""
    try:
        module = parse_script(text, params=CONSTANTS)
        print_script(module)
    except InternalError as e:
        return str(e)
    except CompileError as e:
        return None if all(d.line and d.message for d in e.diagnostics) else f"no place: {e}"
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    return None


@pytest.mark.filterwarnings("ignore::relex.dialects.errors.CompileWarning")
def test_mutated_scripts() -> None:
    rng = random.Random(SEED)
    trees = scripts()
    assert len(trees) > 150
    mutator = Mutator(trees, rng)
    failures: list[str] = []
    for _ in range(COUNT):
        try:
            text = mutator.mutate(rng.choice(trees))
        except ValueError:
            continue  # What stands where no text can say it.
        if (found := problem(text)) is not None:
            failures.append(f"{text}\n==> {found}")
    assert not failures, "\n\n".join(failures)


@pytest.mark.parametrize(
    "text", ["(" * 1000, "x" + "+x" * 20_000, "\0", "if 1:\n" + " " * 100 + "\tx", "\ufeff", "a\rb", "é = (", "#"]
)
def test_texts_that_are_no_scripts(text: str) -> None:
    with pytest.raises(CompileError) as caught:
        parse_script(text)
    assert not isinstance(caught.value, InternalError)


def test_deep_expressions() -> None:
    for expression in ("X[vi]" + " + X[vi]" * 3000, "-" * 2000 + "X[vi]", "T.exp(" * 60 + "X[vi]" + ")" * 60):
        assert problem(elementwise(expression)) is None
