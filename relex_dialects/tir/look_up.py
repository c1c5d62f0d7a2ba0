"""Numbers that are looked up in tables."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, VectorType, bf16, f16, f32, f64, i8, i16, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    BaseAttr,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.type import get_element_type_or_self

from relex.dialects.arrays import np
from relex.dialects.dtypes import dense_from_bytes, dense_type, numpy_dtype, storage_of
from relex.dialects.upstream.hints import isa

_PLACES = (i8, i16, i32, i64)
_NUMBERS = (*_PLACES, f16, bf16, f32, f64)


@irdl_op_definition
class TableLookUpOp(IRDLOperation):
    """
    The number in a table that the lowest bits of an integer count to, from 0: 4 bits in a table of 16 numbers, 8 bits
    in one of 256. Higher bits are ignored, so that no integer is outside of the table. On vectors it is elementwise.

    ```mlir
    %y = tir.look_up %x in dense<[1, 3, 5, 7, 9, 11, 13, 15, 1, 2, 3, 4, 5, 6, 7, 8]> : tensor<16xi8> : i32 -> i8
    ```
    """

    name = "tir.look_up"

    operand = operand_def(AnyAttr())
    table = prop_def(BaseAttr(DenseIntOrFPElementsAttr))
    result = result_def(AnyAttr())

    assembly_format = "$operand `in` $table attr-dict `:` type($operand) `->` type($result)"
    traits = traits_def(Pure())

    def __init__(self, operand: SSAValue | Operation, table: DenseIntOrFPElementsAttr):
        result = _like(SSAValue.get(operand).type, table.get_element_type())
        super().__init__(operands=[operand], result_types=[result], properties={"table": table})

    def verify_(self) -> None:
        kind, table = self.operand.type, self.table.type
        if get_element_type_or_self(kind) not in _PLACES:
            raise VerifyException(f"expected integers of 8, 16, 32 or 64 bits to look up, found {kind}")
        if isa(kind, VectorType) and (kind.get_num_dims() != 1 or kind.get_num_scalable_dims()):
            raise VerifyException(f"expected vectors of one dimension, found {kind}")
        if table.get_shape() not in ((16,), (256,)):
            raise VerifyException(f"expected a table of 16 or 256 numbers, found {table}")
        if table.element_type not in _NUMBERS:
            raise VerifyException(f"expected numbers of {', '.join(map(str, _NUMBERS))} in a table, found {table}")
        if self.result.type != (expected := _like(kind, self.table.get_element_type())):
            raise VerifyException(f"expected a result of {expected}, found {self.result.type}")


def table_of(numbers: Sequence[float], element_type: Attribute) -> DenseIntOrFPElementsAttr:
    """Return numbers of an element type of tensors as a table."""
    array = np.asarray(numbers, numpy_dtype(element_type))
    return dense_from_bytes(dense_type(storage_of(element_type), array.shape), array.tobytes())


def _like(kind: Attribute, element_type: Attribute) -> Attribute:
    """Return the type of as many numbers of another element type."""
    return VectorType(element_type, kind.shape, kind.scalable_dims) if isa(kind, VectorType) else element_type
