"""Outlining of parallel loop bodies into functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.hints import isa

from relex.dialects.functions import LEAST_ATTR, PARALLEL_ATTR, argument_attr
from relex.dialects.index.domains import constant_value
from relex.dialects.names import Names
from relex.dialects.symbols import lookup
from relex.dialects.walks import ancestors, walk
from relex.passes.base import RelexPass

NOALIAS = "llvm.noalias"


@dataclass(frozen=True)
class OutlineParallelLoopsPass(RelexPass):
    """
    Moves the body of each outermost `scf.parallel` into a function that runs a range of its iterations, and replaces
    the loop by a call for the whole range. The attribute `relex.parallel` on the call says that it may be replaced by
    concurrent calls for parts of the range; `convert-func-to-llvm` leaves it to the runtime to distribute them over
    threads. Ignoring the attribute runs the iterations in order. A loop with the attribute `relex.least` is only
    distributed if it has so many iterations.

    Of several dimensions, the first is distributed. Buffers of an iteration, on the stack or the heap, are allocated
    once per call. Loops with results, and loops that call functions without a body, stay as they are.

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
        for function in [o for o in op.ops if isinstance(o, func.FuncOp)]:
            for loop in [o for o in walk(function) if isinstance(o, scf.ParallelOp) and _is_outlined(o)]:
                body = _outline(loop, function, names.fresh(f"{function.sym_name.data}_parallel"))
                op.body.block.insert_op_after(body, function)


def _is_outlined(loop: scf.ParallelOp) -> bool:
    if loop.results or not loop.lowerBound or any(isinstance(scope, scf.ParallelOp) for scope in ancestors(loop)):
        return False
    return not _calls_outside(loop, set())


def _calls_outside(scope: Operation, seen: set[Operation]) -> bool:
    """Return whether `scope` calls a function without a body: library functions are called by one thread only."""
    for op in scope.walk():
        if not isinstance(op, func.CallOp):
            continue
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
    attrs = [DictionaryAttr({})] * 2 + [_attributes(value, function) for value in captured]

    entry = Block(arg_types=types)
    for argument, hint in zip(entry.args, ("first", "last", *(value.name_hint for value in captured)), strict=True):
        argument.name_hint = hint
    builder = Builder(InsertPoint.at_end(entry))
    inside: dict[SSAValue, SSAValue] = dict(zip(captured, entry.args[2:], strict=True))
    for op in copied:
        inside |= zip(op.results, builder.insert(op.clone(inside)).results, strict=True)
    for op in loop.walk():
        if any(value in inside for value in op.operands):
            op.operands = [inside.get(value, value) for value in op.operands]
    buffers = _buffers(loop.body.block)
    for buffer, _ in buffers:
        buffer.detach()
        builder.insert(buffer)
    builder.insert(_serial_loop(loop, entry, builder))
    for _, dealloc in buffers:
        if dealloc is not None:
            dealloc.detach()
            builder.insert(dealloc)
    builder.insert(func.ReturnOp())

    call.location = loop.location
    Rewriter.replace_op(loop, _from_on(least, call), [])
    arg_attrs = ArrayAttr(attrs) if any(attr.data for attr in attrs) else None
    result = func.FuncOp(name, (types, []), Region(entry), StringAttr("private"), arg_attrs=arg_attrs)
    result.location = call.location
    return result


def _from_on(least: Attribute | None, call: func.CallOp) -> Sequence[Operation]:
    """Return a call that may be replaced by calls for parts of its range; if `least` is given, only from so many
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
    used = [loop.step[0], *(value for op in loop.body.walk() for value in op.operands)]
    if constant_value(loop.step[0]) != 1:
        used.append(loop.lowerBound[0])
    for bounds in (loop.lowerBound, loop.upperBound, loop.step):
        used += bounds[1:]
    outside = [value for value in dict.fromkeys(used) if not loop.is_ancestor(value.owner)]
    copied = [v.owner for v in outside if isinstance(v.owner, arith.ConstantOp | memref.GetGlobalOp)]
    return [value for value in outside if value.owner not in copied], copied


def _range(loop: scf.ParallelOp) -> tuple[SSAValue, SSAValue]:
    """The range of the loop variable; with steps other than 1, the range of iteration numbers."""
    lower, upper, step = loop.lowerBound[0], loop.upperBound[0], loop.step[0]
    if constant_value(step) == 1:
        return lower, upper
    builder = Builder(InsertPoint.before(loop))
    zero = builder.insert(arith.ConstantOp(IntegerAttr(0, IndexType()))).result
    length = builder.insert(arith.SubiOp(upper, lower)).result
    return zero, builder.insert(arith.CeilDivSIOp(length, step)).result


def _buffers(body: Block) -> list[tuple[Operation, memref.DeallocOp | None]]:
    """The buffers of static size that each iteration allocates, with the ops that free them."""
    found: list[tuple[Operation, memref.DeallocOp | None]] = []
    for op in body.ops:
        if not isinstance(op, memref.AllocaOp | memref.AllocOp) or op.operands:
            continue
        deallocs = [u.operation for u in op.memref.uses if isinstance(u.operation, memref.DeallocOp)]
        if isinstance(op, memref.AllocaOp):
            found.append((op, None))
        elif len(deallocs) == 1 and deallocs[0].parent_block() is body:
            found.append((op, deallocs[0]))
    return found


def _serial_loop(loop: scf.ParallelOp, entry: Block, builder: Builder) -> scf.ForOp:
    """Build a loop over the iterations from the first argument of `entry` up to the second. Takes over the body of
    `loop`, whose operands have been replaced by values of the new function."""
    body = Block(arg_types=[IndexType()])
    variable: SSAValue = body.args[0]
    variable.name_hint = loop.body.block.args[0].name_hint
    inner = Builder(InsertPoint.at_end(body))
    one = loop.step[0]
    if constant_value(one) != 1:
        scaled = inner.insert(arith.MuliOp(variable, one)).result
        variable = inner.insert(arith.AddiOp(loop.lowerBound[0], scaled)).result
        one = builder.insert(arith.ConstantOp(IntegerAttr(1, IndexType()))).result
    old = loop.body.block
    if len(loop.lowerBound) > 1:
        rest = loop.detach_region(0)
        old.args[0].replace_all_uses_with(variable)
        old.erase_arg(old.args[0])
        inner.insert(scf.ParallelOp(loop.lowerBound[1:], loop.upperBound[1:], loop.step[1:], rest))
    else:
        reduce = old.last_op
        assert reduce is not None
        Rewriter.erase_op(reduce)
        Rewriter.inline_block(old, InsertPoint.at_end(body), [variable])
    inner.insert(scf.YieldOp())
    serial = scf.ForOp(entry.args[0], entry.args[1], one, [], body)
    serial.attributes |= loop.attributes
    return serial


def _attributes(value: SSAValue, function: func.FuncOp) -> DictionaryAttr:
    """The attributes of the argument for a captured value: a buffer that does not alias others stays `noalias`."""
    owner = value.owner
    apart = isinstance(owner, memref.AllocOp | memref.AllocaOp) or (
        isinstance(value, BlockArgument)
        and owner is function.body.first_block
        and argument_attr(function, value.index, NOALIAS) is not None
    )
    return DictionaryAttr({NOALIAS: UnitAttr()} if apart else {})
