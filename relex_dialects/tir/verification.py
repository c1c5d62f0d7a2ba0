"""Verification of blocks and accesses, as far as the enclosing function determines their ranges."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.traits import ConstantLike, IsolatedFromAbove, MemoryEffectKind, get_effects
from xdsl.utils.exceptions import VerifyException

from relex.dialects.errors import WrongOp, name_of
from relex.dialects.index.bounds import range_of, variable_range
from relex.dialects.index.ranges import Range
from relex.dialects.tir.accesses import Access, accesses, innermost_block, variables_in
from relex.dialects.tir.blocks import BlockOp, InitOp, IterKind, IterVar, loops_around
from relex.dialects.tir.loops import ForOp
from relex.dialects.walks import ancestors, reachable


def verify_block(block: BlockOp) -> None:
    """Raise `VerifyException` for the first rule that a block violates."""
    for v in block.iter_vars:
        _verify_binding(block, v)
    _verify_values(block)
    for access in accesses(block):
        if access.is_write:
            _verify_write(block, access)
        if innermost_block(access.op) is block:
            verify_bounds(access)
    _verify_init(block)


def verify_bounds(access: Access) -> None:
    """Check that an access with constant bounds stays inside its buffer."""
    if not executes(access.op) or len(access.indices) != len(access.shape):
        return  # It may never execute, or its own verifier reports the mistake.
    block = innermost_block(access.op)
    # A condition around the block may exclude combinations of values that its variables take individually.
    under_condition = block is not None and is_guarded(block)
    for dimension, (index, size) in enumerate(zip(access.indices, access.shape, strict=True)):
        taken = range_of(index)
        if taken is None or size == DYNAMIC_INDEX:
            continue
        if size == 0 and _has_open_extent(access.op):
            continue  # Where it is 0, nothing is accessed.
        if size == 0:
            raise WrongOp(access.op, f"expected no access to {name_of(access.buffer)}, which has no elements")
        outside = taken.low < 0 or taken.high >= size
        certain = (taken.exact and not under_condition) or taken.high < 0 or taken.low >= size
        if outside and certain:
            place = f"index {dimension} of {name_of(access.buffer)}"
            raise WrongOp(access.op, f"expected {place} in {Range(0, size - 1)}, found {taken}")


def _verify_binding(block: BlockOp, v: IterVar) -> None:
    """Check that a variable's binding takes exactly the values of the variable."""
    if not isinstance(v.extent, int):
        return
    bound = range_of(v.binding)
    if bound is None:
        return
    expected = Range(0, v.extent - 1)
    misses = bound.low > expected.low or bound.high < expected.high or bound.full is False
    exceeds = bound.exact and (bound.low < expected.low or bound.high > expected.high)
    # A condition around the block may exclude excess values, but adds no missing ones.
    if misses or (exceeds and not is_guarded(block)):
        raise VerifyException(
            f"expected {name_of(v.variable)}: {v.kind}<{v.extent}> to be bound to {expected}, found {bound}"
            + (" with gaps" if bound.full is False else "")
        )


def executes(op: Operation) -> bool:
    """Return whether an op executes: no condition between it and its block, and no empty loop or block around it."""
    in_init = False
    for scope in ancestors(op):
        match scope:
            case InitOp():
                in_init = True
            case ForOp() | BlockOp():
                for variable in scope.body.block.args:
                    # An init runs even if there is nothing to reduce.
                    if in_init and isinstance(scope, BlockOp) and scope.kind_of(variable) is IterKind.REDUCE:
                        continue
                    domain = variable_range(variable)
                    if domain is not None and domain.empty:
                        return False
                if isinstance(scope, BlockOp):
                    return True
            case _:
                return scope.has_trait(IsolatedFromAbove)
    return True


def _has_open_extent(op: Operation) -> bool:
    """Return whether the extent of a loop or block around an op is known at run time only."""
    scopes = [scope for scope in ancestors(op) if isinstance(scope, ForOp | BlockOp)]
    return any(variable_range(variable) is None for scope in scopes for variable in scope.body.block.args)


