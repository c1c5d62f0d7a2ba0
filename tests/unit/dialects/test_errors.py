"""
Wrong programs: the exact message, line and column of everything that relex-opt says of them.

The programs are in tests/errors. The second line of a file holds the arguments of relex-opt, and comments announce the
errors as for its --verify-diagnostics.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp

from relex.dialects import CompileError, parse_module
from relex.dialects.errors import InternalError, fail
from relex.dialects.relex import CallTirOp
from relex.lowering import RelexPipelinePass
from relex.passes import InlineBlocksPass, ScheduleCpuPass
from relex.reference import check_pass
from relex.runtime import build
from relex.tools.opt.relex_opt import main
from relex.tools.opt.verify_diagnostics import find_expectations
from relex.tools.shell.diagnostics import Source

FILES = sorted((Path(__file__).parents[2] / "errors").glob("*.*"))


def arguments(path: Path) -> list[str]:
    line = path.read_text().split("\n")[1]
    assert line.startswith(("// ARGS:", "# ARGS:")), path
    return [str(path), "--split-input-file", *line.split()[2:]]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_programs_say_what_is_wrong_with_them(path: Path, capsys: pytest.CaptureFixture[str]):
    assert main([*arguments(path), "--verify-diagnostics"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_messages_are_exact(path: Path, capsys: pytest.CaptureFixture[str]):
    """`--verify-diagnostics` looks for a part of the message, and takes one that comes without its source line."""
    assert main(arguments(path)) == 1
    error = capsys.readouterr().err
    text = path.read_text()
    lines = text.split("\n")
    found = re.findall(rf"^{re.escape(str(path))}:(\d+):(\d+): error: (.*)\n(.*)\n( *)\^$", error, re.MULTILINE)
    assert len(found) == error.count("error: ")
    for line, column, _, source_line, indent in found:
        assert source_line == lines[int(line) - 1]
        assert len(indent) == int(column) - 1
    expected = [(e.line, e.column, e.text) for e in find_expectations(Source(str(path), text))]
    assert sorted((int(line), int(column), message) for line, column, message, _, _ in found) == sorted(expected)


def test_there_are_many():
    programs = {path: re.split(r"^(?://|#) -----$", path.read_text(), flags=re.MULTILINE) for path in FILES}
    assert sum(map(len, programs.values())) >= 150
    assert all("expected-error" in program for parts in programs.values() for program in parts)


@pytest.mark.parametrize(
    ("before", "again", "after"),
    [
        ("", "{", ""),
        ("", '"test.op"() ({', ""),
        ("func.func @f() {", "scf.execute_region {", ""),
        ("", '"test.op"() ({', "}) : () -> ()"),
        ('"test.op"() {a = ', "[", ""),
        ('"test.op"() : () -> ', "tuple<", ""),
        ('"test.op"() : () -> () loc(', "fused[", ""),
        ("#map = affine_map<(d0) -> (", "(", ""),
    ],
)
def test_deep_nesting(before: str, again: str, after: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "a.mlir"
    path.write_text(before + again * 10_000 + after * 10_000)
    assert main([str(path)]) == 1
    error = capsys.readouterr().err
    assert re.match(
        rf"{path}:1:\d+: error: expected (a program that nests less deeply|an operation, found '{{')\n", error
    )


@pytest.mark.parametrize("text", ["", "\n", "// nothing", "#map = affine_map<(d0) -> (d0)>"])
def test_an_empty_text_is_an_empty_module(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "a.mlir"
    path.write_text(text)
    assert main([str(path)]) == 0
    assert capsys.readouterr().out == "builtin.module {\n}\n"


def test_a_verifier_that_stumbles_is_an_internal_error(monkeypatch: pytest.MonkeyPatch):
    def stumble(self: ReturnOp) -> None:
        raise KeyError("nothing")

    monkeypatch.setattr(ReturnOp, "verify_", stumble)
    with pytest.raises(InternalError) as caught:
        parse_module("func.func @f() { func.return }", "a.mlir")
    assert str(caught.value).startswith(
        "a.mlir:1:18: error: 'func.return' op internal error in its verifier: KeyError: 'nothing'\n"
    )
    assert isinstance(caught.value.__cause__, KeyError)


def test_what_a_verifier_stumbles_over_is_enough(monkeypatch: pytest.MonkeyPatch):
    """Where an op is wrong, the verifiers of others may expect too much."""

    def stumble(self: FuncOp) -> None:
        raise KeyError("nothing")

    monkeypatch.setattr(FuncOp, "verify_", stumble)
    with pytest.raises(CompileError) as caught:
        parse_module("func.func @f() { func.call @g() : () -> () func.return }")
    assert not isinstance(caught.value, InternalError)
    assert len(caught.value.diagnostics) == 1


PROGRAM = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = relex.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}"""


def forget_the_argument(inline_blocks: InlineBlocksPass, ctx: Context, op: ModuleOp) -> None:
    """A pass with a mistake: what it leaves is wrong at the user's line."""
    (call,) = (inner for inner in op.walk() if isinstance(inner, CallTirOp))
    call.operands = []


def crash(schedule_cpu: ScheduleCpuPass, ctx: Context, op: ModuleOp) -> None:
    raise KeyError("nothing")


def refuse(schedule_cpu: ScheduleCpuPass, ctx: Context, op: ModuleOp) -> None:
    (call,) = (inner for inner in op.walk() if isinstance(inner, CallTirOp))
    fail(call, "expected something else")


NAMED = re.compile(r"a.mlir:2:8: error: 'relex.call_tir' op .* after pass 'inline-blocks'\n  %y = relex.exp")


@pytest.mark.parametrize("later", [None, crash, refuse])
def test_a_pass_that_leaves_a_wrong_module_is_named(
    later: Callable[..., None] | None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    """Also where a later pass fails because of it."""
    monkeypatch.setattr(InlineBlocksPass, "apply", forget_the_argument)
    if later is not None:
        monkeypatch.setattr(ScheduleCpuPass, "apply", later)
    path = tmp_path / "a.mlir"
    path.write_text(PROGRAM)
    with pytest.raises(CompileError) as built:
        build(path)
    with pytest.raises(CompileError) as checked:
        check_pass(RelexPipelinePass(), parse_module(PROGRAM, "a.mlir"))
    assert main([str(path), "-p", "relex-pipeline"]) == 1
    assert NAMED.search(str(built.value))
    assert NAMED.search(capsys.readouterr().err)
    assert "after pass 'inline-blocks'" in str(checked.value)


def test_a_pass_that_refuses_an_op_is_not_blamed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ScheduleCpuPass, "apply", refuse)
    with pytest.raises(CompileError) as caught:
        build(PROGRAM)
    assert str(caught.value).startswith("<string>:2:8: error: 'relex.call_tir' op expected something else\n")


def test_strings_that_are_not_closed_take_no_time():
    with pytest.raises(CompileError, match="end of file reached before closing string literal"):
        parse_module('"test.op"() {a = "' + "never closed " * 10_000)
