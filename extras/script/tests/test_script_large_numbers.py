"""Numbers of scripts that are computed when a script is read: none takes long, or much memory."""

from __future__ import annotations

import pytest

from relex.dialects.errors import CompileError
from relex.frontend.script import parse_script

FUNCTION = """
from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
"""


@pytest.mark.parametrize("text", ["9**9**9", "1 << 9**9", "(2**120)**2 // 2**200"])
def test_large_numbers_are_refused(text: str):
    with pytest.raises(CompileError, match="bits"):
        parse_script(f"{FUNCTION}    A[0] = T.float32(({text}) % 7)\n")
    with pytest.raises(CompileError, match=r"1:.*bits"):
        parse_script(f"c = {text}{FUNCTION}    A[0] = T.float32(c % 7)\n")


def test_squares_of_squares_are_refused():
    """Each line takes twice as long as the one before."""
    lines = "".join(f"    x{i + 1} = x{i} * x{i}\n" for i in range(50))
    with pytest.raises(CompileError, match="an integer of at most 128 bits, found one of 203"):
        parse_script(f"{FUNCTION}    x0 = 3\n{lines}    A[0] = T.float32(x50 % 7)\n")


@pytest.mark.parametrize("text", ["1 // 0", "(-8) ** 0.5"])
def test_constants_of_the_file_that_are_no_numbers(text: str):
    with pytest.raises(CompileError, match="expected a number, found"):
        parse_script(f"c = {text}{FUNCTION}    A[0] = T.float32(c)\n")
