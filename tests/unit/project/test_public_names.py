"""The public names of the packages: what Python, type checkers, `dir` and `help` know of them is the same."""

from __future__ import annotations

import ast
import inspect
import pydoc
import runpy
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from inspect import ismodule
from pathlib import Path
from rlcompleter import Completer

import pytest

import relex
from relex.frontend import op

ROOT = Path(__file__).resolve().parents[3]
LAZY = [
    "relex",
    *(f"relex.{floor}" for floor in ("dialects", "passes", "lowering", "runtime", "reference", "frontend", "tools")),
    "relex.dialects.relex",
    "relex.passes.analysis",
    "relex.passes.rewriting",
]
"""Packages whose names are imported when they are first used."""


EAGER = [
    *(f"relex.dialects.{dialect}" for dialect in ("schedule", "sizes", "tir")),
    *(f"relex.lowering.{package}" for package in ("conversion", "legalizations", "te")),
    *(f"relex.passes.{package}" for package in ("graph.canonicalization", "schedule")),
]
"""Packages whose names are imported at once."""


def _declared(package: str) -> Iterator[tuple[str, str]]:
    """The names that type checkers see in a package, with the modules that they come from."""
    source = Path(str(import_module(package).__file__))
    tree = ast.parse(source.read_text())
    guarded = [part for part in tree.body if isinstance(part, ast.If) and ast.unparse(part.test) == "TYPE_CHECKING"]
    stub = source.with_suffix(".pyi")
    seen = [*guarded, ast.parse(stub.read_text())] if stub.exists() else guarded
    for node in [*tree.body, *(statement for part in seen for statement in part.body)]:
        match node:
            case ast.ImportFrom(module=str(module)):
                yield from ((alias.name, module) for alias in node.names if alias.asname == alias.name)
            case ast.ClassDef(name=name) if stub.exists():
                yield name, import_module(package).__dict__["__getattr__"](name).__module__
            case ast.Assign(targets=[ast.Name(id=name)]) if not name.startswith("_"):
                yield name, package
            case _:
                pass


@pytest.mark.parametrize("package", LAZY)
def test_type_checkers_see_what_python_sees(package: str):
    module, declared = import_module(package), dict(_declared(package))
    assert dir(module) == sorted(declared) == module.__all__
    for name, home in declared.items():
        # A name that is a module, such as `relex.frontend.op`, is imported from the package itself.
        expected = import_module(f"{package}.{name}") if home == package and name != "PASSES" else None
        assert getattr(module, name) is (expected or getattr(import_module(home), name))
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nonsense'"):
        _ = module.nonsense


@pytest.mark.parametrize("package", EAGER)
def test_dir_lists_what_packages_offer(package: str):
    """The names that others import from a package, and none that the package itself imports for its own use."""
    module = import_module(package)
    used = {"Dialect", "Operation", "annotations", "import_module", "isclass", "iter_modules", "listed"}
    listed = {name for name in dir(module) if not name.startswith("_")}
    offered = {name for name in vars(module) if not name.startswith("_")} - used
    assert listed == {name for name in offered if not ismodule(getattr(module, name)) or name in listed}
    assert len(listed) > 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("relex.pas", {"relex.passes"}),
        ("relex.passes.rew", {"relex.passes.rewriting"}),
        ("relex.passes.rewriting.ope", {"relex.passes.rewriting.operators"}),
        ("relex.passes.analysis.blo", {"relex.passes.analysis.block_accesses", "relex.passes.analysis.blocks_in"}),
        ("relex.passes.rewriting.operators.lay", {"relex.passes.rewriting.operators.layer_norm"}),
        ("dialect.Maxi", {"dialect.MaximumOp"}),
    ],
)
def test_completion(text: str, expected: set[str]):
    """As at a prompt: `dir` says what there is, and asking for it imports it."""
    completer = Completer({"relex": relex, "dialect": import_module("relex.dialects.relex")})
    found = {match.partition("(")[0] for i in range(20) if (match := completer.complete(text, i)) is not None}
    assert found == expected


@pytest.mark.parametrize("package", [*LAZY, "relex.frontend.op"])
def test_everything_has_a_docstring(package: str):
    module = import_module(package)
    public = [getattr(module, name) for name in dir(module)]
    assert [value for value in public if callable(value) and not inspect.getdoc(value)] == []
    assert inspect.getdoc(module)


def help_of(thing: object) -> str:
    """Python's help, without line breaks and quotes: since 3.13 each parameter of a long signature has its line, since
    3.14 types are not quoted."""
    words = " ".join(pydoc.plain(pydoc.render_doc(thing)).replace("'", "").split())
    return words.replace("( ", "(").replace(" )", ")")


def test_help():
    text = help_of(relex)
    for shown in ("build(module: ", "load(path: ", "parse(program: ", "show(op: ", "interpret(module: ", "VERSION"):
        assert shown in text, shown
    text = help_of(op.sum)
    assert "sum(operand: Operand, axis: int | Sequence[int] | None = None, keepdims: bool = False)" in text
    assert "integers wrap around" in text
    assert "softmax(data: Operand, axis: int = -1) -> Call" in help_of(op)


def test_importing_is_light():
    code = (
        "import relex, sys; dir(relex); packages = ('relex', 'xdsl', 'numpy', 'llvmlite');"
        "print(*sorted(name for name in sys.modules if name.split('.')[0] in packages))"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.split() == ["relex", "relex.lazy"]


@pytest.mark.parametrize("name", ["operators", "primitives"])
def test_functions_made_of_classes_are_written_down_for_type_checkers(name: str):
    """If not, run `python tests/typing/NAME.py`."""
    script = runpy.run_path(str(ROOT / "tests" / "typing" / f"{name}.py"))
    written, expected = (ast.dump(ast.parse(text)) for text in (script["STUB"].read_text(), script["write_stub"]()))
    assert written == expected


def test_ops_are_imported_by_their_names():
    """If not, run `python tests/typing/operator_imports.py`."""
    script = runpy.run_path(str(ROOT / "tests" / "typing" / "operator_imports.py"))
    written, expected = str(script["PACKAGE"].read_text()), str(script["write_imports"]())
    assert sorted(filter(None, written.split("\n"))) == sorted(filter(None, expected.split("\n")))


def test_operators_are_functions():
    assert op.nn is op
    assert op.nn.relu is op.relu
    assert {"sum", "call_tir", "of", "nn"} < {*dir(op)}
    assert str(inspect.signature(op.concat)) == "(*tensors: 'Operand | Sequence[Operand]', axis: 'int' = 0) -> 'Call'"
