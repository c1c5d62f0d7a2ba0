"""Translation of the LLVM dialect to LLVM IR, as text.

This module translates functions, blocks and globals; `translate_ops` translates ops. All orders are fixed, so that a
module gives the same text in every process. Big constants stay out of the text.

xDSL's `convert_module` does neither: it keeps the order of the blocks, in which a value may be used before it is
defined, gives internal functions the names of C, and drops linkage, attributes and alignment of symbols.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, IntegerAttr, IntegerType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import LLVMTranslationException

from relex.dialects.errors import fail
from relex.dialects.function_arguments import C_INTERFACE_ATTR
from relex.dialects.reserved import MATH, MEMORY, functions_of
from relex.dialects.target.llvm_binding import ir, xdsl_ops, xdsl_types
from relex.dialects.target.machine import CONSTANT_ALIGNMENT, EXTERNAL_CONSTANT_BYTES, INTERNAL_PREFIX
from relex.dialects.upstream.dominance import reverse_postorder
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import walk
from relex.lowering.llvm.debug_lines import DebugLines, LineOf
from relex.lowering.llvm.parallel_calls import add_serial_entry
from relex.lowering.llvm.translate_ops import FunctionTranslation, translate_op


@dataclass(frozen=True)
class Translation:
    """LLVM IR, and the initial contents of the symbols that it declares `external` for big constants."""

    text: str
    constants: dict[str, bytes]


def translate(
    module: ModuleOp, *, triple: str = "", embed_constants: bool = False, line_of: LineOf | None = None
) -> Translation:
    """Translate a module of the LLVM dialect to LLVM IR.

    With `embed_constants` the text contains all constants and needs no runtime; with `line_of`, instructions have debug
    locations, whose lines are what it returns. Raises `CompileError` at an op that is not of the LLVM dialect or that
    cannot be translated.
    """
    check_machine_level(module)
    target = _Module(_called_by_llvm(module))
    target.triple = triple
    constants: dict[str, bytes] = {}
    functions: list[llvm.FuncOp] = []
    for op in module.ops:
        with _located(op):
            match op:
                case llvm.GlobalOp():
                    _translate_global(op, target, constants, embed_constants)
                case llvm.FuncOp():
                    _declare_function(op, target)
                    functions.append(op)
                case _:
                    fail(op, "expected functions and globals in a module")
    lines = None if line_of is None else DebugLines(target, line_of)
    for op in functions:
        if op.body.first_block is not None:
            _translate_body(op, target, lines)
    if embed_constants:
        add_serial_entry(target)
    return Translation(str(target), constants)


def check_machine_level(module: ModuleOp) -> None:
    """Raise `CompileError` at the first op that is not of the LLVM dialect."""
    for op in walk(module):
        if op is not module and not op.name.startswith("llvm."):
            fail(op, f"expected ops of the LLVM dialect, found '{op.name}'; run relex-pipeline{{to=llvm}} first")


@contextmanager
def _located(op: Operation) -> Generator[None]:
    """Turn errors of xDSL's translation and llvmlite into an error at `op`."""
    try:
        yield
    except _UNTRANSLATABLE as e:
        _refuse(op, e)


_UNTRANSLATABLE = (LLVMTranslationException, LookupError, NameError, NotImplementedError, TypeError, ValueError)


def _refuse(op: Operation, error: Exception) -> NoReturn:
    fail(op, f"cannot be translated to LLVM IR: {error}")


class _Module(ir.Module):
    """An LLVM module whose internal functions have other names than in the program.

    Internal functions still have a name in the object code. An internal `exp` would replace the function of the C
    library that LLVM calls for exponentials of the program.
    """

    def __init__(self, reserved: frozenset[str]):
        super().__init__()
        self._reserved = reserved
        self._linked: dict[str, str] = {}

    def link_name(self, op: llvm.FuncOp) -> str:
        """Return the name in the object code of a function of the program."""
        name = op.sym_name.data
        if op.linkage.linkage.data == "internal":
            self._linked[name] = f"{INTERNAL_PREFIX}{name}"
        elif op.body.first_block is not None and name in self._reserved:
            fail(op, f"expected a public function not to be named as one that compiled code calls, found '{name}'")
        if not name or "\0" in name or name.startswith("llvm."):
            fail(op, f"expected a name that a symbol can have, found '{name}'")
        return self._linked.get(name, name)

    def get_global(self, name: str) -> ir.GlobalValue:
        return super().get_global(self._linked.get(name, name))


def _called_by_llvm(module: ModuleOp) -> frozenset[str]:
    """The functions of the C library that the code generator may call for this module."""
    names = {op.intrin.data if type(op) is llvm.CallIntrinsicOp else op.name for op in walk(module)}
    intrinsics = {name.replace("llvm.intr.", "llvm.").replace("llvm.frem", "llvm.fmod") for name in names}
    used = {name.split(".")[1] for name in intrinsics if "." in name}
    return MEMORY | functions_of(MATH & used)


# Globals


