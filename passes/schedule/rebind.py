"""Changing the variables of a block and the indices of its accesses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import IndexType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.index.atoms import Atom
from relex.dialects.index.expr import Index, IndexExpr, terms_of
from relex.dialects.index.from_ir import index_of
from relex.dialects.tir import BlockOp, ForOp, InitOp, IterKind, IterVar
from relex.dialects.walks import walk
from relex.passes.analysis.dependence import block_accesses
from relex.passes.rewriting.index_arithmetic import IndexArithmetic, remove_unused


def is_bound_to_loops(block: BlockOp, variables: Sequence[BlockArgument]) -> bool:
    """Return whether block variables are bound to sums of loops, each of which drives variables of one kind."""
    kinds: dict[Atom, IterKind] = {}
    for v in block.iter_vars:
        for atom in terms_of(index_of(v.binding)):
            is_loop = isinstance(atom, BlockArgument) and isinstance(atom.owner.parent_op(), ForOp)
            if (v.variable in variables and not is_loop) or kinds.setdefault(atom, v.kind) is not v.kind:
                return False
    return True


def bind_to_loops(block: BlockOp, variables: Sequence[BlockArgument]) -> tuple[BlockOp, dict[Atom, Index]]:
    """
    Replace block variables that are bound to sums of loops by one variable for each of these loops. Return the new
    block, and the loops in terms of its variables.
    """
    columns = [v for v in block.iter_vars if v.variable not in variables]
    old = [v for v in block.iter_vars if v.variable in variables]
    loops: dict[Atom, Index] = {
        v.binding: IndexExpr.of(v.variable) for v in columns if isinstance(v.binding, BlockArgument)
    }
    for v in old:
        form = index_of(v.binding)
        for atom in terms_of(form):
            if isinstance(atom, BlockArgument) and atom not in loops:
                column = _loop_variable(v, atom)
                loops[atom] = IndexExpr.of(column.variable)
                columns.append(column)
        replace_variable(block, v.variable, index_of(v.binding, lambda value: loops.get(value)))
    new = with_variables(block, columns)
    if new.parent is not None:
        remove_unused(list(new.parent.ops))  # What computed the old bindings.
    return new, loops


def with_variables(block: BlockOp, columns: Sequence[IterVar]) -> BlockOp:
    """Rebuild a block with some of its variables, of the given kinds, extents and bindings; the others must be
    unused."""
    body = block.body
    for variable in [arg for arg in body.block.args if arg not in [column.variable for column in columns]]:
        body.block.erase_arg(variable)
    columns = sorted(columns, key=lambda column: column.variable.index)
    new = BlockOp(
        block.block_name.data,
        [column.kind for column in columns],
        [column.extent for column in columns],
        [column.binding for column in columns],
        block.detach_region(body),
    )
    new.attributes.update(block.attributes)
    new.location = block.location
    if block.parent is not None:
        Rewriter.insert_op(new, InsertPoint.before(block))
        block.detach()
    block.erase()
    return new


def _loop_variable(old: IterVar, variable: BlockArgument) -> IterVar:
    """Insert a new block variable before an old one, bound to the variable of a loop."""
    loop = variable.owner.parent_op()
    assert isinstance(loop, ForOp)
    new = old.variable.block.insert_arg(IndexType(), old.variable.index)
    new.name_hint = f"v{variable.name_hint}"
    return IterVar(new, old.kind, loop.extent, variable)


def replace_variable(block: BlockOp, variable: BlockArgument, form: Index) -> set[SSAValue]:
    """Replace a variable of a block by an index expression, computed at the top of the block and of its init. Return
    the values in its place."""
    init, values = block.init, set[SSAValue]()
    emitters: dict[bool, IndexArithmetic] = {}
    for use in list(variable.uses):
        in_init = init is not None and init.is_ancestor(use.operation)
        if in_init not in emitters:
            first = init.body.block.first_op if init is not None and in_init else _first_step(block)
            emitters[in_init] = IndexArithmetic(first or use.operation)
        value = emitters[in_init].emit(form, variable.name_hint)
        use.operation.operands[use.index] = value
        values.add(value)
    return values


def _first_step(block: BlockOp) -> Operation | None:
    return next((op for op in block.body.block.ops if not isinstance(op, InitOp)), None)


def redirect(
    block: BlockOp, old: SSAValue, new: SSAValue, change: Callable[[Sequence[Index]], Sequence[Index]]
) -> None:
    """Redirect the accesses of one buffer in a block to another buffer, at other indices."""
    for access in block_accesses(block, old):
        set_indices(access.op, new, change([index_of(index) for index in access.indices]))
    remove_unused(list(walk(block)))


def set_indices(access: Operation, buffer: SSAValue, indices: Sequence[Index]) -> None:
    """Redirect a load or store to a buffer and indices."""
    emitter = IndexArithmetic(access)
    values = [emitter.emit(form) for form in indices]
    stored = [access.value] if isinstance(access, memref.StoreOp) else []
    access.operands = [*stored, buffer, *values]
