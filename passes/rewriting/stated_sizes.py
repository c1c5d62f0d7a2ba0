"""Size requirements of loop functions, stated before their loops change."""

from __future__ import annotations

from contextlib import suppress

from xdsl.dialects.builtin import ModuleOp

from relex.dialects.errors import PassError
from relex.dialects.sizes.attributes import annotate, has_unknown
from relex.dialects.sizes.modules import ModuleSizes
from relex.dialects.symbols import is_private
from relex.dialects.tir import PrimFuncOp


def state_sizes(module: ModuleOp, *, of_private: bool = True) -> None:
    """
    State the sizes that are known at run time, and the requirements on them, of a module's loop functions.

    Requirements follow from accesses that always happen. A schedule may put these under conditions, after which the
    requirements can no longer be derived from the function. Private functions do not need it where their callers have
    stated what they require.
    """
    sizes = ModuleSizes()
    for func in [op for op in module.ops if isinstance(op, PrimFuncOp) and (of_private or not is_private(op))]:
        if any(map(has_unknown, func.function_type.inputs)):
            with suppress(PassError):  # Whoever calls the function is told.
                annotate(func, sizes.of(func))
