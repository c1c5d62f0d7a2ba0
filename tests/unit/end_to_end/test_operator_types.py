"""The types of the results of operators, and the operands and properties that operators refuse."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from programs import MakeOperator
from xdsl.dialects.builtin import TensorType, i8, i64
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.hints import isa
from xdsl.utils.test_value import create_ssa_value

from relex.dialects import make_context, relex
from relex.dialects.errors import DTypeError, InferenceError


def tensor(text: str) -> TensorType[Attribute]:
    """The type of `2x?xf32`, say."""
    found = Parser(make_context(), f"tensor<{text}>").parse_type()
    assert isa(found, TensorType[Attribute])
    return found


def infer(make: MakeOperator, operands: str) -> Attribute:
    """The type of the operator's result."""
    return make(*(create_ssa_value(tensor(text)) for text in operands.split())).result_types[0]


INFERRED: list[tuple[MakeOperator, str, str]] = [
    (relex.ExpOp, "?x3xf32", "?x3xf32"),
    (relex.LessOp, "?x3xf32 3xf32", "?x3xi1"),
    (relex.WhereOp, "2x1xi1 ?x3xf32 f32", "2x3xf32"),
    (partial(relex.AstypeOp, dtype=i8), "?x3xf32", "?x3xi8"),
    (partial(relex.ClipOp, min=0), "?x3xf32", "?x3xf32"),
    (partial(relex.SumOp, axis=-1), "2x?x4xf32", "2x?xf32"),
    (partial(relex.MeanOp, axis=(1,), keepdims=True), "2x?x4xf32", "2x1x4xf32"),
    (relex.MaxOp, "2x?x4xf32", "f32"),
    (partial(relex.ArgmaxOp, axis=1), "2x?x4xf32", "2x4xi64"),
    (partial(relex.MinOp, axis=0), "3xi1", "i1"),
    (relex.ArgsortOp, "?x3xf32", "?x3xi64"),
    (partial(relex.CumsumOp, axis=0), "?x3xf32", "?x3xf32"),
    (partial(relex.GatherElementsOp, axis=1), "?x3xf32 ?x2xi64", "?x2xf32"),
    (relex.GatherNdOp, "?x3xf32 ?x2xi64", "?xf32"),
    (relex.ScatterNdOp, "?x3xf32 ?x2xi64 ?xf32", "?x3xf32"),
    (partial(relex.ScatterNdOp, axis=-2), "2x?x3xf32 ?x1xi64 2x?x3xf32", "2x?x3xf32"),
    (partial(relex.PermuteDimsOp, axes=[1, 0]), "?x3xf32", "3x?xf32"),
    (partial(relex.ReshapeOp, shape=[-1, 6]), "?x3xf32", "?x6xf32"),
    (partial(relex.ReshapeOp, shape=[2, 6]), "?x3xf32", "2x6xf32"),
    (partial(relex.ExpandDimsOp, axis=1), "?x3xf32", "?x1x3xf32"),
    (partial(relex.SqueezeOp, axis=0), "?x3xf32", "3xf32"),
    (partial(relex.BroadcastToOp, shape=[2, -1, 3]), "?x1xf32", "2x?x3xf32"),
    (partial(relex.BroadcastToOp, shape=[5]), "?xf32", "5xf32"),
    (relex.ConcatOp, "?x3xf32 2x?xf32", "?x3xf32"),
    (partial(relex.ConcatOp, axis=1), "?x3xf32 2x4xf32", "2x7xf32"),
    (partial(relex.StridedSliceOp, axes=[0], begin=[0], end=[2]), "?x3xf32", "?x3xf32"),
    (partial(relex.PadOp, pad_width=[1, 1, 1, 0]), "?x3xf32", "?x4xf32"),
    (partial(relex.TakeOp, axis=0), "3x?xf32 2x?xi64", "2x?x?xf32"),
    (relex.SoftmaxOp, "2x?x4xf32", "2x?x4xf32"),
    (partial(relex.LogSoftmaxOp, axis=1), "2x?x4xf32", "2x?x4xf32"),
    (relex.LayerNormOp, "2x?x4xf32 4xf32 ?xf32", "2x?x4xf32"),
    (relex.BatchNormOp, "2x?x4xf32 4xf32 ?xf32 4xf32 4xf32", "2x?x4xf32"),
    (relex.Conv2dOp, "?x3x?x8xf32 4x?x3x3xf32", "?x4x?x6xf32"),
    (partial(relex.MaxPool2dOp, pool_size=(2, 2), strides=(2, 2)), "?x3x?x8xf32", "?x3x?x4xf32"),
    (partial(relex.AvgPool2dOp, pool_size=(2, 2), strides=(2, 2)), "?x3x?x8xf32", "?x3x?x4xf32"),
]


