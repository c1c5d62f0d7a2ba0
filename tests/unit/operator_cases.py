"""Every graph operator with its properties, once or more, on small operands."""

from __future__ import annotations

from functools import partial

import numpy as np
from programs import Array, MakeOperator, random_array
from xdsl.dialects.builtin import IntegerType, Signedness, f32, i1, i8, i32, i64

from relex.dialects.dtypes import DTYPES, numpy_dtype
from relex.dialects.relex import (
    AbsOp,
    AcoshOp,
    AcosOp,
    AddOp,
    ArgmaxOp,
    ArgminOp,
    ArgsortOp,
    AsinhOp,
    AsinOp,
    AstypeOp,
    AtanhOp,
    AtanOp,
    AvgPool1dOp,
    AvgPool2dOp,
    AvgPool3dOp,
    BatchNormOp,
    BitcastOp,
    BitwiseAndOp,
    BitwiseNotOp,
    BitwiseOrOp,
    BitwiseXorOp,
    BroadcastToOp,
    CeilOp,
    ClipOp,
    ConcatOp,
    Conv1dOp,
    Conv1dPackedOp,
    Conv1dTransposeOp,
    Conv2dBlockedOp,
    Conv2dOp,
    Conv2dPackedOp,
    Conv2dTransposeOp,
    Conv3dOp,
    Conv3dPackedOp,
    Conv3dTransposeOp,
    CoshOp,
    CosOp,
    CumprodOp,
    CumsumOp,
    DenseOp,
    DivideOp,
    EqualOp,
    ErfOp,
    EwiseFMAOp,
    Exp2Op,
    ExpandDimsOp,
    Expm1Op,
    ExpOp,
    FloorDivideOp,
    FloorModOp,
    FloorOp,
    GatherElementsOp,
    GatherNdOp,
    GeluOp,
    GreaterEqualOp,
    GreaterOp,
    IotaOp,
    IsfiniteOp,
    IsinfOp,
    IsnanOp,
    LayerNormOp,
    LeftShiftOp,
    LessEqualOp,
    LessOp,
    Log1pOp,
    Log2Op,
    Log10Op,
    LogicalAndOp,
    LogicalNotOp,
    LogicalOrOp,
    LogicalXorOp,
    LogOp,
    LogSoftmaxOp,
    MatmulOp,
    MatmulPackedOp,
    MaximumOp,
    MaxOp,
    MaxPool1dOp,
    MaxPool1dWithIndicesOp,
    MaxPool2dOp,
    MaxPool2dWithIndicesOp,
    MaxPool3dOp,
    MaxPool3dWithIndicesOp,
    MeanOp,
    MinimumOp,
    MinOp,
    ModOp,
    MultiplyOp,
    NegativeOp,
    NotEqualOp,
    PackBytesOp,
    PadOp,
    PermuteDimsOp,
    PowerOp,
    ProdOp,
    ReluOp,
    ReshapeOp,
    RightShiftOp,
    RoundOp,
    RsqrtOp,
    ScatterElementsOp,
    ScatterNdOp,
    SigmoidOp,
    SignOp,
    SiluOp,
    SinhOp,
    SinOp,
    SoftmaxOp,
    SortOp,
    SqrtOp,
    SqueezeOp,
    StridedSliceOp,
    SubtractOp,
    SumOp,
    TakeOp,
    TanhOp,
    TanOp,
    TruncDivideOp,
    TruncOp,
    WhereOp,
    WinogradInputTransformOp,
    WinogradOutputTransformOp,
)

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


def _words(*shape: int) -> Array:
    return random_array(_RNG, "int32", shape)


def _bools(*shape: int) -> Array:
    return random_array(_RNG, "bool", shape)


