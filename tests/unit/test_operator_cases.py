"""Every graph operator: as text, and computed at every level."""

from __future__ import annotations

import shutil
import subprocess
from functools import partial
from io import StringIO

import numpy as np
import pytest
from operator_cases import CASES
from operator_checks import expected
from programs import LEVELS, Array, MakeOperator, interpreted, operator_program
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from relex.dialects import parse_module
from relex.dialects.relex import Operator, Relex
from relex.lowering import RelexPipelinePass
from relex.lowering.legalizations import LEGALIZATIONS
from relex.runtime import build

needs_mlir_opt = pytest.mark.skipif(shutil.which("mlir-opt-22") is None, reason="needs mlir-opt-22")


def generic_text(module: ModuleOp) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    return stream.getvalue()


def operator_name(text: str) -> str:
    """`relex.add` of a program that applies it."""
    return text.split(" = ", 1)[1].split()[0]


PROGRAMS = [
    pytest.param(make, operands, id=operator_name(operator_program(make, operands))) for make, operands in CASES
]


def test_no_operator_is_forgotten() -> None:
    operators = {op for op in Relex.operations if issubclass(op, Operator)}
    cases = {make.func if isinstance(make, partial) else make for make, _ in CASES}
    assert operators == cases
    assert all(any(kind in LEGALIZATIONS for kind in op.__mro__) for op in operators)


@pytest.mark.parametrize(("make", "operands"), PROGRAMS)
def test_text_says_everything(make: MakeOperator, operands: list[Array]) -> None:
    module = parse_module(operator_program(make, operands))
    again = parse_module(str(module))
    assert module.is_structurally_equivalent(again)
    generic = parse_module(generic_text(module))
    assert module.is_structurally_equivalent(generic)


@pytest.mark.parametrize(("make", "operands"), PROGRAMS)
def test_all_levels_agree(make: MakeOperator, operands: list[Array]) -> None:
    text = operator_program(make, operands)
    native = build(text, strict=True)["main"](*operands)
    wanted = expected(make, *operands)
    scale = np.finfo(native.dtype).eps * 16 if native.dtype.kind == "f" else 0
    np.testing.assert_allclose(native, wanted, rtol=scale, atol=scale)
    for level in LEVELS:
        for checked in (False, True):
            found = interpreted(text, level, checked=checked)["main"](*operands)
            assert (found.dtype, found.shape) == (native.dtype, native.shape)
            np.testing.assert_allclose(found, wanted, rtol=scale, atol=scale)


@needs_mlir_opt
def test_mlir_takes_what_they_become() -> None:
    for make, operands in CASES:
        text = str(RelexPipelinePass("core")(parse_module(operator_program(make, operands))))
        subprocess.run(["mlir-opt-22"], input=text, capture_output=True, text=True, check=True)
