"""ONNX models made on the spot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import onnx
from onnx import FunctionProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, checker, helper

FLOAT = int(TensorProto.FLOAT)
INT64 = int(TensorProto.INT64)


def node(operator: str, inputs: str, outputs: str, **attributes: Any) -> NodeProto:
    """Return a node; the names of its inputs and outputs are separated by spaces."""
    return helper.make_node(operator, inputs.split(" ") if inputs else [], outputs.split(" "), **attributes)


def value(name: str, elem_type: int, shape: Sequence[int | str | None] | None) -> ValueInfoProto:
    """Return the declaration of an input or output."""
    return helper.make_tensor_value_info(name, elem_type, shape)


def model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[str],
    constants: Sequence[TensorProto] = (),
    *,
    version: int = 17,
    functions: Sequence[FunctionProto] = (),
    checked: bool = True,
) -> ModelProto:
    """Return a model of one graph, called `net`, which is `checked` by the package onnx."""
    declared = [ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph(nodes, "net", inputs, declared, constants)
    domains = dict.fromkeys(f.domain for f in functions)
    sets = [helper.make_opsetid("", version), *(helper.make_opsetid(domain, 1) for domain in domains)]
    made = helper.make_model(graph, opset_imports=sets, functions=functions)
    if checked:
        made = onnx.shape_inference.infer_shapes(made)
        for output, name in zip(made.graph.output, outputs, strict=True):
            if not output.HasField("type"):
                output.CopyFrom(helper.make_tensor_value_info(name, FLOAT, None))
        cast(Any, checker).check_model(made)
    else:
        for output in made.graph.output:
            output.CopyFrom(helper.make_tensor_value_info(output.name, FLOAT, None))
    return made
