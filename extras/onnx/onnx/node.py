"""A node of a graph, as imports see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import GraphProto, NodeProto, helper, numpy_helper

from relex.dialects.arrays import Array
from relex.dialects.relex.types import normalize_axis
from relex.frontend.graph_expressions import Operand
from relex.frontend.importing.builder import Builder
from relex.frontend.importing.import_node import ImportedNode
from relex.frontend.onnx.assumptions import Choice
from relex.frontend.onnx.standard import defaults
from relex.frontend.onnx.values import AnyValue, Known, Tensor, Unsupported, refuse

if TYPE_CHECKING:
    RunGraph = Callable[[GraphProto, Sequence[AnyValue]], list[AnyValue]]


class OnnxNode(ImportedNode):
    """A node while it is imported: its attributes, with the defaults of the standard, and what its inputs are."""

    def __init__(
        self, proto: NodeProto, version: int, builder: Builder, run_graph: RunGraph, assume: Callable[[Choice], Choice]
    ):
        super().__init__(builder)
        self.proto = proto
        self.version = version
        self.run_graph = run_graph
        """Import a graph in an attribute, given its inputs, in the scope of the node."""
        self.assume = assume
        """Return which way to go at a condition that only the rest of the model can decide; which to try first."""
        self._given = {attribute.name: attribute for attribute in proto.attribute}

    @property
    def title(self) -> str:
        return f"'{self.proto.op_type}' node" + (f" '{self.proto.name}'" if self.proto.name else "")

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

    def given(self, x: Tensor | None, name: str) -> Tensor | None:
        """Return an input that was an attribute in older versions of the operator, None if neither is given."""
        value = self.attribute(name) if x is None else None
        return x if value is None else Known(np.array(value))

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

    def axis(self, x: Operand, name: str = "axis", default: int = 0) -> int:
        """Return an attribute that is a dimension of a tensor, counted from the front."""
        return normalize_axis(self.integer(name, default), self.rank(x))
