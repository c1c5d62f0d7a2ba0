"""Every graph operator with its properties, once or more, on small operands."""

from __future__ import annotations

from functools import partial

import numpy as np
from ml_dtypes import bfloat16
from programs import Array, MakeOperator, random_array
from xdsl.dialects.builtin import IntegerType, Signedness, f32, i1, i8, i32, i64

import relex.dialects.relex as ops
from relex.dialects.dtypes import DTYPES, numpy_dtype

_RNG = np.random.default_rng(0)


def _floats(*shape: int) -> Array:
    """Numbers with a NaN, an infinity and a -0 among them."""
    x = random_array(_RNG, "float32", shape)
    x.reshape(-1)[: min(x.size, 3)] = np.array([-0.0, np.nan, np.inf], np.float32)[: x.size]
    return x


def _images(*shape: int) -> Array:
    return random_array(_RNG, "float32", shape)


def _integers(*shape: int) -> Array:
    return random_array(_RNG, "int8", shape)


def _unsigned(*shape: int) -> Array:
    return random_array(_RNG, "uint8", shape)


def _blocks(*shape: int) -> Array:
    """Bytes in which floats of 16 bits are below 1."""
    return _unsigned(*shape) % 60


def _panels(*shape: int) -> Array:
    """Such bytes in panels of 32 columns."""
    return _blocks(*shape, 32)


def _factors(*shape: int) -> Array:
    return _images(*shape, 32)


def _words(*shape: int) -> Array:
    return random_array(_RNG, "int32", shape)


def _shorts(*shape: int) -> Array:
    """Words with two integers of 16 bits that are bytes."""
    return _integers(*shape, 2).astype(np.int16).view(np.int32)[..., 0]


def _pairs(*shape: int) -> Array:
    """Words with two numbers of bf16."""
    return _RNG.standard_normal((*shape, 2)).astype(bfloat16).view(np.int32)[..., 0]


def _boxes(images: int, count: int) -> Array:
    """Boxes of one or two units, many of which overlap."""
    low = _RNG.uniform(0, 3, (images, count, 2))
    return np.concatenate([low, low + _RNG.uniform(1, 2, low.shape)], -1).astype(np.float32)


_NMS = [np.array(3), np.array(0.2, np.float32), np.array(-0.5, np.float32)]
"""Operands of `relex.non_max_suppression` besides boxes and scores."""


def _bools(*shape: int) -> Array:
    return random_array(_RNG, "bool", shape)


_KEY = np.array([1, 2**32 - 1], np.uint32)
_UI32 = IntegerType(32, Signedness.UNSIGNED)

EXPONENTIALS = (
    ops.ExpOp,
    ops.Exp2Op,
    ops.Expm1Op,
    ops.LogOp,
    ops.Log1pOp,
    ops.Log2Op,
    ops.Log10Op,
    ops.TanhOp,
    ops.ErfOp,
)
UNARY = (
    *EXPONENTIALS,
    ops.AbsOp,
    ops.FloorOp,
    ops.GeluOp,
    ops.NegativeOp,
    ops.ReluOp,
    ops.RsqrtOp,
    ops.SigmoidOp,
    ops.SiluOp,
    ops.SqrtOp,
)
BINARY = (ops.AddOp, ops.SubtractOp, ops.MultiplyOp, ops.DivideOp, ops.MaximumOp, ops.MinimumOp, ops.PowerOp)
TRIGONOMETRY = (
    ops.SinOp,
    ops.CosOp,
    ops.TanOp,
    ops.AsinOp,
    ops.AcosOp,
    ops.AtanOp,
    ops.SinhOp,
    ops.CoshOp,
    ops.AsinhOp,
    ops.AcoshOp,
    ops.AtanhOp,
)
ROUNDINGS = (ops.FloorOp, ops.CeilOp, ops.TruncOp, ops.RoundOp)
QUESTIONS = (ops.IsnanOp, ops.IsinfOp, ops.IsfiniteOp)
DIVISIONS = (ops.FloorDivideOp, ops.TruncDivideOp, ops.FloorModOp, ops.ModOp)
BITWISE = (ops.BitwiseAndOp, ops.BitwiseOrOp, ops.BitwiseXorOp)
LOGICAL = (ops.LogicalAndOp, ops.LogicalOrOp, ops.LogicalXorOp)
COMPARISONS = (ops.EqualOp, ops.NotEqualOp, ops.LessOp, ops.LessEqualOp, ops.GreaterOp, ops.GreaterEqualOp)

