"""A node of a graph, as imports see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import GraphProto, NodeProto, helper, numpy_helper
from xdsl.ir import Attribute

from relex.dialects.arrays import Array
from relex.dialects.dtypes import FLOATS, numpy_dtype
from relex.dialects.relex.types import normalize_axes, normalize_axis
from relex.dialects.sizes import IndexExpr, Size, Sizes
from relex.frontend import op
from relex.frontend.expressions import Operand
from relex.frontend.onnx.builder import Builder
from relex.frontend.onnx.standard import defaults
from relex.frontend.onnx.values import AnyValue, Known, Tensor, Unsupported, refuse

if TYPE_CHECKING:
    RunGraph = Callable[[GraphProto, Sequence[AnyValue]], list[AnyValue]]


class Node:
    """A node while it is imported: its attributes, with the defaults of the standard, and what its inputs are."""

    def __init__(self, proto: NodeProto, version: int, builder: Builder, run_graph: RunGraph):
        self.proto = proto
        self.version = version
        self.builder = builder
        self.run_graph = run_graph
        """Import a graph in an attribute, given its inputs, in the scope of the node."""
        self._given = {attribute.name: attribute for attribute in proto.attribute}

    def attribute(self, name: str) -> Any:
        """Return an attribute, or its default, None if there is neither."""
        found = self._given.get(name) or defaults(self.proto.op_type, self.version, self.proto.domain).get(name)
        if found is None:
            return None
        if found.ref_attr_name:
            refuse(f"expected a value, found a reference to '{found.ref_attr_name}'", name)
        value = helper.get_attribute_value(found)
        return value.decode() if isinstance(value, bytes) else value

    def has(self, name: str) -> bool:
        """Return whether an attribute is given."""
        return name in self._given

    def integer(self, name: str, default: int = 0) -> int:
        """Return an attribute that is an integer."""
        return self._of_kind(name, int, default)

    def flag(self, name: str) -> bool:
        """Return an attribute that is 0 or 1."""
        return bool(self.integer(name))

    def number(self, name: str, default: float = 0.0) -> float:
        """Return an attribute that is a number."""
        return float(self._of_kind(name, int | float, default))

    def text(self, name: str, default: str = "") -> str:
        """Return an attribute that is a text."""
        return self._of_kind(name, str, default)

    def texts(self, name: str) -> list[str]:
        """Return an attribute that is a list of texts, empty if it is not given."""
        return [text.decode() for text in self._of_kind(name, list, [])]

    def integers(self, name: str) -> list[int] | None:
        """Return an attribute that is a list of integers, None if it is not given."""
        value = self.attribute(name)
        return None if value is None else [int(number) for number in value]

    def numbers(self, name: str) -> list[float] | None:
        """Return an attribute that is a list of numbers, None if it is not given."""
        value = self.attribute(name)
        return None if value is None else [float(number) for number in value]

    def array(self, name: str) -> Array | None:
        """Return an attribute that is a tensor, None if it is not given."""
        value = self.attribute(name)
        return None if value is None else numpy_helper.to_array(value)

    def graph(self, name: str) -> GraphProto:
        """Return an attribute that is a graph."""
        return self._of_kind(name, GraphProto, None)

    def _of_kind(self, name: str, kind: Any, default: Any) -> Any:
        value = self.attribute(name)
        value = default if value is None else value
        if not isinstance(value, kind):
            raise Unsupported(f"expected another kind of attribute, found {type(value).__name__}", name)
        return value

    @property
    def output_count(self) -> int:
        """The number of outputs that are named, up to the last one."""
        names = list(self.proto.output)
        return max((i + 1 for i, name in enumerate(names) if name), default=0)

    def tensor(self, x: Operand) -> Tensor:
        """Emit an expression."""
        return self.builder.tensor(x)

    def constant(self, array: Array) -> Known:
        """Return an array as a tensor."""
        return Known(array)

    def shape(self, x: Operand) -> Sizes:
        """Return the sizes of a tensor."""
        return self.tensor(x).sizes

    def rank(self, x: Operand) -> int:
        """Return the number of dimensions of a tensor."""
        return len(self.shape(x))

    def static_shape(self, x: Operand, what: str = "sizes") -> tuple[int, ...]:
        """Return the sizes of a tensor, which must be known at import."""
        shape = self.shape(x)
        if any(isinstance(size, IndexExpr) for size in shape):
            refuse(
                f"expected {what} that are known at import, found {' x '.join(map(str, shape))}; 'shapes' closes them"
            )
        return tuple(size for size in shape if isinstance(size, int))

    def element_type(self, x: Operand) -> Attribute:
        """Return the element type of a tensor."""
        return self.tensor(x).element_type

    def is_float(self, x: Operand) -> bool:
        """Return whether a tensor has floats."""
        return self.element_type(x) in FLOATS

    def known(self, x: Operand | None, what: str) -> Array:
        """Return an input that must be known at import; some of its elements may be sizes of the program."""
        tensor = None if x is None else self.tensor(x)
        if isinstance(tensor, Known):
            return tensor.array
        refuse(f"expected {what}, known at import, found a tensor of the program; 'values' freezes an input")

    def known_integers(self, x: Operand | None, what: str) -> list[int]:
        """Return the elements of an input that must be known at import, without sizes of the program."""
        array = self.known(x, what)
        if any(isinstance(size, IndexExpr) for size in array.flat):
            refuse(f"expected {what} without sizes that are open; 'shapes' closes them")
        return [int(number) for number in array.flat]

    def known_number(self, x: Operand | None, what: str) -> Any:
        """Return the only element of an input that must be known at import."""
        array = self.known(x, what)
        if array.size != 1:
            refuse(f"expected {what} of one element, found {array.size}")
        return array.reshape(-1)[0].item() if array.dtype != object else array.reshape(-1)[0]

    def axis(self, x: Operand, name: str = "axis", default: int = 0) -> int:
        """Return an attribute that is a dimension of a tensor, counted from the front."""
        return normalize_axis(self.integer(name, default), self.rank(x))

    def reshape(self, x: Operand, sizes: Sequence[Size]) -> Operand:
        """Return a tensor with another shape of as many elements."""
        opened = sum(isinstance(size, IndexExpr) for size in sizes)
        return op.reshape(x, [size if isinstance(size, int) else str(size) if opened > 1 else -1 for size in sizes])

    def broadcast_to(self, x: Operand, sizes: Sequence[Size]) -> Operand:
        """Return a tensor repeated along dimensions of size 1, and new ones."""
        old = self.shape(x)
        padded = (1,) * (len(sizes) - len(old)) + old
        return op.broadcast_to(
            x,
            [
                size if isinstance(size, int) else -1 if size == found else str(size)
                for size, found in zip(sizes, padded, strict=True)
            ],
        )

    def full(self, sizes: Sequence[Size], number: float | bool, element_type: Attribute) -> Operand:
        """Return a tensor with equal elements."""
        return self.broadcast_to(Known(np.array(number, numpy_dtype(element_type))), sizes)

    def like(self, number: float | bool | Sequence[Any] | Array, x: Operand) -> Known:
        """Return an array of the element type of a tensor."""
        return Known(np.asarray(number).astype(numpy_dtype(self.element_type(x))))

    def axes(self, axes: Sequence[int], x: Operand) -> tuple[int, ...]:
        """Return dimensions counted from the front."""
        return normalize_axes(axes, self.rank(x))
