"""Addresses of elements in buffers whose strides are only known at run time.

An address is the address of the buffer plus multiples of strides. What does not change in the innermost loop is added
once, as early as it is known. LLVM could do so as well ("loop strength reduction"), but needs more than half of the
compile time for it.

```mlir
scf.for %i ... {
  scf.for %j ... {
    ... = memref.load %x[%i, %k, %j] : memref<?x?x?xf32>
  }
}
// in terms of the strides of %x
%0 = llvm.mul %k, %stride1 : i64
%1 = llvm.getelementptr %x[%0] : (!llvm.ptr, i64) -> !llvm.ptr, f32
scf.for %i ... {
  %2 = llvm.mul %i, %stride0 : i64
  %3 = llvm.getelementptr %1[%2] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  scf.for %j ... {
    %4 = llvm.getelementptr %3[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    ...
  }
}
```
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import reduce

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from relex.lowering.conversion import Conversion
from relex.lowering.llvm.quick_ops import arithmetic, element_pointer
from relex.lowering.llvm.types import constant, integer_constant, known_integer

Number = SSAValue | int
"""An i64 value, or an int if it is known at compile time."""

MOST_IN_ADDRESS = 2**31 - 1
"""The largest index that `llvm.getelementptr` states itself."""


def address_of(
    pointer: SSAValue,
    element: Attribute,
    places: Sequence[tuple[SSAValue, Number]],
    offset: Number,
    conversion: Conversion,
) -> SSAValue:
    """Return the address of an element of a buffer, given indices, their strides, and the offset of the first element
    from a pointer."""
    terms, rest = _terms([(offset, 1), *places])
    variables = conversion.in_order([*terms])
    for variable in variables[:-1]:
        distance = _early_distance(variable, terms[variable], conversion)
        pointer = _advanced(pointer, distance, element, conversion)
    # LLVM recognizes loops if what depends on their variable is computed in them.
    position: Number = rest
    for variable in variables[-1:]:
        for stride, factor in terms[variable].items():
            step = _step(stride, factor, conversion)
            part = variable if step == 1 else _here(llvm.MulOp, variable, step, conversion)
            position = part if position == 0 else _here(llvm.AddOp, part, position, conversion)
    if position == 0:
        return pointer
    if isinstance(position, int) and not 0 < position <= MOST_IN_ADDRESS:
        position = constant(conversion, position)
    return conversion.add(element_pointer(pointer, position, element)).result


def _terms(places: Sequence[tuple[Number, Number]]) -> tuple[dict[SSAValue, dict[Number, int]], int]:
    """Return the sum of the products of indices and strides. For each value in it, there is a multiple of each stride
    by which it is multiplied, where the stride 1 stands for a known one; the rest is a number."""
    terms: dict[SSAValue, Counter[Number]] = defaultdict(Counter)
    rest = 0
    for index, stride in places:
        variables, number = _linear(index)
        for variable, factor in variables.items():
            unit, known = (1, stride) if isinstance(stride, int) else (stride, 1)
            terms[variable][unit] += factor * known
        if isinstance(stride, int):
            rest += number * stride
        else:
            terms[stride][1] += number
    steps = {variable: {unit: n for unit, n in counts.items() if n} for variable, counts in terms.items()}
    return {variable: found for variable, found in steps.items() if found}, rest


def _linear(value: Number, factor: int = 1) -> tuple[Mapping[SSAValue, int], int]:
    """Return a multiple of an index as a sum: the factors of values that are no sums, and a number."""
    if (number := value if isinstance(value, int) else known_integer(value)) is not None:
        return {}, factor * number
    assert isinstance(value, SSAValue)
    match value.owner:
        case llvm.AddOp() | llvm.SubOp() as op:
            left, number = _linear(op.lhs, factor)
            right, other = _linear(op.rhs, factor if isinstance(op, llvm.AddOp) else -factor)
            return {v: left.get(v, 0) + right.get(v, 0) for v in (*left, *right)}, number + other
        case llvm.MulOp() as op if (by := known_integer(op.rhs)) is not None:
            return _linear(op.lhs, factor * by)
        case _:
            return {value: factor}, 0


def _step(stride: Number, factor: int, conversion: Conversion) -> Number:
    """Return the multiple of a stride, which is the same in all loops."""
    if isinstance(stride, int) or factor == 1:
        return stride * factor if isinstance(stride, int) else stride
    return _early(llvm.MulOp, stride, factor, conversion)


def _early_distance(variable: SSAValue, steps: Mapping[Number, int], conversion: Conversion) -> SSAValue:
    """Return the sum of the products of a value and the steps."""
    products = (
        variable if step == 1 else _early(llvm.MulOp, variable, step, conversion)
        for step in (_step(stride, factor, conversion) for stride, factor in steps.items())
    )
    return reduce(lambda one, other: _early(llvm.AddOp, one, other, conversion), products)


def _here(op: type[llvm.AddOp | llvm.MulOp], lhs: SSAValue, rhs: Number, conversion: Conversion) -> SSAValue:
    """Return the result of an op for the op that is being converted."""
    return conversion.add(arithmetic(op, lhs, constant(conversion, rhs) if isinstance(rhs, int) else rhs)).res


def _early(op: type[llvm.AddOp | llvm.MulOp], lhs: SSAValue, rhs: Number, conversion: Conversion) -> SSAValue:
    """Return the result of an op as early as both operands are known."""

    def make() -> SSAValue:
        if isinstance(rhs, int):
            number = conversion.add_after(lhs, integer_constant(rhs, i64)).result
            return conversion.add_after(number, arithmetic(op, lhs, number)).res
        *_, later = conversion.in_order([lhs, rhs])
        return conversion.add_after(later, arithmetic(op, lhs, rhs)).res

    return conversion.once((op, lhs, rhs), make)


def _advanced(pointer: SSAValue, distance: SSAValue, element: Attribute, conversion: Conversion) -> SSAValue:
    """Return a pointer to an element that is as many elements away, as early as both operands are known."""

    def make() -> SSAValue:
        *_, later = conversion.in_order([pointer, distance])
        return conversion.add_after(later, element_pointer(pointer, distance, element)).result

    return conversion.once((llvm.GEPOp, pointer, distance, element), make)
