"""
The graph dialect.

Its ops work on `tensor` values inside `func.func`; a `relex.dataflow` block holds those without side effects. It mixes
with `func`, `tensor` and, for calls of loop functions, `tir`. Each op is imported on first use: a program imports those
that it mentions.
"""

from relex.lazy import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__)
