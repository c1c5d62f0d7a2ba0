"""Expansion of products of four bytes, and of two numbers of 16 bits, into the instructions of the target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import BFloat16Type, IntegerType, ModuleOp, VectorType, bf16, f32, i8, i16, i32
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.index.domains import constant_value
from relex.dialects.target.features import has_feature, module_target
from relex.dialects.target.processors import architecture_of
from relex.dialects.target.target_attribute import Target
from relex.dialects.tir import Dot2iOp, Dot2Op, Dot4Op
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import walk_of
from relex.lowering.llvm.intrinsics import call_intrinsic
from relex.lowering.te.scalars import build_constant
from relex.passes.driver.base import RelexPass


class ExpandDot4Pass(RelexPass):
    """
    Replaces `tir.dot4`, and the addition of its result to a sum, by the instruction of the target that does both:
    `vpdpbusd` of VNNI, or `usdot` of AArch64 with `i8mm`. Other processors multiply in two steps: with `pmaddubsw`,
    which adds up products of two bytes in 16 bits, and `pmaddwd`, which adds up two of these sums, if a mask keeps the
    left bytes below 128, so that the first sums fit; with `pmaddwd` alone, which adds up products of two numbers of 16
    bits, the even bytes and then the odd ones; with `sdot`, which takes signed bytes only, the left bytes minus 128,
    and then 128 times the right ones. Scalars, and vectors of other lengths, are shifted, multiplied and added up. The
    two integers of `tir.dot2i` are multiplied by `pmaddwd` at once, and the two numbers of `tir.dot2` by `vdpbf16ps`,
    where there is one; elsewhere they are shifted to f32, whose last 16 bits they lack.

    ```mlir
    %1 = tir.dot4 %a, %b : vector<16xi32>
    %2 = arith.addi %sum, %1 : vector<16xi32>
    // expand-dot4, for a target with VNNI
    %3 = vector.bitcast %a : vector<16xi32> to vector<64xi8>
    %4 = vector.bitcast %b : vector<16xi32> to vector<64xi8>
    %2 = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%sum, %3, %4)
        : (vector<16xi32>, vector<64xi8>, vector<64xi8>) -> vector<16xi32>
    ```
    """

    name = "expand-dot4"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = walk_of(op, Dot2Op, Dot2iOp, Dot4Op)
        if found:
            target = module_target(op)
            for product in found:
                _expand(product, target)


def _expand(op: Product, target: Target) -> None:
    """Replace an op, and the addition that alone uses its result, if there is one."""
    multiply = _best(op, target)
    if multiply is None:
        assert isinstance(op, Dot2Op)
        _expand_pairs(op)
        return
    use = op.result.get_unique_use()
    if use is not None and isinstance(addition := use.operation, arith.AddiOp | arith.AddfOp):
        total = addition.operands[1 - use.index]
        Rewriter.replace_op(addition, [], [multiply(_Emitter(addition), total, op.lhs, op.rhs)])
        Rewriter.erase_op(op)
        return
    emitter = _Emitter(op)
    zero = emitter.constant(0, op.result.type)
    Rewriter.replace_op(op, [], [multiply(emitter, zero, op.lhs, op.rhs)])


def _expand_pairs(op: Dot2Op) -> None:
    """Replace a product of pairs by two products of f32."""
    out = _Emitter(op)

    def product(part: Callable[[SSAValue], SSAValue]) -> SSAValue:
        lhs, rhs = (out.floats(part(words)) for words in (op.lhs, op.rhs))
        return out.add(arith.MulfOp(lhs, rhs, _CONTRACT))

    high = product(lambda words: out.apply(arith.AndIOp, words, -(2**16)))
    low = product(lambda words: out.apply(arith.ShLIOp, words, 16))
    Rewriter.replace_op(op, [], [out.add(arith.AddfOp(low, high, _CONTRACT))])


_CONTRACT = arith.FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])


class _Emitter:
    """Inserts ops before another one."""

    def __init__(self, before: Operation):
        self._builder = Builder(InsertPoint.before(before))
        self._location = before.location

    def add(self, op: Operation) -> SSAValue:
        op.location = self._location
        return self._builder.insert(op).results[0]

    def constant(self, number: int, kind: Attribute) -> SSAValue:
        return self.add(build_constant(number, kind))

    def narrow(self, words: SSAValue, element: IntegerType | BFloat16Type) -> SSAValue:
        """Return the bits of a vector of words as numbers of fewer bits."""
        count = _lanes(words.type) * i32.bitwidth // element.bitwidth
        return self.add(vector.BitcastOp(words, VectorType(element, [count])))

    def floats(self, words: SSAValue) -> SSAValue:
        """Return the floats of the same bits as words."""
        if isa(words.type, VectorType):
            return self.add(vector.BitcastOp(words, VectorType(f32, words.type.shape)))
        return self.add(arith.BitcastOp(words, f32))

    def call(self, name: str, *arguments: SSAValue, like: SSAValue) -> SSAValue:
        return self.add(call_intrinsic(name, arguments, [like.type]))

    def apply(self, kind: Callable[[SSAValue, SSAValue], Operation], value: SSAValue, number: int) -> SSAValue:
        """Apply an op to a value and a number."""
        return self.add(kind(value, self.constant(number, value.type)))


def _lanes(kind: Attribute) -> int:
    return kind.get_shape()[0] if isa(kind, VectorType) else 1


Product = Dot2Op | Dot2iOp | Dot4Op

Element = IntegerType | BFloat16Type

Multiply = Callable[[_Emitter, SSAValue, SSAValue, SSAValue], SSAValue]
"""Emits the sum of a number and the products of the numbers in two words."""


def _at_once(
    intrinsic: str, out: _Emitter, total: SSAValue, lhs: SSAValue, rhs: SSAValue, *, element: Element = i8
) -> SSAValue:
    """Multiply by one instruction, which adds to a sum."""
    return out.call(intrinsic, total, out.narrow(lhs, element), out.narrow(rhs, element), like=total)


def _as_pairs(intrinsic: str, out: _Emitter, total: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Multiply by an instruction that adds up the products of two neighbours of 16 bits."""
    product = out.call(intrinsic, out.narrow(lhs, i16), out.narrow(rhs, i16), like=total)
    return out.add(arith.AddiOp(total, product))


