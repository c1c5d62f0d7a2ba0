"""The shapes of one call: whether they fit each other, and those of the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from relex.dialects.errors import OutOfMemoryError, ShapeError
from relex.dialects.sizes import evaluate, names_in
from relex.dialects.sizes.limits import MAX_ARGUMENT_SIZE
from relex.runtime.signature import Signature, shape_text

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array

Shape = tuple[int, ...]

KEPT = 256
"""Of how many combinations of shapes the results are kept, so that calls like earlier ones check nothing."""


class ShapeRule:
    """From the arguments of a call to the shapes of its results.

    Raises `ShapeError`, which names an argument, where shapes do not fit each other. Each argument by itself must have
    its rank, and the sizes that are the same in every call.
    """

    def __init__(self, signature: Signature):
        self._signature = signature
        self._open = [i for i, spec in enumerate(signature.inputs) if not spec.is_static]
        is_static = not self._open and all(spec.is_static for spec in signature.outputs)
        self._fixed = [spec.shape_with({}) for spec in signature.outputs] if is_static else None
        self._found: dict[Sequence[Shape], list[Shape]] = {}

    def __call__(self, arguments: Sequence[Array]) -> list[Shape]:
        if self._fixed is not None:
            return self._fixed
        shapes = tuple([arguments[i].shape for i in self._open])
        found = self._found.get(shapes)
        if found is None:
            found = self._results(dict(zip(self._open, shapes, strict=True)))
            if len(self._found) >= KEPT:
                self._found.clear()
            self._found[shapes] = found
        return found

    def _results(self, shapes: Mapping[int, Shape]) -> list[Shape]:
        signature = self._signature
        values = {name: shapes[argument][dimension] for name, (argument, dimension) in signature.names.items()}
        for i, shape in shapes.items():
            spec = signature.inputs[i]
            where = f"{signature.name}() argument '{spec.name}'"
            if spec.shape_with(values) != shape:
                used = dict.fromkeys(name for size in spec.shape for name in names_in(size))
                expected = f"{shape_text(spec.shape)} with {signature.explain(used, values)}"
                raise ShapeError(f"{where}: expected shape {expected}, found {shape}")
            if max(shape, default=0) > MAX_ARGUMENT_SIZE:
                raise ShapeError(f"{where}: expected sizes of at most {MAX_ARGUMENT_SIZE}, found {shape}")
        signature.check(values)
        expect_memory(signature.name, max((evaluate(size, values) for size in signature.temporaries), default=0))
        return [spec.shape_with(values) for spec in signature.outputs]


def expect_memory(function: str, size: int) -> None:
    """Raise `OutOfMemoryError` unless that many bytes can be had: compiled code could not say that it gets none."""
    try:
        np.empty(size, np.uint8)
    except (MemoryError, ValueError) as e:
        raise OutOfMemoryError(f"{function}() needs {size} bytes for values on the way, found no such memory") from e
