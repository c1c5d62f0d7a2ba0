"""`python -m relex`: runs the command-line tools with the interpreter that relex is installed for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from relex.tools.shell.version import VersionAction

COMMANDS = {
    "opt": "relex.tools.opt.relex_opt",
    "run": "relex.tools.run.relex_run",
    "examples": "relex.tools.shell.copy_examples",
}

DESCRIPTION = """\
An ML compiler: graphs of tensor operators and loop functions become native code for CPUs.

  python -m relex opt ...   relex-opt: run passes on a program, and print it
  python -m relex run ...   relex-run: compile a program, and run one of its functions
  python -m relex examples  copy the example programs to a folder
"""


def main(args: Sequence[str] | None = None) -> int:
    """Run a tool on its arguments (the process's arguments by default) and return the exit code."""
    parser = argparse.ArgumentParser(
        "python -m relex", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action=VersionAction)
    parser.add_argument("command", nargs="?", choices=COMMANDS, help="the tool")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="its arguments; try --help")
    parsed = parser.parse_args(args)
    if parsed.command is None:
        parser.print_help()
        return 0
    return import_module(COMMANDS[parsed.command]).main(parsed.arguments)


if __name__ == "__main__":
    sys.exit(main())
