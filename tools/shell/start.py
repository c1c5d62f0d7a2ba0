"""Entry points of the tools: `--version` is answered before anything that compiles is imported."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from importlib import import_module
from time import perf_counter

STARTED = perf_counter()
"""The time at which the process began to import the tool."""

THRESHOLDS = (100_000, 10, 10)
"""The thresholds of the garbage collector: the number of allocations before it runs, and the number of runs before it
looks at older objects."""


def relex_opt() -> int:
    """Run `relex-opt` on the arguments of the process and return the exit code."""
    return _start("relex.tools.opt.relex_opt")


def relex_run() -> int:
    """Run `relex-run` on the arguments of the process and return the exit code."""
    return _start("relex.tools.run.relex_run")


def _start(tool: str) -> int:
    if sys.argv[1:] == ["--version"]:
        from relex.tools.shell.version import versions

        print(versions())
        return 0
    return _imported(tool)(started=STARTED)


def _imported(tool: str) -> Callable[..., int]:
    """Import a tool. The garbage collector never scans what modules define, which stays, and seldom scans programs,
    which consist of many objects that live until the end."""
    gc.disable()
    try:
        main: Callable[..., int] = import_module(tool).main
    finally:
        gc.enable()
    collect_seldom()
    return main


def collect_seldom() -> None:
    """Let the garbage collector skip all existing objects, and scan new ones seldom."""
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
