"""Translation of LLVM dialect ops that xDSL lacks or translates only in part; all output has a fixed order.

xDSL's `convert_op` translates the others. It lacks `llvm.switch`, `llvm.extractelement`, numbers of bf16, and casts
between floats and unsigned integers, drops loop annotations and fast-math flags of comparisons, refuses fast-math flags
of intrinsics, and gives a phi two values for one block if both ways of a branch lead to the same target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import BFloat16Type, VectorType
from xdsl.ir import Block, Operation, SSAValue

from relex.dialects.errors import fail
from relex.dialects.table import Table
from relex.dialects.target.llvm_binding import ir, xdsl_ops, xdsl_types
from relex.dialects.upstream.hints import isa
from relex.dialects.upstream.llvm import ExtractElementOp, FPToSIOp, FPToUIOp, LoopAnnotationAttr, SwitchOp, UIToFPOp
from relex.lowering.llvm.intrinsics import mangled
from relex.lowering.llvm.types import MONOTONIC


@dataclass(frozen=True)
class FunctionTranslation:
    """A function that is being translated, and the LLVM values and blocks emitted so far."""

    function: ir.Function
    values: dict[SSAValue, ir.Value] = field(default_factory=dict[SSAValue, ir.Value])
    blocks: dict[Block, ir.Block] = field(default_factory=dict[Block, ir.Block])


TRANSLATIONS = Table[type[Operation], Callable[[Any, ir.IRBuilder, FunctionTranslation], None]]("LLVM IR")


def translate_op(op: Operation, builder: ir.IRBuilder, body: FunctionTranslation) -> None:
    """Translate `op` into `body`, at the position of `builder`."""
    rule = TRANSLATIONS.find(op)
    if rule is None:
        xdsl_ops.convert_op(op, builder, body.values, body.blocks)
    else:
        rule(op, builder, body)
    if op.results and isinstance(instruction := body.values[op.results[0]], ir.Instruction):
        # Flags come from sets, in no fixed order.
        instruction.flags.sort()


# Branches. A phi has one value for each predecessor: of several edges from one block to another, all but the first go
# through a separate block.


@TRANSLATIONS.rule(llvm.BrOp)
def _translate_br(op: llvm.BrOp, builder: ir.IRBuilder, body: FunctionTranslation) -> None:
    branch = builder.branch(_Ways(builder, body).to(op.successor, op.arguments))
    annotation = op.attributes.get("loop_annotation")
    if isinstance(annotation, LoopAnnotationAttr):
        branch.set_metadata("llvm.loop", _loop_metadata(builder.module, annotation))


def _loop_metadata(module: ir.Module, annotation: LoopAnnotationAttr) -> ir.MDValue:
    """The metadata that controls LLVM's unrolling of one loop: a distinct node, whose first operand is itself."""
    request = annotation.data
    values = [ir.Constant(ir.IntType(32), request)] if isinstance(request, int) else []
    unrolling = module.add_metadata([f"llvm.loop.unroll.{'count' if values else request}", *values])
    node = ir.MDValue(module, (), name=str(len(module.metadata)))
    node.operands = (node, unrolling)
    return node


@TRANSLATIONS.rule(llvm.CondBrOp)
def _translate_cond_br(op: llvm.CondBrOp, builder: ir.IRBuilder, body: FunctionTranslation) -> None:
    ways = _Ways(builder, body)
    then = ways.to(op.then_block, op.then_arguments)
    builder.cbranch(body.values[op.cond], then, ways.to(op.else_block, op.else_arguments))


@TRANSLATIONS.rule(SwitchOp)
def _translate_switch(op: SwitchOp, builder: ir.IRBuilder, body: FunctionTranslation) -> None:
    ways = _Ways(builder, body)
    value = body.values[op.value]
    switch = builder.switch(value, ways.to(op.default_block, op.default_arguments))
    for number, block, arguments in zip(op.case_numbers, op.case_blocks, op.case_arguments, strict=True):
        switch.add_case(ir.Constant(value.type, number), ways.to(block, arguments))


