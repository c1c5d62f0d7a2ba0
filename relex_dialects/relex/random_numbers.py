"""Random numbers. They are functions of a key and of their positions, as no operator has a state: the same key gives
the same numbers.

The generators are from Random123 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3): each enciphers a counter
to a block of words of 32 bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from math import pi, prod
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from xdsl.dialects.builtin import IntegerType, Signedness, StringAttr, TensorType, bf16, f16, f32, f64, i1, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import opt_prop_def, prop_def

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import FLOATS, ElementConstr, numpy_dtype, tensor_operand_def, var_tensor_operand_def
from relex.dialects.errors import InferenceError
from relex.dialects.relex.declared import declared
from relex.dialects.relex.elementwise import Element, Functions
from relex.dialects.relex.numpy_functions import NumPyFunctions
from relex.dialects.relex.operator import Exactness, Operand, Operator, tensor_type
from relex.dialects.relex.properties import IntegersConstr, StringConstr, TextsConstr
from relex.dialects.relex.reductions import expect_elements
from relex.dialects.relex.size_properties import dynamic_shape, names_of_sizes, shape_for
from relex.dialects.relex.types import SizedType, expect_element_type
from relex.dialects.tir.op_pattern import OpPattern
from relex.dialects.upstream.hints import isa

ui32 = IntegerType(32, Signedness.UNSIGNED)
ui64 = IntegerType(64, Signedness.UNSIGNED)

KEY_WORDS = 2
DIGITS: Mapping[Attribute, int] = {f16: 11, bf16: 8, f32: 24, f64: 53}
"""The binary digits of floats: as many random bits are a number from 0 to 1."""

Words = Sequence[Element]


def _philox4x32(f: Functions, counter: Words, key: Words) -> list[Element]:
    (a, b, c, d), (k, m) = counter, key
    for _ in range(10):
        high_a, low_a = _wide_product(f, a, 0xD2511F53)
        high_c, low_c = _wide_product(f, c, 0xCD9E8D57)
        a, c = (f.bitwise_xor(f.bitwise_xor(high, x), n) for high, x, n in ((high_c, b, k), (high_a, d, m)))
        b, d = low_c, low_a
        k, m = k + 0x9E3779B9, m + 0xBB67AE85
    return [a, b, c, d]


def _wide_product(f: Functions, x: Element, factor: int) -> tuple[Element, Element]:
    """Return the upper and the lower word of a product."""
    product = f.cast(x, ui64) * factor
    return f.cast(f.right_shift(product, 32), ui32), f.cast(product, ui32)


_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)


def _threefry2x32(f: Functions, counter: Words, key: Words) -> list[Element]:
    keys = [*key, f.bitwise_xor(f.bitwise_xor(*key), 0x1BD11BDA)]
    a, b = (x + k for x, k in zip(counter, key, strict=True))
    for step in range(1, 21):
        count = _ROTATIONS[(step - 1) % 8]
        a = a + b
        b = f.bitwise_xor(a, f.bitwise_or(f.left_shift(b, count), f.right_shift(b, 32 - count)))
        if step % 4 == 0:
            a = a + keys[step // 4 % 3]
            b = b + keys[(step // 4 + 1) % 3] + step // 4
    return [a, b]


class Generator(NamedTuple):
    """A generator: the number of words in a counter, and in a block, and the block for a counter and a key."""

    words: int
    block: Callable[[Functions, Words, Words], list[Element]]


GENERATORS = {"philox4x32-10": Generator(4, _philox4x32), "threefry2x32-20": Generator(2, _threefry2x32)}


class RandomOperator(Operator, ABC, pattern=OpPattern.INJECTIVE):
    """Random numbers, one for each position in row-major order."""

    DTYPES: ClassVar[Sequence[Attribute]] = FLOATS
    """The types of the numbers, or of the operand that they depend on."""

    if TYPE_CHECKING:
        key: SSAValue[TensorType]  # It is the first operand, and classes declare it with the others.

    algorithm = prop_def(StringConstr, default_value=StringAttr("philox4x32-10"))

    @abstractmethod
    def formula(self, f: Functions, key: Words, position: Element, *operands: Element) -> Element:
        """Return the number for a position, an integer of type ui64, and for the elements of other operands there."""

    @property
    def generator(self) -> Generator:
        """The generator that the words come from."""
        return GENERATORS[self.algorithm.data]

    @property
    def key_words(self) -> int:
        """The number of words in the key, and in the counter to begin with, if it has one."""
        return tensor_type(self.key.type).get_shape()[0]

    @classmethod
    def expect_key(cls, key: SizedType, algorithm: Attribute) -> None:
        """Raise `InferenceError` unless there is a generator of that name, and the key fits it."""
        if not isa(algorithm, StringAttr) or algorithm.data not in GENERATORS:
            raise InferenceError(f"expected an algorithm among {', '.join(GENERATORS)}, found {algorithm}")
        longest = KEY_WORDS + GENERATORS[algorithm.data].words
        if key.element_type != ui32 or key.get_shape() not in ((KEY_WORDS,), (longest,)):
            raise InferenceError(
                f"expected a key of {KEY_WORDS} numbers of type ui32, or of {longest} with a counter, found {key}"
            )

    def words(self, f: Functions, key: Words, position: Element, count: int) -> list[Element]:
        """Return `count` words for a position: the words from `position * count` on, of all blocks."""
        size = self.generator.words
        if count >= size:
            blocks = count // size
            return [word for i in range(blocks) for word in self._block(f, key, position * blocks + i)]
        sharing = size // count
        block = self._block(f, key, f.right_shift(position, sharing.bit_length() - 1))
        place = f.bitwise_and(position, sharing - 1)
        found = block[-count:]
        for i in reversed(range(sharing - 1)):
            chosen = f.equal(place, i)
            found = [f.select(chosen, *pair) for pair in zip(block[i * count :], found, strict=False)]
        return found

    def _block(self, f: Functions, key: Words, number: Element) -> list[Element]:
        """Return the words of a block, by its number in the stream: the first two words of the counter count."""
        if len(key) > KEY_WORDS:
            low, high = (f.cast(word, ui64) for word in key[KEY_WORDS : KEY_WORDS + 2])
            number = number + f.bitwise_or(low, f.left_shift(high, 32))
        counter = [f.cast(number, ui32), f.cast(f.right_shift(number, 32), ui32)]
        zeros = [f.bitwise_and(counter[0], 0)] * (self.generator.words - len(counter))
        return self.generator.block(f, [*counter, *(key[KEY_WORDS + 2 :] or zeros)], key[:KEY_WORDS])

    def bits(self, f: Functions, key: Words, position: Element, element_type: Attribute, count: int) -> list[Element]:
        """Return `count` numbers of random bits, of type ui32 or ui64, for a position."""
        if element_type == ui32:
            return self.words(f, key, position, count)
        words = [f.cast(word, ui64) for word in self.words(f, key, position, 2 * count)]
        return [f.bitwise_or(low, f.left_shift(high, 32)) for low, high in zip(words[::2], words[1::2], strict=True)]

    def fractions(
        self, f: Functions, key: Words, position: Element, element_type: Attribute, count: int = 1, start: int = 0
    ) -> list[Element]:
        """
        Return `count` numbers from 0 to 1 for a position, all that are as far from each other as the largest ones of
        the type, and as likely as each other: without 1 if they `start` at 0, or without 0 if at 1.
        """
        digits, wide = DIGITS[element_type], element_type == f64
        width, integer, real = (64, i64, f64) if wide else (32, i32, f32)
        bits = self.bits(f, key, position, ui64 if wide else ui32, count)
        return [f.cast(f.cast(f.right_shift(n, width - digits), integer) + start, real) * 2.0**-digits for n in bits]


class RandomTensor(RandomOperator, ABC):
    """Random numbers in a tensor of any shape."""

    key = tensor_operand_def()
    like = var_tensor_operand_def()
    shape = prop_def(IntegersConstr)
    dtype = prop_def(ElementConstr)
    sizes = opt_prop_def(TextsConstr)

    def __init__(
        self,
        key: Operand,
        shape: Sequence[int],
        dtype: Attribute,
        algorithm: str | None = None,
        sizes: Sequence[str] | None = None,
        like: Sequence[Operand] = (),
    ):
        properties = {"shape": shape, "dtype": dtype, "algorithm": algorithm, "sizes": sizes}
        super().__init__(key, *like, properties=properties)

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        cls.expect_key(operands[0], properties["algorithm"])
        if (dtype := properties["dtype"]) not in cls.DTYPES:
            raise InferenceError(f"expected a dtype among {', '.join(map(str, cls.DTYPES))}, found {dtype}")
        sizes = dynamic_shape(properties, names_of_sizes(operands))
        if -1 in sizes:
            raise InferenceError("expected an expression in 'sizes' for each size of -1")
        return SizedType(dtype, sizes)

    def evaluate(self, *operands: Array) -> Array:
        numbers = self.formula(NumPyFunctions(), list(operands[0]), positions(shape_for(self, operands)))
        return numbers.astype(numpy_dtype(self.dtype))


def positions(shape: Sequence[int]) -> Array:
    """Return the position of each element in row-major order."""
    return np.arange(prod(shape), dtype=np.uint64).reshape(shape)


@declared
class RandomBitsOp(RandomTensor, exactness=Exactness.BITS, dtypes=(i32, i64, ui32, ui64)):
    """
    Random bits, by a generator of Random123: the words of the blocks that `philox4x32-10` or `threefry2x32-20` makes of
    the counters 0, 1, 2, ..., in row-major order; a number of 64 bits is two of them, the lower one first. The key has
    two words. Four more, or two for `threefry2x32-20`, are the counter to begin with, of which the first two words
    count. The shape is given as for `relex.iota`.

    ```mlir
    %b = relex.random_bits %key shape = [3, 4] dtype = ui32 : (tensor<2xui32>) -> tensor<3x4xui32>
    %c = relex.random_bits %key like(%x) algorithm = "threefry2x32-20" shape = [-1] dtype = ui64 sizes = ["like0_d0"]
        : (tensor<2xui32>, tensor<?x4xf32>) -> tensor<?xui64>
    ```
    """

    def formula(self, f: Functions, key: Words, position: Element, *operands: Element) -> Element:
        (bits,) = self.bits(f, key, position, ui32 if self.dtype in (i32, ui32) else ui64, 1)
        return f.cast(bits, self.dtype)


@declared
class RandomUniformOp(RandomTensor, exactness=Exactness.BITS):
    """
    Random numbers from 0 to 1, without 1, from the bits of `relex.random_bits` for the same key: multiples of 2 to the
    power of -24 for f32, -53 for f64, -11 for f16 and -8 for bf16, all equally likely.

    ```mlir
    %u = relex.random_uniform %key shape = [3, 4] dtype = f32 : (tensor<2xui32>) -> tensor<3x4xf32>
    ```
    """

    def formula(self, f: Functions, key: Words, position: Element, *operands: Element) -> Element:
        (fraction,) = self.fractions(f, key, position, self.dtype)
        return fraction


@declared
class RandomNormalOp(RandomTensor):
    """
    Random numbers from the normal distribution of mean 0 and variance 1, each of two uniform ones by the transform of
    Box and Muller. f16 and bf16 are rounded from f32.

    ```mlir
    %n = relex.random_normal %key shape = [3, 4] dtype = f32 : (tensor<2xui32>) -> tensor<3x4xf32>
    ```
    """

    def formula(self, f: Functions, key: Words, position: Element, *operands: Element) -> Element:
        wide = f64 if self.dtype == f64 else f32
        length, turn = self.fractions(f, key, position, wide, count=2, start=1)
        return f.sqrt(f.log(length) * -2.0) * f.cos(turn * (2 * pi))


class RandomChoice(RandomOperator, ABC):
    """Random numbers that depend on the elements of an operand. Narrow floats are compared as f32."""

    @classmethod
    def expect_operands(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        """Return the type of the operand that is not the key. Raises `InferenceError` for wrong ones."""
        key, operand = operands
        cls.expect_key(key, properties["algorithm"])
        expect_element_type(operand, cls.DTYPES, "probabilities")
        return operand

    def fraction(self, f: Functions, key: Words, position: Element, operand: SSAValue) -> Element:
        """Return a number from 0 to 1, without 1, for a position."""
        wide = f64 if tensor_type(operand.type).element_type == f64 else f32
        (fraction,) = self.fractions(f, key, position, wide)
        return fraction


@declared
class RandomBernoulliOp(RandomChoice, exactness=Exactness.BITS):
    """
    True with the probability that each element says: where it is greater than the number of `relex.random_uniform` for
    the same key. NaN is never.

    ```mlir
    %b = relex.random_bernoulli %key, %p : (tensor<2xui32>, tensor<3x4xf32>) -> tensor<3x4xi1>
    ```
    """

    key = tensor_operand_def()
    probability = tensor_operand_def()

    def __init__(self, key: Operand, probability: Operand, algorithm: str | None = None):
        super().__init__(key, probability, properties={"algorithm": algorithm})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        return SizedType(i1, cls.expect_operands(operands, properties).get_shape())

    def formula(self, f: Functions, key: Words, position: Element, *operands: Element) -> Element:
        return f.less(self.fraction(f, key, position, self.probability), *operands)

    def evaluate(self, key: Array, probability: Array) -> Array:
        return self.formula(NumPyFunctions(), list(key), positions(probability.shape), probability)


@declared
class RandomCategoricalOp(RandomChoice, pattern=OpPattern.OUT_ELEMENTWISE_FUSABLE):
    """
    A position along the last dimension, chosen with the probabilities whose logarithms are the elements there, up to a
    constant. The largest element is chosen after noise is added to each, from Gumbel's distribution; NaN counts as the
    largest.

    ```mlir
    %c = relex.random_categorical %key, %logits : (tensor<2xui32>, tensor<3x4xf32>) -> tensor<3xi64>
    ```
    """

    key = tensor_operand_def()
    logits = tensor_operand_def()

    def __init__(self, key: Operand, logits: Operand, algorithm: str | None = None):
        super().__init__(key, logits, properties={"algorithm": algorithm})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        shape = cls.expect_operands(operands, properties).get_shape()
        if not shape:
            raise InferenceError("expected logits of rank 1 or more")
        expect_elements(shape, shape[:-1])
        return SizedType(i64, shape[:-1])

    def formula(self, f: Functions, key: Words, position: Element, *operands: Element) -> Element:
        (logit,) = operands
        # The logarithm of 0 would be added to an infinite logit as NaN.
        fraction = f.maximum(self.fraction(f, key, position, self.logits), 2.0**-54)
        return logit - f.log(-f.log(fraction))

    def evaluate(self, key: Array, logits: Array) -> Array:
        if 0 in logits.shape:
            return np.zeros(logits.shape[:-1], np.int64)
        return np.argmax(self.formula(NumPyFunctions(), list(key), positions(logits.shape), logits), axis=-1)
