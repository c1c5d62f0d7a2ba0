"""In-place calls: loop functions that write an output in the memory of an input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeGuard

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from relex.dialects.function_arguments import DIMS_ATTR, PASSED_ATTR, SIGNATURE_ATTR, argument_attr, overwritten
from relex.dialects.names import Names
from relex.dialects.op_edits import replace_by
from relex.dialects.relex.calls import resolve
from relex.dialects.symbols import erase_unused
from relex.dialects.tir import BlockOp, CallLoopsOp, ForOp, PrimFuncOp
from relex.dialects.tir.accesses import Access, innermost_block, is_pure
from relex.dialects.tir.op_pattern import OP_PATTERN_ATTR
from relex.dialects.walks import walk
from relex.lowering.kernels.marks import RECIPE_ATTR, CompiledAs, recipe_of
from relex.lowering.memory.lifetimes import lifetimes, positions_in, touched_by, uses_of_memory
from relex.lowering.memory.loops_in_place import loops_in_place
from relex.lowering.memory.needs import BufferSizes
from relex.passes.analysis.dependence import Meeting
from relex.passes.analysis.iteration_systems import comes_first, scopes_around
from relex.passes.analysis.sharing import accessed, is_understood
from relex.passes.rewriting.loop_edits import erase_empty


def work_in_place(module: ModuleOp, functions: Iterable[func.FuncOp]) -> None:
    """Let calls in the given functions write an output in the memory of an input they are last to read, if legal."""
    variants = Variants(module)
    for function in functions:
        loops_in_place(function, variants.of)
        _Function(function, variants).run()
    variants.clean_up()


class Variants:
    """In-place variants of a module's loop functions, created on demand."""

    def __init__(self, module: ModuleOp):
        self._module = module
        self._names = Names.of_symbols(module)
        self._found: dict[tuple[Operation, int, int], PrimFuncOp | None] = {}

    def of(self, function: PrimFuncOp, source: int, target: int) -> PrimFuncOp | None:
        """Return the in-place variant of a function, if there can be one; see `in_place`."""
        key = (function, source, target)
        if key not in self._found:
            self._found[key] = self._make(*key) if may_share_place(*key) else None
        return self._found[key]

    def _make(self, function: PrimFuncOp, source: int, target: int) -> PrimFuncOp:
        variant = in_place(function, source, target, self._names.fresh(f"{function.sym_name.data}_in_place"))
        self._module.body.block.insert_op_after(variant, function)
        return variant

    def clean_up(self) -> None:
        """Erase private functions that are no longer called."""
        erase_unused(self._module, [function for (function, _, _), variant in self._found.items() if variant])


@dataclass(frozen=True)
class _Memory:
    """A buffer: the positions of the first and last op that access it, and the op that frees it. One that is an
    argument whose place a result takes is free from its last reader up to the op at `until`, which writes the result;
    None for other buffers."""

    buffer: SSAValue
    first: int
    last: int
    dealloc: memref.DeallocOp | None
    until: int | None = None

    def may_become(self, new: _Memory) -> bool:
        """Return whether another buffer, which begins to live where this one ends, may be in its place."""
        return new.until is None and (self.until is None or new.last <= self.until)


