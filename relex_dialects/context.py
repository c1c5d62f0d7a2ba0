"""The xDSL context with relex's dialects."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module

from xdsl.context import Context
from xdsl.dialects import get_all_dialects as get_all_xdsl_dialects
from xdsl.ir import Dialect, Operation

from relex.dialects.errors import DuplicateError, describe
from relex.dialects.lazy_dialect import LazyDialect

# With every version of xDSL, what happens in a context rounds floats alike.
from relex.dialects.upstream import versions as versions


class LazyContext(Context):
    """A context that imports the ops of a `LazyDialect` one by one, each when a program or a pass asks for it by name.
    A `Context` of xDSL imports all of them with the first."""

    def get_optional_op(self, name: str, *, dialect_stack: Sequence[str] = ()) -> type[Operation] | None:
        for full in (name, *(f"{dialect}.{name}" for dialect in reversed(dialect_stack))):
            if full in self._loaded_ops:
                break
            if (op := self._find_lazily(full)) is not None:
                self.load_op(op)
                break
        return super().get_optional_op(name, dialect_stack=dialect_stack)

    def _find_lazily(self, name: str) -> type[Operation] | None:
        prefix, dot, _ = name.partition(".")
        factory = self._registered_dialects.get(prefix) if dot else None
        dialect = None if factory is None else factory()
        return dialect.find(name) if isinstance(dialect, LazyDialect) else None

    def load_op(self, op: type[Operation]) -> None:
        # The others of its dialect may be loaded later.
        if self._loaded_ops.get(op.name) is not op:
            super().load_op(op)

    def clone(self) -> LazyContext:
        return LazyContext(**vars(super().clone()))


def get_all_dialects() -> dict[str, Callable[[], Dialect]]:
    """Return relex's dialects by name; each is imported on first use."""

    def imported(name: str) -> Dialect:
        return getattr(import_module(f"relex.dialects.{name}"), name.capitalize())

    return {name: partial(imported, name) for name in ("relex", "tir", "schedule")}


def make_context() -> Context:
    """Return a context with relex's and xDSL's dialects, each loaded on first use."""
    ctx = LazyContext()
    for name, factory in {**get_all_xdsl_dialects(), **get_all_dialects()}.items():
        ctx.register_dialect(name, factory)
    return ctx


def similar_op(ctx: Context, name: str) -> str | None:
    """Return the name of the registered op that a misspelled name resembles; None if no op is likely to be meant."""
    from relex.dialects.spelling import similar_name

    dialect, dot, rest = name.partition(".")
    if dialect not in ctx.registered_dialect_names:
        dialect = similar_name(dialect, ctx.registered_dialect_names)
    if dialect is None or not dot:
        return None
    if all(loaded.name != dialect for loaded in ctx.loaded_dialects):
        ctx.load_registered_dialect(dialect)
    prefix = f"{dialect}."
    found = similar_name(rest, [op.name.removeprefix(prefix) for op in ctx.loaded_ops if op.name.startswith(prefix)])
    return None if found is None else prefix + found


def register_dialect_of_others(ctx: Context, name: str) -> None:
    """Register a dialect that a text mentions and the context lacks, if an installed package provides it.

    Only then are entry points looked up and the modules they name imported: no other text pays for it.
    """
    if name not in ctx.registered_dialect_names and all(dialect.name != name for dialect in ctx.loaded_dialects):
        factory = _dialects_of_others().get(name)
        if factory is not None:
            ctx.register_dialect(name, factory)


@cache
def _dialects_of_others() -> dict[str, Callable[[], Dialect]]:
    """Return the dialects that installed packages provide through entry points of the group `xdsl.universe`."""
    from importlib.metadata import entry_points

    from xdsl.universe import Universe

    found: dict[str, Callable[[], Dialect]] = {}
    packages: dict[str, str] = {}
    for entry in entry_points(group="xdsl.universe"):
        if entry.module.partition(".")[0] in ("relex", "xdsl"):
            continue
        try:
            universe = entry.load()
        except Exception as e:
            # The dialect in question may come from another package.
            warnings.warn(f"package '{entry.name}' cannot be used: {describe(e)}", stacklevel=2)
            continue
        for name, factory in universe.all_dialects.items() if isinstance(universe, Universe) else ():
            if (other := packages.setdefault(name, entry.name)) != entry.name:
                message = f"expected one package with a dialect '{name}', found '{other}' and '{entry.name}'"
                raise DuplicateError(message)
            found[name] = factory
    return found
