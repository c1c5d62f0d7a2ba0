"""Wrong calls of the functions around executables: errors of relex that say what is expected, and what was found."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

import pytest
from xdsl.dialects.builtin import StringAttr, TensorType, f32
from xdsl.utils.test_value import create_ssa_value

from relex.dialects.errors import RelexError
from relex.dialects.relex import (
    AddOp,
    AstypeOp,
    ClipOp,
    ConcatOp,
    DenseOp,
    PadOp,
    ReshapeOp,
    SoftmaxOp,
    SubtractOp,
    SumOp,
    WhereOp,
)
from relex.lowering import LegalizeOpsPass
from relex.lowering.legalizations import legalizes
from relex.passes import BindParamsPass
from relex.passes.graph.canonicalization import simplifies
from relex.runtime import CompileCache, build, c_function, register_func, set_threads
from relex.tools import show

PROGRAM = "func.func @f() { return }"

make_cache: Any = CompileCache
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
        (
            lambda: any_program(BindParamsPass()),
            "^expected a module, found the pass 'bind-params'; called with a module",
        ),
        (lambda: any_program(BindParamsPass), "^expected a module, MLIR text or the path .*, found the class .*Pass$"),
        (
            lambda: show_any(build(PROGRAM)),
            "^expected a module or .*, found .*Executable: show the module that it was ",
        ),
        (lambda: any_number(True), "^expected threads of 1 to 256, found True$"),
        (lambda: build(PROGRAM).save(""), "cannot be written: .* empty name"),
        (lambda: show_any(None), "^expected a module or a part of it, found None$"),
        (lambda: show_any(PROGRAM), "^expected a module or a part of it, found str$"),
    ],
)
def test_wrong_calls(call: Callable[[], object], message: str) -> None:
    with pytest.raises(RelexError, match=message):
        call()


X = create_ssa_value(TensorType(f32, (2, 3)))
ADD, DENSE, WHERE = cast(Any, AddOp), cast(Any, DenseOp), cast(Any, WhereOp)
"""Type checkers refuse wrong calls of their constructors."""


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ADD(X), r"relex.add: expected operands (lhs, rhs), found no rhs"),
        (lambda: ADD(), r"relex.add: expected operands (lhs, rhs), found no lhs and no rhs"),
        (lambda: ADD(X, X, X), r"relex.add: expected operands (lhs, rhs), found 3 operands"),
        (lambda: ADD(X, rsh=X), r"relex.add: expected operands (lhs, rhs), found 'rsh' and no rhs"),
        (lambda: ADD(X, lhs=X), r"relex.add: expected operands (lhs, rhs), found 'lhs' and no rhs"),
        (lambda: DENSE(X), r"relex.dense: expected operands (data, weight), found no weight"),
        (lambda: WHERE(X, x=X), r"relex.where: expected operands (condition, x, y), found no y"),
        (lambda: AddOp(X, cast(Any, 3)), r"relex.add: expected a value or an op as rhs, found int"),
        (lambda: ConcatOp(X, cast(Any, [X])), r"relex.concat: expected a value or an op as tensors[1], found list"),
        (lambda: AddOp(X, X, properties={"axis": 1}), r"relex.add: expected properties (), found (axis)"),
    ],
)
def test_wrong_operands(call: Callable[[], object], message: str) -> None:
    with pytest.raises(RelexError, match=f"^{re.escape(message)}$") as error:
        call()
    assert isinstance(error.value, TypeError)


def test_operands_have_names() -> None:
    assert AddOp(X, rhs=X).is_structurally_equivalent(AddOp(X, X))
    assert [value.name_hint for value in SubtractOp(rhs=X, lhs=AddOp(X, X)).operands] == [None, X.name_hint]


def a_function() -> None: ...


decorators: Any = {"legalizes": legalizes, "simplifies": simplifies}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: decorators["legalizes"](a_function), "legalizations: expected a class as key, as in @...(AddOp), "),
        (lambda: decorators["simplifies"](a_function), "simplifications: expected a class as key, as in @...(AddOp), "),
        (lambda: decorators["simplifies"](), "simplifications: expected a class as key, as in @...(AddOp), found none"),
        (
            lambda: decorators["legalizes"]("relex.relu"),
            "legalizations: expected a class as key, such as AddOp, found 'relex.relu'",
        ),
        (
            lambda: LegalizeOpsPass(overrides=cast(Any, {"relex.rely": a_function})),
            "no operator 'relex.rely'; there are abs, ",
        ),
        (
            lambda: LegalizeOpsPass(overrides=cast(Any, {AddOp: AddOp(X, X)})),
            "expected overrides to map AddOp to a function, a loop function or the name of a library function, found",
        ),
        (
            lambda: register_func(cast(Any, a_function)),
            'expected a name for a library function, as in @register_func("env.a_function"), found none',
        ),
        (lambda: register_func(cast(Any, 3)), "expected a name for a library function, found 3"),
    ],
)
def test_wrong_registrations(call: Callable[[], object], message: str) -> None:
    with pytest.raises(RelexError, match=f"^{re.escape(message)}"):
        call()


@pytest.mark.parametrize(
    ("operator", "properties", "message"),
    [
        (SoftmaxOp, {"axis": "rows"}, "expected axis to be an integer, found str"),
        (SoftmaxOp, {"axis": StringAttr("rows")}, 'expected axis to be an integer, found "rows"'),
        (SoftmaxOp, {"axis": 1 << 63}, "expected an integer of 64 bits, found 9223372036854775808"),
        (SoftmaxOp, {"axis": -(1 << 63)}, "expected an axis in -2..1 for rank 2, found -9223372036854775808"),
        (SumOp, {"axis": [0, 1.5]}, "expected axis to be a list of integers, found list of int and float"),
        (SumOp, {"keepdims": "yes"}, "expected keepdims to be True or False, found str"),
        (ReshapeOp, {"shape": 3}, "expected shape to be a list of integers, found int"),
        (ReshapeOp, {"shape": None}, "expected shape to be a list of integers, found None"),
        (AstypeOp, {"dtype": None}, "expected dtype to be one of .*, found None"),
        (PadOp, {"pad_width": None}, "expected pad_width to be a list of integers, found None"),
        (
            PadOp,
            {"pad_width": [(1 << 62), (1 << 62) - 2, 0, 0]},
            "expected sizes of the result of at most 9223372036854775807, found 9223372036854775808",
        ),
        (ClipOp, {"min": "0"}, "expected min to be a number, found str"),
        (AstypeOp, {"dtype": "f32"}, "expected dtype to be one of f16, bf16, f32, .*, found str"),
        (AstypeOp, {"dtype": TensorType(f32, ())}, "expected dtype to be one of .*, found tensor<f32>"),
    ],
)
def test_properties_of_another_kind(operator: Any, properties: dict[str, Any], message: str) -> None:
    with pytest.raises(RelexError, match=f"^{message}$"):
        operator(create_ssa_value(TensorType(f32, (2, 3))), **properties)
