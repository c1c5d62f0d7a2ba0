"""Entries that are called with a frame."""

from __future__ import annotations

import ctypes
import inspect
import re

import pytest

from relex.dialects import parse_module
from relex.dialects.target.machine import PACKED_PREFIX
from relex.lowering.llvm.add_packed_entries import AddPackedEntriesPass
from relex.lowering.llvm.descriptor import ALIGNED as DESCRIPTOR_ALIGNED
from relex.lowering.llvm.descriptor import positions, size_at
from relex.lowering.llvm.object_code import compile_module
from relex.runtime.descriptors import ALIGNED, SIZES, descriptor
from relex.runtime.loader import load


def test_the_example_in_the_docstring() -> None:
    (example,) = re.findall(r"```mlir\n(.*?)```", inspect.getdoc(AddPackedEntriesPass) or "", re.DOTALL)
    before, after = map(parse_module, example.split("// add-packed-entries\n"))
    assert str(AddPackedEntriesPass()(before)) == str(after)


@pytest.mark.parametrize("rank", range(4))
def test_the_runtime_and_the_compiler_agree_on_descriptors(rank: int) -> None:
    words, fields = descriptor([2] * rank), positions(rank)
    assert len(words) == len(fields)
    assert fields.index(DESCRIPTOR_ALIGNED) == ALIGNED
    assert [fields.index(size_at(i)) for i in range(rank)] == list(range(SIZES, SIZES + rank))


def test_arguments_and_results_have_a_word_each() -> None:
    scalar = '{{name = "{0}", shape = [], element_type = "{1}", is_scalar = true}}'
    inputs = ", ".join(scalar.format(*of_one) for of_one in (("x", "i64"), ("y", "i8"), ("z", "f64")))
    outputs = ", ".join(scalar.format(*of_one) for of_one in (("a", "f64"), ("b", "i8"), ("c", "i64")))
    module = parse_module(f"""
      llvm.func @f(%x: i64, %y: i8, %z: f64) -> !llvm.struct<(f64, i8, i64)>
          attributes {{relex.signature = {{inputs = [{inputs}], outputs = [{outputs}]}},
                       relex.seal = "43008d5026aad5d3"}} {{
        %0 = llvm.mlir.undef : !llvm.struct<(f64, i8, i64)>
        %1 = llvm.insertvalue %z, %0[0] : !llvm.struct<(f64, i8, i64)>
        %2 = llvm.insertvalue %y, %1[1] : !llvm.struct<(f64, i8, i64)>
        %3 = llvm.insertvalue %x, %2[2] : !llvm.struct<(f64, i8, i64)>
        llvm.return %3 : !llvm.struct<(f64, i8, i64)>
      }}
    """)
    code = load(compile_module(AddPackedEntriesPass()(module)))
    frame = (ctypes.c_int64 * 6)(-5, 7, 0)
    ctypes.c_double.from_buffer(frame, 16).value = 1.5
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address(f"{PACKED_PREFIX}f"))(frame)
    assert list(frame[:2]) == [-5, 7]
    assert ctypes.c_double.from_buffer(frame, 24).value == 1.5
    assert frame[4] & 255 == 7
    assert frame[5] == -5
