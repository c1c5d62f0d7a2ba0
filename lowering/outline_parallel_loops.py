"""Outlining of parallel loop bodies into functions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.function_arguments import LEAST_ATTR, NOINLINE, PARALLEL_ATTR, PASSTHROUGH_ATTR
from relex.dialects.index.domains import constant_value
from relex.dialects.index.expr import never_negative
from relex.dialects.index.from_ir import index_of
from relex.dialects.names import Names
from relex.dialects.op_edits import before_end, index_value
from relex.dialects.symbols import lookup
from relex.dialects.tir import ConfigureTilesOp, ReleaseTilesOp
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import ancestors, holds, walk, walk_of
from relex.lowering.support.aliasing import NOALIAS, has_own_memory
from relex.passes.driver.base import RelexPass

Range: TypeAlias = tuple[SSAValue, SSAValue]
"""The first number, and that after the last one."""

Dimension: TypeAlias = tuple[SSAValue, SSAValue, SSAValue]
"""The lower and upper bound and the step of a loop variable."""


class OutlineParallelLoopsPass(RelexPass):
    """
    Moves the body of each outermost `scf.parallel` into a function that runs a range of its iterations, and replaces
    the loop by a call for the whole range. The attribute `relex.parallel` on the call says that it may be replaced by
    concurrent calls for parts of the range; `convert-func-to-llvm` leaves it to the runtime to distribute them over
    threads. Ignoring the attribute runs the iterations in order. A loop with the attribute `relex.least` is only
    distributed if it has at least this number of iterations.

    The iterations of several dimensions are counted in their order, the last dimension innermost. Buffers of an
    iteration, on the stack or the heap, are allocated once per call, and shapes of tiles are set once. Loops with
    results, and loops that call functions without a body, stay as they are. From here on, each function
    states an integer once.

    ```mlir
    func.func @double(%x: memref<?xf32>, %n: index) {
      scf.parallel (%i) = (%c0) to (%n) step (%c1) {
        %0 = memref.load %x[%i] : memref<?xf32>
        %1 = arith.addf %0, %0 : f32
        memref.store %1, %x[%i] : memref<?xf32>
        scf.reduce
      }
      func.return
    }
    // outline-parallel-loops
    func.func @double(%x: memref<?xf32>, %n: index) {
      func.call @double_parallel(%c0, %n, %x) {relex.parallel} : (index, index, memref<?xf32>) -> ()
      func.return
    }
    func.func private @double_parallel(%first: index, %last: index, %x: memref<?xf32>) {
      scf.for %i = %first to %last step %c1 {
        ...
      }
      func.return
    }
    ```
    """

    name = "outline-parallel-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = Names.of_symbols(op)
        for function in [o for o in op.ops if isinstance(o, func.FuncOp) and not o.is_declaration]:
            for loop in [o for o in walk_of(function, scf.ParallelOp) if _is_outlined(o)]:
                body = _outline(loop, function, names.fresh(f"{function.sym_name.data}_parallel"))
                op.body.block.insert_op_after(body, function)
                _share_numbers(body)
            _share_numbers(function)


def _share_numbers(function: func.FuncOp) -> None:
    """Let a function state each integer once, where all of it can use it: whatever computes sizes has made its own, and
    all passes from here on look at all of them."""
    entry, known = function.body.blocks[0], dict[Attribute, arith.ConstantOp]()
    for op in walk_of(function, arith.ConstantOp):
        if type(op.value) is not IntegerAttr:
            continue
        if not op.result.first_use:
            Rewriter.erase_op(op)
        elif (first := known.setdefault(op.value, op)) is not op:
            Rewriter.replace_op(op, [], [first.result])
        elif op.parent is not entry:
            op.detach()
            Rewriter.insert_op(op, InsertPoint.at_start(entry))


def _is_outlined(loop: scf.ParallelOp) -> bool:
    if loop.results or not loop.lowerBound or any(isinstance(scope, scf.ParallelOp) for scope in ancestors(loop)):
        return False
    return not _calls_outside(loop, set())


def _calls_outside(scope: Operation, seen: set[Operation]) -> bool:
    """Return whether `scope` calls a function without a body: library functions are called by one thread only."""
    for op in walk_of(scope, func.CallOp):
        callee = lookup(op, op.callee)
        if not isinstance(callee, func.FuncOp) or callee.is_declaration:
            return True
        if callee not in seen and _calls_outside(callee, seen | {callee}):
            return True
    return False


def _outline(loop: scf.ParallelOp, function: func.FuncOp, name: str) -> func.FuncOp:
    """Return a function for the body of a loop, and replace the loop by a call of it."""
    least = loop.attributes.pop(LEAST_ATTR, None)
    captured, copied = _captured(loop)
    call = func.CallOp(SymbolRefAttr(name), [*_range(loop), *captured], [])
    types = call.arguments.types
    attrs = [DictionaryAttr({})] * 2 + [_attributes(value) for value in captured]

    entry = Block(arg_types=types)
    for argument, hint in zip(entry.args, ("first", "last", *(value.name_hint for value in captured)), strict=True):
        argument.name_hint = hint
    builder = Builder(InsertPoint.at_end(entry))
    inside: dict[SSAValue, SSAValue] = dict(zip(captured, entry.args[2:], strict=True))
    for op in copied:
        inside |= zip(op.results, builder.insert(op.clone(inside)).results, strict=True)
    for op in walk(loop):
        if not inside.keys().isdisjoint(op.operands):
            op.operands = [inside.get(value, value) for value in op.operands]
    buffers = _buffers(loop.body.block)
    for buffer, _ in buffers:
        buffer.detach()
        builder.insert(buffer)
    _serial_loops(loop, entry, builder)
    for _, end in buffers:
        if end is not None:
            end.detach()
            builder.insert(end)
    builder.insert(func.ReturnOp())

    call.location = loop.location
    Rewriter.replace_op(loop, _from_on(least, call), [])
    arg_attrs = ArrayAttr(attrs) if any(attr.data for attr in attrs) else None
    result = func.FuncOp(name, (types, []), Region(entry), StringAttr("private"), arg_attrs=arg_attrs)
    result.location = call.location
    if least is not None:
        # Two calls are not worth two copies of a long loop.
        result.attributes[PASSTHROUGH_ATTR] = ArrayAttr([NOINLINE])
    return result


def _from_on(least: Attribute | None, call: func.CallOp) -> Sequence[Operation]:
    """Return a call that may be replaced by calls for parts of its range; if `least` is given, only from that number of
    iterations on."""
    alone = call.clone()
    call.attributes[PARALLEL_ATTR] = UnitAttr()
    if not isa(least, IntegerAttr[IndexType]):
        alone.drop_all_references()
        return [call]
    first, last, *_ = call.arguments
    bound = arith.ConstantOp(least)
    length = arith.SubiOp(last, first)
    is_long = arith.CmpiOp(length, bound, "sge")
    long, short = (Region(Block([op, scf.YieldOp()])) for op in (call, alone))
    return [bound, length, is_long, scf.IfOp(is_long, [], long, short)]


def _captured(loop: scf.ParallelOp) -> tuple[Sequence[SSAValue], Sequence[Operation]]:
    """The values that the body of a loop captures: those to pass, and cheap ops to clone instead."""
    used = [loop.step[0], *(value for op in walk(loop) if op is not loop for value in op.operands)]
    if _counts_iterations(loop):
        used += [*loop.lowerBound, *loop.upperBound[1:], *loop.step[1:]]
    outside = [value for value in dict.fromkeys(used) if not holds(loop, value.owner)]
    copied = [v.owner for v in outside if isinstance(v.owner, arith.ConstantOp | memref.GetGlobalOp)]
    kept = set(copied)
    return [value for value in outside if value.owner not in kept], copied


def _dimensions(loop: scf.ParallelOp) -> list[Dimension]:
    return list(zip(loop.lowerBound, loop.upperBound, loop.step, strict=True))


def _counts_iterations(loop: scf.ParallelOp) -> bool:
    """Return whether a range is one of iteration numbers, and not of the loop variable."""
    return len(loop.step) > 1 or constant_value(loop.step[0]) != 1


def _range(loop: scf.ParallelOp) -> Range:
    """The range of the loop variable, or of iteration numbers."""
    if not _counts_iterations(loop):
        return loop.lowerBound[0], loop.upperBound[0]
    builder = Builder(InsertPoint.before(loop))
    lengths = [_length(dimension, builder) for dimension in _dimensions(loop)]
    if len(lengths) > 1:
        # The product of two negative ones would be positive.
        lengths = [_at_least(0, length, builder) for length in lengths]
    return index_value(0, builder.insert), _product(lengths, builder)


def _length(dimension: Dimension, builder: Builder) -> SSAValue:
    """The number of iterations of a dimension."""
    lower, upper, step = dimension
    distance = upper if constant_value(lower) == 0 else builder.insert(arith.SubiOp(upper, lower)).result
    return distance if constant_value(step) == 1 else builder.insert(arith.CeilDivSIOp(distance, step)).result


def _product(factors: Sequence[SSAValue], builder: Builder) -> SSAValue:
    numbers = [constant_value(factor) for factor in factors]
    known = prod(number for number in numbers if number is not None)
    unknown = [factor for factor, number in zip(factors, numbers, strict=True) if number is None]
    if known != 1 or not unknown:
        unknown.append(index_value(known, builder.insert))
    product, *others = unknown
    for other in others:
        product = builder.insert(arith.MuliOp(product, other)).result
    return product


def _buffers(body: Block) -> list[tuple[Operation, Operation | None]]:
    """The buffers of static size that each iteration allocates, with the ops that free them; and the shapes of tiles,
    if there is one set of them."""
    found: list[tuple[Operation, Operation | None]] = _tiles(body)
    for op in body.ops:
        if not isinstance(op, memref.AllocaOp | memref.AllocOp) or op.operands:
            continue
        deallocs = [u.operation for u in op.memref.uses if isinstance(u.operation, memref.DeallocOp)]
        if isinstance(op, memref.AllocaOp):
            found.append((op, None))
        elif len(deallocs) == 1 and deallocs[0].parent_block() is body:
            found.append((op, deallocs[0]))
    return found


def _tiles(body: Block) -> list[tuple[Operation, Operation | None]]:
    shapes = [op for top in body.ops for op in walk_of(top, ConfigureTilesOp)]
    ends = [op for op in body.ops if isinstance(op, ReleaseTilesOp)]
    return [(shapes[0], ends[0])] if len(shapes) == len(ends) == 1 else []


def _serial_loops(loop: scf.ParallelOp, entry: Block, builder: Builder) -> None:
    """Build loops over the iterations from the first argument of `entry` up to the second. They take over the body of
    `loop`, whose operands have been replaced by values of the new function."""
    one = index_value(1, builder.insert) if _counts_iterations(loop) else loop.step[0]
    dimensions, variables, part = _dimensions(loop), list[SSAValue](), (entry.args[0], entry.args[1])
    lengths = [_length(dimension, builder) for dimension in dimensions[1:]]
    # The iterations of the dimensions inside of each one. It is divided by, even if there are none.
    sizes = [_at_least(1, _product(lengths[number:], builder), builder) for number in range(len(lengths))]
    old = loop.body.block
    for argument, (lower, _, step), size in zip(old.args, dimensions, [*sizes, None], strict=True):
        body = Block([scf.YieldOp()], arg_types=[IndexType()])
        number = body.args[0]
        number.name_hint = argument.name_hint
        start, end = part if size is None else _divided(part, size, builder)
        builder.insert(scf.ForOp(start, end, one, [], body)).attributes.update(loop.attributes)
        builder = before_end(body)
        variables.append(_scaled(number, lower, step, builder) if _counts_iterations(loop) else number)
        if size is not None:
            part = _inside(part, number, size, builder)
    assert old.last_op is not None
    Rewriter.erase_op(old.last_op)
    Rewriter.inline_block(old, builder.insertion_point, variables)


def _divided(part: Range, size: SSAValue, builder: Builder) -> Range:
    """The iterations of a dimension that have part of a range; each has `size` of it."""
    first, last = part
    # Numbers of iterations are never negative: it takes fewer instructions to add up to `size - 1` than to round up.
    known, start = constant_value(size), builder.insert(arith.DivSIOp(first, size)).result
    if known:
        most = index_value(known - 1, builder.insert)
    else:
        most = builder.insert(arith.SubiOp(size, index_value(1, builder.insert))).result
    end = builder.insert(arith.AddiOp(last, most)).result
    return start, builder.insert(arith.DivSIOp(end, size)).result


def _inside(part: Range, number: SSAValue, size: SSAValue, builder: Builder) -> Range:
    """The part of a range that belongs to an iteration of a dimension."""
    before = builder.insert(arith.MuliOp(number, size)).result
    first, last = (builder.insert(arith.SubiOp(end, before)).result for end in part)
    first = builder.insert(arith.MaxSIOp(first, index_value(0, builder.insert))).result
    return first, builder.insert(arith.MinSIOp(last, size)).result


def _at_least(least: int, length: SSAValue, builder: Builder) -> SSAValue:
    if never_negative(index_of(length) - least):
        return length
    return builder.insert(arith.MaxSIOp(length, index_value(least, builder.insert))).result


def _scaled(number: SSAValue, lower: SSAValue, step: SSAValue, builder: Builder) -> SSAValue:
    """The loop variable of an iteration."""
    if constant_value(step) != 1:
        number = builder.insert(arith.MuliOp(number, step)).result
    return number if constant_value(lower) == 0 else builder.insert(arith.AddiOp(lower, number)).result


def _attributes(value: SSAValue) -> DictionaryAttr:
    """The attributes of the argument for a captured value: a buffer that does not alias others stays `noalias`."""
    return DictionaryAttr({NOALIAS: UnitAttr()} if has_own_memory(value) else {})
