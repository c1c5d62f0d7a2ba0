"""The buffers that blocks access."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from relex.dialects.errors import fail, name_of
from relex.dialects.index.domains import constant_value
from relex.dialects.tir import AllocBufferOp, BlockOp, PrimFuncOp
from relex.dialects.tir.accesses import Access, accesses
from relex.dialects.walks import ancestors
from relex.passes.analysis.dependence import block_accesses, may_alias, statement_accesses
from relex.passes.analysis.kept import once
from relex.passes.analysis.loop_tree import blocks_in, function_of, name_of_block


def buffers_written(op: Operation) -> list[SSAValue]:
    """Return the buffers that a block, or what holds blocks, stores to, in order of their first store."""
    return list(dict.fromkeys(access.buffer for access in accesses(op) if access.is_write))


def buffers_read(block: BlockOp) -> list[SSAValue]:
    """Return the buffers that a block loads from and does not write itself, in order of their first load."""
    written = buffers_written(block)
    loads = [access.buffer for access in accesses(block) if not access.is_write]
    return [buffer for buffer in dict.fromkeys(loads) if buffer not in written]


def pick_buffer(block: BlockOp, role: str, index: int) -> SSAValue:
    """Return number `index` of the buffers that a block reads, or writes; fail if there are fewer."""
    buffers = buffers_read(block) if role == "read" else buffers_written(block)
    if index < len(buffers):
        return buffers[index]
    found = ", ".join(map(name_of, buffers)) or "none"
    fail(block, f"expected {name_of_block(block)} to {role} {index + 1} buffers or more, found {found}")


def local_buffer(buffer: SSAValue, block: BlockOp) -> AllocBufferOp:
    """Return the op that allocates a buffer; fail if the buffer is an argument of the function."""
    op = buffer.owner
    if isinstance(op, AllocBufferOp):
        return op
    fail(block, f"expected {name_of(buffer)} to be a local buffer, found an argument of the function")


def accesses_in(func: PrimFuncOp, buffer: SSAValue) -> Iterator[Access]:
    """Yield all accesses of a buffer; fail if it is used outside of blocks."""
    users: set[BlockOp] = set()
    for use in buffer.uses:
        block = outermost_block(use.operation)
        if block is not None:
            users.add(block)
        elif not isinstance(use.operation, memref.DimOp):
            fail(use.operation, f"expected {name_of(buffer)} to be used in blocks only")
    in_order = once((blocks_in, func), lambda: list(blocks_in(func))) if len(users) > 1 else users
    for block in in_order:
        if block in users:
            yield from block_accesses(block, buffer)


def only_reader(block: BlockOp) -> BlockOp | None:
    """Return the only consumer of a block's results, if they are used nowhere else."""
    (buffer,) = buffers_written(block)
    readers = {access.block for access in accesses_in(function_of(block), buffer)} - {block}
    return readers.pop() if isinstance(buffer.owner, AllocBufferOp) and len(readers) == 1 else None


def outermost_block(op: Operation) -> BlockOp | None:
    """Return the outermost block that an op is in, or is; None if there is none."""
    blocks = [scope for scope in (op, *ancestors(op)) if type(scope) is BlockOp]
    return blocks[-1] if blocks else None


def check_only_writer(func: PrimFuncOp, buffer: SSAValue, block: BlockOp) -> None:
    """Fail if another block writes a buffer."""
    for access in accesses_in(func, buffer):
        if access.is_write and access.block is not block:
            fail(block, f"expected {name_of_block(block)} alone to write {name_of(buffer)}, "
                        f"found {name_of_block(access.block)} as well")  # fmt: skip


def statement_of(op: Operation) -> Operation:
    """Return the outermost loop or condition around a block or loop within its function or enclosing block; the op
    itself if there is none."""
    statement = op
    while (scope := statement.parent_op()) is not None and type(scope) not in (BlockOp, PrimFuncOp):
        statement = scope
    return statement


def check_aliases(buffer: SSAValue, statement: Operation) -> None:
    """Fail if a statement may access the memory of a buffer under another name."""
    for access in statement_accesses(statement):
        if access.buffer is not buffer and may_alias(access.buffer, buffer, function_of(statement)):
            names = f"{name_of(buffer)} and {name_of(access.buffer)}"
            fail(access.op, f"expected a function with 'tir.noalias', as {names} may share memory otherwise")


def buffer_name(buffer: SSAValue) -> str:
    """Return the name of a buffer."""
    return buffer.name_hint or "buffer"


def allocated_sizes(alloc: AllocBufferOp) -> list[int | SSAValue]:
    """Return the sizes that a buffer is allocated with."""
    dynamic = iter(alloc.sizes)
    return [next(dynamic) if size == DYNAMIC_INDEX else size for size in alloc.buffer.type.get_shape()]


def size_asked(op: Operation) -> int | SSAValue | None:
    """Return the size that a `memref.dim` of a local buffer queries, as given to the allocation; otherwise None."""
    if not isinstance(op, memref.DimOp) or not isinstance(op.source.owner, AllocBufferOp):
        return None
    dimension, sizes = constant_value(op.index), allocated_sizes(op.source.owner)
    return sizes[dimension] if dimension is not None and 0 <= dimension < len(sizes) else None
