"""Numbers in blocks of a few bits with a scale each, and products with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import StringAttr, f32
from xdsl.ir import Attribute
from xdsl.irdl import prop_def

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import tensor_operand_def, ui8
from relex.dialects.errors import InferenceError
from relex.dialects.relex.block_layouts import BLOCK_LAYOUTS, BlockLayout
from relex.dialects.relex.declared import declared
from relex.dialects.relex.numpy_functions import NumPyFunctions
from relex.dialects.relex.operator import Exactness, Operand, Operator
from relex.dialects.relex.properties import StringConstr
from relex.dialects.relex.types import SizedType, expect_element_type, expect_equal, shape_of, shape_str
from relex.dialects.shared_work import PART, each_part
from relex.dialects.sizes import Size, equal
from relex.dialects.tir.op_pattern import OpPattern


def layout_of(properties: Mapping[str, Attribute]) -> BlockLayout:
    """Return the layout that the property `layout` names; raise `InferenceError` if there is none."""
    attr = properties["layout"]
    name = attr.data if isinstance(attr, StringAttr) else ""
    if name not in BLOCK_LAYOUTS:
        raise InferenceError(f"expected a layout of blocks, such as Q8_0, found {name!r}")
    return BLOCK_LAYOUTS[name]


@declared
class DequantizeBlocksOp(Operator, exactness=Exactness.NUMBERS, pattern=OpPattern.OPAQUE):
    """
    The numbers in blocks of bytes along the last dimension, as f32. `layout` is the name of their layout: `Q4_0`,
    `Q4_1`, `Q5_0`, `Q5_1`, `Q8_0`, `Q4_K`, `Q5_K`, `Q6_K`, `IQ4_NL`, `IQ4_XS` or `MXFP4`, as in GGUF files; or, for
    unsigned numbers of 2, 4 or 8 bits in blocks of 16 to 256, a name such as `4_BITS_32_F16` or `4_BITS_32_F16_ZEROS`.

    ```mlir
    %w = relex.dequantize_blocks %b layout = "Q4_0" : (tensor<8x36xui8>) -> tensor<8x64xf32>
    ```
    """

    data = tensor_operand_def()
    layout = prop_def(StringConstr)

    def __init__(self, data: Operand, layout: str):
        super().__init__(data, properties={"layout": layout})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        expect_element_type(operands[0], (ui8,), "data")
        layout, shape = layout_of(properties), operands[0].get_shape()
        if not shape:
            raise InferenceError("expected data of rank 1 or more, found a scalar")
        return SizedType(f32, (*shape[:-1], _blocks(shape[-1], layout.bytes, "data") * layout.size))

    def evaluate(self, data: Array) -> Array:
        return dequantized(layout_of(self.properties), data)


@declared
class DenseBlocksOp(Operator, pattern=OpPattern.OUT_ELEMENTWISE_FUSABLE):
    """
    A dense layer, as `relex.dense`, whose weight `[N, K]` is in blocks, as `relex.dequantize_blocks` takes them, but
    with the bytes of the scales and the bytes of the digits in separate tensors. The weight is unpacked in registers:
    digits, and `data` where there is a minimum, are added up for each group before they are scaled. So a result is
    infinite where one of these sums is, however small its scale.

    ```mlir
    %y = relex.dense_blocks %x, %scales, %digits layout = "Q4_0"
        : (tensor<1x64xf32>, tensor<8x4xui8>, tensor<8x32xui8>) -> tensor<1x8xf32>
    ```
    """

    data = tensor_operand_def()
    scales = tensor_operand_def()
    digits = tensor_operand_def()
    layout = prop_def(StringConstr)

    def __init__(self, data: Operand, scales: Operand, digits: Operand, layout: str):
        super().__init__(data, scales, digits, properties={"layout": layout})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        layout = layout_of(properties)
        data, scales, digits = (t.get_shape() for t in operands)
        expect_element_type(operands[0], (f32,), "data")
        if not data:
            raise InferenceError("expected data of rank 1 or more, found a scalar")
        for t, what in zip(operands[1:], ("scales", "digits"), strict=True):
            expect_element_type(t, (ui8,), what)
            if len(t.get_shape()) != 2:
                raise InferenceError(f"expected {what} of rank 2, found {shape_str(t.get_shape())}")
        expect_equal(scales[0], digits[0], "first sizes of scales and digits")
        count = _blocks(digits[1], layout.digit_bytes, "digits")
        expect_equal(_blocks(scales[1], layout.scale_bytes, "scales"), count, "numbers of blocks of scales and digits")
        expect_equal(data[-1], count * layout.size, "last sizes of data and weight")
        return SizedType(f32, (*data[:-1], digits[0]))

    @property
    def terms(self) -> int:
        return shape_of(self.data)[-1]

    def evaluate(self, data: Array, scales: Array, digits: Array) -> Array:
        layout = layout_of(self.properties)
        numbers, *factors = numbers_of(layout, scales, digits)
        size, columns, rows = prod(layout.numbers), len(digits), prod(data.shape[:-1])
        # One after the other: groups, rows or columns, and what is added up.
        x = np.moveaxis(data.reshape(rows, data.shape[-1] // size, size), 0, 1)
        sums = [x @ np.moveaxis(numbers.reshape(columns, x.shape[0], size), 0, -1)]
        if layout.minimum is not None:
            sums.append(np.broadcast_to(np.sum(x, -1, keepdims=True), sums[0].shape))
        parts = [np.moveaxis(part.reshape(columns, x.shape[0]), 0, 1) for part in factors if part is not None]
        found = np.einsum("grc,gc->rc", np.concatenate(sums), np.concatenate(parts))
        return found.reshape(*data.shape[:-1], columns)


@declared
class DenseBlockRowsOp(Operator, pattern=OpPattern.OUT_ELEMENTWISE_FUSABLE):
    """
    A dense layer, as `relex.dense`, whose weight `[N, K]` is in blocks, as files and `relex.dequantize_blocks` have
    them. Rows of bytes are read as they are, and each number is unpacked and scaled in registers, as that operator does
    it.

    ```mlir
    %y = relex.dense_block_rows %x, %w layout = "Q4_0" : (tensor<1x64xf32>, tensor<8x36xui8>) -> tensor<1x8xf32>
    ```
    """

    data = tensor_operand_def()
    weight = tensor_operand_def()
    layout = prop_def(StringConstr)

    def __init__(self, data: Operand, weight: Operand, layout: str):
        super().__init__(data, weight, properties={"layout": layout})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        expect_element_type(operands[0], (f32,), "data")
        expect_element_type(operands[1], (ui8,), "weight")
        data, weight = (t.get_shape() for t in operands)
        if not data:
            raise InferenceError("expected data of rank 1 or more, found a scalar")
        if len(weight) != 2:
            raise InferenceError(f"expected a weight of rank 2, found {shape_str(weight)}")
        layout = layout_of(properties)
        expect_equal(
            data[-1], _blocks(weight[1], layout.bytes, "weight") * layout.size, "last sizes of data and weight"
        )
        return SizedType(f32, (*data[:-1], weight[0]))

    @property
    def terms(self) -> int:
        return shape_of(self.data)[-1]

    def evaluate(self, data: Array, weight: Array) -> Array:
        return data @ dequantized(layout_of(self.properties), weight).T


def _blocks(size: Size, count: int, what: str) -> Size:
    """Return the number of blocks along a dimension; raise `InferenceError` if it has parts of some."""
    if not equal(size % count, 0):
        raise InferenceError(f"expected {what} in blocks of {count} bytes, found {size}")
    return size // count


def joined(layout: BlockLayout, scales: Array, digits: Array) -> Array:
    """Return the blocks `[..., n]` whose bytes are in two tensors."""
    parts = [_in_blocks(scales, layout.scale_bytes), _in_blocks(digits, layout.digit_bytes)]
    whole = np.concatenate(parts[::-1] if layout.digits_first else parts, -1)
    return whole.reshape(*whole.shape[:-2], whole.shape[-2] * whole.shape[-1])


def parts_of(layout: BlockLayout, data: Array) -> tuple[Array, Array]:
    """Return the bytes of the scales, and the bytes of the digits, of blocks along the last dimension."""
    blocks = _in_blocks(data, layout.bytes)
    places = ((layout.first_scale, layout.scale_bytes), (layout.first_digit, layout.digit_bytes))
    scales, digits = (
        _copy(blocks[..., first : first + count]).reshape(*data.shape[:-1], blocks.shape[-2] * count)
        for first, count in places
    )
    return scales, digits


def _copy(array: Array) -> Array:
    """Return a row-major array of the bytes in one of rank 2 or more, in any domain."""
    if prod(array.shape) < PART:
        return np.ascontiguousarray(array)
    found = np.empty(array.shape, array.dtype)

    def copy(some: slice) -> None:
        found[some] = array[some]

    each_part(len(array), found.nbytes, copy)
    return found


def _in_blocks(data: Array, count: int) -> Array:
    return data.reshape(*data.shape[:-1], data.shape[-1] // count, count)


def dequantized(layout: BlockLayout, data: Array) -> Array:
    """Return the numbers in blocks of bytes along the last dimension, as f32."""
    numbers, scales, minima = numbers_of(layout, *parts_of(layout, data))
    numbers = numbers * scales
    if minima is not None:
        numbers = numbers + minima
    return numbers.reshape(*data.shape[:-1], prod(numbers.shape[data.ndim - 1 :]))


def numbers_of(layout: BlockLayout, scales: Array, digits: Array) -> tuple[Array, Array, Array | None]:
    """Return the digits `[..., blocks, *groups, *numbers]`, and the scales and the minima of their groups."""
    # Bytes are numbers in any domain: their bits make floats.
    scales = _in_blocks(np.ascontiguousarray(scales), layout.scale_bytes)
    digits = _in_blocks(np.ascontiguousarray(digits), layout.digit_bytes)
    functions, shape = NumPyFunctions(), (*layout.groups, *layout.numbers)
    (*indices,) = np.ogrid[tuple(map(slice, shape))]
    groups = indices[: len(layout.groups)]

    def byte_of(part: Array, place: int | Array) -> Array:
        places = np.broadcast_to(place, np.broadcast_shapes(np.shape(place), (1,) * len(shape)))
        return part[..., places].astype(np.int32)

    def of_scales(place: int | Array) -> Array:
        return byte_of(scales, place)

    def of_digits(place: int | Array) -> Array:
        return byte_of(digits, place)

    def of_groups(factors: Array) -> Array:
        return np.broadcast_to(factors, (*scales.shape[:-1], *layout.groups, *(1 for _ in layout.numbers)))

    numbers = np.broadcast_to(layout.digit(functions, of_digits, *indices), (*digits.shape[:-1], *shape))
    scale = of_groups(layout.scale(functions, of_scales, *groups))
    minimum = layout.minimum and of_groups(layout.minimum(functions, of_scales, *groups))
    return numbers, scale, minimum
