"""Groups of operators alone in a module, from which the same kernels are compiled as from the whole program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    FloatAttr,
    ModuleOp,
    StringAttr,
    f32,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import DimOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from relex.dialects.dtypes import mapped_dense
from relex.dialects.function_arguments import DIMS_ATTR, argument_attr, set_argument_attr
from relex.dialects.op_edits import index_constant
from relex.dialects.relex import CallDpsPackedOp, CallOp, ConstantOp
from relex.dialects.relex.types import tensor_type
from relex.dialects.sizes import name_of_size, names_in, parse_index
from relex.passes.analysis.constant_inputs import is_constant
from relex.passes.rewriting.equal_sizes import texts_passed

LIBRARY = "relex.alone"
"""The library function that makes arguments of groups, and takes their results."""

FILLED_ATTR = "relex.filled"
"""On an argument that stands for a constant: the number that all elements may be taken to be. No code depends on more
than whether they are finite."""


@dataclass(frozen=True)
class KernelGroup:
    """A group of operators with all of its calls. `recipe` is a digest of what determines its code, `infinite` are its
    constants for which it counts that they are not finite."""

    function: FuncOp
    calls: Sequence[CallOp]
    recipe: str
    infinite: Sequence[int]


def constants_of(function: FuncOp, calls: Sequence[CallOp]) -> list[int]:
    """Return the inputs of a group that are constants in all calls."""
    return [i for i in range(len(function.args)) if all(is_constant(call.arguments[i]) for call in calls)]


def alone(module: ModuleOp, groups: Sequence[KernelGroup]) -> ModuleOp:
    """Return a module with some groups of another one, and for each a function that calls it as often as there are ways
    in which its calls may share memory. It is small, as long as `add_constants` has not been called."""
    callers = [_caller(f"main{i}", group) for i, group in enumerate(groups)]
    return ModuleOp([*callers, *(group.function.clone() for group in groups)], dict(module.attributes))


def _caller(name: str, group: KernelGroup) -> FuncOp:
    callee, results = group.function, list[SSAValue]()
    block = Block(arg_types=callee.function_type.inputs)
    for last, inner in dict.fromkeys(map(_sharing, group.calls)):
        made = {i: _made(block.args[i], block) for i in last}
        given = [made.get(i, value) for i, value in enumerate(block.args)]
        call = CallOp(callee.sym_name.data, given, callee.function_type.outputs.data)
        taken = CallDpsPackedOp(LIBRARY, [call.results[i] for i in inner], [], side_effects=True)
        block.add_ops([call, taken])
        results += [result for i, result in enumerate(call.results) if i not in inner]
    block.add_op(ReturnOp(*results))
    kind = (callee.function_type.inputs.data, [value.type for value in results])
    caller = FuncOp(name, kind, Region(block), visibility="private")
    for i, texts in _stated(callee).items():
        set_argument_attr(caller, i, DIMS_ATTR, ArrayAttr(map(StringAttr, texts)))
    for i in constants_of(callee, group.calls):
        number = float("inf") if i in group.infinite else 0.0
        set_argument_attr(caller, i, FILLED_ATTR, FloatAttr(number, f32))
    return caller


def _made(like: SSAValue, block: Block) -> SSAValue:
    """Return a tensor of the sizes of another one that a library function makes."""
    kind, sizes = tensor_type(like.type), list[Operation]()
    for dimension in (d for d, size in enumerate(kind.get_shape()) if size == DYNAMIC_INDEX):
        place = index_constant(dimension)
        sizes.append(DimOp(like, place))
        block.add_ops([place, sizes[-1]])
    call = CallDpsPackedOp(LIBRARY, [], [kind], sizes)
    block.add_op(call)
    return call.results[0]


def _stated(group: FuncOp) -> dict[int, list[str]]:
    """Return the texts for the sizes of the arguments of a group that all calls pass, as far as these are names of such
    sizes, or follow from them."""
    texts = {i: of_one for i, of_one in (texts_passed(group) or {}).items() if i < len(group.args)}
    sizes = {text: parse_index(text) for of_one in texts.values() for text in of_one if text}
    names = {name for size in sizes.values() if (name := name_of_size(size)) is not None}
    known = {text for text, size in sizes.items() if names.issuperset(names_in(size))}
    return {i: [text if text in known else "" for text in of_one] for i, of_one in texts.items()}


def add_constants(module: ModuleOp) -> None:
    """Add the constants that arguments stand for to a module that `alone` has made. Zeros take no memory."""
    for caller in [op for op in module.ops if isinstance(op, FuncOp)]:
        for argument in caller.args:
            if isinstance(filled := argument_attr(caller, argument.index, FILLED_ATTR), FloatAttr):
                constant = _constant(argument.type, filled.value.data)
                Rewriter.insert_op(constant, InsertPoint.at_start(caller.body.block))
                argument.replace_all_uses_with(constant.result)


def _constant(t: Attribute, number: float) -> ConstantOp:
    kind = tensor_type(t)
    return ConstantOp(
        mapped_dense(kind.element_type, kind.get_shape(), lambda a: a.fill(number) if number != 0.0 else None)
    )


def _sharing(call: CallOp) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return which arguments a call is the last to read, so that it may write a result in their place, and which
    results the function around it does not return."""
    last = tuple(i for i, t in enumerate(call.arguments.types) if t in call.result_types and _is_last(call, i))
    uses = [[use.operation for use in result.uses] for result in call.results]
    return last, tuple(i for i, users in enumerate(uses) if not any(op.has_trait(IsTerminator) for op in users))


def _is_last(call: CallOp, argument: int) -> bool:
    """Return whether an argument is the result of a group, and a call is the last to read it and reads it once."""
    value = call.arguments[argument]
    users = [use.operation for use in value.uses]
    return (
        isinstance(value.owner, CallOp)
        and value.owner.parent is call.parent
        and users.count(call) == 1
        and all(_is_before(op, call) for op in users if op is not call)
    )


def _is_before(op: Operation, call: CallOp) -> bool:
    return op.parent is call.parent and op.is_before_in_block(call)
