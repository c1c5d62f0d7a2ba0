"""Integration with the programs that notebooks run in, IPython's kernels and marimo's: what they show, and how."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xdsl.ir import Operation

PRINTED = (
    ("xdsl.dialects.builtin", "ModuleOp"),
    ("xdsl.dialects.func", "FuncOp"),
    ("relex.dialects.tir.prim_func", "PrimFuncOp"),
)
"""The ops that IPython prints as text; others may be part of what it prints."""


def register() -> None:
    """Make the notebook that this process runs for show ops, which are classes of xDSL, and so have no method of ours.
    Elsewhere this does nothing."""
    if (shell := _asked("IPython", "get_ipython")) is not None:
        _register_with_ipython(shell)
    if _asked("marimo", "running_in_notebook"):
        _register_with_marimo()


def _asked(package: str, function: str) -> Any:
    """Return what a function of a package returns; None if the package is not imported, or has no such function."""
    return getattr(sys.modules.get(package), function, lambda: None)()


def _register_with_ipython(shell: Any) -> None:
    # By name, so that nothing is imported before it is used.
    formatters = shell.display_formatter.formatters
    formatters["text/html"].for_type_by_name("xdsl.ir.core", "Operation", _html)
    for module, name in PRINTED:
        formatters["text/plain"].for_type_by_name(module, name, _print_pretty)


def _register_with_marimo() -> None:
    from xdsl.ir import Operation

    try:
        formatter = import_module("marimo._output.formatting").formatter
    except (ImportError, AttributeError):
        # marimo then prints ops as Python does.
        return

    def show(op: Operation) -> tuple[str, str]:
        return "text/html", _html(op)

    formatter(Operation)(show)


def _html(op: Operation) -> str:
    from relex.tools.notebook.ops import html_of_op

    return html_of_op(op)


def _print_pretty(op: Operation, printer: Any, cycle: bool) -> None:
    from relex.tools.shell.colors import is_colored
    from relex.tools.shell.highlighting import for_terminal, text_of

    text = text_of(op)
    printer.text(for_terminal(text) if is_colored(sys.stdout) else text)


def notebook_display() -> Callable[[str, str], None] | None:
    """Return a function that shows a text and the same as HTML in the notebook that standard output goes to; None if it
    goes anywhere else, or if nothing is to be colored."""
    return None if os.environ.get("NO_COLOR") else _DISPLAYS.get(type(sys.stdout).__module__.partition(".")[0])


def _display_in_jupyter(text: str, html: str) -> None:
    import_module("IPython.display").display({"text/plain": text, "text/html": html}, raw=True)


def _display_in_marimo(text: str, html: str) -> None:
    marimo = import_module("marimo")
    marimo.output.append(marimo.Html(html))


_DISPLAYS = {"ipykernel": _display_in_jupyter, "marimo": _display_in_marimo}
"""The display function for each package that may provide standard output."""
