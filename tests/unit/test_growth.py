"""What is compiled and loaded leaves no memory behind: a short run of the stress test."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "stress" / "growth.py"


def test_memory_does_not_grow():
    command = [sys.executable, SCRIPT, "--compilations=100", "--builds=0", "--loads=500"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