class _Function:
    """The calls and copies in a function, the buffers that it allocates, and the arguments that it may overwrite."""

    def __init__(self, function: func.FuncOp, variants: Variants):
        self._block = function.body.blocks[0]
        self._variants = variants
        self._sizes = BufferSizes(function)
        self._positions = positions_in(self._block)
        own = [_Memory(found.buffer, found.first, found.last, found.dealloc) for found in lifetimes(self._block)]
        given = [found for buffer in overwritten(function) if (found := self._of_argument(buffer)) is not None]
        self._found = {found.buffer: found for found in [*own, *given]}
        self._aliases = {buffer: _aliases(buffer) for buffer in self._found}
        """The values that may be the memory of each buffer, itself included."""

    def _of_argument(self, buffer: SSAValue) -> _Memory | None:
        """Return an argument that is only read before it is overwritten as a whole."""
        users = [use.operation for use in uses_of_memory(buffer) or ()]
        writes = [op for op in users if isinstance(op, memref.CopyOp) and op.destination is buffer]
        touched = touched_by([op for op in users if op not in writes], self._block, self._positions)
        if len(writes) != 1 or touched is None or writes[0].parent is not self._block:
            return None
        until, _ = self._positions[writes[0]]
        return _Memory(buffer, -1, max(touched, default=-1), None, until)

    def run(self) -> None:
        for op, (position, _) in self._positions.items():
            if isinstance(op, memref.CopyOp):
                self._improve_copy(op, position)
            call = op if isinstance(op, CallLoopsOp) else None
            while call is not None:
                call = self._improve(call, position)

    def _improve(self, call: CallLoopsOp, position: int) -> CallLoopsOp | None:
        """Let a call work in place for one pair of buffers, if possible, and return the new call."""
        callee = resolve(call, call.callee, PrimFuncOp)
        for target, written in enumerate(call.arguments[callee.num_inputs :], callee.num_inputs):
            for source, read in enumerate(call.arguments[: callee.num_inputs]):
                old, new = self._found.get(read), self._found.get(written)
                if old is None or new is None or (old.last, new.first) != (position, position):
                    continue
                if self._fits(call, old, new) and (variant := self._variants.of(callee, source, target)) is not None:
                    arguments = [argument for i, argument in enumerate(call.arguments) if i != source]
                    better = CallLoopsOp(variant.sym_name.data, arguments)
                    replace_by(call, better)
                    self._merge(old, new)
                    return better
        return None

    def _improve_copy(self, copy: memref.CopyOp, position: int) -> None:
        """Let a buffer that an argument is copied into be that argument, if that is not read again; and a buffer that
        is copied into an argument at last, if that is not read any more when the buffer is first written."""
        source, destination = self._found.get(copy.source), self._found.get(copy.destination)
        if source is None or destination is None:
            return
        if source is destination:
            Rewriter.erase_op(copy)
        elif source.until is not None and (source.last, destination.first) == (position, position):
            self._improve_copy_of(copy, source, destination)
        elif destination.until == position and destination.last < source.first:
            self._improve_copy_of(copy, destination, source)

    def _improve_copy_of(self, copy: memref.CopyOp, argument: _Memory, other: _Memory) -> None:
        if self._fits(copy, argument, other):
            Rewriter.erase_op(copy)
            self._merge(argument, other)

    def _fits(self, op: Operation, old: _Memory, new: _Memory) -> bool:
        """Return whether two buffers are of equal size and one may be in the place of the other, and the op takes each
        of them once."""
        sizes = self._sizes.of(old.buffer)
        if sizes is None or sizes != self._sizes.of(new.buffer) or not old.may_become(new):
            return False
        memory = (self._aliases[old.buffer], self._aliases[new.buffer])
        return all(sum(operand in values for operand in op.operands) == 1 for values in memory)

    def _merge(self, old: _Memory, new: _Memory) -> None:
        """Replace two buffers by one, the first."""
        assert new.dealloc is not None
        assert isinstance(new.buffer.owner, Operation)
        self._found[old.buffer] = replace(old, last=new.last, dealloc=new.dealloc if old.dealloc else None)
        self._aliases[old.buffer] |= self._aliases.pop(new.buffer) - {new.buffer}
        Rewriter.erase_op(old.dealloc or new.dealloc)
        Rewriter.replace_op(new.buffer.owner, [], [old.buffer])


def _aliases(buffer: SSAValue) -> set[SSAValue]:
    return {buffer, *(use.operation.operands[use.index] for use in uses_of_memory(buffer) or ())}


def may_share_place(function: PrimFuncOp, source: int, target: int) -> bool:
    """Return whether input number `source` may be the same memory as output number `target`.

    That is legal if nothing else uses either, and no element is read after it has been written, nor in another
    iteration of a loop around both: it may be parallel, or be vectorized.
    """
    if (known := CompiledAs.of(function)) is not None:
        return (source, target) in known.in_place
    read, written = function.args[source], function.args[target]
    if read.type != written.type or _dims(function, source) != _dims(function, target):
        return False
    of_read, of_written = accessed(read), accessed(written)
    if of_read.type != of_written.type or isinstance(of_written.owner, memref.ExpandShapeOp):
        return False
    readers, writers = (
        [use.operation for use in buffer.uses if not isinstance(use.operation, memref.DimOp)]
        for buffer in (of_read, of_written)
    )
    loads = [op for op in readers if isinstance(op, memref.LoadOp)]
    stores = [op for op in writers if isinstance(op, memref.StoreOp)]
    # What is loaded from the output has been stored there before, by whichever name.
    writers = [op for op in writers if not isinstance(op, memref.LoadOp)]
    if (loads, stores) != (readers, writers):
        return False
    return all(map(is_understood, function.body.block.ops)) and not any(
        _may_clobber(store, load, function) for store in stores for load in loads
    )


