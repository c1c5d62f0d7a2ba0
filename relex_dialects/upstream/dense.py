"""Dense constants as text: `dense<...>` that is exact, compact where possible, and fast for megabytes of weights.

xDSL's own printer is no option here: it visits every element in Python, and it prints NaN as a hexadecimal number that
xDSL then reads back as an integer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerType,
    bf16,
    f32,
    i1,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.lexer import Span

from relex.dialects import dtypes
from relex.dialects.arrays import Array, np

MAX_LISTED = 16
"""Longer constants print as hexadecimal bytes."""


def print_dense(printer: Printer, dense: DenseIntOrFPElementsAttr) -> None:
    """Print `dense<...> : type`: one value for a splat, a list of up to 16 elements, else the bytes in hexadecimal.

    Floats without a decimal form (NaN, infinities) print as bytes; i1 never does, since MLIR and xDSL disagree about
    its bytes.
    """
    printer.print_string(f"dense<{_literal(dense)}> : ")
    printer.print_attribute(dense.type)


def _literal(dense: DenseIntOrFPElementsAttr) -> str:
    data = dtypes.dense_bytes(dense)
    if not data:
        return ""
    element_type = dense.get_element_type()
    size = element_type.compile_time_size
    splat = dtypes.repeats(data, data[:size])
    shown = data[:size] if splat else data
    many = not splat and len(data) // size > MAX_LISTED
    if element_type != i1 and (many or not (dtypes.has_dtype(element_type) or element_type == bf16)):
        return f'"0x{shown.hex().upper()}"'
    array = _numbers(dense)
    if isinstance(element_type, AnyFloat) and not np.isfinite(array).all():
        return f'"0x{shown.hex().upper()}"'
    if splat:
        return _element(array.reshape(-1)[0].item(), element_type)
    return _list(array, element_type)


def _numbers(dense: DenseIntOrFPElementsAttr) -> Array:
    """Return the elements as numbers; elements of bf16 as float32, of which it is the upper half."""
    if dense.get_element_type() != bf16:
        return dtypes.array_from_dense(dense)
    halves = np.frombuffer(dtypes.dense_bytes(dense), "<u2").reshape(dense.get_shape())
    return (halves.astype(np.uint32) << 16).view(np.float32)


def _list(array: Array, element_type: object) -> str:
    if array.ndim == 0:
        return _element(array.item(), element_type)
    return f"[{', '.join(_list(part, element_type) for part in array)}]"


def _element(value: float | bool, element_type: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    # The shortest text that reads back as the same number; MLIR requires a decimal point.
    text = str(np.float32(value)) if element_type in (bf16, f32) else repr(value)
    mantissa, e, exponent = text.partition("e")
    return (mantissa if "." in mantissa else f"{mantissa}.0") + e + exponent


def parse_dense(parser: Parser) -> DenseIntOrFPElementsAttr:
    """Parse `dense<...> : type`. Hexadecimal numbers in a list of floats are rejected if the parser would misread
    them."""
    from relex.dialects.upstream.parser import RelexParser

    start = parser.pos
    parser.parse_keyword("dense")
    dense = parser.parse_dense_int_or_fp_elements_attr(None)
    if isinstance(parser, RelexParser) or not isinstance(dense.get_element_type(), AnyFloat):
        return dense
    literal, _, _ = parser.lexer.input.content[start : parser.pos].partition(":")
    if '"' not in literal and "0x" in literal.lower():
        parser.raise_error(
            'expected decimal floats or the bytes as a string, dense<"0x...">, found a hexadecimal number', start
        )
    return dense


class Decimal(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
    """A number in a dense list that is not hexadecimal."""

    def to_type(self, parser: AttrParser, type: AnyFloat | IntegerType | IndexType | ComplexType) -> Any:
        if not isinstance(type, AnyFloat):
            return super().to_type(parser, type)
        number = self.to_float(parser)
        expect_in_range(parser, FloatAttr(number, type), self.span)
        return number


def expect_in_range(parser: AttrParser, number: FloatAttr[AnyFloat], literal: Span) -> None:
    """Fail if a decimal number is too large for its type: MLIR reads it as infinity, or as NaN where there is none."""
    value = number.value.data
    if math.isfinite(value):
        return
    message = f"expected a number of type {number.type}, found {literal.text}"
    if math.isinf(value):
        bits = int.from_bytes(number.type.pack((value,)), "little")
        message += f"; infinity is written by its bits, 0x{bits:X}"
    parser.raise_error(message, literal)


class Bits(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
    """A hexadecimal number in a dense list; for a float it is the bit pattern."""

    def to_type(self, parser: AttrParser, type: AnyFloat | IntegerType | IndexType | ComplexType) -> Any:
        if not isinstance(type, AnyFloat):
            return super().to_type(parser, type)
        if self.is_negative:
            parser.raise_error("expected the bits of a float, found a negative number", self.span)
        if self.to_int(parser) >= 1 << 8 * type.compile_time_size:
            parser.raise_error(f"expected at most {8 * type.compile_time_size} bits", self.span)
        # A Python float does not keep the bits of every NaN: `with_bits` inserts them.
        return 0.0


def with_bits(dense: DenseIntOrFPElementsAttr, elements: Sequence[object]) -> DenseIntOrFPElementsAttr:
    """Return a parsed constant exactly as written: hexadecimal elements as bits, `true` as 1."""
    element_type = dense.get_element_type()
    if element_type in dtypes.SUB_BYTE:
        return dtypes.dense_from_bytes(dtypes.dense_type(element_type, dense.get_shape()), dense.data.data)
    if element_type == i1:
        return DenseIntOrFPElementsAttr(dense.type, BytesAttr(dtypes.dense_bytes(dense)))
    bits = {i: e.value for i, e in enumerate(elements) if isinstance(e, Bits) and isinstance(e.value, int)}
    if not bits or not isinstance(element_type, AnyFloat):
        return dense
    size = element_type.compile_time_size
    # A splat has a single element.
    data = bytearray(dense.data.data[: size * len(elements)])
    for i, value in bits.items():
        data[i * size : (i + 1) * size] = value.to_bytes(size, "little")
    return DenseIntOrFPElementsAttr(dense.type, BytesAttr(bytes(data) * (len(dense) // len(elements))))