def is_guarded(block: BlockOp) -> bool:
    """Return whether anything other than loops stands between the block and the outermost loop around it."""
    around = list(loops_around(block))
    inside = takewhile(lambda scope: scope is not around[-1], ancestors(block)) if around else ()
    return not all(isinstance(scope, ForOp) for scope in inside)


def _verify_values(block: BlockOp) -> None:
    """Check that a block's body depends on the loops around it only through the block's variables."""
    for op in block.walk():
        if op is block:
            continue
        for operand in op.operands:
            if not block.is_ancestor(operand.owner) and (cause := _loop_dependence(operand)) is not None:
                raise WrongOp(
                    op,
                    f"expected to use the variables of its block, found {cause} {name_of(operand)}; "
                    f"bind it to a variable of @{block.block_name.data}",
                )


def _loop_dependence(value: SSAValue) -> str | None:
    """Return the kind of a value that may differ between iterations of a loop around it; None if it is invariant."""
    if isinstance(value, BlockArgument):
        return _argument_kind(value)
    return "value" if any(map(_varies, reachable(value, _repeated_operands))) else None


def _varies(value: SSAValue) -> bool:
    """Return whether a value by itself may differ between iterations, whatever its operands."""
    if isinstance(value, BlockArgument):
        return _argument_kind(value) is not None
    return isinstance(value.owner, Operation) and _is_repeated(value.owner) and _may_read(value.owner)


def _repeated_operands(value: SSAValue) -> Sequence[SSAValue]:
    """Return the operands that a value computed inside of loops depends on."""
    op = value.owner
    repeated = isinstance(op, Operation) and _is_repeated(op)
    return [operand for inner in op.walk() for operand in inner.operands] if repeated else []


def _argument_kind(argument: BlockArgument) -> str | None:
    scope = argument.owner.parent_op()
    if scope is None or scope.has_trait(IsolatedFromAbove):
        return None
    return "block variable" if isinstance(scope, BlockOp) else "loop variable"


def _is_repeated(op: Operation) -> bool:
    """Return whether an op may execute more than once per call of the function. Constants do not count: their value is
    always the same."""
    return not op.has_trait(ConstantLike) and any(isinstance(scope, ForOp | BlockOp) for scope in ancestors(op))


def _may_read(op: Operation) -> bool:
    effects = get_effects(op)
    return effects is None or any(effect.kind is MemoryEffectKind.READ for effect in effects)


def _verify_write(block: BlockOp, access: Access) -> None:
    """Check that every spatial variable, and no reduce variable, takes part in the indices of a write."""
    if block.is_ancestor(access.buffer.owner):
        return  # Each execution of the block has its own buffer.
    used: set[BlockArgument] = set()
    for index in access.indices:
        used |= variables_in(index, block)
    for v in block.iter_vars:
        if v.kind is IterKind.REDUCE and v.variable in used:
            raise WrongOp(access.op, f"expected no reduce variable in the indices, found {name_of(v.variable)}")
        if v.kind is IterKind.SPATIAL and v.variable not in used and not _is_fixed(block, v, access.buffer):
            raise WrongOp(
                access.op, f"expected every spatial variable in the indices, found none with {name_of(v.variable)}"
            )


def _is_fixed(block: BlockOp, v: IterVar, buffer: SSAValue) -> bool:
    """Return whether a variable has one value during the lifetime of the buffer, so that it need not distinguish
    elements."""
    if v.extent in (0, 1):
        return True
    function = next((scope for scope in ancestors(block) if scope.has_trait(IsolatedFromAbove)), block)
    owners = (variable.owner.parent_op() for variable in variables_in(v.binding, function))
    return all(owner is not None and owner.is_ancestor(buffer.owner) for owner in owners)


def _verify_init(block: BlockOp) -> None:
    """Check that an init does not depend on reduce variables."""
    if block.init is None:
        return
    reduce = {v.variable for v in block.iter_vars if v.kind is IterKind.REDUCE}
    for op in block.init.walk():
        for operand in op.operands:
            if operand in reduce:
                raise WrongOp(op, f"expected no reduce variable in 'tir.init', found {name_of(operand)}")
