"""Elementwise operators. Shapes broadcast as in NumPy; all operands have one element type."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from xdsl.dialects.builtin import f32, i1, i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition

from relex.dialects.arrays import Array
from relex.dialects.dtypes import ELEMENT_TYPES, FLOATS, NUMBERS, is_emulated, tensor_operand_def
from relex.dialects.relex.declared import declared
from relex.dialects.relex.numpy_functions import NumPyFunctions
from relex.dialects.relex.operator import Exactness, Operand, Operator, repeating, tensor_type
from relex.dialects.relex.types import SizedType, broadcast, expect_element_type, same_element_type
from relex.dialects.tir.op_pattern import OpPattern

Element = Any
"""The values that a formula computes with: NumPy arrays, or scalar expressions of `relex.lowering.te`. Both have
Python's arithmetic."""


class Functions(Protocol):
    """The functions that formulas may use: the functions of `relex.lowering.te.scalars`, `select` and `cast`."""

    def __getattr__(self, name: str, /) -> Callable[..., Element]: ...


class Elementwise(Operator, ABC):
    """An operator that computes each element of its result from the operands' elements at the same position."""

    ALLOWED: ClassVar[tuple[Attribute, ...]] = ELEMENT_TYPES
    """The element types that the operands may have."""
    IDEMPOTENT: ClassVar[bool] = False
    """True if a function of one number changes nothing when it is applied again, or one of two gives `x` for `x` and
    `x`."""
    EXAMPLE: ClassVar[str] = ""
    """The example of `declared` operators: `{op}` is the name, `{t}` an element type."""

    @classmethod
    def documentation(cls) -> str:
        doc = super().documentation()
        if "```mlir" in doc:
            return doc
        element_type = next(t for t in (f32, i32, i1) if t in cls.ALLOWED)
        return f"{doc}\n\n```mlir\n{cls.EXAMPLE.format(op=cls.name, t=element_type)}\n```"

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        element_type = same_element_type(*operands)
        expect_element_type(operands[0], cls.ALLOWED, "operands")
        return SizedType(element_type, broadcast(*(t.get_shape() for t in operands)))

    @property
    def pattern(self) -> OpPattern:
        return self.PATTERN or repeating(self.operands, self.result)


class UnaryElementwise(Elementwise, ABC):
    """An elementwise operator on one tensor."""

    operand = tensor_operand_def()

    EXAMPLE: ClassVar = "%y = {op} %x : (tensor<3x4x{t}>) -> tensor<3x4x{t}>"

    if TYPE_CHECKING:

        def __init__(self, operand: Operand, *, properties: Mapping[str, object] | None = None): ...


class BinaryElementwise(Elementwise, ABC):
    """An elementwise operator on two tensors."""

    lhs = tensor_operand_def()
    rhs = tensor_operand_def()

    NEUTRAL: ClassVar[tuple[float | None, float | None]] = (None, None)
    """The numbers with which the operator is exactly the other operand: on the left, and on the right."""
    EXAMPLE: ClassVar = "%z = {op} %x, %y : (tensor<3x4x{t}>, tensor<4x{t}>) -> tensor<3x4x{t}>"

    if TYPE_CHECKING:

        def __init__(self, lhs: Operand, rhs: Operand, *, properties: Mapping[str, object] | None = None): ...


class Formula(Elementwise, ABC):
    """An elementwise operator with a formula: both its meaning in NumPy and its loops follow from that."""

    def __init_subclass__(
        cls,
        *,
        formula: Callable[[Functions, Element], Element]
        | Callable[[Functions, Element, Element], Element]
        | None = None,
        **options: Any,
    ) -> None:
        """State the formula, where it says more than the name."""
        super().__init_subclass__(**options)
        if formula is not None:
            cls.formula = lambda self, f, *elements, **_: formula(f, *elements)

    def formula(self, f: Functions, *elements: Element, **_: Any) -> Element:
        """Return the result for one element of each operand; by default, by the scalar function of the same name."""
        return getattr(f, self.name.rpartition(".")[2])(*elements)

    def evaluate(self, *operands: Array) -> Array:
        return self.formula(NumPyFunctions(), *operands)


