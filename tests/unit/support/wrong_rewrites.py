"""Rewrites that are wrong, as people write them, and where there is one the right form of each."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, get_type_hints

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, func, math, memref, scf
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, ModuleOp, f16, f32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern

from relex.dialects import parse_module
from relex.dialects.relex import (
    AbsOp,
    AddOp,
    ArgmaxOp,
    AstypeOp,
    AvgPool2dOp,
    BroadcastToOp,
    ConcatOp,
    ConstantOp,
    Conv2dOp,
    DenseOp,
    DivideOp,
    EqualOp,
    ExpOp,
    GreaterOp,
    LessOp,
    LogOp,
    MatmulOp,
    MaximumOp,
    MaxOp,
    MeanOp,
    MinimumOp,
    MultiplyOp,
    NegativeOp,
    PadOp,
    PermuteDimsOp,
    ReluOp,
    ReshapeOp,
    SqueezeOp,
    StridedSliceOp,
    SubtractOp,
    SumOp,
    TakeOp,
    WhereOp,
)
from relex.dialects.relex.operator import tensor_type
from relex.dialects.tir import BlockOp, InitOp
from relex.lowering import ConvertTirToScfPass, LegalizeOpsPass, LowerCallTirPass
from relex.lowering.relex_pipeline import Level
from relex.passes import RelexPass

Match = Callable[[Any, PatternRewriter], None]


@dataclass
class _Pattern(RewritePattern):
    """A function on ops of one class."""

    kind: type[Operation]
    match: Match

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, self.kind):
            self.match(op, rewriter)


@dataclass(frozen=True)
class Rewrite(ModulePass):
    """A pass of one pattern."""

    name = "rewrite"

    pattern: _Pattern | None = field(default=None, compare=False)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        assert self.pattern is not None
        PatternRewriteWalker(self.pattern, apply_recursively=False).rewrite_module(op)


def _as_pass(match: Match) -> Rewrite:
    (kind, *_) = (get_type_hints(match)[name] for name in inspect.signature(match).parameters)
    name = match.__name__.replace("_", "-")
    return type(match.__name__, (Rewrite,), {"name": name})(_Pattern(kind, match))


@dataclass(frozen=True)
class Case:
    """A wrong pass, a program that it breaks, and the same pass done right."""

    program: str
    level: Level
    wrong: ModulePass
    right: ModulePass | None = None

    @property
    def module(self) -> ModuleOp:
        module = parse_module(self.program)
        for p in LOWERINGS[self.level]:
            module = p(module)
        return module


LOWERINGS: dict[Level, list[RelexPass]] = {
    "graph": [],
    "loops": [LegalizeOpsPass()],
    "core": [LegalizeOpsPass(), LowerCallTirPass(), ConvertTirToScfPass()],
}
"""Down to a level without fusion: a function for each operator."""

CASES: dict[str, Case] = {}


def wrong(program: str, level: Level = "graph") -> Callable[[Match], Match]:
    """Decorates what a wrong pass does to an op; `program` is what it breaks, lowered to `level`."""

    def enter(match: Match) -> Match:
        p = _as_pass(match)
        assert p.name not in CASES
        CASES[p.name] = Case(program, level, p)
        return match

    return enter


def right(name: str) -> Callable[[Match], Match]:
    """Decorates the right form of the wrong pass `name`."""

    def enter(match: Match) -> Match:
        case = CASES[name]
        CASES[name] = Case(case.program, case.level, case.wrong, _as_pass(match))
        return match

    return enter


def graph(types: dict[str, str], body: str, results: str) -> str:
    """A function @main of these arguments; `body` ends with the value that it returns."""
    arguments = ", ".join(f"%{name}: {kind}" for name, kind in types.items())
    return f"func.func @main({arguments}) -> {results} {{\n{body}\n}}\n"


def unary(op: str, operand: str = "3x5xf32", result: str | None = None) -> str:
    a, r = f"tensor<{operand}>", f"tensor<{result or operand}>"
    return graph({"x": a}, f"%r = relex.{op} : ({a}) -> {r}\nfunc.return %r : {r}", r)


def binary(op: str, a: str = "3x5xf32", b: str = "3x5xf32", result: str | None = None) -> str:
    ta, tb, r = f"tensor<{a}>", f"tensor<{b}>", f"tensor<{result or a}>"
    return graph({"x": ta, "y": tb}, f"%r = relex.{op} : ({ta}, {tb}) -> {r}\nfunc.return %r : {r}", r)


T = "tensor<3x5xf32>"


def chain(*ops: str) -> str:
    """A function of %x, %y and %z, all 3x5, that returns the value of its last line."""
    lines = [f"%{i} = relex.{op} : ({', '.join([T] * op.count('%'))}) -> {T}" for i, op in enumerate(ops)]
    return graph({"x": T, "y": T, "z": T}, "\n".join([*lines, f"func.return %{len(ops) - 1} : {T}"]), T)


def zeros(like: SSAValue) -> ConstantOp:
    return ConstantOp(np.zeros(tensor_type(like.type).get_shape(), np.float32))


# Algebra that holds for real numbers.


@wrong(binary("subtract %x, %y"))
def swap_operands(op: SubtractOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, SubtractOp(op.rhs, op.lhs))


@right("swap-operands")
def negate_swapped(op: SubtractOp, rewriter: PatternRewriter) -> None:
    negative = NegativeOp(op.rhs)
    rewriter.replace(op, [negative, AddOp(op.lhs, negative)])


@wrong(chain("add %x, %y", "add %0, %z"))
def reassociate_sums(op: AddOp, rewriter: PatternRewriter) -> None:
    if isinstance(op.lhs.owner, AddOp):
        inner = AddOp(op.lhs.owner.rhs, op.rhs)
        rewriter.replace(op, [inner, AddOp(op.lhs.owner.lhs, inner)])


@right("reassociate-sums")
def commute_sums(op: AddOp, rewriter: PatternRewriter) -> None:
    if isinstance(op.lhs.owner, AddOp):
        rewriter.replace(op, AddOp(op.rhs, op.lhs))


@wrong(chain("add %y, %z", "multiply %x, %0"))
def distribute_products(op: MultiplyOp, rewriter: PatternRewriter) -> None:
    if isinstance(op.rhs.owner, AddOp):
        a, b = MultiplyOp(op.lhs, op.rhs.owner.lhs), MultiplyOp(op.lhs, op.rhs.owner.rhs)
        rewriter.replace(op, [a, b, AddOp(a, b)])


@wrong(chain("subtract %x, %x", "add %0, %y"))
def cancel_differences(op: SubtractOp, rewriter: PatternRewriter) -> None:
    if op.lhs is op.rhs:
        rewriter.replace(op, zeros(op.lhs))


@wrong(chain("subtract %x, %x", "multiply %0, %y"))
def zero_products(op: SubtractOp, rewriter: PatternRewriter) -> None:
    """x - x is zero, and so is its product with anything."""
    use = op.result.get_user_of_unique_use()
    if isinstance(use, MultiplyOp):
        rewriter.replace(use, zeros(op.lhs))


@wrong(chain("add %x, %y", "subtract %0, %y"))
def undo_sums(op: SubtractOp, rewriter: PatternRewriter) -> None:
    if isinstance(op.lhs.owner, AddOp) and op.lhs.owner.rhs is op.rhs:
        rewriter.replace(op, [], [op.lhs.owner.lhs])


@wrong(chain("negative %x", "negative %0", "negative %1"))
def undo_one_negation(op: NegativeOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, [], [op.operand])


@right("undo-one-negation")
def undo_two_negations(op: NegativeOp, rewriter: PatternRewriter) -> None:
    if isinstance(op.operand.owner, NegativeOp):
        rewriter.replace(op, [], [op.operand.owner.operand])


@wrong(chain("divide %x, %y", "divide %0, %z"))
def join_quotients(op: DivideOp, rewriter: PatternRewriter) -> None:
    if isinstance(op.lhs.owner, DivideOp):
        divisor = MultiplyOp(op.lhs.owner.rhs, op.rhs)
        rewriter.replace(op, [divisor, DivideOp(op.lhs.owner.lhs, divisor)])


@wrong(chain("multiply %x, %y", "log %0"))
def split_logarithms(op: LogOp, rewriter: PatternRewriter) -> None:
    """Two negative numbers have a positive product."""
    if isinstance(op.operand.owner, MultiplyOp):
        a, b = LogOp(op.operand.owner.lhs), LogOp(op.operand.owner.rhs)
        rewriter.replace(op, [a, b, AddOp(a, b)])


# NaN and zeros.


@wrong(unary("relu %x"))
def select_in_relu(op: ReluOp, rewriter: PatternRewriter) -> None:
    """NaN is not above zero, so this gives 0 for it."""
    zero = zeros(op.operand)
    condition = GreaterOp(op.operand, zero)
    rewriter.replace(op, [zero, condition, WhereOp(condition, op.operand, zero)])


@right("select-in-relu")
def maximum_in_relu(op: ReluOp, rewriter: PatternRewriter) -> None:
    zero = zeros(op.operand)
    rewriter.replace(op, [zero, MaximumOp(op.operand, zero)])


@wrong(binary("equal %x, %y", result="3x5xi1"))
def subtract_to_compare(op: EqualOp, rewriter: PatternRewriter) -> None:
    """Infinity equals itself."""
    difference = SubtractOp(op.lhs, op.rhs)
    zero = zeros(op.lhs)
    rewriter.replace(op, [difference, zero, EqualOp(difference, zero)])


@wrong(binary("less %x, %y", result="3x5xi1"))
def flip_comparison(op: LessOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, GreaterOp(op.lhs, op.rhs))


@right("flip-comparison")
def flip_comparison_and_operands(op: LessOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, GreaterOp(op.rhs, op.lhs))


@wrong(unary("abs %x"))
def maximum_in_abs(op: AbsOp, rewriter: PatternRewriter) -> None:
    """Right but for a typing mistake: the smaller of x and -x."""
    negative = NegativeOp(op.operand)
    rewriter.replace(op, [negative, MinimumOp(op.operand, negative)])


@wrong(chain("maximum %x, %y", "minimum %0, %z"))
def swap_clamps(op: MinimumOp, rewriter: PatternRewriter) -> None:
    if isinstance(op.lhs.owner, MaximumOp):
        inner = MinimumOp(op.lhs.owner.lhs, op.rhs)
        rewriter.replace(op, [inner, MaximumOp(inner, op.lhs.owner.rhs)])


# Shapes.


@wrong(unary("permute_dims %x", "4x4xf32"))
def drop_square_transposition(op: PermuteDimsOp, rewriter: PatternRewriter) -> None:
    """The type stays, so nothing seems to change."""
    if op.operand.type == op.result.type:
        rewriter.replace(op, [], [op.operand])


@wrong(unary("permute_dims %x", "3x5xf32", "5x3xf32"))
def reshape_for_transposition(op: PermuteDimsOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, ReshapeOp(op.operand, op.result.type.get_shape()))


@wrong(binary("concat %x, %y axis = 0", "3xf32", "3xf32", "6xf32"))
def reverse_concat(op: ConcatOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, ConcatOp(*reversed(op.operands), axis=0))


@wrong(unary("sum %x axis = [0]", "4x4xf32", "4xf32"))
def sum_over_the_wrong_axis(op: SumOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, SumOp(op.operand, axis=1))


@right("sum-over-the-wrong-axis")
def sum_over_the_axis_from_the_back(op: SumOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, SumOp(op.operand, axis=-2))


@wrong(unary("mean %x axis = [0]", "5xf32", "f32"))
def mean_without_quotient(op: MeanOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, SumOp(op.operand, axis=0))


@wrong(unary("pad %x pad_width = [1, 0]", "4xf32", "5xf32"))
def pad_at_the_wrong_end(op: PadOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, PadOp(op.operands[0], pad_width=[0, 1]))


@wrong(unary("strided_slice %x axes = [0] begin = [0] end = [3] strides = [1]", "4xf32", "3xf32"))
def slice_off_by_one(op: StridedSliceOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, StridedSliceOp(op.operands[0], axes=[0], begin=[1], end=[4]))


@wrong(binary("add %x, %y", "4x4xf32", "4xf32"))
def broadcast_along_the_wrong_axis(op: AddOp, rewriter: PatternRewriter) -> None:
    column = ReshapeOp(op.rhs, [4, 1])
    rewriter.replace(op, [column, AddOp(op.lhs, column)])


@right("broadcast-along-the-wrong-axis")
def broadcast_along_the_right_axis(op: AddOp, rewriter: PatternRewriter) -> None:
    row = BroadcastToOp(op.rhs, [4, 4])
    rewriter.replace(op, [row, AddOp(op.lhs, row)])


@wrong(binary("matmul %x, %y", "4x4xf32", "4x4xf32"))
def dense_for_matmul(op: MatmulOp, rewriter: PatternRewriter) -> None:
    """A dense layer transposes its weight."""
    rewriter.replace(op, DenseOp(op.lhs, op.rhs))


@right("dense-for-matmul")
def dense_of_transposed(op: MatmulOp, rewriter: PatternRewriter) -> None:
    weight = PermuteDimsOp(op.rhs)
    rewriter.replace(op, [weight, DenseOp(op.lhs, weight)])


@wrong(unary("max %x axis = [1]", "3x5xf32", "3xf32"))
def maximum_without_the_last(op: MaxOp, rewriter: PatternRewriter) -> None:
    part = StridedSliceOp(op.operand, axes=[1], begin=[0], end=[4])
    rewriter.replace(op, [part, MaxOp(part, axis=1)])


@wrong(unary("argmax %x axis = 0", "5xf32", "i64"))
def place_of_the_smallest(op: ArgmaxOp, rewriter: PatternRewriter) -> None:
    negative = NegativeOp(op.operands[0])
    rewriter.replace(op, [negative, ArgmaxOp(negative, axis=0)])


@wrong(binary("take %x, %y axis = 0", "5xf32", "3xi64", "3xf32"))
def take_first(op: TakeOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, StridedSliceOp(op.operands[0], axes=[0], begin=[0], end=[3]))


@wrong(binary("conv2d %x, %y", "1x1x4x4xf32", "1x1x3x3xf32", "1x1x2x2xf32"))
def transpose_kernel(op: Conv2dOp, rewriter: PatternRewriter) -> None:
    kernel = PermuteDimsOp(op.operands[1], axes=[0, 1, 3, 2])
    rewriter.replace(op, [kernel, Conv2dOp(op.operands[0], kernel)])


@wrong(unary("avg_pool2d %x pool_size = [2, 2] padding = [1, 1, 1, 1]", "1x1x4x4xf32", "1x1x5x5xf32"))
def count_the_padding(op: AvgPool2dOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, AvgPool2dOp(op.operands[0], pool_size=[2, 2], padding=[1], count_include_pad=True))


@wrong(unary("squeeze %x axis = [0]", "1x3x1xf32", "3x1xf32"))
def double_what_is_squeezed(op: SqueezeOp, rewriter: PatternRewriter) -> None:
    twice = AddOp(op.operands[0], op.operands[0])
    rewriter.replace(op, [twice, SqueezeOp(twice, axis=0)])


# Numbers.


@wrong(unary("exp %x"))
def compute_in_half_precision(op: ExpOp, rewriter: PatternRewriter) -> None:
    half = AstypeOp(op.operand, dtype=f16)
    power = ExpOp(half)
    rewriter.replace(op, [half, power, AstypeOp(power, dtype=f32)])


@wrong(
    graph(
        {"x": T},
        f"%c = relex.constant dense<1.5> : {T}\n%r = relex.add %x, %c : ({T}, {T}) -> {T}\nfunc.return %r : {T}",
        T,
    )
)
def round_constants(op: ConstantOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, ConstantOp(np.full(op.result.type.get_shape(), 1, np.float32)))


# Uses.


@wrong(chain("exp %x", "add %0, %y", "multiply %0, %1"))
def forget_other_uses(op: AddOp, rewriter: PatternRewriter) -> None:
    """The power is changed for this use, and the others see it too."""
    if isinstance(op.lhs.owner, ExpOp):
        product = AddOp(op.lhs, op.rhs)
        op.lhs.replace_uses_with_if(op.rhs, lambda use: use.operation is not op)
        rewriter.replace(op, product)


@wrong(
    graph(
        {"x": T, "y": T},
        f"%0 = relex.add %x, %y : ({T}, {T}) -> {T}\n%1 = relex.subtract %x, %y : ({T}, {T}) -> {T}\n"
        f"func.return %0, %1 : {T}, {T}",
        f"({T}, {T})",
    )
)
def lose_an_output(op: func.ReturnOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, func.ReturnOp(op.operands[0], op.operands[0]))


# Loops.


@wrong(binary("dense %x, %y", "2x7xf32", "3x7xf32", "2x3xf32"), "loops")
def drop_init(op: BlockOp, rewriter: PatternRewriter) -> None:
    if op.init is not None:
        rewriter.erase(op.init)


@wrong(binary("dense %x, %y", "2x7xf32", "3x7xf32", "2x3xf32"), "loops")
def start_with_one(op: arith.ConstantOp, rewriter: PatternRewriter) -> None:
    if isinstance(op.parent_op(), InitOp):
        rewriter.replace(op, arith.ConstantOp(FloatAttr(1.0, f32)))


@wrong(unary("permute_dims %x", "4x4xf32"), "loops")
def swap_indices(op: memref.LoadOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, memref.LoadOp.get(op.memref, list(reversed(op.indices))))


@wrong(unary("softmax %x", "3x5xf32"), "loops")
def forget_the_shift(op: arith.SubfOp, rewriter: PatternRewriter) -> None:
    """The largest element is subtracted lest powers overflow."""
    rewriter.replace(op, [], [op.lhs])


@wrong(chain("divide %x, %y"), "loops")
def multiply_by_the_reciprocal(op: arith.DivfOp, rewriter: PatternRewriter) -> None:
    one = arith.ConstantOp(FloatAttr(1.0, f32))
    reciprocal = arith.DivfOp(one, op.rhs)
    rewriter.replace(op, [one, reciprocal, arith.MulfOp(op.lhs, reciprocal)])


@wrong(unary("relu %x"), "loops")
def ignore_nan(op: arith.MaximumfOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, arith.MaxnumfOp(op.lhs, op.rhs))


@wrong(unary("astype %x dtype = i8", "9xf32", "9xi8"), "loops")
def convert_through_fewer_bits(op: arith.FPToSIOp, rewriter: PatternRewriter) -> None:
    """Integers beyond the range wrap around where they should stop at its end."""
    for user in [use.operation for use in op.result.uses]:
        if isinstance(user, arith.SelectOp):
            rewriter.replace(user, [], [op.result])


# Buffers and plain loops.


@wrong(chain("multiply %x, %y", "add %0, %z"), "core")
def share_a_buffer(op: memref.AllocOp, rewriter: PatternRewriter) -> None:
    """An argument serves as temporary memory: the caller's data is gone."""
    function = op.parent_op()
    assert isinstance(function, func.FuncOp)
    rewriter.replace(op, [], [function.body.block.args[2]])
    for use in list(function.body.block.args[2].uses):
        if isinstance(use.operation, memref.DeallocOp):
            rewriter.erase(use.operation)


