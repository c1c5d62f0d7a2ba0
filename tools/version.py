"""`--version` of the tools."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any


def versions() -> str:
    """The version of relex, and those of the packages that compile with it."""
    # They are looked up in files, which the other uses of the tools need not do.
    from importlib.metadata import version

    from relex.version import __version__

    return f"relex {__version__}, xdsl {version('xdsl')}, llvmlite {version('llvmlite')}"


class VersionAction(argparse.Action):
    """Prints the versions and exits."""

    def __init__(self, option_strings: Sequence[str], dest: str):
        super().__init__(option_strings, dest, nargs=0, help="show the version of relex and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(versions())
        parser.exit()
