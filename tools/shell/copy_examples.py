"""`python -m relex examples`: a copy of the example programs, to follow the pages of the documentation with."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from relex.tools.shell.diagnostics import ToolError, run_tool

OF_THE_PACKAGE = {"__init__.py", "py.typed"}
"""Files beside the examples."""


def run(folder: Path) -> None:
    """Copy the examples to a new folder. Raises `ToolError` if there is something of that name."""
    from relex.examples import FOLDER

    def ignored(source: str, names: list[str]) -> set[str]:
        return {"__pycache__"} | (OF_THE_PACKAGE if Path(source) == FOLDER else set[str]())

    if folder.exists():
        raise ToolError(f"'{folder}' exists already")
    try:
        shutil.copytree(FOLDER, folder, ignore=ignored)
    except OSError as e:
        raise ToolError(f"cannot write '{folder}': {e.strerror or e}") from e


def main(args: Sequence[str] | None = None) -> int:
    """Run the tool on its arguments (the process's arguments by default) and return the exit code."""
    parser = argparse.ArgumentParser("python -m relex examples", description="Copy the example programs to a folder.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("examples"), help="a new folder (examples)")
    return run_tool("relex examples", lambda: run(parser.parse_args(args).folder), debug=False)


if __name__ == "__main__":
    sys.exit(main())
