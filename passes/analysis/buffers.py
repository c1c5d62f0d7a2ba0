"""The buffers that blocks access, and copies of buffers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.hints import isa

from relex.dialects.errors import fail, name_of
from relex.dialects.index.domains import constant_value
from relex.dialects.tir import AllocBufferOp, BlockOp, IterKind, PrimFuncOp
from relex.dialects.tir.accesses import accesses
from relex.passes.analysis.alias import may_alias
from relex.passes.analysis.dependence import BlockAccess, block_accesses
from relex.passes.analysis.indices import Emitter, constant
from relex.passes.analysis.loop_tree import (
    block_names,
    blocks_in,
    function_of,
    given_or_fresh,
    insert_nest,
    loop_names,
    name_of_block,
    new_loop,
)


def buffers_written(block: BlockOp) -> list[SSAValue]:
    """Return the buffers that a block stores to, in order of their first store."""
    return list(dict.fromkeys(access.buffer for access in accesses(block) if access.is_write))


def buffers_read(block: BlockOp) -> list[SSAValue]:
    """Return the buffers that a block loads from and does not write itself, in order of their first load."""
    written = buffers_written(block)
    loads = [access.buffer for access in accesses(block) if not access.is_write]
    return [buffer for buffer in dict.fromkeys(loads) if buffer not in written]


def pick_buffer(block: BlockOp, buffers: Sequence[SSAValue], index: int, verb: str) -> SSAValue:
    """Return the buffer at `index`; fail if there are fewer. `verb` says what the block does to these buffers."""
    if index < len(buffers):
        return buffers[index]
    found = ", ".join(map(name_of, buffers)) or "none"
    fail(block, f"expected {name_of_block(block)} to {verb} {index + 1} buffers or more, found {found}")


def local_buffer(buffer: SSAValue, block: BlockOp) -> AllocBufferOp:
    """Return the op that allocates a buffer; fail if the buffer is an argument of the function."""
    op = buffer.owner
    if isinstance(op, AllocBufferOp):
        return op
    fail(block, f"expected {name_of(buffer)} to be a local buffer, found an argument of the function")


def accesses_in(func: PrimFuncOp, buffer: SSAValue) -> Iterator[BlockAccess]:
    """Yield all accesses of a buffer; fail if it is used outside of blocks."""
    users: set[BlockOp] = set()
    for use in buffer.uses:
        block = _outermost_block(use.operation)
        if block is not None:
            users.add(block)
        elif not isinstance(use.operation, memref.DimOp):
            fail(use.operation, f"expected {name_of(buffer)} to be used in blocks only")
    for block in blocks_in(func) if users else ():
        if block in users:
            yield from (access for access in block_accesses(block) if access.buffer is buffer)


def _outermost_block(op: Operation) -> BlockOp | None:
    """Return the outermost block around an op, or None."""
    found: BlockOp | None = None
    scope: Operation | None = op
    while scope is not None:
        if isinstance(scope, BlockOp):
            found = scope
        scope = scope.parent_op()
    return found


def check_only_writer(func: PrimFuncOp, buffer: SSAValue, block: BlockOp) -> None:
    """Fail if another block writes a buffer."""
    for access in accesses_in(func, buffer):
        if access.is_write and access.block is not block:
            fail(block, f"expected {name_of_block(block)} alone to write {name_of(buffer)}, "
                        f"found {name_of_block(access.block)} as well")  # fmt: skip


def statement_of(block: BlockOp) -> Operation:
    """Return the outermost loop or condition around a block within its function or enclosing block; the block itself if
    there is none."""
    statement: Operation = block
    while (scope := statement.parent_op()) is not None and not isinstance(scope, BlockOp | PrimFuncOp):
        statement = scope
    return statement


def statement_accesses(statement: Operation) -> Iterator[BlockAccess]:
    """Yield the accesses of the blocks in a statement."""
    for block in [statement] if isinstance(statement, BlockOp) else blocks_in(statement):
        yield from block_accesses(block)


def check_aliases(buffer: SSAValue, statement: Operation) -> None:
    """Fail if a statement may access the memory of a buffer under another name."""
    for access in statement_accesses(statement):
        if access.buffer is not buffer and may_alias(access.buffer, buffer, function_of(statement)):
            names = f"{name_of(buffer)} and {name_of(access.buffer)}"
            fail(access.access.op, f"expected a function with 'tir.noalias', as {names} may share memory otherwise")


def buffer_name(buffer: SSAValue) -> str:
    """Return the name of a buffer."""
    return buffer.name_hint or "buffer"


def sizes_of(buffer: SSAValue, before: Operation) -> list[int | SSAValue]:
    """Return the sizes of a buffer; dynamic sizes are computed before the op `before`."""
    assert isa(buffer.type, MemRefType)
    sizes = list[int | SSAValue](buffer.type.get_shape())
    for i, size in enumerate(sizes):
        if size == DYNAMIC_INDEX:
            sizes[i] = Emitter(before).add(memref.DimOp(buffer, constant(i, before)))
    return sizes


def make_buffer(
    element_type: Attribute, sizes: Sequence[int | SSAValue], name: str, at: InsertPoint, origin: Operation
) -> SSAValue:
    """Allocate a new local buffer, with the location of `origin`."""
    shape = [size if isinstance(size, int) else DYNAMIC_INDEX for size in sizes]
    op = AllocBufferOp(MemRefType(element_type, shape), [size for size in sizes if isinstance(size, SSAValue)])
    op.location = origin.location
    op.buffer.name_hint = name
    Rewriter.insert_op(op, at)
    return op.buffer


def names_of_copy(buffer: SSAValue, block: BlockOp, given: Sequence[str]) -> list[str]:
    """Return names for the block that copies a buffer and for its loops: `Y_local`, then `ax0`, `ax1`, ..."""
    func = function_of(block)
    rank = len(buffer.type.get_shape()) if isa(buffer.type, MemRefType) else 0
    names = given_or_fresh(block, block_names(func), [f"{buffer_name(buffer)}_local"], given[:1])
    return names + given_or_fresh(block, loop_names(func), [f"ax{i}" for i in range(rank)], given[1:])


@dataclass(frozen=True)
class Copy:
    """A loop nest that copies a whole buffer to another, by a block called `name` in loops labelled `labels`."""

    source: SSAValue
    target: SSAValue
    sizes: Sequence[int | SSAValue]
    name: str
    labels: Sequence[str]

    def insert(self, at: InsertPoint, origin: Operation) -> None:
        """Insert the loop nest at `at`, with the location of `origin`."""
        loops = [new_loop(size, label, origin) for size, label in zip(self.sizes, self.labels, strict=True)]
        body = Block(arg_types=[IndexType()] * len(loops))
        for loop, variable in zip(loops, body.args, strict=True):
            variable.name_hint = f"v{loop.variable.name_hint}"
        value = memref.LoadOp.get(self.source, body.args)
        body.add_ops([value, memref.StoreOp.get(value, self.target, body.args)])
        kinds, bindings = [IterKind.SPATIAL] * len(loops), [loop.variable for loop in loops]
        block = BlockOp(self.name, kinds, self.sizes, bindings, Region(body))
        for op in block.walk():
            op.location = origin.location
        insert_nest(loops, block, at)


def replace_buffer(scope: Operation, old: SSAValue, new: SSAValue) -> None:
    """Replace the uses of a buffer in an op by another buffer."""
    for use in list(old.uses):
        if scope.is_ancestor(use.operation):
            use.operation.operands[use.index] = new


def size_asked(op: Operation) -> SSAValue | None:
    """Return the size that a `memref.dim` of a local buffer queries, as given to the allocation; otherwise None."""
    if not isinstance(op, memref.DimOp) or not isinstance(op.source.owner, AllocBufferOp):
        return None
    unknown = [d for d, size in enumerate(op.source.owner.buffer.type.get_shape()) if size == DYNAMIC_INDEX]
    dimension = constant_value(op.index)
    return op.source.owner.sizes[unknown.index(dimension)] if dimension in unknown else None


def remove_buffer(alloc: AllocBufferOp) -> None:
    """Remove a buffer that is only used for its sizes."""
    for use in list(alloc.buffer.uses):
        size = size_asked(use.operation)
        if size is not None:
            use.operation.results[0].replace_all_uses_with(size)
            use.operation.detach()
            use.operation.erase()
    alloc.detach()
    alloc.erase()