class Predicate(Elementwise, ABC, exactness=Exactness.BITS):
    """An elementwise operator whose result is a boolean, in every bit."""

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        return SizedType(i1, super().infer(operands, properties).get_shape())


class UnaryFunction(Formula, UnaryElementwise, ABC):
    """A function of one number."""


class FloatFunction(UnaryFunction, ABC, allowed=FLOATS):
    """A function of one float."""


class BinaryFunction(Formula, BinaryElementwise, ABC):
    """A function of two numbers."""


@declared
class AddOp(BinaryFunction, exactness=Exactness.NUMBERS, neutral=(-0.0, -0.0)):  # +0 would turn -0 into +0.
    """The sum of two tensors; on i1, logical or."""


@declared
class SubtractOp(BinaryFunction, allowed=NUMBERS, exactness=Exactness.NUMBERS, neutral=(None, 0.0)):
    """
    The difference of two tensors; not defined on i1, as in NumPy.

    ```mlir
    %z = relex.subtract %x, %y : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
    ```
    """


@declared
class MultiplyOp(BinaryFunction, exactness=Exactness.NUMBERS, neutral=(1, 1)):
    """
    The product of two tensors; on i1, logical and.

    ```mlir
    %z = relex.multiply %x, %y : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi32>
    ```
    """


@declared
class DivideOp(BinaryFunction, allowed=FLOATS, exactness=Exactness.NUMBERS, neutral=(None, 1)):
    """
    The quotient of two float tensors. Integers are rejected: NumPy's result is a float, C's is truncated.

    ```mlir
    %z = relex.divide %x, %y : (tensor<3x4xf64>, tensor<f64>) -> tensor<3x4xf64>
    ```
    """


@declared
class PowerOp(BinaryFunction, allowed=NUMBERS):
    """
    The first tensor to the power of the second. Integers wrap around; with a negative exponent, the result is the
    reciprocal rounded towards zero: 1 or -1 for these two, else 0.

    ```mlir
    %z = relex.power %x, %y : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
    ```
    """


@declared
class MaximumOp(BinaryFunction, exactness=Exactness.NUMBERS, idempotent=True):
    """
    The maximum of two elements; NaN if either is NaN. +0 is larger than -0.

    ```mlir
    %z = relex.maximum %x, %y : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
    ```
    """


@declared
class MinimumOp(BinaryFunction, exactness=Exactness.NUMBERS, idempotent=True):
    """
    The minimum of two elements; NaN if either is NaN. -0 is smaller than +0.

    ```mlir
    %z = relex.minimum %x, %y : (tensor<3x4xi64>, tensor<3x4xi64>) -> tensor<3x4xi64>
    ```
    """


@declared
class ReluOp(UnaryFunction, exactness=Exactness.NUMBERS, idempotent=True, formula=lambda f, x: f.maximum(x, 0)):
    """
    The maximum of each element and +0; NaN stays NaN.

    ```mlir
    %y = relex.relu %x : (tensor<1x128xf32>) -> tensor<1x128xf32>
    ```
    """

    SCRIPT_NAMESPACE: ClassVar = "nn"


@irdl_op_definition
class EwiseFMAOp(Formula, exactness=Exactness.NUMBERS):
    """
    `x * y + z`, rounded after the product and after the sum, so that it equals the two separate operators.

    ```mlir
    %r = relex.ewise_fma %x, %y, %z : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.ewise_fma"

    x = tensor_operand_def()
    y = tensor_operand_def()
    z = tensor_operand_def()

    if TYPE_CHECKING:

        def __init__(self, x: Operand, y: Operand, z: Operand): ...

    def formula(self, f: Functions, x: Element, y: Element, z: Element) -> Element:
        element_type = tensor_type(self.x.type).element_type
        if is_emulated(element_type):
            return f.cast(f.cast(x * y, element_type), f32) + z
        return x * y + z