_PLACES = np.array([[0, -1, 2], [0, 5, -4]], np.int64)
"""Among these indices of dimensions of 3 and 4 elements, some are equal, some count from the end, some are beyond."""

_HIDDEN = np.array([[0] * 5, [1] * 5, [0, 0, 1, 0, 1]], bool)
"""A mask that hides no element of a row, all of them, or some."""

_TABLE = [37 * n % 128 for n in range(256)]

CASES: list[tuple[MakeOperator, list[Array]]] = [
    *((operator, [_floats(3, 5)]) for operator in UNARY),
    *((operator, [_floats(3, 1), _floats(5)]) for operator in (*BINARY, *COMPARISONS)),
    *(
        (operator, [_floats(3, 5)])
        for operator in (*TRIGONOMETRY, ops.CeilOp, ops.TruncOp, ops.RoundOp, ops.SignOp, *QUESTIONS)
    ),
    *(
        (operator, [_integers(3, 1), _integers(5)])
        for operator in (*DIVISIONS, *BITWISE, ops.LeftShiftOp, ops.RightShiftOp)
    ),
    *((operator, [_floats(3, 1), _floats(5)]) for operator in (ops.FloorModOp, ops.ModOp)),
    *((operator, [_bools(2, 1), _bools(3)]) for operator in (*LOGICAL, ops.BitwiseXorOp)),
    *((operator, [_bools(3)]) for operator in (ops.LogicalNotOp, ops.BitwiseNotOp)),
    (ops.BitwiseNotOp, [_integers(7)]),
    (ops.SignOp, [_integers(7)]),
    (ops.PowerOp, [_integers(3, 1), _integers(5) % 7 - 2]),
    (partial(ops.BitcastOp, dtype=i32), [_floats(3, 5)]),
    (partial(ops.BitcastOp, dtype=f32), [np.arange(-2, 3, dtype=np.int32)]),
    *((partial(ops.LookUpOp, table=_TABLE), [np.arange(263).astype(dtype)]) for dtype in (np.uint8, np.int8)),
    (partial(ops.LookUpOp, table=[7, 3, 100]), [np.arange(0, 256, 5).astype(np.uint8).reshape(4, 13)]),
    (ops.AbsOp, [_integers(7)]),
    (ops.NegativeOp, [_integers(7)]),
    (ops.LessOp, [_bools(2, 1), _bools(3)]),
    *((operator, [_unsigned(3, 1), _unsigned(5)]) for operator in (ops.SubtractOp, ops.MaximumOp, ops.LessOp)),
    (ops.NegativeOp, [_unsigned(7)]),
    (partial(ops.AstypeOp, dtype=f32), [_unsigned(5)]),
    (partial(ops.AstypeOp, dtype=i64), [_unsigned(5)]),
    (partial(ops.AstypeOp, dtype=IntegerType(16, Signedness.UNSIGNED)), [_floats(3, 5) * 100000]),
    (partial(ops.ClipOp, min=200), [_unsigned(3, 5)]),
    (ops.EwiseFMAOp, [_floats(3, 5), _floats(5), _floats()]),
    (ops.WhereOp, [_bools(3, 1), _floats(3, 5), _floats(5)]),
    (partial(ops.AstypeOp, dtype=i8), [_floats(3, 5) * 100]),
    (partial(ops.AstypeOp, dtype=i1), [_floats(5)]),
    (partial(ops.AstypeOp, dtype=f32), [_integers(5)]),
    (partial(ops.AstypeOp, dtype=i64), [_integers(5)]),
    (partial(ops.ClipOp, min=-0.5, max=0.5), [_floats(3, 5)]),
    (partial(ops.ClipOp, max=3), [_integers(3, 5)]),
    (ops.DenseOp, [_floats(2, 3), _floats(4, 3)]),
    (ops.MatmulOp, [_images(2, 3, 4), _images(4, 2)]),
    (ops.SumOp, [_floats(3, 5)]),
    (partial(ops.SumOp, axis=(-1,), keepdims=True), [_images(3, 5)]),
    (partial(ops.MeanOp, axis=0), [_floats(3, 5)]),
    (partial(ops.MaxOp, axis=1), [_floats(3, 5)]),
    (partial(ops.MinOp, axis=(0, 2)), [_integers(3, 5, 2)]),
    (partial(ops.MaxOp, axis=1), [_unsigned(3, 5)]),
    (ops.ArgmaxOp, [_floats(3, 5)]),
    (partial(ops.ArgmaxOp, axis=1, keepdims=True), [_integers(3, 5)]),
    (partial(ops.ArgmaxOp, axis=0, select_last_index=True), [_integers(3, 5) % 2]),
    (partial(ops.ArgminOp, axis=-1), [_floats(3, 5)]),
    (partial(ops.ArgminOp, keepdims=True, select_last_index=True), [_integers(3, 5) % 2]),
    (ops.ProdOp, [_floats(3, 5)]),
    (partial(ops.ProdOp, axis=(0, 2), keepdims=True), [_integers(3, 5, 2)]),
    (partial(ops.SoftmaxOp, axis=0), [_images(3, 5)]),
    (ops.SoftmaxOp, [_floats(3, 5)]),
    (ops.LogSoftmaxOp, [_images(3, 5)]),
    (partial(ops.LayerNormOp, axes=[1], epsilon=1e-3), [_images(3, 5), _images(5), _images(5)]),
    (ops.BatchNormOp, [_floats(2, 3, 2, 2), _images(3), _images(3), _images(3), abs(_images(3))]),
    (partial(ops.IotaOp, shape=[2, 3], dtype=f32, axis=1), []),
    (ops.PermuteDimsOp, [_floats(2, 3)]),
    (partial(ops.PermuteDimsOp, axes=[1, 0, 2]), [_floats(2, 3, 4)]),
    (partial(ops.ReshapeOp, shape=[4, -1]), [_floats(2, 3, 2)]),
    (partial(ops.ExpandDimsOp, axis=[0, -1]), [_floats(3)]),
    (ops.SqueezeOp, [_floats(1, 3, 1)]),
    (partial(ops.SqueezeOp, axis=0), [_floats(1, 3, 1)]),
    (partial(ops.BroadcastToOp, shape=[2, 3, -1]), [_floats(1, 4)]),
    (partial(ops.ConcatOp, axis=-1), [_floats(2, 3), _floats(2, 0), _floats(2, 1)]),
    (partial(ops.StridedSliceOp, axes=[1], begin=[-1], end=[-9], strides=[-2]), [_floats(2, 5)]),
    (partial(ops.StridedSliceOp, axes=[0], begin=[1], end=[3]), [_floats(4)]),
    (ops.TakeOp, [_floats(5), np.array([[0, -1], [9, 2]], np.int64)]),
    (partial(ops.TakeOp, axis=1), [_floats(2, 3), np.array(127, np.int8)]),
    (ops.TakeOp, [_unsigned(5), np.array([0, 2, 2**64 - 1], np.uint64)]),
    (partial(ops.GatherElementsOp, axis=1), [_floats(3, 4), np.array([[0, -1], [9, 2]], np.int64)]),
    (ops.GatherNdOp, [_floats(3, 4, 2), np.array([[0, -1], [9, 2], [1, -7]], np.int32)]),
    (ops.GatherElementsOp, [_unsigned(5), np.array([0, 2, 2**63, 2**64 - 1], np.uint64)]),
    (ops.ScatterNdOp, [_unsigned(5), np.array([[1], [2**64 - 1], [2**63]], np.uint64), _unsigned(3)]),
    (partial(ops.GatherNdOp, batch_dims=1), [_floats(2, 3, 2), np.array([[[0]], [[-1]]], np.int64)]),
    *(
        (partial(ops.ScatterElementsOp, axis=axis, reduction=reduction), [_floats(3, 4), _PLACES, _floats(2, 3)])
        for axis, reduction in ((0, "update"), (-1, "add"), (1, "mul"), (0, "max"), (1, "min"))
    ),
    (ops.ScatterNdOp, [_integers(3, 4), np.array([[0], [-1], [0], [3]], np.int8), _integers(4, 4)]),
    (
        partial(ops.ScatterNdOp, reduction="add"),
        [_floats(3, 4), np.array([[[0, 1], [2, -4]]], np.int64), _floats(1, 2)],
    ),
    (ops.CumsumOp, [_floats(7)]),
    (partial(ops.CumsumOp, axis=0, exclusive=True), [_integers(3, 5)]),
    (partial(ops.CumsumOp, axis=-1, exclusive=True, reverse=True), [_images(2, 3, 4)]),
    (partial(ops.CumprodOp, axis=1, reverse=True), [_integers(3, 5, 2)]),
    (ops.ArgsortOp, [_floats(3, 5)]),
    (partial(ops.ArgsortOp, axis=0, descending=True), [_integers(5, 3) % 3]),
    (partial(ops.SortOp, axis=1), [_floats(2, 5, 3)]),
    (partial(ops.SortOp, descending=True), [_floats(9)]),
    (partial(ops.PadOp, pad_width=[0, 1, 2, 0], pad_value=-np.inf), [_floats(2, 3)]),
    (partial(ops.PadOp, pad_width=[1, 1]), [_integers(3)]),
    (ops.Conv2dOp, [_images(1, 2, 4, 4), _images(3, 2, 3, 3)]),
    (
        partial(ops.Conv2dOp, strides=[2, 1], padding=[1, 0, 2, 1], dilation=[1, 2], groups=2),
        [_floats(2, 4, 4, 5), _images(2, 2, 2, 2)],
    ),
    (partial(ops.MaxPool2dOp, pool_size=[2, 2], strides=[2, 2], padding=[1]), [_floats(1, 2, 4, 5)]),
    (partial(ops.AvgPool2dOp, pool_size=[2, 3], padding=[1, 1], dilation=[1, 2]), [_floats(1, 2, 4, 5)]),
    (partial(ops.AvgPool2dOp, pool_size=[2, 2], padding=[1, 1], count_include_pad=True), [_images(1, 2, 4, 5)]),
    (
        partial(ops.Conv2dBlockedOp, strides=[2, 1], padding=[1, 0, 2, 1], dilation=[1, 2]),
        [_images(2, 2, 3, 3, 2), _images(2, 2, 3, 2, 2, 3)],
    ),
    (partial(ops.Conv2dBlockedOp, padding=[1], depthwise=True), [_images(1, 2, 4, 3, 3), _images(2, 1, 3, 3, 1, 3)]),
    (partial(ops.Conv2dBlockedOp, padding=[1], groups=2), [_images(1, 4, 4, 3, 2), _images(6, 2, 3, 2, 2, 3)]),
    (partial(ops.Conv2dBlockedOp, padding=[1]), [_images(2, 2, 4, 3, 6), _images(2, 5, 3, 2, 2, 3)]),
    (partial(ops.WinogradInputTransformOp, tile=4, padding=[1, 2, 0, 1]), [_images(1, 3, 7, 4, 2)]),
    (partial(ops.WinogradInputTransformOp, tile=2), [_images(1, 2, 4, 5)]),
    (partial(ops.WinogradOutputTransformOp, tile=4, size=[5, 8], block=3), [_floats(36, 8, 6)]),
    (partial(ops.WinogradOutputTransformOp, tile=2, size=[3, 2]), [_floats(16, 2, 1)]),
    (partial(ops.Conv1dOp, padding=[2, 1], dilation=[2]), [_images(2, 3, 5), _images(2, 3, 3)]),
    (partial(ops.Conv3dOp, strides=[1, 2, 1], padding=[1, 0, 1]), [_integers(1, 2, 3, 4, 3), _integers(3, 2, 2, 2, 3)]),
    (partial(ops.Conv1dTransposeOp, strides=[2], padding=[1, 0]), [_images(2, 3, 4), _images(3, 2, 3)]),
    (
        partial(
            ops.Conv2dTransposeOp,
            strides=[3, 2],
            padding=[1, 2, 0, 1],
            output_padding=[2, 1],
            dilation=[1, 2],
            groups=2,
        ),
        [_images(1, 4, 3, 3), _images(4, 3, 2, 3)],
    ),
    (partial(ops.Conv3dTransposeOp, strides=[2, 1, 2]), [_integers(1, 2, 2, 3, 2), _integers(2, 1, 3, 1, 2)]),
    (partial(ops.MaxPool1dOp, pool_size=[3], strides=[2], padding=[1], ceil_mode=True), [_floats(2, 2, 6)]),
    (partial(ops.MaxPool3dOp, pool_size=[2, 1, 2], strides=[2, 1, 1], ceil_mode=True), [_floats(1, 2, 3, 2, 3)]),
    (partial(ops.MaxPool1dWithIndicesOp, pool_size=[3], strides=[2], padding=[1], ceil_mode=True), [_floats(2, 2, 6)]),
    (
        partial(ops.MaxPool2dWithIndicesOp, pool_size=[2, 2], dilation=[1, 2], padding=[2, 0]),
        [_integers(1, 2, 3, 4) % 3],
    ),
    (partial(ops.MaxPool3dWithIndicesOp, pool_size=[2, 1, 2]), [_floats(1, 2, 3, 2, 3)]),
    (partial(ops.AvgPool1dOp, pool_size=[3], strides=[2], padding=[1], ceil_mode=True), [_images(2, 2, 6)]),
    (
        partial(ops.AvgPool1dOp, pool_size=[3], strides=[2], padding=[1, 0], ceil_mode=True, count_include_pad=True),
        [_images(1, 2, 7)],
    ),
    (partial(ops.AvgPool3dOp, pool_size=[2, 2, 1], padding=[1, 0, 0]), [_images(1, 2, 2, 3, 2)]),
    (partial(ops.PackBytesOp, axis=1), [_integers(2, 7, 3)]),
    (partial(ops.PackBytesOp, axis=-2), [_unsigned(8, 3)]),
    (partial(ops.PackBytesOp, axis=1), [_floats(2, 7, 3).astype(bfloat16)]),
    (partial(ops.PackBytesOp, axis=-1), [_floats(3, 8).astype(bfloat16)]),
    (partial(ops.PackBytesOp, axis=1), [random_array(_RNG, "int16", (2, 7, 3))]),
    (ops.MatmulShortsOp, [_words(2, 3, 4), _words(4, 5)]),
    (ops.MatmulPackedOp, [_words(2, 3, 4), _words(4, 5)]),
    (ops.MatmulPairsOp, [_pairs(2, 3, 4), _pairs(4, 5)]),
    (partial(ops.Conv1dPackedOp, padding=[2, 1], dilation=[2]), [_words(2, 3, 5), _words(2, 3, 3)]),
    (partial(ops.Conv2dPackedOp, strides=[2, 1], padding=[1], groups=2), [_words(1, 4, 4, 5), _words(4, 2, 3, 2)]),
    (
        partial(ops.Conv2dBlockedPackedOp, strides=[2, 1], padding=[1, 0]),
        [_words(1, 2, 5, 4, 2), _words(2, 2, 3, 2, 2, 3)],
    ),
    (
        partial(ops.Conv2dBlockedShortsOp, strides=[2, 1], padding=[1, 0]),
        [_words(1, 2, 5, 4, 2), _words(2, 2, 3, 2, 2, 3)],
    ),
    (partial(ops.Conv2dBlockedShortsOp, groups=2, dilation=[1, 2]), [_words(1, 4, 3, 3, 1), _words(2, 2, 2, 1, 1, 3)]),
    (ops.Conv2dBlockedShortsOp, [_words(1, 3, 3, 4), _words(1, 3, 2, 2, 1, 4)]),
    (
        partial(ops.Conv2dBlockedPairsOp, strides=[2, 1], padding=[1, 0]),
        [_pairs(1, 2, 5, 4, 2), _pairs(2, 2, 3, 2, 2, 3)],
    ),
    (partial(ops.Conv2dBlockedPairsOp, groups=2, dilation=[1, 2]), [_pairs(1, 4, 3, 3, 1), _pairs(2, 2, 2, 1, 1, 3)]),
    (ops.Conv2dBlockedPairsOp, [_pairs(1, 3, 3, 4), _pairs(1, 3, 2, 2, 1, 4)]),
    (partial(ops.Conv2dBlockedPackedOp, groups=2), [_words(1, 4, 3, 3, 1), _words(2, 2, 2, 1, 1, 3)]),
    (partial(ops.Conv2dBlockedPackedOp, dilation=[1, 2]), [_words(1, 3, 3, 4), _words(1, 3, 2, 2, 1, 4)]),
    (
        partial(ops.Conv2dBlockedOp, padding=[1, 1], depthwise=True),
        [_unsigned(1, 2, 4, 3, 5), _floats(2, 1, 3, 2, 1, 5)],
    ),
    (partial(ops.Conv3dPackedOp, padding=[1, 0, 1]), [_words(1, 2, 3, 4, 3), _words(3, 2, 2, 2, 3)]),
    *(
        (partial(ops.DequantizeBlocksOp, layout=layout), [_blocks(1 if size == 210 else 3, 2 * size)])
        for layout, size in (("Q4_0", 18), ("Q6_K", 210), ("MXFP4", 17))
    ),
    (partial(ops.DenseBlocksOp, layout="Q4_0"), [_images(2, 1, 64), _blocks(7, 4), _blocks(7, 32)]),
    (partial(ops.DenseBlocksOp, layout="IQ4_NL"), [_images(1, 64), _blocks(48, 4), _blocks(48, 32)]),
    (partial(ops.DenseBlocksOp, layout="Q4_K"), [_images(2, 256) / np.float32(512), _blocks(48, 16), _blocks(48, 128)]),
    (partial(ops.DenseBlockRowsOp, layout="Q4_0"), [_images(2, 1, 64), _blocks(7, 36)]),
    (partial(ops.DenseBlockRowsOp, layout="4_BITS_16_F16_ZEROS"), [_images(2, 64), _blocks(48, 44)]),
    (partial(ops.DenseBlockRowsOp, layout="Q4_K"), [_images(2, 256) / np.float32(512), _blocks(48, 144)]),
    (partial(ops.DenseBlockRowsOp, layout="Q8_0"), [_images(5, 64), _blocks(8, 68)]),
    (partial(ops.RoundBlocksOp, size=16), [_images(2, 32)]),
    (partial(ops.BlockScalesOp, size=16), [_images(2, 3, 32)]),
    (ops.BlockDigitsOp, [_images(2, 32), np.abs(_images(2, 2))]),
    (
        partial(ops.DenseWordsOp, layout="Q4_0", least=-8),
        [_words(2, 16), np.abs(_images(2, 2)), _blocks(48, 4), _words(48, 8)],
    ),
    (
        partial(ops.DenseWordsOp, layout="Q5_1", least=0),
        [_words(2, 1, 16), np.abs(_images(2, 1, 2)), _blocks(7, 8), _words(7, 16)],
    ),
    (
        partial(ops.DenseWordsOp, layout="Q8_0", least=-128),
        [_shorts(3, 16), np.abs(_images(3, 1)), _blocks(48, 2), _words(48, 8)],
    ),
    (partial(ops.UnpackScalesOp, layout="Q4_0"), [_panels(2, 4)]),
    (partial(ops.UnpackScalesOp, layout="Q4_K"), [_panels(1, 16)]),
    (partial(ops.UnpackNumbersOp, layout="Q6_K", columns=40), [_factors(1, 2, 16), _panels(2, 192)]),
    (partial(ops.UnpackPairsOp, layout="Q4_0", columns=40), [_factors(1, 2, 2), _panels(2, 32)]),
    (partial(ops.UnpackPairsOp, layout="Q5_1", columns=32), [_factors(2, 1, 1), _panels(1, 20)]),
    (partial(ops.SoftmaxOp, safe=True), [np.where(_HIDDEN, -np.float32(np.inf), _images(3, 5))]),
    (ops.NonzeroOp, [_floats(3, 5)]),
    (ops.NonzeroOp, [_words(4)]),
    (ops.CompressOp, [_floats(3, 5), _bools(14)]),
    (partial(ops.CompressOp, axis=0), [_floats(3, 5), _bools(3)]),
    (partial(ops.CompressOp, axis=-1), [_words(3, 5, 2), _bools(2)]),
    *(
        (partial(ops.NonMaxSuppressionOp, center=center), [_boxes(2, 7), _images(2, 3, 7), *_NMS])
        for center in (False, True)
    ),
    (ops.NonMaxSuppressionOp, [_boxes(2, 7), -_images(2, 3, 7), *_NMS[:2], np.array(np.nan, np.float32)]),
    (ops.AsSizesOp, [np.array([3, 0, 5])]),
    (ops.RepeatOp, [_floats(3, 2), np.array([2, 0, 3])]),
    (partial(ops.RepeatOp, axis=-1), [_words(2, 2), np.array([0, 0])]),
    (ops.ArangeOp, [np.array(2), np.array(9), np.array(3)]),
    (ops.ArangeOp, [np.array(3, np.float32), np.array(-1.5, np.float32), np.array(-0.5, np.float32)]),
    (ops.UniqueOp, [_floats(5)[[0, 3, 1, 3, 1, 0, 2, 4]]]),
    (ops.UniqueOp, [np.array([3, -1, 3, 3, 0], np.int32)]),
    (partial(ops.DynamicStridedSliceOp, axes=[-1]), [_words(2, 5), *(np.array([n]) for n in (-2, 0, -2))]),
    (ops.DynamicStridedSliceOp, [_floats(5, 4), np.array([1, -1]), np.array([9, -9]), np.array([2, -1])]),
    (partial(ops.RandomBitsOp, shape=[2, 3], dtype=_UI32), [_KEY]),
    (partial(ops.RandomBitsOp, shape=[5], dtype=_UI32, algorithm="threefry2x32-20"), [np.arange(4, dtype=np.uint32)]),
    (partial(ops.RandomUniformOp, shape=[2, 3], dtype=f32), [_KEY]),
    (partial(ops.RandomNormalOp, shape=[2, 3], dtype=f32), [_KEY]),
    (ops.RandomBernoulliOp, [_KEY, _floats(2, 3)]),
    (ops.RandomCategoricalOp, [_KEY, _images(2, 3)]),
    (
        partial(ops.ScatterNdOp, axis=1),
        [_floats(3, 4, 2), np.array([[[1], [-4]], [[7], [1]]], np.int64), _floats(3, 2, 2, 2)],
    ),
    (
        partial(ops.ScatterNdOp, reduction="add", axis=-2),
        [_integers(2, 3, 4), np.array([[0, 1], [2, -4], [0, 1]], np.int32), _integers(2, 3)],
    ),
]

