"""`--version` of the tools."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any


def versions() -> str:
    """Return the versions of relex and of the packages that compile with it."""
    # Looking up versions reads files, so it is done on demand.
    from importlib.metadata import PackageNotFoundError, version

    from relex.version import __version__

    try:
        llvmlite = version("llvmlite")
    except PackageNotFoundError:
        llvmlite = "missing"
    return f"relex {__version__}, xdsl {version('xdsl')}, llvmlite {llvmlite}"


class VersionAction(argparse.Action):
    """Prints the versions and exits."""

    def __init__(self, option_strings: Sequence[str], dest: str):
        super().__init__(option_strings, dest, nargs=0, help="show the version of relex and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(versions())
        parser.exit()
