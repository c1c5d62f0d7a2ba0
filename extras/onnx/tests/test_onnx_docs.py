"""The page about ONNX models: its Python is one program, which prints what stands after it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from relex.tools.opt import relex_opt
from relex.tools.run import relex_run

TOOLS = {"relex-opt": relex_opt.main, "relex-run": relex_run.main}
PAGE = Path(__file__).parents[3] / "docs" / "onnx.md"
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
TEXTS = [text for language, text in BLOCKS if language == "text"]
CODE: list[str] = [text for language, text in BLOCKS if language == "python"]


def run(code: str, folder: Path) -> str:
    result = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_examples(tmp_path: Path) -> None:
    assert run("\n".join(CODE[:-1]), tmp_path) == "".join(TEXTS)
    tool = [str(Path(sys.executable).parent / "relex-opt")]
    shown = re.findall(r"^`relex-opt ([^`]*)`\n\n^```mlir\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    assert len(shown) == 2
    for command, text in shown:
        printed = subprocess.run([*tool, *command.split()], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert printed.stdout == text


def test_first_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The page's model is made, and each of its commands runs; what it shows is printed."""
    monkeypatch.setattr("relex.tools.run.benchmark.SECONDS", 0.0)
    monkeypatch.setattr("relex.runtime.profile.MIN_SECONDS", 0.0)
    # As for its reader, kernels that one command has compiled are known to the next.
    monkeypatch.delenv("RELEX_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    page = PAGE.with_name("first-steps.md").read_text()
    model, program = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    described, printed = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    for code in (model, program):
        exec(code, {})
    assert capsys.readouterr().out == printed
    commands = re.findall(r"^relex-.*$", page, re.MULTILINE)
    assert len(commands) == 7
    texts: list[str] = []
    for command in commands:
        tool, *arguments = command.split()
        assert TOOLS[tool](arguments) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == described
    assert all(texts[1:])
    (measured,) = [text for command, text in zip(commands, texts, strict=True) if "--benchmark" in command]
    assert "% of the limit" in measured
    assert "const TABS" in (tmp_path / "report.html").read_text()


def test_scikit_learn(tmp_path: Path) -> None:
    pytest.importorskip("skl2onnx")
    head = "import numpy as np, relex\nfrom relex.frontend.onnx import from_onnx\n"
    run(head + CODE[-1], tmp_path)
