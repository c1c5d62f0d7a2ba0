"""The xDSL context that knows relex's dialects."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects import get_all_dialects as get_all_xdsl_dialects
from xdsl.ir import Dialect


def get_all_dialects() -> dict[str, Callable[[], Dialect]]:
    """The dialects that relex brings, by name; each is imported when first asked for."""

    def get_relex():
        from relex.dialects.relex import Relex

        return Relex

    def get_tir():
        from relex.dialects.tir import Tir

        return Tir

    def get_schedule():
        from relex.dialects.schedule import Schedule

        return Schedule

    return {"relex": get_relex, "tir": get_tir, "schedule": get_schedule}


def make_context() -> Context:
    """A context with relex's and xDSL's dialects, each loaded when first used."""
    ctx = Context()
    for name, factory in {**get_all_xdsl_dialects(), **get_all_dialects()}.items():
        ctx.register_dialect(name, factory)
    return ctx
