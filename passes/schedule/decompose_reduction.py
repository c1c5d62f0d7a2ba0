"""`decompose_reduction`: make the init of a reduction a block of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.errors import fail, name_of
from relex.dialects.index.expr import IndexExpr
from relex.dialects.schedule.blocks import DecomposeReductionOp
from relex.dialects.tir import BlockOp, ForOp, InitOp, IterKind
from relex.dialects.tir.accesses import variables_in
from relex.dialects.walks import ancestors, walk
from relex.passes.analysis.buffers import statement_accesses
from relex.passes.analysis.dependence import carrying, check_bindings_differ, may_alias
from relex.passes.analysis.loop_tree import (
    base_name,
    check_structure,
    conditions_of,
    function_of,
    guard_of,
    label_of,
    loops_of,
    name_of_block,
    variables_of_kind,
)
from relex.passes.editing.index_arithmetic import substitute
from relex.passes.editing.loop_edits import add_condition, insert_nest, new_loop
from relex.passes.schedule.new_names import NewNames
from relex.passes.schedule.table import primitive


@primitive(DecomposeReductionOp)
def decompose_reduction(block: BlockOp, loop: ForOp, names: NewNames) -> BlockOp:
    """
    Move the init of a block `Y` into a block `Y_init` of its own, before a loop that holds the whole reduction. The new
    block gets copies of those loops, from that one inwards, that its variables need: `j` becomes `j_init`.
    """
    init = block.init or fail(block, f"expected {name_of_block(block)} to have an init, found none")
    check_structure(loop)
    inside = loops_from(loop, block)
    reduce = variables_of_kind(block, IterKind.REDUCE)
    spatial = variables_of_kind(block, IterKind.SPATIAL)
    conditions = spatial_conditions(block, loop, reduce)
    spatial |= {v for condition in conditions for v in variables_in(condition, function_of(block))}
    if both := [around for around in inside if around.variable in spatial & reduce]:
        fail(both[0], f"expected {label_of(both[0])} to drive either spatial or reduce variables of "
                      f"{name_of_block(block)}, found both")  # fmt: skip
    check_bindings_differ(block, inside)
    _check_init_may_move(init, block, loop)
    copied = [around for around in inside if around.variable in spatial]
    (name,), labels = names.take([f"{block.block_name.data}_init"], [f"{base_name(around)}_init" for around in copied])

    substitute(loop)
    start = _init_block(block, init, name)
    copies = [new_loop(old.extent, label, old, old.kind.data) for old, label in zip(copied, labels, strict=True)]
    add_nest(dict(zip(copied, copies, strict=True)), start, InsertPoint.before(loop), conditions)
    if not copies:
        substitute(loop)
    Rewriter.erase_op(init)
    return start


def add_nest(copies: Mapping[ForOp, ForOp], block: BlockOp, at: InsertPoint, conditions: Sequence[SSAValue]) -> None:
    """Insert a block that is bound to some loops into copies of them, guarded by conditions on them."""
    insert_nest(list(copies.values()), block, at)
    for condition in conditions:
        add_condition(block, condition)
    if copies:
        substitute(
            next(iter(copies.values())), {old.variable: IndexExpr.of(new.variable) for old, new in copies.items()}
        )


def loops_from(loop: ForOp, block: BlockOp) -> list[ForOp]:
    """Return the loops around a block from `loop` inwards; fail if a loop of the reduction is outside of them."""
    around = loops_of(block)
    if loop not in around:
        fail(block, f"expected {name_of_block(block)} to stand in {label_of(loop)}")
    start = around.index(loop)
    reduce = variables_of_kind(block, IterKind.REDUCE)
    for outer in around[:start]:
        if outer.variable in reduce:
            fail(outer, f"expected the loops of the reduction {name_of_block(block)} to stand in {label_of(loop)}, "
                        f"found {label_of(outer)} around it")  # fmt: skip
    return around[start:]


def spatial_conditions(block: BlockOp, loop: ForOp, reduce: set[SSAValue]) -> list[SSAValue]:
    """Return the conjuncts of a block's guard that do not depend on the reduction: the init runs under these alone."""
    around = ancestors(guard_of(block) or block)
    if next((scope for scope in around if not isinstance(scope, ForOp) or scope is loop), None) is not loop:
        fail(block, f"expected conditions directly around {name_of_block(block)} only")
    kept: list[SSAValue] = []
    for condition in conditions_of(block):
        variables = variables_in(condition, function_of(block))
        if not variables & reduce:
            kept.append(condition)
        elif not variables <= reduce:
            fail(block, f"expected no condition around {name_of_block(block)} on spatial and reduce variables together")
    return kept


def _check_init_may_move(init: InitOp, block: BlockOp, loop: ForOp) -> None:
    """Fail if an access in the loop could observe that the init has moved before it."""
    accesses = list(statement_accesses(loop))
    own = [access for access in accesses if access.block is block and access.in_init]
    for mine in own:
        if loop.is_ancestor(mine.buffer.owner):
            fail(block, f"expected {name_of(mine.buffer)} to live outside of {label_of(loop)}")
        for other in accesses:
            if (other.block is block and other.in_init) or not may_alias(mine.buffer, other.buffer, function_of(block)):
                continue
            spatial = variables_of_kind(block, IterKind.SPATIAL)
            shared = [around for around in loops_of(block) if around.is_ancestor(other.block)]
            shared = [around for around in shared if loop.is_ancestor(around) and around.variable in spatial]
            carried = carrying(shared, mine, other, conditions=False)
            meets = bool(carried) if shared else mine.buffer is not other.buffer
            if other.block is block:
                harmless = mine.is_write and not meets
            else:
                harmless = not other.is_write and (
                    not mine.is_write or (not meets and _is_after(other.block, block, loop))
                )
            if not harmless:
                fail(block, f"expected {name_of(other.buffer)} to be left alone in {label_of(loop)} until "
                            f"{name_of_block(block)} has started, found {name_of_block(other.block)}")  # fmt: skip
    for op in init.walk():
        for operand in op.operands:
            if loop.is_ancestor(operand.owner) and not block.is_ancestor(operand.owner):
                fail(op, f"expected {name_of(operand)} to be computed outside of {label_of(loop)}")


def _is_after(block: BlockOp, other: BlockOp, scope: Operation) -> bool:
    order = [op for op in walk(scope) if op is block or op is other]
    return order[-1] is block


def _init_block(block: BlockOp, init: InitOp, name: str) -> BlockOp:
    """Return a block over the spatial variables that performs the init; it is still bound to the old loops."""
    spatial = [v for v in block.iter_vars if v.kind is IterKind.SPATIAL]
    body = Block(arg_types=[IndexType()] * len(spatial))
    values: dict[SSAValue, SSAValue] = {}
    for v, variable in zip(spatial, body.args, strict=True):
        variable.name_hint = v.variable.name_hint
        values[v.variable] = variable
    for op in init.body.block.ops:
        body.add_op(op.clone(values))
    kinds = [v.kind for v in spatial]
    new = BlockOp(name, kinds, [v.extent for v in spatial], [v.binding for v in spatial], Region(body))
    new.location = init.location
    return new
