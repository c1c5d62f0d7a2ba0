"""Common names for the sizes of loop functions that are equal in all calls."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from relex.dialects.functions import DIMS_ATTR, REQUIRES_ATTR, argument_names, set_argument_attr
from relex.dialects.index.expr import name_of_size
from relex.dialects.index.text import parse_index
from relex.dialects.names import Names, identifier
from relex.dialects.relex import CallTirOp
from relex.dialects.sizes.attributes import has_unknown, sizes_in_type, stated_arguments, stated_requirements
from relex.dialects.sizes.expressions import Size, Sizes
from relex.dialects.sizes.modules import ModuleSizes
from relex.dialects.tir import PrimFuncOp
from relex.dialects.walks import ancestors
from relex.passes.analysis.constant_inputs import known_calls


def name_sizes(module: ModuleOp) -> None:
    """State with `relex.dims` which buffer sizes of a loop function are equal, if all of its calls are known."""
    sizes = ModuleSizes()
    for known in known_calls(module):
        if any(map(has_unknown, known.func.function_type.inputs)):
            _name(known.func, [_sizes_passed(call, sizes) for call in known.calls])


def _sizes_passed(call: CallTirOp, sizes: ModuleSizes) -> Sequence[Sizes]:
    """Return the sizes of the arguments and results of a call."""
    inside = sizes.inside(next(scope for scope in ancestors(call) if isinstance(scope, FuncOp)))
    return [inside.get(value, ()) for value in (*call.arguments, *call.results)]


def _name(func: PrimFuncOp, passed: Sequence[Sequence[Sizes]]) -> None:
    """Give sizes that are equal in all calls the same name, after the first of them."""
    names: dict[Hashable, str] = {}
    taken = Names()
    stated, renamed = stated_arguments(func), dict[str, Size]()
    for i, (arg, name) in enumerate(zip(func.args, argument_names(func), strict=True)):
        shape = sizes_in_type(arg.type)
        if not has_unknown(arg.type) or any(len(sizes[i]) < len(shape) for sizes in passed):
            continue
        equal = [tuple(sizes[i][d] for sizes in passed) for d in range(len(shape))]
        for d, (key, size) in enumerate(zip(equal, shape, strict=True)):
            if size == DYNAMIC_INDEX and key not in names:
                names[key] = taken.fresh(identifier(f"{name}_d{d}"))
        texts = [names[key] if size == DYNAMIC_INDEX else "" for key, size in zip(equal, shape, strict=True)]
        set_argument_attr(func, i, DIMS_ATTR, ArrayAttr(map(StringAttr, texts)))
        for old, new in zip(stated[i], texts, strict=True):
            if new and old is not None and (name := name_of_size(old)) is not None:
                renamed.setdefault(name, parse_index(new))
    if requirements := [requirement.substitute(renamed) for requirement in stated_requirements(func)]:
        func.attributes[REQUIRES_ATTR] = ArrayAttr(StringAttr(str(r)) for r in requirements if not r.holds)
