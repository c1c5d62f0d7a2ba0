"""Fold blocks that initialize a buffer into the reductions that update it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product, takewhile

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.function_arguments import SCHEDULED_ATTR
from relex.dialects.index.domains import is_same_value
from relex.dialects.index.from_ir import index_of
from relex.dialects.tir import BlockOp, ForOp, InitOp, IterKind, IterVar, LoopKind, PrimFuncOp
from relex.dialects.tir.accesses import Access, accesses, is_pure, variables_in
from relex.passes.analysis.dependence import may_alias
from relex.passes.analysis.hand_written import hand_written
from relex.passes.analysis.loop_tree import blocks_in, function_of, is_reduction, loops_of, only_step
from relex.passes.analysis.sharing import has_views, is_understood
from relex.passes.driver.base import RelexPass


class FoldInitBlocksPass(RelexPass):
    """
    Folds a block that initializes the results of a reduction into the reduction, as its `tir.init`: fusion and the
    default schedule know reductions by it. The block is alone in its loops, and sets each element that the reduction
    updates, to a constant or to what it reads elsewhere; nothing in between uses these elements.

    ```mlir
    tir.for %i in (8) {
      tir.block @zero (%vi: spatial<8> = %i) {
        memref.store %zero, %Y[%vi] : memref<8xf32>
      }
    }
    tir.for %i, %k in (8, 64) {
      tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<64> = %k) {
        ... // y[i] += x[i, k]
      }
    }
    // fold-init-blocks
    tir.for %i, %k in (8, 64) {
      tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<64> = %k) {
        tir.init {
          memref.store %zero, %Y[%vi] : memref<8xf32>
        }
        ... // y[i] += x[i, k]
      }
    }
    ```
    """

    name = "fold-init-blocks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in hand_written(op):
            if SCHEDULED_ATTR not in function.attributes:
                fold_init_blocks(function)


def fold_init_blocks(function: PrimFuncOp) -> None:
    """Fold the blocks of a function that initialize reductions into these."""
    reductions = [block for block in blocks_in(function) if is_reduction(block) and block.init is None]
    if not reductions or has_views(function):
        return
    for block in reductions:
        pair = _Pair.of(block)
        if pair is not None and pair.may_be_one(function):
            pair.fold()


@dataclass(frozen=True)
class _Pair:
    """A block alone in serial loops, and a reduction, which is the next to use the buffer that the block writes."""

    first: BlockOp
    before: Operation
    """The outermost loop around the first block that is not around both; the block itself if there is none."""
    block: BlockOp
    nest: Operation
    """The outermost loop around the reduction that is not around both; the reduction itself if there is none."""

    @classmethod
    def of(cls, block: BlockOp) -> _Pair | None:
        """Return a reduction with the block before it; None if there is none, or they write more than one element a
        step."""
        nest: Operation = block
        buffer = _store(block).buffer if _store_count(block) == 1 else None
        while buffer is not None and (nest is block or _is_serial(nest)):
            before = next((op for op in _preceding(nest) if any(a.buffer is buffer for a in accesses(op))), None)
            if before is not None:
                first = _only_block(before)
                return cls(first, before, block, nest) if first is not None and _is_assignment(first) else None
            outer = nest.parent_op()
            if outer is None:
                break
            nest = outer
        return None

    def may_be_one(self, function: PrimFuncOp) -> bool:
        """Return whether both write the same elements, and nothing in between uses these, or changes what the first
        block reads."""
        if self._variables is None or not all(map(self._is_known, _operands(self.first))):
            return False
        between = [*takewhile(lambda op: op is not self.before, _preceding(self.nest))]
        own, reads = _store(self.block), [a.buffer for a in accesses(self.first) if not a.is_write]
        found = [access for statement in (*between, self.nest) for access in accesses(statement)]
        others = [access for access in found if not self._is_step(access, own)]
        written = [access for access in found if access.is_write]
        conflicts = chain(product(others, [own.buffer]), product(written, reads))
        may_conflict = any(may_alias(access.buffer, buffer, function) for access, buffer in conflicts)
        return not may_conflict and all(map(is_understood, (*between, self.nest)))

    def fold(self) -> None:
        """Let the reduction initialize its results."""
        values = dict(self._variables or {})
        init = InitOp(Region(Block([op.clone(values) for op in self.first.body.block.ops])))
        init.location = self.first.location
        Rewriter.insert_op(init, InsertPoint.at_start(self.block.body.block))
        Rewriter.erase_op(self.before)

    def _is_step(self, access: Access, own: Access) -> bool:
        """Return whether an access of the reduction is to the element that it writes."""
        is_same = access.buffer is own.buffer and all(map(is_same_value, access.indices, own.indices))
        return is_same and self.block.is_ancestor(access.op)

    def _is_known(self, value: SSAValue) -> bool:
        """Return whether a value is one of the first block's own, or computed outside of its loops."""
        owner = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
        return owner is not None and (self.first.is_ancestor(owner) or not self.before.is_ancestor(owner))

    @cached_property
    def _variables(self) -> dict[SSAValue, SSAValue] | None:
        """The spatial variables of the reduction, by the variables of the first block that index the same dimensions of
        the buffer; None unless both go over all elements, or over those that the loops around both select."""
        found: dict[SSAValue, SSAValue] = {}
        for i, j in zip(_store(self.first).indices, _store(self.block).indices, strict=True):
            v, w = _variable(self.first, i), _variable(self.block, j)
            if v is not None and w is not None and self._have_same_range(v, w):
                if found.setdefault(i, j) is not j:
                    return None
            elif not is_same_value(i, j):
                return None
        spatial = {v.variable for v in self.block.iter_vars if v.kind is IterKind.SPATIAL}
        is_complete = len(found) == len(self.first.iter_vars) == len(spatial) and {*found.values()} == spatial
        return found if is_complete and self._visit_elements_once() else None

    def _visit_elements_once(self) -> bool:
        """Return whether each loop drives one variable, and the loops around both no variable of the reduction."""
        around = [loop for loop in loops_of(self.block) if not self.nest.is_ancestor(loop)]
        reduced = [loop for v in self.block.iter_vars if v.kind is IterKind.REDUCE for loop in _loops_of(v, self.block)]
        return _is_run_once(self.first) and _is_run_once(self.block) and not any(loop in around for loop in reduced)

    def _have_same_range(self, v: IterVar, w: IterVar) -> bool:
        if v.extent != w.extent:
            return False
        loops, own = _loops_of(v, self.first), _loops_of(w, self.block)
        if not any(map(self.before.is_ancestor, loops)) and not any(map(self.nest.is_ancestor, own)):
            return index_of(v.binding) == index_of(w.binding)
        is_inside = all(map(self.before.is_ancestor, loops)) and all(map(self.nest.is_ancestor, own))
        return is_inside and _is_whole(v, loops) and _is_whole(w, own)


