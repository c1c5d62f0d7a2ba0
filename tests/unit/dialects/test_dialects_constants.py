"""Constants as text: every bit survives, in any form, and megabytes are fast."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable
from io import StringIO
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from effort import count_calls
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IndexType,
    ModuleOp,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError
from xdsl.utils.test_value import create_ssa_value

from relex.dialects import CompileError, RelexError, make_context, parse_module
from relex.dialects.dtypes import array_from_dense, dense_from_array
from relex.dialects.errors import InferenceError
from relex.dialects.relex import ConstantOp, NegativeOp, array_of, rank_of, shape_of
from relex.dialects.upstream.printer import ElidingPrinter, ExactPrinter
from relex.passes.rewriting.constants import holds_only

SIZES = {f16: 2, bf16: 2, f32: 4, f64: 8, i1: 1, i8: 1, i32: 4, i64: 8}


def module_of(dense: DenseIntOrFPElementsAttr) -> ModuleOp:
    return ModuleOp([ConstantOp(dense)])


def dense_of(module: ModuleOp) -> DenseIntOrFPElementsAttr:
    (op,) = module.ops
    assert isinstance(op, ConstantOp)
    return op.value


def print_custom(module: ModuleOp) -> str:
    return str(module)


def print_generic(module: ModuleOp) -> str:
    text = StringIO()
    ExactPrinter(stream=text, print_generic_format=True).print_op(module)
    return text.getvalue()


PRINTERS = pytest.mark.parametrize("print_module", [print_custom, print_generic])


def assert_survives(dense: DenseIntOrFPElementsAttr, print_module: Callable[[ModuleOp], str]) -> None:
    text = print_module(module_of(dense))
    again = parse_module(text)
    found = dense_of(again)
    assert found.type == dense.type
    assert found.data.data == dense.data.data
    assert print_module(again) == text


@PRINTERS
@given(data=st.data())
def test_any_bits_survive(print_module: Callable[[ModuleOp], str], data: st.DataObject) -> None:
    element_type = data.draw(st.sampled_from(list(SIZES)))
    shape = data.draw(st.lists(st.integers(0, 4), max_size=3))
    count = int(np.prod(shape))
    bits = data.draw(st.binary(min_size=count * SIZES[element_type], max_size=count * SIZES[element_type]))
    if element_type == i1:
        bits = bytes(byte & 1 for byte in bits)
    assert_survives(DenseIntOrFPElementsAttr(TensorType(element_type, shape), BytesAttr(bits)), print_module)


# Quiet and signalling NaN with payloads, infinities, zeros, the smallest and the largest denormal, the largest number.
FLOATS: dict[AnyFloat, str] = {
    f16: "7E00 7E01 FE55 7C01 7DFF 7C00 FC00 0000 8000 0001 83FF 7BFF",
    bf16: "7FC0 7FC1 FFD5 7F81 7FBF 7F80 FF80 0000 8000 0001 807F 7F7F",
    f32: "7FC00000 7FC00001 FFD55555 7F800001 7FBFFFFF 7F800000 FF800000 00000000 80000000 00000001 807FFFFF 7F7FFFFF",
    f64: "7FF8000000000000 7FF8000000000001 FFF5555555555555 7FF0000000000001 7FF7FFFFFFFFFFFF 7FF0000000000000 "
    "FFF0000000000000 0000000000000000 8000000000000000 0000000000000001 800FFFFFFFFFFFFF 7FEFFFFFFFFFFFFF",
}


@PRINTERS
@pytest.mark.parametrize("element_type", FLOATS, ids=str)
def test_special_floats_survive(print_module: Callable[[ModuleOp], str], element_type: AnyFloat) -> None:
    values = [bytes.fromhex(digits)[::-1] for digits in FLOATS[element_type].split()]
    shapes = [((), [value]) for value in values]
    shapes += [((2,), [value, other]) for value in values for other in values]
    shapes += [((30,), [value] * 30) for value in values]
    for shape, elements in shapes:
        tensor_type = TensorType(element_type, shape)
        assert_survives(DenseIntOrFPElementsAttr(tensor_type, BytesAttr(b"".join(elements))), print_module)


@pytest.mark.parametrize("element_type", FLOATS, ids=str)
def test_hexadecimal_numbers_are_bits(element_type: AnyFloat) -> None:
    digits = FLOATS[element_type].split()
    expected = b"".join(bytes.fromhex(d)[::-1] for d in digits)
    listed = ", ".join(f"0x{d}" for d in digits)
    text = f"%0 = relex.constant dense<[{listed}]> : tensor<{len(digits)}x{element_type}>"
    assert dense_of(parse_module(text)).data.data == expected
    text = f"%0 = relex.constant dense<0x{digits[1]}> : tensor<3x{element_type}>"
    assert dense_of(parse_module(text)).data.data == bytes.fromhex(digits[1])[::-1] * 3


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("dense<[0x7FC00000]> : tensor<1xf32>", False),
        ("dense<0x7FC00000> : tensor<1xf32>", False),
        ("dense<[1.0, 0x10]> : tensor<2xbf16>", False),
        ('dense<"0x0000C07F"> : tensor<1xf32>', True),
        ("dense<[0x10, 2]> : tensor<2xi32>", True),
        ("dense<[[1.0], [2.0]]> : tensor<2x1xf32>", True),
        ("dense<> : tensor<0x4xf32>", True),
        ("dense<1.0> : tensor<10x10xf32>", True),
    ],
)
def test_the_parser_of_xdsl_is_not_trusted_with_bits(text: str, accepted: bool) -> None:
    parser = Parser(make_context(), f"%0 = relex.constant {text}")
    if accepted:
        parser.parse_module().verify()
        return
    with pytest.raises(ParseError, match="expected decimal floats or the bytes as a string"):
        parser.parse_module()


@PRINTERS
def test_megabytes_take_as_few_steps_as_kilobytes(print_module: Callable[[ModuleOp], str]) -> None:
    weights, few = (np.random.default_rng(0).standard_normal((rows, 784)).astype(np.float32) for rows in (128, 2))
    module, small = module_of(dense_from_array(weights)), module_of(dense_from_array(few))
    text = print_module(module)
    again = parse_module(text)
    # The second time in one process counts: text that names a resource loses it there.
    twice = parse_module(print_module(again))
    assert np.array_equal(array_from_dense(dense_of(again)), weights)
    assert np.array_equal(array_from_dense(dense_of(twice)), weights)
    steps = count_calls(lambda: parse_module(print_module(small)))
    assert count_calls(lambda: parse_module(print_module(module))) < steps + 200


@pytest.mark.parametrize("limit", [0, 3, 4])
def test_elided_constants(limit: int) -> None:
    def elided(array: npt.NDArray[Any], *, generic: bool) -> str:
        text = StringIO()
        printer = ElidingPrinter(stream=text, print_generic_format=generic, limit=limit)
        printer.print_op(ConstantOp(array))
        return text.getvalue()

    for generic in (False, True):
        assert ("__elided__" in elided(np.arange(4), generic=generic)) == (limit < 4)
        assert "__elided__" not in elided(np.zeros(100), generic=generic)


ARRAYS: dict[str, npt.NDArray[Any]] = {
    "big-endian": np.arange(6, dtype=">f4").reshape(2, 3),
    "big-endian int": np.arange(-3, 3, dtype=">i8"),
    "transposed": np.arange(6, dtype=np.float64).reshape(2, 3).T,
    "strided": np.arange(20, dtype=np.int32)[::3],
    "reversed": np.arange(5, dtype=np.int8)[::-1],
    "broadcast": np.broadcast_to(np.float32(1.5), (3, 2)),
    "scalar": np.array(2.5, dtype=np.float32),
    "NumPy scalar": np.float64(2.5),  # pyright: ignore[reportAssignmentType]
    "empty": np.zeros((0, 784), dtype=np.float32),
    "empty bool": np.zeros((3, 0), dtype=np.bool_),
    "bool": np.array([[True, False], [False, True]]),
    "half": np.array([1.5, -0.0, 65504, 6e-8, np.nan, np.inf], dtype=np.float16),
    "Fortran": np.asfortranarray(np.arange(12, dtype=np.int64).reshape(3, 4)),
    "read-only": np.frombuffer(b"\x01\x02\x03\x04", dtype=np.int8),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_arrays_become_constants(array: npt.NDArray[Any]) -> None:
    dense = dense_from_array(array)
    assert dense.get_shape() == array.shape
    again = array_from_dense(dense_of(parse_module(str(module_of(dense)))))
    assert again.shape == array.shape
    assert again.dtype == array.dtype.newbyteorder("=")
    assert np.array_equal(again, array, equal_nan=array.dtype.kind == "f")
    assert not again.flags.writeable


@pytest.mark.parametrize("dtype", ["complex64", "object", "U3", "M8[s]", "longdouble"])
def test_arrays_of_other_types_are_refused_by_name(dtype: str) -> None:
    array = np.zeros(2, dtype)
    with pytest.raises(RelexError, match=re.escape(array.dtype.name)) as error:
        dense_from_array(array)
    assert isinstance(error.value, TypeError)


def test_true_is_one() -> None:
    # xDSL makes 255 of it.
    parsed = dense_of(parse_module("%0 = relex.constant dense<[true, false]> : tensor<2xi1>"))
    built = DenseIntOrFPElementsAttr.from_list(TensorType(i1, [2]), [1, 0])
    assert parsed.data.data == b"\x01\x00"
    assert array_from_dense(parsed).astype(int).tolist() == [1, 0]
    assert array_from_dense(built).astype(int).tolist() == [1, 0]
    assert str(module_of(built)) == str(module_of(parsed))


@pytest.mark.parametrize("byte", [2, 254])
def test_bytes_that_are_no_booleans_are_refused(byte: int) -> None:
    with pytest.raises(CompileError, match="true and false"):
        parse_module(f'%0 = relex.constant dense<"0x00{byte:02X}"> : tensor<2xi1>')


def test_views_of_all_bytes_share_them() -> None:
    dense = dense_from_array(np.arange(12, dtype=np.float32).reshape(3, 4))
    array = array_from_dense(dense)
    assert dense_from_array(array.reshape(2, 6)).data.data is dense.data.data
    assert dense_from_array(array.view(np.int32)).data.data is dense.data.data
    for other in (array.T, array[::-1], array[1:], array.astype(">f4"), np.broadcast_to(array, (2, 3, 4))):
        assert dense_from_array(other).data.data == np.ascontiguousarray(other, np.float32).tobytes()
    big_endian = np.frombuffer(np.arange(3, dtype=">i4").tobytes(), ">i4")
    assert array_from_dense(dense_from_array(big_endian)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("last", [0, 1])
def test_looking_for_a_number_copies_no_constant(last: int) -> None:
    array = np.zeros(1 << 20, np.float32)
    array[-1] = last
    constant = ConstantOp(dense_from_array(array))
    tracemalloc.start()
    try:
        assert holds_only(constant.result, 0.0) is not bool(last)
        assert not holds_only(constant.result, 1.0)
        assert tracemalloc.get_traced_memory()[1] < array.nbytes // 8
    finally:
        tracemalloc.stop()


def test_any_byte_of_a_bool_but_0_is_true() -> None:
    assert dense_from_array(np.frombuffer(b"\x07\x00\x01", np.bool_)).data.data == b"\x01\x00\x01"


def test_arrays_from_constants_and_back() -> None:
    array = np.array([[1.5, -0.0, np.nan]], np.float32)
    constant = ConstantOp(array)
    found = array_of(constant.result)
    assert found is not None
    assert found.tobytes() == array.tobytes()
    assert shape_of(constant.result) == found.shape == (1, 3)
    assert rank_of(constant.result) == 2
    assert ConstantOp(found).value == constant.value
    assert array_of(NegativeOp(constant).result) is None
    index = create_ssa_value(IndexType())
    assert array_of(index) is None
    with pytest.raises(InferenceError, match="expected a ranked tensor, found index"):
        shape_of(index)
