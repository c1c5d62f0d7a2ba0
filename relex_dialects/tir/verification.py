"""The rules of a block, as far as they can be told from the block and the loops around it."""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import VerifyException

from relex.dialects.errors import WrongOp
from relex.dialects.tir.accesses import Access, accesses, variables_in
from relex.dialects.tir.loops import BlockOp, ForOp, InitOp, IterKind, IterVar, loops_around
from relex.dialects.tir.ranges import Range, range_of


def verify_block(block: BlockOp) -> None:
    """Raise a `VerifyException` for the first rule that a block breaks."""
    for v in block.iter_vars:
        _verify_binding(block, v)
    _verify_values(block)
    for access in accesses(block):
        if _innermost_block(access.op) is not block:
            continue
        if access.is_write:
            _verify_write(block, access)
        _verify_bounds(block, access)


def _verify_binding(block: BlockOp, v: IterVar) -> None:
    """A variable's binding runs through exactly the values that the variable takes."""
    if not isinstance(v.extent, int):
        return
    bound = range_of(v.binding, _loop_range)
    if bound is None or not bound.exact:
        return
    low, high = (0, v.extent - 1)
    # A condition around the block may cut off what is too much, but adds nothing that is missing.
    fits = bound.low <= low and bound.high >= high if _is_guarded(block) else (bound.low, bound.high) == (low, high)
    if not fits:
        raise VerifyException(
            f"expected {_name(v.variable)}: {v.kind}<{v.extent}> to be bound to {Range(low, high)}, found {bound}"
        )


def _loop_range(value: SSAValue) -> Range | None:
    loop = value.owner.parent_op() if isinstance(value.owner, Block) else None
    if not isinstance(loop, ForOp) or not isinstance(loop.extent, int):
        return None
    return Range(0, loop.extent - 1)


def _is_guarded(block: BlockOp) -> bool:
    """Whether something that is no loop decides if the block runs."""
    loops = list(loops_around(block))
    scope = block.parent_op()
    while scope in loops:
        scope = scope.parent_op() if scope is not None else None
    outermost = loops[-1] if loops else block
    return scope is not (outermost.parent_op())


def _verify_values(block: BlockOp) -> None:
    """A block's body depends on no loop but through its variables."""
    for op in block.walk():
        if op is block:
            continue
        for operand in op.operands:
            if block.is_ancestor(operand.owner) or not _is_loop_dependent(operand, block):
                continue
            what = "loop variable" if isinstance(operand, BlockArgument) else "value"
            raise WrongOp(
                op,
                f"expected to use the variables of its block, found {what} {_name(operand)}; "
                f"bind it to a variable of @{block.block_name.data}",
            )


def _is_loop_dependent(value: SSAValue, block: BlockOp) -> bool:
    """Whether a value from outside of the block may differ from one run of the block to the next."""
    if isinstance(value.type, MemRefType):
        return False
    if isinstance(owner := value.owner, Operation) and owner.has_trait(ConstantLike):
        return False
    scope = value.owner.parent_op()
    return isinstance(scope, ForOp | BlockOp | InitOp)


def _verify_write(block: BlockOp, access: Access) -> None:
    """Every spatial variable takes part in the place that is written, and no reduce variable does."""
    used: set[BlockArgument] = set()
    for index in access.indices:
        used |= variables_in(index, block)
    for v in block.iter_vars:
        if v.kind is IterKind.REDUCE and v.variable in used:
            raise WrongOp(access.op, f"expected no reduce variable in the indices, found {_name(v.variable)}")
        # A variable of one value tells no places apart.
        if v.kind is IterKind.SPATIAL and v.variable not in used and v.extent not in (0, 1):
            raise WrongOp(
                access.op, f"expected every spatial variable in the indices, found none with {_name(v.variable)}"
            )


def _verify_bounds(block: BlockOp, access: Access) -> None:
    """With constant bounds, an access stays in its buffer."""
    if access.op.parent_op() is not block and not isinstance(access.op.parent_op(), InitOp):
        return  # Loops and conditions in the body bound the indices further.
    extents = {v.variable: v.extent for v in block.iter_vars}
    if 0 in extents.values() or len(access.indices) != len(access.shape):
        return  # Nothing runs, or the access's own verifier says what is wrong.

    def domain(value: SSAValue) -> Range | None:
        extent = extents.get(value) if isinstance(value, BlockArgument) else None
        return Range(0, extent - 1) if isinstance(extent, int) else None

    for dimension, (index, size) in enumerate(zip(access.indices, access.shape, strict=True)):
        taken = range_of(index, domain)
        if taken is None or size == DYNAMIC_INDEX:
            continue
        outside = taken.low < 0 or taken.high >= size
        certain = taken.exact or taken.high < 0 or taken.low >= size
        if outside and certain:
            raise WrongOp(
                access.op, f"expected index {dimension} of {_name(access.buffer)} in {Range(0, size - 1)}, found {taken}"
            )


def _innermost_block(op: Operation) -> BlockOp | None:
    scope = op.parent_op()
    while scope is not None and not isinstance(scope, BlockOp):
        scope = scope.parent_op()
    return scope


def _name(value: SSAValue) -> str:
    return f"%{value.name_hint}" if value.name_hint else "a value"