@pytest.mark.parametrize(("make", "operands", "result"), INFERRED, ids=str)
def test_results(make: MakeOperator, operands: str, result: str) -> None:
    assert infer(make, operands) == tensor(result)


FLOATS = "expected operands of f16 or bf16 or f32 or f64, found i32"
REFUSED: list[tuple[MakeOperator, str, str]] = [
    (relex.ExpOp, "2xi32", FLOATS),
    (relex.NegativeOp, "2xi1", "found i1"),
    (relex.PowerOp, "2xi1 2xi1", "found i1"),
    (relex.SinOp, "2xi32", FLOATS),
    (relex.FloorDivideOp, "2xf64 2xf64", "expected operands of i8 or .* or ui64, found f64"),
    (relex.ModOp, "2xi1 2xi1", "found i1"),
    (relex.BitwiseAndOp, "2xf64 2xf64", "found f64"),
    (relex.LogicalAndOp, "2xi8 2xi8", "expected operands of i1, found i8"),
    (relex.LeftShiftOp, "2xi1 2xi1", "found i1"),
    (relex.IsnanOp, "2xi8", "found i8"),
    (partial(relex.BitcastOp, dtype=i64), "2xf32", "expected a type of 32 bits, as f32, found i64"),
    (partial(relex.BitcastOp, dtype=i8), "2xi1", "found i1"),
    (relex.LessOp, "2xf32 2xf64", "expected operands of one element type"),
    (relex.LessOp, "2xf64 3xf64", "expected shapes that broadcast"),
    (relex.WhereOp, "2xf64 2xf64 2xf64", "expected a condition of i1, found f64"),
    (relex.WhereOp, "2xi1 2xf64 2xf32", "found f64 and f32"),
    (partial(relex.ClipOp, min=1, max=0), "2xf64", "expected a min that is not above the max, found 1.0 and 0.0"),
    (partial(relex.ClipOp, min=np.nan), "2xf64", "expected a min that is not above the max, found nan"),
    (partial(relex.ClipOp, min=0.5), "2xi8", "expected a number of type i8, found 0.5"),
    (partial(relex.ClipOp, min=128), "2xi8", "expected a number of type i8, found 128"),
    (partial(relex.ClipOp, min=1e39), "2xf32", "expected a number of type f32"),
    # Reductions
    (relex.SumOp, "2xi1", "expected operands of .* found i1"),
    (relex.MeanOp, "2xi32", FLOATS),
    (partial(relex.SumOp, axis=2), "2x3xf32", "expected an axis in -2..1 for rank 2, found 2"),
    (partial(relex.SumOp, axis=(0, -2)), "2x3xf32", "expected axes that differ, found 0, -2"),
    (partial(relex.ArgmaxOp, axis=-3), "2x3xf32", "expected an axis in -2..1 for rank 2, found -3"),
    (partial(relex.MaxOp, axis=0), "0x3xf32", "expected elements to choose from, found none in 0x3"),
    (relex.ArgmaxOp, "0x3xf32", "expected elements to choose from, found none in 0x3"),
    # Scans, gathering and scattering
    (partial(relex.SortOp, axis=2), "3x4xf32", "expected an axis in -2..1 for rank 2, found 2"),
    (relex.ArgsortOp, "f32", "expected an axis in 0..-1 for rank 0, found -1"),
    (relex.CumsumOp, "3x4xf32", "expected an axis, or a tensor of rank 1, found 3x4"),
    (relex.CumprodOp, "3xi1", "expected operands of .* found i1"),
    (relex.GatherElementsOp, "3x4xf32 3x4xf32", "expected indices of i8 or .* or ui64, found f32"),
    (relex.GatherElementsOp, "3x4xf32 2xi64", "expected indices of rank 2, as the data, found 2"),
    (relex.GatherElementsOp, "3x1xf32 3x2xi64", "expected at most 1 indices along dimension 1, found 2"),
    (relex.GatherElementsOp, "0x4xf32 3x2xi64", "expected elements to take from, found none in 0x4"),
    (relex.GatherNdOp, "3x4xf32 2x3xi64", "expected 1 to 2 as last size of the indices, found 3"),
    (partial(relex.GatherNdOp, batch_dims=2), "3x4xf32 3x2xi64", "expected data and indices of more than 2 dimensions"),
    (
        partial(relex.GatherNdOp, batch_dims=1),
        "2x4xf32 3x2xi64",
        "expected equal batch dimensions of data and indices",
    ),
    (relex.GatherNdOp, "0x4xf32 3x2xi64", "expected elements to take from, found none in 0x4"),
    (relex.ScatterElementsOp, "3x4xf32 3x2xi64 3x4xf32", "expected equal sizes of indices and updates, found 2 and 4"),
    (relex.ScatterElementsOp, "3x4xf32 3x2xi64 4xf32", "expected updates of rank 2, as the indices, found 4"),
    (relex.ScatterElementsOp, "3x4xf32 3x2xi64 3x2xi64", "expected operands of one element type, found f32 and i64"),
    (relex.ScatterNdOp, "3x4xf32 3x2xi64 3x4xf32", "expected updates of 3, found 3x4"),
    (
        relex.ScatterNdOp,
        "3x4xf32 3x2xi64 4xf32",
        "expected equal sizes of updates and of what they replace, found 3 and 4",
    ),
    (
        partial(relex.ScatterNdOp, reduction="mean"),
        "3x4xf32 3x2xi64 3xf32",
        'expected a reduction among update, add, mul, max, min, found "mean"',
    ),
    # Moves
    (partial(relex.PermuteDimsOp, axes=[0]), "2x3xf32", "expected 2 axes, found 1"),
    (partial(relex.PermuteDimsOp, axes=[0, 0]), "2x3xf32", "expected axes that differ, found 0, 0"),
    (partial(relex.ReshapeOp, shape=[4]), "2x3xf32", "expected a shape with as many elements as 2x3 has, found 4"),
    (partial(relex.ReshapeOp, shape=[4, -1]), "2x3xf32", "as 2x3 has, found 4x-1"),
    (partial(relex.ReshapeOp, shape=[0, -1]), "0x3xf32", "as 0x3 has, found 0x-1"),
    (partial(relex.ReshapeOp, shape=[-1, -1]), "2x3xf32", "expected one size of -1 at most, found 2"),
    (partial(relex.ReshapeOp, shape=[-2, 3]), "2x3xf32", "expected sizes of -1 or more, found -2, 3"),
    (partial(relex.ReshapeOp, shape=[4]), "?x3xf32", r"as \?x3 has, found 4"),
    (partial(relex.ReshapeOp, shape=[4]), "?x0xf32", r"as \?x0 has, found 4"),
    (partial(relex.ExpandDimsOp, axis=[0, 0]), "2xf32", "expected axes that differ"),
    (partial(relex.ExpandDimsOp, axis=2), "2xf32", "expected an axis in -2..1 for rank 2, found 2"),
    (partial(relex.SqueezeOp, axis=0), "2x1xf32", "expected dimensions of size 1 to remove, found 2"),
    (relex.SqueezeOp, "?x1xf32", r"expected an axis, as any '\?' may be 1, found none for \?x1"),
    (partial(relex.BroadcastToOp, shape=[3]), "2xf32", "expected a shape that 2 broadcasts to, found 3"),
    (partial(relex.BroadcastToOp, shape=[3]), "1x3xf32", "expected a shape that 1x3 broadcasts to, found 3"),
    (partial(relex.BroadcastToOp, shape=[-1, 3]), "3xf32", "expected a shape that 3 broadcasts to, found -1x3"),
    (relex.ConcatOp, "", "expected tensors to join, found none"),
    (relex.ConcatOp, "2xf32 2x3xf32", "expected tensors of one rank, found 2 and 2x3"),
    (relex.ConcatOp, "2x3xf32 2x4xf32", "expected equal sizes of dimension 1, found 3 and 4"),
    (partial(relex.ConcatOp, axis=1), "2xf32 2xf32", "expected an axis in -1..0 for rank 1, found 1"),
    (partial(relex.StridedSliceOp, axes=[0], begin=[0, 1], end=[2]), "2xf32", "expected 1 begin, found 2"),
    (
        partial(relex.StridedSliceOp, axes=[0], begin=[0], end=[2], strides=[0]),
        "2xf32",
        "expected strides other than 0",
    ),
    (partial(relex.StridedSliceOp, axes=[0, 0], begin=[0, 0], end=[2, 2]), "2xf32", "expected axes that differ"),
    (partial(relex.PadOp, pad_width=[1]), "2xf32", "expected 2 widths, found 1"),
    (partial(relex.PadOp, pad_width=[1, -1]), "2xf32", "expected widths of 0 or more, found 1, -1"),
    (partial(relex.PadOp, pad_width=[1, 1], pad_value=0.5), "2xi32", r"expected a number of type i32, found 0\.5"),
    (relex.TakeOp, "2x3xi32 2xi64", "expected an axis, or a tensor of rank 1, found 2x3"),
    (partial(relex.TakeOp, axis=0), "2x3xi32 4xf32", "expected indices of i8 or i16 .* or ui64, found f32"),
    (relex.TakeOp, "0xi32 2xi64", "expected elements to take from, found none in 0"),
    # Normalizations
    (relex.SoftmaxOp, "f64", "expected an axis in 0..-1 for rank 0, found -1"),
    (partial(relex.SoftmaxOp, axis=2), "2x3xf64", "expected an axis in -2..1 for rank 2, found 2"),
    (relex.LayerNormOp, "2x3xf64 2xf64 3xf64", "expected equal sizes of gamma and data, found 2 and 3"),
    (relex.LayerNormOp, "2x3xf64 3xf64 1x3xf64", "expected beta of shape 3, found 1x3"),
    (
        partial(relex.LayerNormOp, axes=(1, 0)),
        "2x3xf64 3x2xf64 3x2xf64",
        "expected axes in ascending order, found 1, 0",
    ),
    (
        relex.BatchNormOp,
        "2x3xf64 3xf64 3xf64 2xf64 3xf64",
        "expected equal sizes of moving_mean and data, found 2 and 3",
    ),
    (relex.SoftmaxOp, "2x3xi32", FLOATS),
    (relex.LayerNormOp, "2x3xi32 3xi32 3xi32", FLOATS),
    (relex.BatchNormOp, "2x3xi32 3xi32 3xi32 3xi32 3xi32", FLOATS),
]

