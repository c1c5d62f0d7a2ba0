"""The LLVM dialect to LLVM IR, as text.

xDSL's `convert_op` translates most ops. This layer adds functions, blocks and globals, the ops that xDSL does not know
or does not translate in full, and an order for everything, so that a module gives the same text in every process. Big
constants stay out of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import llvmlite.ir as ir
from xdsl.backend.llvm.convert_op import convert_op, create_constant
from xdsl.backend.llvm.convert_type import convert_type
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, IntegerAttr, IntegerType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import LLVMTranslationException
from xdsl.utils.hints import isa

from relex.dialects.errors import fail
from relex.dialects.llvm import ExtractElementOp, FPToSIOp, FPToUIOp, SwitchOp, UIToFPOp
from relex.lowering.llvm.intrinsics import mangled
from relex.lowering.llvm.reserved import MATH, MEMORY, functions_of

EXTERNAL_CONSTANT_BYTES = 1024
"""Initial values from this size on stay out of the text, unless they are to be embedded."""

CONSTANT_ALIGNMENT = 64
"""Every constant is aligned to this many bytes, embedded or not."""

OpT = TypeVar("OpT", bound=Operation)


@dataclass(frozen=True)
class Translation:
    """LLVM IR, and the initial contents of the symbols that it declares `external` for big constants."""

    text: str
    constants: dict[str, bytes]


def translate(module: ModuleOp, *, triple: str = "", embed_constants: bool = False) -> Translation:
    """LLVM IR for a module of the LLVM dialect.

    With `embed_constants` the text has every constant in it. Raises `CompileError` at an op that is not of the LLVM
    dialect or that cannot be translated.
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
    for op in functions:
        if op.body.first_block is not None:
            _FunctionTranslation(op, target).run()
    return Translation(str(target), constants)


def check_machine_level(module: ModuleOp) -> None:
    """Raise `CompileError` at the first op that is not of the LLVM dialect."""
    for op in module.walk():
        if op is not module and not op.name.startswith("llvm."):
            fail(op, f"expected ops of the LLVM dialect, found '{op.name}'; run relex-pipeline{{to=llvm}} first")


@contextmanager
def _located(op: Operation) -> Generator[None]:
    """Turns what xDSL's translation and llvmlite raise into an error at `op`."""
    try:
        yield
    except (LLVMTranslationException, LookupError, NameError, NotImplementedError, TypeError, ValueError) as e:
        fail(op, f"cannot be translated to LLVM IR: {e}")


class _Module(ir.Module):
    """An LLVM module whose internal functions have other names than in the program.

    What is internal still has a name in the object code. There `exp` would stand for the function of the C library that
    LLVM calls where the program computes an exponential.
    """

    def __init__(self, reserved: frozenset[str]):
        super().__init__()
        self._reserved = reserved
        self._linked: dict[str, str] = {}

    def link_name(self, op: llvm.FuncOp) -> str:
        """The name for a function of the program."""
        name = op.sym_name.data
        if op.linkage.linkage.data == "internal":
            self._linked[name] = f"relex.{name}"
        elif op.body.first_block is not None and name in self._reserved:
            fail(op, f"expected a public function not to be named as one that compiled code calls, found '{name}'")
        if not name or "\0" in name or name.startswith("llvm."):
            fail(op, f"expected a name that a symbol can have, found '{name}'")
        return self._linked.get(name, name)

    def get_global(self, name: str) -> ir.GlobalValue:
        return super().get_global(self._linked.get(name, name))


