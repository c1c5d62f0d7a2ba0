"""Memory that the buffers of functions need, as expressions of dynamic sizes."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp
from xdsl.ir import Operation, SSAValue

from relex.dialects.sizes import Size, Sizes, names_in, parse_index, substitute
from relex.dialects.sizes.analysis import SIZES, SizeAnalysis
from relex.dialects.sizes.attributes import FunctionSizes, sizes_in_type
from relex.dialects.sizes.function_analysis import FunctionAnalysis
from relex.dialects.sizes.implied import in_any_run
from relex.dialects.sizes.limits import bytes_of
from relex.dialects.sizes.modules import sizes_at_entry
from relex.dialects.tir.accesses import is_pure
from relex.dialects.walks import reachable, walk_of
from relex.lowering.kernels.marks import CompiledAs


class BufferSizes:
    """The sizes of buffers in a function, as far as they follow from the sizes of its arguments."""

    def __init__(self, function: func.FuncOp):
        analysis = FunctionAnalysis(function, sizes_at_entry)
        self.of_function: FunctionSizes = analysis.run(body=False)
        # Loops may be branches between blocks by now; what is known of a value holds wherever it is used.
        for op in (op for block in function.body.blocks for op in block.ops):
            if _is_about_sizes(op, analysis) and (rule := SIZES.find(op)) is not None:
                rule(op, analysis)
        self._found = analysis.sizes_by_value()
        arguments = function.body.blocks[0].args
        sources = self.of_function.sources
        self._names = {name for name, (i, _) in sources.items() if isinstance(arguments[i].type, MemRefType)}

    def of(self, buffer: SSAValue) -> Sizes | None:
        """Return the sizes of a buffer in terms of sizes of buffer arguments, which are never negative; or None. A size
        that would be negative, as in a branch that does not run, is 0."""
        sizes = self._found.get(buffer)
        if sizes is None and isinstance(alloc := buffer.owner, memref.AllocOp):
            sizes = self._of_alloc(alloc)
        elif sizes is None and DYNAMIC_INDEX not in (known := sizes_in_type(buffer.type)):
            sizes = known
        if sizes is None or any(name not in self._names for size in sizes for name in names_in(size)):
            return None
        return tuple(in_any_run(size, self.of_function.requirements) for size in sizes)

    def _of_alloc(self, alloc: memref.AllocOp) -> Sizes | None:
        given = [self._found.get(value) for value in alloc.dynamic_sizes]
        if None in given:
            return None
        numbers = iter([sizes[0] for sizes in given if sizes is not None])
        return tuple(next(numbers) if size == DYNAMIC_INDEX else size for size in alloc.memref.type.get_shape())


def _is_about_sizes(op: Operation, analysis: SizeAnalysis) -> bool:
    """Return whether the sizes of an op's results follow from the sizes of its operands alone."""
    if not (is_pure(op) or isinstance(op, memref.AllocOp)) or not all(map(analysis.knows, op.operands)):
        return False
    return not isinstance(op, memref.DimOp) or isinstance(analysis.number(op.index), int)


def _callees(function: func.FuncOp) -> set[str]:
    return {op.callee.root_reference.data for op in walk_of(function, func.CallOp)}


class MemoryNeeds:
    """The heap memory in bytes that calls of a module's functions on buffers need."""

    def __init__(self, module: ModuleOp):
        functions = [op for op in module.ops if isinstance(op, func.FuncOp) and op.body.blocks]
        self._functions = {op.sym_name.data: op for op in functions}
        self._callees = {name: _callees(op) for name, op in self._functions.items()}
        self._found: dict[str, tuple[Size, ...]] = {}
        self._sizes: dict[str, BufferSizes] = {}

    def of(self, name: str) -> tuple[Size, ...]:
        """Return sizes of which the largest is an upper bound of what a call needs. Unknown sizes are left out: sizes
        of recursive calls too."""
        if name not in self._functions:
            return ()
        if name not in self._found and (known := CompiledAs.of(self._functions[name])) is not None:
            self._found[name] = tuple(map(parse_index, known.temporaries))
        if name not in self._found:
            self._found[name] = self._compute(self._functions[name])
        return self._found[name]

    def _is_recursive(self, caller: func.FuncOp, call: func.CallOp) -> bool:
        """Return whether a call leads back to its caller."""
        name = call.callee.root_reference.data
        return caller.sym_name.data in reachable(name, lambda name: self._callees.get(name, ()))

    def _sizes_in(self, function: func.FuncOp) -> BufferSizes:
        """Return the sizes of buffers in a function. Many functions allocate nothing: nobody asks for theirs."""
        name = function.sym_name.data
        if name not in self._sizes:
            self._sizes[name] = BufferSizes(function)
        return self._sizes[name]

    def _compute(self, function: func.FuncOp) -> tuple[Size, ...]:
        own: Size = 0
        of_callees: dict[Size, None] = {0: None}
        for op in walk_of(function, memref.AllocOp, func.CallOp):
            if isinstance(op, memref.AllocOp) and (shape := self._sizes_in(function).of(op.memref)) is not None:
                own += bytes_of(op.memref.type, shape)
            elif isinstance(op, func.CallOp) and not self._is_recursive(function, op):
                of_callees |= dict.fromkeys(self._of_call(op, function))
        return tuple(dict.fromkeys(own + size for size in of_callees))

    def _of_call(self, call: func.CallOp, caller: func.FuncOp) -> Iterator[Size]:
        """Yield what the callee needs, in terms of the sizes of the caller."""
        name = call.callee.root_reference.data
        needed = self.of(name)
        values: dict[str, Size] = {}
        if any(names_in(size) for size in needed):
            sizes = self._sizes_in(caller)
            # For each named size of the callee, the argument and dimension that have it.
            for symbol, (argument, dimension) in self._sizes_in(self._functions[name]).of_function.sources.items():
                if (shape := sizes.of(call.arguments[argument])) is not None:
                    values[symbol] = shape[dimension]
        for size in needed:
            if values.keys() >= set(names_in(size)):
                yield substitute(size, values)
