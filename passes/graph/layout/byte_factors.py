"""Operands of products of bytes, and what emits such products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from xdsl.dialects.builtin import i8, i16, i32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects import relex
from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import integer_limits, ui8
from relex.dialects.op_edits import insert_before, replace_by
from relex.dialects.relex.packed import BYTES
from relex.dialects.relex.types import is_bytes, rank_of, shape_of, tensor_type
from relex.passes.rewriting.constants import erase_constant
from relex.passes.rewriting.evaluation import evaluated

HALF = 128
"""The difference between signed and unsigned bytes of the same bits but the highest one."""


LARGEST_EXACT = 2**24
"""Floats of 32 bits have all integers up to this one."""


@dataclass(frozen=True)
class Factor:
    """An operand: bytes, and the zero point that is subtracted, a number or a value of 32 bits."""

    data: SSAValue
    zero: SSAValue | int

    @classmethod
    def of(cls, value: SSAValue, axes: Sequence[int]) -> Factor | None:
        """Return a value as such an operand; None if it is none, or if its zero point varies along some axes."""
        match value.owner:
            case relex.AstypeOp(operand=data) if is_bytes(data) and is_i32(value):
                return cls(data, 0)
            case relex.SubtractOp(lhs=lhs, rhs=zero) if (
                isinstance(lhs.owner, relex.AstypeOp) and lhs.type == value.type
            ):
                inner = cls.of(lhs, axes)
                return cls(inner.data, _number(zero)) if inner and _is_uniform(zero, rank_of(value), axes) else None
            case relex.ConstantOp() if is_i32(value):
                return cls._of_numbers(relex.array_of(value))
            case _:
                return None

    @classmethod
    def _of_numbers(cls, numbers: Array | None) -> Factor | None:
        """Return a constant as signed bytes with a zero point."""
        if numbers is None or not numbers.size or not numbers.ndim:
            return None
        low, high = int(numbers.min()), int(numbers.max())
        least, most = integer_limits(i8)
        zero = 0 if least <= low and high <= most else least - low
        if high + zero > most:
            return None
        return cls(relex.ConstantOp((numbers.astype(np.int64) + zero).astype(np.int8)).result, zero)

    @property
    def is_unsigned(self) -> bool:
        return tensor_type(self.data.type).element_type == ui8

    @property
    def is_short(self) -> bool:
        """Whether the zero point is a known number, and bytes minus it are integers of 16 bits."""
        least, most = integer_limits(i16)
        return isinstance(self.zero, int) and least <= -self.zero - HALF and 2 * HALF - self.zero <= most

    @property
    def has_byte_of_zero(self) -> bool:
        """Whether the zero point is a known number that fits in a byte, so that data can be padded with it."""
        least, most = integer_limits(tensor_type(self.data.type).element_type)
        return isinstance(self.zero, int) and least <= self.zero <= most


def is_i32(value: SSAValue) -> bool:
    return tensor_type(value.type).element_type == i32


def _number(value: SSAValue) -> SSAValue | int:
    """Return the number that all elements of a constant are equal to; any other value unchanged."""
    numbers = relex.array_of(value)
    is_number = numbers is not None and numbers.size and (numbers == numbers.flat[0]).all()
    return int(numbers.flat[0]) if numbers is not None and is_number else value


def _is_uniform(value: SSAValue, rank: int, axes: Sequence[int]) -> bool:
    """Return whether an operand that is broadcast to a rank has the same elements along some axes."""
    shape = (1,) * (rank - rank_of(value)) + shape_of(value)
    return all(shape[axis] == 1 for axis in axes)


class Emitter:
    """Inserts operators before another one, which they replace. Those on constants become constants."""

    matmul: type[relex.MatmulPackedOp | relex.MatmulShortsOp] = relex.MatmulPackedOp
    """The matrix product of words."""

    def __init__(self, replaced: relex.Operator, *factors: Factor):
        self.replaced = replaced
        self._constants: list[SSAValue] = []
        for factor in factors:
            if isinstance(factor.data.owner, relex.ConstantOp) and factor.data.owner.parent is None:
                self.add(factor.data.owner)

    def add(self, op: relex.Operator | relex.ConstantOp) -> SSAValue:
        op.location = self.replaced.location
        new = (self._evaluated(op) if isinstance(op, relex.Operator) else None) or op
        Rewriter.insert_op(new, InsertPoint.before(self.replaced))
        if isinstance(new, relex.ConstantOp):
            self._constants.append(new.result)
        return new.results[0]

    def _evaluated(self, op: relex.Operator) -> relex.ConstantOp | None:
        if not all(isinstance(value.owner, relex.ConstantOp) for value in op.operands):
            return None
        values = evaluated(op, same_bits=True)
        if values is None:
            return None
        op.erase()
        return relex.ConstantOp(values[0])

    def number(self, number: int, dtype: str = "int32") -> SSAValue:
        """Return a constant of rank 0; integers wrap around."""
        return self.add(relex.ConstantOp(np.asarray(number, np.int64).astype(dtype)))

    def moved(self, zero: SSAValue | int, offset: int) -> SSAValue | int:
        """Return a zero point plus a number."""
        if isinstance(zero, int) or not offset:
            return zero + offset if isinstance(zero, int) else zero
        return self.add(relex.AddOp(zero, self.number(offset)))

    def without(self, total: SSAValue, zero: SSAValue | int, sums: Callable[[], SSAValue]) -> SSAValue:
        """Subtract the product of a zero point and some sums."""
        if zero == 0:
            return total
        factor = self.number(zero) if isinstance(zero, int) else zero
        return self.add(relex.SubtractOp(total, self.add(relex.MultiplyOp(sums(), factor))))

    def left_zero(self, factor: Factor) -> SSAValue | int:
        """Return the zero point of what is packed on the left: of unsigned bytes."""
        return self.moved(factor.zero, 0 if factor.is_unsigned else HALF)

    def right_zero(self, factor: Factor) -> SSAValue | int:
        """Return the zero point of what is packed on the right: of signed bytes."""
        return self.moved(factor.zero, -HALF if factor.is_unsigned else 0)

    def packed_left(self, factor: Factor, axis: int) -> SSAValue:
        """Return words of unsigned bytes. Those that fill the last word may be anything: the right ones are zero."""
        words = self.add(relex.PackBytesOp(factor.data, axis))
        return words if factor.is_unsigned else self.add(relex.BitwiseXorOp(words, self.number(repeated(HALF))))

    def packed_right(self, factor: Factor, axis: int) -> SSAValue:
        """Return words of signed bytes."""
        data = factor.data
        if factor.is_unsigned:
            data = self.add(relex.BitwiseXorOp(data, self.number(HALF, "uint8")))
        return self.add(relex.PackBytesOp(data, axis))

    def sums_of_right(self, factor: Factor, axes: Sequence[int], terms: int) -> SSAValue:
        """Return the sums of `terms` numbers that are packed on the right along some axes."""
        total = self.add(relex.SumOp(self.add(relex.AstypeOp(factor.data, i32)), axes, keepdims=True))
        return self.add(relex.SubtractOp(total, self.number(terms * HALF))) if factor.is_unsigned else total

    def finish(self, result: SSAValue) -> None:
        """Replace the operator."""
        old = self.replaced
        result.name_hint = old.result.name_hint
        values = (*old.operands, *self._constants)
        Rewriter.replace_op(old, [], [result])
        _merge_addends(result)
        erase_unused(values)


def _merge_addends(value: SSAValue) -> None:
    """Merge the constant that is subtracted from integers, and the one that is added to the difference: `x - 3 + 5`
    becomes `x + 2`."""
    difference = value.owner
    if not isinstance(difference, relex.SubtractOp) or (addition := only_user(value, relex.AddOp)) is None:
        return
    subtracted, added = relex.array_of(difference.rhs), relex.array_of(addition.rhs)
    if subtracted is None or added is None or difference.lhs.type != addition.result.type:
        return
    with np.errstate(over="ignore"):
        constant = relex.ConstantOp(added - subtracted)
    constant.location = addition.location
    insert_before(addition, constant)
    constants = (difference.rhs, addition.rhs)
    replace_by(addition, relex.AddOp(difference.lhs, constant.result))
    Rewriter.erase_op(difference)
    erase_unused(constants)


def only_user(value: SSAValue, kind: type[_Kind]) -> _Kind | None:
    """Return the only operator that uses a value, as its first operand, if it is of a kind."""
    use = value.get_unique_use()
    found = None if use is None or use.index else use.operation
    return found if isinstance(found, kind) else None


_Kind = TypeVar("_Kind", bound=Operation)


class PairsEmitter(Emitter):
    """Packs two integers of 16 bits in a word, in place of four bytes. Known zero points are subtracted before."""

    matmul = relex.MatmulShortsOp

    def left_zero(self, factor: Factor) -> SSAValue | int:
        return 0 if factor.is_short else factor.zero

    def right_zero(self, factor: Factor) -> SSAValue | int:
        return self.left_zero(factor)

    def packed_left(self, factor: Factor, axis: int) -> SSAValue:
        return self.add(relex.PackBytesOp(self.short(factor), axis))

    def packed_right(self, factor: Factor, axis: int) -> SSAValue:
        return self.packed_left(factor, axis)

    def sums_of_right(self, factor: Factor, axes: Sequence[int], terms: int) -> SSAValue:
        return self.add(relex.SumOp(self.add(relex.AstypeOp(self.short(factor), i32)), axes, keepdims=True))

    def short(self, factor: Factor) -> SSAValue:
        """Return bytes, minus their zero point if it is known, as integers of 16 bits."""
        wide = self.add(relex.AstypeOp(factor.data, i16))
        if not factor.zero or not factor.is_short:
            return wide
        assert isinstance(factor.zero, int)
        return self.add(relex.SubtractOp(wide, self.number(factor.zero, "int16")))


def erase_unused(values: Sequence[SSAValue]) -> None:
    """Erase operators that compute values without users, and then those that computed their operands."""
    for op in dict.fromkeys(value.owner for value in values):
        if op.parent is None:
            continue  # Another one used it, too, and was erased before.
        if isinstance(op, relex.Operator | relex.ConstantOp) and not any(result.uses for result in op.results):
            operands = tuple(op.operands)
            if isinstance(op, relex.ConstantOp):
                erase_constant(op)
            else:
                Rewriter.erase_op(op)
            erase_unused(operands)


def repeated(byte: int) -> int:
    """Return a word of equal bytes."""
    return sum(byte << 8 * n for n in range(BYTES))


def signed(word: int) -> int:
    return int(np.asarray(word).astype(np.int32))
