"""Move bytes, and not the floats that are made of them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects import relex
from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import numpy_dtype
from relex.dialects.op_edits import insert_before
from relex.dialects.relex.properties import as_integers, scalar
from relex.dialects.relex.types import is_bytes, shape_of, tensor_type
from relex.dialects.walks import walk
from relex.passes.driver.base import RelexPass
from relex.passes.graph.layout.byte_factors import erase_unused
from relex.passes.graph.layout.byte_functions import ElementFunction, all_bytes

_MaxPool = relex.MaxPool1dOp | relex.MaxPool2dOp | relex.MaxPool3dOp

_OfOneTensor = (
    relex.BroadcastToOp
    | relex.ExpandDimsOp
    | relex.PermuteDimsOp
    | relex.ReshapeOp
    | relex.SqueezeOp
    | relex.StridedSliceOp
    | relex.TakeOp
    | relex.PadOp
    | _MaxPool
)
"""Operators that move elements of their first operand, or choose some."""


class MoveBytesPass(RelexPass):
    """
    Moves bytes in place of the floats that are made of them, as a network does whose layers are between
    `DequantizeLinear` and `QuantizeLinear`. A transpose, a reshape, a slice, a pad, a `concat`, or a maximum of
    windows, whose operand is a function of bytes, is computed on the bytes, and the function is applied to its result;
    a maximum, if the function never falls. What makes bytes of a `concat` or a pad is applied to the operands. Then
    what makes bytes of bytes is evaluated for all 256 of them: nothing is left where all stay, `clip` where some are
    cut off, and a table of the results otherwise, as for a sigmoid.

    Numbers are the same in every bit: elements are moved before they are computed with, or after. Tables have the
    results by the definitions of the operators, also of those that compiled code rounds otherwise.

    ```mlir
    func.func @main(%x: tensor<2x3xui8>) -> tensor<3x2xui8> {
      %scale = relex.constant dense<0.5> : tensor<f32>
      %0 = relex.astype %x dtype = f32 : (tensor<2x3xui8>) -> tensor<2x3xf32>
      %1 = relex.multiply %0, %scale : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
      %2 = relex.permute_dims %1 : (tensor<2x3xf32>) -> tensor<3x2xf32>
      %3 = relex.divide %2, %scale : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xf32>
      %4 = relex.round %3 : (tensor<3x2xf32>) -> tensor<3x2xf32>
      %5 = relex.astype %4 dtype = ui8 : (tensor<3x2xf32>) -> tensor<3x2xui8>
      func.return %5 : tensor<3x2xui8>
    }
    // move-bytes,remove-unused
    func.func @main(%x: tensor<2x3xui8>) -> tensor<3x2xui8> {
      %0 = relex.permute_dims %x : (tensor<2x3xui8>) -> tensor<3x2xui8>
      func.return %0 : tensor<3x2xui8>
    }
    ```
    """

    name = "move-bytes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for found in list(walk(op)):
            if isinstance(found, relex.ConcatOp | _OfOneTensor) and not is_bytes(found.result):
                _move_first(found)
        for found in list(walk(op)):
            if isinstance(found, relex.AstypeOp) and is_bytes(found.result):
                _quantize_first(found)
        for found in list(walk(op)):
            if isinstance(found, relex.AstypeOp) and found.parent is not None and is_bytes(found.result):
                _simplify(found)


def _move_first(op: relex.ConcatOp | _OfOneTensor) -> None:
    """Apply a function of bytes to what is moved."""
    moved = op.operands if isinstance(op, relex.ConcatOp) else op.operands[:1]
    functions = [f for value in moved if (f := ElementFunction.of_bytes(value)) is not None and f.is_cheap]
    if not functions or len(functions) < len(moved):
        return
    function, *others = functions
    table = function.table()
    if any(f.data.type != function.data.type or not _is_same(f.table(), table) for f in others):
        return
    properties, element_type = dict(op.properties), tensor_type(function.data.type).element_type
    if isinstance(op, relex.PadOp):
        wanted = np.asarray(op.value, table.dtype)
        places = np.flatnonzero((table == wanted) & (np.signbit(table) == np.signbit(wanted)))
        if not places.size:
            return
        properties["pad_value"] = scalar(int(all_bytes(function.data)[places[0]]), element_type)
    if isinstance(op, _MaxPool) and not (_never_falls(table) and _has_elements(op)):
        return
    data = [f.data for f in functions] + list(op.operands[len(moved) :])
    new = _moving(op, data, properties, element_type)
    insert_before(op, new)
    _replace(op, function.applied(new.results[0], op))


def _moving(
    op: Operation, operands: Sequence[SSAValue], properties: dict[str, Attribute], element_type: Attribute
) -> Operation:
    """Return an operator that moves elements of another type."""
    kind = TensorType(element_type, shape_of(op.results[0]))
    new = type(op).create(operands=operands, properties=properties, result_types=[kind])
    new.location = op.location
    new.results[0].name_hint = op.results[0].name_hint
    return new


def _replace(op: Operation, value: SSAValue) -> None:
    unused = tuple(op.operands)
    op.results[0].replace_all_uses_with(value)
    Rewriter.erase_op(op)
    erase_unused(unused)


def _is_same(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


def _never_falls(table: Array) -> bool:
    return not np.isnan(table).any() and bool((table[1:] >= table[:-1]).all())


def _has_elements(op: _MaxPool) -> bool:
    """Return whether all windows have elements besides padding."""
    padding = (*op.windows.before, *op.windows.after)
    is_dense = set(op.windows.dilation) <= {1} and not op.windows.ceil_mode
    return not any(padding) or (is_dense and max(padding) < min(as_integers(op.pool_size)))


def _quantize_first(op: relex.AstypeOp) -> None:
    """Make bytes of what is joined or padded, if they are made of the result."""

    def is_moved(value: SSAValue) -> bool:
        return isinstance(value.owner, relex.ConcatOp | relex.PadOp)

    function = ElementFunction.of(op.result, is_moved)
    if function is None or not function.is_used_once:
        return
    moving = function.data.owner
    assert isinstance(moving, relex.ConcatOp | relex.PadOp)
    properties = dict(moving.properties)
    if isinstance(moving, relex.PadOp):
        wide = np.asarray(moving.value, numpy_dtype(tensor_type(moving.result.type).element_type))
        properties["pad_value"] = scalar(int(function.numbers(wide)), tensor_type(op.result.type).element_type)
    operands: list[SSAValue] = []
    for value in moving.operands:
        if (known := relex.array_of(value)) is None:
            operands.append(function.applied(value, op))
            continue
        operands.append(insert_before(op, relex.ConstantOp(function.numbers(known))).result)
    new = _moving(moving, operands, properties, tensor_type(op.result.type).element_type)
    Rewriter.insert_op(new, InsertPoint.before(op))
    _replace(op, new.results[0])


def _simplify(op: relex.AstypeOp) -> None:
    """Remove a function that leaves all bytes as they are, clip bytes if it cuts off some, and look up any other."""
    function = ElementFunction.of_bytes(op.result, through=relex.LookUpOp)
    if function is None:
        return
    old, new = (tensor_type(value.type).element_type for value in (function.data, op.result))
    table, numbers = function.table().view(numpy_dtype(old)), all_bytes(function.data)
    low, high = int(table.min()), int(table.max())
    value = function.data
    if old != new or not np.array_equal(table, np.clip(numbers, low, high)):
        if not any(isinstance(tensor_type(step.result.type).element_type, AnyFloat) for step in function.ops):
            return  # Arithmetic on integers takes no longer.
        last = np.flatnonzero(table != table[-1])[-1:] + 1  # What is equal to the last number may be left out.
        value = insert_before(op, relex.LookUpOp(value, [*map(int, table[: last.sum() + 1])])).result
    elif (low, high) != (int(numbers[0]), int(numbers[-1])):
        value = insert_before(op, relex.ClipOp(value, low, high)).result
    _replace(op, value if old == new else insert_before(op, relex.BitcastOp(value, new)).result)
