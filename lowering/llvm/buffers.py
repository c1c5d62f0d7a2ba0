"""Buffers at the machine level: addresses of elements, and sizes and strides that may be static."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from operator import add, mul

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, NoneAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue

from relex.dialects.errors import fail
from relex.dialects.upstream.hints import isa
from relex.dialects.upstream.llvm import set_inbounds
from relex.lowering.conversion import Conversion
from relex.lowering.llvm import quick_ops
from relex.lowering.llvm.addresses import MOST_IN_ADDRESS, Number, address_of
from relex.lowering.llvm.descriptor import ALIGNED, OFFSET, Descriptor, size_at, stride_at
from relex.lowering.llvm.quick_ops import Arithmetic, arithmetic, element_pointer
from relex.lowering.llvm.quotients import without_divisions
from relex.lowering.llvm.types import constant, convert_type, known_integer, vector_alignment

MAY_WRAP = IntegerAttr(0, i32)
NO_SIGNED_WRAP = IntegerAttr(llvm.OverflowAttr([llvm.OverflowFlag.NO_SIGNED_WRAP]).to_int(), i32)
NO_WRAP = IntegerAttr(llvm.OverflowAttr(list(llvm.OverflowFlag)).to_int(), i32)


class MemRefOperand:
    """A memref that the op that is being converted uses. A type that the conversion does not support is an error."""

    def __init__(self, op: Operation, conversion: Conversion, value: SSAValue):
        self._op, self._value = op, value
        self.conversion = conversion
        self.kind = buffer_type(op, value.type)

    @cached_property
    def descriptor(self) -> Descriptor:
        """The descriptor that replaces the memref."""
        return Descriptor.of(self.conversion, self._value)

    @property
    def element(self) -> Attribute:
        """The machine type of the elements."""
        return convert_type(self._op, self.kind.element_type)

    def size(self, dim: int) -> Number:
        """Return the size of a dimension."""
        known = self.kind.get_shape()[dim]
        return self.descriptor.known(size_at(dim)) if known == DYNAMIC_INDEX else known

    @property
    def sizes(self) -> list[Number]:
        """The size of each dimension."""
        return [*map(self.size, range(self.kind.get_num_dims()))]

    @property
    def static_strides(self) -> Sequence[int | None]:
        """The strides that the type states, in elements; None for dynamic ones."""
        return static_strides(self._op, self.kind)

    @property
    def strides(self) -> list[Number]:
        """The stride of each dimension, in elements."""
        strides = enumerate(self.static_strides)
        return [self.descriptor.known(stride_at(dim)) if stride is None else stride for dim, stride in strides]

    @property
    def offset(self) -> Number:
        """The offset of the first element from the aligned pointer, in elements."""
        offset = self.kind.get_offset()
        return self.descriptor.known(OFFSET) if offset is None else offset

    def first_element(self) -> SSAValue:
        """Return the address of the element at index zero: the aligned pointer, advanced by the offset."""
        pointer, offset = self.descriptor.field(ALIGNED), self.kind.get_offset()
        if offset == 0:
            return pointer
        index = self.descriptor.field(OFFSET) if offset is None else offset
        return self.conversion.add(element_pointer(pointer, index, self.element)).result

    def pointer(self, indices: Sequence[SSAValue], *, inside: bool = True) -> SSAValue:
        """Return the address of the element at `indices`, which is in bounds unless `inside` is false."""
        key = self._value, *indices, inside
        return self.conversion.once_in_block(key, lambda: self._pointer(indices, inside))

    def _pointer(self, indices: Sequence[SSAValue], inside: bool) -> SSAValue:
        conversion, element, strides = self.conversion, self.element, self.strides
        places = without_divisions(conversion.values(indices), strides, conversion)
        if not all(isinstance(stride, int) for stride in strides):
            return address_of(self.descriptor.field(ALIGNED), element, places, self.offset, conversion)
        pointer = self.first_element()
        positive = all(isinstance(stride, int) and stride >= 0 for stride in strides)
        no_wrap = MAY_WRAP if not inside else NO_WRAP if positive else NO_SIGNED_WRAP
        parts = [product(conversion, known(index), factor, no_wrap) for index, factor in places]
        position = reduce(lambda first, part: total(conversion, first, part, no_wrap), parts, 0)
        if position == 0:
            return pointer
        if isinstance(position, int) and not 0 < position <= MOST_IN_ADDRESS:
            position = constant(conversion, position)
        address = element_pointer(pointer, position, element)
        set_inbounds(address, inside)
        return conversion.add(address).result


def buffer_type(op: Operation, kind: Attribute) -> MemRefType:
    """Check that `kind` is a memref type that the conversion supports, and return it."""
    if not isa(kind, MemRefType):
        fail(op, f"expected a ranked memref, found {kind}")
    if not isinstance(kind.memory_space, NoneAttr):
        fail(op, f"expected a memref in the default memory space, found {kind}")
    return kind


def static_strides(op: Operation, kind: MemRefType) -> Sequence[int | None]:
    """Return the strides that a type states, in elements; None for dynamic ones."""
    strides = kind.get_strides()
    if strides is None:
        fail(op, f"expected a memref with strides, found {kind}")
    return strides


def load(conversion: Conversion, pointer: SSAValue, kind: Attribute) -> SSAValue:
    """Load a scalar, or a vector with the alignment of its elements."""
    new = quick_ops.load(pointer, kind)
    new.alignment = vector_alignment(kind)
    return conversion.add(new).dereferenced_value


def store(conversion: Conversion, value: SSAValue, pointer: SSAValue) -> None:
    """Store a scalar, or a vector with the alignment of its elements."""
    new = quick_ops.store(value, pointer)
    new.alignment = vector_alignment(value.type)
    conversion.add(new)


# Arithmetic on numbers that may be known


def as_value(conversion: Conversion, number: Number) -> SSAValue:
    """Return a number as an i64 value."""
    return constant(conversion, number) if isinstance(number, int) else number


def known(value: SSAValue) -> Number:
    """Return an i64 value as a number, if it is a constant."""
    number = known_integer(value)
    return value if number is None else number


def product(conversion: Conversion, lhs: Number, rhs: Number, overflow: IntegerAttr = MAY_WRAP) -> Number:
    """Return `lhs * rhs`, folded if it is known."""
    if 0 in (lhs, rhs):
        return 0
    return _folded(conversion, mul, llvm.MulOp, 1, lhs, rhs, overflow)


def total(conversion: Conversion, lhs: Number, rhs: Number, overflow: IntegerAttr = MAY_WRAP) -> Number:
    """Return `lhs + rhs`, folded if it is known."""
    return _folded(conversion, add, llvm.AddOp, 0, lhs, rhs, overflow)


def _folded(
    conversion: Conversion,
    compute: Callable[[int, int], int],
    op: type[Arithmetic],
    neutral: int,
    lhs: Number,
    rhs: Number,
    overflow: IntegerAttr,
) -> Number:
    if isinstance(lhs, int) and isinstance(rhs, int):
        return compute(lhs, rhs)
    if neutral in (lhs, rhs):
        return rhs if lhs == neutral else lhs
    return conversion.add(arithmetic(op, as_value(conversion, lhs), as_value(conversion, rhs), overflow)).res


def contiguous_strides(conversion: Conversion, sizes: Sequence[Number], innermost: Number = 1) -> list[Number]:
    """Return the strides of dimensions without gaps between them."""
    strides = [innermost] if sizes else []
    for size in reversed(sizes[1:]):
        strides.append(product(conversion, size, strides[-1]))
    return strides[::-1]