def _called_by_llvm(module: ModuleOp) -> frozenset[str]:
    """The functions of the C library that the code generator may call for this module."""
    intrinsics = (op.intrin.data for op in module.walk() if isinstance(op, llvm.CallIntrinsicOp))
    named = (op.name.replace("llvm.intr.", "llvm.").replace("llvm.frem", "llvm.fmod") for op in module.walk())
    used = {name.split(".")[1] for name in (*intrinsics, *named) if "." in name}
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
        external = len(data) >= EXTERNAL_CONSTANT_BYTES and not embed_constants and alignment == CONSTANT_ALIGNMENT
        # As bytes the value is exact, and quick to write and to read.
        variable = ir.GlobalVariable(target, ir.ArrayType(ir.IntType(8), len(data)), name, op.addr_space.value.data)
        if op.constant is None and not any(data):
            # Takes no place in a file.
            external = False
            variable.initializer = ir.Constant(variable.value_type, None)
        elif external:
            constants[name] = data
        else:
            variable.initializer = ir.Constant(variable.value_type, bytearray(data))
    else:
        external = value is None
        variable = ir.GlobalVariable(target, convert_type(op.global_type), name, op.addr_space.value.data)
        if isinstance(value, StringAttr):
            variable.initializer = ir.Constant(variable.value_type, bytearray(value.data.encode()))
        elif value is not None:
            variable.initializer = create_constant(op.global_type, value)
    # As llvmlite makes it, a pointer to this very type, every access would cast it.
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
    """The elements as they lie in the memory of a little-endian machine."""
    data = value.data.data
    if value.get_element_type() == IntegerType(1):
        # True may be stored as -1.
        return bytes(byte & 1 for byte in data)
    return data


# Functions

_ARGUMENT_FLAGS = {
    "llvm.inreg": "inreg",
    "llvm.noalias": "noalias",
    "llvm.nocapture": "captures(none)",
    "llvm.nofree": "nofree",
    "llvm.nonnull": "nonnull",
    "llvm.noundef": "noundef",
    "llvm.returned": "returned",
    "llvm.signext": "signext",
    "llvm.zeroext": "zeroext",
}
_ARGUMENT_NUMBERS = {
    "llvm.align": "align",
    "llvm.dereferenceable": "dereferenceable",
    "llvm.dereferenceable_or_null": "dereferenceable_or_null",
}
_ARGUMENT_HINTS = {"llvm.readnone", "llvm.readonly", "llvm.writeonly"}
"""Promises to LLVM that llvmlite cannot write; leaving them out is correct."""


def _declare_function(op: llvm.FuncOp, target: _Module) -> None:
    signature = convert_type(op.function_type)
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
    if op.no_inline is not None:
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


class _FunctionTranslation:
    """The translation of one function body."""

    def __init__(self, op: llvm.FuncOp, target: _Module):
        function = target.get_global(op.sym_name.data)
        assert isinstance(function, ir.Function)
        self.function = function
        self._op = op
        self.values: dict[SSAValue, ir.Value] = {}
        self.blocks: dict[Block, ir.Block] = {}
        self._order = _reverse_postorder(op.body)

    def run(self) -> None:
        for block in self._order:
            self.blocks[block] = self.function.append_basic_block()
        entry, *others = self._order
        self.values.update(zip(entry.args, self.function.args, strict=True))
        for block in others:
            builder = ir.IRBuilder(self.blocks[block])
            with _located(self._op):
                for argument in block.args:
                    # The branches add what comes in.
                    self.values[argument] = builder.phi(convert_type(argument.type))
        for block in self._order:
            builder = ir.IRBuilder(self.blocks[block])
            builder.position_at_end(self.blocks[block])
            for op in block.ops:
                self._translate_op(op, builder)

    def _translate_op(self, op: Operation, builder: ir.IRBuilder) -> None:
        rule = _RULES.get(type(op))
        with _located(op):
            if rule is None:
                convert_op(op, builder, self.values, self.blocks)
            else:
                rule(op, builder, self)
        if op.results and isinstance(instruction := self.values[op.results[0]], ir.Instruction):
            # They come out of sets.
            instruction.flags.sort()


def _reverse_postorder(region: Region) -> list[Block]:
    """The reachable blocks, each behind the blocks that dominate it."""
    entry = region.first_block
    assert entry is not None
    seen = {entry}
    postorder: list[Block] = []
    stack = [(entry, _successors(entry))]
    while stack:
        block, successors = stack[-1]
        following = next((s for s in successors if s not in seen), None)
        if following is None:
            postorder.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, _successors(following)))
    return postorder[::-1]


def _successors(block: Block) -> Iterator[Block]:
    terminator = block.last_op
    # Reversed, so that the blocks come out in the order in which branches name them.
    return reversed(terminator.successors) if terminator is not None else iter(())


