"""What every graph operator has: a type rule and a meaning."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from enum import Enum, auto
from math import prod
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, VarOperandDef, traits_def
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from relex.dialects.errors import InferenceError
from relex.dialects.relex.types import SizedType, without_names

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array


class Exactness(Enum):
    """How far NumPy and compiled code agree about the result of an operator."""

    ROUNDED = auto()
    """Up to rounding: a sum has no fixed order, and libraries differ in functions like `exp`."""
    NUMBERS = auto()
    """In every number and in the sign of every zero; a NaN may have another sign and payload."""
    BITS = auto()
    """In every bit, those of NaN included: elements are moved or compared, or only change their sign."""


class Operator(HasCanonicalizationPatternsInterface, IRDLOperation, ABC):
    """
    A pure graph operator with one result.

    Its type rule `infer` serves the builder and the verifier alike, `evaluate` says in NumPy what it computes. An
    operator of another package derives from this class too; nothing else in relex needs to know it before lowering.
    """

    traits = traits_def(Pure())

    EXACTNESS: ClassVar[Exactness] = Exactness.ROUNDED
    """Operators on constants are computed at compile time where that changes no result."""

    def __init__(self, *operands: SSAValue | Operation, properties: Mapping[str, Attribute | None] | None = None):
        values = [SSAValue.get(operand) for operand in operands]
        complete = self.with_defaults(properties or {})
        result = self.type_of_result([value.type for value in values], complete)
        # A declaration with one operand that stands for many takes them as one.
        variadic = any(isinstance(kind, VarOperandDef) for _, kind in self.get_irdl_definition().operands)
        super().__init__(operands=[values] if variadic else values, result_types=[result], properties=complete)

    @classmethod
    def with_defaults(cls, properties: Mapping[str, Attribute | None]) -> dict[str, Attribute]:
        """The properties and the defaults of those that are not given. None stands for one that is not given."""
        declared = cls.get_irdl_definition().properties
        defaults = {name: d.default_value for name, d in declared.items() if d.default_value is not None}
        return defaults | {name: value for name, value in properties.items() if value is not None}

    @classmethod
    @abstractmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        """The type of the result, `properties` being complete. Raises `InferenceError` for operands and properties that
        the operator does not take. Sizes that are known at run time are expressions: `equal` and `at_most` of
        `relex.dialects.sizes` say what is expected of them."""

    @abstractmethod
    def evaluate(self, *operands: Array) -> Array:
        """The result for these operands: the reference semantics that every lowering is tested against."""

    @property
    def terms(self) -> int:
        """How many steps an element of the result takes, as for the terms of a product of matrices. The operands, which
        have known sizes, are read once besides."""
        return 1

    @property
    def work(self) -> int:
        """About how many elements `evaluate` reads and writes. All sizes must be known."""
        sizes = [prod(tensor_type(value.type).get_shape()) for value in (*self.operands, *self.results)]
        return sum(sizes[:-1]) + sizes[-1] * self.terms

    @classmethod
    def type_of_result(cls, operands: Sequence[Attribute], properties: Mapping[str, Attribute]) -> TensorType:
        """The type of the result for operands whose sizes are not known to be equal."""
        types = [SizedType.of(tensor_type(t), f"operand{i}") for i, t in enumerate(operands)]
        result = cls.infer(types, properties)
        return TensorType(result.element_type, without_names(result.get_shape()))

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        """How `canonicalize` simplifies the operator: what others entered into the table with `simplifies`."""
        from relex.passes.graph.canonicalization import SIMPLIFICATIONS

        return SIMPLIFICATIONS.get(cls, ())

    def verify_(self) -> None:
        inferred = self.type_of_result(self.operand_types, self.properties)
        if self.result_types[0] != inferred:
            raise VerifyException(f"expected result type {inferred}, found {self.result_types[0]}")


def ieee_arithmetic() -> AbstractContextManager[None]:
    """NumPy without warnings: overflow, NaN and division by zero are results like others."""
    import numpy as np

    return np.errstate(all="ignore")


def tensor_type(t: Attribute) -> TensorType:
    """`t` itself, if it is a ranked tensor type."""
    if not isa(t, TensorType):
        raise InferenceError(f"expected a ranked tensor, found {t}")
    return t
