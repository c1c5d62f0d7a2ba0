"""Wrong calls of the functions around executables: errors of relex that say what is expected, and what was found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from xdsl.dialects.builtin import StringAttr, TensorType, f32
from xdsl.utils.test_value import create_ssa_value

from relex.dialects.errors import RelexError
from relex.dialects.relex import AstypeOp, ClipOp, ReshapeOp, SoftmaxOp, SumOp
from relex.runtime import CompileCache, VirtualMachine, build, c_function, cpu, set_threads
from relex.tools import show

PROGRAM = "func.func @f() { return }"

make_cache: Any = CompileCache
make_machine: Any = VirtualMachine
any_function: Any = c_function
any_program: Any = build
any_number: Any = set_threads
show_any: Any = show


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: any_program(PROGRAM, cache=3), "^expected the path of a folder, found int$"),
        (lambda: make_cache(None), "^expected the path of a folder, found None$"),
        (lambda: any_function(None, "f"), "^expected the path of a library, found None$"),
        (lambda: any_function("libm.so.6", None), "^expected the name of a function, found None$"),
        (lambda: make_machine(None, cpu()), "^expected an executable, found None$"),
        (lambda: make_machine(PROGRAM), "^expected an executable, found str$"),
        (lambda: make_machine(build(PROGRAM), "cpu"), "^expected a device, as 'cpu' gives it, found str$"),
        (lambda: any_number(True), "^expected threads of 1 to 256, found True$"),
        (lambda: build(PROGRAM).save(""), "cannot be written: .* empty name"),
        (lambda: show_any(None), "^expected a module or a part of it, found None$"),
        (lambda: show_any(PROGRAM), "^expected a module or a part of it, found str$"),
    ],
)
def test_wrong_calls(call: Callable[[], object], message: str) -> None:
    with pytest.raises(RelexError, match=message):
        call()


@pytest.mark.parametrize(
    ("operator", "properties", "message"),
    [
        (SoftmaxOp, {"axis": "rows"}, "expected axis to be an integer, found str"),
        (SoftmaxOp, {"axis": StringAttr("rows")}, 'expected axis to be an integer, found "rows"'),
        (SoftmaxOp, {"axis": 1 << 63}, "expected an integer of 64 bits, found 9223372036854775808"),
        (SumOp, {"axis": [0, 1.5]}, "expected axis to be a list of integers, found list of int and float"),
        (SumOp, {"keepdims": "yes"}, "expected keepdims to be True or False, found str"),
        (ReshapeOp, {"shape": 3}, "expected shape to be a list of integers, found int"),
        (ClipOp, {"min": "0"}, "expected min to be a number, found str"),
        (AstypeOp, {"dtype": "f32"}, "expected dtype to be one of f16, bf16, f32, .*, found str"),
        (AstypeOp, {"dtype": TensorType(f32, ())}, "expected dtype to be one of .*, found tensor<f32>"),
    ],
)
def test_properties_of_another_kind(operator: Any, properties: dict[str, Any], message: str) -> None:
    with pytest.raises(RelexError, match=f"^{message}$"):
        operator(create_ssa_value(TensorType(f32, (2, 3))), **properties)
