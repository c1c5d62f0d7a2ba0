"""Conversion of branches and loops, and of what connects tensors with numbers, to buffers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, cf, func, memref, scf, tensor
from xdsl.dialects.bufferization import MaterializeInDestinationOp
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Operation, SSAValue

from relex.dialects.failures import FOUND_INDEX, declaration
from relex.dialects.op_edits import index_constant, with_types
from relex.dialects.sizes.attributes import sizes_in_type
from relex.dialects.upstream.hints import isa
from relex.lowering.conversion.driver import Conversion
from relex.lowering.support.destinations import is_tensor
from relex.lowering.support.emitted_sizes import size_value


def convert_regions(op: scf.IfOp | scf.IndexSwitchOp | scf.ForOp | scf.WhileOp, conversion: Conversion) -> None:
    """Convert the types of what a branch gives or a loop carries."""
    if not any(map(is_tensor, (*op.operands, *op.results))):
        return
    for region in op.regions:
        conversion.convert_arguments(region.block)
    types = [conversion.types.convert(result.type) for result in op.results]
    conversion.replace(*conversion.add(with_types(op, conversion.values(op.operands), types)).results)


def convert_end(op: scf.YieldOp | scf.ConditionOp, conversion: Conversion) -> None:
    """Convert the end of a region."""
    if any(map(is_tensor, op.operands)):
        conversion.add(with_types(op, conversion.values(op.operands), ()))
        conversion.replace()


def convert_materialize(op: MaterializeInDestinationOp, conversion: Conversion) -> None:
    """Copy a tensor to its destination, unless it has been written there."""
    source, place = conversion.value(op.source), conversion.value(op.dest)
    if source is not place:
        conversion.add(memref.CopyOp(source, place))
    conversion.replace(place)


def convert_extract(op: tensor.ExtractOp, conversion: Conversion) -> None:
    """Convert to a load, after a check of the indices that are no constants."""
    buffer = conversion.value(op.tensor)
    for dimension, (index, size) in enumerate(zip(op.indices, sizes_in_type(op.tensor.type), strict=True)):
        if not _is_known_below(index, size):
            _check_index(index, size_value(buffer, dimension, conversion), size, conversion)
    conversion.replace(conversion.add(memref.LoadOp.get(buffer, op.indices)).res)


def _is_known_below(index: SSAValue, size: int) -> bool:
    owner = index.owner
    if not isinstance(owner, arith.ConstantOp) or not isa(owner.value, IntegerAttr):
        return False
    return 0 <= owner.value.value.data < size


def _check_index(index: SSAValue, size: SSAValue, known: int, conversion: Conversion) -> None:
    note = conversion.add(arith.IndexCastOp(index, i64)).result
    holds = conversion.add(arith.CmpiOp(index, size, "ult")).result
    expected = f"from 0 to {known - 1}" if known > 0 else "below the size of the tensor"
    conversion.declare(FOUND_INDEX, declaration)
    conversion.add(func.CallOp(FOUND_INDEX, [note], []))
    conversion.add(cf.AssertOp(holds, StringAttr(f"expected an index {expected}")))


def fill(buffer: SSAValue, elements: Sequence[SSAValue], conversion: Conversion) -> None:
    """Store numbers as the elements of a buffer, row by row."""
    shape = sizes_in_type(buffer.type)
    for number, element in enumerate(elements):
        indices: list[Operation] = []
        for size in reversed(shape):
            number, index = divmod(number, size)
            indices.insert(0, conversion.add(index_constant(index)))
        conversion.add(memref.StoreOp.get(element, buffer, indices))
