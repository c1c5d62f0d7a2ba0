"""What the tools print for the completion of shells, and what bash makes of it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from relex.tools.campaign import relex_fuzz
from relex.tools.learn import relex_learn
from relex.tools.opt import relex_opt
from relex.tools.run import relex_run
from relex.tools.tuning import relex_tune

TOOLS = {
    tool.__name__.rpartition(".")[2]: tool.main for tool in (relex_fuzz, relex_learn, relex_opt, relex_run, relex_tune)
}
ROOT = Path(__file__).parents[3]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[[str, str], str]:
    pytest.importorskip("shtab", reason="shtab is not installed")

    def of(tool: str, shell: str) -> str:
        assert TOOLS[tool](["--print-completion", shell]) == 0
        return capsys.readouterr().out

    return of


def completed(script: str, words: str, folder: Path) -> list[str]:
    """What bash completes the last of some words to."""
    tool, *others = words.split(" ")
    (function,) = re.findall(rf"^complete .*-F (\w+) {tool}$", script, re.MULTILINE)
    end = f'COMP_WORDS=({tool} "$@"); COMP_CWORD=$#; {function}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    # Outside of a completion, `compopt` says that it has no effect.
    bash = ["bash", "-c", f"{script}\n{end}", "bash", *others]
    run = subprocess.run(bash, cwd=folder, capture_output=True, text=True, check=True)
    return sorted(run.stdout.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash was not found")
def test_bash_completes(printed: Callable[[str, str], str], tmp_path: Path) -> None:
    for name in ("model.mlir", "model.onnx"):
        (tmp_path / name).touch()
    (tmp_path / "models").mkdir()
    opt = printed("relex_opt", "bash")
    for words, expected in {
        "-p fuse-d": "fuse-dense-add",
        "-p cse,fuse-d": "cse,fuse-dense-add",
        "--passes convert-arith-to-l": "convert-arith-to-llvm",
        "--fuse-d": "--fuse-dense-add",
        "--print-ir-after fuse-ops,fuse-t": "fuse-ops,fuse-tir",
        "--help-pass fuse-t": "fuse-tir",
        "-t sc": "script",
        "-f on": "onnx",
        "--trace-rules ": "applied refused",
        "--verify-r": "--verify-roundtrip",
        "-p cse mod": "model.mlir model.onnx models",
        "--html mod": "model.mlir model.onnx models",
        "--dump-dir mod": "models",
    }.items():
        assert completed(opt, f"relex-opt {words}", tmp_path) == expected.split(), words
    run = printed("relex_run", "bash")
    assert completed(run, "relex-run --emit a", tmp_path) == ["asm"]
    assert completed(run, "relex-run model.o", tmp_path) == ["model.onnx"]
    fuzz = printed("relex_fuzz", "bash")
    assert completed(fuzz, "relex-fuzz --subjects levels,sch", tmp_path) == ["levels,schedules"]


def test_an_unknown_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert relex_run.main(["--print-completion", "cmd"]) == 1
    assert "invalid choice: 'cmd'" in capsys.readouterr().err


def test_without_shtab(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert relex_tune.main(["--print-completion", "bash"]) == 1
    error = "relex-tune: error: expected the package shtab for completions: pip install 'relex-compiler[completion]'\n"
    assert capsys.readouterr().err == error
