"""relex-opt from the outside: output, exit codes, and what people read when something is wrong."""

import io
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i32
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException, ShrinkException
from xdsl.utils.target import Target

from relex.dialects.errors import UnknownNameError, fail
from relex.tools.opt.relex_opt import RelexOptMain, main

GOOD = """\
func.func @f(%x: i32) -> i32 {
  %y = arith.addi %x, %x : i32
  func.return %y : i32
}
"""
UNPARSABLE = """\
func.func @f() {
  func.return ]
}
"""
UNVERIFIABLE = """\
func.func @f() -> i32 {
  func.return
}
"""


def _fail_at_op(op: ModuleOp) -> None:
    fail(list(op.walk())[-1], "expected better")


def _fail_like_xdsl(op: ModuleOp) -> None:
    op.emit_error("no luck", PassFailedException("no luck"))


def _fail_by_name(op: ModuleOp) -> None:
    raise UnknownNameError("no target 'z80'")


def _crash(op: ModuleOp) -> None:
    raise IndexError("tuple index out of range")


def _shrink(op: ModuleOp) -> None:
    raise ShrinkException


def _break(op: ModuleOp) -> None:
    function = next(iter(op.body.block.ops))
    assert isinstance(function, FuncOp)
    function.attributes["arg_attrs"] = StringAttr("no array")
    function.properties["sym_name"] = IntegerAttr(1, i32)


def _pass_that_does(what: str, action: Callable[[ModuleOp], None]) -> type[ModulePass]:
    @dataclass(frozen=True)
    class TestPass(ModulePass):
        name = what

        size: int = 1

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            action(op)

    return TestPass


@dataclass(frozen=True)
class BytesTarget(Target):
    """A target whose output is no text."""

    name = "test-bytes"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        raise AssertionError("asked for text")

    def emit_bytes(self, ctx: Context, module: ModuleOp) -> bytes:
        return b"\x7fELF\xff\n"


@pytest.fixture
def bytes_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relex.tools.opt.relex_opt.get_all_targets", lambda: {"test-bytes": lambda: BytesTarget})


@pytest.fixture(autouse=True)
def _test_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes that go wrong in every way there is."""
    actions = {
        "test-fail": _fail_at_op,
        "test-fail-like-xdsl": _fail_like_xdsl,
        "test-fail-by-name": _fail_by_name,
        "test-crash": _crash,
        "test-shrink": _shrink,
        "test-break": _break,
    }
    register_all_passes = RelexOptMain.register_all_passes

    def register(tool: RelexOptMain) -> None:
        register_all_passes(tool)
        for name, action in actions.items():
            cls = _pass_that_does(name, action)
            tool.register_pass(name, lambda cls=cls: cls)

    monkeypatch.setattr(RelexOptMain, "register_all_passes", register)


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


class Tool:
    """Runs relex-opt in this process, on files in a separate folder."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]):
        self.folder = folder
        self._capture = capture

    def file(self, text: str | bytes, name: str = "a.mlir") -> str:
        path = self.folder / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return str(path)

    def __call__(self, *args: str) -> Result:
        code = main(args)
        out, err = self._capture.readouterr()
        assert "Traceback" not in err
        return Result(code, out, err.replace(f"{self.folder}/", ""))


@pytest.fixture
def tool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Tool:
    return Tool(tmp_path, capsys)


@pytest.mark.parametrize("args", [[], ["-"]])
def test_reads_standard_input(args: list[str], tool: Tool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(UNPARSABLE.encode())))
    result = tool(*args)
    assert result.code == 1
    assert result.err.startswith("<stdin>:2:15: error: ")


def test_writes_no_file_for_a_wrong_program(tool: Tool):
    path = tool.folder / "out.mlir"
    assert tool(tool.file(UNVERIFIABLE), "-o", str(path)).code == 1
    assert not path.exists()


def test_a_module_can_be_demanded(tool: Tool):
    result = tool(tool.file(GOOD), "--no-implicit-module")
    assert result == Result(1, "", "a.mlir: error: expected one builtin.module around everything\n")
    assert tool(tool.file(f"builtin.module {{\n{GOOD}}}"), "--no-implicit-module").code == 0


def test_verify_errors_show_the_place(tool: Tool):
    result = tool(tool.file(UNVERIFIABLE))
    assert (result.code, result.out) == (1, "")
    first, source, caret = result.err.splitlines()
    assert first.startswith("a.mlir:2:3: error: 'func.return' op ")
    assert (source, caret) == ("  func.return", "  ^")


