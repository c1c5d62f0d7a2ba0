"""Writes `passes/schedule/steps.pyi`, which tells type checkers and editors of the methods that primitives become.

Run it after a change of a primitive's arguments or docstring.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from inspect import Signature
from pathlib import Path
from textwrap import fill, indent
from typing import Any

from relex.passes.schedule import steps
from relex.passes.schedule.primitive_table import PRIMITIVES

STUB = Path(inspect.getfile(steps)).with_suffix(".pyi")

SHOWN = {"ForOp": "Loop", "BlockOp": "Block", "AffineMap": "IndexMap"}
"""The types of arguments and results of methods, by the types of the function of a primitive."""

WIDTH = 106
"""The length of a line of text that fits between quotes."""

HEADER = '''\
"""The primitives as methods, for type checkers and editors: written by tests/typing/primitives.py."""

from collections.abc import Callable, Sequence
from typing import Any

from relex.dialects.schedule import PrimitiveOp
from relex.passes.schedule.arguments import Block, IndexMap, Loop

def add_method(op: type[PrimitiveOp], carry: Callable[..., Any]) -> None: ...

class Steps:
    def apply(self, func: str, op: PrimitiveOp) -> Any: ...
'''


class _Code(str):
    """Text that is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def write_stub() -> str:
    """What `steps.pyi` should say."""
    methods = {op.name.rpartition(".")[2]: carry for op, carry in PRIMITIVES.items() if op.name.startswith("schedule.")}
    known = {name: carry for name, carry in sorted(methods.items()) if hasattr(steps.Steps, name)}
    return "\n".join([HEADER, *(_declaration(name, carry) for name, carry in known.items())])


def _declaration(name: str, carry: Callable[..., Any]) -> str:
    public = {parameter.name for parameter in steps.public_parameters(carry) or ()}
    written = inspect.signature(carry)
    parameters = [
        p.replace(annotation=_shown(p.annotation), kind=p.kind) for p in written.parameters.values() if p.name in public
    ]
    code = str(Signature(parameters, return_annotation=_shown(written.return_annotation)))
    method = code.replace("(", "(self, ", 1).replace("(self, )", "(self)")
    doc = fill(inspect.getdoc(carry) or "", WIDTH)
    lines = f"\n{doc}\n" if "\n" in doc else doc
    return indent(f"def {name}{method}:\n" + indent(f'"""{lines}"""\n', "    "), "    ")


def _shown(annotation: str) -> _Code:
    for op, name in SHOWN.items():
        annotation = annotation.replace(op, name)
    return _Code(annotation)


def main() -> None:
    STUB.write_text(write_stub())
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", str(STUB)], check=True)


if __name__ == "__main__":
    main()
