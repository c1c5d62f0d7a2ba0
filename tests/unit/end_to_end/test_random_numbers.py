"""Random numbers: the published answers of the generators, words counted one by one, and distributions."""

from __future__ import annotations

from functools import partial
from math import erf, prod, sqrt

import numpy as np
import pytest
from operator_checks import check, expected, native
from programs import Array
from xdsl.dialects.builtin import IntegerType, Signedness, bf16, f16, f32, f64, i32, i64
from xdsl.ir import Attribute

from relex.dialects import parse_module
from relex.dialects.dtypes import numpy_dtype
from relex.dialects.errors import CompileError
from relex.dialects.relex import (
    RandomBernoulliOp,
    RandomBitsOp,
    RandomCategoricalOp,
    RandomNormalOp,
    RandomUniformOp,
)
from relex.frontend import BlockBuilder, Var, const, op
from relex.runtime import build

UI32, UI64 = (IntegerType(bits, Signedness.UNSIGNED) for bits in (32, 64))
PHILOX, THREEFRY = "philox4x32-10", "threefry2x32-20"
KEY = np.array([20261129, 7], np.uint32)
MANY = 100_000

DIGITS: dict[Attribute, int] = {f16: 11, bf16: 8, f32: 24, f64: 53}

KNOWN = [
    (PHILOX, "00000000 00000000 00000000 00000000 00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    (PHILOX, "ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (PHILOX, "a4093822 299f31d0 243f6a88 85a308d3 13198a2e 03707344", "d16cfe09 94fdcceb 5001e420 24126ea1"),
    (THREEFRY, "00000000 00000000 00000000 00000000", "6b200159 99ba4efe"),
    (THREEFRY, "ffffffff ffffffff ffffffff ffffffff", "1cb996fc bb002be7"),
    (THREEFRY, "13198a2e 03707344 243f6a88 85a308d3", "c4923a9c 483df7a0"),
]
"""The file `kat_vectors` of Random123: an algorithm, a key with a counter, and the block."""


def words(text: str) -> Array:
    return np.array([int(word, 16) for word in text.split()], np.uint32)


@pytest.mark.parametrize(("algorithm", "key", "block"), KNOWN)
def test_known_answers(algorithm: str, key: str, block: str) -> None:
    wanted = words(block)
    make = partial(RandomBitsOp, shape=[len(wanted)], dtype=UI32, algorithm=algorithm)
    np.testing.assert_array_equal(native(make, words(key)), wanted)
    check(make, words(key))


SIZES = {PHILOX: 4, THREEFRY: 2}


def stream(algorithm: str, key: Array, count: int) -> list[int]:
    """The words of the first blocks, each from a key with its own counter."""
    size = SIZES[algorithm]
    own, start = key[:2].tolist(), key[2:].tolist() or [0] * size
    first = start[0] | start[1] << 32
    found: list[int] = []
    for block in range(-(-count // size)):
        number = (first + block) % 2**64
        counter = np.array([*own, number % 2**32, number >> 32, *start[2:]], np.uint32)
        found += expected(partial(RandomBitsOp, shape=[size], dtype=UI32, algorithm=algorithm), counter).tolist()
    return found[:count]


KEYS = [KEY, np.array([1, 2, 2**32 - 2, 5, 6, 7], np.uint32), np.array([1, 2, 2**32 - 1, 2**32 - 1, 6, 7], np.uint32)]


@pytest.mark.sampled(diagonals=3)
@pytest.mark.parametrize("algorithm", [PHILOX, THREEFRY])
@pytest.mark.parametrize("key", KEYS, ids=["plain", "carry", "wrap"])
@pytest.mark.parametrize("dtype", [UI32, i32, UI64, i64])
def test_words_are_counted(algorithm: str, key: Array, dtype: Attribute) -> None:
    key = key[: 2 + SIZES[algorithm]]
    make = partial(RandomBitsOp, shape=[3, 7], dtype=dtype, algorithm=algorithm)
    kind = numpy_dtype(dtype)
    wanted = np.array(stream(algorithm, key, 21 * kind.itemsize // 4), np.uint32).view(kind).reshape(3, 7)
    np.testing.assert_array_equal(expected(make, key), wanted)
    check(make, key)


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("shape", [(), (1,), (33,), (0, 3), (2, 3, 5)])
@pytest.mark.parametrize("algorithm", [PHILOX, THREEFRY])
@pytest.mark.parametrize("dtype", [f16, bf16, f32, f64])
def test_uniform_numbers_are_equal_in_every_bit(shape: tuple[int, ...], algorithm: str, dtype: Attribute) -> None:
    make = partial(RandomUniformOp, shape=list(shape), dtype=dtype, algorithm=algorithm)
    check(make, KEY)
    digits = DIGITS[dtype]
    width, kind = (64, np.uint64) if dtype == f64 else (32, np.uint32)
    drawn = np.array(stream(algorithm, KEY, prod(shape) * width // 32), np.uint32).view(kind)
    wanted = (drawn >> (width - digits)).astype(np.float64) / 2**digits
    np.testing.assert_array_equal(native(make, KEY).astype(np.float64), wanted.reshape(shape))


@pytest.mark.parametrize("dtype", [f16, bf16, f32, f64])
def test_normal_numbers_agree(dtype: Attribute) -> None:
    check(partial(RandomNormalOp, shape=[3, 17], dtype=dtype), KEY, ulps=16)


def distance(numbers: Array, cumulative: Array) -> float:
    """The statistic of Kolmogorov and Smirnov, times the root of the number of numbers: above 1.95 for one sample in a
    thousand."""
    places = np.arange(len(numbers) + 1) / len(numbers)
    return sqrt(len(numbers)) * float(max((places[1:] - cumulative).max(), (cumulative - places[:-1]).max()))


@pytest.mark.parametrize("algorithm", [PHILOX, THREEFRY])
@pytest.mark.parametrize("dtype", [f32, f64])
def test_distributions(algorithm: str, dtype: Attribute) -> None:
    given = {"shape": [MANY], "dtype": dtype, "algorithm": algorithm}
    uniform = np.sort(native(partial(RandomUniformOp, **given), KEY).astype(np.float64))
    assert 0 <= uniform[0] < uniform[-1] < 1
    assert distance(uniform, uniform) < 1.95
    normal = np.sort(native(partial(RandomNormalOp, **given), KEY).astype(np.float64))
    assert distance(normal, np.array([0.5 + erf(x / sqrt(2)) / 2 for x in normal])) < 1.95
    # Moments of order 3 and 4 have the variances 15 and 96.
    assert abs(np.mean(normal**3)) < 3 * sqrt(15 / MANY)
    assert abs(np.mean(normal**4) - 3) < 3 * sqrt(96 / MANY)


@pytest.mark.parametrize("algorithm", [PHILOX, THREEFRY])
def test_bits_are_independent(algorithm: str) -> None:
    def bits(key: Array) -> Array:
        drawn = native(partial(RandomBitsOp, shape=[MANY], dtype=UI32, algorithm=algorithm), key)
        return np.unpackbits(drawn.view(np.uint8)).reshape(MANY, 32)

    first, other = bits(KEY), bits(KEY + np.array([1, 0], np.uint32))
    # Bits at one place, of neighbours, and for keys that differ in one bit: each a sum of coins.
    for equal in (first, first[1:] == first[:-1], first[4:] == first[:-4], first == other):
        assert (abs(equal.mean(0) - 0.5) < 4 * 0.5 / sqrt(MANY)).all()
    assert (abs(np.corrcoef(first.T) - np.eye(32)) < 4.5 / sqrt(MANY)).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_bernoulli(dtype: str) -> None:
    probability = np.repeat(np.array([[0, 0.25, 0.5, 0.9, 1, np.nan, -1, 2]], dtype), MANY // 10, axis=0)
    check(RandomBernoulliOp, KEY, probability[:5])
    shares = native(RandomBernoulliOp, KEY, probability).mean(0)
    np.testing.assert_array_equal(shares[[0, 4, 5, 6, 7]], [0, 1, 0, 0, 1])
    wanted = probability[0, 1:4].astype(np.float64)
    assert (abs(shares[1:4] - wanted) < 3 * np.sqrt(wanted * (1 - wanted) / (MANY // 10))).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_categorical(dtype: str) -> None:
    shares = np.array([0.1, 0, 0.2, 0.3, 0.4])
    with np.errstate(divide="ignore"):
        logits = np.repeat((np.log(shares) + 5)[None].astype(dtype), MANY, axis=0)
    check(RandomCategoricalOp, KEY, logits[:5])
    counts = np.bincount(native(RandomCategoricalOp, KEY, logits), minlength=5)
    assert counts[1] == 0
    wanted = shares * MANY
    chosen = wanted > 0
    # Chi squared with three degrees of freedom: above 11.3 for one sample in a hundred.
    assert ((counts - wanted)[chosen] ** 2 / wanted[chosen]).sum() < 11.3


def test_largest_logits_are_chosen() -> None:
    logits = np.array([[1, np.inf, 2], [np.nan, np.inf, 0], [-np.inf, -np.inf, -np.inf]], np.float32)
    check(RandomCategoricalOp, KEY, logits)
    np.testing.assert_array_equal(native(RandomCategoricalOp, KEY, logits), [1, 0, 0])
    assert native(RandomCategoricalOp, KEY, logits[:0]).shape == (0,)


def test_builder_and_fusion() -> None:
    """A dropout of dynamic size, which is one kernel, has the elements of the operators alone."""
    builder = BlockBuilder()
    key, x = Var("key", (2,), "uint32"), Var("x", ("n", 3), "float32")
    with builder.function("main", [key, x]):
        kept = op.less(op.random_uniform(key, shape=["n", 3], dtype="float32"), const(0.75))
        builder.emit_func_output(op.multiply(x, op.astype(kept, "float32")))
    main = build(builder.get())["main"]
    rows = np.arange(30, dtype=np.float32).reshape(10, 3)
    alone = native(partial(RandomUniformOp, shape=[10, 3], dtype=f32), KEY)
    np.testing.assert_array_equal(main(KEY, rows), rows * (alone < 0.75))


WRONG = {
    'expected an algorithm among philox4x32-10, threefry2x32-20, found "mt19937"': (
        '%r = relex.random_bits %key algorithm = "mt19937" shape = [4] dtype = ui32'
        " : (tensor<2xui32>) -> tensor<4xui32>"
    ),
    "expected a key of 2 numbers of type ui32, or of 4 with a counter, found tensor<3xui32>": (
        '%r = relex.random_bits %long algorithm = "threefry2x32-20" shape = [4] dtype = ui32'
        " : (tensor<3xui32>) -> tensor<4xui32>"
    ),
    "expected a dtype among f16, bf16, f32, f64, found i32": (
        "%r = relex.random_normal %key shape = [4] dtype = i32 : (tensor<2xui32>) -> tensor<4xi32>"
    ),
    "expected an expression in 'sizes' for each size of -1": (
        "%r = relex.random_normal %key shape = [-1] dtype = f32 : (tensor<2xui32>) -> tensor<?xf32>"
    ),
    "expected logits of rank 1 or more": (
        "%r = relex.random_categorical %key, %x : (tensor<2xui32>, tensor<f32>) -> tensor<i64>"
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_operators(message: str) -> None:
    arguments = "%key: tensor<2xui32>, %long: tensor<3xui32>, %x: tensor<f32>"
    with pytest.raises(CompileError) as error:
        parse_module(f"func.func @main({arguments}) {{\n{WRONG[message]}\nfunc.return\n}}")
    assert message in str(error.value)
