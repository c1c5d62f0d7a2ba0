"""What is no program where one is expected: errors that say what is, by every function that takes one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from relex.dialects import CompileError, RelexError, parse_module
from relex.frontend.script import parse_script
from relex.passes import FuseOpsPass, RemoveUnusedPass, run_pass
from relex.reference import check_equivalent, interpret
from relex.runtime import build, build_object, load

SCRIPT = """# A module.
from tvm.script import ir as I


@I.ir_module
class Module:
    pass
"""

READERS: list[Callable[[Any], object]] = [build, interpret, lambda source: build_object(source, "program.o")]


class Network:
    """What may be taken for a program."""

    def __call__(self, x: object) -> object:
        return x


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    ("source", "found"),
    [(None, "None"), (Network(), f"{__name__}.Network"), (3, "int"), (b"module {}", "bytes"), (Network, "the class")],
)
def test_an_object_that_is_no_program(read: Callable[[Any], object], source: Any, found: str) -> None:
    files = r"\(\*\.mlir or \*\.py or \*\.onnx or \*\.pt2\)"
    message = rf"^expected a module, MLIR text or the path of a file {files}, found {found}"
    with pytest.raises(TypeError, match=message) as caught:
        read(source)
    assert isinstance(caught.value, RelexError)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "model.pb",
            r"model\.pb: cannot read '\.pb' files; expected a file named \*\.mlir or \*\.py or \*\.onnx or \*\.pt2",
        ),
        ("C:\\models\\net 1.pb", r"cannot read '\.pb' files"),
        ("https://example.org/net.pt", r"cannot read '\.pt' files"),
        ("model.relex", r"model\.relex: expected a program, found a saved executable; 'relex\.load' reads it"),
        (
            "models/net",
            r"models/net: cannot read files without a suffix; expected a file named \*\.mlir",
        ),
        ("missing.mlir", r"^missing\.mlir: cannot be read: No such file or directory$"),
        ("missing.py", r"^missing\.py: cannot be read: No such file or directory$"),
    ],
)
@pytest.mark.parametrize("kind", [str, Path])
def test_paths_of_other_files(kind: Callable[[str], Any], source: str, message: str) -> None:
    with pytest.raises(RelexError, match=message):
        build(kind(source) if "//" not in source else source)


def test_what_exists_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net").mkdir()
    with pytest.raises(RelexError, match=r"^net: cannot read files without a suffix"):
        build("net")
    Path("folder.mlir").mkdir()
    with pytest.raises(RelexError, match=r"^folder\.mlir: cannot be read: Is a directory$"):
        build("folder.mlir")
    Path("bytes.mlir").write_bytes(b"\xff")
    with pytest.raises(RelexError, match=r"^bytes\.mlir: cannot be read: expected UTF-8 text, found byte 0xff$"):
        build("bytes.mlir")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "func.func @f() { return }",
        'func.func private @f() attributes {path = "a/b.onnx"}',
        "// A comment about a.mlir, and nothing else.",
        "%0 = llvm.mlir.zero : !llvm.ptr",
    ],
)
def test_text_of_one_line_is_no_path(text: str) -> None:
    assert isinstance(interpret(text), object)


@pytest.mark.parametrize("read", [parse_module, build, interpret])
@pytest.mark.parametrize("text", [SCRIPT, SCRIPT.partition("\n")[2], "@T.prim_func\ndef f():\n    pass\n"])
def test_python_is_not_mlir(read: Callable[[str], object], text: str) -> None:
    with pytest.raises(CompileError) as caught:
        read(text)
    assert str(caught.value).splitlines()[-1] == (
        "note: this looks like Python: scripts are read from files named *.py, or by relex.frontend.script.parse_script"
    )
    assert "first_char" not in str(caught.value)


def test_mistakes_in_mlir_are_not_taken_for_python() -> None:
    with pytest.raises(CompileError) as caught:
        parse_module("func.func @f() {\n  %x = arith.constant\n  return\n}\n")
    assert "Python" not in str(caught.value)


@pytest.mark.parametrize(("read", "what"), [(parse_module, "MLIR text"), (parse_script, "the text of a script")])
@pytest.mark.parametrize(("source", "found"), [(None, "None"), (3, "int"), (Path("a.mlir"), "PosixPath")])
def test_parsers_take_text(read: Callable[[Any], object], what: str, source: object, found: str) -> None:
    with pytest.raises(TypeError, match=f"expected {what}, found .*{found}") as caught:
        read(source)
    assert isinstance(caught.value, RelexError)


@pytest.mark.parametrize(("path", "found"), [(None, "None"), (3, "int"), (ModuleOp([]), "ModuleOp")])
def test_files_are_named_by_paths(path: Any, found: str) -> None:
    ex = build("func.func @f() { return }")
    uses: list[Callable[[Any], object]] = [load, ex.save, partial(build_object, "")]
    for use in uses:
        with pytest.raises(TypeError, match=f"expected the path of a file, found .*{found}") as caught:
            use(path)
        assert isinstance(caught.value, RelexError)


FUNCTION = FuncOp("f", ((), ()))


@pytest.mark.parametrize(
    ("module", "found"),
    [(None, "None"), ("func.func @f() { return }", "str"), (FUNCTION, r"xdsl\.dialects\.func\.FuncOp")],
)
def test_passes_take_modules(module: Any, found: str) -> None:
    with pytest.raises(TypeError, match=f"^pass 'fuse-ops' expected a module, found {found}") as caught:
        FuseOpsPass()(module)
    assert isinstance(caught.value, RelexError)


@pytest.mark.parametrize(
    ("given", "found"), [(None, "None"), ("cse", "str"), (RemoveUnusedPass, "the class .*RemoveUnusedPass")]
)
def test_run_pass_takes_a_pass(given: Any, found: str) -> None:
    with pytest.raises(TypeError, match=f"expected a pass, found {found}") as caught:
        run_pass(given, ModuleOp([]))
    assert isinstance(caught.value, RelexError)


def test_equivalence_is_of_modules() -> None:
    with pytest.raises(TypeError, match="expected a module, found None"):
        check_equivalent(None, ModuleOp([]))  # pyright: ignore[reportArgumentType]
