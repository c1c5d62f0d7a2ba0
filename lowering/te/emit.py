"""Lowering of tensor expressions to loop nests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.dialects import memref, scf
from xdsl.dialects.arith import BitcastOp, FastMathFlagsAttr
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from relex.dialects.dtypes import storage_of
from relex.dialects.fast_math import PRODUCT_FLAGS, SUM_FLAGS
from relex.dialects.names import Names, name_value
from relex.dialects.relex.types import without_names
from relex.dialects.sizes import IndexExpr, Requirement
from relex.dialects.sizes.attributes import FunctionSizes, annotate
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, InitOp, PrimFuncOp, TableLookUpOp
from relex.lowering.te import expressions
from relex.lowering.te.scalars import build_constant, build_conversion, build_scalar
from relex.lowering.te.statements import Code
from relex.lowering.te.tensors import Tensor
from relex.passes.rewriting.size_values import SizeValues

_QUOTIENT_FLAGS = FastMathFlagsAttr([FastMathFlag.ALLOW_RECIP])


def emit_prim_func(
    name: str,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    requirements: Sequence[Requirement] = (),
    *,
    strict: bool = False,
) -> PrimFuncOp:
    """Emit a private loop function that computes `outputs` from `inputs`, with arguments that do not alias.

    Each computed tensor becomes a loop nest around one block; tensors that are not outputs get a local buffer.
    Reductions of floats may be reassociated and contracted to FMA, unless `strict`. Dynamic sizes of the inputs are
    names, on which `requirements` may be stated.
    """
    if any(tensor.body is None for tensor in outputs) or len(set(outputs)) != len(outputs):
        names = ", ".join(tensor.name for tensor in outputs)
        raise ValueError(f"expected outputs that are computed, each once, found {names} for '{name}'")
    func = PrimFuncOp(
        name,
        [buffer_type(t) for t in inputs],
        [buffer_type(t) for t in outputs],
        visibility="private",
        noalias=True,
    )
    stated = FunctionSizes(tuple(tensor.shape for tensor in (*inputs, *outputs)), (), tuple(requirements))
    annotate(func, stated)
    buffers: dict[Tensor, SSAValue] = {}
    for tensor, arg in zip([*inputs, *outputs], func.args, strict=True):
        name_value(arg, tensor.name)
        buffers[tensor] = arg
    names = Names()
    sizes = SizeValues.of(func.body.block, stated)
    builder = Builder(InsertPoint.at_end(func.body.block))
    for tensor in _in_order(outputs):
        stage = Stage(builder, tensor, buffers, sizes, names, strict)
        if tensor not in buffers:
            stage.allocate(builder, tensor)
        stage.emit()
    return func


def buffer_type(tensor: Tensor) -> MemRefType:
    """The memref type of a tensor, with dynamic sizes for names."""
    return MemRefType(storage_of(tensor.type), without_names(tensor.shape))


def _in_order(outputs: Sequence[Tensor]) -> list[Tensor]:
    """The computed tensors that the outputs need, producers before consumers."""
    order: dict[Tensor, None] = {}

    def visit(tensor: Tensor) -> None:
        if tensor.body is None or tensor in order:
            return
        for expr in expressions.walk(tensor.body):
            match expr:
                case expressions.Element(tensor=read):
                    visit(read)
                case expressions.Procedure(reads=reads):
                    for read in reads:
                        visit(read)
                case _:
                    pass
        order[tensor] = None

    for output in outputs:
        visit(output)
    return list(order)


@dataclass
class Stage:
    """The loop nest and block of one computed tensor."""

    outer: Builder
    tensor: Tensor
    buffers: dict[Tensor, SSAValue]
    sizes: SizeValues
    names: Names
    strict: bool
    values: dict[expressions.PrimExpr, SSAValue] = field(default_factory=dict[expressions.PrimExpr, SSAValue])
    """Values already computed: an expression that is used twice is computed once."""

    def emit(self) -> None:
        body = self.tensor.body
        if body is None:
            return
        if isinstance(body, expressions.Procedure):
            body.emit(Code(self, self.outer), self.tensor)
            return
        axes = [*self.tensor.axes, *(body.axes if isinstance(body, expressions.Reduce) else ())]
        builder = self.open_nest(axes, self.tensor.name)
        indices = [self.values[axis] for axis in self.tensor.axes]
        if isinstance(body, expressions.Reduce):
            self._reduce(builder, body, indices)
        else:
            self._store(builder, self.value(builder, body), indices)

    def allocate(self, builder: Builder, tensor: Tensor) -> None:
        """Allocate the buffer of a tensor."""
        unknown = [self.sizes.emit(size) for size in tensor.shape if isinstance(size, IndexExpr)]
        self.buffers[tensor] = builder.insert(AllocBufferOp(buffer_type(tensor), unknown)).buffer
        name_value(self.buffers[tensor], tensor.name)

    def open_nest(self, axes: Sequence[expressions.Axis], name: str) -> Builder:
        """Open a loop for each axis and a block within them, and return a builder for its body."""
        at = self.outer
        for axis in axes:
            at = self.open_loop(at, axis)
        variables = [self.values[axis] for axis in axes]
        extents = [self.extent(axis) for axis in axes]
        block = at.insert(BlockOp(self.names.fresh(name), [axis.kind for axis in axes], extents, variables))
        for axis, variable in zip(axes, block.body.block.args, strict=True):
            name_value(variable, f"v{axis.name}")
            self.values[axis] = variable
        return Builder(InsertPoint.at_end(block.body.block))

    def open_loop(self, builder: Builder, axis: expressions.Axis, count: SSAValue | None = None) -> Builder:
        """Open a loop, of all iterations or of some, and return a builder for its body."""
        loop = builder.insert(ForOp(count or self.extent(axis), label=self.names.fresh(axis.name)))
        name_value(loop.variable, axis.name)
        self.values[axis] = loop.variable
        return Builder(InsertPoint.at_end(loop.body.block))

    def extent(self, axis: expressions.Axis) -> int | SSAValue:
        """Return the extent of an axis, a number or a value."""
        return self.sizes.emit(axis.extent) if isinstance(axis.extent, IndexExpr) else axis.extent

    def _reduce(self, builder: Builder, reduction: expressions.Reduce, indices: Sequence[SSAValue]) -> None:
        init = builder.insert(InitOp(Region(Block())))
        at_init = Builder(InsertPoint.at_end(init.body.block))
        self._store(at_init, at_init.insert(build_constant(reduction.identity, reduction.type)).result, indices)
        loose = not self.strict and reduction.combiner == "add"
        old = builder.insert(memref.LoadOp.get(self.buffers[self.tensor], indices)).res
        term = self.value(builder, reduction.body, PRODUCT_FLAGS if loose else None)
        new = builder.insert(
            build_scalar(reduction.combiner, [old, term], SUM_FLAGS if loose else None, reduction.type)
        )
        self._store(builder, new.results[0], indices)

    def _store(self, builder: Builder, value: SSAValue, indices: Sequence[SSAValue]) -> None:
        builder.insert(memref.StoreOp.get(value, self.buffers[self.tensor], indices))

    def value(
        self, builder: Builder, expr: expressions.PrimExpr, product_flags: FastMathFlagsAttr | None = None
    ) -> SSAValue:
        """Return the value of an expression, which is emitted on first use. `product_flags` go on a product that is
        summed, so that it may be contracted to an FMA."""
        if isinstance(expr, expressions.Extent):
            return self.sizes.emit(expr.size)
        if isinstance(expr, expressions.Converted) and storage_of(expr.type) == storage_of(expr.value.type):
            return self.value(builder, expr.value)
        if expr not in self.values:
            self.values[expr] = builder.insert(self._build(builder, expr, product_flags)).results[0]
        return self.values[expr]

    def _build(
        self, builder: Builder, expr: expressions.PrimExpr, product_flags: FastMathFlagsAttr | None
    ) -> Operation:
        """Build the op that computes an expression, after emitting the ops that compute its operands."""
        match expr:
            case expressions.Const(value=value):
                return build_constant(value, expr.type)
            case expressions.Axis(name=name):
                raise ValueError(f"expected '{self.tensor.name}' to use its own axes, found {name}")
            case expressions.Element(tensor=tensor) if tensor not in self.buffers:
                raise ValueError(
                    f"expected all that '{self.tensor.name}' reads among the inputs, found no {tensor.name}"
                )
            case expressions.Element(tensor=tensor, indices=indices):
                places = [self.value(builder, index) for index in indices]
                return memref.LoadOp.get(self.buffers[tensor], places)
            case expressions.PrimCall(function=function, args=args, by_reciprocal=by_reciprocal):
                flags = product_flags if function == "multiply" else None
                flags = _QUOTIENT_FLAGS if by_reciprocal and not self.strict else flags
                return build_scalar(function, [self.value(builder, arg) for arg in args], flags, args[-1].type)
            case expressions.Converted(value=value):
                return build_conversion(self.value(builder, value), expr.type, value.type)
            case expressions.LookedUp(value=value, table=table):
                return TableLookUpOp(self.value(builder, value), table)
            case expressions.Reinterpreted(value=value):
                return BitcastOp(self.value(builder, value), storage_of(expr.type))
            case expressions.IfThenElse(condition=condition, value=value, other=other):
                holds = self.value(builder, condition)
                return scf.IfOp(holds, [storage_of(expr.type)], self._branch(value), self._branch(other))
            case _:
                raise ValueError(f"expected an expression of one element, found {type(expr).__name__}")

    def _branch(self, expr: expressions.PrimExpr) -> Region:
        """Build a region that computes an expression. Values computed in it are not visible outside."""
        block = Block()
        outside = dict(self.values)
        value = self.value(Builder(InsertPoint.at_end(block)), expr)
        block.add_op(scf.YieldOp(value))
        self.values = outside
        return Region(block)
