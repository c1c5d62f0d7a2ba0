"""Every graph operator: as text, and computed at every level."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from io import StringIO

import numpy as np
import pytest
from operator_cases import CASES, NARROW
from operator_checks import Groups, all_expected, all_of
from programs import Array, MakeOperator, operator_of, operator_program
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from relex.dialects import parse_module
from relex.dialects.dtypes import element_type_of, is_float_dtype, record_of
from relex.dialects.relex import Operator, Relex
from relex.lowering.legalizations import LEGALIZATIONS
from relex.lowering.relex_pipeline import Level, RelexPipelinePass

needs_mlir_opt = pytest.mark.skipif(shutil.which("mlir-opt-22") is None, reason="needs mlir-opt-22")


def generic_text(module: ModuleOp) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    return stream.getvalue()


ALL = [*CASES, *NARROW]
GROUPS = Groups(ALL)
NAMES = [operator_of(make).name for make, _ in ALL]


def test_no_operator_is_forgotten() -> None:
    operators = {op for op in Relex.operations if issubclass(op, Operator)}
    cases = {make.func if isinstance(make, partial) else make for make, _ in CASES}
    assert operators == cases
    assert all(any(kind in LEGALIZATIONS for kind in op.__mro__) for op in operators)


@pytest.mark.parametrize(("make", "operands"), CASES, ids=NAMES[: len(CASES)])
def test_text_says_everything(make: MakeOperator, operands: list[Array]) -> None:
    module = parse_module(operator_program(make, operands))
    again = parse_module(str(module))
    assert module.is_structurally_equivalent(again)
    generic = parse_module(generic_text(module))
    assert module.is_structurally_equivalent(generic)


def wide(array: Array) -> Array:
    """The same numbers as f64, if they are floats: NumPy cannot compare floats of an extension."""
    return array.astype(np.float64) if is_float_dtype(array.dtype) else array


RUNS: tuple[tuple[Level, bool], ...] = (("graph", False), ("loops", False), ("loops", True), ("core", True))
"""Levels, and whether runs are checked: that makes a difference for loops, which then never take whole arrays."""


@pytest.mark.parametrize("number", range(len(ALL)), ids=NAMES)
def test_all_levels_agree(number: int, group: tuple[int, ...]) -> None:
    (make, operands), place = ALL[number], GROUPS.place_of(number, group)
    wanted = all_expected(make, *operands)
    native = all_of(place.native(*operands, strict=True))
    assert_all_close(native, wanted, wanted)
    for level, checked in RUNS:
        found = place.interpreted(level, *operands, strict=True, checked=checked)
        assert_all_close(all_of(found), wanted, native)


def assert_all_close(found: Sequence[Array], wanted: Sequence[Array], alike: Sequence[Array]) -> None:
    for one, other, typed in zip(found, wanted, alike, strict=True):
        element = record_of(element_type_of(typed.dtype))
        scale = 16 * 2.0**-element.fraction_bits if element.is_float else 0
        assert (one.dtype, one.shape) == (typed.dtype, typed.shape)
        np.testing.assert_allclose(wide(one), wide(other), rtol=scale, atol=scale)


@needs_mlir_opt
def test_mlir_takes_what_they_become(some: Callable[..., list[tuple[MakeOperator, list[Array]]]]) -> None:
    programs = (parse_module(operator_program(*case)) for case in some([*CASES, *NARROW], 6))
    text = "\n// -----\n".join(str(RelexPipelinePass("core")(program)) for program in programs)
    subprocess.run(["mlir-opt-22", "--split-input-file"], input=text, capture_output=True, text=True, check=True)