EXPONENTIALS = (ExpOp, Exp2Op, Expm1Op, LogOp, Log1pOp, Log2Op, Log10Op, TanhOp, ErfOp)
UNARY = (*EXPONENTIALS, AbsOp, FloorOp, GeluOp, NegativeOp, ReluOp, RsqrtOp, SigmoidOp, SiluOp, SqrtOp)
BINARY = (AddOp, SubtractOp, MultiplyOp, DivideOp, MaximumOp, MinimumOp, PowerOp)
TRIGONOMETRY = (SinOp, CosOp, TanOp, AsinOp, AcosOp, AtanOp, SinhOp, CoshOp, AsinhOp, AcoshOp, AtanhOp)
ROUNDINGS = (FloorOp, CeilOp, TruncOp, RoundOp)
QUESTIONS = (IsnanOp, IsinfOp, IsfiniteOp)
DIVISIONS = (FloorDivideOp, TruncDivideOp, FloorModOp, ModOp)
BITWISE = (BitwiseAndOp, BitwiseOrOp, BitwiseXorOp)
LOGICAL = (LogicalAndOp, LogicalOrOp, LogicalXorOp)
COMPARISONS = (EqualOp, NotEqualOp, LessOp, LessEqualOp, GreaterOp, GreaterEqualOp)

_PLACES = np.array([[0, -1, 2], [0, 5, -4]], np.int64)
"""Among these indices of dimensions of 3 and 4 elements, some are equal, some count from the end, some are beyond."""

_HIDDEN = np.array([[0] * 5, [1] * 5, [0, 0, 1, 0, 1]], bool)
"""A mask that hides no element of a row, all of them, or some."""

