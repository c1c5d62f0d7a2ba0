"""Common names for the sizes of functions that are equal in all calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from relex.dialects.function_arguments import (
    DIMS_ATTR,
    PASSED_ATTR,
    REQUIRES_ATTR,
    argument_names,
    set_argument_attr,
)
from relex.dialects.index.expr import name_of_size, named, names_in
from relex.dialects.index.text import parse_index
from relex.dialects.index.values import substitute
from relex.dialects.names import Names, identifier
from relex.dialects.relex import CallOp, CallTirOp
from relex.dialects.sizes import attributes
from relex.dialects.sizes.expressions import Size, Sizes
from relex.dialects.sizes.function_analysis import FunctionAnalysis
from relex.dialects.sizes.modules import ModuleSizes, sizes_at_entry
from relex.dialects.tir import PrimFuncOp
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import ancestors
from relex.passes.analysis.constant_inputs import known_calls


def name_sizes(module: ModuleOp) -> None:
    """State with `relex.dims` which buffer sizes of a loop function are equal, if all of its calls are known, or if it
    says what they pass."""
    if not any(isinstance(op, PrimFuncOp) and _has_unknown(op) for op in module.ops):
        return  # Most programs: to find all calls, the whole module is walked.
    sizes = PassedSizes()
    for known in known_calls(module):
        if not _has_unknown(known.func):
            continue
        if (texts := texts_passed(known.func)) is None:
            passed = [sizes.of(call) for call in known.calls]
            texts = common_sizes(argument_names(known.func), known.func.function_type.inputs.data, passed)
        _state(known.func, texts)
        sizes.forget(known.func)


def _has_unknown(func: PrimFuncOp) -> bool:
    return any(map(attributes.has_unknown, func.function_type.inputs))


class PassedSizes:
    """The sizes that calls in graph functions pass and get, as far as they follow from what these functions and the
    loop functions that they call state, and from the contents of groups."""

    def __init__(self) -> None:
        self.of_functions = ModuleSizes()
        self._found: dict[FuncOp, Mapping[SSAValue, Sizes]] = {}
        self._stated: dict[Operation, attributes.FunctionSizes] = {}

    def of(self, call: CallTirOp | CallOp) -> Sequence[Sizes]:
        """Return the sizes of the arguments and results of a call."""
        function = next(scope for scope in ancestors(call) if isinstance(scope, FuncOp))
        if function not in self._found:
            self._found[function] = FunctionAnalysis(function, self._callee, late=True).values()
        return [self._found[function].get(value, ()) for value in (*call.arguments, *call.results)]

    def forget(self, function: Operation) -> None:
        """Forget what a loop function states, which has changed."""
        self._stated.pop(function, None)

    def _callee(self, function: Operation) -> attributes.FunctionSizes:
        if not isinstance(function, PrimFuncOp):
            return self.of_functions.of(function)
        if function not in self._stated:
            self._stated[function] = sizes_at_entry(function)
        return self._stated[function]


def common_sizes(
    names: Sequence[str], types: Sequence[Attribute], passed: Sequence[Sequence[Sizes]]
) -> dict[int, list[str]]:
    """Return texts for the dynamic sizes of the arguments and results of a function, given their names and types and
    the sizes in each call: for sizes that are equal in all calls a common name, after the first of them, and for those
    that are the same expression of named ones in all calls this expression. A size that is static has the text ""."""
    found: dict[tuple[Size, ...], str] = {}
    taken = Names()
    unknown = dict[int, list[tuple[Size, ...] | None]]()
    for i, (t, name) in enumerate(zip(types, names, strict=True)):
        shape = attributes.sizes_in_type(t)
        if not attributes.has_unknown(t) or any(len(sizes[i]) < len(shape) for sizes in passed):
            continue
        keys = [tuple(sizes[i][d] for sizes in passed) for d in range(len(shape))]
        unknown[i] = [key if size == DYNAMIC_INDEX else None for key, size in zip(keys, shape, strict=True)]
        for d, key in enumerate(unknown[i]):
            if key is not None and key not in found:
                found[key] = taken.fresh(identifier(f"{name}_d{d}"))
    texts_of = {key: _expression(key, found) or name for key, name in found.items()}
    return {i: ["" if key is None else texts_of[key] for key in keys] for i, keys in unknown.items()}


def texts_passed(function: Operation) -> dict[int, list[str]] | None:
    """Return the texts that a function states for the dynamic sizes in its calls, as `common_sizes` does."""
    stated = function.attributes.get(PASSED_ATTR)
    if not isa(stated, ArrayAttr[ArrayAttr[StringAttr]]):
        return None
    return {i: [text.data for text in texts] for i, texts in enumerate(stated) if texts}


def state_passed(function: Operation, texts: Mapping[int, Sequence[str]], count: int) -> None:
    """State texts for the dynamic sizes of `count` arguments and results of a function."""
    lists = (ArrayAttr(map(StringAttr, texts.get(i, ()))) for i in range(count))
    function.attributes[PASSED_ATTR] = ArrayAttr(lists)


def _state(func: PrimFuncOp, texts: Mapping[int, Sequence[str]]) -> None:
    """State texts for dynamic sizes as `relex.dims`, and requirements on these sizes."""
    stated, renamed = attributes.stated_arguments(func), dict[str, Size]()
    for i, of_one in texts.items():
        set_argument_attr(func, i, DIMS_ATTR, ArrayAttr(map(StringAttr, of_one)))
        for old, new in zip(stated[i], of_one, strict=True):
            if new and old is not None and (name := name_of_size(old)) is not None:
                renamed.setdefault(name, parse_index(new))
    if requirements := [requirement.substitute(renamed) for requirement in attributes.stated_requirements(func)]:
        func.attributes[REQUIRES_ATTR] = ArrayAttr(StringAttr(str(r)) for r in requirements if not r.holds)


def _expression(size: tuple[Size, ...], names: Mapping[tuple[Size, ...], str]) -> str | None:
    """Return the one expression of named sizes that a size, given for each call, is in all calls, if there is one. A
    size that is a name or a number in some call is none: it is stated by its own name."""
    if any(isinstance(in_call, int) or name_of_size(in_call) is not None for in_call in size):
        return None
    found: set[Size] = set()
    for i, in_call in enumerate(size):
        known: dict[str, Size] = {}
        for key, name in names.items():
            if (outside := name_of_size(key[i])) is not None:
                known.setdefault(outside, named(name))
        if not known.keys() >= set(names_in(in_call)):
            return None
        found.add(substitute(in_call, known))
    return str(found.pop()) if len(found) == 1 else None
