"""Passes with one mistake each, as people make them, and right ones that look alike: `fuzz_pass` tells them apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, TypeVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, UnitAttr, f32, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern
from xdsl.traits import IsTerminator

from relex.dialects.relex import (
    AddOp,
    AstypeOp,
    CallDpsPackedOp,
    ConstantOp,
    DivideOp,
    MaxOp,
    MeanOp,
    MultiplyOp,
    NegativeOp,
    PermuteDimsOp,
    ReluOp,
    ReshapeOp,
    SoftmaxOp,
    SubtractOp,
    SumOp,
)
from relex.dialects.relex.operator import tensor_type
from relex.dialects.relex.properties import python_value
from relex.dialects.tir import ForOp, InitOp, PrimFuncOp
from relex.passes import RelexPass, reassociates
from relex.passes.rewriting.numerics import Numerics
from relex.passes.rewriting.patterns import attribute, constant, each, values, wildcard
from relex.passes.rewriting.rewrite_rules import OperatorFunction, Rule, RulesPass, operators, rule

LoopT = TypeVar("LoopT", bound=Operation)

o = operators
astype = OperatorFunction(AstypeOp)
x, y, z, b = wildcard("x"), wildcard("y"), wildcard("z"), wildcard("b")
xs = values("xs")
axis, axes = attribute("axis"), attribute("axes")


@dataclass(frozen=True)
class Mistake:
    """A pass, and what the message about it names: the rule, and the op."""

    p: type[ModulePass]
    rule: str | None
    op: str


MISTAKES: dict[str, Mistake] = {}
RIGHT: dict[str, type[ModulePass]] = {}


def mistake(rule: str | None, op: str) -> Callable[[type[ModulePass]], type[ModulePass]]:
    """Decorate a pass whose mistake is in a rule and about an op."""

    def enter(p: type[ModulePass]) -> type[ModulePass]:
        MISTAKES[p.name] = Mistake(p, rule, op)
        return p

    return enter


def right(p: type[ModulePass]) -> type[ModulePass]:
    """Decorate a pass without a mistake."""
    RIGHT[p.name] = p
    return p


# Rules.


def rules_pass(name: str, op: str, *rules: Rule, numerics: Numerics | None = None) -> None:
    """Enter a pass of rules, the last of which has a mistake about an op."""
    declared = {} if numerics is None else {"numerics": numerics}
    p = type(name, (RulesPass,), {"name": name, "rules": rules, "__module__": __name__, **declared})
    MISTAKES[name] = Mistake(p, rules[-1].name, op)


# Swapped operands.
rules_pass(
    "swap-operands",
    "relex.subtract",
    rule(o.subtract(x, o.negative(y)), lambda m: o.add(m.y, o.negative(m.x)), name="swap"),
)

# A wrong operand: x * y + x.
rules_pass(
    "wrong-operand", "relex.add", rule(o.add(o.multiply(x, y), z), lambda m: o.ewise_fma(m.x, m.y, m.x), name="fma")
)

# The axis of a sum is not moved by the transposition before it.
rules_pass(
    "wrong-axis",
    "relex.sum",
    rule(o.sum(o.permute_dims(x), axis=axes), lambda m: o.sum(m.x, axis=m.axes), name="split"),
)

# Two permutations need not be inverse to each other.
rules_pass(
    "transposed-axes", "relex.permute_dims", rule(o.permute_dims(o.permute_dims(x)), lambda m: m.x, name="twice")
)

# NaN and infinities times zero are NaN.
rules_pass("nan-lost", "relex.multiply", rule(o.multiply(x, constant("zero", number=0)), lambda m: m.zero, name="zero"))

# Infinity minus infinity is NaN.
rules_pass(
    "infinity-lost",
    "relex.subtract",
    rule(o.subtract(x, x), lambda m: ConstantOp(zeros(m.x)), name="cancel", where=lambda m: is_static(m.x)),
)


def zeros(value: Any) -> Any:
    return np.zeros(value.type.get_shape(), np.float32)


def is_f32(value: Any) -> bool:
    return value.type.element_type == f32


def are_matrices(m: Any) -> bool:
    return all(value.type.get_num_dims() == 2 for value in (m.x, m.y, m.z))


def is_static(value: Any) -> bool:
    return value.type.has_static_shape() and value.type.element_type == f32


# -0 + 0 is 0.
rules_pass("negative-zero", "relex.add", rule(o.add(x, constant(number=0)), lambda m: m.x, name="plus-zero"))

# Sums of floats depend on their order, and the pass does not say that it changes it.
rules_pass("not-exact", "relex.add", rule(o.add(o.add(x, y), z), lambda m: o.add(m.x, o.add(m.y, m.z)), name="regroup"))

# It may reassociate, but not commute.
rules_pass(
    "wrong-chain",
    "relex.matmul",
    rule(o.matmul(o.matmul(x, y), z), lambda m: o.matmul(m.x, o.matmul(m.z, m.y)), name="chain"),
    numerics=reassociates,
)

# Products of integers overflow, so a product divided by a factor is not the other factor.
rules_pass(
    "integer-overflow",
    "relex.divide",
    rule(o.divide(o.multiply(x, y), y), lambda m: m.x, name="halve"),
    numerics=reassociates,
)

# A bias that is not a scalar is added to other elements after a concatenation.
rules_pass(
    "broadcast-forgotten",
    "relex.concat",
    rule(o.concat(each(o.add(xs, b)), axis=axis), lambda m: o.add(o.concat(m.xs, axis=m.axis), m.b), name="hoist"),
)

# The mean of no numbers is NaN.
rules_pass(
    "empty-forgotten", "relex.mean", rule(o.mean(o.broadcast_to(x)), lambda m: m.x, name="mean"), numerics=reassociates
)

# f64 is computed in f32.
rules_pass(
    "precision-lost",
    "relex.exp",
    rule(
        o.exp(x),
        lambda m: astype(o.exp(astype(m.x, dtype=f32)), dtype=m.x.type.element_type),
        where=lambda m: m.x.type.element_type != f32,
        name="narrow",
    ),
)

# Two rules that undo each other.
rules_pass(
    "endless-rules",
    "relex.add",
    rule(o.negative(o.add(x, y)), lambda m: o.add(o.negative(m.x), o.negative(m.y)), name="push"),
    rule(o.add(o.negative(x), o.negative(y)), lambda m: o.negative(o.add(m.x, m.y)), name="undo"),
)

# A list that may be shorter.
rules_pass(
    "shape-crash",
    "relex.concat",
    rule(o.concat(each(xs)), lambda m: m.xs[0], where=lambda m: 0 in m.xs[1].type.get_shape(), name="first"),
)


# Patterns of xDSL.


@dataclass(frozen=True)
class PatternPass(RelexPass):
    """A pass of one pattern."""

    pattern: ClassVar[type[RewritePattern]]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(self.pattern()).rewrite_module(op)


PatternT = TypeVar("PatternT", bound=type[RewritePattern])


def pattern_pass(name: str, op: str | None = None) -> Callable[[PatternT], PatternT]:
    """Decorate a pattern that is a pass, with a mistake about an op or without one."""

    def enter(pattern: PatternT) -> PatternT:
        p = type(f"{pattern.__name__}Pass", (PatternPass,), {"name": name, "pattern": pattern, "__module__": __name__})
        if op is None:
            RIGHT[name] = p
        else:
            MISTAKES[name] = Mistake(p, pattern.__name__, op)
        return pattern

    return enter


@pattern_pass("lost-user", "relex.add")
class SharedValue(RewritePattern):
    """-x + y to y - x; the negative becomes x for everyone. Other users of a value are forgotten."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter) -> None:
        if isinstance(negative := op.lhs.owner, NegativeOp):
            rewriter.replace(op, SubtractOp(op.rhs, negative.operand))
            rewriter.replace(negative, [], [negative.operand])


