"""What is compiled and loaded leaves no memory behind: a short run of the stress test."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "stress" / "growth.py"


def grow(*options: str) -> None:
    found = subprocess.run([sys.executable, SCRIPT, *options], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def test_memory_does_not_grow():
    grow("--compilations=100", "--builds=0", "--loads=500", "--calls=10000")


@pytest.mark.full
def test_memory_does_not_grow_in_a_thousand_builds():
    grow("--full")
