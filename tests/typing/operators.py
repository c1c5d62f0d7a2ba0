"""Writes `frontend/op.pyi`, which tells type checkers and editors of the functions that `frontend/op.py` makes.

Run it after a change of an operator's name, arguments or docstring.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from textwrap import indent

from relex.frontend import op

STUB = Path(inspect.getfile(op)).with_suffix(".pyi")

LONG = 110
"""The length from which a line of text does not fit between quotes."""

HEADER = '''\
"""The operators as functions, for type checkers and editors: written by tests/typing/operators.py."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.ir import Attribute

from relex.dialects import relex
from relex.frontend import op as _op
from relex.frontend.graph_expressions import AnyOperand as Operand
from relex.frontend.graph_expressions import Call, Size

Shapes: TypeAlias = Sequence[Size] | Sequence[Sequence[Size]]

nn = _op
'''


class _Code(str):
    """Text that is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def write_stub() -> str:
    """What `op.pyi` should say."""
    functions = {name: getattr(op, name) for name in dir(op)}
    return "\n\n".join([HEADER, *(_declaration(n, f) for n, f in functions.items() if inspect.isfunction(f))])


def _declaration(name: str, function: object) -> str:
    signature = inspect.signature(function) if callable(function) else inspect.Signature()
    parameters = [p.replace(annotation=_Code(p.annotation)) for p in signature.parameters.values()]
    code = signature.replace(parameters=parameters, return_annotation=_Code(signature.return_annotation))
    doc, _, _ = (inspect.getdoc(function) or "").partition("\n\n```mlir")
    lines = f"\n{doc}\n" if "\n" in doc or len(doc) > LONG else doc
    return f"def {name}{code}:\n" + indent(f'"""{lines}"""\n', "    ")


def main() -> None:
    STUB.write_text(write_stub())
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", str(STUB)], check=True)


if __name__ == "__main__":
    main()
