"""Operators mean what their NumPy functions compute, and their loops are proved to compute the same."""

from __future__ import annotations

import pytest
from operator_cases import CASES
from programs import operator_module, operator_of, tensor_of

from relex.dialects import parse_module
from relex.lowering.legalize_ops import LegalizeOpsPass
from relex.reference import check_pass
from relex.reference.equivalence.verdicts import Certainty

Case = tuple[str, int]

FAMILIES = (
    "astype",
    "bitcast",
    "look_up",
    "floor_divide",
    "floor_mod",
    "trunc_divide",
    "pad",
    "conv1d_transpose",
    "pack_bytes",
    "matmul_packed",
    "conv1d_packed",
)
"""Operators whose loops are other ops than in the NumPy function, or whose function writes into an array."""

UNSIGNED = ("subtract", "maximum", "less", "negative", "clip", "max", "right_shift")


def cases(names: tuple[str, ...]) -> list[Case]:
    """Return the operator cases of some operators, by name and number."""
    found = ((operator_of(make).name.removeprefix("relex."), n) for n, (make, _) in enumerate(CASES))
    return [(name, n) for name, n in found if name in names]


@pytest.mark.parametrize("case", cases(FAMILIES + UNSIGNED), ids=lambda case: f"{case[0]}-{case[1]}")
def test_operators(case: Case):
    make, operands = CASES[case[1]]
    module = operator_module(make, [tensor_of(x) for x in operands])
    (found,) = check_pass(LegalizeOpsPass(), module, proof=True).findings
    assert found.verdict.kind is Certainty.PROVED, str(found.verdict)


def graph(*lines: str, argument: str, result: str) -> str:
    """Return a program of one argument `%0`."""
    body = "\n".join(lines)
    return f"func.func @main(%0: {argument}) -> {result} {{\n{body}\nfunc.return %r : {result}\n}}"


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_floats_without_arithmetic(kind: str):
    """They are computed in f32 and rounded, also by formulas of several functions."""
    t = f"tensor<3x{kind}>"
    text = graph(f"%1 = relex.gelu %0 : ({t}) -> {t}", f"%r = relex.trunc %1 : ({t}) -> {t}", argument=t, result=t)
    (found,) = check_pass(LegalizeOpsPass(), parse_module(text), proof=True).findings
    assert found.verdict.kind is Certainty.PROVED, str(found.verdict)


def test_empty_constants():
    t = "tensor<2x0xf32>"
    text = graph(f"%r = relex.tanh %0 : ({t}) -> {t}", argument=t, result=t)
    (found,) = check_pass(LegalizeOpsPass(), parse_module(text), proof=True).findings
    assert found.verdict.kind is Certainty.PROVED, str(found.verdict)


def test_sums_of_sums():
    """A sum in any order of sums that must keep theirs, and lost flags inside: no addition is split that is a
    separate term."""
    t, w, b = "tensor<1x3xf32>", "tensor<3x3xf32>", "tensor<3xf32>"
    text = graph(
        f"%w = relex.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]> : {w}",
        f"%b = relex.constant dense<[0.5, 1.5, 2.5]> : {b}",
        f"%1 = relex.layer_norm %0, %b, %b : ({t}, {b}, {b}) -> {t}",
        f"%2 = relex.dense %1, %w : ({t}, {w}) -> {t}",
        f"%3 = relex.add %2, %0 : ({t}, {t}) -> {t}",
        f"%4 = relex.layer_norm %3, %b, %b : ({t}, {b}, {b}) -> {t}",
        f"%r = relex.dense %4, %w : ({t}, {w}) -> {t}",
        argument=t,
        result=t,
    )
    (found,) = check_pass(LegalizeOpsPass(), parse_module(text), proof=True).findings
    assert found.verdict.kind is Certainty.PROVED, str(found.verdict)


def test_signs_matter(monkeypatch: pytest.MonkeyPatch):
    """The loops of a signed maximum differ from the loops of an unsigned one."""
    from relex.reference.domains import numpy_functions

    monkeypatch.setattr(numpy_functions, "UNSIGNED", {})
    t = "tensor<3xui8>"
    constant = f"%c = relex.constant dense<[1, 130, 200]> : {t}"
    text = graph(constant, f"%r = relex.maximum %0, %c : ({t}, {t}) -> {t}", argument=t, result=t)
    (found,) = check_pass(LegalizeOpsPass(), parse_module(text), proof=True).findings
    assert found.verdict.kind is Certainty.CHECKED
    assert "arith.maxsi" in found.verdict.why
    assert "arith.maxui" in found.verdict.why