class _Ways:
    """The successor edges of the block that `builder` writes."""

    def __init__(self, builder: ir.IRBuilder, body: FunctionTranslation):
        self._from = builder.block
        self._body = body
        self._used: set[Block] = set()

    def to(self, target: Block, arguments: Sequence[SSAValue]) -> ir.Block:
        """Return the block to branch to so that `target` gets `arguments`."""
        body = self._body
        first, source = body.blocks[target], self._from
        if arguments and target in self._used:
            first = source = body.function.append_basic_block()
            ir.IRBuilder(source).branch(body.blocks[target])
        self._used.add(target)
        for argument, value in zip(target.args, arguments, strict=True):
            phi = body.values[argument]
            assert isinstance(phi, ir.PhiInstr)
            phi.add_incoming(body.values[value], source)
        return first


@TRANSLATIONS.rule(llvm.FCmpOp)
def _translate_fcmp(op: llvm.FCmpOp, builder: ir.IRBuilder, body: FunctionTranslation) -> None:
    flags = op.attributes.get("fastmathFlags", op.fastmathFlags)
    predicate = llvm.FCmpPredicateFlag.from_int(op.predicate.value.data).value.strip("_")
    body.values[op.res] = builder.fcmp_ordered(
        predicate, body.values[op.lhs], body.values[op.rhs], flags=_flag_names(flags)
    )


@TRANSLATIONS.rule(FPToSIOp, FPToUIOp, UIToFPOp)
def _translate_cast(op: FPToSIOp | FPToUIOp | UIToFPOp, builder: ir.IRBuilder, body: FunctionTranslation) -> None:
    casts = {FPToSIOp: builder.fptosi, FPToUIOp: builder.fptoui, UIToFPOp: builder.uitofp}
    body.values[op.result] = casts[type(op)](body.values[op.arg], xdsl_types.convert_type(op.result.type))


@TRANSLATIONS.rule(llvm.BitcastOp)
def _translate_bitcast(op: llvm.BitcastOp, builder: ir.IRBuilder, body: FunctionTranslation) -> None:
    kind = op.result.type
    if isa(kind, VectorType[BFloat16Type]):
        target: ir.Type = ir.VectorType(_bfloat(), kind.get_shape()[0])
    else:
        target = xdsl_types.convert_type(kind)
    body.values[op.result] = builder.bitcast(body.values[op.arg], target)


@cache
def _bfloat() -> ir.Type:
    """Return LLVM's type of numbers of bf16, which llvmlite lacks."""

    class BFloatType(ir.Type):
        def _to_string(self) -> str:
            return "bfloat"

    return BFloatType()


@TRANSLATIONS.rule(ExtractElementOp)
def _translate_extractelement(op: ExtractElementOp, builder: ir.IRBuilder, body: FunctionTranslation) -> None:
    body.values[op.res] = builder.extract_element(body.values[op.vector], body.values[op.index])


@TRANSLATIONS.rule(llvm.ShuffleVectorOp)
def _translate_shufflevector(op: llvm.ShuffleVectorOp, builder: ir.IRBuilder, body: FunctionTranslation) -> None:
    # A lane of -1 is undefined; llvmlite cannot express that.
    lanes = [max(lane, 0) for lane in op.mask.get_values()]
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
    body.values[op.res] = builder.shuffle_vector(body.values[op.v1], body.values[op.v2], mask)


@TRANSLATIONS.rule(llvm.AllocaOp)
def _translate_alloca(op: llvm.AllocaOp, builder: ir.IRBuilder, body: FunctionTranslation) -> None:
    xdsl_ops.convert_op(op, builder, body.values, body.blocks)
    # llvmlite's pointer to elements could not be used for vectors of them.
    body.values[op.res].type = ir.PointerType()


@TRANSLATIONS.rule(llvm.GEPOp)
def _translate_address(op: llvm.GEPOp, builder: ir.IRBuilder, body: FunctionTranslation) -> None:
    pointer, *values = (body.values[value] for value in op.operands)
    places = iter(values)
    indices = [
        next(places) if place == llvm.GEP_USE_SSA_VAL else ir.Constant(_I32, place)
        for place in op.rawConstantIndices.iter_values()
    ]
    kind = xdsl_types.convert_type(op.elem_type)
    body.values[op.results[0]] = builder.gep(pointer, indices, inbounds=op.inbounds is not None, source_etype=kind)


