"""Statements: what computes a tensor that no expression of an element can describe.

    def emit(code: Code, out: Tensor) -> None:
        with code.block("cumsum", x.shape[0]) as (row,):
            total = code.variable(x.type, 0)
            with code.loop(x.shape[1]) as k:
                code.store(total, (), total[()] + x[row, k])
                code.store(out, (row, k), total[()])

    procedure(x.shape, x.type, [x], emit, name="cumsum")

An element is loaded where its expression is first used, or where `let` names it, and never again.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.builder import Builder
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, Region
from xdsl.rewriter import InsertPoint

from relex.dialects.sizes import Size
from relex.dialects.tir import IterKind
from relex.lowering.te.expressions import Axis, Number, PrimExpr, as_expr, cast, maximum, minimum
from relex.lowering.te.tensors import Tensor

if TYPE_CHECKING:
    from relex.lowering.te.emit import Stage


@dataclass
class Code:
    """Emits statements, in order, into the loop function of a tensor."""

    stage: Stage
    builder: Builder

    @contextmanager
    def block(self, name: str, *extents: Size) -> Generator[tuple[Axis, ...]]:
        """Open a nest of independent loops around a block, all of whose stores use all of its variables. Blocks are not
        nested."""
        axes = tuple(Axis(IndexType(), f"i{d}", extent, IterKind.SPATIAL) for d, extent in enumerate(extents))
        with self._inside(self.stage.open_nest(axes, name)):
            yield axes

    @contextmanager
    def loop(self, extent: Size, name: str = "k") -> Generator[Axis]:
        """Open a loop in a block, whose iterations are executed in order."""
        axis = Axis(IndexType(), name, extent, IterKind.SPATIAL)
        with self._inside(self.stage.open_loop(self.builder, axis)):
            yield axis

    @contextmanager
    def loop_to(self, count: PrimExpr, extent: Size, name: str = "k") -> Generator[Axis]:
        """Open a loop in a block that executes the first `count` iterations of `extent`."""
        axis = Axis(IndexType(), name, extent, IterKind.SPATIAL)
        number = minimum(maximum(cast(count, IndexType()), 0), as_expr(extent, IndexType()))
        with self._inside(self.stage.open_loop(self.builder, axis, self.stage.value(self.builder, number))):
            yield axis

    @contextmanager
    def loops(self, *extents: Size) -> Generator[tuple[Axis, ...]]:
        """Open nested loops in a block."""
        with ExitStack() as stack:
            yield tuple(stack.enter_context(self.loop(extent, f"k{d}")) for d, extent in enumerate(extents))

    @contextmanager
    def when(self, condition: PrimExpr) -> Generator[None]:
        """Execute what follows only if a condition holds."""
        holds = self.stage.value(self.builder, condition)
        body = Block()
        self.builder.insert(scf.IfOp(holds, [], Region(body)))
        with self._inside(Builder(InsertPoint.at_end(body))):
            yield
        body.add_op(scf.YieldOp())

    def let(self, expr: PrimExpr) -> PrimExpr:
        """Compute an expression here."""
        self.stage.value(self.builder, expr)
        return expr

    def store(self, tensor: Tensor, indices: Sequence[PrimExpr | Number], value: PrimExpr | Number) -> None:
        """Store an element."""
        places = [self.stage.value(self.builder, as_expr(index, IndexType())) for index in indices]
        stored = self.stage.value(self.builder, as_expr(value, tensor.type))
        self.builder.insert(memref.StoreOp.get(stored, self.stage.buffers[tensor], places))

    def buffer(self, shape: Sequence[Size], type: Attribute, name: str) -> Tensor:
        """Allocate a buffer for the rest of the block."""
        tensor = Tensor(name, tuple(shape), type)
        self.stage.allocate(self.builder, tensor)
        return tensor

    def variable(self, type: Attribute, value: PrimExpr | Number, name: str = "variable") -> Tensor:
        """Declare a variable of a block: a tensor without dimensions."""
        tensor = self.buffer((), type, name)
        self.store(tensor, (), value)
        return tensor

    @contextmanager
    def _inside(self, builder: Builder) -> Generator[None]:
        """Emit into a region. What is computed in it is unknown outside."""
        around, known = self.builder, self.stage.values
        self.builder, self.stage.values = builder, dict(known)
        yield
        self.builder, self.stage.values = around, known
