"""Indices that are quotients and remainders of one number, such as an iteration of fused loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.ir import SSAValue

from relex.lowering.conversion import Conversion
from relex.lowering.llvm.types import constant, known_integer

_REMAINDERS = {llvm.SDivOp: llvm.SRemOp, llvm.UDivOp: llvm.URemOp}
"""For each division, the op that computes what is left."""

Term = tuple[SSAValue, SSAValue | int]
"""An index and its stride."""


def without_divisions(places: Sequence[SSAValue], strides: Sequence[SSAValue | int], ops: Conversion) -> list[Term]:
    """Return terms with the same sum of products, without divisions that cancel: for the indices `x / 8` and `x % 8`
    with strides 8 and 1 the index `x` with stride 1. LLVM recognizes this for some divisors, and not before it
    vectorizes loops."""
    found: list[tuple[_Quotient, SSAValue | int]] = []
    for place, stride in zip(reversed(places), reversed(strides), strict=True):
        quotient = _Quotient.of(place)
        if found and quotient.continues(stride, *found[-1]):
            lower, step = found.pop()
            quotient, stride = quotient.joined_with(lower), step
        found.append((quotient, stride))
    return [(quotient.emit(ops), stride) for quotient, stride in reversed(found)]


@dataclass(frozen=True)
class _Quotient:
    """The value `number / divisor % modulus`, without a remainder if `modulus` is None."""

    number: SSAValue
    divisor: int
    modulus: int | None
    division: type[llvm.SDivOp | llvm.UDivOp]
    value: SSAValue | None = None
    """The value, if an op has computed it."""

    @classmethod
    def of(cls, value: SSAValue) -> _Quotient:
        """Return a value as a quotient: of itself by 1 if it is no other."""
        for division, remainder in _REMAINDERS.items():
            number, divisor, modulus = value, 1, None
            if isinstance(op := number.owner, remainder) and (by := known_integer(op.rhs)) is not None:
                number, modulus = op.lhs, by
            while isinstance(op := number.owner, division) and (by := known_integer(op.rhs)) is not None:
                number, divisor = op.lhs, divisor * by
            if number is not value:
                return cls(number, divisor, modulus, division, value)
        return cls(value, 1, None, llvm.SDivOp, value)

    def continues(self, stride: SSAValue | int, lower: _Quotient, step: SSAValue | int) -> bool:
        """Return whether one index can take the place of this one and of the next, with its stride `step`."""
        return (
            lower.modulus is not None
            and (self.number, self.division) == (lower.number, lower.division)
            and self.divisor == lower.divisor * lower.modulus
            and isinstance(step, int)
            and stride == step * lower.modulus
        )

    def joined_with(self, lower: _Quotient) -> _Quotient:
        """Return the index that takes the place of this one and the next."""
        modulus = None if self.modulus is None or lower.modulus is None else self.modulus * lower.modulus
        return _Quotient(self.number, lower.divisor, modulus, self.division)

    def emit(self, ops: Conversion) -> SSAValue:
        """Return the value."""
        if self.value is not None:
            return self.value
        value = self.number
        if self.divisor != 1:
            value = ops.add(self.division(value, constant(ops, self.divisor))).res
        return (
            value
            if self.modulus is None
            else ops.add(_REMAINDERS[self.division](value, constant(ops, self.modulus))).res
        )