def test_parse_errors_that_are_asked_for_are_output(tool: Tool):
    result = tool(tool.file(UNPARSABLE), "--parsing-diagnostics")
    assert (result.code, result.err) == (0, "")
    assert "a.mlir:2:15: error: " in result.out.replace(f"{tool.folder}/", "")
    assert tool(tool.file(UNVERIFIABLE), "--parsing-diagnostics").code == 1


def test_a_pass_fails_at_an_op(tool: Tool):
    result = tool(tool.file(GOOD), "-p", "canonicalize,test-fail")
    assert result.code == 1
    assert result.err == ("a.mlir:3:3: error: 'func.return' op expected better\n  func.return %y : i32\n  ^\n")


@pytest.mark.parametrize(
    ("name", "expected", "line"),
    [
        ("test-fail-like-xdsl", "pass 'test-fail-like-xdsl' failed: no luck", ""),
        (
            "test-fail-by-name",
            "pass 'test-fail-by-name' failed: no target 'z80'",
            "'_fail_by_name' of pass 'test-fail-by-name': raise UnknownNameError(\"no target 'z80'\")",
        ),
        (
            "test-crash",
            "internal error in pass 'test-crash': IndexError: tuple index out of range",
            "'_crash' of pass 'test-crash': raise IndexError(\"tuple index out of range\")",
        ),
    ],
)
def test_a_pass_fails_without_a_place(name: str, expected: str, line: str, tool: Tool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tool.folder))
    result = tool(tool.file(GOOD), "-p", name)
    first, *notes = result.err.splitlines()
    assert (result.code, first) == (1, f"a.mlir: error: {expected}")
    if line:
        assert re.fullmatch(rf"note: .*test_relex_opt.py:\d+: in {re.escape(line)}", notes[0])
        assert re.fullmatch(rf"note: reproduced by: relex-opt relex-opt-\w+/{name}.crash.mlir -p {name}", notes[1])
    assert notes[2:] == ["note: run with --debug for the Python traceback"] * ("internal" in expected)


def test_debug_lets_the_exception_through(tool: Tool):
    with pytest.raises(Exception, match="tuple index") as caught:
        main([tool.file(GOOD), "-p", "test-crash", "--debug"])
    assert isinstance(caught.value.__cause__, IndexError)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["-p", "canonicalise"], "unknown pass 'canonicalise'; did you mean 'canonicalize'?"),
        (["-p", "xyzzy"], "unknown pass 'xyzzy'; --list-passes shows all of them"),
        (["-p", "test-fail{colour=1}"], "pass 'test-fail' has no option 'colour'; its options: size"),
        (["-p", "canonicalize{deep}"], "pass 'canonicalize' has no option 'deep'; its options: none"),
        (["-p", "test-fail{size=big}"], "pass 'test-fail': expected int for option 'size', found big"),
        (["-p", "cse{"], "wrong pass pipeline: expected the name of an option or '}', found the end\ncse{\n    ^\n"),
        (["-t", "llvmm"], "argument -t/--target: invalid choice: 'llvmm'"),
        (["-f", "mlir{a=1}"], "argument -f/--frontend: invalid choice: 'mlir{a=1}'"),
        (["-t", "mlir{colour=1}"], "target 'mlir' has no option 'colour'"),
        (["-t", ""], "Expected pass name"),
        (["--no-such-flag"], "unrecognized arguments: --no-such-flag; --help shows all options"),
        (["--print-ir-aftr=cse"], "unrecognized arguments: --print-ir-aftr=cse; did you mean '--print-ir-after'?"),
        (["--canonicalise"], "unrecognized arguments: --canonicalise; did you mean '--canonicalize'?"),
        (["--print-ir-after", "csee"], "unknown pass 'csee'; did you mean 'cse'?"),
        (["--print-ir-before", "cse,canonicalise"], "unknown pass 'canonicalise'; did you mean 'canonicalize'?"),
        (["--mlir-print-ir-after", "fuse-opps"], "unknown pass 'fuse-opps'; did you mean 'fuse-ops'?"),
        (["--check-each", "sead:0"], "expected --check-each=seed:NUMBER,samples:NUMBER,seconds:NUMBER, found 'sead:0'"),
        (["--elide", "few"], "argument --elide: invalid int value: 'few'"),
        (["--elide=x"], "argument --elide: invalid int value: 'x'"),
        (["--elide", "-t", "wat"], "--elide shortens MLIR text; it cannot be used with target 'wat'"),
    ],
)
def test_wrong_arguments(args: list[str], expected: str, tool: Tool):
    result = tool(tool.file(GOOD), *args)
    assert (result.code, result.out) == (1, "")
    assert ": error: " in result.err
    assert expected in result.err


