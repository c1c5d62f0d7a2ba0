"""Programs that differ a little from others: sizes, element types, uses, operands, and ops around a match."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from relex.dialects.arrays import Array
from relex.dialects.dtypes import array_from_dense, dense_from_array, element_type_of
from relex.dialects.errors import InferenceError, RelexError
from relex.dialects.parser import verify_module
from relex.dialects.relex import CallDpsPackedOp, ConstantOp, DataflowOp, Operator, OutputOp
from relex.dialects.relex.operator import tensor_type
from relex.reference.fuzzing.graph_functions import DRAWN, DTYPES, Draw, Graph, returned_of

T = TypeVar("T")

Variation = Callable[[FuncOp, Random], None]
"""Changes a function in place, except for the types that follow. Raises `NothingToChange`."""

LIBRARY_FUNCTION = "fuzz.log"
"""The library function that variants call for its side effects."""


class NothingToChange(Exception):
    """A function has nothing that a variation changes."""


def main_of(module: ModuleOp) -> FuncOp | None:
    """Return the function to vary: @main, or else the first on tensors with one block."""
    found = [op for op in module.ops if isinstance(op, FuncOp) and len(op.body.blocks) == 1]
    return next((f for f in found if f.sym_name.data == "main"), found[0] if found else None)


def varied(module: ModuleOp, random: Random, count: int) -> ModuleOp:
    """Return a module with up to `count` variations of its main function."""
    for _ in range(count):
        variation = random.choice(VARIATIONS)
        module = apply_variation(module, lambda f, variation=variation: variation(f, random)) or module
    return module


def apply_variation(module: ModuleOp, edit: Callable[[FuncOp], None]) -> ModuleOp | None:
    """Return a changed copy of a module, with its types inferred again; None if there is none that is valid."""
    changed = module.clone()
    function = main_of(changed)
    if function is None:
        return None
    try:
        edit(function)
        _infer(function.body.block)
        function.update_function_type()
        verify_module(changed)
    except (NothingToChange, RelexError, VerifyException, ValueError, IndexError):
        return None
    return changed


def has_unused_sizes(module: ModuleOp) -> bool:
    """Return whether an operator that nobody uses has dynamic operands: a pass that removes it also removes what it
    requires of them, and so accepts more calls."""
    return any(
        isinstance(op, Operator)
        and not any(result.uses.get_length() for result in op.results)
        and any(DYNAMIC_INDEX in tensor_type(v.type).get_shape() for v in op.operands)
        for op in module.walk()
    )


def _infer(block: Block) -> None:
    """Infer the types of all operators again."""
    for op in list(block.ops):
        match op:
            case Operator():
                types = op.types_of_results([v.type for v in op.operands], op.properties)
                for result, t in zip(list(op.results), types, strict=True):
                    _set_value_type(result, t)
            case DataflowOp():
                _infer(op.regions[0].block)
                last = op.regions[0].block.last_op
                for result, value in zip(list(op.results), last.operands if last else (), strict=True):
                    _set_value_type(result, value.type)
            case _:
                pass


def _set_value_type(value: SSAValue, t: Attribute) -> None:
    if value.type != t:
        Rewriter.replace_value_with_new_type(value, t)


def _tensors(function: FuncOp) -> list[tuple[BlockArgument, TensorType]]:
    return [(arg, arg.type) for arg in function.args if isa(arg.type, TensorType)]


def _constants(function: FuncOp) -> list[ConstantOp]:
    return [op for op in function.walk() if isinstance(op, ConstantOp)]


def _set_constant(op: ConstantOp, array: Array) -> None:
    op.properties["value"] = dense_from_array(array)
    _set_value_type(op.results[0], TensorType(element_type_of(array.dtype), array.shape))


def sizes_of(function: FuncOp) -> list[int]:
    """Return the sizes of the arguments, each once."""
    return sorted({size for _, t in _tensors(function) for size in t.get_shape()})


def _choice(random: Random, things: Sequence[T]) -> T:
    """Return one of the things to change. Raises `NothingToChange` if there is none."""
    if not things:
        raise NothingToChange
    return random.choice(things)


def resize(function: FuncOp, old: int, new: int) -> None:
    """Give all dimensions of one size another; dimensions of constants only if both are static."""
    for arg, t in _tensors(function):
        _set_value_type(arg, TensorType(t.element_type, [new if size == old else size for size in t.get_shape()]))
    if new != DYNAMIC_INDEX:
        for op in _constants(function):
            array = array_from_dense(op.value)
            if old in array.shape:
                _set_constant(op, np.resize(array, [new if size == old else size for size in array.shape]))


def _resize_all(function: FuncOp, random: Random) -> None:
    resize(function, _choice(random, sizes_of(function)), random.choice([0, 1, 2, 4, DYNAMIC_INDEX]))


def _resize_one(function: FuncOp, random: Random) -> None:
    """Broadcast, empty, lengthen or shorten one argument."""
    tensors = _tensors(function)
    arg, t = _choice(random, tensors)
    shape = list(t.get_shape())
    if shape and random.random() < 0.7:
        shape[random.randrange(len(shape))] = random.choice([0, 1, 1, 2, DYNAMIC_INDEX])
    elif shape and random.random() < 0.5:
        shape = shape[1:]
    else:
        shape = [random.choice([1, 2, 3]), *shape]
    _set_value_type(arg, TensorType(t.element_type, shape))


def _change_dtype(function: FuncOp, random: Random) -> None:
    old = {t.element_type for _, t in _tensors(function)}
    replaced, dtype = _choice(random, sorted(old, key=str)), np.dtype(random.choice(DTYPES))
    for arg, t in _tensors(function):
        if t.element_type == replaced:
            _set_value_type(arg, TensorType(element_type_of(dtype), t.get_shape()))
    for op in _constants(function):
        if op.value.get_element_type() == replaced:
            with np.errstate(all="ignore"):
                _set_constant(op, array_from_dense(op.value).astype(dtype))


def _return_more(function: FuncOp, random: Random) -> None:
    """Give values inside of a match other users."""
    last = function.body.block.last_op
    inside = [v for op in function.body.block.ops for v in op.results]
    if not isinstance(last, ReturnOp):
        raise NothingToChange
    last.operands = [*last.operands, _choice(random, inside)]


def _use_another(function: FuncOp, random: Random) -> None:
    """Replace an operand by another value of its type."""
    ops = [op for op in function.body.block.ops if isinstance(op, Operator) and op.operands]
    op = _choice(random, ops)
    i = random.randrange(len(op.operands))
    before: list[SSAValue] = list(function.args)
    for other in function.body.block.ops:
        if other is op:
            break
        before += other.results
    fitting = [v for v in before if v.type == op.operands[i].type and v is not op.operands[i]]
    op.operands[i] = _choice(random, fitting)


def _swap_operands(function: FuncOp, random: Random) -> None:
    ops = [op for op in function.walk() if isinstance(op, Operator) and len(op.operands) > 1]
    op = _choice(random, ops)
    op.operands = random.sample(list(op.operands), len(op.operands))


def _change_properties(function: FuncOp, random: Random) -> None:
    ops = [op for op in function.walk() if isinstance(op, Operator) and type(op).get_irdl_definition().properties]
    op = _choice(random, ops)
    drawn = Draw(random).operator(type(op), op.operands)
    op.properties = dict(drawn.properties)
    drawn.erase()


def _make_constant(function: FuncOp, random: Random) -> None:
    """Replace an argument by a constant."""
    static = [(arg, t) for arg, t in _tensors(function) if DYNAMIC_INDEX not in t.get_shape() and arg.uses.get_length()]
    arg, t = _choice(random, static)
    name = next((n for n in DTYPES if element_type_of(np.dtype(n)) == t.element_type), None)
    if name is None:
        raise NothingToChange
    constant = ConstantOp(Draw(random).array(t.get_shape(), name))
    Rewriter.insert_op(constant, InsertPoint.at_start(function.body.block))
    arg.replace_all_uses_with(constant.result)


def _repeat_op(function: FuncOp, random: Random) -> None:
    """Let one user of a value use a copy of it."""
    ops = [op for op in function.body.block.ops if isinstance(op, Operator) and op.results[0].uses.get_length() > 1]
    op = _choice(random, ops)
    copy = op.clone()
    function.body.block.insert_ops_after([copy], op)
    use = random.choice(list(op.results[0].uses))
    use.operation.operands[use.index] = copy.results[0]


def _grow_after(function: FuncOp, random: Random) -> None:
    """Let other operators use the values of the program."""
    last = function.body.block.last_op
    if not isinstance(last, ReturnOp):
        raise NothingToChange
    graph = Graph.before(last)
    known = len(graph.values)
    draw = Draw(random)
    for kind in random.choices(DRAWN, k=random.randint(1, 3)):
        draw.grow(graph, kind)
    last.operands = [*last.operands, *returned_of(random, graph.values[known:])]


def _grow_before(function: FuncOp, random: Random) -> None:
    """Compute an argument by another operator."""
    used = [arg for arg, _ in _tensors(function) if arg.uses.get_length()]
    arg, draw = _choice(random, used), Draw(random)
    for kind in random.sample(DRAWN, len(DRAWN)):
        if len(kind.operand_names()) > 2 or kind.is_variadic():
            continue
        try:
            op = draw.operator(kind, [arg] * len(kind.operand_names()))
        except InferenceError:
            continue
        if op.results[0].type == arg.type:
            Rewriter.insert_op(op, InsertPoint.at_start(function.body.block))
            arg.replace_uses_with_if(op.results[0], lambda use, op=op: use.operation is not op)
            return
        op.erase()
    raise NothingToChange


def _into_dataflow(function: FuncOp, random: Random) -> None:
    """Put all operators into a dataflow block."""
    *inner, last = function.body.block.ops
    if not inner or not isinstance(last, ReturnOp) or not all(isinstance(op, Operator | ConstantOp) for op in inner):
        raise NothingToChange
    block = Block()
    for op in inner:
        op.detach()
        block.add_op(op)
    block.add_op(OutputOp(*last.operands))
    dataflow = DataflowOp(last.operand_types, block)
    function.body.block.insert_ops_before([dataflow], last)
    last.operands = dataflow.results


def _log(function: FuncOp, random: Random) -> None:
    """Call a library function for its side effects, after two values."""
    block = function.body.block
    ops = [op for op in block.ops if op.results]
    if not ops:
        raise NothingToChange
    for op in random.sample(ops, min(2, len(ops))):
        block.insert_ops_after([CallDpsPackedOp(LIBRARY_FUNCTION, [op.results[0]], [], side_effects=True)], op)


VARIATIONS: list[Variation] = [
    _resize_all,
    _resize_all,
    _resize_one,
    _resize_one,
    _change_dtype,
    _return_more,
    _return_more,
    _use_another,
    _use_another,
    _swap_operands,
    _change_properties,
    _make_constant,
    _repeat_op,
    _grow_after,
    _grow_before,
    _into_dataflow,
    _log,
]
"""Variations; those that stand twice are tried more often."""