X, W = "1x4x5x5xf32", "6x4x3x3xf32"
WINDOWS: list[tuple[MakeOperator, str, str]] = [
    (relex.Conv2dOp, f"4x5x5xf32 {W}", "expected data of rank 4, found 4x5x5"),
    (relex.Conv2dOp, f"{X} 4x3x3xf32", "expected a weight of rank 4, found 4x3x3"),
    (relex.Conv2dOp, f"{X} 6x3x3x3xf32", "expected equal input channels .* found 4 and 3"),
    (partial(relex.Conv2dOp, groups=2), f"{X} {W}", "expected equal input channels .* found 2 and 4"),
    (partial(relex.Conv2dOp, groups=3), f"{X} {W}", "expected input channels that 3 groups share, found 4"),
    (partial(relex.Conv2dOp, groups=4), f"{X} 6x1x3x3xf32", "expected output channels that 4 groups"),
    (partial(relex.Conv2dOp, groups=0), f"{X} {W}", "expected groups of 1 or more, found 0"),
    (partial(relex.Conv2dOp, strides=(1,)), f"{X} {W}", "expected 2 strides, found 1"),
    (partial(relex.Conv2dOp, strides=(0, 1)), f"{X} {W}", "expected strides of 1 or more, found 0, 1"),
    (partial(relex.Conv2dOp, padding=(1, 2, 3)), f"{X} {W}", "expected 1, 2 or 4 paddings, found 3"),
    (partial(relex.Conv2dOp, padding=(-1, 0)), f"{X} {W}", "expected paddings of 0 or more, found -1, 0"),
    (partial(relex.Conv2dOp, dilation=(3, 3)), f"{X} {W}", "expected windows of 5 elements at most, .* found 7"),
    (relex.Conv2dOp, f"{X} 6x4x3x3xi32", "expected operands of one element type, found f32 and i32"),
    (relex.Conv2dOp, "1x1x1x1xi1 1x1x1x1xi1", "expected operands of .*, found i1"),
    (relex.Conv1dOp, f"{X} {W}", "expected data of rank 3, found 1x4x5x5"),
    (partial(relex.Conv3dOp, padding=(1, 2)), "1x1x5x5x5xf32 1x1x5x5x5xf32", "expected 1, 3 or 6 paddings"),
    (relex.Conv2dTransposeOp, f"{X} {W}", "expected equal input channels of data and weight, found 4 and 6"),
    (
        partial(relex.Conv2dTransposeOp, output_padding=(0, 1)),
        f"{X} 4x6x3x3xf32",
        "expected output paddings below the stride or the dilation, here 1, found 1",
    ),
    (
        partial(relex.Conv2dTransposeOp, padding=(4, 4)),
        f"{X} 4x6x3x3xf32",
        "expected paddings of at most the size of the full result, found 4, 4, 4, 4",
    ),
    (relex.Conv2dTransposeOp, "1x4x0x5xf32 4x6x3x3xf32", "expected data of 1 element"),
    (partial(relex.MaxPool3dOp, pool_size=(2, 2)), "1x1x5x5x5xf32", "expected 3 sizes of a window"),
    (partial(relex.MaxPool2dOp, pool_size=(0, 1)), X, "expected sizes of a window of 1 or more, found 0, 1"),
    (partial(relex.MaxPool2dOp, pool_size=(6, 1)), X, "expected windows of 5 elements at most, .* found 6"),
    (partial(relex.AvgPool2dOp, pool_size=(1, 1)), "1x1x1x1xi32", "expected operands of .*, found i32"),
]


@pytest.mark.parametrize(("make", "operands", "message"), [*REFUSED, *WINDOWS], ids=str)
def test_refused(make: MakeOperator, operands: str, message: str) -> None:
    with pytest.raises(InferenceError, match=message):
        infer(make, operands)


def test_a_reduction_is_a_text() -> None:
    scatter: Any = relex.ScatterNdOp
    with pytest.raises(DTypeError, match="expected reduction to be a text, found int"):
        infer(partial(scatter, reduction=1), "3x4xf32 3x2xi64 3xf32")
