"""Scripts with numbers as parameters, arguments and results of graph functions."""

from __future__ import annotations

import numpy as np
import pytest

from relex.dialects import CompileError, parse_module
from relex.dialects.errors import PassError
from relex.dialects.exceptions import AssertionFailedError, ShapeError
from relex.frontend.script import parse_script, print_script
from relex.runtime import build

ONES = np.ones(3, np.float32)

NUMBERS = """
@I.ir_module
class Module:
    @R.function(private=True)
    def scale(x: R.Tensor(("n",), "float32"), k: R.Prim("int64"), f: R.Prim("float32")) -> R.Tensor(("n",), "float32"):
        return R.multiply(R.add(x, R.astype(k, dtype="float32")), f)

    @R.function
    def main(x: R.Tensor(("n",), "float32"), k: R.Prim("int64"), f: R.Prim("float32"), b: R.Prim("bool")) -> R.Tuple(
        R.Tensor(("n",), "float32"), R.Prim("int64"), R.Prim("int64"), R.Prim("float64"), R.Prim("int8")
    ):
        n = T.int64()
        cls = Module
        y = cls.scale(x, R.prim_value(n * T.int64(2)), f)
        if b:
            y = R.negative(y)
        else:
            y = R.reshape(y, R.shape([T.int64(1) * n]))
        return y, k, R.prim_value(5), R.prim_value(0.5), R.prim_value(T.int8(-1))
"""


def test_numbers_come_back() -> None:
    module = parse_script(NUMBERS)
    for program in (module, parse_script(print_script(module))):
        main = build(program)["main"]
        for b, sign in ((True, -1), (False, 1)):
            y, *numbers = main(ONES, 7, 2.0, b)
            assert y.tolist() == [sign * 14] * 3
            assert numbers == [7, 5, 0.5, -1]


def test_results_have_the_types_that_are_stated() -> None:
    with pytest.raises(CompileError, match=r"expected R.Prim\(.int8.\), as declared, found i64"):
        parse_script(
            """
@R.function
def main(k: R.Prim("int64")) -> R.Prim("int8"):
    return k
"""
        )


SIZES = """
@R.function
def main(x: R.Tensor(("m",), "float32"), p: R.Prim(value="n"), q: R.Prim(value="m")):
    n = T.int64()
    m = T.int64()
    return R.reshape(R.broadcast_to(x, R.shape([n, m])), R.shape([n * m]))
"""


def test_a_number_is_a_size() -> None:
    module = parse_script(SIZES)
    for program in (module, parse_script(print_script(module))):
        main = build(program)["main"]
        assert main(ONES, 2, 3).tolist() == [1] * 6
        with pytest.raises(ShapeError, match=r"expected .* == m, found 4"):
            main(ONES, 2, 4)
        with pytest.raises(AssertionFailedError, match="expected a size from 0 to"):
            main(ONES, -2, 3)


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("R.Prim()", "expected a dtype or a value for a number"),
        ('R.Prim("int64", value="n")', "expected a dtype or a value for a number"),
        ("R.Prim(value=3)", "expected the name of a size, found '3'"),
        ('R.Prim(value="n + 1")', "expected the name of a size"),
        ('R.Prim("int65")', "expected a dtype among"),
    ],
)
def test_wrong_declarations(declared: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        parse_script(f"@R.function\ndef main(k: {declared}):\n    return k\n")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("R.prim_value(T.int8(200))", "expected a number of int8, found 200"),
        ("R.prim_value(2 ** 80)", "expected a number of int64"),
        ("R.prim_value(x)", "expected a scalar, found 'x'"),
        ("R.prim_value()", "expected an argument 'value'"),
    ],
)
def test_wrong_numbers(value: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        parse_script(f'@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    return {value}\n')


def test_an_element_is_no_number_of_a_script() -> None:
    module = parse_module("""
    func.func @main(%x: tensor<i64>) -> i64 {
      %0 = tensor.extract %x[] : tensor<i64>
      func.return %0 : i64
    }
    """)
    with pytest.raises(PassError, match="cannot be written in TVMScript"):
        print_script(module)
