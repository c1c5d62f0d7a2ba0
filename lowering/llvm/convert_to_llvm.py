"""Conversion of the whole core level to the LLVM dialect.

xDSL 0.74 converts no op of `arith`, `math`, `cf` or `func` to the LLVM dialect. Of `memref` and `vector` it converts
loads, stores and subviews, to its dialect `ptr` and from there to LLVM. A memref is one pointer there, without sizes or
dynamic strides; vectors are accessed with LLVM's alignment, which ours do not have; and addresses are sums of integers,
so that LLVM no longer knows which buffer an access is to.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import math
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.traits import IsTerminator

from relex.dialects.errors import fail
from relex.lowering.conversion import ConversionPass, ConversionTable, convert
from relex.lowering.llvm.convert_arith_to_llvm import ARITH_TO_LLVM
from relex.lowering.llvm.convert_cf_to_llvm import CF_TO_LLVM
from relex.lowering.llvm.convert_func_to_llvm import FUNC_TO_LLVM
from relex.lowering.llvm.convert_math_to_libm import MATH_TO_LIBM
from relex.lowering.llvm.convert_math_to_llvm import MATH_TO_LLVM
from relex.lowering.llvm.convert_tiles_to_llvm import TILES_TO_LLVM
from relex.lowering.llvm.convert_vector_to_llvm import VECTOR_TO_LLVM
from relex.lowering.llvm.finalize_memref_to_llvm import GENERIC_MEMORY, MEMREF_TO_LLVM
from relex.lowering.llvm.types import LLVM_TYPES

TO_LLVM = ConversionTable(
    "convert-to-llvm",
    ARITH_TO_LLVM,
    MATH_TO_LIBM,
    MATH_TO_LLVM,
    VECTOR_TO_LLVM,
    TILES_TO_LLVM,
    MEMREF_TO_LLVM,
    CF_TO_LLVM,
    FUNC_TO_LLVM,
)
"""Conversion rules for the core level; an intrinsic is preferred to a function of the C library.

A rule for an op of another dialect goes here: `TO_LLVM.rule(MyOp)`.
"""

for _op in (math.ExpM1Op, math.Log1pOp):
    # Without the library they would be a sum with 1, which has no digits left for small numbers.
    TO_LLVM[_op] = MATH_TO_LIBM[_op]

_REMOVES = {
    "convert-linalg-to-loops": "linalg",
    "convert-scf-to-cf": "scf.for scf.if scf.index_switch",
    "convert-scf-while-to-cf": "scf.execute_region scf.while",
    "convert-tir-to-scf": "tir",
    "expand-dot4": "tir.dot2 tir.dot2i tir.dot4",
    "expand-look-ups": "tir.look_up",
    "legalize-ops": "relex",
    "lower-affine": "affine",
    "lower-call-tir": "relex.alloc_tensor relex.assert relex.call relex.call_dps_packed relex.call_tir relex.constant "
    "relex.dataflow relex.output",
    "scf-parallel-for-to-nested-fors": "scf.parallel",
}
REMOVED_BY = {name: remover for remover, names in _REMOVES.items() for name in names.split()}
"""The pass that must run before this one to remove an op, or the ops of a dialect."""

REFUSED = {
    "memref.atomic_rmw": "the LLVM dialect of xDSL has no atomic ops",
    "memref.dma_start": "nothing at the machine level copies in the background",
    "memref.dma_wait": "nothing at the machine level copies in the background",
    "vector.print": "there is no library at run time that prints vectors",
}
"""The reasons why ops of the core level have no counterpart at the machine level."""


@dataclass(frozen=True)
class ConvertToLlvmPass(ConversionPass):
    """
    Converts `arith`, `math`, `vector`, `memref`, `cf` and `func` to the LLVM dialect in one walk, without intermediate
    casts. An op that it cannot convert is an error that names the pass to run before. `use-generic-functions` is the
    option of `finalize-memref-to-llvm`.

    ```mlir
    func.func @f(%x: memref<4xf32>, %i: index) -> f32 {
      %0 = memref.load %x[%i] : memref<4xf32>
      func.return %0 : f32
    }
    // convert-to-llvm
    llvm.func @f(%x_base: !llvm.ptr, %x: !llvm.ptr, %x_offset: i64, %x_size0: i64, %x_stride0: i64, %i: i64) -> f32 {
      %0 = llvm.getelementptr inbounds %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %1 = llvm.load %0 : !llvm.ptr -> f32
      llvm.return %1 : f32
    }
    ```
    """

    name = "convert-to-llvm"

    table = TO_LLVM
    types = LLVM_TYPES

    use_generic_functions: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        table = {**TO_LLVM, **GENERIC_MEMORY} if self.use_generic_functions else TO_LLVM
        convert(op, table, LLVM_TYPES, _refuse)


def removed_by(op: Operation) -> str | None:
    """Return the pass to run before this one to remove an op, if one is known."""
    return REMOVED_BY.get(op.name) or REMOVED_BY.get(op.dialect_name())


def goes_with_parent(op: Operation) -> bool:
    """Return whether an op is the terminator of a parent of the same dialect: they are removed together."""
    parent = op.parent_op()
    return op.has_trait(IsTerminator) and parent is not None and parent.dialect_name() == op.dialect_name()


def _refuse(op: Operation) -> None:
    if isinstance(op, ModuleOp) or op.name.startswith("llvm.") or goes_with_parent(op):
        return
    fail(op, f"expected ops of the core level, found '{op.name}', which has no form in the LLVM dialect{_hint(op)}")


def _hint(op: Operation) -> str:
    if op.name in REFUSED:
        return f": {REFUSED[op.name]}"
    remedy = removed_by(op)
    return f"; run {remedy} first" if remedy else ""