CASES: list[tuple[MakeOperator, list[Array]]] = [
    *((operator, [_floats(3, 5)]) for operator in UNARY),
    *((operator, [_floats(3, 1), _floats(5)]) for operator in (*BINARY, *COMPARISONS)),
    *((operator, [_floats(3, 5)]) for operator in (*TRIGONOMETRY, CeilOp, TruncOp, RoundOp, SignOp, *QUESTIONS)),
    *((operator, [_integers(3, 1), _integers(5)]) for operator in (*DIVISIONS, *BITWISE, LeftShiftOp, RightShiftOp)),
    *((operator, [_floats(3, 1), _floats(5)]) for operator in (FloorModOp, ModOp)),
    *((operator, [_bools(2, 1), _bools(3)]) for operator in (*LOGICAL, BitwiseXorOp)),
    *((operator, [_bools(3)]) for operator in (LogicalNotOp, BitwiseNotOp)),
    (BitwiseNotOp, [_integers(7)]),
    (SignOp, [_integers(7)]),
    (PowerOp, [_integers(3, 1), _integers(5) % 7 - 2]),
    (partial(BitcastOp, dtype=i32), [_floats(3, 5)]),
    (partial(BitcastOp, dtype=f32), [np.arange(-2, 3, dtype=np.int32)]),
    (AbsOp, [_integers(7)]),
    (NegativeOp, [_integers(7)]),
    (LessOp, [_bools(2, 1), _bools(3)]),
    *((operator, [_unsigned(3, 1), _unsigned(5)]) for operator in (SubtractOp, MaximumOp, LessOp)),
    (NegativeOp, [_unsigned(7)]),
    (partial(AstypeOp, dtype=f32), [_unsigned(5)]),
    (partial(AstypeOp, dtype=i64), [_unsigned(5)]),
    (partial(AstypeOp, dtype=IntegerType(16, Signedness.UNSIGNED)), [_floats(3, 5) * 100000]),
    (partial(ClipOp, min=200), [_unsigned(3, 5)]),
    (EwiseFMAOp, [_floats(3, 5), _floats(5), _floats()]),
    (WhereOp, [_bools(3, 1), _floats(3, 5), _floats(5)]),
    (partial(AstypeOp, dtype=i8), [_floats(3, 5) * 100]),
    (partial(AstypeOp, dtype=i1), [_floats(5)]),
    (partial(AstypeOp, dtype=f32), [_integers(5)]),
    (partial(AstypeOp, dtype=i64), [_integers(5)]),
    (partial(ClipOp, min=-0.5, max=0.5), [_floats(3, 5)]),
    (partial(ClipOp, max=3), [_integers(3, 5)]),
    (DenseOp, [_floats(2, 3), _floats(4, 3)]),
    (MatmulOp, [_images(2, 3, 4), _images(4, 2)]),
    (SumOp, [_floats(3, 5)]),
    (partial(SumOp, axis=(-1,), keepdims=True), [_images(3, 5)]),
    (partial(MeanOp, axis=0), [_floats(3, 5)]),
    (partial(MaxOp, axis=1), [_floats(3, 5)]),
    (partial(MinOp, axis=(0, 2)), [_integers(3, 5, 2)]),
    (partial(MaxOp, axis=1), [_unsigned(3, 5)]),
    (ArgmaxOp, [_floats(3, 5)]),
    (partial(ArgmaxOp, axis=1, keepdims=True), [_integers(3, 5)]),
    (partial(ArgmaxOp, axis=0, select_last_index=True), [_integers(3, 5) % 2]),
    (partial(ArgminOp, axis=-1), [_floats(3, 5)]),
    (partial(ArgminOp, keepdims=True, select_last_index=True), [_integers(3, 5) % 2]),
    (ProdOp, [_floats(3, 5)]),
    (partial(ProdOp, axis=(0, 2), keepdims=True), [_integers(3, 5, 2)]),
    (partial(SoftmaxOp, axis=0), [_images(3, 5)]),
    (SoftmaxOp, [_floats(3, 5)]),
    (LogSoftmaxOp, [_images(3, 5)]),
    (partial(LayerNormOp, axes=[1], epsilon=1e-3), [_images(3, 5), _images(5), _images(5)]),
    (BatchNormOp, [_floats(2, 3, 2, 2), _images(3), _images(3), _images(3), abs(_images(3))]),
    (partial(IotaOp, shape=[2, 3], dtype=f32, axis=1), []),
    (PermuteDimsOp, [_floats(2, 3)]),
    (partial(PermuteDimsOp, axes=[1, 0, 2]), [_floats(2, 3, 4)]),
    (partial(ReshapeOp, shape=[4, -1]), [_floats(2, 3, 2)]),
    (partial(ExpandDimsOp, axis=[0, -1]), [_floats(3)]),
    (SqueezeOp, [_floats(1, 3, 1)]),
    (partial(SqueezeOp, axis=0), [_floats(1, 3, 1)]),
    (partial(BroadcastToOp, shape=[2, 3, -1]), [_floats(1, 4)]),
    (partial(ConcatOp, axis=-1), [_floats(2, 3), _floats(2, 0), _floats(2, 1)]),
    (partial(StridedSliceOp, axes=[1], begin=[-1], end=[-9], strides=[-2]), [_floats(2, 5)]),
    (partial(StridedSliceOp, axes=[0], begin=[1], end=[3]), [_floats(4)]),
    (TakeOp, [_floats(5), np.array([[0, -1], [9, 2]], np.int64)]),
    (partial(TakeOp, axis=1), [_floats(2, 3), np.array(127, np.int8)]),
    (TakeOp, [_unsigned(5), np.array([0, 2, 2**64 - 1], np.uint64)]),
    (partial(GatherElementsOp, axis=1), [_floats(3, 4), np.array([[0, -1], [9, 2]], np.int64)]),
    (GatherNdOp, [_floats(3, 4, 2), np.array([[0, -1], [9, 2], [1, -7]], np.int32)]),
    (GatherElementsOp, [_unsigned(5), np.array([0, 2, 2**63, 2**64 - 1], np.uint64)]),
    (ScatterNdOp, [_unsigned(5), np.array([[1], [2**64 - 1], [2**63]], np.uint64), _unsigned(3)]),
    (partial(GatherNdOp, batch_dims=1), [_floats(2, 3, 2), np.array([[[0]], [[-1]]], np.int64)]),
    *(
        (partial(ScatterElementsOp, axis=axis, reduction=reduction), [_floats(3, 4), _PLACES, _floats(2, 3)])
        for axis, reduction in ((0, "update"), (-1, "add"), (1, "mul"), (0, "max"), (1, "min"))
    ),
    (ScatterNdOp, [_integers(3, 4), np.array([[0], [-1], [0], [3]], np.int8), _integers(4, 4)]),
    (partial(ScatterNdOp, reduction="add"), [_floats(3, 4), np.array([[[0, 1], [2, -4]]], np.int64), _floats(1, 2)]),
    (CumsumOp, [_floats(7)]),
    (partial(CumsumOp, axis=0, exclusive=True), [_integers(3, 5)]),
    (partial(CumsumOp, axis=-1, exclusive=True, reverse=True), [_images(2, 3, 4)]),
    (partial(CumprodOp, axis=1, reverse=True), [_integers(3, 5, 2)]),
    (ArgsortOp, [_floats(3, 5)]),
    (partial(ArgsortOp, axis=0, descending=True), [_integers(5, 3) % 3]),
    (partial(SortOp, axis=1), [_floats(2, 5, 3)]),
    (partial(SortOp, descending=True), [_floats(9)]),
    (partial(PadOp, pad_width=[0, 1, 2, 0], pad_value=-np.inf), [_floats(2, 3)]),
    (partial(PadOp, pad_width=[1, 1]), [_integers(3)]),
    (Conv2dOp, [_images(1, 2, 4, 4), _images(3, 2, 3, 3)]),
    (
        partial(Conv2dOp, strides=[2, 1], padding=[1, 0, 2, 1], dilation=[1, 2], groups=2),
        [_floats(2, 4, 4, 5), _images(2, 2, 2, 2)],
    ),
    (partial(MaxPool2dOp, pool_size=[2, 2], strides=[2, 2], padding=[1]), [_floats(1, 2, 4, 5)]),
    (partial(AvgPool2dOp, pool_size=[2, 3], padding=[1, 1], dilation=[1, 2]), [_floats(1, 2, 4, 5)]),
    (partial(AvgPool2dOp, pool_size=[2, 2], padding=[1, 1], count_include_pad=True), [_images(1, 2, 4, 5)]),
    (
        partial(Conv2dBlockedOp, strides=[2, 1], padding=[1, 0, 2, 1], dilation=[1, 2]),
        [_images(2, 2, 3, 3, 2), _images(2, 2, 3, 2, 2, 3)],
    ),
    (partial(Conv2dBlockedOp, padding=[1], depthwise=True), [_images(1, 2, 4, 3, 3), _images(2, 1, 3, 3, 1, 3)]),
    (partial(Conv2dBlockedOp, padding=[1], groups=2), [_images(1, 4, 4, 3, 2), _images(6, 2, 3, 2, 2, 3)]),
    (partial(Conv2dBlockedOp, padding=[1]), [_images(2, 2, 4, 3, 6), _images(2, 5, 3, 2, 2, 3)]),
    (partial(WinogradInputTransformOp, tile=4, padding=[1, 2, 0, 1]), [_images(1, 3, 7, 4, 2)]),
    (partial(WinogradInputTransformOp, tile=2), [_images(1, 2, 4, 5)]),
    (partial(WinogradOutputTransformOp, tile=4, size=[5, 8], block=3), [_floats(36, 8, 6)]),
    (partial(WinogradOutputTransformOp, tile=2, size=[3, 2]), [_floats(16, 2, 1)]),
    (partial(Conv1dOp, padding=[2, 1], dilation=[2]), [_images(2, 3, 5), _images(2, 3, 3)]),
    (partial(Conv3dOp, strides=[1, 2, 1], padding=[1, 0, 1]), [_integers(1, 2, 3, 4, 3), _integers(3, 2, 2, 2, 3)]),
    (partial(Conv1dTransposeOp, strides=[2], padding=[1, 0]), [_images(2, 3, 4), _images(3, 2, 3)]),
    (
        partial(
            Conv2dTransposeOp, strides=[3, 2], padding=[1, 2, 0, 1], output_padding=[2, 1], dilation=[1, 2], groups=2
        ),
        [_images(1, 4, 3, 3), _images(4, 3, 2, 3)],
    ),
    (partial(Conv3dTransposeOp, strides=[2, 1, 2]), [_integers(1, 2, 2, 3, 2), _integers(2, 1, 3, 1, 2)]),
    (partial(MaxPool1dOp, pool_size=[3], strides=[2], padding=[1], ceil_mode=True), [_floats(2, 2, 6)]),
    (partial(MaxPool3dOp, pool_size=[2, 1, 2], strides=[2, 1, 1], ceil_mode=True), [_floats(1, 2, 3, 2, 3)]),
    (partial(MaxPool1dWithIndicesOp, pool_size=[3], strides=[2], padding=[1], ceil_mode=True), [_floats(2, 2, 6)]),
    (partial(MaxPool2dWithIndicesOp, pool_size=[2, 2], dilation=[1, 2], padding=[2, 0]), [_integers(1, 2, 3, 4) % 3]),
    (partial(MaxPool3dWithIndicesOp, pool_size=[2, 1, 2]), [_floats(1, 2, 3, 2, 3)]),
    (partial(AvgPool1dOp, pool_size=[3], strides=[2], padding=[1], ceil_mode=True), [_images(2, 2, 6)]),
    (
        partial(AvgPool1dOp, pool_size=[3], strides=[2], padding=[1, 0], ceil_mode=True, count_include_pad=True),
        [_images(1, 2, 7)],
    ),
    (partial(AvgPool3dOp, pool_size=[2, 2, 1], padding=[1, 0, 0]), [_images(1, 2, 2, 3, 2)]),
    (partial(PackBytesOp, axis=1), [_integers(2, 7, 3)]),
    (partial(PackBytesOp, axis=-2), [_unsigned(8, 3)]),
    (MatmulPackedOp, [_words(2, 3, 4), _words(4, 5)]),
    (partial(Conv1dPackedOp, padding=[2, 1], dilation=[2]), [_words(2, 3, 5), _words(2, 3, 3)]),
    (partial(Conv2dPackedOp, strides=[2, 1], padding=[1], groups=2), [_words(1, 4, 4, 5), _words(4, 2, 3, 2)]),
    (partial(Conv3dPackedOp, padding=[1, 0, 1]), [_words(1, 2, 3, 4, 3), _words(3, 2, 2, 2, 3)]),
    (partial(SoftmaxOp, safe=True), [np.where(_HIDDEN, -np.float32(np.inf), _images(3, 5))]),
]

