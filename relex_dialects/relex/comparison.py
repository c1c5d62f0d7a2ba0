"""Elementwise comparisons, which return tensors of i1, and selection by a condition. Shapes broadcast as in NumPy."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute

from relex.dialects.dtypes import tensor_operand_def
from relex.dialects.relex.declared import declared
from relex.dialects.relex.elementwise import BinaryFunction, Element, Formula, Functions, Predicate
from relex.dialects.relex.operator import Movement, Operand
from relex.dialects.relex.types import SizedType, broadcast, expect_element_type, same_element_type


class Comparison(Predicate, BinaryFunction, ABC):
    """An elementwise comparison. With NaN only `not_equal` holds; on i1 false is less than true."""

    EXAMPLE: ClassVar = "%c = {op} %x, %y : (tensor<3x4x{t}>, tensor<4x{t}>) -> tensor<3x4xi1>"


@declared
class EqualOp(Comparison):
    """Elementwise `==`; +0 equals -0, NaN is equal to nothing."""


@declared
class NotEqualOp(Comparison):
    """Elementwise `!=`; NaN differs from everything."""


@declared
class LessOp(Comparison):
    """Elementwise `<`; false with NaN."""


@declared
class LessEqualOp(Comparison):
    """Elementwise `<=`; false with NaN."""


@declared
class GreaterOp(Comparison):
    """Elementwise `>`; false with NaN."""


@declared
class GreaterEqualOp(Comparison):
    """Elementwise `>=`; false with NaN."""


@declared
class WhereOp(Movement, Formula):
    """
    The elements of one tensor where a condition is true, the elements of another where it is false.

    ```mlir
    %z = relex.where %c, %x, %y : (tensor<3x1xi1>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    ```
    """

    condition = tensor_operand_def()
    x = tensor_operand_def()
    y = tensor_operand_def()

    if TYPE_CHECKING:

        def __init__(self, condition: Operand, x: Operand, y: Operand): ...

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        condition, x, y = operands
        expect_element_type(condition, (i1,), "a condition")
        return SizedType(same_element_type(x, y), broadcast(*(t.get_shape() for t in operands)))

    def formula(self, f: Functions, *elements: Element) -> Element:
        return f.select(*elements)
