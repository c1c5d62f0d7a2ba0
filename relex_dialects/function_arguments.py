"""Argument attributes and argument names of functions, `func.func` and `tir.prim_func` alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from relex.dialects.errors import UnknownNameError
from relex.dialects.symbols import symbol_of

NAME_ATTR = "relex.name"
"""The name of an argument, for binding and error messages. It defaults to the name of the SSA value."""

DIMS_ATTR = "relex.dims"
"""The sizes of an argument or result: expressions of names, each standing for one size; "" for a size given by the
type."""

INOUT_ATTR = "relex.inout"
"""On an argument of a graph function: the number of the result that takes its place. A call writes that result to the
memory of the argument, and does not return it. On a buffer: the function may overwrite it."""

REQUIRES_ATTR = "relex.requires"
"""On a function: requirements on the sizes of its arguments, beyond those implied by their `relex.dims`."""

PASSED_ATTR = "relex.passed"
"""On a group, and on the loop function made of it: the sizes that all of its calls pass and get, in the form of
`relex.dims`, for each argument and result. Nothing else is assumed of the sizes in its calls."""

FINITE_ATTR = "relex.finite"
"""On an argument of a loop function: all calls pass numbers that are finite."""

SCHEDULED_ATTR = "relex.scheduled"
"""On a loop function that has its schedule: passes that fuse functions or choose schedules leave it as it is."""

RESULT_ATTR = "relex.result"
"""On the allocation of a buffer: the number of the result that it is. The caller provides the memory."""

SIGNATURE_ATTR = "relex.signature"
"""On a public function: how it is called from outside, a `relex.dialects.signature.Signature`. At the machine level it
stands on the entry of the function."""

C_INTERFACE_ATTR = "llvm.emit_c_interface"
"""On a function: it is called from C, or calls C, through a wrapper that takes or passes pointers to memref
descriptors."""

PARALLEL_ATTR = "relex.parallel"
"""On a call of a function that runs the iterations from its first argument up to its second: the iterations are
independent, so that concurrent calls for parts of the range may replace the call."""


LEAST_ATTR = "relex.least"
"""On a parallel loop: the number of iterations from which on it is worth running them on several threads."""

TENSORIZED_ATTR = "relex.tensorized"
"""On the outermost loop of a nest: the instruction that multiplies tiles, by which the nest is to be computed."""

PREFETCH_ATTR = "relex.prefetch"
"""On a loop of a loop function, two numbers: which of the buffers that its block reads is prefetched, in order of their
first load, and how many iterations ahead."""

PASSTHROUGH_ATTR = "passthrough"
"""On a function: attributes for LLVM, as in MLIR."""

NOINLINE = StringAttr("noinline")
"""An attribute for LLVM: the function is not inlined."""


def find_function(module: ModuleOp, name: str) -> Operation:
    """Return the function of a module by name. Raises `UnknownNameError` if there is none."""
    functions = {symbol_of(op): op for op in module.ops if op.has_trait(SymbolOpInterface)}
    if name not in functions:
        raise UnknownNameError(f"no function '{name}'; there are {', '.join(map(str, functions)) or 'none'}")
    return functions[name]


def arguments(function: Operation) -> Sequence[BlockArgument]:
    """Return the arguments of a function; none if it has no body."""
    blocks = function.regions[0].blocks if function.regions else ()
    return blocks[0].args if blocks else ()


def argument_attrs(function: Operation) -> list[DictionaryAttr] | None:
    """Return the attributes of each argument; None if the function's `arg_attrs` are malformed."""
    count = len(arguments(function))
    attrs = function.properties.get("arg_attrs")
    if attrs is None:
        return [DictionaryAttr({})] * count
    return list(attrs.data) if isa(attrs, ArrayAttr[DictionaryAttr]) and len(attrs) == count else None


def argument_attr(function: Operation, index: int, name: str) -> Attribute | None:
    """Return an attribute of an argument, if it has it."""
    attrs = function.properties.get("arg_attrs")
    if not isinstance(attrs, ArrayAttr):
        return None
    # Asked often: only the attributes of this argument are checked.
    all_attrs = cast("tuple[Attribute, ...]", attrs.data)  # pyright: ignore[reportUnknownMemberType]
    if len(all_attrs) != len(arguments(function)):
        return None
    of_argument = all_attrs[index]
    return of_argument.data.get(name) if isinstance(of_argument, DictionaryAttr) else None


def result_attrs(function: Operation, count: int) -> list[DictionaryAttr]:
    """Return the attributes of each of the `count` results of a function."""
    attrs = function.properties.get("res_attrs")
    return list(attrs.data) if isa(attrs, ArrayAttr[DictionaryAttr]) else [DictionaryAttr({})] * count


