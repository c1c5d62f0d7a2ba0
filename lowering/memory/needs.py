"""How much memory buffers need, where sizes are known at run time too."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from relex.dialects.sizes import Sizes, names_in
from relex.dialects.sizes.analysis import SIZES, SizeAnalysis
from relex.dialects.sizes.attributes import FunctionSizes
from relex.dialects.sizes.modules import sizes_at_entry
from relex.dialects.tir.accesses import is_pure


class BufferSizes:
    """The sizes of buffers that a function allocates, as far as they follow from those of its arguments."""

    def __init__(self, function: func.FuncOp):
        analysis = SizeAnalysis(function, sizes_at_entry)
        self.of_function: FunctionSizes = analysis.run(body=False)
        for op in function.body.blocks[0].ops:
            rule = SIZES.find(op)
            if rule is None or not (is_pure(op) or isinstance(op, memref.AllocOp)):
                continue
            if not all(map(analysis.knows, op.operands)):
                continue
            if isinstance(op, memref.DimOp) and not isinstance(analysis.number(op.index), int):
                continue
            rule(op, analysis)
        self._found: Mapping[SSAValue, Sizes] = analysis.sizes_by_value()
        arguments = function.body.blocks[0].args
        sources = self.of_function.sources
        self._names = {n for n, (i, _) in sources.items() if isinstance(arguments[i].type, MemRefType)}

    def of(self, buffer: SSAValue[MemRefType]) -> Sizes | None:
        """The sizes of a buffer, made of those of arguments that are buffers, which are never negative; or None."""
        sizes = self._found.get(buffer)
        if sizes is None or any(name not in self._names for size in sizes for name in names_in(size)):
            return None
        return sizes
