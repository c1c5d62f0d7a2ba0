"""Time stamps around calls, for profiles."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.traits import SymbolTable

from relex.dialects.function_arguments import C_INTERFACE_ATTR, SIGNATURE_ATTR
from relex.dialects.libraries import library_function
from relex.dialects.names import Names
from relex.dialects.op_edits import index_constant
from relex.dialects.symbols import is_public
from relex.dialects.tir import CallLoopsOp, PrimFuncOp
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import walk_of
from relex.passes.driver.base import RelexPass

CLOCK = "relex.clock"
"""A runtime function that returns the time in nanoseconds."""

RECORD = "relex.record"
"""A runtime function that appends a number to a log."""


class InstrumentCallsPass(RelexPass):
    """
    Records every call of a loop function or library function: its number in program order, the dynamic sizes of its
    arguments, and the time before and after it in nanoseconds. `Executable.profile` reads the log. A public loop
    function is made private and called from a plain function that takes its name. Runs between `lower-call-tir` and
    `convert-tir-to-scf`; the runtime provides the two functions that are called.

    ```mlir
    func.func @main(%x: memref<?xf32>, %out: memref<8xf32>) {
      tir.call @relu(%x, %out) : memref<?xf32>, memref<8xf32>
      func.return
    }
    // instrument-calls
    func.func @main(%x: memref<?xf32>, %out: memref<8xf32>) {
      func.call @relex.record(%c0) : (i64) -> ()
      %n = memref.dim %x, %zero : memref<?xf32>
      %size = arith.index_cast %n : index to i64
      func.call @relex.record(%size) : (i64) -> ()
      %start = func.call @relex.clock() : () -> i64
      tir.call @relu(%x, %out) : memref<?xf32>, memref<8xf32>
      %end = func.call @relex.clock() : () -> i64
      func.call @relex.record(%start) : (i64) -> ()
      func.call @relex.record(%end) : (i64) -> ()
      func.return
    }
    func.func private @relex.clock() -> i64
    func.func private @relex.record(i64)
    ```
    """

    name = "instrument-calls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [o for o in op.ops if isinstance(o, PrimFuncOp) and is_public(o)]:
            _call_from_outside(function, op)
        for number, call in enumerate(list(recorded_calls(op))):
            _instrument(call, number)
        op.body.block.add_ops([func.FuncOp.external(CLOCK, [], [i64]), func.FuncOp.external(RECORD, [i64], [])])


def recorded_calls(module: ModuleOp) -> Iterator[CallLoopsOp | func.CallOp]:
    """Yield the calls of loop functions and library functions in the plain functions of a module, in order."""
    for function in module.ops:
        if isinstance(function, func.FuncOp):
            yield from (op for op in walk_of(function, CallLoopsOp, func.CallOp) if _is_recorded(op))


def dynamic_sizes(call: CallLoopsOp | func.CallOp) -> Iterator[tuple[SSAValue, int]]:
    """Yield the dynamic sizes of a call's arguments, as pairs of argument and dimension. An index is one size."""
    for argument in call.arguments:
        t = argument.type
        if t == IndexType():
            yield argument, 0
        elif isa(t, MemRefType):
            yield from ((argument, i) for i, size in enumerate(t.get_shape()) if size == DYNAMIC_INDEX)


def _is_recorded(call: CallLoopsOp | func.CallOp) -> bool:
    callee = SymbolTable.lookup_symbol(call, call.callee)
    return callee is not None and (isinstance(callee, PrimFuncOp) or library_function(callee) is not None)


def _call_from_outside(function: PrimFuncOp, module: ModuleOp) -> None:
    """Rename a public loop function, and put a plain function of its name in its place that calls it."""
    name, block = function.sym_name.data, Block(arg_types=[arg.type for arg in function.args])
    inner = Names.of_symbols(module).fresh(f"{name}_loops")
    for call in [op for op in walk_of(module, CallLoopsOp) if op.callee.root_reference.data == name]:
        call.callee = SymbolRefAttr(inner)
    block.add_ops([CallLoopsOp(inner, block.args), func.ReturnOp()])
    plain = func.FuncOp(name, (block.arg_types, []), Region(block), arg_attrs=function.arg_attrs)
    plain.attributes[C_INTERFACE_ATTR] = UnitAttr()
    if SIGNATURE_ATTR in function.attributes:
        plain.attributes[SIGNATURE_ATTR] = function.attributes.pop(SIGNATURE_ATTR)
    module.body.block.insert_op_before(plain, function)
    function.sym_name, function.sym_visibility = StringAttr(inner), StringAttr("private")


def _instrument(call: CallLoopsOp | func.CallOp, number: int) -> None:
    before, after = Builder(InsertPoint.before(call)), Builder(InsertPoint.after(call))
    _record(before, before.insert(arith.ConstantOp(IntegerAttr(number, i64))).result)
    for argument, dimension in dynamic_sizes(call):
        _record(before, _size(before, argument, dimension))
    start, end = _clock(before), _clock(after)
    _record(after, start)
    _record(after, end)


def _size(builder: Builder, argument: SSAValue, dimension: int) -> SSAValue:
    size = argument
    if isa(argument.type, MemRefType):
        index = builder.insert(index_constant(dimension)).result
        size = builder.insert(memref.DimOp(argument, index)).result
    return builder.insert(arith.IndexCastOp(size, i64)).result


def _clock(builder: Builder) -> SSAValue:
    return builder.insert(func.CallOp(SymbolRefAttr(CLOCK), [], [i64])).results[0]


def _record(builder: Builder, value: SSAValue) -> Operation:
    return builder.insert(func.CallOp(SymbolRefAttr(RECORD), [value], []))
