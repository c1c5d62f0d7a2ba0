"""The dialect `relex`."""

from __future__ import annotations

from relex.dialects.lazy_dialect import LazyDialect

Relex = LazyDialect("relex", "relex.dialects.relex")
"""All ops of this package."""