NARROW: list[tuple[MakeOperator, list[Array]]] = [
    (make, [operand.astype(numpy_dtype(DTYPES[dtype])) for operand in operands])
    for make, operands in [
        (ops.EwiseFMAOp, [_images(3, 5), _images(5), _images()]),
        (ops.GeluOp, [_floats(3, 5)]),
        (ops.MaximumOp, [_floats(3, 1), _floats(5)]),
        (ops.LessOp, [_floats(3, 1), _floats(5)]),
        (partial(ops.AstypeOp, dtype=f32), [_floats(5)]),
        (partial(ops.AstypeOp, dtype=i8), [_floats(5) * 100]),
        (partial(ops.ClipOp, min=-0.1), [_floats(5)]),
        (ops.DenseOp, [_images(2, 3), _images(4, 3)]),
        (partial(ops.SumOp, axis=(-1,)), [_images(3, 5)]),
        (ops.ArgmaxOp, [_floats(3, 5)]),
        (partial(ops.CumsumOp, axis=0), [_images(3, 5)]),
        (ops.SortOp, [_images(3, 5)]),
        (ops.SoftmaxOp, [_images(3, 5)]),
        (partial(ops.ConcatOp, axis=-1), [_floats(2, 3), _floats(2, 1)]),
        (partial(ops.PadOp, pad_width=[0, 1, 2, 0], pad_value=-np.inf), [_floats(2, 3)]),
        (ops.Conv2dOp, [_images(1, 2, 4, 4), _images(3, 2, 3, 3)]),
        (partial(ops.MaxPool1dWithIndicesOp, pool_size=[2], padding=[1, 0]), [_images(1, 2, 5)]),
    ]
    for dtype in ("float16", "bfloat16")
]
"""Some of them on floats of 16 bits."""
