"""`order_as_integers`: compute the maximum or minimum of floats on integers of the same order."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerAttr, IntegerType, MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from relex.dialects.dtypes import record_of
from relex.dialects.errors import fail, name_of
from relex.dialects.schedule.block_primitives import OrderAsIntegersOp
from relex.dialects.tir import AllocBufferOp, BlockOp
from relex.passes.analysis.buffers import buffers_written, check_only_writer, local_buffer
from relex.passes.analysis.loop_tree import function_of, name_of_block
from relex.passes.analysis.reduction_order import combiner_of
from relex.passes.rewriting.index_arithmetic import IndexArithmetic
from relex.passes.schedule.primitive_table import primitive


@primitive(OrderAsIntegersOp)
def order_as_integers(block: BlockOp) -> None:
    """Let a block that computes the maximum or minimum of floats do so on integers, and store these in its buffer,
    which must be local. Other readers convert back to float. A local buffer that nothing else reads, such as a padded
    copy, holds integers, too: its elements are converted when they are written, not whenever they are read."""
    combine = combiner_of(block)
    order = _Order.of(combine) or fail(
        block, f"expected {name_of_block(block)} to look for the largest or smallest of f32 or f64"
    )
    (buffer,) = buffers_written(block)
    alloc = local_buffer(buffer, block)
    check_only_writer(function_of(block), buffer, block)
    for user in (use.operation for use in buffer.uses):
        if not _is_plain(user):
            fail(user, f"expected loads and stores of {name_of(buffer)} only, found '{user.name}'")
    integers = _of_integers(alloc, order)
    users = _combine_integers(combine, buffer, order, integers.buffer)
    _convert(alloc, order, integers, users)


def _is_plain(user: Operation) -> bool:
    return isinstance(user, memref.LoadOp | memref.StoreOp | memref.DimOp)


def _of_integers(alloc: AllocBufferOp, order: _Order) -> AllocBufferOp:
    new = AllocBufferOp(MemRefType(order.integer, alloc.buffer.type.get_shape()), alloc.sizes)
    new.location, new.buffer.name_hint = alloc.location, alloc.buffer.name_hint
    return new


def _convert(alloc: AllocBufferOp, order: _Order, new: AllocBufferOp, done: Container[Operation]) -> None:
    """Replace a buffer of floats by one of integers. All accesses convert, but for those that are `done`."""
    users = {use.operation: None for use in alloc.buffer.uses if use.operation not in done}
    for user in users:
        emitter = IndexArithmetic(user)
        match user:
            case memref.LoadOp():
                loaded = emitter.add(memref.LoadOp.get(new.buffer, user.indices))
                Rewriter.replace_op(user, [], [order.float_of(loaded, emitter)])
            case memref.StoreOp():
                user.operands = [order.integer_of(user.value, emitter), new.buffer, *user.indices]
            case _:
                user.operands[0] = new.buffer
    Rewriter.replace_op(alloc, new)


def _combine_integers(combine: Operation, buffer: SSAValue, order: _Order, integers: SSAValue) -> set[Operation]:
    """Combine integers instead of floats; return the old load and the store."""
    old, term = combine.operands
    if not isinstance(old.owner, memref.LoadOp) or old.owner.memref is not buffer:
        old, term = term, old
    load, (use,) = old.owner, combine.results[0].uses
    assert isinstance(load, memref.LoadOp)
    emitter = IndexArithmetic(combine)
    loaded = emitter.add(memref.LoadOp.get(integers, load.indices))
    best = emitter.add(COMPARISONS[type(combine)](loaded, _term(term, order, emitter)))
    use.operation.operands = [best, integers, *use.operation.operands[2:]]
    Rewriter.erase_op(combine)
    Rewriter.erase_op(load)
    if isinstance(term.owner, memref.LoadOp) and term.first_use is None:
        Rewriter.erase_op(term.owner)
    return {load, use.operation}


def _term(term: SSAValue, order: _Order, emitter: IndexArithmetic) -> SSAValue:
    """Return the integer of a term; if nothing else reads the local buffer that it comes from, that holds integers."""
    load = term.owner
    alloc = load.memref.owner if isinstance(load, memref.LoadOp) else None
    if not isinstance(load, memref.LoadOp) or not isinstance(alloc, AllocBufferOp) or not term.has_one_use():
        return order.integer_of(term, emitter)
    users = [use.operation for use in load.memref.uses if use.operation is not load]
    if not all(map(_is_plain, users)) or any(isinstance(user, memref.LoadOp) for user in users):
        return order.integer_of(term, emitter)
    integers = _of_integers(alloc, order)
    loaded = emitter.add(memref.LoadOp.get(integers.buffer, load.indices))
    _convert(alloc, order, integers, {load})
    return loaded


COMPARISONS: dict[type[Operation], type[arith.MaxSIOp | arith.MinSIOp]] = {
    arith.MaximumfOp: arith.MaxSIOp,
    arith.MinimumfOp: arith.MinSIOp,
}
"""The integer op for each float op."""


@dataclass(frozen=True)
class _Order:
    """
    A mapping of floats to integers of the same order, with -0 below 0, and NaN at the end that wins.

    The bits of positive floats are in order as they are; the bits of negative floats are in reverse order, apart from
    the sign. This puts NaNs at both ends, by their sign. To bring them all to one end, the integers are shifted by the
    number of NaNs at the other end, which makes those wrap around.
    """

    bits: int
    moved_by: int

    @classmethod
    def of(cls, combine: Operation) -> _Order | None:
        """Return the order in which an op picks floats; None for other ops."""
        kind = combine.results[0].type
        if type(combine) not in COMPARISONS or not isinstance(kind, Float32Type | Float64Type):
            return None
        count = 2 ** record_of(kind).fraction_bits - 1
        return cls(kind.bitwidth, -count if isinstance(combine, arith.MaximumfOp) else count)

    @property
    def integer(self) -> IntegerType:
        """The type of the integers."""
        return IntegerType(self.bits)

    def integer_of(self, value: SSAValue, emitter: IndexArithmetic) -> SSAValue:
        """Emit the conversion of a float to its integer."""
        turned = self._turned(emitter.add(arith.BitcastOp(value, self.integer)), emitter)
        return emitter.add(arith.AddiOp(turned, self._number(self.moved_by, emitter)))

    def float_of(self, value: SSAValue, emitter: IndexArithmetic) -> SSAValue:
        """Emit the conversion of an integer back to its float."""
        turned = emitter.add(arith.SubiOp(value, self._number(self.moved_by, emitter)))
        kind = Float32Type() if self.bits == 32 else Float64Type()
        return emitter.add(arith.BitcastOp(self._turned(turned, emitter), kind))

    def _turned(self, value: SSAValue, emitter: IndexArithmetic) -> SSAValue:
        """Invert all bits but the sign if the sign is set."""
        signs = emitter.add(arith.ShRSIOp(value, self._number(self.bits - 1, emitter)))
        mask = emitter.add(arith.AndIOp(signs, self._number(2 ** (self.bits - 1) - 1, emitter)))
        return emitter.add(arith.XOrIOp(value, mask))

    def _number(self, value: int, emitter: IndexArithmetic) -> SSAValue:
        return emitter.add(arith.ConstantOp(IntegerAttr(value, self.integer)))
