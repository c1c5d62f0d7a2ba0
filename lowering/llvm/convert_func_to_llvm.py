"""`func` to the LLVM dialect, with MLIR's calling convention.

A memref argument is passed as the fields of its descriptor. Several results are returned as one struct.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.hints import isa

from relex.lowering.conversion import Conversion, ConversionTable, convert
from relex.lowering.llvm.descriptor import ALIGNED, Descriptor, field_name, field_type, positions
from relex.lowering.llvm.types import LLVM_TYPES, PTR, convert_type
from relex.passes.base import RelexPass

FUNC_TO_LLVM = ConversionTable()
"""What each op of `func` becomes."""

C_INTERFACE = "llvm.emit_c_interface"
C_PREFIX = "_mlir_ciface_"
LINKAGE = "llvm.linkage"


@dataclass(frozen=True)
class ConvertFuncToLlvmPass(RelexPass):
    """
    Converts functions, calls and returns. The attribute `llvm.noalias` of a memref argument, like every other `llvm.`
    attribute, goes to its aligned pointer. A private function gets internal linkage. A function that carries
    `llvm.emit_c_interface` gets a wrapper `_mlir_ciface_NAME` that takes and returns pointers to descriptors.

    ```mlir
    func.func @f(%x: memref<4xf32> {llvm.noalias}) -> (i32, i32) { ... func.return %a, %b : i32, i32 }
    // convert-func-to-llvm
    llvm.func @f(%x_base: !llvm.ptr, %x: !llvm.ptr {llvm.noalias}, %x_offset: i64, %x_size0: i64, %x_stride0: i64)
        -> !llvm.struct<(i32, i32)> {
      ...
      %0 = llvm.mlir.undef : !llvm.struct<(i32, i32)>
      %1 = llvm.insertvalue %a, %0[0] : !llvm.struct<(i32, i32)>
      %2 = llvm.insertvalue %b, %1[1] : !llvm.struct<(i32, i32)>
      llvm.return %2 : !llvm.struct<(i32, i32)>
    }
    ```
    """

    name = "convert-func-to-llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert(op, FUNC_TO_LLVM, LLVM_TYPES)


@FUNC_TO_LLVM.rule(func.FuncOp)
def convert_function(op: func.FuncOp, conversion: Conversion) -> None:
    attributes = dict(op.attributes)
    linkage = attributes.pop(LINKAGE, None)
    private = op.sym_visibility == StringAttr("private")
    if not isinstance(linkage, llvm.LinkageAttr):
        linkage = llvm.LinkageAttr("internal" if private and not op.is_declaration else "external")
    argument_attrs = _argument_attributes(op)
    function_type = llvm.LLVMFunctionType(
        [kind for old in op.function_type.inputs for kind in _passed_types(op, old)],
        _result_type(op, op.function_type.outputs.data),
    )
    if not op.is_declaration:
        _convert_blocks(op, conversion)
    new = _new_function(op.sym_name.data, function_type, linkage, op.detach_region(op.body), argument_attrs)
    new.attributes |= attributes
    conversion.add(new)
    if C_INTERFACE in attributes:
        wrap = _wrap_declaration if op.is_declaration else _wrap_definition
        conversion.add(wrap(op, new))
    conversion.replace()


@FUNC_TO_LLVM.rule(func.ReturnOp)
def convert_return(op: func.ReturnOp, conversion: Conversion) -> None:
    values = conversion.values(op.arguments)
    if len(values) > 1:
        values = [pack(conversion, values)]
    conversion.add(llvm.ReturnOp(*values))
    conversion.replace()


@FUNC_TO_LLVM.rule(func.CallOp)
def convert_call(op: func.CallOp, conversion: Conversion) -> None:
    arguments: list[SSAValue] = []
    for old in op.arguments:
        if isa(old.type, MemRefType):
            descriptor = Descriptor.of(conversion, old)
            arguments += map(descriptor.field, positions(old.type.get_num_dims()))
        else:
            arguments.append(conversion.value(old))
    types = [convert_type(op, result.type) for result in op.results]
    call = conversion.add(_call(op.callee, arguments, _result_type(op, op.result_types)))
    if len(types) < 2:
        conversion.replace(*call.results)
        return
    conversion.replace(*(conversion.add(_extract(call.results[0], [i], kind)).res for i, kind in enumerate(types)))


def pack(conversion: Conversion, values: Sequence[SSAValue]) -> SSAValue:
    """A new struct of `values`."""
    kind = llvm.LLVMStructType.from_type_list([value.type for value in values])
    struct: SSAValue = conversion.add(llvm.UndefOp(kind)).res
    for i, value in enumerate(values):
        struct = conversion.add(llvm.InsertValueOp(DenseArrayBase.from_list(i64, [i]), struct, value)).res
    return struct


def _passed_types(op: Operation, old: Attribute) -> list[Attribute]:
    """The types that an argument of type `old` is passed as."""
    if isa(old, MemRefType):
        return [field_type(position) for position in positions(old.get_num_dims())]
    return [convert_type(op, old)]


def _result_type(op: Operation, results: Sequence[Attribute]) -> Attribute:
    types = [convert_type(op, old) for old in results]
    match types:
        case []:
            return llvm.LLVMVoidType()
        case [kind]:
            return kind
        case _:
            return llvm.LLVMStructType.from_type_list(types)


def _argument_attributes(op: func.FuncOp) -> list[DictionaryAttr]:
    """The attributes of the new arguments: those that LLVM understands."""
    inputs = op.function_type.inputs.data
    old_attrs = op.arg_attrs.data if op.arg_attrs is not None else [DictionaryAttr({})] * len(inputs)
    attrs: list[DictionaryAttr] = []
    for old_type, old in zip(inputs, old_attrs, strict=True):
        kept = DictionaryAttr({key: value for key, value in old.data.items() if key.startswith("llvm.")})
        if not isa(old_type, MemRefType):
            attrs.append(kept)
            continue
        rank = old_type.get_num_dims()
        attrs += [kept if position == ALIGNED else DictionaryAttr({}) for position in positions(rank)]
    return attrs


def _convert_blocks(op: func.FuncOp, conversion: Conversion) -> None:
    entry, *others = op.body.blocks
    for old in entry.args:
        kinds = _passed_types(op, old.type)
        if not isa(old.type, MemRefType):
            if kinds != [old.type]:
                conversion.set(old, conversion.replace_argument(old, kinds)[0])
            continue
        fields = conversion.replace_argument(old, kinds)
        places = positions(old.type.get_num_dims())
        conversion.set(old, Descriptor(conversion, old, dict(zip(places, fields, strict=True))))
        for position, field in zip(places, fields, strict=True):
            field.name_hint = field_name(old.name_hint, position)
    for block in others:
        # Blocks that something branches to are converted with the branch.
        if not block.predecessors():
            conversion.convert_arguments(block)


def _new_function(
    name: str,
    function_type: llvm.LLVMFunctionType,
    linkage: llvm.LinkageAttr,
    body: Region,
    argument_attrs: Sequence[DictionaryAttr] = (),
) -> llvm.FuncOp:
    # The parser sets `unnamed_addr`: with it, printed functions parse back equal.
    properties: dict[str, Attribute | None] = {"unnamed_addr": IntegerAttr(0, i64)}
    if any(attrs.data for attrs in argument_attrs):
        properties["arg_attrs"] = ArrayAttr(argument_attrs)
    return llvm.FuncOp(name, function_type, linkage, body=body, other_props=properties)


def _call(callee: Attribute, arguments: Iterable[SSAValue], result: Attribute) -> llvm.CallOp:
    is_void = isinstance(result, llvm.LLVMVoidType)
    assert isinstance(callee, StringAttr | SymbolRefAttr)
    return llvm.CallOp(callee, *arguments, return_type=None if is_void else result)


def _extract(struct: SSAValue, position: Sequence[int], kind: Attribute) -> llvm.ExtractValueOp:
    return llvm.ExtractValueOp(DenseArrayBase.from_list(i64, position), struct, kind)


def _c_signature(op: func.FuncOp, result: Attribute) -> llvm.LLVMFunctionType:
    """The signature of the wrapper: descriptors by pointer; a struct is returned through a pointer that comes first."""
    inputs = [PTR if isa(old, MemRefType) else convert_type(op, old) for old in op.function_type.inputs]
    if isinstance(result, llvm.LLVMStructType):
        return llvm.LLVMFunctionType([PTR, *inputs])
    return llvm.LLVMFunctionType(inputs, result)


def _wrap_definition(op: func.FuncOp, function: llvm.FuncOp) -> llvm.FuncOp:
    """The wrapper that C calls: loads the descriptors and calls the function."""
    result = function.function_type.output
    signature = _c_signature(op, result)
    block = Block(arg_types=signature.inputs)
    returns_struct = isinstance(result, llvm.LLVMStructType)
    arguments: list[SSAValue] = []
    for old, passed in zip(op.function_type.inputs, block.args[returns_struct:], strict=True):
        if not isa(old, MemRefType):
            arguments.append(passed)
            continue
        load = llvm.LoadOp(passed, LLVM_TYPES.convert(old))
        fields = [
            _extract(load.dereferenced_value, position, field_type(position))
            for position in positions(old.get_num_dims())
        ]
        block.add_ops([load, *fields])
        arguments += (field.res for field in fields)
    call = _call(SymbolRefAttr(function.sym_name), arguments, result)
    block.add_op(call)
    if returns_struct:
        block.add_ops([llvm.StoreOp(call.results[0], block.args[0]), llvm.ReturnOp()])
    else:
        block.add_op(llvm.ReturnOp(*call.results))
    wrapper = _new_function(C_PREFIX + op.sym_name.data, signature, llvm.LinkageAttr("external"), Region(block))
    wrapper.attributes[C_INTERFACE] = op.attributes[C_INTERFACE]
    return wrapper


def _wrap_declaration(op: func.FuncOp, function: llvm.FuncOp) -> llvm.FuncOp:
    """Give the declared `function` a body that calls the C function of the prefixed name, and declare that one."""
    result = function.function_type.output
    signature = _c_signature(op, result)
    block = Block(arg_types=function.function_type.inputs)
    function.body.add_block(block)
    returns_struct = isinstance(result, llvm.LLVMStructType)
    arguments: list[SSAValue] = [_on_stack(block, result)] if returns_struct else []
    passed = iter(block.args)
    for old in op.function_type.inputs:
        if not isa(old, MemRefType):
            arguments.append(next(passed))
            continue
        kind = LLVM_TYPES.convert(old)
        struct = _append(block, llvm.UndefOp(kind)).res
        for position in positions(old.get_num_dims()):
            struct = _append(
                block, llvm.InsertValueOp(DenseArrayBase.from_list(i64, position), struct, next(passed))
            ).res
        pointer = _on_stack(block, kind)
        block.add_op(llvm.StoreOp(struct, pointer))
        arguments.append(pointer)
    name = C_PREFIX + op.sym_name.data
    call = _append(block, _call(SymbolRefAttr(name), arguments, signature.output))
    if returns_struct:
        block.add_op(llvm.ReturnOp(_append(block, llvm.LoadOp(arguments[0], result)).dereferenced_value))
    else:
        block.add_op(llvm.ReturnOp(*call.results))
    declaration = _new_function(name, signature, llvm.LinkageAttr("external"), Region())
    declaration.attributes[C_INTERFACE] = op.attributes[C_INTERFACE]
    return declaration