def pairs_in_place(function: PrimFuncOp) -> Iterator[tuple[int, int]]:
    """Yield the inputs and outputs of a function that may be the same memory, in pairs."""
    for target in range(function.num_inputs, len(function.args)):
        for source in range(function.num_inputs):
            if may_share_place(function, source, target):
                yield source, target


def _may_clobber(store: memref.StoreOp, load: memref.LoadOp, function: PrimFuncOp) -> bool:
    """Return whether a store may come before a load of the same element, or in another iteration of their loops."""
    around = set(scopes_around(store))
    common = [scope for scope in scopes_around(load) if scope in around]
    variables = [scope.body.block.args[0] for scope in common if isinstance(scope, ForOp | scf.ForOp)]
    loops = [(v, v) for v in variables]
    places = Access.of(store), Access.of(load)
    if Meeting(*places, function, loops).may_happen(loops):
        return True
    scope = common[0] if common else function
    return comes_first(store, load, scope) and Meeting(*places, scope).may_happen()


def _dims(function: PrimFuncOp, argument: int) -> Attribute | None:
    """The names of an argument's sizes that a function states. It may need them."""
    return argument_attr(function, argument, DIMS_ATTR)


def in_place(function: PrimFuncOp, source: int, target: int, name: str) -> PrimFuncOp:
    """Return a private function called `name` that does the same with input number `source` and output number `target`
    in one buffer: that input is gone."""
    new = function.clone()
    kept = [i for i in range(len(new.args)) if i != source]
    read, written = (accessed(new.args[i]) for i in (source, target))
    read.replace_all_uses_with(written)
    if isinstance(read.owner, Operation):
        Rewriter.erase_op(read.owner)
        new.args[source].replace_all_uses_with(new.args[target])
    _erase_copies(written)
    new.body.block.erase_arg(new.args[source])
    new.sym_name, new.sym_visibility = StringAttr(name), StringAttr("private")
    new.function_type = FunctionType.from_lists([function.function_type.inputs.data[i] for i in kept], [])
    if new.arg_attrs is not None:
        new.arg_attrs = ArrayAttr(new.arg_attrs.data[i] for i in kept)
    # The pattern no longer holds: it reads what it writes.
    new.attributes.pop(OP_PATTERN_ATTR, None)
    new.attributes.pop(SIGNATURE_ATTR, None)
    new.attributes.pop(PASSED_ATTR, None)
    if (recipe := recipe_of(function)) is not None:
        new.attributes[RECIPE_ATTR] = StringAttr(f"{recipe} {source}={target}")
    if (known := CompiledAs.of(function)) is not None:
        # Other arguments may share memory as before: whether they do only depends on their uses.
        left = [pair for pair in known.in_place if source not in pair and target not in pair]
        replace(known, in_place=tuple((kept.index(i), kept.index(j)) for i, j in left)).mark(new)
    return new


def _erase_copies(buffer: SSAValue) -> None:
    """Erase copies of the elements of a buffer to where they are, and the loops that do nothing else."""
    for store in [use.operation for use in buffer.uses if isinstance(use.operation, memref.StoreOp)]:
        block, load = innermost_block(store), store.value.owner
        if block is None or not _is_copied(load, store) or load.memref is not buffer:
            continue
        Rewriter.erase_op(store)
        if all(is_pure(op) or isinstance(op, BlockOp | memref.LoadOp) for op in walk(block)):
            around = block.parent_op()
            Rewriter.erase_op(block)
            erase_empty(around)


def _is_copied(load: object, store: memref.StoreOp) -> TypeGuard[memref.LoadOp]:
    """Return whether a store copies the element of a load to the same indices, and nothing is written in between."""
    if not isinstance(load, memref.LoadOp) or store.value is not load.res or load.parent is not store.parent:
        return False
    op = load.next_op
    while op is not None and op is not store and (is_pure(op) or isinstance(op, memref.LoadOp)):
        op = op.next_op
    return op is store and [*load.indices] == [*store.indices]
