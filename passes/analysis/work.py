"""The work of a loop function: arithmetic and memory traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, prod

from xdsl.dialects import arith, func, math, memref, scf
from xdsl.dialects.builtin import AnyFloat, MemRefType
from xdsl.ir import Block, Dialect, Operation, SSAValue

from relex.dialects.dtypes import size_in_bytes
from relex.dialects.sizes import Sizes, evaluate
from relex.dialects.sizes.function_analysis import FunctionAnalysis
from relex.dialects.sizes.modules import ModuleSizes
from relex.dialects.tir import BlockOp, CallLoopsOp, ForOp, InitOp, IterKind, PrimFuncOp
from relex.dialects.upstream.hints import isa


@dataclass(frozen=True)
class Work:
    """The work of one call of a function.

    `flops` counts floating-point operations: 1 for each arithmetic op of `arith` and each op of `math`, 2 for a fused
    multiply-add. It is None if the sizes do not determine how often something runs. `bytes` is the size of the
    arguments, or of their accessed part if that is smaller; an argument that is read and written counts once, local
    buffers do not count.
    """

    flops: int | None
    bytes: int


def work_of(function: PrimFuncOp, arguments: Sequence[Sequence[int]]) -> Work:
    """Return the work of a call with arguments of these shapes; for an argument of type index, its value is given
    instead.

    A block counts once for each combination of its variables, however the loops around it are scheduled. Ops under a
    condition count as executed.
    """
    counter = _Counter(function, arguments)
    known = counter.visit(function.body.block, 1, 1)
    touched = 0
    for argument, shape in zip(function.args, arguments, strict=True):
        t = argument.type
        if isa(t, MemRefType):
            elements = min(prod(shape), counter.accesses.get(argument, 0)) if known else prod(shape)
            touched += elements * size_in_bytes(t.element_type)
    return Work(counter.flops if known else None, touched)


class _Counter:
    """Counts the operations and accesses of a function."""

    def __init__(self, function: PrimFuncOp, arguments: Sequence[Sequence[int]]):
        analysis = FunctionAnalysis(function, ModuleSizes().of)
        sources = analysis.run().sources
        self._values = {name: arguments[i][dimension] for name, (i, dimension) in sources.items()}
        self._sizes: Mapping[SSAValue, Sizes] = analysis.sizes_by_value()
        self.flops = 0
        self.accesses: dict[SSAValue, int] = {}

    def visit(self, block: Block, scope: int, times: int) -> bool:
        """Count the ops of a block that runs `times` times; `scope` is how often the enclosing block runs. Return
        whether the trip counts of all of them are known."""
        return all([self._visit_op(op, scope, times) for op in block.ops])

    def _visit_op(self, op: Operation, scope: int, times: int) -> bool:
        match op:
            case BlockOp():
                extents = [self._number(v.extent) for v in op.iter_vars]
                return None not in extents and self._visit_block(op, scope)
            case InitOp():
                return True  # Counted with its block.
            case ForOp():
                extent = self._number(op.extent)
                return extent is not None and self.visit(op.body.block, scope, times * extent)
            case scf.ForOp():
                steps = self._steps(op)
                return steps is not None and self.visit(op.body.block, scope, times * steps)
            case scf.WhileOp() | CallLoopsOp() | func.CallOp():
                return False
            case memref.LoadOp() | memref.StoreOp():
                self.accesses[op.memref] = self.accesses.get(op.memref, 0) + times
            case _:
                self.flops += _flops(op) * times
        return all([self.visit(block, scope, times) for region in op.regions for block in region.blocks])

    def _visit_block(self, block: BlockOp, scope: int) -> bool:
        spatial = [self._number(v.extent) or 0 for v in block.iter_vars if v.kind is IterKind.SPATIAL]
        reduce = [self._number(v.extent) or 0 for v in block.iter_vars if v.kind is IterKind.REDUCE]
        first = scope * prod(spatial)
        init_is_known = block.init is None or self.visit(block.init.body.block, first, first)
        return self.visit(block.body.block, first * prod(reduce), first * prod(reduce)) and init_is_known

    def _number(self, value: int | SSAValue) -> int | None:
        """Return the value of a size in this call, if the sizes of the arguments determine it."""
        if isinstance(value, int):
            return value
        return evaluate(self._sizes[value][0], self._values) if value in self._sizes else None

    def _steps(self, loop: scf.ForOp) -> int | None:
        lower, upper, step = (self._number(bound) for bound in (loop.lb, loop.ub, loop.step))
        if lower is None or upper is None or not step:
            return None
        return max(0, ceil((upper - lower) / step))


def _flops(op: Operation) -> int:
    if not op.results or not isinstance(op.results[0].type, AnyFloat):
        return 0
    if isinstance(op, math.FmaOp):
        return 2
    is_arithmetic = isinstance(op, arith.FloatingPointLikeBinaryOperation | arith.NegfOp)
    return int(is_arithmetic or Dialect.split_name(op.name)[0] == "math")
