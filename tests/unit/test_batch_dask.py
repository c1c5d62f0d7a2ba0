"""Executables on a cluster of processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "batch_dask.py"


def test_example() -> None:
    pytest.importorskip("distributed")
    run = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE)], capture_output=True, text=True, check=False, timeout=600
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == "20000 images in 7 blocks on 2 processes: 0 predictions differ from NumPy's\n"
