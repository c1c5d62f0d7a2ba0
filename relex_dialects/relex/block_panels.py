"""Weights in blocks, in panels of columns, that become numbers of f32, or pairs of numbers of bf16."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import bf16, f32, i32
from xdsl.ir import Attribute
from xdsl.irdl import prop_def

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import tensor_operand_def, ui8
from relex.dialects.errors import InferenceError
from relex.dialects.relex.block_layouts import BlockLayout
from relex.dialects.relex.block_quantized import layout_of, numbers_of
from relex.dialects.relex.declared import declared
from relex.dialects.relex.numpy_functions import cast
from relex.dialects.relex.operator import Exactness, Operand, Operator
from relex.dialects.relex.properties import IntegerConstr, StringConstr, as_integer
from relex.dialects.relex.types import SizedType, expect_element_type, expect_equal, shape_str
from relex.dialects.tir.op_pattern import OpPattern

PANEL = 32
"""The columns of a panel, as many as a tile has, whose bytes at a place are neighbours."""


def _blocks_of(kind: SizedType, count: int, what: str) -> int:
    """Return the number of blocks of `count` bytes in panels; raise `InferenceError` for other shapes."""
    expect_element_type(kind, (ui8,), what)
    shape = kind.get_shape()
    if len(shape) != 3 or shape[2] != PANEL:
        raise InferenceError(f"expected {what} in panels of {PANEL} columns, found {shape_str(shape)}")
    size = shape[1]
    if not isinstance(size, int) or size % count:
        raise InferenceError(f"expected {what} in blocks of {count} bytes, found {size}")
    return size // count


@declared
class UnpackScalesOp(Operator, exactness=Exactness.NUMBERS, pattern=OpPattern.INJECTIVE):
    """
    The scales of groups of numbers in blocks, and, for layouts that have them, minima after these, as f32 `[1 or 2,
    panels, groups, 32]`: of the bytes of scales in panels `[panels, bytes, 32]` of 32 columns.

    ```mlir
    %f = relex.unpack_scales %scales layout = "Q4_1" : (tensor<2x4x32xui8>) -> tensor<2x2x1x32xf32>
    ```
    """

    scales = tensor_operand_def()
    layout = prop_def(StringConstr)

    def __init__(self, scales: Operand, layout: str):
        super().__init__(scales, properties={"layout": layout})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        layout = layout_of(properties)
        blocks = _blocks_of(operands[0], layout.scale_bytes, "scales")
        return SizedType(f32, (_factors(layout), operands[0].get_shape()[0], blocks * prod(layout.groups), PANEL))

    def evaluate(self, scales: Array) -> Array:
        layout = layout_of(self.properties)
        columns = _of_panels(scales)
        no_digits = np.zeros((len(columns), columns.shape[1] // layout.scale_bytes * layout.digit_bytes), np.uint8)
        _, *factors = numbers_of(layout, columns, no_digits)
        found = [part.reshape(len(columns), prod(part.shape[1:])) for part in factors if part is not None]
        return np.ascontiguousarray(np.stack([in_panels(part) for part in found]))


class Unpacking(Operator, ABC):
    """An operator that unpacks the digits of a weight in panels, and multiplies them with their factors."""

    factors = tensor_operand_def()
    digits = tensor_operand_def()
    layout = prop_def(StringConstr)
    columns = prop_def(IntegerConstr)

    def __init__(self, factors: Operand, digits: Operand, layout: str, columns: int):
        super().__init__(factors, digits, properties={"layout": layout, "columns": columns})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        layout, columns = layout_of(properties), as_integer(properties["columns"])
        blocks = _blocks_of(operands[1], layout.digit_bytes, "digits")
        factors, (panels, *_) = (t.get_shape() for t in operands)
        expect_element_type(operands[0], (f32,), "factors")
        expect_equal(panels, -(-columns // PANEL), "panels of digits and of columns")
        if list(factors) != [_factors(layout), panels, blocks * prod(layout.groups), PANEL]:
            raise InferenceError(f"expected factors of each group of the digits, found {shape_str(factors)}")
        return SizedType(f32, (blocks * layout.size, columns))

    def evaluate(self, factors: Array, digits: Array) -> Array:
        layout, columns = layout_of(self.properties), _of_panels(digits)
        no_scales = np.zeros((len(columns), columns.shape[1] // layout.digit_bytes * layout.scale_bytes), np.uint8)
        numbers, *_ = numbers_of(layout, no_scales, columns)
        scale, *minimum = (_of_panels(part)[..., None] for part in factors)
        whole = numbers.reshape(*scale.shape[:2], prod(layout.numbers)) * scale
        for part in minimum:
            whole = whole + part
        terms = whole.shape[1] * whole.shape[2]
        return np.ascontiguousarray(whole.reshape(len(columns), terms)[: as_integer(self.columns)].T)


@declared
class UnpackNumbersOp(Unpacking, exactness=Exactness.NUMBERS, pattern=OpPattern.INJECTIVE):
    """
    Numbers `[K, N]` in blocks, as `relex.dequantize_blocks` defines them. `factors` are the scales, and perhaps minima,
    that `relex.unpack_scales` returns, `digits` are bytes in panels `[panels, bytes, 32]` of 32 of the `columns`, of
    which the last panel may have more.

    ```mlir
    %w = relex.unpack_numbers %factors, %digits layout = "Q4_0" columns = 40
        : (tensor<1x2x2x32xf32>, tensor<2x32x32xui8>) -> tensor<64x40xf32>
    ```
    """


@declared
class UnpackPairsOp(Unpacking, pattern=OpPattern.INJECTIVE):
    """
    Words `[K / 2, N]` of two numbers of bf16 each, as `relex.matmul_pairs` multiplies them on the right: the numbers of
    `relex.unpack_numbers`, rounded.

    ```mlir
    %w = relex.unpack_pairs %factors, %digits layout = "Q4_0" columns = 40
        : (tensor<1x2x2x32xf32>, tensor<2x32x32xui8>) -> tensor<32x40xi32>
    ```
    """

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        terms, columns = super().infer(operands, properties).get_shape()
        layout = layout_of(properties)
        if layout.numbers[-1] % 2:
            raise InferenceError(f"expected pairs of numbers, found {layout.numbers[-1]} next to each other")
        return SizedType(i32, (terms // 2, columns))

    def evaluate(self, factors: Array, digits: Array) -> Array:
        narrow = cast(super().evaluate(factors, digits), bf16).view(np.uint16)
        low, high = (narrow[n::2].astype(np.uint32) for n in (0, 1))
        return (low | high << 16).view(np.int32)


def _factors(layout: BlockLayout) -> int:
    """Return the number of factors of a group: a scale, and perhaps a minimum."""
    return 1 if layout.minimum is None else 2


def in_panels(part: Array) -> Array:
    """Return `[N, count]` in panels `[panels, count, 32]`; zeros fill the last one."""
    filled = np.pad(part, [(0, -len(part) % PANEL), (0, 0)])
    return np.ascontiguousarray(filled.reshape(len(filled) // PANEL, PANEL, part.shape[1]).transpose(0, 2, 1))


def _of_panels(panels: Array) -> Array:
    return np.ascontiguousarray(panels.transpose(0, 2, 1)).reshape(len(panels) * PANEL, panels.shape[1])
