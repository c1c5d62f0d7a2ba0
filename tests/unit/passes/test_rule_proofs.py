"""The rules of `canonicalize` on numbers hold for all values: see `rule_proofs`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rule_proofs import EXHAUSTED, PROVED, SMALL, TESTED, instance_of, pairs, table, verdict
from xdsl.dialects.builtin import f16, f32, i8
from xdsl.ir import Attribute

from relex.dialects.relex import MultiplyOp, SubtractOp

PAGE = Path(__file__).parents[3] / "docs" / "proofs.md"


def test_all_rules_are_there():
    stated = {rule for rule, _ in pairs()}
    assert {"add(x, -0.0) = x", "maximum(x, x) = x", "abs(negative(x)) = abs(x)", "where(c, x, x) = x"} <= stated


@pytest.mark.parametrize(("rule", "t"), [*pairs()][::9], ids=str)
def test_rules(rule: str, t: Attribute):
    pytest.importorskip("z3")
    instance = instance_of(rule, t)
    if instance is None:
        pytest.skip(f"the operators do not take {t}")
    known = verdict(instance)
    if known is not None and instance.type in SMALL and len(instance.types) == 1:
        assert known is EXHAUSTED
    assert known in (None, EXHAUSTED, PROVED, TESTED)


@pytest.mark.parametrize("t", [f16, i8, f32])
def test_wrong_rule(t: Attribute, monkeypatch: pytest.MonkeyPatch):
    """Each way of proving finds rules that are wrong."""
    pytest.importorskip("z3")
    monkeypatch.setattr(MultiplyOp, "NEUTRAL", (1, 2))
    monkeypatch.setattr(SubtractOp, "NEUTRAL", (0, 0))
    for rule in ("multiply(x, 2) = x", "subtract(0, x) = x"):
        wrong = instance_of(rule, t)
        assert wrong is not None
        with pytest.raises(AssertionError):
            verdict(wrong)


def test_solver_finds_signs_of_zeros():
    """`x + 0` is not `x` for -0, which samples would show as well."""
    proves = pytest.importorskip("rule_solver").proves
    sides = [instance_of(text, f32) for text in ("add(x, 0.0)", "add(x, -0.0)")]
    with pytest.raises(AssertionError):
        proves(*(side.module for side in sides if side is not None))


@pytest.mark.full
def test_table():
    pytest.importorskip("z3")
    assert np.all([line in PAGE.read_text() for line in table().splitlines()])
