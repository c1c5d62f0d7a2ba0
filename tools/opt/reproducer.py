"""Files that reproduce an error: a program, with the command to run on it in the first line."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relex.dialects.upstream.printer import as_text
from relex.tools.options.pipelines import pass_text
from relex.tools.shell.diagnostics import write_bytes


def write_reproducer(
    path: Path, module: ModuleOp, context: Context, passes: Sequence[ModulePass], options: Sequence[str]
) -> str:
    """Write a program on which passes go wrong, and return the command that runs them. `options` are the tool's other
    arguments."""
    loading = [option for option in options if option.startswith("--load-passes")]
    others = [option for option in options if option not in loading]
    command = shlex.join(["relex-opt", str(path), *loading, "-p", ",".join(map(pass_text, passes)), *others])
    write_bytes(str(path), f"// {command}\n{as_text(module, context)}".encode())
    return command
