"""Sizes of a run as values in a function."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TypeVar

from xdsl.dialects import arith, memref, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from relex.dialects.sizes import Size, never_negative
from relex.dialects.sizes.attributes import FunctionSizes, has_unknown, sizes_in_type
from relex.dialects.sizes.expressions import Atom, Dim, Extreme, Monomial, Quotient, Symbol
from relex.dialects.sizes.modules import ModuleSizes

OpT = TypeVar("OpT", bound=Operation)

Sources = Mapping[str, tuple[SSAValue, int]]
"""For each name, a tensor, buffer or index of the function, and the dimension that has that size."""


class SizesOfResults:
    """The sizes that calls in graph functions take: one index for each `?` of a result."""

    def __init__(self, sizes: ModuleSizes | None):
        self._sizes = sizes
        self._values: dict[Operation, SizeValues] = {}

    def of(self, result: SSAValue) -> list[SSAValue]:
        """The sizes of a result that its type leaves open, as values at the start of its function."""
        if self._sizes is None or not has_unknown(result.type):
            return []
        function = _function_around(result)
        if function not in self._values:
            self._values[function] = SizeValues.of(function.body.blocks[0], self._sizes.of(function))
        sizes = zip(self._sizes.inside(function)[result], sizes_in_type(result.type), strict=True)
        return [self._values[function].value(size) for size, known in sizes if known == DYNAMIC_INDEX]


def _function_around(value: SSAValue) -> FuncOp:
    scope = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    while scope is not None and not isinstance(scope, FuncOp):
        scope = scope.parent_op()
    if scope is None:
        raise ValueError("expected a value in a function")
    return scope


class SizeValues:
    """Computes sizes at the start of a function's first block, each once. An index that is a size is that size itself.

    What is computed must fit an index: that is among the requirements of the function.
    """

    def __init__(self, block: Block, sources: Sources):
        self._block = block
        self._sources = sources
        self._values: dict[Size, SSAValue] = {}
        self._dimensions: dict[tuple[SSAValue, int], SSAValue] = {}
        self._last: Operation | None = None

    @classmethod
    def of(cls, block: Block, sizes: FunctionSizes) -> SizeValues:
        """For a function whose arguments have these sizes."""
        sources = {name: (block.args[argument], dimension) for name, (argument, dimension) in sizes.sources.items()}
        return cls(block, sources)

    def value(self, size: Size) -> SSAValue:
        """The index that a size is."""
        if size not in self._values:
            self._values[size] = self._compute(size)
        return self._values[size]

    def dimension(self, source: SSAValue, dimension: int) -> SSAValue:
        """The size of a tensor or buffer in a dimension."""
        key = (source, dimension)
        if key not in self._dimensions:
            dim = memref.DimOp if isinstance(source.type, MemRefType) else tensor.DimOp
            index = self.value(dimension)
            self._dimensions[key] = self._add(dim(source, index)).result
        return self._dimensions[key]

    def _add(self, op: OpT) -> OpT:
        first = self._block.first_op
        if self._last is not None:
            self._block.insert_op_after(op, self._last)
        elif first is not None:
            self._block.insert_op_before(op, first)
        else:
            self._block.add_op(op)
        self._last = op
        parent = self._block.parent_op()
        if parent is not None:
            op.location = parent.location
        return op

    def _compute(self, size: Size) -> SSAValue:
        if isinstance(size, int):
            value = self._add(arith.ConstantOp(IntegerAttr(size, IndexType()))).result
            value.name_hint = f"c{size}" if size >= 0 else None
            return value
        return reduce(self._sum, (self._term(monomial, factor) for monomial, factor in size.terms))

    def _sum(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self._add(arith.AddiOp(lhs, rhs)).result

    def _product(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self._add(arith.MuliOp(lhs, rhs)).result

    def _term(self, monomial: Monomial, factor: int) -> SSAValue:
        parts = [self._atom(atom) for atom in monomial]
        if factor != 1 or not parts:
            parts.append(self.value(factor))
        return reduce(self._product, parts)

    def _atom(self, atom: Atom) -> SSAValue:
        size = Dim((((atom,), 1),))
        if size not in self._values:
            self._values[size] = self._compute_atom(atom)
        return self._values[size]

    def _compute_atom(self, atom: Atom) -> SSAValue:
        match atom:
            case Symbol(name=name):
                if name not in self._sources:
                    raise ValueError(f"expected a size that an argument has, found '{name}'")
                source, dimension = self._sources[name]
                value = source if source.type == IndexType() else self.dimension(source, dimension)
                value.name_hint = value.name_hint or name
                return value
            case Quotient(dividend=dividend, divisor=divisor):
                divide = arith.DivUIOp if never_negative(dividend) else arith.FloorDivSIOp
                return self._add(divide(self.value(dividend), self.value(divisor))).result
            case Extreme(which=which, sizes=(lhs, rhs)):
                choose = arith.MinSIOp if which == "min" else arith.MaxSIOp
                return self._add(choose(self.value(lhs), self.value(rhs))).result
