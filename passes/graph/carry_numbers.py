"""Let loops carry numbers instead of tensors of one element."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    Signedness,
    TensorType,
)
from xdsl.dialects.tensor import ExtractOp, FromElementsOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import ConstantLike

from relex.dialects.op_edits import index_constant, insert_before, terminator_of, with_types
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import walk_of
from relex.passes.driver.base import RelexPass


class CarryNumbersPass(RelexPass):
    """
    Lets loops carry the numbers in tensors of one element: integers, and floats of 32 or 64 bits. A carried tensor is
    in one of two places, which LLVM cannot keep in registers; a number is in one.

    ```mlir
    %y = scf.while (%a = %x) : (tensor<i64>) -> tensor<i64> {
      %more = relex.call_tir @more(%a) : (tensor<i64>) -> tensor<i1>
      %goes_on = tensor.extract %more[] : tensor<i1>
      scf.condition(%goes_on) %a : tensor<i64>
    } do {
    ^bb0(%a: tensor<i64>):
      %b = relex.call_tir @next(%a) : (tensor<i64>) -> tensor<i64>
      scf.yield %b : tensor<i64>
    }
    // carry-numbers
    %0 = tensor.extract %x[] : tensor<i64>
    %1 = scf.while (%2 = %0) : (i64) -> i64 {
      %a = tensor.from_elements %2 : tensor<i64>
      %more = relex.call_tir @more(%a) : (tensor<i64>) -> tensor<i1>
      %goes_on = tensor.extract %more[] : tensor<i1>
      scf.condition(%goes_on) %2 : i64
    } do {
    ^bb0(%3: i64):
      %a = tensor.from_elements %3 : tensor<i64>
      %b = relex.call_tir @next(%a) : (tensor<i64>) -> tensor<i64>
      %4 = tensor.extract %b[] : tensor<i64>
      scf.yield %4 : i64
    }
    %y = tensor.from_elements %1 : tensor<i64>
    ```
    """

    name = "carry-numbers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in walk_of(op, scf.ForOp, scf.WhileOp):
            given = {result.index for result in loop.results if _is_number(result.type)}
            if isinstance(loop, scf.ForOp):
                _give(loop.body.block, given)
                _take(loop.body.block, [i + 1 for i in given])
                _carry(loop, [i + 3 for i in given], given)
                continue
            carried = {i for i, value in enumerate(loop.arguments) if _is_number(value.type)}
            _give(loop.before_region.block, [i + 1 for i in given])
            _take(loop.before_region.block, carried)
            _give(loop.after_region.block, carried)
            _take(loop.after_region.block, given)
            _carry(loop, carried, given)
        for made in walk_of(op, FromElementsOp):
            if made.result.first_use is None:
                Rewriter.erase_op(made)


_WIDTHS = (1, 8, 16, 32, 64)


def _is_number(t: Attribute) -> bool:
    if not isa(t, TensorType) or any(size != 1 for size in t.get_shape()):
        return False
    match t.element_type:
        case IntegerType(width=width, signedness=sign):
            return sign.data is Signedness.SIGNLESS and width.data in _WIDTHS
        case element:
            return isinstance(element, Float32Type | Float64Type)


def _take(block: Block, numbers: Collection[int]) -> None:
    """Let a block take numbers instead of some of its arguments."""
    for old in [block.args[i] for i in numbers]:
        number = block.insert_arg(_element_type(old), old.index)
        _replace_uses(old, number, InsertPoint.at_start(block))
        block.erase_arg(old)


def _give(block: Block, numbers: Collection[int]) -> None:
    """Let the end of a block give numbers instead of some of its operands."""
    end = terminator_of(block)
    end.operands = [_number_in(value, end) if i in numbers else value for i, value in enumerate(end.operands)]


def _carry(loop: Operation, operands: Collection[int], results: Collection[int]) -> None:
    """Replace a loop by one with numbers for some of its operands and results."""
    numbers = [_number_in(value, loop) if i in operands else value for i, value in enumerate(loop.operands)]
    types = [_element_type(result) if result.index in results else result.type for result in loop.results]
    new = insert_before(loop, with_types(loop, numbers, types))
    for old, value in zip(loop.results, new.results, strict=True):
        if old.index in results:
            _replace_uses(old, value, InsertPoint.after(new))
        else:
            old.replace_all_uses_with(value)
    Rewriter.erase_op(loop)


def _element_type(tensor: SSAValue) -> Attribute:
    assert isa(tensor.type, TensorType)
    return tensor.type.element_type


def _number_in(tensor: SSAValue, user: Operation) -> SSAValue:
    """Return the number in a tensor, for an op to use."""
    if isinstance(tensor.owner, FromElementsOp):
        return tensor.owner.elements[0]
    assert isa(tensor.type, TensorType)
    builder = Builder(InsertPoint.before(user))
    places: Sequence[SSAValue] = ()
    if rank := len(tensor.type.get_shape()):
        places = [builder.insert(index_constant(0)).result] * rank
    extract = builder.insert(ExtractOp(tensor, places, tensor.type.element_type))
    extract.location = user.location
    return extract.result


def _is_zero(index: SSAValue) -> bool:
    value = ConstantLike.get_constant_value(index)
    return isa(value, IntegerAttr) and value.value.data == 0


def _replace_uses(tensor: SSAValue, number: SSAValue, place: InsertPoint) -> None:
    """Use a number where a tensor was used, or a tensor of it, which is made at a place."""
    number.name_hint = tensor.name_hint
    for user in [use.operation for use in tensor.uses]:
        if isinstance(user, ExtractOp) and all(map(_is_zero, user.indices)):
            Rewriter.replace_op(user, [], [number])
    if tensor.first_use is not None:
        made = FromElementsOp(number, result_type=tensor.type)
        made.result.name_hint = tensor.name_hint
        Rewriter.insert_op(made, place)
        tensor.replace_all_uses_with(made.result)
