"""Compiles the programs of lit tests with proofs, and prints those whose compilation is refuted."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

sys.path.append(str(Path.cwd() / "tests" / "unit"))

from test_check_each import commands

from relex.tools.relex_opt import main


def is_refuted(words: Sequence[str]) -> bool:
    """Return whether a program is found to change, rather than refused for another reason."""
    said = io.StringIO()
    with redirect_stdout(io.TextIOWrapper(io.BytesIO())), redirect_stderr(said):
        status = main([*words, "--check-each=proof,samples:1"])
    return status != 0 and "changes what" in said.getvalue()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        for number, words in enumerate(commands(Path(name))):
            if is_refuted(words):
                print(f"refuted: {name} {number}", flush=True)
