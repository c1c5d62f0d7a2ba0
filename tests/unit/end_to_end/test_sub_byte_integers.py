"""Integers of 2 and 4 bits, one in each byte: stored, moved and converted, at every level and natively."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from programs import LEVELS, Array, compiled, interpreted
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import parse_module
from relex.dialects.dtypes import array_from_dense, dense_from_array
from relex.dialects.element_types import ELEMENTS
from relex.dialects.errors import CompileError
from relex.dialects.relex import ConstantOp
from relex.lowering import RelexPipelinePass
from relex.passes.graph.fold_constants import FoldConstantsPass
from relex.reference import check_equivalent
from relex.runtime import build, load

pytest.importorskip("ml_dtypes")

NAMES = ("i2", "i4", "ui2", "ui4")
OTHERS = ("i1", "i8", "ui8", "i64", "ui64", "f16", "bf16", "f32", "f64", "i4", "ui4")
FEW_OTHERS = ("i1", "ui8", "f32", "i4", "ui4")
FLOATS = [-1e20, -100.7, -9, -8.5, -2.5, -1, -0.5, 0, 0.99, 1.5, 3, 3.5, 7.9, 8, 15.5, 16, 100, 1e20, np.nan, np.inf]


def conversion(old: str, new: str) -> str:
    return f"""
    func.func @{old}_to_{new}(%x: tensor<?x{old}>) -> tensor<?x{new}> {{
      %y = relex.astype %x dtype = {new} : (tensor<?x{old}>) -> tensor<?x{new}>
      func.return %y : tensor<?x{new}>
    }}"""


def numbers(name: str) -> Array:
    """All bytes for small types, also those with other bits set; numbers in and out of range for others."""
    element = ELEMENTS[name]
    if element.is_bool:
        return np.array([False, True])
    if element.size == 1:
        return np.arange(256, dtype=np.uint8).view(element.numpy)
    if element.is_float:
        with np.errstate(over="ignore"):
            return np.array(FLOATS).astype(element.numpy)
    return np.arange(-300, 300).astype(element.numpy)


def wrapped(x: Array, name: str) -> list[float]:
    """The meaning of a conversion to a small type, number by number."""
    element = ELEMENTS[name]
    low, high = (0, element.mask) if element.unsigned else (-(1 << element.digits), (1 << element.digits) - 1)
    result: list[float] = []
    for number in x.tolist():
        if x.dtype.kind in "fV" and number != number:
            result.append(0)
        elif x.dtype.kind == "f" or x.dtype.name == "bfloat16":
            result.append(int(min(max(number, low), high)))
        else:
            result.append(low + (int(number) - low) % (element.mask + 1))
    return result


@pytest.mark.parametrize("name", NAMES)
def test_conversions(name: str) -> None:
    # The number of bits is a parameter of what converts them.
    others = OTHERS if ELEMENTS[name].digits > 2 else FEW_OTHERS
    pairs = dict.fromkeys(pair for other in others for pair in ((name, other), (other, name)))
    text = "\n".join(conversion(*pair) for pair in pairs)
    functions, *at_levels = compiled(text), *(interpreted(text, level) for level in LEVELS)
    for old, new in pairs:
        x, main = numbers(old), f"{old}_to_{new}"
        found = functions[main](x)
        assert found.dtype == ELEMENTS[new].numpy
        if ELEMENTS[new].is_sub_byte:
            assert found.tolist() == wrapped(x, new)
            if old != new:
                assert found.view(np.uint8).max() <= ELEMENTS[new].mask
        elif new != "i1":
            with np.errstate(invalid="ignore"):
                np.testing.assert_array_equal(found, x.astype(np.int8).astype(ELEMENTS[new].numpy))
        for level in at_levels:
            np.testing.assert_array_equal(level[main](x).view(np.uint8), found.view(np.uint8))


MOVED = """
func.func @main(%x: tensor<2x3x{t}>, %c: tensor<2x4xi1>) -> (tensor<4x2x{t}>, tensor<3x{t}>) {{
  %k = relex.constant dense<[[{low}], [{high}]]> : tensor<2x1x{t}>
  %0 = relex.concat %x, %k axis = 1 : (tensor<2x3x{t}>, tensor<2x1x{t}>) -> tensor<2x4x{t}>
  %1 = relex.where %c, %0, %k : (tensor<2x4xi1>, tensor<2x4x{t}>, tensor<2x1x{t}>) -> tensor<2x4x{t}>
  %2 = relex.permute_dims %1 axes = [1, 0] : (tensor<2x4x{t}>) -> tensor<4x2x{t}>
  %i = relex.constant dense<[1, 0, 1]> : tensor<3xi64>
  %3 = relex.reshape %k shape = [2] : (tensor<2x1x{t}>) -> tensor<2x{t}>
  %4 = relex.take %3, %i axis = 0 : (tensor<2x{t}>, tensor<3xi64>) -> tensor<3x{t}>
  func.return %2, %4 : tensor<4x2x{t}>, tensor<3x{t}>
}}"""


def moved(name: str) -> tuple[str, list[Array], list[Array]]:
    """A program that moves numbers, with arguments and results."""
    dtype, mask = ELEMENTS[name].numpy, ELEMENTS[name].mask
    low, high = (0, mask) if ELEMENTS[name].unsigned else (-(mask + 1) // 2, mask // 2)
    x = np.array([[0, 1, high], [low, high, 1]]).astype(dtype)
    c = np.array([[True, False, True, True], [True, True, False, True]])
    k = np.array([[low], [high]]).astype(dtype)
    wanted = np.where(c, np.concatenate([x, k], axis=1), k).T
    return MOVED.format(t=name, low=low, high=high), [x, c], [wanted, k[:, 0][[1, 0, 1]]]


@pytest.mark.parametrize("name", NAMES)
def test_elements_are_moved(name: str, tmp_path: Path) -> None:
    text, arguments, wanted = moved(name)
    executable = build(text)
    executable.save(tmp_path / "program.relex")
    for main in (executable["main"], load(tmp_path / "program.relex")["main"]):
        for found, right in zip(main(*arguments), wanted, strict=True):
            assert (found.dtype, found.tolist()) == (right.dtype, right.tolist())
            assert found.tobytes() == right.tobytes()
    for level in LEVELS:
        for found, right in zip(interpreted(text, level)["main"](*arguments), wanted, strict=True):
            np.testing.assert_array_equal(found.view(np.uint8), right.view(np.uint8))


@pytest.mark.parametrize("name", NAMES)
def test_lowerings_preserve_it(name: str) -> None:
    before = parse_module(moved(name)[0])
    check_equivalent(before, RelexPipelinePass("core")(before.clone()))


@pytest.mark.parametrize("count", [1, 3, 40])
@pytest.mark.parametrize("name", NAMES)
def test_constants(name: str, count: int) -> None:
    dtype = ELEMENTS[name].numpy
    array = np.arange(count).astype(dtype)
    op = ConstantOp(array)
    assert op.value.get_values() == tuple(array.tolist())
    again = parse_module(str(ModuleOp([op])))
    (found,) = [inner.value for inner in again.walk() if isinstance(inner, ConstantOp)]
    assert found == op.value == dense_from_array(array_from_dense(found))
    assert array_from_dense(found).tobytes() == array.tobytes()


def test_a_constant_out_of_range_is_refused() -> None:
    with pytest.raises(CompileError, match=r"value 16 is out of range for type ui4"):
        parse_module("func.func @main() { %0 = relex.constant dense<16> : tensor<2xui4>\n func.return }")


def test_numbers_are_stored_in_the_low_bits() -> None:
    assert [ELEMENTS["i4"].bytes_of(n) for n in (-8, -1, 7)] == [b"\x08", b"\x0f", b"\x07"]
    for name, number in (("i4", 8), ("i4", -9), ("ui4", -1), ("ui4", 16), ("i2", 2)):
        with pytest.raises(OverflowError, match="expected a number of"):
            ELEMENTS[name].bytes_of(number)


def test_conversions_of_constants_are_folded() -> None:
    text = """
    func.func @main() -> tensor<3xf32> {
      %0 = relex.constant dense<[-8, -1, 7]> : tensor<3xi4>
      %1 = relex.astype %0 dtype = ui4 : (tensor<3xi4>) -> tensor<3xui4>
      %2 = relex.astype %1 dtype = f32 : (tensor<3xui4>) -> tensor<3xf32>
      func.return %2 : tensor<3xf32>
    }"""
    folded = FoldConstantsPass()(parse_module(text))
    assert "dense<[8.0, 15.0, 7.0]>" in str(folded)
    assert "astype" not in str(folded)
    assert build(text)["main"]().tolist() == [8, 15, 7]


def test_operators_do_not_compute_with_them() -> None:
    text = """
    func.func @main(%x: tensor<3xui4>) -> tensor<3xui4> {
      %0 = relex.add %x, %x : (tensor<3xui4>, tensor<3xui4>) -> tensor<3xui4>
      func.return %0 : tensor<3xui4>
    }"""
    with pytest.raises(CompileError, match=r"'relex\.add' op expected operands of a type to compute with, found ui4"):
        parse_module(text)
