"""Semantics of the ops of `llvm` that `vectorize-loops` writes where xDSL restricts ops of `arith` to scalars, and of
the instructions that `expand-dot4` and `expand-look-ups` write: see `relex.lowering.vectors.forms`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith, llvm
from xdsl.ir import Operation

from relex.dialects.errors import unsupported
from relex.dialects.upstream.llvm import FPToSIOp, FPToUIOp, UIToFPOp
from relex.reference.interpreter.arith import convert, integer_comparison
from relex.reference.interpreter.program import SCALARS, Binary, Run, Unary
from relex.reference.interpreter.scalars import choose

CASTS: dict[type[Operation], type[Operation]] = {
    llvm.SExtOp: arith.ExtSIOp,
    llvm.ZExtOp: arith.ExtUIOp,
    llvm.TruncOp: arith.TruncIOp,
    llvm.SIToFPOp: arith.SIToFPOp,
    UIToFPOp: arith.UIToFPOp,
    FPToSIOp: arith.FPToSIOp,
    FPToUIOp: arith.FPToUIOp,
}
"""Conversions, and the ops of `arith` that mean the same."""


@SCALARS.rule(*CASTS)
def interpret_cast(op: Operation) -> Unary:
    """Convert numbers as the op of `arith` does."""
    return convert(op, CASTS[type(op)])


@SCALARS.rule(llvm.ICmpOp)
def interpret_icmp(op: llvm.ICmpOp) -> Binary:
    """Compare integers; both dialects use the same numbers for predicates."""
    return integer_comparison(op, op.predicate.value.data)


@SCALARS.rule(llvm.CallIntrinsicOp)
def interpret_intrinsic(op: llvm.CallIntrinsicOp) -> Run:
    """Call an intrinsic of `INTRINSICS`."""
    name = op.intrin.data
    found = INTRINSICS.get(name) or INTRINSICS.get(name.rpartition(".")[0])
    return found or unsupported(op, f"expected one of the intrinsics {', '.join(INTRINSICS)}, found {name}")


def _select(mask: Any, value: Any, other: Any, length: Any) -> Any:
    """Choose between elements; those from `length` on are not defined."""
    return choose(mask, value, other)


def _is_of_class(value: Any, classes: Any) -> Any:
    """Return whether floats are of one of the classes that bits name, from the lowest: NaN (two of them), -inf, less
    than 0 (normal and not), -0, 0, greater than 0 (not normal and normal), inf."""
    is_denormal = (value != 0) & (np.abs(value) < np.finfo(value.dtype).tiny)
    found = np.select(
        [np.isnan(value), value == -np.inf, value == np.inf, value == 0, value < 0],
        [0x3, 1 << 2, 1 << 9, np.where(np.signbit(value), 1 << 5, 1 << 6), np.where(is_denormal, 1 << 4, 1 << 3)],
        np.where(is_denormal, 1 << 7, 1 << 8),
    )
    return (found & classes) != 0


def _pairs(a: Any, b: Any) -> Any:
    """Multiply integers of 16 bits, and add up the products of two neighbours."""
    return (a.astype(np.int32) * b.astype(np.int32)).reshape(-1, 2).sum(1, np.int32)


def _pairs_of_bytes(a: Any, b: Any) -> Any:
    """Multiply unsigned bytes with signed ones, and add up the products of two neighbours, up to the smallest or the
    largest integer of 16 bits."""
    sums = (a.view(np.uint8).astype(np.int32) * b.astype(np.int32)).reshape(-1, 2).sum(1, np.int32)
    return np.clip(sums, -(2**15), 2**15 - 1).astype(np.int16)


def _signed_bytes(total: Any, a: Any, b: Any) -> Any:
    """Multiply signed bytes, and add the products of four neighbours to each total."""
    return total + (a.astype(np.int32) * b.astype(np.int32)).reshape(-1, 4).sum(1, np.int32)


def _mixed_bytes(total: Any, a: Any, b: Any) -> Any:
    """Multiply unsigned bytes with signed ones, likewise."""
    return _signed_bytes(total, a.view(np.uint8), b)


def _pairs_of_floats(total: Any, a: Any, b: Any) -> Any:
    """Add the products of two neighbours, numbers of bf16, to a sum of f32, the second one first."""
    with np.errstate(all="ignore"):
        products = (a.astype(np.float32) * b.astype(np.float32)).reshape(-1, 2)
        return total + products[:, 1] + products[:, 0]


def _permuted(table: Any, places: Any) -> Any:
    """Take elements of a vector; places are modulo their count."""
    return table[places & (len(table) - 1)]


def _permuted_pair(low: Any, places: Any, high: Any) -> Any:
    """Do the same for two vectors, one after the other."""
    return _permuted(np.concatenate([low, high]), places)


def _permuted_bytes(table: Any, places: Any) -> Any:
    """Take bytes of the same part of 16 bytes; 0 for negative places."""
    parts = np.arange(len(places)) & ~15
    return np.where(places < 0, np.int8(0), table[parts + (places & 15)])


def _chosen_bytes(*operands: Any) -> Any:
    """Take bytes of several vectors, one after the other; 0 for places after the last one."""
    return _changed_bytes(np.zeros_like(operands[-1]), *operands)


def _changed_bytes(old: Any, *operands: Any) -> Any:
    """Do the same, but leave the bytes of `old` for places after the last one."""
    *parts, places = operands
    table, places = np.concatenate(parts), places.view(np.uint8)
    return np.where(places < len(table), table[places & (len(table) - 1)], old)


def _difference(a: Any, b: Any) -> Any:
    """Subtract, and stop at the smallest and at the largest integer."""
    limits = np.iinfo(a.dtype)
    return np.clip(a.astype(np.int64) - b, limits.min, limits.max).astype(a.dtype)


def _same(x: Any) -> Any:
    return x


INTRINSICS: dict[str, Callable[..., Any]] = {
    "llvm.vp.select": _select,
    "llvm.arithmetic.fence": _same,
    "llvm.is.fpclass": _is_of_class,
    "llvm.x86.sse2.pmadd": _pairs,
    "llvm.x86.avx2.pmadd": _pairs,
    "llvm.x86.avx512.pmaddw.d": _pairs,
    "llvm.x86.ssse3.pmadd.ub.sw": _pairs_of_bytes,
    "llvm.x86.avx2.pmadd.ub": _pairs_of_bytes,
    "llvm.x86.avx512.pmaddubs.w": _pairs_of_bytes,
    "llvm.x86.avx512.vpdpbusd": _mixed_bytes,
    "llvm.x86.avx512bf16.dpbf16ps": _pairs_of_floats,
    "llvm.aarch64.neon.usdot.v4i32": _mixed_bytes,
    "llvm.aarch64.neon.sdot.v4i32": _signed_bytes,
    "llvm.x86.avx512.vpermi2var.qi": _permuted_pair,
    "llvm.x86.avx512.permvar.si": _permuted,
    "llvm.x86.avx2.permd": _permuted,
    "llvm.x86.avx512.pshuf.b": _permuted_bytes,
    "llvm.x86.avx2.pshuf.b": _permuted_bytes,
    "llvm.x86.ssse3.pshuf.b": _permuted_bytes,
    "llvm.aarch64.neon.tbl1": _chosen_bytes,
    "llvm.aarch64.neon.tbl4": _chosen_bytes,
    "llvm.aarch64.neon.tbx4": _changed_bytes,
    "llvm.ssub.sat": _difference,
}
"""The functions of intrinsics, by their names without a type at the end."""
