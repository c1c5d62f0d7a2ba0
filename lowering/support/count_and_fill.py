"""Operators whose result sizes depend on elements, as two calls of loop functions: a count, and a fill of results with
the sizes that were counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, cf, tensor
from xdsl.dialects.builtin import IndexType, StringAttr, TensorType, i64
from xdsl.ir import Block, Operation, SSAValue

from relex.dialects.names import name_value
from relex.dialects.relex import CallTirOp, Operator
from relex.dialects.relex.operator import tensor_type
from relex.dialects.relex.types import SizedType, without_names
from relex.dialects.sizes import MAX_ARGUMENT_SIZE, Sizes, name_of_size
from relex.dialects.tir import PrimFuncOp
from relex.lowering import te
from relex.lowering.legalizations.legalization_table import CountAndFill, apply_fill, plain_size
from relex.passes.rewriting.size_values import SizeValues

Emit = Callable[[str, Sequence[te.Tensor], Sequence[te.Tensor]], PrimFuncOp]
"""Emits a loop function of a name, with inputs and outputs."""


def loops_of_parts(
    op: Operator, part: CountAndFill, inputs: Sequence[te.Tensor], emit: Emit
) -> tuple[PrimFuncOp, PrimFuncOp]:
    """Return the two loop functions of an operator."""
    name = op.name.rpartition(".")[2]
    kept = [te.placeholder(f"{name}_{tensor.name}", tensor.shape, tensor.type) for tensor in part.kept]
    counting = emit(f"{name}_count", inputs, [*part.counts.values(), *part.kept])
    return counting, emit(name, [*inputs, *kept], apply_fill(part, op, inputs, kept))


def calls_of_parts(
    op: Operator, part: CountAndFill, inputs: Sequence[te.Tensor], names: Sequence[str]
) -> tuple[list[Operation], Sequence[SSAValue]]:
    """Return the ops that compute the results of an operator by its two loop functions, and the results.

    ```mlir
    %n = relex.call_tir @nonzero_count(%x) : (tensor<?xf32>) -> tensor<i64>
    %0 = tensor.extract %n[] : tensor<i64>
    %rows = arith.index_cast %0 : i64 to index
    %1 = arith.cmpi ule, %rows, %most : index
    cf.assert %1, "'relex.nonzero' expected a number of rows ..."
    %y = relex.call_tir @nonzero(%x) sizes(%rows) : (tensor<?xf32>) -> tensor<?x1xi64>
    ```
    """
    block = Block()
    sources: dict[str, tuple[SSAValue, int]] = {
        name: (value, d)
        for tensor, value in zip(inputs, op.operands, strict=True)
        for d, size in enumerate(tensor.shape)
        if (name := name_of_size(size)) is not None
    }
    counted = [TensorType(i64, [])] * len(part.counts)
    kept = [TensorType(tensor.type, without_names(tensor.shape)) for tensor in part.kept]
    values = SizeValues(block, sources)
    unknown = [values.emit(size) for tensor in part.kept for size in tensor.shape if not isinstance(size, int)]
    count = CallTirOp(names[0], op.operands, [*counted, *kept], unknown)
    values.insert(count)
    for name, result in zip(part.counts, count.results, strict=False):
        number = values.add(tensor.ExtractOp(result, [], i64))
        index = values.add(arith.IndexCastOp(number, IndexType()))
        name_value(index, f"{op.results[0].name_hint or op.name.rpartition('.')[2]}_{name}")
        holds = values.add(arith.CmpiOp(index, values.constant(MAX_ARGUMENT_SIZE), "ule"))
        what = f"'{op.name}' expected a size from 0 to {MAX_ARGUMENT_SIZE} as number of {name}"
        values.insert(cf.AssertOp(holds, StringAttr(what)))
        sources[name] = index, 0
    types = [tensor_type(t) for t in op.result_types]
    sizes = [values.emit(size) for size in _late_shape(op, inputs) if not isinstance(size, int)]
    fill = CallTirOp(names[1], [*op.operands, *count.results[len(part.counts) :]], types, sizes)
    ops = list(block.ops)
    for one in ops:
        one.detach()
    return [*ops, fill], fill.results


def _late_shape(op: Operator, inputs: Sequence[te.Tensor]) -> Sizes:
    results = op.infer_results([SizedType(t.type, t.shape) for t in inputs], op.properties)
    return tuple(plain_size(size) for result in results for size in result.get_shape())
