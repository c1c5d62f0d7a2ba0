"""Inline blocks into the blocks that read their results."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Operation, SSAValue

from relex.dialects.index.domains import constant_value
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, PrimFuncOp
from relex.dialects.tir.accesses import accesses
from relex.passes.analysis.producers import Producer
from relex.passes.analysis.sharing import has_views, is_understood
from relex.passes.base import RelexPass


@dataclass(frozen=True)
class InlineBlocksPass(RelexPass):
    """
    Computes an element of a local buffer where it is read, if this does not compute anything more often, and drops the
    buffer, its block and its loops. The same operations are performed on the same numbers. Blocks whose results are not
    read are dropped as well.

    The block must fill the buffer by one element for each value of its variables, in loops of its own, and nothing that
    it reads may be written after it.

    ```mlir
    tir.for %i in (8) {
      tir.block @double (%v: spatial<8> = %i) {
        %x = memref.load %X[%v] : memref<8xf32>
        %y = arith.addf %x, %x : f32
        memref.store %y, %T[%v] : memref<8xf32>
      }
    }
    tir.for %i in (8) {
      tir.block @negate (%v: spatial<8> = %i) {
        %x = memref.load %T[%v] : memref<8xf32>
        %y = arith.negf %x : f32
        memref.store %y, %Y[%v] : memref<8xf32>
      }
    }
    // inline-blocks
    tir.for %i in (8) {
      tir.block @negate (%v: spatial<8> = %i) {
        %x = memref.load %X[%v] : memref<8xf32>
        %0 = arith.addf %x, %x : f32
        %y = arith.negf %0 : f32
        memref.store %y, %Y[%v] : memref<8xf32>
      }
    }
    ```
    """

    name = "inline-blocks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, PrimFuncOp) and not has_views(function):
                _inline_in(function)


def _inline_in(function: PrimFuncOp) -> None:
    """Visit the nests from last to first, so that the readers of a buffer are settled before its producer."""
    order = {op: i for i, op in enumerate(function.body.block.ops)}
    for nest in reversed(order):
        producer = Producer.of(nest, function, order)
        if producer is not None and producer.is_worth_it():
            producer.inline()
        if _is_dead(nest):
            nest.detach()
            nest.erase()
    for op in list(function.body.block.ops):
        if isinstance(op, AllocBufferOp):
            _erase_if_unused(op)


def _is_dead(nest: Operation) -> bool:
    """Return whether a nest does nothing but fill local buffers that only it reads."""
    if not isinstance(nest, ForOp | BlockOp) or not is_understood(nest):
        return False
    written = {access.buffer for access in accesses(nest) if access.is_write}
    return all(
        isinstance(buffer.owner, AllocBufferOp)
        and all(isinstance(use.operation, memref.DimOp) or nest.is_ancestor(use.operation) for use in buffer.uses)
        for buffer in written
    )


def _erase_if_unused(buffer: AllocBufferOp) -> None:
    """Erase a buffer that is only used for its sizes."""
    dims = [use.operation for use in buffer.buffer.uses]
    sizes = [_size(buffer, op) for op in dims]
    if None in sizes:
        return
    for op, size in zip(dims, sizes, strict=True):
        if size is not None:
            op.results[0].replace_all_uses_with(size)
        op.detach()
        op.erase()
    buffer.detach()
    buffer.erase()


def _size(buffer: AllocBufferOp, op: Operation) -> SSAValue | None:
    """Return the size that an op queries of a buffer, if the buffer was allocated with it."""
    dimension = constant_value(op.index) if isinstance(op, memref.DimOp) else None
    unknown = [d for d, size in enumerate(buffer.buffer.type.get_shape()) if size == DYNAMIC_INDEX]
    return dict(zip(unknown, buffer.sizes, strict=True)).get(dimension) if dimension is not None else None
