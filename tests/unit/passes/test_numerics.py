"""A pass is held to the numerics that it declares, and not to more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, ModuleOp, f16, f32
from xdsl.dialects.math import ExpOp as ExpOfNumberOp
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects import parse_module
from relex.dialects.errors import DTypeError, RangeError
from relex.dialects.relex import AstypeOp, ExpOp
from relex.lowering import LegalizeOpsPass
from relex.passes import RelexPass, approximate, exact, reassociates
from relex.passes.rewriting.numerics import Numerics, numerics_of
from relex.passes.rewriting.patterns import wildcard
from relex.passes.rewriting.rewrite_rules import OperatorFunction, Rule, RulesPass, operators, rule
from relex.reference import NotEquivalentError, check_equivalent, check_pass

add, subtract, multiply, divide = operators.add, operators.subtract, operators.multiply, operators.divide
matmul, exp, relu = operators.matmul, operators.exp, operators.relu
x, y, z = wildcard("x"), wildcard("y"), wildcard("z")
astype, power = OperatorFunction(AstypeOp), OperatorFunction(ExpOp)


def a_pass(numerics: Numerics, *rules: Rule) -> RulesPass:
    @dataclass(frozen=True)
    class SomePass(RulesPass):
        name = "some"

    SomePass.numerics = numerics
    SomePass.rules = rules
    return SomePass(max_rewrites=4)


def program(body: str, shape: str = "3x3xf32") -> ModuleOp:
    """A function of %x, %y and %z; each line of `body` is an operator, `T` its type."""
    t = f"tensor<{shape}>"
    lines = [f"%{i} = relex.{op} : ({', '.join([t] * op.count('%'))}) -> {t}" for i, op in enumerate(body.split("; "))]
    arguments = ", ".join(f"%{name}: {t}" for name in "xyz")
    body = "\n".join(lines)
    return parse_module(f"func.func @main({arguments}) -> {t} {{\n{body}\nfunc.return %{len(lines) - 1} : {t}\n}}")


REORDERED: dict[str, tuple[str, Rule]] = {
    "sums": ("add %x, %y; add %0, %z", rule(add(add(x, y), z), lambda m: add(m.x, add(m.y, m.z)))),
    "products": (
        "multiply %x, %y; multiply %0, %z",
        rule(multiply(multiply(x, y), z), lambda m: multiply(m.x, multiply(m.y, m.z))),
    ),
    "matrix products": (
        "matmul %x, %y; matmul %0, %z",
        rule(matmul(matmul(x, y), z), lambda m: matmul(m.x, matmul(m.y, m.z))),
    ),
    "distribution": (
        "add %x, %y; multiply %0, %z",
        rule(multiply(add(x, y), z), lambda m: add(multiply(m.x, m.z), multiply(m.y, m.z))),
    ),
    "quotients": (
        "divide %x, %y; divide %0, %z",
        rule(divide(divide(x, y), z), lambda m: divide(m.x, multiply(m.y, m.z))),
    ),
    "matrix distribution": (
        "add %x, %y; matmul %0, %z; relu %1",
        rule(matmul(add(x, y), z), lambda m: add(matmul(m.x, m.z), matmul(m.y, m.z))),
    ),
}


@pytest.mark.parametrize("name", REORDERED)
@pytest.mark.parametrize("seed", range(3))
def test_what_reassociates_may_round_differently(name: str, seed: int) -> None:
    body, reordered = REORDERED[name]
    report = check_pass(a_pass(reassociates, reordered), program(body), seed=seed)
    assert report.compared == [("some", "main")]


@pytest.mark.parametrize("name", [name for name in REORDERED if name != "matrix distribution"])
def test_what_is_exact_may_not(name: str) -> None:
    body, reordered = REORDERED[name]
    with pytest.raises(NotEquivalentError, match="changes what @main computes"):
        check_pass(a_pass(exact, reordered), program(body))


def test_an_error_says_how_to_declare_another_order() -> None:
    body, reordered = REORDERED["sums"]
    with pytest.raises(NotEquivalentError, match="if that is meant, declare 'numerics = reassociates'"):
        check_pass(a_pass(exact, reordered), program(body))


WRONG: dict[str, tuple[str, Rule]] = {
    "a term is lost": ("add %x, %y; add %0, %z", rule(add(add(x, y), z), lambda m: add(m.x, m.y))),
    "a factor is another": (
        "multiply %x, %y; multiply %0, %z",
        rule(multiply(multiply(x, y), z), lambda m: multiply(m.x, multiply(m.z, m.z))),
    ),
    "operands are swapped": (
        "relu %x; subtract %0, %y",
        rule(subtract(relu(x), y), lambda m: subtract(m.y, relu(m.x))),
    ),
    "a sum is not elementwise": (
        "matmul %x, %y; matmul %0, %z",
        rule(matmul(matmul(x, y), z), lambda m: matmul(m.x, matmul(m.z, m.y))),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_reassociates_is_not_free_to_do_anything(name: str) -> None:
    body, wrong = WRONG[name]
    with pytest.raises(NotEquivalentError, match="the pass declares what it does to numbers: reassociates"):
        check_pass(a_pass(reassociates, wrong), program(body))


HALF = rule(
    exp(x), lambda m: astype(power(astype(m.x, dtype=f16)), dtype=f32), where=lambda m: m.x.type.element_type == f32
)


@pytest.mark.parametrize(("rtol", "holds"), [(1e-2, True), (1e-6, False)])
def test_what_approximates_is_held_to_its_tolerance(rtol: float, holds: bool) -> None:
    p = a_pass(approximate(rtol=rtol), HALF)
    if holds:
        assert check_pass(p, program("exp %x; relu %0")).compared == [("some", "main")]
    else:
        with pytest.raises(NotEquivalentError, match=r"declares what it does to numbers: approximate\(rtol=1e-06\)"):
            check_pass(p, program("exp %x; relu %0"))


TURNED = {
    "floor": "exp %x; floor %0",
    "sign": "exp %x; round %0; subtract %0, %1; sign %2",
    "cancellation": "exp %x; subtract %0, %y; multiply %1, %z",
    "quotient": "exp %x; subtract %0, %y; divide %z, %1",
    "maximum": "exp %x; floor %0; maximum %1, %y; subtract %2, %x",
}
"""Programs in which more than the tolerance may change."""


@pytest.mark.parametrize("name", TURNED)
def test_what_a_tolerance_may_turn_is_undecided(name: str) -> None:
    p = a_pass(approximate(rtol=1e-3), HALF)
    # Twenty samples have elements of each kind.
    assert check_pass(p, program(TURNED[name], "20x20xf32"), samples=5).compared == [("some", "main")]


@pytest.mark.parametrize("name", TURNED)
def test_what_a_tolerance_does_not_turn_is_decided(name: str) -> None:
    lost = rule(exp(x), lambda m: m.x)
    with pytest.raises(NotEquivalentError, match="changes what @main computes"):
        check_pass(a_pass(approximate(rtol=1e-3), lost), program(TURNED[name], "20x20xf32"))


def test_functions_in_loops_may_be_approximated() -> None:
    before = LegalizeOpsPass()(program(TURNED["floor"], "20x20xf32"))
    after = before.clone()
    for op in [op for op in after.walk() if isinstance(op, ExpOfNumberOp)]:
        factor = arith.ConstantOp(FloatAttr(1 + 1e-4, f32))
        more = arith.MulfOp(op.result, factor)
        Rewriter.insert_op([factor, more], InsertPoint.after(op))
        op.result.replace_uses_with_if(more.result, lambda use, more=more: use.operation is not more)
    with pytest.raises(NotEquivalentError):
        check_equivalent(before, after, numerics=approximate(rtol=1e-6))
    check_equivalent(before, after, numerics=approximate(rtol=1e-3))


def test_an_approximation_keeps_nan() -> None:
    no_nan = rule(relu(x), lambda m: operators.where(operators.greater(m.x, m.x), m.x, operators.abs(m.x)))
    with pytest.raises(NotEquivalentError):
        check_pass(a_pass(approximate(rtol=0.5), no_nan), program("relu %x"))


def test_an_absolute_tolerance() -> None:
    before, after = program("subtract %x, %y"), program("subtract %x, %y; add %0, %z; subtract %1, %z")
    with pytest.raises(NotEquivalentError):
        check_equivalent(before, after, numerics=approximate(rtol=0, atol=1e-9))
    # Infinite terms cancel to NaN, which no tolerance covers.
    with pytest.raises(NotEquivalentError, match="NaN and infinities"):
        check_equivalent(before, after, numerics=approximate(rtol=0, atol=1e-5))


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_any_order_is_within_the_bounds(element: str) -> None:
    """Products of sums, computed in random orders."""
    rng = np.random.default_rng(0)
    shape = f"4x{element}"
    before = program("multiply %x, %y; multiply %0, %z; add %1, %x; add %2, %y", shape)
    for _ in range(20):
        first, second, third = rng.permutation(["%x", "%y", "%z"])
        a, b, c = rng.permutation(["%x", "%y", "%1"])
        after = program(f"multiply {first}, {second}; multiply {third}, %0; add {a}, {b}; add {c}, %2", shape)
        check_equivalent(before, after, numerics=reassociates, seed=int(rng.integers(100)), samples=1)


def test_only_numerics_are_numerics() -> None:
    @dataclass(frozen=True)
    class WrongPass(RelexPass):
        name = "wrong"
        numerics = "reassociates"  # pyright: ignore[reportAssignmentType]

        def apply(self, ctx: Context, op: ModuleOp) -> None: ...

    expected = r"numerics of pass 'wrong' to be exact, reassociates, relaxes or approx.*, found str"
    with pytest.raises(DTypeError, match=expected):
        numerics_of(WrongPass())


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: approximate(rtol=-1), "expected rtol to be 0 or more and finite, found -1"),
        (lambda: approximate(rtol=0, atol=float("nan")), "expected atol to be 0 or more and finite, found nan"),
    ],
)
def test_tolerances_are_numbers(make: Callable[[], Numerics], expected: str) -> None:
    with pytest.raises(RangeError, match=expected):
        make()
