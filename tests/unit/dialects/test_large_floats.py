"""Numbers that are too large for their float type: infinity where programs compute them, else an error."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import numpy as np
import pytest
from programs import Array
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, bf16, f16, f32, f64
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Operation
from xdsl.transforms.canonicalize import CanonicalizePass

from relex.dialects import CompileError, parse_module
from relex.dialects.dtypes import numpy_dtype
from relex.dialects.errors import InferenceError
from relex.dialects.relex.properties import scalar
from relex.lowering.te.scalars import build_constant
from relex.passes import run_pass

EDGES: dict[Attribute, list[float]] = {
    f16: [0.0, 1.5, 6e-8, 2.0**-8, 65504, np.inf, np.nan],
    f32: [0.0, 1.5, 1e-45, 1e-38, 3.4028234663852886e38, np.inf, np.nan],
    f64: [0.0, 1.5, 5e-324, 1e-308, 1.7976931348623157e308, np.inf, np.nan],
}
"""Numbers of which sums, differences, products and quotients are too large, too small, or none."""
ARITHMETIC: dict[str, Callable[[Array, Array], Array]] = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
}


def canonicalized(text: str) -> list[Operation]:
    """The ops that are left of a function."""
    module = run_pass(CanonicalizePass(), parse_module(f"func.func @main(%x: f32) {{\n{text}\nfunc.return\n}}"))
    (function,) = module.ops
    return [op for op in function.regions[0].block.ops if not isinstance(op, ReturnOp)]


def number_of(op: Operation) -> float:
    assert isinstance(op, arith.ConstantOp), op
    assert isinstance(op.value, FloatAttr)
    return op.value.value.data


@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.parametrize("element_type", EDGES, ids=str)
def test_arithmetic_on_constants_is_that_of_ieee(element_type: Attribute, name: str) -> None:
    kind = numpy_dtype(element_type)
    numbers = [sign * x for x in EDGES[element_type] for sign in (1, -1)]
    a, b = np.array(list(itertools.product(numbers, repeat=2)), kind).T
    text = [
        f"%{i} = arith.constant 0x{x:X} : {element_type}"
        for i, x in enumerate(np.array(numbers, kind).view(f"u{kind.itemsize}"))
    ]
    for i, j in itertools.product(range(len(numbers)), repeat=2):
        text.append(f"%c{i}_{j} = arith.{name} %{i}, %{j} : {element_type}")
        text.append(f'"test.op"(%c{i}_{j}) : ({element_type}) -> ()')
    with np.errstate(all="ignore"):
        expected = ARITHMETIC[name](a, b)
    used = [op.operands[0].owner for op in canonicalized("\n".join(text)) if op.name == "test.op"]
    found = np.array([number_of(op) for op in used if isinstance(op, Operation)])
    np.testing.assert_array_equal(found, expected)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize(
    ("number", "infinity"), [("6.0e4 : f16", np.inf), ("-3.0e38 : f32", -np.inf), ("3.0e38 : bf16", np.inf)]
)
def test_constants_that_are_joined_may_be_infinite(number: str, infinity: float) -> None:
    """Two sums with `reassoc` become one, of the sum of their constants."""
    kind = number.rpartition(" ")[2]
    _, constant, add, _ = canonicalized(
        f"%y = builtin.unrealized_conversion_cast %x : f32 to {kind}\n%c = arith.constant {number}\n"
        f"%0 = arith.addf %y, %c fastmath<reassoc> : {kind}\n%1 = arith.addf %0, %c fastmath<reassoc> : {kind}\n"
        f'"test.op"(%1) : ({kind}) -> ()'
    )
    assert number_of(constant) == infinity
    assert isinstance(add, arith.AddfOp)


TOO_LARGE = {
    "1.0e39 : f32": "number of type f32, found 1.0e39; infinity is written by its bits, 0x7F800000",
    "-65520.0 : f16": "number of type f16, found -65520.0; infinity is written by its bits, 0xFC00",
    "3.4e38 : bf16": "number of type bf16, found 3.4e38; infinity is written by its bits, 0x7F80",
    "1.0e400 : f64": "number of type f64, found 1.0e400; infinity is written by its bits, 0x7FF0000000000000",
    "480.0 : f8E4M3FN": "number of type f8E4M3FN, found 480.0",
}


@pytest.mark.parametrize("form", ["{}", "dense<{}>", "dense<[1.0, {}]>"])
@pytest.mark.parametrize("number", TOO_LARGE)
def test_numbers_that_are_too_large_for_their_type(number: str, form: str) -> None:
    """MLIR reads infinity, or NaN."""
    literal, element_type = number.split(" : ")
    prefix = form.partition("{")[0]
    shape = element_type if form == "{}" else f"tensor<2x{element_type}>"
    column = len("%0 = arith.constant ") + len(prefix) + 1
    with pytest.raises(
        CompileError, match=rf"^<string>:1:{column}: error: expected a {re.escape(TOO_LARGE[number])}\n"
    ):
        parse_module(f"%0 = arith.constant {form.format(literal)} : {shape}")


@pytest.mark.parametrize(
    "number",
    ["3.4e38 : f32", "65519.9 : f16", "3.39e38 : bf16", "448.0 : f8E4M3FN", "0xFF800000 : f32", "0x7C00 : f16"],
)
def test_the_largest_numbers_of_types(number: str) -> None:
    parse_module(f"%0 = arith.constant {number}")


@pytest.mark.parametrize(
    ("number", "element_type"), [(1e39, f32), (-1e39, f32), (65520.0, f16), (-3.4e38, bf16), (10**400, f64)]
)
def test_numbers_of_python(number: float, element_type: Attribute) -> None:
    with pytest.raises(OverflowError):
        build_constant(number, element_type)
    with pytest.raises(InferenceError, match=f"expected a number of type {element_type}, found"):
        scalar(number, element_type)
    for infinity in (np.inf, -np.inf):
        assert number_of(build_constant(infinity, element_type)) == infinity
