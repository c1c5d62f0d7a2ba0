"""Sizes that a program states: `relex.dims` on arguments and results, `relex.requires` on functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    ShapedType,
    StringAttr,
)
from xdsl.ir import Attribute, Operation

from relex.dialects.errors import fail
from relex.dialects.function_arguments import DIMS_ATTR, REQUIRES_ATTR, argument_attrs, result_attrs, set_argument_attr
from relex.dialects.index.expr import IndexExpr, names_in
from relex.dialects.index.text import parse_index
from relex.dialects.sizes.expressions import Size, Sizes, sources
from relex.dialects.sizes.requirements import Requirement, parse_requirement
from relex.dialects.upstream.hints import isa


@dataclass(frozen=True)
class FunctionSizes:
    """The known sizes of a function's arguments and results. An index has one size, its value."""

    arguments: tuple[Sizes, ...]
    results: tuple[Sizes, ...]
    requirements: tuple[Requirement, ...]
    """Requirements in addition to the arguments having these sizes."""
    temporaries: tuple[Size, ...] = ()
    """The largest of these bounds the memory, in bytes, that a call needs for values that it does not return."""

    @property
    def sources(self) -> dict[str, tuple[int, int]]:
        """For each name, the first argument and its dimension of that size."""
        return sources(self.arguments)


def sizes_in_type(t: Attribute) -> tuple[int, ...]:
    """Return the shape of a tensor or buffer. An index has one unknown size; other types have none."""
    if type(t) is IndexType:
        return (DYNAMIC_INDEX,)
    return t.get_shape() if isinstance(t, ShapedType) else ()


def has_unknown(t: Attribute) -> bool:
    """Return whether a type is a tensor or buffer type with a `?`."""
    return type(t) is not IndexType and DYNAMIC_INDEX in sizes_in_type(t)


def signature_of(function: Operation) -> FunctionType:
    """Return the type of a function, `func.func` or `tir.prim_func`."""
    t = function.properties.get("function_type")
    if not isinstance(t, FunctionType):
        fail(function, "expected a function")
    return t


def stated_arguments(function: Operation) -> list[list[Size | None]]:
    """Return the size that `relex.dims` states for each dimension of the arguments; None where it states nothing."""
    types = signature_of(function).inputs.data
    return _stated(function, argument_attrs(function) or [DictionaryAttr({})] * len(types), types)


def stated_results(function: Operation) -> list[Sizes]:
    """Return the sizes of the results of a function without a body, where `relex.dims` must state every `?`."""
    types = signature_of(function).outputs.data
    found: list[Sizes] = []
    for t, stated in zip(types, _stated(function, result_attrs(function, len(types)), types), strict=True):
        known = zip(stated, sizes_in_type(t), strict=True)
        sizes = tuple(size if said is None else said for said, size in known)
        if DYNAMIC_INDEX in sizes and has_unknown(t):
            fail(function, f"expected '{DIMS_ATTR}' to say the sizes of a result of {t}")
        found.append(sizes)
    return found


def _stated(
    function: Operation, attrs: Sequence[DictionaryAttr], types: Sequence[Attribute]
) -> list[list[Size | None]]:
    found: list[list[Size | None]] = []
    for attr, t in zip(attrs, types, strict=True):
        dims, rank = attr.data.get(DIMS_ATTR), len(sizes_in_type(t))
        if dims is None:
            found.append([None] * rank)
            continue
        if not isa(dims, ArrayAttr[StringAttr]) or len(dims) != rank:
            fail(function, f"expected '{DIMS_ATTR}' with {rank} texts for {t}, found {dims}")
        try:
            found.append([parse_index(text.data) if text.data else None for text in dims])
        except ValueError as e:
            fail(function, f"cannot read '{DIMS_ATTR}': {e}")
    return found


def stated_requirements(function: Operation) -> list[Requirement]:
    """Return the requirements that `relex.requires` states."""
    attr = function.attributes.get(REQUIRES_ATTR, ArrayAttr([]))
    if not isa(attr, ArrayAttr[StringAttr]):
        fail(function, f"expected '{REQUIRES_ATTR}' with texts, found {attr}")
    try:
        return [parse_requirement(text.data) for text in attr]
    except ValueError as e:
        fail(function, f"cannot read '{REQUIRES_ATTR}': {e}")


def annotate(function: Operation, sizes: FunctionSizes) -> None:
    """Annotate a function with the sizes of arguments and results that their types leave open, and the requirements."""
    t = signature_of(function)
    shapes = [found for argument, found in zip(t.inputs, sizes.arguments, strict=True) if has_unknown(argument)]
    used = {name for shape in (*shapes, *sizes.results) for size in shape for name in names_in(size)}
    for i, (argument, found) in enumerate(zip(t.inputs, sizes.arguments, strict=True)):
        # A number that is the size of something else: lower levels do not tell.
        is_size = (
            isinstance(function, func.FuncOp) and argument == IndexType() and not used.isdisjoint(names_in(found[0]))
        )
        if has_unknown(argument) or is_size:
            set_argument_attr(function, i, DIMS_ATTR, _dims(argument, found))
    if isinstance(function, func.FuncOp) and any(map(has_unknown, t.outputs)):
        columns = zip(result_attrs(function, len(t.outputs)), t.outputs, sizes.results, strict=True)
        function.res_attrs = ArrayAttr(
            DictionaryAttr({**attr.data, DIMS_ATTR: _dims(result, found)}) if has_unknown(result) else attr
            for attr, result, found in columns
        )
    state_requirements(function, sizes.requirements)


def state_requirements(function: Operation, requirements: Sequence[Requirement]) -> None:
    """Let `relex.requires` state requirements, if there are any."""
    if requirements:
        function.attributes[REQUIRES_ATTR] = ArrayAttr(StringAttr(str(r)) for r in requirements)


def _dims(t: Attribute, sizes: Sizes) -> ArrayAttr[StringAttr]:
    pairs = zip(sizes_in_type(t), sizes, strict=True)
    return ArrayAttr(
        StringAttr(str(size) if known == DYNAMIC_INDEX or isinstance(size, IndexExpr) else "") for known, size in pairs
    )