@pattern_pass("wrong-type", "relex.relu")
class WrongType(RewritePattern):
    """relu(x) of a constant is the constant as f32. A replacement of another type."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReluOp, rewriter: PatternRewriter) -> None:
        if tensor_type(op.operand.type).element_type != f32:
            rewriter.replace(op, AstypeOp(op.operand, dtype=f32))


@pattern_pass("dynamic-size", "relex.mean")
class MeanAsSum(RewritePattern):
    """The mean as a sum and a division by the number of elements. Dynamic sizes are -1 in shapes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MeanOp, rewriter: PatternRewriter) -> None:
        t = tensor_type(op.operand.type)
        if op.axis is None and op.keepdims is None and t.element_type == f32:
            total, count = SumOp(op.operand), ConstantOp(np.array(prod(t.get_shape()), np.float32))
            rewriter.replace(op, [total, count, DivideOp(total, count)])


@pattern_pass("keepdims-lost", "relex.sum")
class KeepDims(RewritePattern):
    """A sum of a sum, whose properties are forgotten. Dimensions that were kept are lost."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SumOp, rewriter: PatternRewriter) -> None:
        if isinstance(inner := op.operand.owner, SumOp):
            rewriter.replace(op, SumOp(inner.operand))


@pattern_pass("wrong-fold", "relex.multiply")
class FoldWrong(RewritePattern):
    """A product with a constant folded into the constant after it. 2 * x is x + x, not x + 2."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MultiplyOp, rewriter: PatternRewriter) -> None:
        if isinstance(c := op.rhs.owner, ConstantOp) and set(c.value.get_values()) == {2}:
            rewriter.replace(op, AddOp(op.lhs, op.rhs))


