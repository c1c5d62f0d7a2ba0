"""Quotients, remainders, shifts and signs of integers without negative numbers, at both ends of their range."""

from __future__ import annotations

import numpy as np
import pytest

from relex.reference import interpret
from relex.runtime import build

PROGRAM = """
func.func @main(%x: tensor<36xTYPE>, %y: tensor<36xTYPE>) -> (RESULTS) {
  %0 = relex.floor_divide %x, %y : (tensor<36xTYPE>, tensor<36xTYPE>) -> tensor<36xTYPE>
  %1 = relex.trunc_divide %x, %y : (tensor<36xTYPE>, tensor<36xTYPE>) -> tensor<36xTYPE>
  %2 = relex.floor_mod %x, %y : (tensor<36xTYPE>, tensor<36xTYPE>) -> tensor<36xTYPE>
  %3 = relex.mod %x, %y : (tensor<36xTYPE>, tensor<36xTYPE>) -> tensor<36xTYPE>
  %4 = relex.right_shift %x, %y : (tensor<36xTYPE>, tensor<36xTYPE>) -> tensor<36xTYPE>
  %5 = relex.left_shift %x, %y : (tensor<36xTYPE>, tensor<36xTYPE>) -> tensor<36xTYPE>
  %6 = relex.sign %x : (tensor<36xTYPE>) -> tensor<36xTYPE>
  %7 = relex.bitwise_not %x : (tensor<36xTYPE>) -> tensor<36xTYPE>
  %8 = relex.abs %x : (tensor<36xTYPE>) -> tensor<36xTYPE>
  func.return %0, %1, %2, %3, %4, %5, %6, %7, %8 : RESULTS
}
"""


@pytest.mark.parametrize("bits", [8, 64])
def test_unsigned(bits: int) -> None:
    dtype = np.dtype(f"uint{bits}")
    top = (1 << bits) - 1
    numbers = [0, 1, 3, bits - 1, 1 << bits - 1, top]
    pairs = [(x, y) for x in numbers for y in numbers]
    x, y = (np.array(column, dtype) for column in zip(*pairs, strict=True))
    expected = [
        [a // b if b else 0 for a, b in pairs],
        [a // b if b else 0 for a, b in pairs],
        [a % b if b else 0 for a, b in pairs],
        [a % b if b else 0 for a, b in pairs],
        [a >> b if b < bits else 0 for a, b in pairs],
        [a << b & top if b < bits else 0 for a, b in pairs],
        [min(a, 1) for a, _ in pairs],
        [top - a for a, _ in pairs],
        [a for a, _ in pairs],
    ]
    program = PROGRAM.replace("RESULTS", ", ".join(["tensor<36xTYPE>"] * len(expected))).replace("TYPE", f"ui{bits}")
    for functions in (interpret(program), build(program)):
        for found, wanted in zip(functions["main"](x, y), expected, strict=True):
            assert found.dtype == dtype
            assert found.tolist() == wanted
