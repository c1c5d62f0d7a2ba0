"""Files that reproduce an error: a program, with the command to run on it in the first line."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from relex.dialects.upstream.printer import ExactPrinter
from relex.tools.diagnostics import write_bytes
from relex.tools.pipelines import pass_text


def as_text(module: ModuleOp, context: Context, make_printer: Callable[..., Printer] = ExactPrinter) -> str:
    """Return a module as text, by default one that loses nothing."""
    text = StringIO()
    printer = make_printer(stream=text)
    printer.print_op(module)
    printer.print_metadata(context.loaded_dialects)
    return text.getvalue() + "\n"


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
