"""Scalarization: scalar computations applied to each element of vectors.

Used for computations without a vector form: functions of the C library, and ops that need integer casts or selects by
element, which xDSL's `llvm` dialect has for scalars only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from relex.dialects.upstream.llvm import ExtractElementOp
from relex.lowering.conversion import Conversion
from relex.lowering.llvm.types import constant


def by_lanes(
    conversion: Conversion,
    operands: Sequence[SSAValue],
    results: Sequence[Attribute],
    compute: Callable[[Sequence[SSAValue]], Sequence[SSAValue]],
) -> list[SSAValue]:
    """Return the results of `compute`, a function on scalars, for each lane; `results` are the types, all vectors of
    one length or none.

    ```mlir
    %0 = llvm.extractelement %a[%c0 : i64] : vector<2xf32>
    %1 = llvm.call @erff(%0) : (f32) -> f32
    %2 = llvm.insertelement %1, %undef[%c0 : i64] : vector<2xf32>
    // and so on
    ```
    """
    if not isa(results[0], VectorType):
        return list(compute(operands))
    vectors: list[SSAValue] = [conversion.add(llvm.UndefOp(kind)).res for kind in results]
    for lane in range(results[0].get_shape()[0]):
        index = constant(conversion, lane)
        scalars = [_element(conversion, operand, index) for operand in operands]
        for i, value in enumerate(compute(scalars)):
            vectors[i] = conversion.add(llvm.InsertElementOp(vectors[i], value, index)).res
    return vectors


def _element(conversion: Conversion, operand: SSAValue, index: SSAValue) -> SSAValue:
    if not isa(operand.type, VectorType):
        return operand
    return conversion.add(ExtractElementOp(operand, index)).res