def _translate_global(op: llvm.GlobalOp, target: ir.Module, constants: dict[str, bytes], embed_constants: bool) -> None:
    name, value = op.sym_name.data, op.value
    alignment = op.alignment.value.data if op.alignment is not None else None
    if op.body.first_block is not None:
        fail(op, "expected an initial value, found an initializer region")
    if isa(value, DenseIntOrFPElementsAttr):
        data = _bytes_of(value)
        alignment = max(alignment or 1, CONSTANT_ALIGNMENT)
        # Data that the program writes is part of the code, so that each program that loads it has its own copy.
        is_constant = op.constant is not None and alignment == CONSTANT_ALIGNMENT
        external = is_constant and len(data) >= EXTERNAL_CONSTANT_BYTES and not embed_constants
        # As bytes the value is exact, and fast to write and to read.
        variable = ir.GlobalVariable(target, ir.ArrayType(ir.IntType(8), len(data)), name, op.addr_space.value.data)
        if op.constant is None and not any(data):
            # Zeros take no space in a file.
            variable.initializer = ir.Constant(variable.value_type, None)
        elif external:
            constants[name] = data
        else:
            variable.initializer = ir.Constant(variable.value_type, bytearray(data))
    else:
        external = value is None
        variable = ir.GlobalVariable(target, xdsl_types.convert_type(op.global_type), name, op.addr_space.value.data)
        if isinstance(value, StringAttr):
            variable.initializer = ir.Constant(variable.value_type, bytearray(value.data.encode()))
        elif value is not None:
            variable.initializer = xdsl_ops.create_constant(op.global_type, value)
    # llvmlite's typed pointer would be cast by every access.
    variable.type = ir.PointerType(addrspace=op.addr_space.value.data)
    variable.align = alignment
    variable.global_constant = op.constant is not None
    if not external and op.linkage.linkage.data != "external":
        variable.linkage = op.linkage.linkage.data
    if op.thread_local_ is not None:
        variable.storage_class = "thread_local"
    if op.section is not None:
        variable.section = op.section.data


def _bytes_of(value: DenseIntOrFPElementsAttr) -> bytes:
    """The elements in the memory layout of a little-endian machine."""
    data = value.data.data
    if value.get_element_type() == IntegerType(1):
        # True may be stored as -1.
        return bytes(byte & 1 for byte in data)
    return data


# Functions

_ARGUMENT_FLAGS = {
    **{f"llvm.{name}": name for name in "inreg noalias nofree nonnull noundef returned signext zeroext".split()},
    "llvm.nocapture": "captures(none)",
}
_ARGUMENT_NUMBERS = {f"llvm.{name}": name for name in "align dereferenceable dereferenceable_or_null".split()}
_ARGUMENT_HINTS = {"llvm.readnone", "llvm.readonly", "llvm.writeonly"}
"""Promises to LLVM that llvmlite cannot express; dropping them is correct."""


def _declare_function(op: llvm.FuncOp, target: _Module) -> None:
    signature = xdsl_types.convert_type(op.function_type)
    assert isinstance(signature, ir.FunctionType)
    function = ir.Function(target, signature, target.link_name(op))
    linkage = op.linkage.linkage.data
    if linkage != "external":
        function.linkage = linkage
    if op.CConv.cconv_name != "ccc":
        function.calling_convention = op.CConv.cconv_name
    for attribute in _function_attributes(op):
        function.attributes.add(attribute)
    for argument, attrs in zip(function.args, op.arg_attrs or (), strict=False):
        for name, value in attrs.data.items():
            if name in _ARGUMENT_FLAGS:
                argument.add_attribute(_ARGUMENT_FLAGS[name])
            elif name in _ARGUMENT_NUMBERS and isinstance(value, IntegerAttr):
                setattr(argument.attributes, _ARGUMENT_NUMBERS[name], value.value.data)
            elif name not in _ARGUMENT_HINTS and name.startswith("llvm."):
                fail(op, f"expected argument attributes that can be translated, found '{name}'")


def _function_attributes(op: llvm.FuncOp) -> Iterator[str]:
    """The attributes of a function, from its properties and from `passthrough`."""
    # Inlining a function into its C wrapper would duplicate and recompile all of its code.
    if op.no_inline is not None or C_INTERFACE_ATTR in op.attributes:
        yield "noinline"
    if op.no_unwind is not None:
        yield "nounwind"
    passthrough = op.get_attr_or_prop("passthrough")
    if not isa(passthrough, ArrayAttr[Attribute]):
        return
    for attribute in passthrough:
        if not isinstance(attribute, StringAttr):
            fail(op, f"expected names in 'passthrough', found {attribute}")
        yield attribute.data


def _translate_body(op: llvm.FuncOp, target: _Module, lines: DebugLines | None) -> None:
    function = target.get_global(op.sym_name.data)
    assert isinstance(function, ir.Function)
    if lines is not None:
        lines.enter(function)
    body = FunctionTranslation(function)
    order = reverse_postorder(op.body.blocks[0])
    for block in order:
        body.blocks[block] = function.append_basic_block()
    entry, *others = order
    body.values.update(zip(entry.args, function.args, strict=True))
    for argument in (argument for block in others for argument in block.args):
        with _located(op):
            # The branches add the incoming values.
            body.values[argument] = ir.IRBuilder(body.blocks[argument.block]).phi(
                xdsl_types.convert_type(argument.type)
            )
    current: Operation = op
    try:
        for block in order:
            builder = ir.IRBuilder(body.blocks[block])
            builder.position_at_end(body.blocks[block])
            for current in block.ops:
                if lines is not None:
                    builder.debug_metadata = lines.at(current)
                translate_op(current, builder, body)
    except _UNTRANSLATABLE as e:
        _refuse(current, e)