# Ops that xDSL does not know or does not translate in full

_Rule = Callable[[OpT, ir.IRBuilder, _FunctionTranslation], None]
_RULES: dict[type[Operation], _Rule[Any]] = {}


def _rule(*kinds: type[OpT]) -> Callable[[_Rule[OpT]], _Rule[OpT]]:
    def register(function: _Rule[OpT]) -> _Rule[OpT]:
        _RULES.update(dict.fromkeys(kinds, function))
        return function

    return register


# Branches. A phi has one value for each block that it is reached from: of several ways from one block to another, all
# but the first lead over a block of their own.


@_rule(llvm.BrOp)
def _translate_br(op: llvm.BrOp, builder: ir.IRBuilder, function: _FunctionTranslation) -> None:
    builder.branch(_Ways(builder, function).to(op.successor, op.arguments))


@_rule(llvm.CondBrOp)
def _translate_cond_br(op: llvm.CondBrOp, builder: ir.IRBuilder, function: _FunctionTranslation) -> None:
    ways = _Ways(builder, function)
    then = ways.to(op.then_block, op.then_arguments)
    builder.cbranch(function.values[op.cond], then, ways.to(op.else_block, op.else_arguments))


@_rule(SwitchOp)
def _translate_switch(op: SwitchOp, builder: ir.IRBuilder, function: _FunctionTranslation) -> None:
    ways = _Ways(builder, function)
    value = function.values[op.value]
    switch = builder.switch(value, ways.to(op.default_block, op.default_arguments))
    for number, block, arguments in zip(op.case_numbers, op.case_blocks, op.case_arguments, strict=True):
        switch.add_case(ir.Constant(value.type, number), ways.to(block, arguments))


class _Ways:
    """The ways out of the block that `builder` writes."""

    def __init__(self, builder: ir.IRBuilder, function: _FunctionTranslation):
        self._from = builder.block
        self._function = function
        self._used: set[Block] = set()

    def to(self, target: Block, arguments: Sequence[SSAValue]) -> ir.Block:
        """Where to branch to so that `target` gets `arguments`."""
        function = self._function
        first, source = function.blocks[target], self._from
        if arguments and target in self._used:
            first = source = function.function.append_basic_block()
            ir.IRBuilder(source).branch(function.blocks[target])
        self._used.add(target)
        for argument, value in zip(target.args, arguments, strict=True):
            phi = function.values[argument]
            assert isinstance(phi, ir.PhiInstr)
            phi.add_incoming(function.values[value], source)
        return first


@_rule(llvm.FCmpOp)
def _translate_fcmp(op: llvm.FCmpOp, builder: ir.IRBuilder, function: _FunctionTranslation) -> None:
    flags = op.attributes.get("fastmathFlags", op.fastmathFlags)
    predicate = llvm.FCmpPredicateFlag.from_int(op.predicate.value.data).value.strip("_")
    function.values[op.res] = builder.fcmp_ordered(
        predicate, function.values[op.lhs], function.values[op.rhs], flags=_flag_names(flags)
    )


@_rule(FPToSIOp)
def _translate_fptosi(op: FPToSIOp, builder: ir.IRBuilder, function: _FunctionTranslation) -> None:
    function.values[op.result] = builder.fptosi(function.values[op.arg], convert_type(op.result.type))


@_rule(FPToUIOp)
def _translate_fptoui(op: FPToUIOp, builder: ir.IRBuilder, function: _FunctionTranslation) -> None:
    function.values[op.result] = builder.fptoui(function.values[op.arg], convert_type(op.result.type))


@_rule(UIToFPOp)
def _translate_uitofp(op: UIToFPOp, builder: ir.IRBuilder, function: _FunctionTranslation) -> None:
    function.values[op.result] = builder.uitofp(function.values[op.arg], convert_type(op.result.type))


@_rule(ExtractElementOp)
def _translate_extractelement(op: ExtractElementOp, builder: ir.IRBuilder, function: _FunctionTranslation) -> None:
    function.values[op.res] = builder.extract_element(function.values[op.vector], function.values[op.index])


