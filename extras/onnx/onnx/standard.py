"""Definitions of operators in the standard: the defaults of their attributes, and the functions that define some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto, defs, helper


@cache
def schema_of(operator: str, version: int, domain: str) -> Any:
    """Return the schema of an operator, None if there is none. Its type in the package lacks some of its members."""
    try:
        return defs.get_schema(operator, version, domain)
    except defs.SchemaError:
        return None


@cache
def defaults(operator: str, version: int, domain: str) -> Mapping[str, AttributeProto]:
    """Return the attributes of an operator that have a default."""
    schema = schema_of(operator, version, domain)
    if schema is None:
        return {}
    return {name: a.default_value for name, a in schema.attributes.items() if a.default_value.type}


def is_function(operator: str, version: int, domain: str) -> bool:
    """Return whether the standard defines an operator by others."""
    schema = schema_of(operator, version, domain)
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def function_body(node: NodeProto, version: int, domain: str, inputs: Sequence[TypeProto]) -> FunctionProto | None:
    """Return the function that the standard defines an operator by, for a node with inputs of these types."""
    schema = schema_of(node.op_type, version, domain)
    if schema is None:
        return None
    data: bytes | None = None
    if schema.has_function and (at := _latest(schema.function_opset_versions, version)) is not None:
        data = _as_bytes(schema.get_function_with_opset_version(at))
    elif schema.has_context_dependent_function:
        at = _latest(schema.context_dependent_function_opset_versions, version)
        types = [t.SerializeToString() for t in inputs]
        if at is not None:
            data = schema.get_context_dependent_function_with_opset_version(at, node.SerializeToString(), types)
    if not data:
        return None
    body = FunctionProto()
    body.ParseFromString(data)
    if not body.opset_import:
        body.opset_import.append(helper.make_opsetid(domain, version))
    return body


def _as_bytes(function: Any) -> bytes:
    """Return a function as bytes, which versions of the package return in either form."""
    return function if isinstance(function, bytes) else function.SerializeToString()


def _latest(versions: Sequence[int], version: int) -> int | None:
    return max((v for v in versions if v <= version), default=None)
