"""Cancel divisions of indices by sizes that are known only at run time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, ModuleOp, StringAttr
from xdsl.ir import BlockArgument, SSAValue
from xdsl.rewriter import Rewriter

from relex.dialects.errors import fail
from relex.dialects.index.atoms import Atom, Quotient, Remainder, Symbol, factors_of
from relex.dialects.index.expr import Index, IndexExpr, atom_of, terms_of
from relex.dialects.index.from_ir import index_of
from relex.dialects.index.size_divisions import divided, divided_exactly
from relex.dialects.index.values import replace_atoms
from relex.dialects.names import Names
from relex.dialects.sizes.attributes import stated_requirements
from relex.dialects.sizes.requirements import Requirement
from relex.dialects.tir import BlockOp, ForOp, IterVar, LoopKind, PrimFuncOp, loops_around
from relex.dialects.tir.accesses import is_access
from relex.dialects.tir.indices import dimension_of, known_size, sizes_of, stated_size
from relex.dialects.walks import ancestors, holds, walk, walk_of
from relex.passes.analysis.loop_tree import base_name, blocks_in, function_of, loops_in, unscheduled_of_dynamic_sizes
from relex.passes.driver.base import RelexPass
from relex.passes.rewriting.buffer_edits import emit_sizes, expand
from relex.passes.rewriting.index_arithmetic import IndexArithmetic, constant, remove_unused
from relex.passes.rewriting.loop_edits import new_loop, set_extent, take_body
from relex.passes.schedule.rebind import replace_variable, with_variables

_QUOTIENTS = (arith.DivSIOp, arith.DivUIOp, arith.FloorDivSIOp)
_REMAINDERS = (arith.RemSIOp, arith.RemUIOp)

Division = arith.DivSIOp | arith.DivUIOp | arith.FloorDivSIOp | arith.RemSIOp | arith.RemUIOp


class CancelDivisionsPass(RelexPass):
    """
    Removes divisions by dynamic sizes from the indices of blocks, where quotients and remainders follow from how far
    variables run. Reshapes leave such indices when they are fused. A division takes some 20 cycles, for each element.

    A variable that is divided itself becomes two, with a loop each, if the size divides its extent: in copies of rows.
    Arguments in which only such variables are indices have views.

    ```mlir
    tir.for %i, %j in (%h, %w) {
      ... // y[i, j] = x[(i * w + j) // w, (i * w + j) % w]
    }
    tir.for %i in (%3n) {
      ... // z[i] = r[i % n]
    }
    // cancel-divisions
    tir.for %i, %j in (%h, %w) {
      ... // y[i, j] = x[i, j]
    }
    %a = memref.expand_shape %z [[0, 1]] output_shape [3, %n] : memref<?xf32> into memref<3x?xf32>
    tir.for %i0, %i1 in (3, %n) {
      ... // a[i0, i1] = r[i1]
    }
    ```

    Where both the quotient and the remainder of a variable are indices of one element, they are left to
    `convert-tir-to-scf`, which makes one index of them. `relex.dims` says which sizes are equal, as `inline-blocks`
    states it, and `relex.requires` which divide others.
    """

    name = "cancel-divisions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in unscheduled_of_dynamic_sizes(op):
            _cancel_in(function)


def _cancel_in(function: PrimFuncOp) -> None:
    requirements = stated_requirements(function)
    pairs: dict[SSAValue, _Pair] = {}
    for block in [*blocks_in(function)]:
        while (cut := _Cut.of(block, requirements)) is not None:
            block = cut.make(pairs)
        for op in _divisions(block):
            _cancel(op, _Sizes.around(block, requirements))
        remove_unused([*walk(block)])
    if pairs:
        _expand(function, pairs)


def _divisions(block: BlockOp) -> list[Division]:
    """Return the divisions of indices in a block by anything but constants."""
    found = walk_of(block, *_QUOTIENTS, *_REMAINDERS)
    return [op for op in found if type(op.result.type) is IndexType and not isinstance(index_of(op.rhs), int)]


@dataclass(frozen=True)
class _Sizes:
    """Expressions of names for what the indices of a block are computed from."""

    known: Mapping[str, Index]
    """Expressions for names, by which divisions by these are exact."""

    @classmethod
    def around(cls, block: BlockOp, requirements: Sequence[Requirement]) -> _Sizes:
        """Return the sizes as they are where a block runs: none of its extents is 0 then."""
        plain = cls({})
        extents = [plain.of_extent(extent) for extent in block.extents]
        positive = {factor for extent in extents for atom in _product(extent) for factor in factors_of(atom)}
        return cls({name: size for r in requirements for name, size in _multiples(r, positive)})

    def of(self, value: SSAValue) -> Index:
        """Return an index in terms of block variables and names."""
        return index_of(value, self._named)

    def of_extent(self, extent: int | SSAValue) -> Index:
        """Return the extent of a variable."""
        return extent if isinstance(extent, int) else self.of(extent)

    def _named(self, value: SSAValue) -> Index | None:
        size = stated_size(value)
        return None if size is None else replace_atoms(size, self._known)

    def _known(self, atom: Atom) -> Index | None:
        if isinstance(atom, Quotient):
            return IndexExpr.of(atom)
        return self.known.get(atom.name) if isinstance(atom, Symbol) else None

    def largest(self, index: Index) -> Index:
        """Return what an index without differences is at most."""
        return replace_atoms(index, self._last)

    def _last(self, atom: Atom) -> Index | None:
        if isinstance(atom, Remainder):
            return atom.divisor - 1
        if not isinstance(atom, BlockArgument):
            return None
        scope = atom.owner.parent_op()
        return self.of_extent(scope.extent_of(atom)) - 1 if isinstance(scope, BlockOp) else None


def _product(index: Index) -> list[Atom]:
    """Return the product that an index is, if it is one, as the only element of a list."""
    terms = terms_of(index)
    return [*terms] if isinstance(index, IndexExpr) and not index.constant and len(terms) == 1 else []


def _multiples(requirement: Requirement, positive: set[Atom]) -> Iterator[tuple[str, Index]]:
    """Yield sizes that are multiples of numbers by a requirement such as `4 * (h // 2) * (w // 2) == h * w`, each with
    an expression that shows it. It follows for each of the sizes where the others are not 0."""
    if requirement.relation == "==":
        yield from _multiples_in(requirement.lhs, requirement.rhs, positive)
        yield from _multiples_in(requirement.rhs, requirement.lhs, positive)


def _multiples_in(quotients: Index, whole: Index, positive: set[Atom]) -> Iterator[tuple[str, Index]]:
    parts = [part for atom in _product(quotients) for part in factors_of(atom)]
    sizes = [atom_of(part.dividend) if isinstance(part, Quotient) else part for part in parts]
    divisor = prod(part.divisor for part in parts if isinstance(part, Quotient))
    product = prod((IndexExpr.of(size) for size in sizes if size is not None), start=1)
    if not parts or None in sizes or product != whole or [*terms_of(quotients).values()] != [divisor]:
        return
    for i, (part, size) in enumerate(zip(parts, sizes, strict=True)):
        others = [pair for j, pair in enumerate(zip(parts, sizes, strict=True)) if j != i]
        is_positive = all(not positive.isdisjoint(pair) for pair in others)
        if is_positive and isinstance(part, Quotient) and isinstance(size, Symbol):
            yield size.name, IndexExpr.of(part) * part.divisor


class _Arithmetic(IndexArithmetic):
    """Emits expressions of values and of names of sizes."""

    def size(self, name: str) -> SSAValue:
        function = function_of(self.before)
        for op in function.body.block.ops:
            if isinstance(op, memref.DimOp) and known_size(op.result) == name:
                return op.result
        places = [(arg, d) for arg in function.args for d in range(len(sizes_of(arg))) if dimension_of(arg, d) == name]
        if not places:
            fail(function, f"expected an argument with a size that is '{name}'")
        argument, d = places[0]
        dimension = constant(d, self.before)
        nest = next(op for op in function.body.block.ops if holds(op, self.before))
        return IndexArithmetic(nest).add(memref.DimOp(argument, dimension))


def _cancel(op: Division, sizes: _Sizes) -> None:
    """Replace a quotient or remainder by what it is without a division, if that is known."""
    if (found := divided(sizes.of(op.lhs), sizes.of(op.rhs), sizes.largest)) is None:
        return
    quotient, remainder = found
    form = remainder if isinstance(op, _REMAINDERS) else quotient
    op.result.replace_all_uses_with(_Arithmetic(op).emit(form, op.result.name_hint))
    Rewriter.erase_op(op)


@dataclass(frozen=True)
class _Pair:
    """The variables that a variable was cut to, and their extents."""

    quotient: SSAValue
    remainder: SSAValue
    parts: int | SSAValue
    divisor: SSAValue

    @property
    def extents(self) -> tuple[int | SSAValue, int | SSAValue]:
        """The extents of the two."""
        return self.parts, self.divisor


@dataclass(frozen=True)
class _Cut:
    """A variable of a block that becomes two: its quotient and remainder by a size."""

    block: BlockOp
    variable: IterVar
    loop: ForOp
    divisor: SSAValue
    parts: Index
    """The number of quotients."""

    @classmethod
    def of(cls, block: BlockOp, requirements: Sequence[Requirement]) -> _Cut | None:
        """Return the first variable of a block to cut, if there is one."""
        sizes, divisions = _Sizes.around(block, requirements), _divisions(block)
        for v in block.iter_vars:
            ours = [op for op in divisions if op.lhs is v.variable]
            loop = v.binding.owner.parent_op()
            if len({isinstance(op, _REMAINDERS) for op in ours}) != 1 or not isinstance(loop, ForOp):
                continue
            if loop.kind.data is not LoopKind.SERIAL or len([*loop.variable.uses]) != 1:
                continue
            extent = sizes.of_extent(v.extent)
            if extent != sizes.of_extent(loop.extent):
                continue
            for divisor in [op.rhs for op in ours if isinstance(op.rhs.owner.parent_op(), PrimFuncOp)]:
                parts = divided_exactly(extent, sizes.of(divisor))
                if parts not in (None, 0, 1):
                    return cls(block, v, loop, divisor, parts)
        return None

    def make(self, pairs: dict[SSAValue, _Pair]) -> BlockOp:
        """Cut the variable and its loop. Return the new block. Note the sums that take the place of the variable."""
        labels = Names(loop.label.data for loop in loops_in(function_of(self.loop)) if loop.label is not None)
        base = base_name(self.loop)
        nest = [self.loop, *loops_around(self.loop)][-1]
        parts = self.parts if isinstance(self.parts, int) else _Arithmetic(nest).emit(self.parts)
        inner = new_loop(self.divisor, labels.fresh(f"{base}_1"), self.loop)
        inner.body.block.add_ops(take_body(self.loop))
        self.loop.body.block.add_op(inner)
        set_extent(self.loop, parts)
        self.loop.label = StringAttr(labels.fresh(f"{base}_0"))
        return self._new_block(inner, parts, pairs)

    def _new_block(self, inner: ForOp, parts: int | SSAValue, pairs: dict[SSAValue, _Pair]) -> BlockOp:
        block, old = self.block, self.variable
        columns = [v for v in block.iter_vars if v.variable is not old.variable]
        remainder = block.body.block.insert_arg(IndexType(), old.variable.index + 1)
        remainder.name_hint = old.variable.name_hint
        whole = IndexExpr.of(old.variable) * IndexExpr.of(self.divisor) + IndexExpr.of(remainder)
        pair = _Pair(old.variable, remainder, parts, self.divisor)
        pairs.update(dict.fromkeys(replace_variable(block, old.variable, whole), pair))
        quotient = replace(old, extent=parts, binding=self.loop.variable)
        rest = IterVar(remainder, old.kind, self.divisor, inner.variable)
        return with_variables(block, [*columns, quotient, rest])


def _expand(function: PrimFuncOp, pairs: Mapping[SSAValue, _Pair]) -> None:
    """Let dimensions that only variables index that were cut in the same way be two, so that these are indices."""
    found: dict[SSAValue, list[memref.LoadOp | memref.StoreOp]] = {}
    for op in walk_of(function, memref.LoadOp, memref.StoreOp):
        found.setdefault(op.memref, []).append(op)
    for buffer, accesses in found.items():
        cut: dict[int, _Pair] = {}
        for d, indices in enumerate(zip(*(op.indices for op in accesses), strict=True)):
            extents = {pair.extents if (pair := pairs.get(index)) is not None else None for index in indices}
            if len(extents) == 1 and indices[0] in pairs:
                cut[d] = pairs[indices[0]]
        is_accessed = all(is_access(use.operation) or type(use.operation) is memref.DimOp for use in buffer.uses)
        if not cut or not is_accessed or buffer not in function.args:
            continue
        nest = next(op for op in function.body.block.ops if any(holds(op, access) for access in accesses))
        sizes = [cut[d].extents if d in cut else (size,) for d, size in enumerate(emit_sizes(buffer, nest))]
        view = expand(buffer, sizes, nest)
        for op in accesses:
            both = ((pairs[i].quotient, pairs[i].remainder) if d in cut else (i,) for d, i in enumerate(op.indices))
            stored = [op.value] if isinstance(op, memref.StoreOp) else []
            op.operands = [*stored, view, *chain.from_iterable(both)]
            remove_unused([*walk(next(scope for scope in ancestors(op) if isinstance(scope, BlockOp)))])
