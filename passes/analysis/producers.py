"""Producer blocks that can be inlined into their consumers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.traits import ConstantLike

from relex.dialects.index.domains import constant_value
from relex.dialects.index.expr import terms_of
from relex.dialects.index.from_ir import index_of
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, InitOp, IterKind, IterVar, PrimFuncOp
from relex.dialects.tir.accesses import accesses, is_pure
from relex.dialects.tir.indices import known_size, loop_of, sizes_of, variable_of
from relex.passes.analysis.alias import may_alias
from relex.passes.analysis.sharing import is_understood


@dataclass(frozen=True)
class Producer:
    """A block that fills a local buffer element by element, and the loads that read the buffer."""

    block: BlockOp
    store: memref.StoreOp
    loads: Sequence[memref.LoadOp]

    @classmethod
    def of(cls, nest: Operation, function: PrimFuncOp, order: Mapping[Operation, int]) -> Producer | None:
        """Return the block that a nest consists of, if it can be inlined into its consumers. `order` numbers the ops of
        the function's body."""
        block = _only_block(nest)
        if block is None or not is_understood(block) or not _runs_once_for_each_value(block):
            return None
        store = _only_store(block)
        if store is None or not isinstance(store.memref.owner, AllocBufferOp) or not _fills(store, block):
            return None
        users = [use.operation for use in store.memref.uses if use.operation is not store]
        loads = [op for op in users if isinstance(op, memref.LoadOp)]
        if not all(isinstance(op, memref.LoadOp | memref.DimOp) for op in users):
            return None

        def is_behind(op: Operation) -> bool:
            while op.parent_op() is not function:
                op = op.parent_op() or function
            return order[op] > order[nest]

        if not all(map(is_behind, loads)) or any(map(is_behind, _writers(block, function))):
            return None
        return cls(block, store, loads) if all(map(_is_everywhere, _outside(block))) else None

    def is_worth_it(self) -> bool:
        """Return whether inlining computes no more elements than the block does now."""
        readers = [loads[0] for loads in self._alike()]
        if len(readers) == 1 and _reads_an_element_once(readers[0]):
            return True
        now, then = _extents(self.block.iter_vars), list(map(_times, readers))
        if len(readers) == 1 and then[0] == now:
            return True
        return all(map(_is_known, (now, *then))) and sum(map(_product, then)) <= _product(now)

    def inline(self) -> None:
        """Replace the loads by the computation of the elements that they read."""
        for loads in self._alike():
            value = self._compute_at(reduce(lambda a, b: a if a.is_before_in_block(b) else b, loads))
            for load in loads:
                load.res.replace_all_uses_with(value)
                load.detach()
                load.erase()

    def _alike(self) -> list[list[memref.LoadOp]]:
        """Return the loads, grouped by block and by element, so that each group needs one computation."""
        alike: dict[object, list[memref.LoadOp]] = defaultdict(list)
        for load in self.loads:
            alike[load.parent, tuple(load.indices)].append(load)
        return list(alike.values())

    def _compute_at(self, load: memref.LoadOp) -> SSAValue:
        """Compute the element that `load` reads, before the load."""
        block = load.parent
        assert block is not None
        zero = arith.ConstantOp(IntegerAttr(0, IndexType()))
        inside: dict[SSAValue, SSAValue] = dict.fromkeys(self.block.body.block.args, zero.result)
        for own, index in zip(self.store.indices, load.indices, strict=True):
            if isinstance(own, BlockArgument):
                inside[own] = index
        new: list[Operation] = [zero]
        for value in _outside(self.block):
            if isinstance(value.owner, Operation) and not _is_in_function_body(value):
                new.append(value.owner.clone(inside))
        new += [op.clone(inside) for op in self.block.body.block.ops if op is not self.store]
        for op in new:
            block.insert_op_before(op, load)
        if not zero.result.uses:
            zero.detach()
        return inside.get(self.store.value, self.store.value)


def _only_block(nest: Operation) -> BlockOp | None:
    """Return the only block of a loop nest, which may otherwise hold nothing but pure ops."""
    while isinstance(nest, ForOp):
        last = nest.body.block.last_op
        if last is None or not all(is_pure(op) and not op.regions for op in nest.body.block.ops if op is not last):
            return None
        nest = last
    return nest if isinstance(nest, BlockOp) else None


