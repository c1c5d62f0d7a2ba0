"""Conversion of `func` to the LLVM dialect, with MLIR's calling convention.

A memref argument is passed as the fields of its descriptor. Several results are returned as one struct.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import DictionaryAttr, MemRefType, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from relex.dialects.function_arguments import C_INTERFACE_ATTR, SIGNATURE_ATTR
from relex.dialects.libraries import BUFFERS_ATTR, library_function
from relex.dialects.symbols import lookup
from relex.dialects.upstream.hints import isa
from relex.lowering.conversion import Conversion, ConversionPass, ConversionTable
from relex.lowering.llvm.buffers import MemRefOperand, Number
from relex.lowering.llvm.c_interface import call, extract, new_function, packed, wrap_declaration, wrap_definition
from relex.lowering.llvm.descriptor import ALIGNED, BASE, Descriptor, field_name, field_type, fields_used, positions
from relex.lowering.llvm.interface import seal
from relex.lowering.llvm.parallel_calls import is_shared, share_call
from relex.lowering.llvm.types import LLVM_TYPES, convert_type
from relex.lowering.support.signatures import expect_stated_signature

FUNC_TO_LLVM = ConversionTable("convert-func-to-llvm")
"""Conversion rules for `func`."""

LINKAGE = "llvm.linkage"


class ConvertFuncToLlvmPass(ConversionPass):
    """
    Converts functions, calls and returns. The attribute `llvm.noalias` of a memref argument, like every other `llvm.`
    attribute, moves to its aligned pointer. A private function gets internal linkage. A function with the attribute
    `llvm.emit_c_interface` gets a wrapper `_mlir_ciface_NAME` that takes and returns pointers to descriptors. A call
    with the attribute `relex.parallel` goes through the runtime, which distributes it over threads. A signature
    (`relex.signature`) is checked a last time and sealed, since the types that it describes are gone afterwards.

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

    table = FUNC_TO_LLVM
    types = LLVM_TYPES


@FUNC_TO_LLVM.rule(func.FuncOp)
def convert_function(op: func.FuncOp, conversion: Conversion) -> None:
    """Convert a function and the arguments of its blocks, with a C wrapper if it is requested."""
    # It fails for a declaration whose attributes say nothing sensible.
    library_function(op)
    expect_stated_signature(op)
    attributes = dict(op.attributes)
    linkage = attributes.pop(LINKAGE, None)
    attributes.pop(BUFFERS_ATTR, None)  # The C function that the wrapper calls has it.
    private = op.sym_visibility == StringAttr("private")
    if not isinstance(linkage, llvm.LinkageAttr):
        has_body = not op.is_declaration or C_INTERFACE_ATTR in attributes
        linkage = llvm.LinkageAttr("internal" if private and has_body else "external")
    argument_attrs = _argument_attributes(op)
    function_type = llvm.LLVMFunctionType(
        [kind for old in op.function_type.inputs for kind in _passed_types(op, old)],
        _result_type(op, op.function_type.outputs.data),
    )
    if not op.is_declaration:
        _convert_blocks(op, conversion)
    new = new_function(op.sym_name.data, function_type, linkage, op.detach_region(op.body), argument_attrs)
    new.attributes |= attributes
    if SIGNATURE_ATTR in attributes:
        seal(new)
    conversion.add(new)
    if C_INTERFACE_ATTR in attributes:
        wrap = wrap_declaration if new.body.first_block is None else wrap_definition
        conversion.add(wrap(op, new))
    conversion.replace()


@FUNC_TO_LLVM.rule(func.ReturnOp)
def convert_return(op: func.ReturnOp, conversion: Conversion) -> None:
    """Convert a return; several values are packed into a struct."""
    values = conversion.values(op.arguments)
    if len(values) > 1:
        kind = llvm.LLVMStructType.from_type_list([value.type for value in values])
        values = [packed(values, kind, conversion.add)]
    conversion.add(llvm.ReturnOp(*values))
    conversion.replace()


@FUNC_TO_LLVM.rule(func.CallOp)
def convert_call(op: func.CallOp, conversion: Conversion) -> None:
    """Convert a call: memrefs are passed as fields, several results are unpacked, parallel calls go to the runtime."""
    if is_shared(op):
        callee = lookup(op, op.callee)
        inside = callee.body.blocks[0].args if isinstance(callee, func.FuncOp) and callee.body.blocks else op.arguments
        pairs = zip(op.arguments, inside, strict=True)
        share_call(op, [n for old, new in pairs for n in _passed(op, conversion, old, new)], conversion)
        return
    arguments: list[SSAValue] = []
    for old in op.arguments:
        if isa(old.type, MemRefType):
            descriptor = Descriptor.of(conversion, old)
            arguments += map(descriptor.field, positions(old.type.get_num_dims()))
        else:
            arguments.append(conversion.value(old))
    types = [convert_type(op, result.type) for result in op.results]
    new = conversion.add(call(op.callee, arguments, _result_type(op, op.result_types)))
    if len(types) < 2:
        conversion.replace(*new.results)
        return
    conversion.replace(*(conversion.add(extract(new.results[0], [i], kind)).res for i, kind in enumerate(types)))


def _passed(op: func.CallOp, conversion: Conversion, old: SSAValue, new: SSAValue) -> Sequence[Number | None]:
    """Return what an argument is passed as, with the numbers that its type states. Of a memref, what the function does
    not use of its own argument `new` is 0, or None for pointers."""
    if not isa(old.type, MemRefType):
        return [conversion.value(old)]
    buffer = MemRefOperand(op, conversion, old)
    used = fields_used(new)
    pointers = [buffer.descriptor.field(field) if field in used else None for field in (BASE, ALIGNED)]
    numbers = zip(positions(len(buffer.sizes))[2:], (buffer.offset, *buffer.sizes, *buffer.strides), strict=True)
    return [*pointers, *(number if field in used else 0 for field, number in numbers)]


def _passed_types(op: Operation, old: Attribute) -> list[Attribute]:
    """The types that an argument of type `old` is passed as."""
    if isa(old, MemRefType):
        return [field_type(position) for position in positions(old.get_num_dims())]
    return [convert_type(op, old)]


def _result_type(op: Operation, results: Sequence[Attribute]) -> Attribute:
    types = [convert_type(op, old) for old in results]
    if len(types) > 1:
        return llvm.LLVMStructType.from_type_list(types)
    return types[0] if types else llvm.LLVMVoidType()


_NOTHING = DictionaryAttr({})


def _argument_attributes(op: func.FuncOp) -> list[DictionaryAttr]:
    """The attributes of the new arguments: those with the prefix `llvm.`."""
    inputs = op.function_type.inputs.data
    old_attrs = op.arg_attrs.data if op.arg_attrs is not None else [_NOTHING] * len(inputs)
    attrs: list[DictionaryAttr] = []
    for old_type, old in zip(inputs, old_attrs, strict=True):
        found = {key: value for key, value in old.data.items() if key.startswith("llvm.")}
        kept = DictionaryAttr(found) if found else _NOTHING
        fields = positions(old_type.get_num_dims()) if isa(old_type, MemRefType) else [ALIGNED]
        attrs += [kept if field == ALIGNED else _NOTHING for field in fields]
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
        conversion.set(old, Descriptor.made_of(conversion, old, fields))
        for position, field in zip(places, fields, strict=True):
            field.name_hint = field_name(old.name_hint, position)
    for block in others:
        # Blocks with predecessors are converted with the branches to them.
        if not block.predecessors():
            conversion.convert_arguments(block)