NARROW: list[tuple[MakeOperator, list[Array]]] = [
    (make, [operand.astype(numpy_dtype(DTYPES[dtype])) for operand in operands])
    for make, operands in [
        (EwiseFMAOp, [_images(3, 5), _images(5), _images()]),
        (GeluOp, [_floats(3, 5)]),
        (MaximumOp, [_floats(3, 1), _floats(5)]),
        (LessOp, [_floats(3, 1), _floats(5)]),
        (partial(AstypeOp, dtype=f32), [_floats(5)]),
        (partial(AstypeOp, dtype=i8), [_floats(5) * 100]),
        (partial(ClipOp, min=-0.1), [_floats(5)]),
        (DenseOp, [_images(2, 3), _images(4, 3)]),
        (partial(SumOp, axis=(-1,)), [_images(3, 5)]),
        (ArgmaxOp, [_floats(3, 5)]),
        (partial(CumsumOp, axis=0), [_images(3, 5)]),
        (SortOp, [_images(3, 5)]),
        (SoftmaxOp, [_images(3, 5)]),
        (partial(ConcatOp, axis=-1), [_floats(2, 3), _floats(2, 1)]),
        (partial(PadOp, pad_width=[0, 1, 2, 0], pad_value=-np.inf), [_floats(2, 3)]),
        (Conv2dOp, [_images(1, 2, 4, 4), _images(3, 2, 3, 3)]),
        (partial(MaxPool1dWithIndicesOp, pool_size=[2], padding=[1, 0]), [_images(1, 2, 5)]),
    ]
    for dtype in ("float16", "bfloat16")
]
"""Some of them on floats of 16 bits."""
