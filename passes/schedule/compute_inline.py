"""`compute_inline` and `reverse_compute_inline`: compute a block where its result is read, or fold it into the producer
of its input."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from functools import reduce

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import ConstantLike

from relex.dialects.errors import fail, name_of
from relex.dialects.index.domains import constant_value
from relex.dialects.index.expr import IndexExpr, atom_of, terms_of
from relex.dialects.index.from_ir import index_of
from relex.dialects.op_edits import insert_before
from relex.dialects.schedule.block_primitives import ComputeInlineOp, ReverseComputeInlineOp
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, IterKind
from relex.dialects.tir.indices import known_size, sizes_of, variable_of
from relex.passes.analysis import buffers
from relex.passes.analysis.dependence import block_accesses, may_alias
from relex.passes.analysis.loop_tree import check_conditions, function_of, guard_of, is_scalar, name_of_block
from relex.passes.analysis.sharing import is_understood
from relex.passes.rewriting.buffer_edits import remove_buffer
from relex.passes.rewriting.index_arithmetic import constant
from relex.passes.rewriting.loop_edits import erase_empty
from relex.passes.schedule import code_motion
from relex.passes.schedule.primitive_table import primitive


@primitive(ComputeInlineOp)
def compute_inline(block: BlockOp) -> None:
    """Compute the elements that a block writes where they are read, and remove the block and its buffer."""
    store = elementwise_store(block)
    if buffers.outermost_block(block) is not block:
        fail(block, f"expected {name_of_block(block)} not to be nested in another block")
    alloc = buffers.local_buffer(store.memref, block)
    loads = _loads_alone(block, store)
    _check_whole_buffer(block, store, alloc)
    _check_inputs_last(block, loads)
    places = [(same, _missing_at(same[0], block)) for same in alike(loads)]
    for same, missing in places:
        value = _compute_at(same[0], block, store, missing)
        indices = [index for load in same for index in load.indices]
        for load in same:
            Rewriter.replace_op(load, [], [value])
        _erase_unused(indices)
    _remove_block(block, alloc)


def alike(loads: Iterable[memref.LoadOp]) -> list[list[memref.LoadOp]]:
    """Return loads in groups that one computation does for: of the same element, in the same place; the first comes
    first."""
    groups: dict[object, list[memref.LoadOp]] = defaultdict(list)
    for load in loads:
        groups[load.parent, tuple(load.indices)].append(load)
    for same in groups.values():
        first = reduce(lambda a, b: a if a.is_before_in_block(b) else b, same)
        same.sort(key=lambda load: load is not first)
    return list(groups.values())


def elementwise_store(block: BlockOp) -> memref.StoreOp:
    """Return the only store of a block that writes one element for each combination of its variables, with each
    variable as an index once; fail if the block is not of this form."""
    name = name_of_block(block)
    if any(v.kind is IterKind.REDUCE and v.extent != 1 for v in block.iter_vars):
        fail(block, f"expected {name} to have spatial variables only, found a reduction")
    stores = [access.op for access in block_accesses(block) if access.is_write]
    if len(stores) != 1 or not isinstance(stores[0], memref.StoreOp) or stores[0].parent_op() is not block:
        fail(block, f"expected {name} to write one element")
    store = stores[0]
    variables = [index for index in store.indices if constant_value(index) is None]
    needed = {v.variable for v in block.iter_vars if v.extent != 1}
    if not needed <= set(variables) <= set(block.body.block.args) or len(variables) != len(set(variables)):
        fail(store, f"expected the variables of {name} as indices, each once")
    if any(isinstance(op, ForOp | BlockOp | AllocBufferOp) for op in block.walk() if op is not block):
        fail(block, f"expected {name} to contain no loops, blocks or buffers")
    if not is_understood(block):
        fail(block, f"expected {name} to have no effects but its store")
    if any(access.buffer is store.memref and not access.is_write for access in block_accesses(block)):
        fail(block, f"expected {name} not to read {name_of(store.memref)}, which it writes")
    return store


def _loads_alone(block: BlockOp, store: memref.StoreOp) -> list[memref.LoadOp]:
    """Return the loads of what a block writes; fail if anything else uses it, except for its sizes."""
    buffer = store.memref
    uses = [use.operation for use in buffer.uses if use.operation is not store]
    for op in uses:
        if buffers.outermost_block(op) is None and not isinstance(op, memref.DimOp):
            fail(op, f"expected {name_of(buffer)} to be used in blocks only")
        if not isinstance(op, memref.LoadOp) and buffers.size_asked(op) is None:
            buffers.check_only_writer(function_of(block), buffer, block)
            fail(op, f"expected loads of {name_of(buffer)} only, found '{op.name}'")
    return [op for op in uses if isinstance(op, memref.LoadOp)]


def _check_whole_buffer(block: BlockOp, store: memref.StoreOp, alloc: AllocBufferOp) -> None:
    """Fail unless a block is known to write every element of its buffer."""
    check_conditions(block)
    if guard_of(block) is not None:
        fail(block, f"expected {name_of_block(block)} to run without a condition")
    for index, size in zip(store.indices, sizes_of(alloc.buffer), strict=True):
        if extent_of_index(index, block) != size:
            fail(block, f"expected {name_of_block(block)} to write all of {name_of(alloc.buffer)}")


def extent_of_index(index: SSAValue, block: BlockOp) -> Hashable:
    """Return the number of values of an index, which is a variable of a block or a constant."""
    v = variable_of(index, block)
    return 1 if v is None else known_size(v.extent)


def _check_inputs_last(block: BlockOp, loads: Sequence[memref.LoadOp]) -> None:
    """Fail if the inputs of a block may change before its result is read."""
    func, start = function_of(block), buffers.statement_of(block)
    ends = [buffers.statement_of(buffers.outermost_block(load) or load) for load in loads]
    for read in buffers.buffers_read(block):
        for buffer in dict.fromkeys([read, *(arg for arg in func.args if may_alias(arg, read, func))]):
            for op in [use.operation for use in buffer.uses if not block.is_ancestor(use.operation)]:
                writer = buffers.outermost_block(op) or op
                if isinstance(op, memref.LoadOp | memref.DimOp) or not _may_run_between(writer, start, ends):
                    continue
                other = name_of_block(writer) if isinstance(writer, BlockOp) else f"'{writer.name}'"
                fail(block, f"expected what {name_of_block(block)} reads not to change before its result is read, "
                            f"found {other}, which writes {name_of(buffer)}")  # fmt: skip


def _may_run_between(op: Operation, start: Operation, ends: Sequence[Operation]) -> bool:
    """Return whether an op may run after one statement and before others. What shares their loops runs again in the
    next iteration."""
    statement = buffers.statement_of(op)
    return statement in (start, *ends) or (
        start.is_before_in_block(statement) and any(map(statement.is_before_in_block, ends))
    )


def _missing_at(load: memref.LoadOp, block: BlockOp) -> list[Operation]:
    """Return the constants that a block uses and that are not there at a load of its result. Fail if that is so for
    other values."""
    missing: dict[Operation, None] = {}
    for value in (value for op in block.body.walk() for value in op.operands):
        op = value.owner
        if not isinstance(op, Operation) or block.is_ancestor(op) or code_motion.is_available(op, load):
            continue
        if not op.has_trait(ConstantLike):
            fail(block, f"expected {name_of_block(block)} to use nothing that is not there where its result is read, "
                        f"found {name_of(value)}")  # fmt: skip
        missing[op] = None
    return list(missing)


def _compute_at(load: memref.LoadOp, block: BlockOp, store: memref.StoreOp, missing: Sequence[Operation]) -> SSAValue:
    """Compute the element that a load reads, before the load."""
    indices = dict(zip(store.indices, load.indices, strict=True))
    values: dict[SSAValue, SSAValue] = {
        v: indices[v] if v in indices else constant(0, load) for v in block.body.block.args
    }
    copies = [op.clone(values) for op in (*missing, *block.body.block.ops) if op is not store]
    if copies:
        insert_before(load, *copies)
    for copy in copies:
        if isinstance(copy, memref.LoadOp):
            _shorten(copy)
    return values.get(store.value, store.value)


def _shorten(load: memref.LoadOp) -> None:
    """Use a value as an index instead of arithmetic that amounts to it: where a reshape is undone, that is
    `n * (i // n) + i % n`. The machine's compiler does not find this, and makes no vectors of rows that it cannot
    see."""
    for number, index in enumerate(load.indices, start=1):
        value = atom_of(index_of(index))
        if isinstance(value, SSAValue) and value is not index:
            load.operands[number] = value
            _erase_unused([index])


def _erase_unused(values: Iterable[SSAValue]) -> None:
    """Erase what computes indices that nothing uses any more."""
    pending = [*values]
    while pending:
        op = pending.pop().owner
        if isinstance(op, Operation) and op.parent and is_scalar(op) and not any(result.uses for result in op.results):
            pending += op.operands
            Rewriter.erase_op(op)


def _remove_block(block: BlockOp, alloc: AllocBufferOp) -> None:
    """Remove a block, the loops that hold nothing else, and its buffer, which must be unused but for its sizes."""
    scope = block.parent_op()
    Rewriter.erase_op(block)
    erase_empty(scope)
    remove_buffer(alloc)


@primitive(ReverseComputeInlineOp)
def reverse_compute_inline(block: BlockOp) -> None:
    """Let the elementwise producer of a block's input do the work of the block as well, and remove the block and the
    buffer between them."""
    func = function_of(block)
    elementwise_store(block)
    for written in buffers.buffers_written(block):
        buffers.check_only_writer(func, written, block)
    code_motion.check_runs_anywhere(block)
    producer, load = _producer(block)
    store = elementwise_store(producer)
    _check_whole_buffer(producer, store, buffers.local_buffer(store.memref, block))
    _check_reads_all(block, load, producer, store)
    place, statement = buffers.statement_of(producer), buffers.statement_of(block)
    if place is not statement and not place.is_before_in_block(statement):
        fail(block, f"expected {name_of_block(producer)} to stand before {name_of_block(block)}")
    code_motion.check_independent(block, list(code_motion.accesses_from(place, statement)), exempt=[store.memref])

    code_motion.move_before(code_motion.find_late_values(block, place), place)
    values: dict[SSAValue, SSAValue] = {load.res: store.value}
    values.update(zip(load.indices, store.indices, strict=True))
    for op in block.body.block.ops:
        if op is not load:
            producer.body.block.insert_op_before(op.clone(values), store)
    alloc = buffers.local_buffer(store.memref, block)
    Rewriter.erase_op(store)
    _remove_block(block, alloc)


def _producer(block: BlockOp) -> tuple[BlockOp, memref.LoadOp]:
    """Return the block that computes the one element of a local buffer that only `block` reads, and the load of it."""
    func = function_of(block)
    for buffer in buffers.buffers_read(block):
        accesses = list(buffers.accesses_in(func, buffer))
        writers = {access.block for access in accesses if access.is_write}
        loads = [access for access in accesses if access.block not in writers]
        if len(writers) != 1 or len(loads) != 1 or loads[0].block is not block:
            continue
        load = loads[0].op
        if isinstance(load, memref.LoadOp) and load.parent_op() is block:
            return writers.pop(), load
    fail(block, f"expected {name_of_block(block)} to read one element of a buffer that one block computes for it alone")


def _check_reads_all(block: BlockOp, load: memref.LoadOp, producer: BlockOp, store: memref.StoreOp) -> None:
    """Fail unless a block reads each element that its producer writes exactly once, at its own variables."""
    variables = [index for index in load.indices if terms_of(index_of(index))]
    own = set(map(IndexExpr.of, block.body.block.args))
    if own != set(map(index_of, variables)) or len(variables) != len(block.kinds):
        fail(block, f"expected the variables of {name_of_block(block)} as indices of {name_of(load.memref)}, each once")
    for read, written in zip(load.indices, store.indices, strict=True):
        if extent_of_index(read, block) != extent_of_index(written, producer):
            fail(block, f"expected {name_of_block(block)} to read all of {name_of(load.memref)}")
