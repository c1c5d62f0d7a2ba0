"""The page about ONNX models: its Python is one program, which prints what stands after it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "onnx.md"
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


def test_scikit_learn(tmp_path: Path) -> None:
    pytest.importorskip("skl2onnx")
    head = "import numpy as np, relex\nfrom relex.frontend.onnx import from_onnx\n"
    run(head + CODE[-1], tmp_path)