def _even_then_odd(intrinsic: str, out: _Emitter, total: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Multiply by an instruction that adds up the products of two neighbours of 16 bits."""
    a, b = out.narrow(lhs, i16), out.narrow(rhs, i16)
    even = out.apply(arith.AndIOp, a, 0xFF), out.apply(arith.ShRSIOp, out.apply(arith.ShLIOp, b, 8), 8)
    odd = out.apply(arith.ShRUIOp, a, 8), out.apply(arith.ShRSIOp, b, 8)
    for pair in (even, odd):
        total = out.add(arith.AddiOp(total, out.call(intrinsic, *pair, like=total)))
    return total


def _as_bytes(intrinsic: str, wide: str, out: _Emitter, total: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Multiply by an instruction that adds up the products of two neighbouring bytes in 16 bits, and one that adds up
    two of these sums."""
    pairs = VectorType(i16, [2 * _lanes(total.type)])
    sums = out.add(call_intrinsic(intrinsic, [out.narrow(lhs, i8), out.narrow(rhs, i8)], [pairs]))
    return out.add(arith.AddiOp(total, out.call(wide, sums, out.constant(1, pairs), like=total)))


def _of_signed(intrinsic: str, out: _Emitter, total: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Multiply by an instruction for signed bytes: the left ones minus 128, and -128, which is subtracted again."""
    a, b = out.narrow(lhs, i8), out.narrow(rhs, i8)
    lowest, zero = out.constant(-128, a.type), out.constant(0, total.type)
    added = out.call(intrinsic, total, out.add(arith.XOrIOp(a, lowest)), b, like=total)
    return out.add(arith.SubiOp(added, out.call(intrinsic, zero, lowest, b, like=total)))


def _half_by_half(out: _Emitter, total: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Multiply words of 16 bits each."""
    for last in (16, 0):
        a, b = (out.apply(arith.ShRSIOp, out.apply(arith.ShLIOp, x, last), 16) for x in (lhs, rhs))
        total = out.add(arith.AddiOp(total, out.add(arith.MuliOp(a, b))))
    return total


def _byte_by_byte(out: _Emitter, total: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Multiply words of one byte each."""
    for last in (24, 16, 8, 0):
        a = out.apply(arith.ShRUIOp, out.apply(arith.ShLIOp, lhs, last), 24)
        b = out.apply(arith.ShRSIOp, out.apply(arith.ShLIOp, rhs, last), 24)
        total = out.add(arith.AddiOp(total, out.add(arith.MuliOp(a, b))))
    return total


_MOST = 2**8 - 1


@dataclass(frozen=True)
class _Instruction:
    """An instruction on vectors of `words` words, of the processors with all of some features."""

    architecture: str
    features: tuple[str, ...]
    lanes: int
    multiply: Multiply
    most: int = _MOST
    """The largest byte on the left for which it is exact."""


_LARGEST_OF_PAIRS = 127
"""The largest byte of which products with two signed bytes have a sum of 16 bits."""

_INSTRUCTIONS = (
    _Instruction("x86_64", ("avx512vnni",), 16, partial(_at_once, "llvm.x86.avx512.vpdpbusd.512")),
    _Instruction("x86_64", ("avx512vnni", "avx512vl"), 8, partial(_at_once, "llvm.x86.avx512.vpdpbusd.256")),
    _Instruction("x86_64", ("avx512vnni", "avx512vl"), 4, partial(_at_once, "llvm.x86.avx512.vpdpbusd.128")),
    _Instruction("x86_64", ("avxvnni",), 8, partial(_at_once, "llvm.x86.avx512.vpdpbusd.256")),
    _Instruction("x86_64", ("avxvnni",), 4, partial(_at_once, "llvm.x86.avx512.vpdpbusd.128")),
    *(
        _Instruction("x86_64", (feature,), lanes, partial(_as_bytes, bytewise, wide), _LARGEST_OF_PAIRS)
        for feature, lanes, bytewise, wide in (
            ("avx512bw", 16, "llvm.x86.avx512.pmaddubs.w.512", "llvm.x86.avx512.pmaddw.d.512"),
            ("avx2", 8, "llvm.x86.avx2.pmadd.ub.sw", "llvm.x86.avx2.pmadd.wd"),
            ("ssse3", 4, "llvm.x86.ssse3.pmadd.ub.sw.128", "llvm.x86.sse2.pmadd.wd"),
        )
    ),
    _Instruction("x86_64", ("avx512bw",), 16, partial(_even_then_odd, "llvm.x86.avx512.pmaddw.d.512")),
    _Instruction("x86_64", ("avx2",), 8, partial(_even_then_odd, "llvm.x86.avx2.pmadd.wd")),
    _Instruction("x86_64", (), 4, partial(_even_then_odd, "llvm.x86.sse2.pmadd.wd")),
    _Instruction("aarch64", ("i8mm",), 4, partial(_at_once, "llvm.aarch64.neon.usdot.v4i32.v16i8")),
    _Instruction("aarch64", ("dotprod",), 4, partial(_of_signed, "llvm.aarch64.neon.sdot.v4i32.v16i8")),
)
"""The best ones first."""


_OF_PAIRS = (
    _Instruction("x86_64", ("avx512bw",), 16, partial(_as_pairs, "llvm.x86.avx512.pmaddw.d.512")),
    _Instruction("x86_64", ("avx2",), 8, partial(_as_pairs, "llvm.x86.avx2.pmadd.wd")),
    _Instruction("x86_64", (), 4, partial(_as_pairs, "llvm.x86.sse2.pmadd.wd")),
)
"""Those for two integers of 16 bits in a word."""

_OF_FLOATS = tuple(
    _Instruction(
        "x86_64",
        ("avx512bf16", *(() if lanes == 16 else ("avx512vl",))),
        lanes,
        partial(_at_once, f"llvm.x86.avx512bf16.dpbf16ps.{32 * lanes}", element=bf16),
    )
    for lanes in (16, 8, 4)
)
"""Those for two numbers of bf16 in a word."""

_WAYS: Mapping[type[Product], tuple[Sequence[_Instruction], Multiply | None]] = {
    Dot2Op: (_OF_FLOATS, None),
    Dot2iOp: (_OF_PAIRS, _half_by_half),
    Dot4Op: (_INSTRUCTIONS, _byte_by_byte),
}
"""The instructions for an op, and what takes their place."""


def _best(op: Product, target: Target) -> Multiply | None:
    """Return how a target multiplies the words of an op best; None for `_expand_pairs`."""
    instructions, otherwise = _WAYS[type(op)]
    lanes, most = _lanes(op.result.type), _largest_byte(op.lhs)
    suitable = (i for i in instructions if i.lanes == lanes and i.architecture == architecture_of(target.triple))
    exact = (i for i in suitable if most <= i.most)
    has_all = (i.multiply for i in exact if all(has_feature(target, feature) for feature in i.features))
    return next(has_all, otherwise)


def _largest_byte(words: SSAValue) -> int:
    """Return a bound of the unsigned bytes of words: the largest byte of a mask, if there is one."""
    candidates = words.owner.operands if isinstance(words.owner, arith.AndIOp) else (words,)
    scalars = (v.owner.source if isinstance(v.owner, vector.BroadcastOp) else v for v in candidates)
    masks = (constant_value(value) for value in scalars)
    return min((max((mask % 2**32).to_bytes(4, "little")) for mask in masks if mask is not None), default=_MOST)