_I32 = ir.IntType(32)


@TRANSLATIONS.rule(llvm.LoadOp, llvm.StoreOp)
def _translate_access(op: llvm.LoadOp | llvm.StoreOp, builder: ir.IRBuilder, body: FunctionTranslation) -> None:
    if op.ordering is not None and (ordering := op.ordering.value.data):
        if not isinstance(op, llvm.LoadOp) or op.alignment is None or ordering != MONOTONIC:
            fail(op, "expected a non-atomic access, or a monotonic load that is aligned")
        kind, align = xdsl_types.convert_type(op.dereferenced_value.type), op.alignment.value.data
        body.values[op.dereferenced_value] = builder.load_atomic(body.values[op.ptr], "monotonic", align, typ=kind)
        return
    if isinstance(op, llvm.StoreOp) and op.volatile_ is not None:
        fail(op, "expected a non-volatile access")
    xdsl_ops.convert_op(op, builder, body.values)


@TRANSLATIONS.rule(llvm.CallOp)
def _translate_call(op: llvm.CallOp, builder: ir.IRBuilder, body: FunctionTranslation) -> None:
    if op.callee is not None:
        xdsl_ops.convert_op(op, builder, body.values)
        return
    if not op.args or op.op_bundle_operands or op.var_callee_type is not None:
        fail(op, "expected a call of a function or of a pointer, with plain arguments")
    function, *arguments = (body.values[value] for value in op.args)
    result = ir.VoidType() if op.returned is None else xdsl_types.convert_type(op.returned.type)
    # llvmlite takes the signature of a call from the pointer type.
    function.type = ir.PointerType(ir.FunctionType(result, [value.type for value in arguments]))
    called = builder.call(function, arguments)
    if op.returned is not None:
        body.values[op.returned] = called


@TRANSLATIONS.rule(llvm.CallIntrinsicOp)
def _translate_call_intrinsic(op: llvm.CallIntrinsicOp, builder: ir.IRBuilder, body: FunctionTranslation) -> None:
    if op.op_bundle_operands:
        fail(op, "expected no operand bundles")
    _call_intrinsic(op, op.intrin.data, op.args, builder, body)


@TRANSLATIONS.rule(*(op for op in llvm.LLVM.operations if op.name.startswith("llvm.intr.")))
def _translate_intrinsic_op(op: Operation, builder: ir.IRBuilder, body: FunctionTranslation) -> None:
    """Call the intrinsic of the same name, which is overloaded by the type of the last operand: of a reduction, the
    vector."""
    name = op.name.replace("llvm.intr.", "llvm.")
    match op:
        case llvm.StackSaveOp() | llvm.StackRestoreOp():
            name += ".p0"
        case llvm.MaskedStoreOp():
            # Without a stated alignment, LLVM assumes 1.
            name = f"{mangled(name, op.value.type)}.p0"
        case _:
            name = mangled(name, op.operands[-1].type)
    _call_intrinsic(op, name, op.operands, builder, body)


def _call_intrinsic(
    op: Operation, name: str, operands: Sequence[SSAValue], builder: ir.IRBuilder, body: FunctionTranslation
) -> None:
    arguments = [body.values[operand] for operand in operands]
    result = xdsl_types.convert_type(op.results[0].type) if op.results else ir.VoidType()
    signature = ir.FunctionType(result, [argument.type for argument in arguments])
    callee = builder.module.globals.get(name)
    if not isinstance(callee, ir.Function):
        callee = ir.Function(builder.module, signature, name)
    call = builder.call(callee, arguments, fastmath=_flag_names(op.get_attr_or_prop("fastmathFlags")))
    if op.results:
        body.values[op.results[0]] = call


def _flag_names(flags: object) -> list[str]:
    return sorted(flag.value for flag in flags.data) if isinstance(flags, llvm.FastMathAttr) else []
