"""The inputs of a model: arguments of the function, or what is given at import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from onnx import GraphProto, TypeProto, ValueInfoProto

from relex.dialects.errors import RelexError, types_str
from relex.dialects.sizes import MAX_ARGUMENT_SIZE, Size, named
from relex.frontend.importing.graph_importer import size_name
from relex.frontend.onnx.onnx_importer import OnnxImporter
from relex.frontend.onnx.reading import Shapes
from relex.frontend.onnx.tensors import dtype_of
from relex.frontend.onnx.values import (
    AnyValue,
    Empty,
    Items,
    Known,
    Missing,
    Tensor,
    Unsupported,
    element_type_of,
    refuse,
)

MAX_ELEMENTS = 1000
"""The elements at most of a sequence that is an input."""


class Inputs:
    """The inputs of a graph: arguments of the function, or arrays."""

    def __init__(self, importer: OnnxImporter, graph: GraphProto, shapes: Shapes, values: Mapping[str, Any]):
        self.importer = importer
        self.graph = graph
        self.shapes: dict[str, Any] = dict(shapes)
        self.values = dict(values)
        self.names: dict[str, str] = {}
        """The names of sizes as relex writes them, by their names in the model."""

    def read(self) -> dict[str, AnyValue]:
        """Return the values of the inputs. Those that are initializers as well are constants."""
        constants = {tensor.name for tensor in self.graph.initializer}
        arguments = [i for i in self.graph.input if i.name not in constants or i.name in self.values]
        sizes = {size for i in self.graph.input for size in _declared(i) or () if isinstance(size, str)}
        known = {i.name for i in self.graph.input} | sizes | set(map(size_name, sizes))
        for given, what in ((self.shapes, "shapes"), (self.values, "values")):
            if unknown := [name for name in given if name not in known]:
                raise RelexError(
                    f"'{what}' expected names among {', '.join(sorted(known)) or 'none'}, found {', '.join(unknown)}"
                )
        made: dict[str, AnyValue] = {}
        for argument in arguments:
            made[argument.name] = Missing()
            with self.importer.collecting(partial(self.importer.report_at, "input", argument.name)):
                made[argument.name] = self._read(argument)
        return made

    def _read(self, argument: ValueInfoProto) -> AnyValue:
        """Return an input. An optional value is there, unless None is given for it."""
        name, declared = argument.name, argument.type
        if declared.HasField("optional_type"):
            if name in self.values and self.values[name] is None:
                return Empty()
            declared = declared.optional_type.elem_type
        if declared.HasField("sequence_type"):
            return self._items(name, declared.sequence_type.elem_type)
        if not declared.HasField("tensor_type"):
            refuse(f"expected a tensor, found a {(declared.WhichOneof('value') or 'value without a type')[:-5]}")
        return self._tensor(ValueInfoProto(name=name, type=declared))

    def _items(self, name: str, declared: TypeProto) -> Items:
        """Return a sequence. Each element is an argument, and the sizes of each are independent of the others."""
        if not declared.HasField("tensor_type"):
            refuse("expected a sequence of tensors")
        one = TypeProto()
        one.CopyFrom(declared)
        for size in one.tensor_type.shape.dim if one.tensor_type.HasField("shape") else ():
            size.ClearField("dim_param")
        named = {i.name for i in self.graph.input}
        elements: list[Tensor] = []
        table, given = self._given_elements(name)
        for i, what in enumerate(given):
            element = f"{name}_{i}"
            while element in named:
                element += "_"
            if table is self.values or what is not None:
                table[element] = what
            elements.append(self._tensor(ValueInfoProto(name=element, type=one)))
        return Items(elements)

    def _given_elements(self, name: str) -> tuple[dict[str, Any], Sequence[Any]]:
        """Return what is given for each element of a sequence, and the table for it: arrays, shapes, or nothing."""
        if name in self.values:
            arrays = self.values[name]
            if not isinstance(arrays, list | tuple):
                refuse(f"expected a list of arrays in 'values', found {type(arrays).__name__}")
            return self.values, cast("Sequence[Any]", arrays)
        shapes: Any = self.shapes.get(name)
        if shapes is None:
            refuse("expected a number of elements, found none; 'shapes' gives one, or a shape for each element")
        if isinstance(shapes, int):
            if not 0 <= shapes <= MAX_ELEMENTS:
                refuse(f"expected 0 to {MAX_ELEMENTS} elements, found {shapes}")
            return self.shapes, [None] * shapes
        if not all(isinstance(shape, list | tuple) for shape in shapes):
            refuse(f"expected a shape for each element in 'shapes', found {shapes}")
        return self.shapes, shapes

    def _tensor(self, argument: ValueInfoProto) -> Tensor:
        dtype = dtype_of(argument.type.tensor_type.elem_type)
        if argument.name in self.values:
            return Known(_frozen(self.values[argument.name], dtype), argument.name)
        return self.importer.builder.add_argument(argument.name, element_type_of(dtype), self._sizes(argument))

    def _sizes(self, argument: ValueInfoProto) -> list[Size]:
        """Return the sizes of an argument: numbers and names."""
        declared = _declared(argument)
        shape = map(self._checked, self._shape(argument.name, declared))
        return [size if isinstance(size, int) else named(self._name(size)) for size in shape]

    def _name(self, size: str) -> str:
        """Return the name of a size as relex writes it, another one for each name in the model."""
        if size not in self.names:
            made = size_name(size)
            while made in self.names.values():
                made += "_"
            self.names[size] = made
        return self.names[size]

    def _shape(self, name: str, declared: Sequence[int | str] | None) -> Sequence[int | str]:
        """Return the sizes of an input, given or as declared."""
        given = self.shapes.get(name)
        if isinstance(given, int):
            given = None if any(name in (_declared(i) or ()) for i in self.graph.input) else (given,)
        if given is None:
            if declared is None:
                refuse("expected a shape, found none; 'shapes' gives one")
            return [self._fixed(size) for size in declared]
        if isinstance(given, str) or (declared is not None and not _fits(given, declared)):
            refuse(f"expected a shape like {types_str(declared or ())} in 'shapes', found {given}")
        as_declared = declared or [f"{name}_d{i}" for i in range(len(given))]
        sizes: Sequence[int | None] = given  # A dynamic size is None.
        return [self._fixed(d) if size is None else size for d, size in zip(as_declared, sizes, strict=True)]

    def _fixed(self, size: int | str) -> int | str:
        if isinstance(size, int):
            return size
        found = self.shapes.get(size, self.shapes.get(size_name(size)))
        return found if isinstance(found, int | str) else size

    def _checked(self, size: int | str) -> int | str:
        if isinstance(size, int) and not 0 <= size <= MAX_ARGUMENT_SIZE:
            refuse(f"expected sizes from 0 to {MAX_ARGUMENT_SIZE}, found {size}")
        return size


def _declared(argument: ValueInfoProto) -> list[int | str] | None:
    """Return the sizes of an input, numbers and names, None if it has no shape. Those without a name are called after
    the input: two of them need not be equal."""
    t = argument.type.tensor_type
    if not t.HasField("shape"):
        return None
    return [
        d.dim_value
        if d.HasField("dim_value") and d.dim_value >= 0
        else d.dim_param
        if _is_name(d.dim_param)
        else f"{argument.name}_d{i}"
        for i, d in enumerate(t.shape.dim)
    ]


def _is_name(text: str) -> bool:
    """Return whether a text is the name of a size: exporters write `?`, `-1` and `None` for any size that they do not
    know."""
    return any(map(str.isalpha, text)) and text not in ("None", "unknown")


def _fits(given: Sequence[int | str | None], declared: Sequence[int | str]) -> bool:
    return len(given) == len(declared) and all(
        not isinstance(d, int) or g in (d, None) for g, d in zip(given, declared, strict=True)
    )


def _frozen(value: Any, dtype: np.dtype[Any]) -> Any:
    array = np.asarray(value)
    if array.dtype != dtype and not np.can_cast(array.dtype, dtype, "same_kind"):
        raise Unsupported(f"expected elements of {dtype.name} in 'values', found {array.dtype.name}")
    return array.astype(dtype)
