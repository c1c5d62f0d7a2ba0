"""Functions at the machine level, and wrappers for calls from C and to C.

C passes descriptors by pointer, while the calling convention of `convert-func-to-llvm` passes their fields. For a
function `f` with the attribute `llvm.emit_c_interface`, `_mlir_ciface_f` is the function that C calls or defines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from xdsl.builder import Builder
from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    SymbolRefAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from relex.dialects.function_arguments import C_INTERFACE_ATTR
from relex.dialects.libraries import BUFFERS_ATTR, LIBRARY_ATTR, OUTPUTS_ATTR
from relex.dialects.target.machine import ALLOCATOR_ATTR
from relex.dialects.upstream.hints import isa
from relex.lowering.llvm.descriptor import field_type, positions
from relex.lowering.llvm.quick_ops import load
from relex.lowering.llvm.types import LLVM_TYPES, PTR, convert_type

C_PREFIX = "_mlir_ciface_"


def new_function(
    name: str,
    function_type: llvm.LLVMFunctionType,
    linkage: llvm.LinkageAttr,
    body: Region,
    argument_attrs: Sequence[DictionaryAttr] = (),
) -> llvm.FuncOp:
    """Build a function with the properties that the parser sets."""
    # The parser sets `unnamed_addr`: with it, printed functions parse back equal.
    properties: dict[str, Attribute | None] = {"unnamed_addr": IntegerAttr(0, i64)}
    if any(attrs.data for attrs in argument_attrs):
        properties["arg_attrs"] = ArrayAttr(argument_attrs)
    return llvm.FuncOp(name, function_type, linkage, body=body, other_props=properties)


def declaration(name: str, inputs: Sequence[Attribute], output: Attribute) -> llvm.FuncOp:
    """Build the declaration of a function that is defined elsewhere."""
    return new_function(name, llvm.LLVMFunctionType(inputs, output), llvm.LinkageAttr("external"), Region())


def allocator(name: str, inputs: Sequence[Attribute], output: Attribute) -> llvm.FuncOp:
    """Build the declaration of a function that allocates or frees the memory of buffers."""
    function = declaration(name, inputs, output)
    function.attributes[ALLOCATOR_ATTR] = UnitAttr()
    return function


def call(callee: SymbolRefAttr, arguments: Iterable[SSAValue], result: Attribute) -> llvm.CallOp:
    """Build a call of a function that returns `result`, which may be `!llvm.void`."""
    # Calls of kernels have dozens of arguments, which the constructor examines one by one.
    operands = list(arguments)
    segments = DenseArrayBase.from_list(i32, [len(operands), 0])
    properties = {**_CALL_PROPERTIES, "callee": callee, "operandSegmentSizes": segments}
    results = () if isinstance(result, llvm.LLVMVoidType) else (result,)
    return llvm.CallOp.create(operands=operands, properties=properties, result_types=results)


_CALL_PROPERTIES = llvm.CallOp("callee").properties


def extract(struct: SSAValue, position: Sequence[int], kind: Attribute) -> llvm.ExtractValueOp:
    """Build an op that extracts a field of type `kind` from a struct."""
    properties = {"position": _place(tuple(position))}
    return llvm.ExtractValueOp.create(operands=(struct,), properties=properties, result_types=(kind,))


def packed(values: Sequence[SSAValue], kind: Attribute, add: Callable[[Operation], object]) -> SSAValue:
    """Return a struct of the type `kind` that has `values` as fields. `add` inserts the ops."""
    return nested({(i,): value for i, value in enumerate(values)}, kind, add)


def nested(fields: Mapping[tuple[int, ...], SSAValue], kind: Attribute, add: Callable[[Operation], object]) -> SSAValue:
    """Return a struct of the type `kind` that has values at the given positions. `add` inserts the ops."""
    new: Operation = llvm.UndefOp(kind)
    add(new)
    for position, value in fields.items():
        operands, properties = (new.results[0], value), {"position": _place(position)}
        new = llvm.InsertValueOp.create(operands=operands, properties=properties, result_types=(kind,))
        add(new)
    return new.results[0]


@cache
def _place(position: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i64, position)


def wrap_definition(op: func.FuncOp, function: llvm.FuncOp) -> llvm.FuncOp:
    """Return the wrapper that C calls: it loads the descriptors and calls `function`, the converted `op`."""
    result = function.function_type.output
    signature = _c_signature(op, result)
    returns_struct = isinstance(result, llvm.LLVMStructType)
    block = Block(arg_types=signature.inputs)
    builder = Builder(InsertPoint.at_end(block))
    arguments: list[SSAValue] = []
    for old, passed in zip(op.function_type.inputs, block.args[returns_struct:], strict=True):
        if isa(old, MemRefType):
            struct = builder.insert(load(passed, LLVM_TYPES.convert(old))).dereferenced_value
            fields = [extract(struct, p, field_type(p)) for p in positions(old.get_num_dims())]
            arguments += (builder.insert(field).res for field in fields)
        else:
            arguments.append(passed)
    results = builder.insert(call(SymbolRefAttr(function.sym_name), arguments, result)).results
    if returns_struct:
        builder.insert(llvm.StoreOp(results[0], block.args[0]))
        results = ()
    builder.insert(llvm.ReturnOp(*results))
    return _c_function(op, signature, Region(block))


def wrap_declaration(op: func.FuncOp, function: llvm.FuncOp) -> llvm.FuncOp:
    """Give the declared `function` a body that calls the C function, and return the declaration of the latter."""
    result = function.function_type.output
    signature = _c_signature(op, result)
    returns_struct = isinstance(result, llvm.LLVMStructType)
    block = Block(arg_types=function.function_type.inputs)
    function.body.add_block(block)
    declaration = _c_function(op, signature, Region())
    if LIBRARY_ATTR in op.attributes:
        # Its type no longer says what buffers it takes.
        kept = (LIBRARY_ATTR, OUTPUTS_ATTR, BUFFERS_ATTR)
        declaration.attributes |= {name: attr for name, attr in op.attributes.items() if name in kept}
        declaration.attributes.setdefault(BUFFERS_ATTR, ArrayAttr(op.function_type.inputs))
    builder = Builder(InsertPoint.at_end(block))
    arguments: list[SSAValue] = [_on_stack(builder, result)] if returns_struct else []
    passed = iter(block.args)
    for old in op.function_type.inputs:
        if not isa(old, MemRefType):
            arguments.append(next(passed))
            continue
        fields = {position: next(passed) for position in positions(old.get_num_dims())}
        struct = nested(fields, LLVM_TYPES.convert(old), builder.insert)
        arguments.append(_on_stack(builder, struct.type))
        builder.insert(llvm.StoreOp(struct, arguments[-1]))
    results = builder.insert(call(SymbolRefAttr(declaration.sym_name), arguments, signature.output)).results
    if returns_struct:
        results = builder.insert(llvm.LoadOp(arguments[0], result)).results
    builder.insert(llvm.ReturnOp(*results))
    return declaration


def _c_signature(op: func.FuncOp, result: Attribute) -> llvm.LLVMFunctionType:
    """The C signature: descriptors are passed by pointer; a struct is returned through a pointer, which comes first."""
    inputs = [PTR if isa(old, MemRefType) else convert_type(op, old) for old in op.function_type.inputs]
    if isinstance(result, llvm.LLVMStructType):
        return llvm.LLVMFunctionType([PTR, *inputs])
    return llvm.LLVMFunctionType(inputs, result)


def _c_function(op: func.FuncOp, signature: llvm.LLVMFunctionType, body: Region) -> llvm.FuncOp:
    function = new_function(C_PREFIX + op.sym_name.data, signature, llvm.LinkageAttr("external"), body)
    function.attributes[C_INTERFACE_ATTR] = op.attributes[C_INTERFACE_ATTR]
    return function


def _on_stack(builder: Builder, kind: Attribute) -> SSAValue:
    one = builder.insert(llvm.ConstantOp(IntegerAttr(1, i64), i64)).result
    return builder.insert(llvm.AllocaOp.create(operands=[one], properties={"elem_type": kind}, result_types=[PTR])).res