def test_values_that_may_be_left_out(tool: Tool):
    file = tool.file(GOOD)
    whole = tool("--print-ir-after", file, "-p", "cse,canonicalize")
    assert whole.err.count("IR Dump After") == 2
    assert tool("--print-ir-after=cse,canonicalize", file, "-p", "cse,canonicalize") == whole
    assert tool("--print-ir-after", "cse,canonicalize", file, "-p", "cse,canonicalize") == whole
    assert tool(file, "-p", "cse,canonicalize", "--print-ir-after") == whole
    assert tool("--elide", "1", file).code == tool("--check-each", "seed:0,samples:1", "--cse", file).code == 0


def test_flags_of_the_environment(tool: Tool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RELEX_OPT_FLAGS", "-p 'cse")
    result = tool(tool.file(GOOD))
    assert (result.code, result.out) == (1, "")
    assert result.err == 'relex-opt: error: cannot read RELEX_OPT_FLAGS: No closing quotation, found "-p \'cse"\n'


def test_wrong_files(tool: Tool):
    folder = str(tool.folder)
    expected = "relex-opt: error: cannot read 'none.mlir': No such file or directory\n"
    assert tool(f"{folder}/none.mlir") == Result(1, "", expected)
    assert tool(folder).err.endswith(": Is a directory\n")
    assert tool(tool.file(b"\x7fELF\x90")).err == (
        "relex-opt: error: cannot read 'a.mlir': expected UTF-8 text, found byte 0x90\n"
    )
    assert "unknown file extension '.txt' of 'a.txt'; expected .mlir" in tool(tool.file(GOOD, "a.txt")).err
    assert "cannot write 'no/b.mlir': No such file" in tool(tool.file(GOOD), "-o", f"{folder}/no/b.mlir").err


@pytest.mark.usefixtures("bytes_target")
def test_bytes_are_written_as_they_are(tool: Tool):
    path = tool.folder / "a.o"
    assert main([tool.file(GOOD), "-t", "test-bytes", "-o", str(path)]) == 0
    assert path.read_bytes() == b"\x7fELF\xff\n"


@pytest.mark.usefixtures("bytes_target")
def test_bytes_do_not_go_everywhere(tool: Tool, monkeypatch: pytest.MonkeyPatch):
    file = tool.file(GOOD)
    assert "holds one program" in tool(file, "-t", "test-bytes", "--split-input-file").err
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "not for a terminal; name a file with -o" in tool(file, "-t", "test-bytes").err
    assert tool(file, "-t", "test-bytes", "-o", str(tool.folder / "a.o")).code == 0


def test_shrink_tells_by_its_exit_code(tool: Tool):
    assert tool(tool.file(GOOD), "--shrink", "-p", "test-shrink") == Result(0, "Success, can shrink\n", "")
    assert tool(tool.file(GOOD), "--shrink").code == 1
    assert tool(tool.file(GOOD), "--shrink", "-p", "test-crash").code == 1


def test_elide_shortens_long_constants(tool: Tool):
    text = "\n".join(
        f'"test.op"() {{value = dense<{value}> : tensor<{size}xi32>}} : () -> ()'
        for value, size in ((list(range(17)), 17), (list(range(16)), 16), (7, 1000))
    )
    whole, short, shorter = (tool(tool.file(text), *args) for args in ([], ["--elide"], ["--elide=3"]))
    assert "elided" not in whole.out
    assert short.out.count("dense_resource<__elided__> : tensor<17xi32>") == 1
    assert "dense<[0, 1, 2" in short.out
    assert shorter.out.count("dense_resource<__elided__>") == 2
    assert "dense<7> : tensor<1000xi32>" in shorter.out


def test_version(tool: Tool):
    assert [part.split()[0] for part in tool("--version").out.split(", ")] == ["relex", "xdsl", "llvmlite"]


def test_the_pipeline_that_is_shown_can_be_run(tool: Tool):
    args = ["--cse", "--relex-pipeline=to=core strict", "--set-target=cpu='a b'", "--dump-pass-pipeline"]
    result = tool(tool.file(GOOD), *args)
    assert tool(tool.file(GOOD), "--pass-pipeline", result.err, "--dump-pass-pipeline") == result


def test_a_reader_that_stops_reading_is_no_error(tmp_path: Path):
    path = tmp_path / "a.mlir"
    path.write_text("".join(f"func.func private @f{i}()\n" for i in range(10_000)))
    command = f"'{Path(sys.executable).parent}/relex-opt' '{path}' | head -n 1"
    process = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert (process.stdout, process.stderr) == ("builtin.module {\n", "")
