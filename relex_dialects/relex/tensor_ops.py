"""Ops that create tensors."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, IndexType, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, MemoryAllocEffect, Pure
from xdsl.utils.exceptions import VerifyException

from relex.dialects.arrays import Array
from relex.dialects.dtypes import TensorConstr, array_from_dense, dense_from_array
from relex.dialects.upstream.dense import parse_dense, print_dense
from relex.dialects.upstream.printer import ExactPrinter


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """
    A constant tensor. Up to 16 elements print as numbers; more elements, and floats without a decimal form, print as
    their little-endian bytes.

    ```mlir
    %b = relex.constant dense<[0.5, -1.0]> : tensor<2xf32>
    %n = relex.constant dense<"0x0000C07F"> : tensor<1xf32>
    ```
    """

    name = "relex.constant"

    value = prop_def(DenseIntOrFPElementsAttr)
    result = result_def(TensorConstr)

    traits = traits_def(Pure(), ConstantLike())

    def __init__(self, value: DenseIntOrFPElementsAttr | Array):
        if not isinstance(value, DenseIntOrFPElementsAttr):
            value = dense_from_array(value)
        super().__init__(properties={"value": value}, result_types=[value.type])

    def verify_(self) -> None:
        if self.value.type != self.result.type:
            raise VerifyException(f"expected a value of type {self.result.type}, found {self.value.type}")

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        attributes = parser.parse_optional_attr_dict()
        op = cls(parse_dense(parser))
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        if isinstance(printer, ExactPrinter):
            printer.print_attribute(self.value)  # Exact as well, unless it elides.
        else:
            print_dense(printer, self.value)


def array_of(value: SSAValue) -> Array | None:
    """Return the elements of a constant, as an array that shares its memory and cannot be written; None for other
    values. `ConstantOp(array)` is the way back. Elements of bf16, which NumPy does not have, are their bits."""
    return array_from_dense(value.owner.value) if isinstance(value.owner, ConstantOp) else None


@irdl_op_definition
class AllocTensorOp(IRDLOperation):
    """
    A new tensor of unspecified contents, with one size for each `?` of its type. Allocation is a side effect: the op
    stays outside of dataflow blocks, and two of them are never merged.

    ```mlir
    %a = relex.alloc_tensor : tensor<1x128xf32>
    %b = relex.alloc_tensor sizes(%n) : tensor<?x128xf32>
    ```
    """

    name = "relex.alloc_tensor"

    sizes = var_operand_def(IndexType)
    result = result_def(TensorConstr)

    traits = traits_def(MemoryAllocEffect())

    assembly_format = "(`sizes` `(` $sizes^ `)`)? attr-dict `:` type($result)"

    def __init__(self, result_type: TensorType, sizes: Sequence[SSAValue | Operation] = ()):
        super().__init__(operands=[sizes], result_types=[result_type])

    def verify_(self) -> None:
        verify_sizes(self.sizes, self.result_types)


def verify_sizes(sizes: Sequence[SSAValue], result_types: Sequence[Attribute]) -> None:
    """Check that there is one size for each `?` of the results, in order."""
    expected = sum(list(t.get_shape()).count(DYNAMIC_INDEX) for t in result_types if isinstance(t, TensorType))
    if len(sizes) != expected:
        raise VerifyException(f"expected {expected} sizes, one for each '?' of the results, found {len(sizes)}")
