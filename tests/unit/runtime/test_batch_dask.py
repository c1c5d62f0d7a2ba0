"""Executables on a cluster of processes."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "batch_dask.py"

pytestmark = pytest.mark.skipif(find_spec("distributed") is None, reason="needs distributed")


def run(*arguments: str) -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLE), *arguments]
    process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_example() -> None:
    assert run() == (
        "20000 images in 7 blocks on 2 processes, with 1 executable each at most: 0 predictions differ from NumPy's\n"
    )


@pytest.mark.full
def test_measurement() -> None:
    pickled, unpickled, _, *table = run("--rounds", "1").splitlines()
    assert re.fullmatch(r"pickled: 0\.4 MB, in \d+\.\d ms", pickled)
    assert re.fullmatch(r"unpickled: in \d+\.\d ms", unpickled)
    assert [line.split("|")[1].strip() for line in table] == ["processes", "---:", "1", "2"]
