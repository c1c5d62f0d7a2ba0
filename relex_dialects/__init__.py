"""The IR: the `relex` and `tir` dialects, the parser, compilation targets and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relex.lazy import lazy_exports

if TYPE_CHECKING:
    from relex.dialects.context import make_context as make_context
    from relex.dialects.errors import CompileError as CompileError
    from relex.dialects.exceptions import RelexError as RelexError
    from relex.dialects.parser import parse_module as parse_module
    from relex.dialects.parser import verify_module as verify_module
    from relex.dialects.target.machine import Target as Target
else:
    # Lazy: the runtime imports modules of this package, but no xDSL.
    __getattr__, __dir__, __all__ = lazy_exports(__name__)