def set_argument_attr(function: Operation, index: int, name: str, value: Attribute) -> None:
    """Set an attribute of an argument; its other attributes stay."""
    attrs = argument_attrs(function)
    if attrs is None:
        raise ValueError("expected a function with attributes for each of its arguments")
    attrs[index] = DictionaryAttr({**attrs[index].data, name: value})
    function.properties["arg_attrs"] = ArrayAttr(attrs)


def remove_argument_attr(function: Operation, name: str) -> None:
    """Remove an attribute from all arguments."""
    attrs = [DictionaryAttr({k: v for k, v in a.data.items() if k != name}) for a in argument_attrs(function) or ()]
    if any(attr.data for attr in attrs):
        function.properties["arg_attrs"] = ArrayAttr(attrs)
    else:
        function.properties.pop("arg_attrs", None)


def replacements(function: Operation) -> dict[int, int]:
    """Return the arguments of a graph function that results take the place of, each with the number of the result."""
    if "arg_attrs" not in function.properties:
        return {}
    stated = ((i, attrs.data.get(INOUT_ATTR)) for i, attrs in enumerate(argument_attrs(function) or ()))
    return {i: number.value.data for i, number in stated if isinstance(number, IntegerAttr)}


def verify_replacements(function: FuncOp) -> None:
    """Check that the results that take the place of arguments exist, and that none takes two places. Raises
    `VerifyException`."""
    types, results = function.function_type.inputs.data, function.function_type.outputs.data
    for i, attrs in enumerate(argument_attrs(function) or ()):
        number = attrs.data.get(INOUT_ATTR)
        if number is None or (isinstance(types[i], MemRefType) and number == UnitAttr()):
            continue
        if not isinstance(types[i], TensorType):
            raise VerifyException(f"expected argument {i} with '{INOUT_ATTR}' to be a tensor, found {types[i]}")
        if not isinstance(number, IntegerAttr) or not 0 <= number.value.data < len(results):
            raise VerifyException(f"expected '{INOUT_ATTR}' to be the number of a result, found {number}")
        if (found := results[number.value.data]) != types[i]:
            what = f"result {number.value.data} to be {types[i]}, as argument {i}, whose place it takes"
            raise VerifyException(f"expected {what}, found {found}")
    numbers = [*replacements(function).values()]
    if twice := [number for number in numbers if numbers.count(number) > 1]:
        raise VerifyException(f"expected result {twice[0]} to take the place of one argument, found {len(twice)}")


def overwritten(function: Operation) -> list[BlockArgument]:
    """Return the buffers that a function may overwrite, as they were arguments that results take the place of."""
    stated = zip(arguments(function), argument_attrs(function) or (), strict=False)
    return [argument for argument, attrs in stated if attrs.data.get(INOUT_ATTR) == UnitAttr()]


def argument_names(function: Operation) -> list[str]:
    """Return the names of a function's arguments: attribute `relex.name`, else the SSA name, else `argN`."""
    names: list[str] = []
    for i, arg in enumerate(arguments(function)):
        attr = argument_attr(function, i, NAME_ATTR)
        names.append(attr.data if isinstance(attr, StringAttr) else arg.name_hint or f"arg{i}")
    return names


def keep_argument_names(function: Operation, names: Sequence[str | None]) -> None:
    """Record the names of arguments that SSA values lose: xDSL truncates `%w_1` to `w`, and prints a second `w` as
    `w_1`."""
    hints: set[str | None] = set()
    for i, (argument, name) in enumerate(zip(arguments(function), names, strict=True)):
        is_lost = name != argument.name_hint or name in hints
        if name is not None and is_lost and argument_attr(function, i, NAME_ATTR) is None:
            set_argument_attr(function, i, NAME_ATTR, StringAttr(name))
        hints.add(argument.name_hint)


def stated_dims(function: Operation, index: int) -> tuple[str, ...]:
    """Return the sizes of an argument that a function states as `relex.dims`; none if it does not."""
    dims = argument_attr(function, index, DIMS_ATTR)
    parts = cast("ArrayAttr[Attribute]", dims).data if isinstance(dims, ArrayAttr) else ()
    return tuple(dim.data for dim in parts if isinstance(dim, StringAttr))


def state_dims(function: Operation, index: int, dims: Sequence[str]) -> None:
    """State the sizes of an argument as `relex.dims`, unless its type says all of them."""
    if any(dims):
        set_argument_attr(function, index, DIMS_ATTR, ArrayAttr(map(StringAttr, dims)))
