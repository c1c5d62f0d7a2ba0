"""Calls at the graph level: of loop functions, library functions and fused groups."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FlatSymbolRefAttrConstr,
    IndexType,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Pure
from xdsl.utils.exceptions import VerifyException

from relex.dialects.dtypes import TensorConstr, storage_of, var_tensor_operand_def
from relex.dialects.relex.structure import impurity
from relex.dialects.relex.tensor_ops import verify_sizes
from relex.dialects.symbols import VerifiesCallee, resolve
from relex.dialects.upstream.hints import isa

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from relex.dialects.tir import PrimFuncOp

PRIMITIVE_ATTR = "relex.primitive"
"""Marks a function as a fused group."""


class _CallWithResults(IRDLOperation, ABC):
    """A call that allocates its results, and passes them after the arguments: one size for each `?` of the results."""

    arguments = var_tensor_operand_def()
    sizes = var_operand_def(IndexType)
    outputs = var_result_def(TensorConstr)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    assembly_format = (
        "$callee `(` $arguments `)` (`sizes` `(` $sizes^ `)`)? attr-dict `:` functional-type($arguments, $outputs)"
    )

    def verify_(self) -> None:
        verify_sizes(self.sizes, self.result_types)


@irdl_op_definition
class CallTirOp(_CallWithResults):
    """
    Calls a loop function as a pure op: allocates the results, passes them after the arguments, returns them. It has one
    result for each output of the `tir.prim_func`, in their order, and one size for each `?` of the results.

    ```mlir
    %y = relex.call_tir @linear0(%x, %w, %b)
        : (tensor<1x784xf32>, tensor<128x784xf32>, tensor<128xf32>) -> tensor<1x128xf32>
    %z = relex.call_tir @relu(%v) sizes(%n) : (tensor<?x128xf32>) -> tensor<?x128xf32>
    ```
    """

    name = "relex.call_tir"

    callee = prop_def(FlatSymbolRefAttrConstr)
    traits = traits_def(Pure(), VerifiesCallee())

    def __init__(
        self,
        callee: str | SymbolRefAttr,
        arguments: Sequence[SSAValue | Operation],
        result_types: Sequence[TensorType],
        sizes: Sequence[SSAValue | Operation] = (),
    ):
        symbol = SymbolRefAttr(callee) if isinstance(callee, str) else callee
        super().__init__(operands=[arguments, sizes], result_types=[result_types], properties={"callee": symbol})

    def verify_callee(self) -> None:
        """Check the call against the signature of the loop function."""
        from relex.dialects.tir import PrimFuncOp

        callee = resolve(self, self.callee, PrimFuncOp)
        _verify_buffers(callee, "arguments", self.arguments.types, callee.input_types)
        _verify_buffers(callee, "results", self.result_types, callee.output_types)


def _verify_buffers(callee: PrimFuncOp, what: str, tensors: Sequence[Attribute], buffers: Sequence[Attribute]) -> None:
    name = callee.sym_name.data
    if len(tensors) != len(buffers):
        raise VerifyException(f"expected {len(buffers)} {what} for @{name}, found {len(tensors)}")
    for i, (tensor, buffer) in enumerate(zip(tensors, buffers, strict=True)):
        if not isa(tensor, TensorType) or not isa(buffer, MemRefType) or not _fits(tensor, buffer):
            raise VerifyException(f"expected {what[:-1]} {i} to fit {buffer} of @{name}, found {tensor}")


def _fits(tensor: TensorType, buffer: MemRefType) -> bool:
    """Return whether the buffer holds such elements, ranks are equal, and so are sizes as far as both are static."""
    sizes, expected = tensor.get_shape(), buffer.get_shape()
    if storage_of(tensor.element_type) != buffer.element_type or len(sizes) != len(expected):
        return False
    return all(a == b or DYNAMIC_INDEX in (a, b) for a, b in zip(sizes, expected, strict=True))


class _LibraryEffect(MemoryEffect):
    """No effect, unless the call has `side_effects`."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        if cast(CallDpsPackedOp, op).side_effects is None:
            return frozenset()
        return {EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE)}


@irdl_op_definition
class CallDpsPackedOp(_CallWithResults):
    """
    Calls a registered library function in destination-passing style: arguments first, then the results to fill. The
    call is considered pure unless it has `side_effects`.

    ```mlir
    %y = relex.call_dps_packed "env.relu"(%x) : (tensor<1x128xf32>) -> tensor<1x128xf32>
    relex.call_dps_packed "env.log"(%y) {side_effects} : (tensor<1x128xf32>) -> ()
    ```
    """

    name = "relex.call_dps_packed"

    callee = prop_def(StringAttr)
    side_effects = opt_prop_def(UnitAttr)
    traits = traits_def(_LibraryEffect())

    def __init__(
        self,
        callee: str | StringAttr,
        arguments: Sequence[SSAValue | Operation],
        result_types: Sequence[TensorType],
        sizes: Sequence[SSAValue | Operation] = (),
        side_effects: bool = False,
    ):
        if isinstance(callee, str):
            callee = StringAttr(callee)
        super().__init__(
            operands=[arguments, sizes],
            result_types=[result_types],
            properties={"callee": callee, "side_effects": UnitAttr() if side_effects else None},
        )

    def verify_(self) -> None:
        super().verify_()
        if not self.callee.data:
            raise VerifyException("expected the name of a library function, found an empty string")


@irdl_op_definition
class CallOp(IRDLOperation):
    """
    Calls a fused group: a private `func.func` marked `relex.primitive` whose body is pure. Other functions are called
    by `func.call`.

    ```mlir
    %y = relex.call @fused_dense_add0(%x, %w, %b)
        : (tensor<1x784xf32>, tensor<128x784xf32>, tensor<128xf32>) -> tensor<1x128xf32>
    ```
    """

    name = "relex.call"

    callee = prop_def(FlatSymbolRefAttrConstr)
    arguments = var_tensor_operand_def()
    outputs = var_result_def(TensorConstr)

    traits = traits_def(Pure(), VerifiesCallee())

    assembly_format = "$callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $outputs)"

    def __init__(
        self, callee: str | SymbolRefAttr, arguments: Sequence[SSAValue | Operation], result_types: Sequence[Attribute]
    ):
        symbol = SymbolRefAttr(callee) if isinstance(callee, str) else callee
        super().__init__(operands=[arguments], result_types=[result_types], properties={"callee": symbol})

    def verify_callee(self) -> None:
        """Check that the callee is a pure fused group of the same type as the call."""
        callee = resolve(self, self.callee, FuncOp)
        name = callee.sym_name.data
        if PRIMITIVE_ATTR not in callee.attributes:
            raise VerifyException(f"expected @{name} to be marked '{PRIMITIVE_ATTR}'; 'func.call' calls others")
        if callee.is_declaration:
            raise VerifyException(f"expected @{name} to have a body")
        found = (tuple(self.arguments.types), tuple(self.result_types))
        expected = (callee.function_type.inputs.data, callee.function_type.outputs.data)
        if found != expected:
            raise VerifyException(f"expected a call of type {callee.function_type}, as @{name} has it")
        for op in (op for block in callee.body.blocks for op in block.ops if op is not block.last_op):
            if (reason := impurity(op)) is not None:
                raise VerifyException(f"expected @{name} to be pure, found '{op.name}' in it, which {reason}")
