"""The page about models of PyTorch: its Python is one program, which prints what stands after it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "torch.md"
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_examples(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
    code = [text for language, text in BLOCKS if language == "python"]
    # The source of a model is shown in messages.
    (tmp_path / "example.py").write_text("\n".join(code))
    result = subprocess.run([sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "".join(text for language, text in BLOCKS if language == "text")
    tool = str(Path(sys.executable).parent / "relex-opt")
    ((command, shown),) = re.findall(r"^`relex-opt ([^`]*)`\n\n^```mlir\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    printed = subprocess.run([tool, *command.split()], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert printed.stdout == shown
