"""What the IR is: the `relex` and `tir` dialects, the parser, the compilation target, errors."""

from relex.dialects.context import make_context
from relex.dialects.errors import CompileError, RelexError
from relex.dialects.parser import parse_module, verify_module
from relex.dialects.target import Target

__all__ = ["CompileError", "RelexError", "Target", "make_context", "parse_module", "verify_module"]
