"""Functions of bytes as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import i8
from xdsl.ir import Attribute
from xdsl.irdl import prop_def

from relex.dialects.dtypes import integer_limits, ui8
from relex.dialects.errors import InferenceError
from relex.dialects.relex.declared import declared
from relex.dialects.relex.elementwise import Element, Functions, UnaryFunction
from relex.dialects.relex.operator import Exactness, Operand
from relex.dialects.relex.properties import IntegersConstr, as_integers
from relex.dialects.relex.types import SizedType, tensor_type

BYTES = 256


@declared
class LookUpOp(UnaryFunction, allowed=(i8, ui8), exactness=Exactness.BITS):
    """
    A number in a table for each byte: the first one for the least byte, -128 or 0, the second one for the next byte,
    and so on. The last one is for all bytes that are larger, too.

    ```mlir
    %y = relex.look_up %x table = [0, 1, 4, 9, 16, 25] : (tensor<3x4xui8>) -> tensor<3x4xui8>
    ```
    """

    table = prop_def(IntegersConstr)

    def __init__(self, operand: Operand, table: Sequence[int]):
        super().__init__(operand, properties={"table": table})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        found, table = super().infer(operands, properties), as_integers(properties["table"])
        low, high = integer_limits(found.element_type)
        if not 0 < len(table) <= BYTES:
            raise InferenceError(f"expected a table of 1 to {BYTES} numbers, found {len(table)}")
        if any(not low <= number <= high for number in table):
            raise InferenceError(f"expected numbers from {low} to {high}, found {min(table)} to {max(table)}")
        return found

    def formula(self, f: Functions, x: Element) -> Element:
        kind = tensor_type(self.operand.type).element_type
        low, _ = integer_limits(kind)
        table = as_integers(self.table)
        numbers = (*table, *table[-1:] * (BYTES - len(table)))
        return f.look_up(x, (*numbers[-low:], *numbers[:-low]), kind)
