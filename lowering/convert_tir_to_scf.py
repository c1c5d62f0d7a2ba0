"""Lowering of loop functions to `scf` loops in plain functions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    MemRefType,
    ModuleOp,
    UnitAttr,
)
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from relex.dialects import tir
from relex.dialects.dtypes import size_in_bytes
from relex.dialects.errors import fail
from relex.dialects.function_arguments import C_INTERFACE_ATTR, LEAST_ATTR, NOINLINE, PASSTHROUGH_ATTR
from relex.dialects.op_edits import before_end, index_constant, replace_by
from relex.dialects.symbols import is_public
from relex.dialects.tir.accesses import variables_in
from relex.dialects.tir.verification import is_guarded
from relex.dialects.upstream.memref import PrefetchOp
from relex.dialects.walks import walk, walk_of
from relex.lowering.support.aliasing import NOALIAS
from relex.lowering.support.folding import folded
from relex.lowering.support.guards import IndexEmitter, hoisted_conditions
from relex.lowering.support.init_nests import InitNest, empty_loop, init_nest, outer_operands
from relex.lowering.support.joined_indices import join_indices
from relex.lowering.support.parallel_loops import all_loops_around, joined_with, runs_in_parallel
from relex.lowering.support.prefetches import LOCALITY, prefetched
from relex.lowering.support.result_buffers import ALIGNMENT
from relex.lowering.support.tile_emission import emit_tiles, shapes_at, tiled_nests
from relex.lowering.support.unrolling import loop_attributes
from relex.passes.cpu import cost
from relex.passes.driver.base import RelexPass

OpT = TypeVar("OpT", bound=Operation)


class ConvertTirToScfPass(RelexPass):
    """
    Turns loop functions into functions of `scf.for` loops.

    * Blocks dissolve: their variables are replaced by the values bound to them. So do loops of one iteration, and sums
      and products of constants.
    * An init runs in a separate loop nest before the reduction. If the two share loops, or anything in them comes
      between, it runs in the first step of the reduction or, without steps, for all values of the spatial variables.
    * Loads whose indices are a quotient and remainders of one number by dynamic sizes have that number as index.
    * Conditions around a block are tested before the loops that they do not depend on, or become bounds of a loop.
    * A nest that `tensorize` has marked becomes ops on tiles, whose shapes are set outside of loops.
    * Small local buffers live on the stack, others on the heap.
    * A `vectorized` loop is marked `relex.vectorized` for `vectorize-loops`.
    * An `unrolled` loop carries the annotation that makes LLVM unroll it. Other loops around these carry the one that
      forbids it, or, if they are the innermost ones of a reduction that takes long, the one that makes one iteration of
      several.
    * `parallel` loops, each of which is all that the one before it holds, become one `scf.parallel`, whose iterations
      have private local buffers. Others inside of a parallel or vectorized loop become serial.
    * Private functions that take much longer than a call of them are marked `noinline`, for LLVM.

    ```mlir
    tir.prim_func @sum(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
      tir.for %i, %k in (8, 4) {
        tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<4> = %k) {
          tir.init { ... }
          ...
        }
      }
    }
    // convert-tir-to-scf
    func.func @sum(%X: memref<8x4xf32> {llvm.noalias}, %Y: memref<8xf32> {llvm.noalias}) {
      scf.for %i = %c0 to %c8 step %c1 {
        ... // init
        scf.for %k = %c0 to %c4 step %c1 {
          ...
        }
      }
      func.return
    }
    ```
    """

    name = "convert-tir-to-scf"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for call in walk_of(op, tir.CallLoopsOp):
            replace_by(call, func.CallOp(call.callee, list(call.arguments), []))
        for prim_func in [o for o in op.ops if isinstance(o, tir.PrimFuncOp)]:
            join_indices(prim_func)
            Rewriter.replace_op(prim_func, _Lowering(prim_func).run(), [])


class _Lowering:
    """Emits the function for one `tir.prim_func`."""

    def __init__(self, prim_func: tir.PrimFuncOp):
        self._source = prim_func
        self._values: dict[SSAValue, SSAValue] = {}
        self._constants: dict[int, SSAValue] = {}
        self._kept: list[tuple[Block, SSAValue]] = []
        """Heap buffers, and the block at whose end each is freed."""
        self._parallel: dict[tir.ForOp, Block] = {}
        """The body of each `scf.parallel`, by the outermost of its loops."""
        self._joined: set[tir.ForOp] = set()
        """The other loops of each `scf.parallel`."""
        blocks = walk_of(prim_func, tir.BlockOp)
        self._nests = {block: nest for block in blocks if (nest := init_nest(block)) is not None}
        self._empty = {block: loop for block in blocks if block not in self._nests and (loop := empty_loop(block))}
        self._hoisted = hoisted_conditions(blocks)
        self._tiled = tiled_nests(prim_func)
        self._shapes_of_tiles = shapes_at(prim_func, self._tiled)
        self._entry: Block = Block(arg_types=[arg.type for arg in prim_func.args])

    def run(self) -> func.FuncOp:
        source = self._source
        for old, new in zip(source.args, self._entry.args, strict=True):
            new.name_hint = old.name_hint
            self._values[old] = new
        builder = Builder(InsertPoint.at_end(self._entry))
        self._emit_scope(source.body.block, builder)
        _insert(builder, func.ReturnOp(), source)
        for block, buffer in self._kept:
            _insert(before_end(block), memref.DeallocOp.get(buffer), source)
        result = func.FuncOp(
            source.sym_name.data,
            FunctionType.from_lists([arg.type for arg in source.args], []),
            Region(self._entry),
            source.sym_visibility,
            arg_attrs=_argument_attributes(source),
        )
        result.location = source.location
        result.attributes.update({k: v for k, v in source.attributes.items() if not k.startswith("tir.")})
        if is_public(source):
            result.attributes[C_INTERFACE_ATTR] = UnitAttr()
        elif _is_long(source):
            result.attributes.setdefault(PASSTHROUGH_ATTR, ArrayAttr([NOINLINE]))
        return result

    def _emit_scope(self, block: Block, builder: Builder) -> None:
        """Emit the ops of a block except an init; buffers of dynamic size are freed after them."""
        ops = [op for op in block.ops if not isinstance(op, tir.InitOp)]
        terminators = [op for op in ops[-1:] if op.has_trait(IsTerminator)]
        for op in ops[: len(ops) - len(terminators)]:
            self._emit(op, builder)
        for op in ops:
            if isinstance(op, tir.AllocBufferOp) and op.sizes:
                _insert(builder, memref.DeallocOp.get(self._values[op.buffer]), op)
        for op in terminators:
            self._emit(op, builder)

    def _emit(self, op: Operation, builder: Builder) -> None:
        match op:
            case tir.ForOp():
                self._emit_loop(op, builder)
            case tir.BlockOp():
                self._emit_block(op, builder)
            case tir.AllocBufferOp():
                self._emit_buffer(op, builder)
            case scf.IfOp() if op in self._hoisted.rest:
                self._emit_guard(op, builder)
            case _ if op in self._hoisted.unused:
                pass
            case _:
                self._emit_other(op, builder)

    def _emit_loop(self, loop: tir.ForOp, builder: Builder) -> None:
        shapes = self._shapes_of_tiles.get(loop)
        if shapes is not None:
            _insert(builder, tir.ConfigureTilesOp(shapes), loop)
        if (nest := self._tiled.get(loop)) is not None:
            emit_tiles(nest, builder, self._open_loop, lambda place: self._index_emitter(loop, place), self._value)
        else:
            self._emit_plain_loop(loop, builder)
        if shapes is not None:
            _insert(builder, tir.ReleaseTilesOp(), loop)

    def _emit_plain_loop(self, loop: tir.ForOp, builder: Builder) -> None:
        for nest in self._nests.values():
            if nest.reduction is loop:
                self._emit_init_nest(nest, builder)
        for block, reduction in self._empty.items():
            if reduction is loop and block.init is not None:
                self._emit_init_of_none(block, block.init, loop, builder)
        for condition in self._hoisted.before.get(loop, ()):
            builder = self._open_if(self._copy(condition, loop, builder), loop, builder)
        builder = builder if loop in self._joined else self._open_loop(loop, builder)
        emitter = self._index_emitter(loop, builder)
        for buffer, element in prefetched(loop):
            indices = list(map(emitter.emit_new, element))
            _insert(builder, PrefetchOp(self._value(buffer), indices, locality=LOCALITY), loop)
        self._emit_scope(loop.body.block, builder)

    def _open_loop(self, loop: tir.ForOp, builder: Builder) -> Builder:
        """Emit the `scf.for` or `scf.parallel` of a loop, and return a builder for its body. The body of a loop of
        one iteration takes its place."""
        if loop in self._hoisted.bounds:
            first, end = map(self._index_emitter(loop, builder).emit_new, self._hoisted.bounds[loop])
            return self._open_for(loop.variable, end, loop, builder, first)
        if loop.extent == 1 and not runs_in_parallel(loop):
            self._values[loop.variable] = self._constant(0)
            return builder
        if not runs_in_parallel(loop):
            return self._open_for(loop.variable, self._extent(loop.extent, loop, builder), loop, builder)
        loops = joined_with(loop)
        self._joined.update(loops[1:])
        extents = [self._extent(one.extent, loop, builder) for one in loops]
        body = Block([scf.ReduceOp()], arg_types=[IndexType()] * len(loops))
        self._parallel[loop] = body
        self._set([one.variable for one in loops], body.args)
        first, step = ([self._constant(n)] * len(loops) for n in (0, 1))
        new = _insert(builder, scf.ParallelOp(first, extents, step, Region(body)), loop)
        new.attributes.update(loop_attributes(loop) | {k: v for k, v in loop.attributes.items() if k == LEAST_ATTR})
        return before_end(body)

    def _index_emitter(self, loop: tir.ForOp, builder: Builder) -> IndexEmitter:
        return IndexEmitter(lambda op: _insert(builder, op, loop), self._constant, self._value)

    def _open_for(
        self,
        variable: BlockArgument,
        end: SSAValue,
        source: tir.ForOp | tir.InitOp,
        builder: Builder,
        first: SSAValue | None = None,
    ) -> Builder:
        """Emit an `scf.for` over `variable`, from 0 if no other value is given, and return a builder for its body."""
        body = Block([scf.YieldOp()], arg_types=[IndexType()])
        self._set([variable], body.args)
        new = _insert(builder, scf.ForOp(first or self._constant(0), end, self._constant(1), [], body), source)
        if isinstance(source, tir.ForOp):
            new.attributes.update(loop_attributes(source, is_whole=first is None))
        return before_end(body)

    def _open_if(self, condition: SSAValue, source: Operation, builder: Builder) -> Builder:
        """Emit an `scf.if`, and return a builder for its body."""
        body = Block([scf.YieldOp()])
        _insert(builder, scf.IfOp(condition, [], Region(body)), source)
        return before_end(body)

    def _emit_guard(self, guard: scf.IfOp, builder: Builder) -> None:
        """Emit a guard without the conditions that have been tested around its loops."""
        for condition in self._hoisted.rest[guard]:
            builder = self._open_if(self._value(condition), guard, builder)
        for op in guard.true_region.block.ops:
            if not isinstance(op, scf.YieldOp):
                self._emit(op, builder)

    def _emit_block(self, block: tir.BlockOp, builder: Builder) -> None:
        for v in block.iter_vars:
            self._values[v.variable] = self._value(v.binding)
        if block.init is not None and block not in self._nests:
            self._emit_guarded_init(block, block.init, builder)
        self._emit_scope(block.body.block, builder)

    def _emit_init_nest(self, nest: InitNest, builder: Builder) -> None:
        """Emit the init of a block, in copies of the loops that its spatial variables need."""
        for loop in nest.loops:
            builder = self._open_loop(loop, builder)
        self._emit_init_before(nest.block, nest.init, nest.reduction, set(), builder)

    def _emit_init_of_none(self, block: tir.BlockOp, init: tir.InitOp, reduction: tir.ForOp, builder: Builder) -> None:
        """Emit the init of a block for an empty reduction, since the init otherwise runs in the first step: before the
        loops, for all values of the spatial variables, if a reduce variable has extent 0."""
        inside = {loop.variable for loop in tir.loops_around(block) if reduction.is_ancestor(loop)}
        outer = reduction.parent_op() or reduction
        needed = [v.extent for v in block.iter_vars if isinstance(v.extent, SSAValue)] + outer_operands(init)
        if any(variables_in(value, outer) & inside for value in needed if value not in block.body.block.args):
            fail(block, "expected values to reduce over, as the init depends on the loops of the reduction")
        extents = [v.extent for v in block.iter_vars if v.kind is tir.IterKind.REDUCE]
        if 0 in extents:
            self._emit_init_before(block, init, reduction, inside, builder)
            return
        for extent in (extent for extent in extents if isinstance(extent, SSAValue)):
            size = self._extent(extent, reduction, builder)
            none = _insert(builder, arith.CmpiOp(size, self._constant(0), "eq"), init).result
            self._emit_init_before(block, init, reduction, inside, self._open_if(none, init, builder))

    def _emit_init_before(
        self, block: tir.BlockOp, init: tir.InitOp, reduction: tir.ForOp, inside: set[BlockArgument], builder: Builder
    ) -> None:
        """Emit an init before `reduction`, for all values of the spatial variables bound to loops `inside` it."""
        outer = reduction.parent_op() or reduction
        for v in block.iter_vars:
            if v.kind is tir.IterKind.SPATIAL and variables_in(v.binding, outer) & inside:
                builder = self._open_for(v.variable, self._extent(v.extent, reduction, builder), init, builder)
            elif v.kind is tir.IterKind.SPATIAL:
                value = self._values[v.variable] = self._copy(v.binding, reduction, builder)
                if is_guarded(block):  # Loops may exceed the variable, as in a split with a rest.
                    extent = self._extent(v.extent, reduction, builder)
                    exists = _insert(builder, arith.CmpiOp(value, extent, "ult"), init).result
                    builder = self._open_if(exists, init, builder)
        for operand in outer_operands(init):
            self._values[operand] = self._copy(operand, reduction, builder)
        self._emit_scope(init.body.block, builder)

    def _extent(self, extent: int | SSAValue, scope: tir.ForOp, builder: Builder) -> SSAValue:
        """Return an extent as a value before `scope`."""
        return self._constant(extent) if isinstance(extent, int) else self._copy(extent, scope, builder)

    def _copy(self, value: SSAValue, scope: tir.ForOp, builder: Builder) -> SSAValue:
        """Recompute `value` from the loop variables, if it is computed inside `scope`."""
        owner = value.owner
        if not isinstance(owner, Operation) or not scope.is_ancestor(owner):
            return self._value(value)
        for operand in outer_operands(owner):
            self._values[operand] = self._copy(operand, scope, builder)
        self._emit_other(owner, builder)
        return self._value(value)

    def _emit_guarded_init(self, block: tir.BlockOp, init: tir.InitOp, builder: Builder) -> None:
        """Emit the init of a block that shares loops with its reduction, guarded to run in the first step."""
        condition: SSAValue | None = None
        for v in block.iter_vars:
            if v.kind is not tir.IterKind.REDUCE:
                continue
            first = _insert(builder, arith.CmpiOp(self._value(v.variable), self._constant(0), "eq"), init).result
            both = condition is not None and _insert(builder, arith.AndIOp(condition, first), init).result
            condition = both or first
        if condition is None:
            return
        self._emit_scope(init.body.block, self._open_if(condition, init, builder))

    def _emit_buffer(self, op: tir.AllocBufferOp, builder: Builder) -> None:
        buffer_type = op.buffer.type
        sizes = [self._value(size) for size in op.sizes]
        size = prod(buffer_type.get_shape()) * size_in_bytes(buffer_type.element_type)
        small = not sizes and size <= cost.MAX_BUFFER_ON_STACK
        kind = memref.AllocaOp if small else memref.AllocOp
        # Hoist the buffer out of loops: the stack would grow with every iteration, and the heap is slow.
        scope = next((self._parallel[loop] for loop in all_loops_around(op) if loop in self._parallel), self._entry)
        place = builder if sizes else Builder(InsertPoint.at_start(scope))
        new = _insert(place, kind.get(buffer_type.element_type, ALIGNMENT, buffer_type.get_shape(), sizes), op)
        if not sizes and not small:
            self._kept.append((scope, new.memref))
        self._set(op.results, new.results)

    def _emit_other(self, op: Operation, builder: Builder) -> None:
        if (found := folded(op, self._values)) is not None:
            self._values[op.results[0]] = self._constant(found) if isinstance(found, int) else found
            return
        new = op.clone_without_regions(self._values)
        for region, old in zip(new.regions, op.regions, strict=True):
            for block in old.blocks:
                copy = Block(arg_types=block.arg_types)
                self._set(block.args, copy.args)
                region.add_block(copy)
                self._emit_scope(block, Builder(InsertPoint.at_end(copy)))
        _insert(builder, new, op)
        self._set(op.results, new.results)

    def _set(self, old: Sequence[SSAValue], new: Sequence[SSAValue]) -> None:
        for before, after in zip(old, new, strict=True):
            after.name_hint = before.name_hint
            self._values[before] = after

    def _value(self, old: SSAValue) -> SSAValue:
        return self._values.get(old, old)

    def _constant(self, value: int) -> SSAValue:
        """Return an index constant at the top of the function, one for each value."""
        if value not in self._constants:
            op = index_constant(value)
            op.location = self._source.location
            op.result.name_hint = f"c{value}"
            self._constants[value] = Builder(InsertPoint.at_start(self._entry)).insert(op).result
        return self._constants[value]


def _is_long(function: tir.PrimFuncOp) -> bool:
    """Return whether a call of a function takes little of its time: it has more than a few steps, or an unknown number
    of them."""
    extents = [block.extents for block in walk(function) if isinstance(block, tir.BlockOp)]
    steps = sum(prod(e if isinstance(e, int) else cost.MANY for e in of_block) for of_block in extents)
    return not extents or steps > cost.MAX_STEPS_TO_INLINE


def _argument_attributes(source: tir.PrimFuncOp) -> ArrayAttr[DictionaryAttr] | None:
    """The attributes of a function's arguments; `tir.noalias` becomes `llvm.noalias` on every buffer."""
    old = source.arg_attrs.data if source.arg_attrs else [DictionaryAttr({})] * len(source.args)
    if not source.noalias:
        return source.arg_attrs
    return ArrayAttr(
        DictionaryAttr({**attrs.data, NOALIAS: UnitAttr()}) if isinstance(arg.type, MemRefType) else attrs
        for arg, attrs in zip(source.args, old, strict=True)
    )


def _insert(builder: Builder, new: OpT, source: Operation) -> OpT:
    new.location = source.location
    return builder.insert(new)
