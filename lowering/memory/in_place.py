"""In-place calls: loop functions that write an output in the memory of an input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from relex.dialects.function_arguments import DIMS_ATTR, SIGNATURE_ATTR, argument_attr
from relex.dialects.names import Names
from relex.dialects.relex.calls import resolve
from relex.dialects.symbols import erase_unused
from relex.dialects.tir import CallLoopsOp, ForOp, PrimFuncOp
from relex.dialects.tir.accesses import Access
from relex.dialects.tir.op_pattern import OP_PATTERN_ATTR
from relex.lowering.kernels.marks import RECIPE_ATTR, CompiledAs, recipe_of
from relex.lowering.memory.lifetimes import Lifetime, lifetimes, positions_in, uses_of_memory
from relex.lowering.memory.loops_in_place import loops_in_place
from relex.lowering.memory.needs import BufferSizes
from relex.passes.analysis.dependence import Meeting
from relex.passes.analysis.iteration_systems import comes_first, scopes_around
from relex.passes.analysis.sharing import is_understood


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


class _Function:
    """The calls in a function, and the buffers that it allocates."""

    def __init__(self, function: func.FuncOp, variants: Variants):
        self._block = function.body.blocks[0]
        self._variants = variants
        self._sizes = BufferSizes(function)
        self._found: dict[SSAValue, Lifetime] = {found.buffer: found for found in lifetimes(self._block)}
        self._aliases = {buffer: _aliases(buffer) for buffer in self._found}
        """The values that may be the memory of each buffer, itself included."""

    def run(self) -> None:
        for op, (position, _) in positions_in(self._block).items():
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
                    return self._merge(call, variant, source, old, new)
        return None

    def _fits(self, call: CallLoopsOp, old: Lifetime, new: Lifetime) -> bool:
        """Return whether two buffers are of equal size, and the call takes each of them once."""
        sizes = self._sizes.of(old.buffer)
        if sizes is None or sizes != self._sizes.of(new.buffer):
            return False
        memory = (self._aliases[old.buffer], self._aliases[new.buffer])
        return all(sum(operand in values for operand in call.operands) == 1 for values in memory)

    def _merge(self, call: CallLoopsOp, callee: PrimFuncOp, source: int, old: Lifetime, new: Lifetime) -> CallLoopsOp:
        """Replace two buffers by one, of which the call reads the first and writes the second."""
        self._found[old.buffer] = Lifetime(old.alloc, new.dealloc, old.first, new.last)
        self._aliases[old.buffer] |= self._aliases.pop(new.buffer) - {new.buffer}
        Rewriter.erase_op(old.dealloc)
        Rewriter.replace_op(new.alloc, [], [old.buffer])
        arguments = [argument for i, argument in enumerate(call.arguments) if i != source]
        better = CallLoopsOp(callee.sym_name.data, arguments)
        better.location = call.location
        Rewriter.replace_op(call, better)
        return better


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
    readers, writers = (
        [use.operation for use in buffer.uses if not isinstance(use.operation, memref.DimOp)]
        for buffer in (read, written)
    )
    loads = [op for op in readers if isinstance(op, memref.LoadOp)]
    stores = [op for op in writers if isinstance(op, memref.StoreOp)]
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
    new.args[source].replace_all_uses_with(new.args[target])
    new.body.block.erase_arg(new.args[source])
    new.sym_name, new.sym_visibility = StringAttr(name), StringAttr("private")
    new.function_type = FunctionType.from_lists([function.function_type.inputs.data[i] for i in kept], [])
    if new.arg_attrs is not None:
        new.arg_attrs = ArrayAttr(new.arg_attrs.data[i] for i in kept)
    # The pattern no longer holds: it reads what it writes.
    new.attributes.pop(OP_PATTERN_ATTR, None)
    new.attributes.pop(SIGNATURE_ATTR, None)
    if (recipe := recipe_of(function)) is not None:
        new.attributes[RECIPE_ATTR] = StringAttr(f"{recipe} {source}={target}")
    if (known := CompiledAs.of(function)) is not None:
        # Other arguments may share memory as before: whether they do only depends on their uses.
        left = [pair for pair in known.in_place if source not in pair and target not in pair]
        replace(known, in_place=tuple((kept.index(i), kept.index(j)) for i, j in left)).mark(new)
    return new
