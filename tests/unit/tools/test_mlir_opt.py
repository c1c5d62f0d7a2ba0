"""What users of mlir-opt type works, or is answered."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relex.tools.opt.relex_opt import RELEX_PASSES, RelexOptMain, main
from relex.tools.options.mlir_opt import OF_RUNNERS, OTHERWISE
from relex.tools.options.pipelines import parse_passes
from relex.tools.run.relex_run import main as run_main

PAGE = (Path(__file__).parents[3] / "docs" / "from-mlir-opt.md").read_text()
PROGRAM = """\
func.func @f(%x: i32) -> i32 {
  %c = arith.constant 0 : i32
  %y = arith.addi %x, %c : i32
  func.return %y : i32
}
"""

HABITS = {
    "-canonicalize": "",
    "--canonicalize -cse": "",
    "-pass-pipeline=builtin.module(func.func(canonicalize,cse),dce)": "remark: pass pipeline: every pass runs "
    "on the whole module, also in 'func.func(...)'",
    "-p builtin.module(func.func(any(canonicalize)),llvm.func(cse))": "remark: pass pipeline: every pass runs "
    "on the whole module, also in 'func.func(...)', 'llvm.func(...)'",
    "--verify-each -canonicalize": "",
    "--verify-each=1 -canonicalize": "",
    "--verify-each=false -canonicalize": "",
    "-mlir-disable-threading -canonicalize": "",
    "--mlir-print-ir-after-all --mlir-print-ir-module-scope -canonicalize": "IR Dump After Canonicalize",
    "--mlir-print-ir-before=cse --mlir-print-local-scope -canonicalize -cse": "IR Dump Before",
    "-mlir-timing --mlir-timing-display=list -canonicalize": "Execution time report",
    "--mlir-pass-statistics -canonicalize": "statistics",
    "--canonicalize --dump-pass-pipeline": "builtin.module(canonicalize)",
    "-split-input-file -canonicalize": "",
    "-verify-diagnostics -canonicalize": "",
    "--allow-unregistered-dialect --canonicalize": "",
    "--mlir-disable-threading=true -canonicalize": "",
    "-mlir-print-op-on-diagnostic=false -canonicalize": "",
    "--mlir-pretty-debuginfo -canonicalize": "",
    "--mlir-elide-resource-strings-if-larger=8 -canonicalize": "",
    "--mlir-pass-statistics --mlir-pass-statistics-display=list -canonicalize": "statistics",
    "--mlir-pass-pipeline-local-reproducer -canonicalize": "",
    "--mlir-very-unsafe-disable-verifier-on-parsing -canonicalize": "",
    "--verify-diagnostics=all -canonicalize": "",
    "--split-input-file='// -----' --output-split-marker='// -----' -canonicalize": "",
    "--remarks-filter=.* -canonicalize": "",
    "--remarks-filter-missed=loops -canonicalize": "",
}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "a.mlir"
    path.write_text(PROGRAM)
    return str(path)


@pytest.mark.parametrize("args", HABITS)
def test_habits_work(args: str, file: str, capsys: pytest.CaptureFixture[str]):
    assert main([file, *shlex.split(args)]) == 0
    out, err = capsys.readouterr()
    assert "arith.constant" not in out
    assert "func.func @f" in out
    assert HABITS[args] in err
    assert bool(err) == bool(HABITS[args])


@pytest.mark.parametrize("args", ["--help-hidden", "--help-list", "-help"])
def test_help(args: str, file: str, capsys: pytest.CaptureFixture[str]):
    assert main([args, file]) == 0
    assert capsys.readouterr().out.startswith("usage: relex-opt")


def test_show_dialects(capsys: pytest.CaptureFixture[str]):
    assert main(["-show-dialects"]) == 0
    title, names = capsys.readouterr().out.split(": ")
    assert title == "Available Dialects"
    assert {"func", "relex", "tir"} < set(names.strip().split(", "))


def test_a_folder_of_programs(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main([file, "-cse", f"--mlir-print-ir-tree-dir={tmp_path / 'tree'}"]) == 0
    assert [path.name for path in sorted((tmp_path / "tree").iterdir())] == ["00_input.mlir", "01_cse.mlir"]


def test_broken_programs_are_not_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "a.mlir"
    path.write_text("func.func @f() -> i32 {\n  func.return\n}\n")
    assert [main([str(path), flag]) for flag in ("--verify-each=1", "--verify-each=0")] == [1, 0]


def test_attributes_are_verified_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "a.mlir"
    path.write_text("llvm.func @f(%x: memref<4xf32>) {\n  llvm.return\n}\n")
    assert [main([str(path), f"--verify-each={each}"]) for each in (1, 0, 1)] == [1, 0, 1]


@pytest.mark.parametrize(
    ("option", "answer"),
    [
        ("--split-input-file=// ---", "no value '// ---': programs are separated by '// -----'"),
        ("--output-split-marker=// =====", "no value '// =====': programs are separated by '// -----', also in"),
        ("--verify-diagnostics=only-expected", "no value 'only-expected': all errors, warnings and remarks are"),
        ("--canonicalize=top-down=false", "pass 'canonicalize' has no option 'top-down'"),
        ("--print-ir-after-all=cse", "argument --print-ir-after-all: ignored explicit argument 'cse'"),
    ],
)
def test_values_that_are_not_there(option: str, answer: str, file: str, capsys: pytest.CaptureFixture[str]):
    assert main([file, option]) == 1
    assert answer in capsys.readouterr().err


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_is_done_otherwise(name: str, file: str, capsys: pytest.CaptureFixture[str]):
    ways = [[f"-{name}"], [f"--{name}=x"], ["-p", name], ["--pass-pipeline", f"builtin.module(func.func({name}))"]]
    for args in ways:
        assert main([file, *args]) == 1
        assert OTHERWISE[name] in capsys.readouterr().err


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_the_answers_name_exists(name: str):
    tool = RelexOptMain([])
    for quoted in re.findall(r"'([a-z0-9-]+)'", OTHERWISE[name]):
        assert quoted in tool.available_passes
    for option in re.findall(r"(--[a-z-]+)", OTHERWISE[name]):
        getattr(tool.args, option.removeprefix("--").replace("-", "_"))


def test_the_page_has_the_answers():
    rows = dict(re.findall(r"^\| `--([a-z0-9-]+)` \| (.*) \|$", PAGE.partition("## Done otherwise")[2], re.MULTILINE))
    assert {name: text.replace("`", "'") for name, text in rows.items()} == {
        name: re.sub(r"(?<!')(--[a-z-]+)", r"'\1'", text) for name, text in OTHERWISE.items()
    }


def test_the_page_shows_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    program, shown = re.findall(r"^```(?:mlir|text)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "f.mlir").write_text(program)
    monkeypatch.chdir(tmp_path)
    assert main(["f.mlir"]) == 1
    assert capsys.readouterr().err == shown


@pytest.mark.skipif(shutil.which("mlir-opt-22") is None, reason="mlir-opt-22 is not installed")
def test_what_is_done_otherwise_is_known_to_mlir_opt():
    known = subprocess.run(["mlir-opt-22", "--help-hidden"], capture_output=True, text=True, check=True).stdout
    # Builds with assertions have --debug-only; mlir-translate has the other one.
    unknown = {name for name in OTHERWISE if not re.search(rf"--{name}\b", known)}
    assert unknown <= {"debug-only", "mlir-to-llvmir"}


@pytest.mark.parametrize("args", ["-e f", "--entry=f -O3", "-e f --entry-point-result=i32"])
def test_habits_of_runners(args: str, file: str, capsys: pytest.CaptureFixture[str]):
    assert run_main([file, *shlex.split(args), "--input=5"]) == 0
    assert capsys.readouterr().out == "5\n"


@pytest.mark.parametrize("name", OF_RUNNERS)
def test_what_runners_do_otherwise(name: str, file: str, capsys: pytest.CaptureFixture[str]):
    assert run_main([file, f"--{name}=x"]) == 1
    assert OF_RUNNERS[name] in capsys.readouterr().err


class InlinePass(ModulePass):
    """A pass with a name of MLIR."""

    name = "inline"

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


def test_own_passes_come_before_the_answers(monkeypatch: pytest.MonkeyPatch, file: str):
    monkeypatch.setitem(RELEX_PASSES, "inline", lambda: InlinePass)
    assert main([file, "--inline"]) == 0


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("--show-dialcts", "did you mean '--show-dialects'?"),
        ("--print-ir-afterall", "did you mean '--print-ir-after-all'?"),
        ("--topological-sort", "--help shows all options"),
        ("--int-range-optimizations", "--help shows all options"),
        ("--use-color", "--help shows all options"),
        ("--test-print-liveness", "--help shows all options"),
        ("--print-value-users", "--help shows all options"),
    ],
)
def test_suggestions_have_a_word_in_common(name: str, hint: str, file: str, capsys: pytest.CaptureFixture[str]):
    assert main([file, name]) == 1
    assert capsys.readouterr().err == f"relex-opt: error: unrecognized arguments: {name}; {hint}\n"


@pytest.mark.parametrize("name", ["test-print-liveness", "outline-shape-computation", "pretty-print=x"])
def test_one_dash_is_no_short_option(
    name: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    assert main([file, f"-{name}"]) == 1
    assert f"unrecognized arguments: --{name};" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.mlir"]


def test_values_after_short_options(file: str, capsys: pytest.CaptureFixture[str]):
    for arg in ("-pfold-constants", "-pfold-constants,cse", "-tscript"):
        assert main([file, arg]) == 0
    assert "I.ir_module" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "answer"),
    [
        (["b.mlir"], "expected one file, found 'b.mlir' as well; run the tool for each file"),
        (["-p", "cse,", "canonicalize"], "found 'canonicalize' apart from the other passes: they are separated by"),
        (["-p", "cse", "canonicalize{}"], "found 'canonicalize{}' apart from the other passes: they are separated by"),
    ],
)
def test_one_argument_too_many(args: list[str], answer: str, file: str, capsys: pytest.CaptureFixture[str]):
    assert main([file, *args]) == 1
    assert answer in capsys.readouterr().err
    if args == ["b.mlir"]:
        assert run_main([file, *args]) == 1
        assert answer in capsys.readouterr().err


def test_help_on_passes_of_xdsl(capsys: pytest.CaptureFixture[str]):
    assert main(["--help-pass", "cse"]) == 0
    assert "common subexpression elimination" in capsys.readouterr().out


@pytest.mark.filterwarnings("default")
def test_warnings_of_passes_have_no_place_in_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "a.mlir"
    path.write_text(
        """func.func @f(%x: i64) -> index {
          %y = builtin.unrealized_conversion_cast %x : i64 to index
          func.return %y : index
        }"""
    )
    assert main([str(path), "--reconcile-unrealized-casts"]) == 0
    error = capsys.readouterr().err
    assert error.startswith("relex-opt: warning: Unable to remove cast")
    assert ".py" not in error
    with pytest.warns(UserWarning, match="Unable to remove cast"):
        main([str(path), "--reconcile-unrealized-casts", "--debug"])


def test_passes_in_parentheses():
    passes = parse_passes("builtin.module(cse, func.func( canonicalize , any(dce)), licm)")
    assert [p.name for p in passes] == ["cse", "canonicalize", "dce", "licm"]
