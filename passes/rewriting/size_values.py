"""Dynamic sizes as SSA values in a function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects import arith, memref, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.index.atoms import Atom, Symbol
from relex.dialects.index.expr import IndexExpr
from relex.dialects.index.text import ordered_terms
from relex.dialects.index.to_ir import IndexBuilder
from relex.dialects.names import name_value
from relex.dialects.op_edits import index_constant
from relex.dialects.sizes.attributes import FunctionSizes, has_unknown, sizes_in_type
from relex.dialects.sizes.expressions import Size
from relex.dialects.sizes.late import LateSize, LateSizes
from relex.dialects.sizes.modules import ModuleSizes
from relex.dialects.walks import ancestors

Sources = Mapping[str, tuple[SSAValue, int]]
"""For each name, the tensor, buffer or index of the function that has that size, and the dimension."""


class SizesOfResults:
    """The size operands of calls in graph functions: one index for each `?` of a result."""

    def __init__(self, sizes: ModuleSizes | None):
        self._sizes = sizes
        self._values: dict[Operation, SizeValues] = {}
        self._known_as: dict[SSAValue, SSAValue] = {}
        self._moved: dict[SSAValue, SSAValue] = {}

    def take_over(self, new: SSAValue, old: SSAValue) -> None:
        """Give a new value, which replaces another one or is like it, the sizes of that."""
        self._known_as[new] = self._known_as.get(old, old)

    def of(self, result: SSAValue) -> list[SSAValue]:
        """Return the dynamic sizes of a result, as values at the start of its function."""
        if self._sizes is None or not has_unknown(result.type):
            return []
        function = _function_around(result)
        if function not in self._values:
            self._values[function] = SizeValues.of(function.body.blocks[0], self._sizes.of(function))
        known = self._known_as.get(result, result)
        sizes = zip(self._sizes.inside(function)[known], sizes_in_type(result.type), strict=True)
        return [self._emit(size, function) for size, known in sizes if known == DYNAMIC_INDEX]

    def _emit(self, size: Size, function: FuncOp) -> SSAValue:
        last = self._late(function).last_in(size)
        values = self._values[function]
        return values.emit(size) if last is None else values.after(last, self._late(function)).emit(size)

    def _late(self, function: FuncOp) -> LateSizes:
        assert self._sizes is not None
        late = self._sizes.late(function)
        return late.moved(self._moved) if self._moved else late

    def is_late(self, value: SSAValue) -> bool:
        """Return whether a tensor has a size that is known only in the middle of a run."""
        if self._sizes is None:
            return False
        function = _function_around(value)
        found = self._sizes.inside(function).get(value, ())
        return self._sizes.late(function).last_in(*found) is not None

    def has_late(self, results: Sequence[SSAValue]) -> bool:
        """Return whether an op determines sizes of its results, which depend on elements."""
        if self._sizes is None or not any(has_unknown(result.type) for result in results):
            return False
        late = self._late(_function_around(results[0]))
        return any(size.value in results for size in late.sources.values())

    def move(self, old: Sequence[SSAValue], new: Sequence[SSAValue]) -> None:
        """Let late sizes come from values that replace others."""
        self._moved |= zip(old, new, strict=True)


def _function_around(value: SSAValue) -> FuncOp:
    owner = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    around = [] if owner is None else [owner, *ancestors(owner)]
    function = next((scope for scope in around if isinstance(scope, FuncOp)), None)
    if function is None:
        raise ValueError("expected a value in a function")
    return function


class SizeValues(IndexBuilder):
    """Emits sizes at the start of a function's first block, each once. An index argument that is a size is used
    directly.

    Intermediate values must fit an index: that is among the requirements of the function.
    """

    divide = arith.DivUIOp

    def __init__(self, block: Block, sources: Sources, last: Operation | None = None):
        super().__init__()
        self._block = block
        self._sources = sources
        self._order: dict[Atom, int] = {Symbol(name): i for i, name in enumerate(sources)}
        self._constants: dict[int, SSAValue] = {}
        self._dimensions: dict[tuple[SSAValue, int], SSAValue] = {}
        self._last = last
        self._later: dict[SSAValue, SizeValues] = {}

    def after(self, last: LateSize, late: LateSizes) -> SizeValues:
        """Return what emits sizes right after the last of the late sizes that they depend on is known."""
        value = last.value
        if value not in self._later:
            sources = {**late.places, **self._sources}
            is_result = isinstance(owner := value.owner, Operation)
            block = owner.parent if is_result else owner
            assert block is not None
            self._later[value] = SizeValues(block, sources, owner if is_result else None)
        return self._later[value]

    @classmethod
    def of(cls, block: Block, sizes: FunctionSizes) -> SizeValues:
        """Build from the sizes of a function's arguments."""
        sources = {name: (block.args[argument], dimension) for name, (argument, dimension) in sizes.sources.items()}
        return cls(block, sources)

    def terms(self, index: IndexExpr) -> Iterable[tuple[Atom, int]]:
        # In the order of the arguments, where the places in a concatenation share their first terms.
        return sorted(ordered_terms(index), key=lambda term: self._order.get(term[0], -1))

    def constant(self, value: int) -> SSAValue:
        if value not in self._constants:
            result = self.add(index_constant(value))
            result.name_hint = f"c{value}" if value >= 0 else None
            self._constants[value] = result
        return self._constants[value]

    def size(self, name: str) -> SSAValue:
        if name not in self._sources:
            raise ValueError(f"expected a size that an argument has, found '{name}'")
        source, dimension = self._sources[name]
        value = source if source.type == IndexType() else self.dimension(source, dimension)
        name_value(value, name)
        return value

    def dimension(self, source: SSAValue, dimension: int) -> SSAValue:
        """Return the size of a tensor or buffer in a dimension."""
        key = (source, dimension)
        if key not in self._dimensions:
            dim = memref.DimOp if isinstance(source.type, MemRefType) else tensor.DimOp
            self._dimensions[key] = self.add(dim(source, self.constant(dimension)))
        return self._dimensions[key]

    def insert(self, op: Operation) -> None:
        at = InsertPoint.at_start(self._block) if self._last is None else InsertPoint.after(self._last)
        Rewriter.insert_op(op, at)
        self._last = op
        parent = self._block.parent_op()
        if parent is not None:
            op.location = parent.location
