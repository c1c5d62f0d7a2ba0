"""The dtypes of TVMScript and their element types."""

from __future__ import annotations

import ast

from xdsl.ir import Attribute

from relex.dialects.dtypes import DTYPES
from relex.frontend.script.source import ScriptError

NAMES = {element_type: name for name, element_type in DTYPES.items()}
"""The names of dtypes by element type."""

NO_UNSIGNED = "expected elements without a sign in a loop function, found {}; graph functions take unsigned integers"


def name_of_type(t: Attribute) -> str:
    """Return the name of a scalar type for error messages."""
    return NAMES.get(t, str(t))


def element_type_of(node: ast.AST, dtype: object) -> Attribute:
    """Return the element type for the name of a dtype."""
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ScriptError(node, f"expected a dtype among {', '.join(DTYPES)}, found {dtype!r}")
    return DTYPES[dtype]