@pattern_pass("endless-pattern", "relex.add")
class Endless(RewritePattern):
    """x + y to y + x. A pattern that always applies."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, AddOp(op.rhs, op.lhs))


@pattern_pass("rank-crash", "relex.max")
class RankCrash(RewritePattern):
    """The maximum along the last axis, of tensors that have one. A tensor without dimensions has no last one."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MaxOp, rewriter: PatternRewriter) -> None:
        if tensor_type(op.operand.type).get_shape()[-1] == 1 and op.axis is not None:
            rewriter.replace(op, ReshapeOp(op.operand, tensor_type(op.result.type).get_shape()))


# Passes without patterns.


@mistake(None, "relex.call_dps_packed")
@dataclass(frozen=True)
class EffectMovedPass(RelexPass):
    """Calls of library functions are sorted."""

    name = "effect-moved"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        calls = [inner for inner in op.walk() if isinstance(inner, CallDpsPackedOp)]
        if len(calls) > 1 and (block := calls[-1].parent) is not None:
            calls[0].detach()
            block.insert_op_after(calls[0], calls[-1])


@mistake(None, "relex.call_dps_packed")
@dataclass(frozen=True)
class EffectLostPass(RelexPass):
    """Calls without results are taken for dead."""

    name = "effect-lost"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for call in list(op.walk()):
            if isinstance(call, CallDpsPackedOp) and not call.results:
                call.detach()
                call.erase()


@mistake(None, "relex.softmax")
@dataclass(frozen=True)
class PropertiesForgottenPass(RelexPass):
    """Equal operators are computed once, but those with other properties are not equal."""

    name = "properties-forgotten"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        seen: dict[tuple[object, object], SoftmaxOp] = {}
        for softmax in [inner for inner in op.walk() if isinstance(inner, SoftmaxOp)]:
            first = seen.setdefault((softmax.parent, softmax.operands[0]), softmax)
            if first is not softmax:
                softmax.result.replace_all_uses_with(first.result)


# Loops.


@pattern_pass("init-dropped", "tir.init")
class IgnoreInit(RewritePattern):
    """Drop the start of reductions. Sums start with what was there."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: InitOp, rewriter: PatternRewriter) -> None:
        rewriter.erase(op)


@pattern_pass("indices-swapped", "memref.load")
class SwapIndices(RewritePattern):
    """x[i, j] to x[j, i]. Loads from transposed places."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.LoadOp, rewriter: PatternRewriter) -> None:
        if len(op.indices) == 2 and "seen" not in op.attributes:
            swapped = memref.LoadOp.get(op.memref, list(reversed(op.indices)))
            swapped.attributes["seen"] = UnitAttr()
            rewriter.replace(op, swapped)