@_rule(llvm.ShuffleVectorOp)
def _translate_shufflevector(op: llvm.ShuffleVectorOp, builder: ir.IRBuilder, function: _FunctionTranslation) -> None:
    # A lane of -1 may hold anything; llvmlite cannot write that.
    lanes = [max(lane, 0) for lane in op.mask.get_values()]
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
    function.values[op.res] = builder.shuffle_vector(function.values[op.v1], function.values[op.v2], mask)


@_rule(llvm.LoadOp, llvm.StoreOp)
def _translate_access(op: llvm.LoadOp | llvm.StoreOp, builder: ir.IRBuilder, function: _FunctionTranslation) -> None:
    if op.ordering is not None and op.ordering.value.data:
        fail(op, "expected a non-atomic access")
    if isinstance(op, llvm.StoreOp) and op.volatile_ is not None:
        fail(op, "expected a non-volatile access")
    convert_op(op, builder, function.values)


@_rule(llvm.CallIntrinsicOp)
def _translate_call_intrinsic(op: llvm.CallIntrinsicOp, builder: ir.IRBuilder, function: _FunctionTranslation) -> None:
    if op.op_bundle_operands:
        fail(op, "expected no operand bundles")
    _call_intrinsic(op, op.intrin.data, op.args, builder, function)


@_rule(
    llvm.FAbsOp,
    llvm.FCeilOp,
    llvm.FCopySignOp,
    llvm.FCosOp,
    llvm.FExp2Op,
    llvm.FExpOp,
    llvm.FFloorOp,
    llvm.FLog2Op,
    llvm.FLogOp,
    llvm.FMAOp,
    llvm.FPowOp,
    llvm.FSinOp,
    llvm.FSqrtOp,
    llvm.VectorFMaxOp,
    llvm.VectorFMinOp,
)
def _translate_intrinsic_op(op: Operation, builder: ir.IRBuilder, function: _FunctionTranslation) -> None:
    name = mangled(op.name.replace("llvm.intr.", "llvm."), op.results[0].type)
    _call_intrinsic(op, name, op.operands, builder, function)


@_rule(llvm.VectorReduceFAddOp, llvm.VectorReduceFMulOp)
def _translate_vector_reduce(
    op: llvm.VectorReduceOperation, builder: ir.IRBuilder, function: _FunctionTranslation
) -> None:
    name = mangled(op.name.replace("llvm.intr.", "llvm."), op.vector.type)
    _call_intrinsic(op, name, op.operands, builder, function)


@_rule(llvm.MaskedStoreOp)
def _translate_masked_store(op: llvm.MaskedStoreOp, builder: ir.IRBuilder, function: _FunctionTranslation) -> None:
    # Without a word on the alignment, LLVM expects none.
    _call_intrinsic(op, f"{mangled('llvm.masked.store', op.value.type)}.p0", op.operands, builder, function)


@_rule(llvm.StackSaveOp, llvm.StackRestoreOp)
def _translate_stack(
    op: llvm.StackSaveOp | llvm.StackRestoreOp, builder: ir.IRBuilder, function: _FunctionTranslation
) -> None:
    _call_intrinsic(op, op.name.replace("llvm.intr.", "llvm.") + ".p0", op.operands, builder, function)


def _call_intrinsic(
    op: Operation, name: str, operands: Sequence[SSAValue], builder: ir.IRBuilder, function: _FunctionTranslation
) -> None:
    arguments = [function.values[operand] for operand in operands]
    result = convert_type(op.results[0].type) if op.results else ir.VoidType()
    signature = ir.FunctionType(result, [argument.type for argument in arguments])
    callee = builder.module.globals.get(name)
    if not isinstance(callee, ir.Function):
        callee = ir.Function(builder.module, signature, name)
    call = builder.call(callee, arguments, fastmath=_flag_names(op.get_attr_or_prop("fastmathFlags")))
    if op.results:
        function.values[op.results[0]] = call


def _flag_names(flags: object) -> list[str]:
    return sorted(flag.value for flag in flags.data) if isinstance(flags, llvm.FastMathAttr) else []