def _operands(block: BlockOp) -> list[SSAValue]:
    """Return the values that the ops in a block use."""
    return [value for op in block.body.block.ops for value in op.operands]


def _preceding(op: Operation) -> Iterator[Operation]:
    """Yield the ops before an op in its block, the last one first."""
    while op.prev_op is not None:
        op = op.prev_op
        yield op


def _is_serial(op: Operation) -> bool:
    return isinstance(op, ForOp) and op.kind.data is LoopKind.SERIAL


def _only_block(statement: Operation) -> BlockOp | None:
    """Return the block that serial loops hold, if they hold nothing else."""
    while isinstance(statement, ForOp):
        inner = only_step(statement)
        if inner is None or not _is_serial(statement):
            return None
        statement = inner
    return statement if isinstance(statement, BlockOp) else None


def _is_assignment(block: BlockOp) -> bool:
    """Return whether a block sets one element a step, and does nothing else."""
    ops = [*block.body.block.ops]
    others = [op for op in ops if not isinstance(op, memref.LoadOp | memref.StoreOp)]
    return not is_reduction(block) and _store_count(block) == 1 and all(is_pure(op) and not op.regions for op in others)


def _store_count(block: BlockOp) -> int:
    return sum(access.is_write for access in accesses(block))


def _store(block: BlockOp) -> Access:
    return next(access for access in accesses(block) if access.is_write)


def _variable(block: BlockOp, index: SSAValue) -> IterVar | None:
    """Return the variable of a block that an index is; None for other indices."""
    return next((v for v in block.iter_vars if v.variable is index), None)


def _loops_of(v: IterVar, block: BlockOp) -> list[ForOp]:
    """Return the loops that drive a variable of a block."""
    driving = variables_in(v.binding, function_of(block))
    return [loop for loop in loops_of(block) if loop.variable in driving]


def _is_whole(v: IterVar, loops: list[ForOp]) -> bool:
    """Return whether a variable is the variable of the only loop that drives it."""
    return len(loops) == 1 and v.binding is loops[0].variable and v.extent == loops[0].extent


def _is_run_once(block: BlockOp) -> bool:
    """Return whether each loop around a block drives one variable of it: then no element is visited again."""
    driving = [loop for v in block.iter_vars for loop in _loops_of(v, block)]
    return sorted(map(id, driving)) == sorted(map(id, loops_of(block)))