@pattern_pass("reciprocal", "arith.divf")
class Reciprocal(RewritePattern):
    """x / y to x * (1 / y). A product with the reciprocal rounds twice."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.DivfOp, rewriter: PatternRewriter) -> None:
        if not isinstance(op.lhs.owner, arith.ConstantOp) and op.result.type == f32:
            one = arith.ConstantOp(FloatAttr(1.0, f32))
            inverse = arith.DivfOp(one, op.rhs)
            rewriter.replace(op, [one, inverse, arith.MulfOp(op.lhs, inverse)])


def only(block: Block, kind: type[LoopT]) -> LoopT | None:
    """The op that is all of the body of a loop."""
    ops = [op for op in block.ops if not op.has_trait(IsTerminator)]
    return ops[0] if len(ops) == 1 and isinstance(ops[0], kind) else None


def interchange(outer: ForOp, inner: ForOp) -> None:
    outer.static_extent, inner.static_extent = inner.static_extent, outer.static_extent
    outer.label, inner.label = inner.label, outer.label
    swap_uses(outer.body.block.args[0], inner.body.block.args[0])


def swap_uses(a: SSAValue, b: SSAValue) -> None:
    of_a, of_b = list(a.uses), list(b.uses)
    for uses, new in ((of_a, b), (of_b, a)):
        for use in uses:
            use.operation.operands[use.index] = new


@mistake(None, "tir.for")
@dataclass(frozen=True)
class LoopsInterchangedPass(RelexPass):
    """Perfectly nested loops change places, whatever is in them."""

    name = "loops-interchanged"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for outer in [inner for inner in op.walk() if isinstance(inner, ForOp)]:
            inner = only(outer.body.block, ForOp)
            if inner is not None and outer.static_extent and inner.static_extent:
                interchange(outer, inner)


@mistake(None, "scf.for")
@dataclass(frozen=True)
class CarriedLoopsInterchangedPass(RelexPass):
    """Perfectly nested loops at the core level change places, whatever they carry."""

    name = "carried-loops-interchanged"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for outer in [inner for inner in op.walk() if isinstance(inner, scf.ForOp)]:
            inner = only(outer.body.block, scf.ForOp)
            if inner is None or outer.body.block.args[0] in (*inner.operands,):
                continue
            outer.operands[1], inner.operands[1] = inner.ub, outer.ub
            swap_uses(outer.body.block.args[0], inner.body.block.args[0])


# Passes without a mistake.


@right
@dataclass(frozen=True)
class AbsorbPass(RulesPass):
    """Negatives go into additions, biases out of concatenations."""

    name = "absorb"
    rules = (
        rule(o.add(x, o.negative(y)), lambda m: o.subtract(m.x, m.y)),
        rule(o.subtract(x, o.negative(y)), lambda m: o.add(m.x, m.y)),
        rule(
            o.concat(each(o.add(xs, b).single_use()), axis=axis),
            lambda m: o.add(o.concat(m.xs, axis=m.axis), m.b),
            where=lambda m: m.b.type.get_num_dims() == 0,
        ),
    )


@right
@dataclass(frozen=True)
class RegroupPass(RulesPass):
    """Sums and matrix products in another order, which the pass declares."""

    name = "regroup"
    numerics = reassociates
    rules = (
        rule(o.add(o.add(x, y), z), lambda m: o.add(m.x, o.add(m.y, m.z))),
        rule(o.matmul(o.matmul(x, y), z), lambda m: o.matmul(m.x, o.matmul(m.y, m.z)), where=are_matrices),
        rule(o.divide(o.divide(x, y), z), lambda m: o.divide(m.x, o.multiply(m.y, m.z)), where=lambda m: is_f32(m.x)),
    )


@pattern_pass("permute-once")
class PermuteOnce(RewritePattern):
    """A permutation of a permutation. Two permutations as one."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PermuteDimsOp, rewriter: PatternRewriter) -> None:
        if isinstance(inner := op.operand.owner, PermuteDimsOp):
            rewriter.replace(op, PermuteDimsOp(inner.operand, axes=[axes_of(inner)[i] for i in axes_of(op)]))


def axes_of(op: PermuteDimsOp) -> list[int]:
    rank = len(tensor_type(op.operand.type).get_shape())
    return [i % rank for i in python_value(op.axes)] if op.axes is not None else list(reversed(range(rank)))


@right
@dataclass(frozen=True)
class AnnotateLoopsPass(RelexPass):
    """Notes how many loops a function has."""

    name = "annotate-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [inner for inner in op.walk() if isinstance(inner, PrimFuncOp)]:
            loops = sum(isinstance(inner, ForOp) for inner in function.walk())
            function.attributes["test.loops"] = IntegerAttr(loops, i64)
