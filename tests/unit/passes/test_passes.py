"""What holds for every pass of relex."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relex import lowering, passes
from relex.dialects import parse_module
from relex.passes import RelexPass, SetTargetPass, run_pass

LIT = Path(__file__).parents[2] / "lit"
PASSES = {**passes.PASSES, **lowering.PASSES}


@pytest.mark.parametrize("name", PASSES)
def test_name_class_file_and_test_agree(name: str) -> None:
    cls = PASSES[name]()
    assert cls.name == name
    assert cls.__name__ == "".join(word.capitalize() for word in name.split("-")) + "Pass"
    assert Path(inspect.getfile(cls)).name == name.replace("-", "_") + ".py"
    assert len(list(LIT.rglob(f"{name}.mlir"))) == 1
    home = passes if name in passes.PASSES else lowering
    assert getattr(home, cls.__name__) is cls


@pytest.mark.parametrize("name", PASSES)
def test_docstring_shows_before_and_after(name: str) -> None:
    doc = inspect.getdoc(PASSES[name]()) or ""
    (example,) = re.findall(r"```mlir\n(.*?)```", doc, re.DOTALL)
    assert re.search(rf"^// {name}", example, re.MULTILINE)


@pytest.mark.parametrize(
    "name", ["fold-constants", "fuse-attention", "localize-sizes", "fuse-dense-add", "fuse-ewise-fma", "remove-unused"]
)
def test_docstring_says_the_truth(name: str) -> None:
    """Ops that stand alone are taken for the body of a function of what they use."""
    doc = inspect.getdoc(PASSES[name]()) or ""
    (example,) = re.findall(r"```mlir\n(.*?)```", doc, re.DOTALL)
    before, after = (as_module(part) for part in example.split(f"// {name}\n"))
    assert str(run_pass(PASSES[name]()(), before)) == str(after)


def as_module(text: str) -> ModuleOp:
    if "func.func" in text:
        return parse_module(text)
    types: dict[str, str] = {}
    for operands, listed in re.findall(r"= relex\.\w+ ([^:]*) : \((.*)\) ->", text):
        types.update(zip(operands.split(", "), listed.split(", "), strict=True))
    defined = re.findall(r"(%\w+) = .* -> (.*)", text)
    arguments = ", ".join(f"{name}: {types[name]}" for name in sorted(types.keys() - dict(defined)))
    result, result_type = defined[-1]
    body = f"{text} func.return {result} : {result_type}"
    return parse_module(f"func.func @main({arguments}) -> {result_type} {{\n{body}\n}}")


@pytest.mark.parametrize("name", PASSES)
def test_passes_are_called_on_modules(name: str) -> None:
    assert issubclass(PASSES[name](), RelexPass)


def test_a_call_leaves_the_module_as_it_was() -> None:
    module = parse_module("func.func @f() { func.return }")
    before = str(module)
    after = SetTargetPass(cpu="haswell")(module)
    assert str(module) == before
    assert "haswell" in str(after)


def test_run_pass_takes_any_pass() -> None:
    from xdsl.transforms.dead_code_elimination import DeadCodeElimination

    p: ModulePass = DeadCodeElimination()
    module = parse_module("func.func @f() {\n  %0 = arith.constant 1 : i32\n  func.return\n}")
    assert "arith.constant" not in str(run_pass(p, module))
    assert "arith.constant" in str(module)


def test_unknown_names() -> None:
    for package in (passes, lowering):
        with pytest.raises(AttributeError, match="has no attribute 'NoPass'"):
            _ = package.NoPass