@wrong(chain("multiply %x, %y", "add %0, %z"), "core")
def reorder_calls(op: func.CallOp, rewriter: PatternRewriter) -> None:
    """What is written is read before."""
    follower, block = op.next_op, op.parent_block()
    is_first = op.callee.root_reference.data == "multiply"
    if is_first and block is not None and isinstance(follower, func.CallOp):
        op.detach()
        block.insert_op_after(op, follower)


@wrong(binary("dense %x, %y", "2x7xf32", "3x7xf32", "2x3xf32"), "core")
def start_at_one(op: scf.ForOp, rewriter: PatternRewriter) -> None:
    if isinstance(bound := op.ub.owner, arith.ConstantOp) and bound.value == IntegerAttr(7, IndexType()):
        op.operands = [op.step, *op.operands[1:]]


@wrong(binary("dense %x, %y", "2x7xf32", "3x7xf32", "2x3xf32"), "core")
def stop_early(op: arith.ConstantOp, rewriter: PatternRewriter) -> None:
    if op.value == IntegerAttr(7, IndexType()):
        rewriter.replace(op, arith.ConstantOp(IntegerAttr(6, IndexType())))


@wrong(binary("dense %x, %y", "2x7xf32", "3x7xf32", "2x3xf32"), "core")
def go_on_too_long(op: arith.ConstantOp, rewriter: PatternRewriter) -> None:
    """Beyond the end of a buffer."""
    if op.value == IntegerAttr(7, IndexType()):
        rewriter.replace(op, arith.ConstantOp(IntegerAttr(8, IndexType())))


@wrong(binary("dense %x, %y", "2x7xf32", "3x7xf32", "2x3xf32"), "core")
def store_the_term(op: memref.StoreOp, rewriter: PatternRewriter) -> None:
    """A stale use: what is stored is the product, and not the sum."""
    if isinstance(op.value.owner, arith.AddfOp):
        rewriter.replace(op, memref.StoreOp.get(op.value.owner.rhs, op.memref, op.indices))


@wrong(chain("multiply %x, %y", "subtract %0, %z"), "core")
def drop_the_sign(op: arith.SubfOp, rewriter: PatternRewriter) -> None:
    absolute = math.AbsFOp(op.lhs)
    rewriter.replace(op, [absolute, arith.SubfOp(absolute, op.rhs)])


@wrong(chain("ewise_fma %x, %y, %z"), "core")
def contract_elementwise(op: arith.AddfOp, rewriter: PatternRewriter) -> None:
    """A fused multiplication and addition rounds once."""
    if isinstance(product := op.lhs.owner, arith.MulfOp):
        rewriter.replace(op, math.FmaOp(product.lhs, product.rhs, op.rhs))
