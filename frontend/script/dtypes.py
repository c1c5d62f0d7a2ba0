"""The dtypes of TVMScript and their element types."""

from __future__ import annotations

import ast

from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute

from relex.frontend.script.source import ScriptError

DTYPES: dict[str, Attribute] = {
    "float32": f32,
    "float64": f64,
    "float16": f16,
    "bfloat16": bf16,
    "bool": i1,
    "int8": i8,
    "int32": i32,
    "int64": i64,
}

NAMES = {element_type: name for name, element_type in DTYPES.items()}


def name_of_type(t: Attribute) -> str:
    """Return the name of a scalar type for error messages."""
    return NAMES.get(t, str(t))


def element_type_of(node: ast.AST, dtype: object) -> Attribute:
    """Return the element type for the name of a dtype."""
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ScriptError(node, f"expected a dtype among {', '.join(DTYPES)}, found {dtype!r}")
    return DTYPES[dtype]
