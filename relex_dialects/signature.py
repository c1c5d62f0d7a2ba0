"""Signatures of compiled functions: names, shapes and element types. Nothing here needs the compiler."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from relex.dialects.element_types import ELEMENTS
from relex.dialects.exceptions import AssertionRecord, ShapeError, UnknownNameError
from relex.dialects.sizes import (
    MAX_ARGUMENT_SIZE,
    IndexExpr,
    Requirement,
    Size,
    Sizes,
    evaluate,
    names_in,
    sources,
    substitute,
)
from relex.dialects.target.machine import PACKED_PREFIX

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class TensorSpec:
    """The name, shape and element type, such as "f32", of an argument or a result.

    A scalar is passed by value; its element type may also be "index". Its shape is empty, except for an index that
    sizes depend on: that is a size itself, the only one in its shape.

    A dynamic size is an `IndexExpr` over names: `n`, `2 * n`, `n + m`. Each name by itself is a size of some argument.
    `Signature.with_sizes({"n": 3, "m": 0})` returns the specs with numbers.
    """

    name: str
    shape: Sizes
    element_type: str
    is_scalar: bool = False
    is_inout: bool = False
    """True for an argument that a call writes: what takes its place."""

    def __str__(self) -> str:
        if self.is_scalar:
            return f"{self.name}: {self.element_type}"
        if self.is_inout:
            return f"inout {replace(self, is_inout=False)}"
        shape = ("x".join(map(str, self.shape)) or "scalar") if self.is_static else shape_text(self.shape)
        return f"{self.name}: {shape} of {self.element_type}"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of its arrays, or of the scalar."""
        return ELEMENTS["i64" if self.element_type == "index" else self.element_type].numpy

    @property
    def is_static(self) -> bool:
        """True if the shape is the same in every call."""
        return all(isinstance(size, int) for size in self.shape)

    def fits(self, shape: Sequence[int]) -> bool:
        """Return whether a shape matches the argument's in rank and static sizes."""
        return len(shape) == len(self.shape) and all(
            isinstance(size, IndexExpr) or size == found for size, found in zip(self.shape, shape, strict=True)
        )

    def shape_with(self, values: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape with names replaced by numbers."""
        return tuple(evaluate(size, values) for size in self.shape)


def shape_text(shape: Sequence[Size]) -> str:
    """Format a shape as NumPy does, with names for dynamic sizes: `(n, 784)`."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


@dataclass(frozen=True)
class Signature:
    """The name of a function, its arguments in order, and its results."""

    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    writes_inputs: bool = False
    """True for a function on buffers that does not state which of them are outputs."""
    requirements: tuple[Requirement, ...] = ()
    """Constraints on the sizes of a call, besides those that the shapes of arguments impose."""
    temporaries: tuple[Size, ...] = ()
    """The maximum of these sizes, in bytes, bounds the memory that a call needs besides its arguments and results."""
    failures: tuple[AssertionRecord, ...] = ()
    """The assertions that calls check. If there are any, the function returns two more numbers: which of them failed,
    counted from 1, or 0; and the index that its error names."""

    @property
    def symbol(self) -> str:
        """The symbol of its entry in object code."""
        return PACKED_PREFIX + self.name

    @property
    def names(self) -> dict[str, tuple[int, int]]:
        """The names of dynamic sizes, each with an argument and the dimension of it that has this size."""
        return sources([spec.shape for spec in self.inputs])

    @property
    def late(self) -> tuple[int, ...]:
        """The numbers of the results whose sizes depend on elements: their memory is allocated during a call."""
        known = self.names
        sizes = [{name for size in spec.shape for name in names_in(size)} for spec in self.outputs]
        return tuple(i for i, names in enumerate(sizes) if not names <= known.keys())

    @property
    def framed(self) -> tuple[TensorSpec, ...]:
        """The arguments and results that a frame holds: all but late results."""
        late = self.late
        return (*self.inputs, *(spec for i, spec in enumerate(self.outputs) if i not in late))

    @property
    def frame_order(self) -> list[int]:
        """What is framed, by number, in the order in which a frame holds it: scalar results come last."""
        specs, count = self.framed, len(self.inputs)
        return sorted(range(len(specs)), key=lambda i: i >= count and specs[i].is_scalar)

    def problems(self) -> Iterator[str]:
        """Yield inconsistencies that no signature of a compiled function has and that would break its calls."""
        specs = (*self.inputs, *self.outputs)
        requirements = [size for r in self.requirements for size in (r.lhs, r.rhs)]
        shapes = [size for spec in specs for size in spec.shape]
        framed = [size for spec in self.framed for size in spec.shape]
        known = self.names
        for size in (*framed, *requirements, *self.temporaries):
            if any(name not in known for name in names_in(size)):
                yield f"expected sizes of arguments of '{self.name}', found {size}"
        if not all(isinstance(size, IndexExpr) or 0 <= size <= MAX_ARGUMENT_SIZE for size in shapes):
            yield f"expected shapes of arrays for '{self.name}'"
        for spec in specs:
            if spec.element_type not in ELEMENTS and not (spec.is_scalar and spec.element_type == "index"):
                yield f"expected an element type among {', '.join(ELEMENTS)}, found {spec.element_type}"
            if spec.is_inout and (spec.is_scalar or spec in self.outputs):
                yield f"expected arrays as arguments that '{self.name}' writes, found {spec.name}"
        if any(self.outputs[i].is_scalar for i in self.late):
            yield f"expected arrays as results of '{self.name}' whose sizes a call finds out"
        if self.writes_inputs and (self.late or any(spec.is_inout for spec in self.inputs)):
            yield f"expected '{self.name}' to take buffers, or to return results, found both"

    def with_sizes(self, values: Mapping[str, int]) -> Signature:
        """Return the signature of calls with these values of the sizes. Raises `ShapeError` if there are no such
        calls."""
        self.check(values)

        def fixed(spec: TensorSpec) -> TensorSpec:
            return replace(spec, shape=tuple(substitute(size, values) for size in spec.shape))

        inputs, outputs = (tuple(map(fixed, specs)) for specs in (self.inputs, self.outputs))
        return Signature(self.name, inputs, outputs, self.writes_inputs)

    def check(self, values: Mapping[str, int]) -> None:
        """Raise `ShapeError` unless a call may have these values of the sizes."""
        for requirement in self.requirements:
            if not requirement.substitute(values).holds:
                names = dict.fromkeys([*names_in(requirement.lhs), *names_in(requirement.rhs)])
                raise ShapeError(f"{self.name}() expected {requirement}, found {self.explain(names, values)}")

    def explain(self, names: Iterable[str], values: Mapping[str, int]) -> str:
        """Describe the values of sizes and their origin: `n = 3 (dimension 0 of 'x')`."""
        places = {name: self.names[name] for name in names}
        return ", ".join(f"{name} = {values[name]} ({self._place(*place)})" for name, place in places.items())

    def _place(self, argument: int, dimension: int) -> str:
        spec = self.inputs[argument]
        return f"'{spec.name}'" if spec.is_scalar else f"dimension {dimension} of '{spec.name}'"

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.inputs))}) -> ({', '.join(map(str, self.outputs))})"

    def _repr_html_(self) -> str:
        from relex.extras import find_part

        return find_part("html-of-signature")(self)


def unknown_function(name: str, functions: Iterable[str], reasons: Mapping[str, str]) -> UnknownNameError:
    """Return the error for a name that is not in `functions`; `reasons` explain why existing functions cannot be
    called."""
    known = ", ".join(functions) or "none"
    if name in reasons:
        return UnknownNameError(f"function '{name}' cannot be called: {reasons[name]}; there are {known}")
    return UnknownNameError(f"no function '{name}'; there are {known}")
