"""Signatures, functions and executables in notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from relex.tools.notebook.fragment import count, folded, fragment, table, title

if TYPE_CHECKING:
    from relex.dialects.signature import Signature, TensorSpec

MOST_OPEN = 4


def html_of_signature(signature: Signature, kind: str = "signature") -> str:
    """Return the arguments and the results of a function."""
    return fragment(title(kind, _call(signature)), _specs(signature))


def html_of_functions(functions: Sequence[Signature], kind: str) -> str:
    """Return the functions of an executable. Of many, only the first is open."""
    is_open = len(functions) <= MOST_OPEN
    parts = (folded(_call(s), _specs(s), is_open=is_open or number == 0) for number, s in enumerate(functions))
    return fragment(title(kind, count(len(functions), "function")), *parts)


def _call(signature: Signature) -> str:
    """Return what a call looks like: `main(x, w)`."""
    return f"{signature.name}({', '.join(spec.name for spec in signature.inputs)})"


def _specs(signature: Signature) -> str:
    rows = [*_rows("argument", signature.inputs), *_rows("result", signature.outputs)]
    sizes = "".join(f"<p class='dim'>{html.escape(str(r))}</p>" for r in signature.requirements)
    return table(("", "name", "shape", "type"), rows) + sizes


def _rows(kind: str, specs: tuple[TensorSpec, ...]) -> Iterator[tuple[str, ...]]:
    for number, spec in enumerate(specs):
        shape = "scalar" if spec.is_scalar or not spec.shape else " x ".join(map(str, spec.shape))
        yield tuple(map(html.escape, (kind if number == 0 else "", spec.name, shape, spec.element_type)))
