"""Shapes of one call: consistency of the arguments', and the results'."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from relex.dialects.exceptions import OutOfMemoryError, ShapeError
from relex.dialects.signature import Signature, shape_text
from relex.dialects.sizes import MAX_ARGUMENT_SIZE, evaluate, names_in
from relex.runtime.descriptors import Shape

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array

T = TypeVar("T")

KEPT = 256
"""The number of combinations of shapes to cache, so that repeated calls skip the checks."""


class ShapeRule(Generic[T]):
    """Maps the arguments of a call to `make` of their shapes followed by the shapes of the results, without late ones,
    once for each combination of shapes.

    Raises `ShapeError`, which names an argument, for inconsistent shapes. Each argument by itself must have its rank
    and static sizes.
    """

    def __init__(self, signature: Signature, make: Callable[[Sequence[Shape]], T]):
        self._signature = signature
        self._make = make
        self._open = [i for i, spec in enumerate(signature.inputs) if not spec.is_static]
        self._found: dict[Sequence[Shape], T] = {}
        self._fixed = make(self._shapes({})) if not self._open else None

    def __call__(self, arguments: Sequence[Array]) -> T:
        if self._fixed is not None:
            return self._fixed
        shapes = tuple([self._sizes_of(i, arguments[i]) for i in self._open])
        found = self._found.get(shapes)
        if found is None:
            found = self._make(self._shapes(dict(zip(self._open, shapes, strict=True))))
            if len(self._found) >= KEPT:
                self._found.clear()
            self._found[shapes] = found
        return found

    def _sizes_of(self, i: int, argument: Array) -> Shape:
        if not self._signature.inputs[i].is_scalar:
            return argument.shape
        size = int(argument)
        if size < 0:
            where = f"{self._signature.name}() argument '{self._signature.inputs[i].name}'"
            raise ShapeError(f"{where}: expected a size, found {size}")
        return (size,)

    def _shapes(self, shapes: Mapping[int, Shape]) -> list[Shape]:
        signature = self._signature
        values = {name: shapes[argument][dimension] for name, (argument, dimension) in signature.names.items()}
        for i, shape in shapes.items():
            spec = signature.inputs[i]
            where = f"{signature.name}() argument '{spec.name}'"
            if spec.shape_with(values) != shape:
                used = dict.fromkeys(name for size in spec.shape for name in names_in(size))
                which = signature.explain(used, values)
                if spec.is_scalar:
                    raise ShapeError(f"{where}: expected {spec.shape[0]} with {which}, found {shape[0]}")
                raise ShapeError(f"{where}: expected shape {shape_text(spec.shape)} with {which}, found {shape}")
            _expect_countable(where, shape)
        signature.check(values)
        expect_memory(signature.name, max((evaluate(size, values) for size in signature.temporaries), default=0))
        for spec in signature.framed[len(signature.inputs) :]:
            _expect_countable(f"{signature.name}() {spec.name}", spec.shape_with(values))
        return [spec.shape_with(values) for spec in signature.framed]


def _expect_countable(where: str, shape: Shape) -> None:
    """Check that strides do not overflow, even of arrays without elements."""
    if prod(size or 1 for size in shape) > MAX_ARGUMENT_SIZE:
        raise ShapeError(f"{where}: expected sizes of at most {MAX_ARGUMENT_SIZE} together, found {shape}")


def expect_memory(function: str, size: int) -> None:
    """Raise `OutOfMemoryError` unless this many bytes can be allocated: compiled code could not report that it gets
    none."""
    try:
        np.empty(size, np.uint8)
    except (MemoryError, ValueError) as e:
        raise OutOfMemoryError(f"{function}() cannot allocate {size} bytes for temporaries") from e
