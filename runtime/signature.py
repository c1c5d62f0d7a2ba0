"""What a compiled function takes and gives. Nothing here needs the compiler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relex.dialects.exceptions import ShapeError, UnknownNameError
from relex.dialects.machine import NUMPY_NAMES, PACKED_PREFIX
from relex.dialects.sizes import IndexExpr, Requirement, Size, Sizes, evaluate, names_in, sources


@dataclass(frozen=True)
class TensorSpec:
    """The name, shape and element type of an argument or a result. The element type is one that NumPy has: "f32".

    A scalar is a number that is passed as such: its element type may also be "index". It has no shape; but an index
    that sizes depend on is a size itself, its only one.

    A size that is known at run time is an `IndexExpr`, an expression of names: `n`, `2 * n`, `n + m`. Each name is by
    itself a size of some argument. `Signature.with_sizes({"n": 3, "m": 0})` gives the specs with numbers.
    """

    name: str
    shape: Sizes
    element_type: str
    is_scalar: bool = False

    def __str__(self) -> str:
        if self.is_scalar:
            return f"{self.name}: {self.element_type}"
        shape = ("x".join(map(str, self.shape)) or "scalar") if self.is_static else shape_text(self.shape)
        return f"{self.name}: {shape} of {self.element_type}"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its arrays, or of the scalar."""
        return np.dtype("int64" if self.element_type == "index" else NUMPY_NAMES[self.element_type])

    @property
    def is_static(self) -> bool:
        """Whether the shape is the same in every call."""
        return all(isinstance(size, int) for size in self.shape)

    def fits(self, shape: Sequence[int]) -> bool:
        """Whether a shape is that of the argument as far as that is known."""
        return len(shape) == len(self.shape) and all(
            isinstance(size, IndexExpr) or size == found for size, found in zip(self.shape, shape, strict=True)
        )

    def shape_with(self, values: Mapping[str, int]) -> tuple[int, ...]:
        """The shape with numbers in the place of names."""
        return tuple(evaluate(size, values) for size in self.shape)


def shape_text(shape: Sequence[Size]) -> str:
    """A shape as NumPy shows it, with names for what is known at run time: `(n, 784)`."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


@dataclass(frozen=True)
class Signature:
    """A function's name, its arguments in order, and its results."""

    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    writes_inputs: bool = False
    """The function is one on buffers that does not say which of them are its outputs."""
    requirements: tuple[Requirement, ...] = ()
    """What must hold of the sizes of a call, besides that arguments have their shapes."""
    temporaries: tuple[Size, ...] = ()
    """The memory that a call needs beside its arguments and results is the largest of these, or less, in bytes."""

    @property
    def symbol(self) -> str:
        """The name of its entry in object code."""
        return PACKED_PREFIX + self.name

    @property
    def has_scalars(self) -> bool:
        """Whether it takes or gives numbers."""
        return any(spec.is_scalar for spec in (*self.inputs, *self.outputs))

    @property
    def names(self) -> dict[str, tuple[int, int]]:
        """The names of sizes that are known at run time, and an argument and its dimension that has that size."""
        return sources([spec.shape for spec in self.inputs])

    def with_sizes(self, values: Mapping[str, int]) -> Signature:
        """The signature of calls in which sizes have these values. Raises `ShapeError` if there are none."""
        self.check(values)

        def fixed(spec: TensorSpec) -> TensorSpec:
            return replace(spec, shape=spec.shape_with(values))

        inputs, outputs = (tuple(map(fixed, specs)) for specs in (self.inputs, self.outputs))
        return Signature(self.name, inputs, outputs, self.writes_inputs)

    def check(self, values: Mapping[str, int]) -> None:
        """Raise `ShapeError` if no call can have sizes of these values."""
        for requirement in self.requirements:
            if not requirement.substitute(values).holds:
                names = dict.fromkeys([*names_in(requirement.lhs), *names_in(requirement.rhs)])
                raise ShapeError(f"{self.name}() expected {requirement}, found {self.explain(names, values)}")

    def explain(self, names: Iterable[str], values: Mapping[str, int]) -> str:
        """What sizes stand for, and where they come from: `n = 3 (dimension 0 of 'x')`."""
        places = {name: self.names[name] for name in names}
        return ", ".join(f"{name} = {values[name]} ({self._place(*place)})" for name, place in places.items())

    def _place(self, argument: int, dimension: int) -> str:
        spec = self.inputs[argument]
        return f"'{spec.name}'" if spec.is_scalar else f"dimension {dimension} of '{spec.name}'"

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.inputs))}) -> ({', '.join(map(str, self.outputs))})"


def unknown_function(name: str, functions: Iterable[str], reasons: Mapping[str, str]) -> UnknownNameError:
    """The error for a name that is none of `functions`; `reasons` say why not, for those that exist."""
    known = ", ".join(functions) or "none"
    if name in reasons:
        return UnknownNameError(f"function '{name}' cannot be called: {reasons[name]}; there are {known}")
    return UnknownNameError(f"no function '{name}'; there are {known}")
