"""Entries that are called with a frame."""

from __future__ import annotations

import ctypes
import re

import pytest

from relex.dialects import parse_module
from relex.dialects.errors import PassError
from relex.dialects.upstream.verifier import verify_module
from relex.lowering.llvm.object_code import compile_module
from relex.lowering.llvm.packed_entries import add_packed_entries
from relex.runtime.loader import load

ONE = """
llvm.func @f(%x: i64, %y: f32) -> f32 {
  llvm.return %y : f32
}
"""


def test_the_example_in_the_docstring() -> None:
    module = parse_module(ONE)
    add_packed_entries(module, ["f"])
    verify_module(module)
    expected = re.search(r"^ *llvm.func @_relex_packed_f.*?^ *}$", add_packed_entries.__doc__ or "", re.M | re.S)
    assert expected is not None
    lines = [line.strip() for line in expected[0].splitlines()]
    assert lines == [line.strip() for line in str(list(module.ops)[1]).splitlines()]


def test_arguments_and_results_have_a_word_each() -> None:
    module = parse_module("""
      llvm.func @f(%x: i64, %y: i8, %z: f64) -> !llvm.struct<(f64, i8, i64)> {
        %0 = llvm.mlir.undef : !llvm.struct<(f64, i8, i64)>
        %1 = llvm.insertvalue %z, %0[0] : !llvm.struct<(f64, i8, i64)>
        %2 = llvm.insertvalue %y, %1[1] : !llvm.struct<(f64, i8, i64)>
        %3 = llvm.insertvalue %x, %2[2] : !llvm.struct<(f64, i8, i64)>
        llvm.return %3 : !llvm.struct<(f64, i8, i64)>
      }
    """)
    add_packed_entries(module, ["f"])
    code = load(compile_module(module))
    frame = (ctypes.c_int64 * 6)(-5, 7, 0)
    ctypes.c_double.from_buffer(frame, 16).value = 1.5
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address("_relex_packed_f"))(frame)
    assert list(frame[:2]) == [-5, 7]
    assert ctypes.c_double.from_buffer(frame, 24).value == 1.5
    assert frame[4] & 255 == 7
    assert frame[5] == -5


def test_functions_that_do_not_exist() -> None:
    with pytest.raises(PassError, match="expected a function of the LLVM dialect named 'g', found none"):
        add_packed_entries(parse_module(ONE), ["g"])
