"""The demo runs and notices when something is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from re import search

from started import run_python

EXAMPLE = Path(__file__).parents[3] / "examples" / "digits"


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the demo as users do: kernels that were compiled before are found."""
    environment = dict(os.environ)
    del environment["RELEX_VERIFY"]
    return run_python(folder / "demo.py", env=environment)


def test_demo() -> None:
    result = run(EXAMPLE)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("accuracy: 97.8 %") == 4
    assert "this is a 6 (label: 6)" in result.stdout
    assert search(r"360 images: mlp_tir.mlir takes \d+\.\d\d times as long as mlp.mlir", result.stdout)


def test_a_wrong_program_fails_loudly(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "digits")
    program = tmp_path / "digits" / "mlp.mlir"
    program.write_text(program.read_text().replace("%lv1 :", "%lv0 :"))
    result = run(tmp_path / "digits")
    assert result.returncode == 1
    assert "predictions differ from NumPy's" in result.stderr