def _runs_once_for_each_value(block: BlockOp) -> bool:
    """Return whether a block runs once for each combination of its variables, all of them spatial: each is bound to a
    loop of its own, or has extent 1."""
    variables = [v for v in block.iter_vars if v.extent != 1]
    loops = [loop_of(v.binding) for v in variables]
    return (
        len(set(loops)) == len(loops)
        and all(v.kind is IterKind.SPATIAL for v in variables)
        and all(
            loop is not None and known_size(loop.extent) == known_size(v.extent)
            for v, loop in zip(variables, loops, strict=True)
        )
    )


def _only_store(block: BlockOp) -> memref.StoreOp | None:
    """Return the store that a block ends with, if it has no other."""
    stores = [access.op for access in accesses(block) if access.is_write]
    last = block.body.block.last_op
    return last if isinstance(last, memref.StoreOp) and stores == [last] else None


def _fills(store: memref.StoreOp, block: BlockOp) -> bool:
    """Return whether a block stores to every element of a buffer, to each for one combination of its variables."""
    used: set[SSAValue] = set()
    for index, size in zip(store.indices, sizes_of(store.memref), strict=True):
        v = variable_of(index, block)
        if v is None and (constant_value(index) != 0 or size != 1):
            return False
        if v is not None and (index in used or known_size(v.extent) != size):
            return False
        used.add(index)
    return all(v.extent == 1 or v.variable in used for v in block.iter_vars)


def _writers(block: BlockOp, function: PrimFuncOp) -> Iterator[Operation]:
    """Yield the ops that may write to buffers that a block reads."""
    read = {access.buffer for access in accesses(block) if not access.is_write}
    shared = {other for buffer in read for other in (buffer, *function.args) if may_alias(buffer, other, function)}
    for buffer in shared:
        yield from (use.operation for use in buffer.uses if not isinstance(use.operation, memref.LoadOp | memref.DimOp))


def _outside(block: BlockOp) -> list[SSAValue]:
    """Return the values that the body of a block uses from outside."""
    ops = (op for op in block.walk() if op is not block)
    return list(dict.fromkeys(value for op in ops for value in op.operands if not block.is_ancestor(value.owner)))


def _is_everywhere(value: SSAValue) -> bool:
    """Return whether a value is available in the whole function, or is a constant, which can be materialized
    anywhere."""
    is_constant = isinstance(value.owner, Operation) and value.owner.has_trait(ConstantLike)
    return is_constant or _is_in_function_body(value)


def _is_in_function_body(value: SSAValue) -> bool:
    return isinstance(value.owner.parent_op(), PrimFuncOp)


def _reads_an_element_once(load: memref.LoadOp) -> bool:
    """Return whether no two iterations read the same element: each variable of the block is the only variable of some
    index."""
    block, in_init = _block_around(load)
    if block is None:
        return False
    alone = [set(terms_of(index_of(i))) for i in load.indices]
    variables = (v for v in block.iter_vars if v.extent != 1 and not (in_init and v.kind is IterKind.REDUCE))
    return all({v.variable} in alone for v in variables)


def _times(load: memref.LoadOp) -> list[Hashable] | None:
    """Return extents whose product bounds how often an op runs; None if that is unclear."""
    block, in_init = _block_around(load)
    if block is None:
        return None
    return _extents(v for v in block.iter_vars if not (in_init and v.kind is IterKind.REDUCE))


def _block_around(op: Operation) -> tuple[BlockOp | None, bool]:
    """Return the block directly around an op, through conditions and inits only, if there is one; and whether the op is
    in its init."""
    in_init = False
    scope = op.parent_op()
    while isinstance(scope, scf.IfOp | InitOp):
        in_init = in_init or isinstance(scope, InitOp)
        scope = scope.parent_op()
    return (scope if isinstance(scope, BlockOp) else None), in_init


def _extents(variables: Iterable[IterVar]) -> list[Hashable]:
    """Return the extents of variables, in an order that does not depend on the order of the variables."""
    return sorted((known_size(v.extent) for v in variables if v.extent != 1), key=str)


def _is_known(extents: list[Hashable] | None) -> bool:
    return extents is not None and all(isinstance(extent, int) for extent in extents)


def _product(extents: list[Hashable] | None) -> int:
    return prod(extent for extent in extents or () if isinstance(extent, int))
